"""Compare readings of one page by the lines of their texts: by their letters, however they are set.

A line is known by its letters and digits (``line_key``); running text counts by its weight, and short lines by nothing.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import takewhile
from typing import Final

from aahcrawler.induction.outline import weight
from aahcrawler.page.claims import LONG_LINE

MAX_SEARCHED: Final = 50_000_000
"""Letters of a text that are searched through for others, again and again, before only its whole lines are found."""

RUNNING = 40
"""The letters of a line of running text: menus and captions have fewer."""

_STEPS = 3
"""The fewest sentences that are a list of steps at the end of a text."""
_NO_WORD = re.compile(r"\W+")
_ASCII_KEYS = {code: chr(code).lower() if re.match(r"\w", chr(code)) else None for code in range(128)}
"""What becomes of the characters of a line in ASCII, in a third of the time that the expression takes."""
_MAX_KNOWN_LENGTH, _MAX_FEW_LENGTH = 2_000, 500_000
"""Characters of lines whose letters are remembered: of many, and of the few that a page without blocks consists of."""
SENTENCE = tuple(".!?…。！？।॥۔؟։።។။།")
"""The signs at the end of a sentence."""
QUOTES = "\"'”“»«)’"


class SearchedText:
    """Lines of text in which many others are looked for, each mostly behind the one before: readings of one page.

    Whole lines are found by their letters, and what is asked for in the order of the text is found on the way through
    it. All of the text is searched for the rest, until ``MAX_SEARCHED`` letters were: from then on, whatever the
    machine, only whole lines are found.
    """

    def __init__(self, *lines: str) -> None:
        self._text = "\n".join(lines)
        self._lines = frozenset(lines)
        self._place = 0
        self.searched = 0

    def has_line(self, line: str) -> bool:
        """Return whether a text is one of the lines."""
        return line in self._lines

    def has(self, part: str) -> bool:
        """Return whether a text is in one of the lines."""
        if part in self._lines:
            return True
        return self._found(part, self._place, len(self._text)) or self._found(part, 0, self._place + len(part))

    def _found(self, part: str, first: int, end: int) -> bool:
        """Look for a text between two places, and go on from there where it is found."""
        if self.searched >= MAX_SEARCHED or first >= end:
            return not part
        place = self._text.find(part, first, end)
        self.searched += (place if place >= 0 else min(end, len(self._text))) - first
        if place >= 0:
            self._place = place
        return place >= 0


class TextLines:
    """The lines of one reading of a page, as they are compared with others."""

    def __init__(self, lines: Iterable[str], linked: Collection[str]) -> None:
        self.lines = [line for line in lines if line]
        self.letters = [line_key(line) for line in self.lines]
        self.long = [key for key in self.letters if weight(key) >= RUNNING and key not in linked]

    @cached_property
    def running(self) -> int:
        """Return the weight of running text."""
        return sum(map(weight, self.long))

    @cached_property
    def keys(self) -> SearchedText:
        """The letters of all lines."""
        return SearchedText(*self.letters)

    @cached_property
    def flow(self) -> SearchedText:
        """The letters of all lines as one."""
        return SearchedText("".join(self.letters))

    def agrees_with(self, other: "TextLines", least: float) -> bool:
        """Return whether each text contains a share of at least ``least`` of the other's running text."""
        return min(self.share_in(other), other.share_in(self)) >= least

    def is_shown_in(self, shown: AbstractSet[str]) -> bool:
        """Return whether the page shows any running line, and the text is not the page's whole text or a script's."""
        return not shown.isdisjoint(self.long)

    def is_dump_of(self, other: "TextLines") -> bool:
        """Return whether lines of the page were run together, including all those of another extraction."""
        return len(self.lines) == 1 and bool(other.letters) and all(map(self.keys.has, other.letters))

    def without_end(self, other: "TextLines") -> Sequence[str]:
        """Return the lines without the short ones after the last line that another extraction also has.

        Several sentences there are kept, as steps of a list.
        """
        kept = self.lines_of((other,))
        last = len(self.lines) - self.lines[::-1].index(kept[-1]) if kept else len(self.lines)
        behind = self.lines[last:]
        steps = [line for line in behind if len(line) >= RUNNING and line.rstrip(QUOTES).endswith(SENTENCE)]
        return (
            self.lines if len(steps) >= _STEPS or any(len(line) >= LONG_LINE for line in behind) else self.lines[:last]
        )

    def share_in(self, other: "TextLines") -> float:
        """Return the share of the running text that another reading has as well."""
        return sum(weight(key) for key in self.long if other.keys.has(key)) / (self.running or 1)

    def lines_before(self, lines: Sequence[str]) -> list[str]:
        """Return the running lines before the first line that is among the given ones."""
        known = set(map(line_key, lines))
        above = takewhile(lambda line: line_key(line) not in known, self.lines)
        return [line for line in above if len(line_key(line)) >= RUNNING]

    def lines_of(self, others: Iterable["TextLines"]) -> list[str]:
        """Return the lines from the first to the last that any of the others also has."""
        keys = [each.keys for each in others]
        has = [number for number, key in enumerate(self.letters) if any(each.has_line(key) for each in keys)]
        return self.lines[has[0] : has[-1] + 1] if has else []


def letters(text: str) -> int:
    """Return the number of letters and digits of a text."""
    return len(line_key(text))


def share_of(text: str, other: str) -> float:
    """Return the share of a text's running text that another text has as well."""
    return TextLines(text.split("\n"), ()).share_in(TextLines(other.split("\n"), ()))


def shares_by_line(text: str, other: str) -> Iterator[tuple[str, float]]:
    """Yield each line of a text, and the share of its running text that another text has as well."""
    searched = TextLines(other.split("\n"), ())
    return ((line, TextLines((line,), ()).share_in(searched)) for line in text.split("\n"))


def merged(text: str, other: str, third: str) -> str:
    """Return the common text of two readings of an article: the lines of ``text`` between those in ``other`` as well.

    Running lines above these come from ``other``; lines amid them that neither it nor a ``third`` reading has are left
    out.
    """
    own, first, second = (TextLines(each.split("\n"), ()) for each in (text, other, third))
    kept = own.lines_of((first,))
    if not kept:
        return text
    inner = [
        line for line in kept if not (key := line_key(line)) or first.keys.has_line(key) or second.keys.has_line(key)
    ]
    return "\n".join((*first.lines_before(inner), *inner))


def digest(key: str) -> int:
    """Return the digest of the letters of a line, the same on any machine."""
    return int.from_bytes(blake2b(key.encode("utf-8", "replace"), digest_size=8).digest())


def line_key(line: str) -> str:
    """Return the letters of a line, by which it is known however it is set."""
    if len(line) <= _MAX_KNOWN_LENGTH:
        return _known_key(line)
    return _known_long_key(line) if len(line) <= _MAX_FEW_LENGTH else _letters(line)


def _letters(line: str) -> str:
    return line.translate(_ASCII_KEYS) if line.isascii() else _NO_WORD.sub("", line).casefold()


# Several steps of reading a page ask for the letters of the same lines.
_known_key = lru_cache(maxsize=1024)(_letters)
_known_long_key = lru_cache(maxsize=8)(_letters)
