"""Texts that are looked for in another one: what is found, and how many letters that takes."""

import random

import pytest

from aahcrawler.induction import text_lines
from aahcrawler.induction.text_lines import SearchedText

LINES = tuple(f"thelighthouseburnedatnight{number}andwasrebuilt" for number in range(2_000))


def test_whatever_is_in_a_line_is_found_in_any_order() -> None:
    drawn = random.Random(7)
    lines = ["".join(drawn.choices("ab", k=drawn.randrange(9))) for _ in range(30)]
    text = SearchedText(*lines)
    for _ in range(2_000):
        part = "".join(drawn.choices("ab", k=drawn.randrange(1, 6)))
        assert text.has(part) == any(part in line for line in lines)
        assert text.has_line(part) == (part in lines)


def test_nothing_is_found_in_no_lines_and_no_text_is_in_any_line() -> None:
    assert not SearchedText().has_line("")
    assert not SearchedText().has("a")
    assert SearchedText("ab").has("")


def test_what_is_asked_for_in_the_order_of_a_text_takes_one_way_through_it() -> None:
    text = SearchedText("".join(LINES))
    assert all(map(text.has, LINES))
    assert text.searched <= len("".join(LINES))


def test_whole_lines_take_no_search() -> None:
    text = SearchedText(*LINES)
    assert all(map(text.has, reversed(LINES)))
    assert text.searched == 0


def test_what_is_nowhere_is_looked_for_within_bounds_and_lines_are_found_beyond_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_lines, "MAX_SEARCHED", 1_000_000)
    text = SearchedText(*LINES)
    assert not any(text.has(f"nobody{number}") for number in range(10_000))
    assert text.searched < 1_000_000 + 2 * len("\n".join(LINES))
    assert not text.has(LINES[3][:-1])
    assert text.has(LINES[3])
