import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from online_analysis.icd import Icd, seed_list
from online_analysis.icd.seed_list import MAX_LINE_LENGTH, read_seed_list
from tests.online_analysis.definitions import SMALLEST

A, B = "https://a.example.org/", "https://b.example.net/x?y=1"


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        (f"{A}\n{B}", [A, B]),
        (f"{A}, {B}; and {A}", [A, B]),
        (f"{A},{B}", [A, B]),
        (f"- {A}\n* {B}\n", [A, B]),
        (f"1. {A}\n2) {B}", [A, B]),
        (f"• {A} (the first)\n• ({B})", [A, B]),
        (
            "See https://a.example.org/wiki/X_(y). More: https://b.example.net/!",
            ["https://a.example.org/wiki/X_(y)", "https://b.example.net/"],
        ),
        (f"[A site]({A}) and [another]({B} 'title')", [A, B]),
        (f"[1]: {A}\n[2]: <{B}>", [A, B]),
        (f"<li><a href=\"{A}\">a</a> <a href='{B.replace('&', '&amp;')}'>b</a>", [A, B]),
        ("http:/a.example.org/b", ["http://a.example.org/b"]),
        ("https:///a.example.org/b", ["https://a.example.org/b"]),
        ("<a href='https://a.example.org/?a=1&amp;b=2'>x</a>", ["https://a.example.org/?a=1&b=2"]),
        (f"<{A}>", [A]),
        (
            "name,url,mail\nOne,https://a.example.org/,me@a.example.org\nTwo,www.example.net,\n",
            [A, "https://www.example.net/"],
        ),
        (
            "Title\thttps://a.example.org/1,2\tx\nOther\thttps://a.example.org/3\ty",
            ["https://a.example.org/1,2", "https://a.example.org/3"],
        ),
        ('"One; two";"https://a.example.org/"\n"Three";"https://b.example.net/x?y=1"', [A, B]),
        ("www.example.org", ["https://www.example.org/"]),
        ("example.org/path and EXAMPLE.ORG", ["https://example.org/path", "https://example.org/"]),
        ("münchen.de\nhttps://例え.jp/", ["https://xn--mnchen-3ya.de/", "https://xn--r8jz45g.jp/"]),
        ("HTTPS://A.Example.ORG:443/#part", [A]),
        ("\ufeffhttps://a.example\u200b.org/\u00a0 ", [A]),
        ("http://127.0.0.1:8080/x", ["http://127.0.0.1:8080/x"]),
        ("# a comment\n\n" + A, [A]),
    ],
)
def test_addresses_are_found_however_a_list_is_written(text: str, seeds: list[str]) -> None:
    assert list(read_seed_list(text).seeds) == seeds
    Icd.parse(SMALLEST.replace("https://forum.example.org/", ", ".join(f'"{seed}"' for seed in seeds)).encode())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("me@example.org", "is a mail address"),
        ("mailto:me@example.org", "is a mail address"),
        ("file:///etc/passwd", "is a file on a computer"),
        ("C:\\Users\\me\\seeds.txt", "is a file on a computer"),
        ("/home/me/seeds.txt", "is a file on a computer"),
        ("hxxp://bad.example.org/", "made harmless"),
        ("https://bad[.]example.org/", "made harmless"),
        ("ftp://ftp.example.org/pub", "is a ftp: address"),
        ("javascript:alert(1)", "is a javascript: address"),
        ("Some words. And more", "holds no web address"),
        ("notes.txt", "holds no web address"),
        ("version 3.14", "holds no web address"),
        ("https://user:word@example.org/", "holds a user name"),
        ("https://", "is no URL"),
        ("x" * (MAX_LINE_LENGTH + 1), "is longer than"),
    ],
)
def test_what_is_no_seed_is_told_with_its_line_and_why(line: str, reason: str) -> None:
    found = read_seed_list(f"{A}\n{line}\n")
    assert found.seeds == (A,)
    ((number, text, why),) = [(each.line, each.text, each.reason) for each in found.refused]
    assert (number, text) == (2, line[:200])
    assert reason in why


def test_what_is_there_twice_counts_once() -> None:
    found = read_seed_list(f"{A}\n{B}\nHTTPS://A.EXAMPLE.org\n{A} {A}")
    assert found.seeds == (A, B)
    assert [(each.line, each.reason) for each in found.refused] == [
        (3, "is in line 1 already"),
        (4, "is in line 1 already"),
    ]


@given(st.text(max_size=300))
def test_whatever_is_pasted_gives_seeds_that_a_definition_takes_or_reasons(text: str) -> None:
    found = read_seed_list(text)
    assert len(set(found.seeds)) == len(found.seeds)
    for seed in found.seeds:
        assert seed.startswith(("http://", "https://"))
        assert read_seed_list(seed).seeds == (seed,)
    assert all(each.reason and 1 <= each.line <= len(text.splitlines()) for each in found.refused)


@pytest.mark.parametrize(
    "piece", ["[](" * 3000, "a." * 5000, "(" * 9000, "https://" * 2000, "a@" * 5000, "href=" * 3000]
)
def test_hostile_lines_take_no_time(piece: str) -> None:
    begun = time.process_time()
    read_seed_list("\n".join([piece] * 5))
    assert time.process_time() - begun < 2


@pytest.mark.slow
def test_long_lists_are_cut_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed_list, "MAX_CHARACTERS", 100_000)
    line = "https://a.example.org/0123456789012345678901234567890123456789012345678901234567890123456789\n"
    found = read_seed_list(line * (seed_list.MAX_CHARACTERS // len(line) + 2))
    assert len(found.seeds) == 1
    assert "is beyond the first" in found.refused[-1].reason


def test_what_is_lost_of_a_line_is_told() -> None:
    found = read_seed_list(
        "1. https://a.example.org/x the report\nflood.example/b.html\n[label](https://b.example.org/)\n"
        "https://a.example.org/x https://c.example.org/\nsome words\n- https://d.example.org/.\n"
    )
    assert found.seeds == (
        "https://a.example.org/x",
        "http://flood.example/b.html",
        "https://b.example.org/",
        "https://c.example.org/",
        "https://d.example.org/",
    )
    assert [(each.line, each.reason) for each in found.left_out] == [
        (5, "holds no web address"),
        (1, "has more than an address; “the report” is not read"),
    ]
    assert [(each.line, each.is_again) for each in found.refused] == [(4, True), (5, False)]
    assert [(each.line, each.reason) for each in found.supposed] == [(2, "is read as http://flood.example/b.html")]
