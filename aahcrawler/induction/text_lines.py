"""Compare readings of one page by the lines of their texts, ignoring white space, punctuation and case.

A line is identified by its letters and digits (``line_key``). Running text counts by its length, short lines not at
all.
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
"""The most letters of a text that are searched through, summed over all searches; then only its whole lines are found.
"""

RUNNING = 40
"""The fewest letters of a line of running text; lines of menus and captions have fewer."""

_STEPS = 3
"""The fewest sentences at the end of a text that count as a list of steps."""
_NO_WORD = re.compile(r"\W+")
_ASCII_KEYS = {code: chr(code).lower() if re.match(r"\w", chr(code)) else None for code in range(128)}
"""Maps characters of ASCII to those of a line's key: a third of the time that the regular expression takes."""
_MAX_KNOWN_LENGTH, _MAX_FEW_LENGTH = 2_000, 500_000
"""Characters of lines whose letters are remembered: of many, and of the few that a page without blocks consists of."""
SENTENCE = tuple(".!?…。！？।॥۔؟։።។။།")
"""The characters that end a sentence."""
QUOTES = "\"'”“»«)’"


class SearchedText:
    """Lines of one reading of a page in which those of another are searched, mostly in the order of the page.

    A whole line is looked up by its letters. Any other text is searched from the place of the one found before, and
    then in all of the text. When ``MAX_SEARCHED`` letters have been searched through, on any machine, only whole lines
    are found.
    """

    def __init__(self, *lines: str) -> None:
        self._text = "\n".join(lines)
        self._lines = frozenset(lines)
        self._place = 0
        self.searched = 0

    def has_line(self, line: str) -> bool:
        """Return whether the text is one of the lines."""
        return line in self._lines

    def has(self, part: str) -> bool:
        """Return whether the text is a part of one of the lines."""
        if part in self._lines:
            return True
        return self._found(part, self._place, len(self._text)) or self._found(part, 0, self._place + len(part))

    def _found(self, part: str, first: int, end: int) -> bool:
        """Search a text between two places; where it is found, the next search begins behind it."""
        if self.searched >= MAX_SEARCHED or first >= end:
            return not part
        place = self._text.find(part, first, end)
        self.searched += (place if place >= 0 else min(end, len(self._text))) - first
        if place >= 0:
            self._place = place
        return place >= 0


class TextLines:
    """The lines of one reading of a page, prepared for comparisons with other readings."""

    def __init__(self, lines: Iterable[str], linked: Collection[str]) -> None:
        self.lines = [line for line in lines if line]
        self.letters = [line_key(line) for line in self.lines]
        self.long = [key for key in self.letters if weight(key) >= RUNNING and key not in linked]

    @cached_property
    def running(self) -> int:
        """Return the weight of the running text."""
        return sum(map(weight, self.long))

    @cached_property
    def keys(self) -> SearchedText:
        """The letters of each line, to be searched."""
        return SearchedText(*self.letters)

    @cached_property
    def flow(self) -> SearchedText:
        """The letters of all lines joined into one, to be searched."""
        return SearchedText("".join(self.letters))

    def agrees_with(self, other: "TextLines", least: float) -> bool:
        """Return whether each text contains a share of at least ``least`` of the other's running text."""
        return min(self.share_in(other), other.share_in(self)) >= least

    def is_shown_in(self, shown: AbstractSet[str]) -> bool:
        """Return whether a running line of this reading is among ``shown``, the keys of lines that the page shows."""
        return not shown.isdisjoint(self.long)

    def is_dump_of(self, other: "TextLines") -> bool:
        """Return whether this reading runs lines of the page together, all lines of another reading among them."""
        return len(self.lines) == 1 and bool(other.letters) and all(map(self.keys.has, other.letters))

    def without_end(self, other: "TextLines") -> Sequence[str]:
        """Return the lines without the short ones behind the last line that another reading has as well.

        Several sentences at the end are kept, as steps of a list.
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
        """Return the running lines before the first line that is one of ``lines``."""
        known = set(map(line_key, lines))
        above = takewhile(lambda line: line_key(line) not in known, self.lines)
        return [line for line in above if len(line_key(line)) >= RUNNING]

    def lines_of(self, others: Iterable["TextLines"]) -> list[str]:
        """Return the lines from the first to the last that any of the other readings has as well."""
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
    """Yield each line of a text with the share of its running text that another text has as well."""
    searched = TextLines(other.split("\n"), ())
    return ((line, TextLines((line,), ()).share_in(searched)) for line in text.split("\n"))


def merged(text: str, other: str, third: str) -> str:
    """Return the common text of two readings of an article: ``text`` from the first to the last line of ``other``.

    Running lines above these come from ``other``. Lines between them that neither ``other`` nor a ``third`` reading has
    are left out.
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
    """Return a digest of a line's key, the same on any machine."""
    return int.from_bytes(blake2b(key.encode("utf-8", "replace"), digest_size=8).digest())


def line_key(line: str) -> str:
    """Return the key of a line: its letters and digits in lower case."""
    if len(line) <= _MAX_KNOWN_LENGTH:
        return _known_key(line)
    return _known_long_key(line) if len(line) <= _MAX_FEW_LENGTH else _letters(line)


def _letters(line: str) -> str:
    return line.translate(_ASCII_KEYS) if line.isascii() else _NO_WORD.sub("", line).casefold()


# Several steps of reading a page ask for the letters of the same lines.
_known_key = lru_cache(maxsize=1024)(_letters)
_known_long_key = lru_cache(maxsize=8)(_letters)
