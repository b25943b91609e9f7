"""Globs: patterns for short texts that can match in one way at most, so that a test takes linear time."""

import re
from collections.abc import Callable
from functools import lru_cache


class BadGlobError(ValueError):
    """Raised for a glob that cannot be used; the message says what to write instead."""


_WILD = frozenset("*?[#")
_VARYING = frozenset("*?[")
_NUMBER = re.compile("[0-9]+")
_TOKEN = re.compile(r"\*+|\[!?\]?[^\]]*\]|.", re.DOTALL)
_MAX_GLOBS = 65_536
_BRACKETS = "brackets stand for one of the signs within them, such as [a-f]"


@lru_cache(_MAX_GLOBS)
def glob_test(glob: str) -> Callable[[str], object]:
    """Return a test of whether a whole text matches a glob.

    ``*`` stands for anything, ``?`` for one character, ``[a-f]`` for one of these, ``#`` for a whole number: a run of
    digits of maximal length. A text between two ``*`` is matched at its first occurrence, so that the test takes time
    linear in the length of the text. Raises `BadGlobError`.

    >>> [bool(glob_test("topic-#-*")(text)) for text in ("topic-12-knots", "topic-12x-knots", "topic--knots")]
    [True, False, False]
    """
    if names_itself(glob):
        return glob.__eq__
    if re.search("#[0-9#]|[0-9]#", glob):
        raise BadGlobError(f"# stands for a whole number; take the digit or the other # beside it out of {glob}")
    pieces = [""]
    for token in _TOKEN.findall(glob):
        if token.startswith("*"):
            pieces.append("")
        else:
            pieces[-1] += _sign(token)
    last = f".*{pieces.pop()}" if len(pieces) > 1 else ""
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:])
    try:
        return re.compile(f"(?s:{pieces[0]}{middle}{last})\\Z").match
    except re.error as error:
        raise BadGlobError(f"{_BRACKETS}; correct {glob}") from error


def _sign(part: str) -> str:
    """Convert one part of a glob to a regular expression that matches in at most one way."""
    if part == "#":
        return "(?<![0-9])[0-9]++"
    if part == "?":
        return "."
    if len(part) == 1:
        return re.escape(part)
    if "--" in part:
        raise BadGlobError(f"{_BRACKETS}; correct {part}")
    negated = part.startswith("[!")
    inner = re.sub(r"([&~|^\\\[\]])", r"\\\1", part[2 if negated else 1 : -1])
    return f"[{'^' if negated else ''}{inner}]"


def numbers_as_one(text: str) -> str:
    """Replace every number in a text by ``#``; two texts that match the same glob without ``*`` get the same result.

    >>> numbers_as_one("topic-12-page-3.html")
    'topic-#-page-#.html'
    """
    return _NUMBER.sub("#", text)


def varies(glob: str) -> bool:
    """Return whether texts that match the glob can differ in more than their numbers."""
    return not _VARYING.isdisjoint(glob)


def names_itself(glob: str) -> bool:
    """Return whether the glob matches only itself."""
    return _WILD.isdisjoint(glob)
