import pytest
from ada_url import URL
from hypothesis import example, given
from hypothesis import strategies as st

from aahcrawler.urls import MAX_LENGTH, canonicalize, origin, queue_of, resolve

# fmt: off
PIECES = st.sampled_from([
    "http://", "https:", "//", "HTTP://A.test", "/", "\\", "?", "#", "@", ":", ":80", "[::1]", "a.test", "%2e", "..",
    ";", " ", "\t", "\x00", "é", "ß", "\ud800", "xn--", "%", "=", "&", "user:pw@", "1.2.3.4", "0x7f.1",
])
# fmt: on
URLISH = st.one_of(
    st.text(), st.lists(PIECES, max_size=12).map("".join), st.text(max_size=30).map("http://h.test/".__add__)
)


@given(URLISH)
@example("http://a.test/%0d%0a")
@example("http://a.test\\b")
def test_canonical_form_is_a_fixed_point(url: str) -> None:
    canonical = canonicalize(url)
    if canonical is not None:
        assert canonicalize(canonical) == canonical
        assert resolve(canonical, canonical) == canonical
        assert resolve(canonical, "") == canonical
        assert canonical.startswith(("http://", "https://"))
        assert "#" not in canonical
        assert canonical.isascii()
        assert len(canonical) <= MAX_LENGTH


@given(URLISH, URLISH)
def test_resolving_never_fails_and_is_canonical(base: str, reference: str) -> None:
    resolved = resolve(base, reference)
    assert resolved is None or canonicalize(resolved) == resolved


@given(URLISH, URLISH)
@example("http://a.test/b/..", "c")
@example("http://a.test/b/c?d/e", "f")
@example("http://a.test?b/c", "d")
@example("http://a.test/b;/c", "?d")
def test_a_shortened_base_means_the_same(base: str, reference: str) -> None:
    try:
        expected = canonicalize(URL(reference, base).href)
    except ValueError:
        expected = canonicalize(reference)
    assert resolve(base, reference) == expected


@given(URLISH)
def test_every_string_has_a_queue_and_an_origin(url: str) -> None:
    assert isinstance(queue_of(url), str)
    assert isinstance(origin(url), str)
    canonical = canonicalize(url)
    if canonical is not None:
        assert queue_of(canonical)
        assert canonical.startswith(origin(canonical) + "/")
        assert queue_of(origin(canonical) + "/other?x") == queue_of(canonical)


@pytest.mark.parametrize(
    ("base", "reference", "expected"),
    [
        ("http://a.test/forum/viewtopic.php?t=1", "./viewtopic.php?t=2#p9", "http://a.test/forum/viewtopic.php?t=2"),
        ("http://a.test/wiki/Main_Page", "Talk;", "http://a.test/wiki/Talk;"),
        ("http://a.test/x?y", "?page=2;", "http://a.test/x?page=2;"),
        ("http://a.test/a/b", "//B.test", "http://b.test/"),
        ("http://a.test/a/b", "\n ../c d ", "http://a.test/c%20d"),
        ("http://a.test/a", "http:b", "http://a.test/b"),
        ("http://a.test/a", "\\\\c.test\\d", "http://c.test/d"),
        ("http://a.test/a", "javascript:alert(1)", None),
        ("http://a.test/a", "mailto:a@b.test", None),
        ("http://a.test/a", "data:text/html,x", None),
        ("http://a.test/a", "http://[::1", None),
        ("http://a.test/a", "http://user:secret@b.test/", "http://b.test/"),
        ("no base", "http://b.test/x", "http://b.test/x"),
        ("no base", "x", None),
        ("ftp://a.test/", "x", None),
    ],
)
def test_references_resolve_as_in_a_browser(base: str, reference: str, expected: str | None) -> None:
    assert resolve(base, reference) == expected


def test_long_urls_are_none() -> None:
    assert canonicalize("http://a.test/" + "x" * (MAX_LENGTH - 14)) is not None
    assert canonicalize("http://a.test/" + "x" * (MAX_LENGTH - 13)) is None
    assert resolve("http://a.test/", "é" * 1000) is None
    assert resolve("http://a.test/", "x" * 10_000_000) is None


@pytest.mark.parametrize(
    ("url", "queue"),
    [
        ("http://www.example.co.uk/", "example.co.uk"),
        ("https://forum.example.com:8443/t", "example.com"),
        ("http://anna.wordpress.com/", "anna.wordpress.com"),
        ("http://anna.blogspot.com/", "anna.blogspot.com"),
        ("http://anna.github.io/blog/", "anna.github.io"),
        ("http://github.io/", "github.io"),
        ("http://co.uk/", "co.uk"),
        ("http://forum.test/", "forum.test"),
        ("http://a.forum.test:81/", "forum.test"),
        ("http://a.alpha.internal/", "alpha.internal"),
        ("http://x.b.alpha.lan./", "alpha.lan"),
        ("http://x.y.co.uk/", "y.co.uk"),
        ("http://x.blogspot.com.notatld/", "com.notatld"),
        ("http://intranet/", "intranet"),
        ("http://www.xn--bcher-kva.de/", "xn--bcher-kva.de"),
        ("http://example.com./", "example.com"),
        ("http://10.1.2.3:8080/", "10.1.2.3"),
        ("http://[2001:db8::1]:8080/", "[2001:db8::1]"),
        ("http://127.0.0.1/", "127.0.0.1:80"),
        ("https://127.8.9.1/", "127.8.9.1:443"),
        ("http://127.0.0.1:8080/x", "127.0.0.1:8080"),
        ("http://[::1]:9000/", "[::1]:9000"),
        ("http://[::ffff:7f00:1]/", "[::ffff:7f00:1]:80"),
        ("http://localhost:5000/?a", "localhost:5000"),
        ("http://blog.localhost/", "blog.localhost:80"),
        ("http://jo@www.example.com/", "example.com"),
        ("https://jo:secret@[2001:db8::1]:8080/a@b", "[2001:db8::1]"),
        ("not a url", ""),
    ],
)
def test_queues(url: str, queue: str) -> None:
    assert queue_of(url) == queue


def test_origin_keeps_a_port_that_is_not_the_default() -> None:
    assert origin("https://a.test/x?y") == "https://a.test"
    assert origin("http://a.test:8080?y") == "http://a.test:8080"
    assert origin("") == ""


_BASES = (
    *("http://a.test/", "http://a.test/x/y.php?q=1", "http://a.test", "http://a.test/x/%2e%2e", "http://a.test/x/.."),
    *("HTTP://A.test/x", "http://a.test:80/x/", "http://u@a.test/x/", "http://a.test/x?u=/a/b", "http://a.test/x#/y/"),
    *("https://a.test/x;y/z", "http://a.test//x//y", "http://127.0.0.1:8/x/y", "http://a.test/é/x", "ftp://a.test/x/"),
    *("data:text/html,/a/b/c/d", "http://a.test\\x/y/z", " http://a.test/x/y ", "http://a.test/x|y/z", ""),
)


@given(st.sampled_from(_BASES), st.from_regex(r"(\./)?[ab1_./?&=+#;%:~-]{0,10}", fullmatch=True))
def test_references_written_plainly_lead_where_a_browser_goes(base: str, reference: str) -> None:
    try:
        expected = canonicalize(str(URL(reference, base).href))
    except ValueError:
        expected = canonicalize(reference)
    assert resolve(base, reference) == expected
