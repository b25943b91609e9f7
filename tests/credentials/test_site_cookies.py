"""Which cookies are kept of a site, and with which requests they are sent."""

import pytest

from aahcrawler.credentials.given import Credentials, is_among
from aahcrawler.credentials.site_cookies import (
    MAX_BYTES,
    MAX_COOKIES,
    MAX_SENT,
    CookiesFileError,
    SiteCookies,
    cookies_of_file,
)

SITE = "example.co.uk"
HERE = "https://www.example.co.uk/forum/index"


def taken(*fields: str, url: str = HERE, site: str = SITE) -> SiteCookies:
    cookies = SiteCookies(site)
    cookies.take(url, fields)
    return cookies


def test_a_cookie_is_sent_as_it_came() -> None:
    assert taken('s="a b%20c"; Path=/').header("https://www.example.co.uk/x") == 's="a b%20c"'


@pytest.mark.parametrize(
    ("field", "url", "is_sent"),
    [
        ("a=1", "https://www.example.co.uk/forum/topic", True),
        ("a=1", "https://www.example.co.uk/blog", False),
        ("a=1; Path=/", "https://example.co.uk/", False),
        ("a=1; Path=/; Domain=example.co.uk", "https://example.co.uk/", True),
        ("a=1; Path=/; Domain=.example.co.uk", "https://shop.example.co.uk/", True),
        ("a=1; Path=/; Domain=co.uk", "https://www.example.co.uk/", False),
        ("a=1; Path=/; Domain=other.co.uk", "https://www.example.co.uk/", False),
        ("a=1; Path=/; Secure", "http://www.example.co.uk/", False),
        ("a=1; Path=/; Secure", "https://www.example.co.uk/", True),
        ("a=1; Path=/; Max-Age=0", "https://www.example.co.uk/", False),
        ("a=1; Path=/; Expires=Thu, 01 Jan 1970 00:00:10 GMT", "https://www.example.co.uk/", False),
        ("a=1; Path=/; Max-Age=60; HttpOnly; SameSite=Strict", "https://www.example.co.uk/", True),
        ("__Host-a=1; Path=/; Secure", "https://www.example.co.uk/", True),
        ("__Host-a=1; Path=/; Secure; Domain=example.co.uk", "https://www.example.co.uk/", False),
        ("__Secure-a=1; Path=/", "https://www.example.co.uk/", False),
    ],
)
def test_a_cookie_goes_where_it_belongs(field: str, url: str, is_sent: bool) -> None:
    assert bool(taken(field).header(url)) is is_sent


def test_a_host_of_a_shared_suffix_sets_none_for_its_neighbours() -> None:
    cookies = taken("a=1; Domain=github.io", url="https://me.github.io/", site="me.github.io")
    assert cookies.text == ""


def test_one_that_ends_is_forgotten() -> None:
    cookies = taken("a=1; Path=/", "b=2; Path=/")
    assert cookies.take(HERE, ["a=; Path=/; Max-Age=0"])
    assert cookies.header("https://www.example.co.uk/") == "b=2"


def test_only_another_value_is_a_change() -> None:
    cookies = taken("a=1; Path=/; Max-Age=60")
    assert not cookies.take(HERE, ["a=1; Path=/; Max-Age=90"])
    assert cookies.take(HERE, ["a=2; Path=/"])


def test_what_is_kept_as_text_is_sent_by_whoever_reads_it() -> None:
    text = taken("a=1; Path=/", "b=2; Path=/; Domain=example.co.uk; Secure; Max-Age=600").text
    assert SiteCookies(SITE, text).header("https://www.example.co.uk/") in {"a=1; b=2", "b=2; a=1"}


def test_a_damaged_text_is_no_cookies() -> None:
    assert SiteCookies(SITE, "[{").header(HERE) == ""


def test_numbers_and_sizes_are_bounded() -> None:
    assert taken(f"a={'x' * MAX_BYTES}").text == ""
    cookies = SiteCookies(SITE)
    for number in range(3 * MAX_COOKIES):
        cookies.take(HERE, [f"c{number}={'x' * 1000}; Path=/"])
    assert len(SiteCookies(SITE, cookies.text).header(HERE)) <= MAX_SENT
    assert cookies.text.count('"name"') == MAX_COOKIES
    assert f'"c{3 * MAX_COOKIES - 1}"' in cookies.text


def test_a_file_of_cookies_is_divided_among_its_sites() -> None:
    found = cookies_of_file(
        "# Netscape HTTP Cookie File\n"
        ".example.co.uk\tTRUE\t/\tTRUE\t0\tsession\tabc\n"
        "#HttpOnly_forum.test\tFALSE\t/\tFALSE\t4102444800\tid\t7\n"
        "forum.test\tFALSE\t/\tFALSE\t10\told\t7\n"
    )
    assert {site: [cookie.name for cookie in cookies] for site, cookies in found.items()} == {
        "example.co.uk": ["session"],
        "forum.test": ["id"],
    }
    cookies = SiteCookies(SITE)
    cookies.add(found[SITE])
    assert cookies.header(HERE) == "session=abc"


def test_another_file_is_refused_without_a_word_of_it() -> None:
    with pytest.raises(CookiesFileError, match="line 2") as refused:
        cookies_of_file("# Netscape HTTP Cookie File\nsession=hunter2\n")
    assert "hunter2" not in str(refused.value)


def test_a_file_has_cookies_for_all_ports_of_a_host_on_loopback() -> None:
    lines = ("127.0.0.1\tFALSE\t/\tFALSE\t0\tid\tone\n", "[::1]\tFALSE\t/\tFALSE\t0\tid\ttwo\n")
    given = Credentials(cookies=cookies_of_file("".join(lines)))
    found = {site: [each.value for each in given.cookies_of(site)] for site in ("127.0.0.1:8000", "[::1]:80", "a.test")}
    assert found == {"127.0.0.1:8000": ["one"], "[::1]:80": ["two"], "a.test": []}
    assert is_among(given.sites, "http://127.0.0.1:8000/a")
    session = SiteCookies("127.0.0.1:8000")
    session.add(given.cookies_of("127.0.0.1:8000"))
    assert session.header("http://127.0.0.1:8000/a") == "id=one"


@pytest.mark.parametrize("age", ["9" * 400, "9" * 5000, "0" * 400 + "60", "abc", "", "1e3", "+5", "\u0661"])
def test_an_age_beyond_measure_costs_no_cookie(age: str) -> None:
    kept = taken("a=1; Path=/", f"b=2; Max-Age={age}; Path=/", "c=3; Path=/")
    assert kept.header("https://www.example.co.uk/") == "a=1; b=2; c=3"
    assert SiteCookies(SITE, kept.text).header("https://www.example.co.uk/") == "a=1; b=2; c=3"


@pytest.mark.parametrize("age", ["-1", "0", "-" + "9" * 400, "0" * 400])
def test_an_age_of_nothing_ends_a_cookie(age: str) -> None:
    assert taken("a=1; Path=/", f"a=1; Max-Age={age}; Path=/").header("https://www.example.co.uk/") == ""


@pytest.mark.parametrize("character", [chr(code) for code in (*range(9), *range(10, 32), 127)])
def test_no_control_character_is_sent(character: str) -> None:
    kept = taken("a=1; Path=/", f"b=2{character}3; Path=/", f"c{character}d=2; Path=/", "e=5; Path=/")
    assert kept.header("https://www.example.co.uk/") == "a=1; e=5"
    file = f"example.co.uk\tFALSE\t/\tTRUE\t0\tf\t6{character}7"
    if len(file.splitlines()) == 1:
        kept.add(cookies_of_file(file)["example.co.uk"])
    old = kept.text.replace('"1"', f'"1\\u{ord(character):04x}"')
    assert SiteCookies(SITE, old).header("https://www.example.co.uk/") == "e=5"
