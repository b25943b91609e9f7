"""Find the dates that a page shows: the evidence that most records have."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from aahcrawler.induction.outline import Outline
from aahcrawler.page import dates
from aahcrawler.page.datewords import plain_letters, vocabularies
from aahcrawler.page.text import fold

MOST_TRIED = 1_500
"""The most texts of one page that are read as dates."""

LONGEST = 120
"""A text of more characters shows no date of a record, unless it is a signature."""

EARLIEST = 1990

_ATTRIBUTES = ("datetime", "title", "data-time", "data-timestamp", "data-utime", "data-date", "content")
_OF_TIME = frozenset({"datetime", "data-time", "data-timestamp", "data-utime", "data-date"})
"""The attributes in which a bare number counts seconds; elsewhere it is that of an article, an order or a telephone."""
_NEAR_NUMBERS = re.compile(r"(?:[^\W\d_]+\W{1,3}){0,2}\d.*\d(?:\s?[apAP]\.?[mM]\b\.?|\s?[^\W\d_]{1,9}\b)?")
_NUMBERS = re.compile(r"\d.*\d(?:\s?[apAP]\.?[mM]\b\.?)?")
_DAY_AND_YEAR = re.compile(r"\d{4}|\d[./-]\d|\d\s?[:h]\s?\d|[年月日]")
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}(?!\d)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[^\W\d_]+")
_CLOCK = re.compile(r"\d\s?[:h.]\s?\d\d|\d\s?[ap]\.?m\b|[時时点시]", re.IGNORECASE)
_SIGNATURE = re.compile(r"^\W{0,3}\(?")


@dataclass(frozen=True, slots=True)
class Shown:
    """A date that a page shows: the place of the element, the date and time, and whether it has a time of day.

    ``text`` is the text read, ``piece`` the number of the piece of text, or -1 if the date is in the attribute named by
    ``attribute``.
    """

    place: int
    moment: datetime
    timed: bool
    text: str
    piece: int = -1
    declared: bool = False
    attribute: str = ""
    vague: bool = False
    """Whether it tells about when something was, but not on which day: ``2 months ago``."""


def shown_dates(
    outline: Outline, now: datetime, language: str | None, order: dates.Order | None = None
) -> tuple[Shown, ...]:
    """Return the dates of a page in document order, at most one for each element.

    Attributes made for machines are believed before text. Numbers such as 01/02/2022 are read in the ``order`` of the
    site, else day first if any of the page's can only be read so.
    """
    reader = _Reader(now, language, order or _order(outline))
    found: dict[int, Shown] = {}
    for shown in reader.of_attributes(outline):
        found.setdefault(shown.place, shown)
    for shown in reader.of_text(outline):
        if not any(place in found and found[place].declared for place in (shown.place, outline.parents[shown.place])):
            found.setdefault(shown.place, shown)
    return tuple(found[place] for place in sorted(found))


def _order(outline: Outline) -> dates.Order | None:
    pairs = [
        (int(match[1]), int(match[2]))
        for piece in outline.pieces
        if len(piece.text) <= LONGEST
        for match in [_SLASHED.search(piece.text)]
        if match
    ]
    if any(first > 12 >= second for first, second in pairs):
        return "dmy"
    return "mdy" if any(second > 12 >= first for first, second in pairs) else None


class _Reader:
    """Reads texts of one page as dates, each text once and not more than ``MOST_TRIED``."""

    def __init__(self, now: datetime, language: str | None, order: dates.Order | None) -> None:
        self._now = now
        self._latest = now + timedelta(days=1)
        self._language = language
        self._order: dates.Order | None = order
        self._read: dict[str, datetime | None] = {}

    def of_attributes(self, outline: Outline) -> Iterator[Shown]:
        for place, element in enumerate(outline.elements):
            if not element.attrib:
                continue
            for name in _ATTRIBUTES:
                value = element.get(name)
                if value and 6 <= len(value) <= 60 and any(map(str.isdigit, value)):
                    text = fold(value)
                    moment = self._moment(text) if name in _OF_TIME or not text.isdigit() else None
                    if moment is not None:
                        yield Shown(place, moment, _is_timed(text), text, declared=True, attribute=name)
                        break

    def of_text(self, outline: Outline) -> Iterator[Shown]:
        for number, piece in enumerate(outline.pieces):
            text = piece.text
            if len(text) > LONGEST:
                continue
            moment = self._moment(text) if _may_be_date(text) else None
            if moment is None and _DAY_AND_YEAR.search(text):
                text, moment = self._within(text)
            if moment is not None:
                yield Shown(piece.owner, moment, _is_timed(text), text, number, vague=self._is_vague(text))

    def _within(self, text: str) -> tuple[str, datetime | None]:
        """Look for a date among other words."""
        for pattern in (_NEAR_NUMBERS, _NUMBERS):
            match = pattern.search(text)
            if match and match[0] != text:
                words = match[0]
                for _ in range(3):
                    moment = self._moment(words)
                    if moment is not None:
                        return words, moment
                    head, _, words = words.partition(" ")
                    if not words or any(map(str.isdigit, head)):
                        break
        return text, None

    def _is_vague(self, text: str) -> bool:
        if _YEAR.search(text) or ":" in text:
            return False
        return dates.parse(text, now=self._now, language=self._language, order=self._order) is None

    def _moment(self, text: str) -> datetime | None:
        if text not in self._read:
            if len(self._read) >= MOST_TRIED:
                return None
            found = dates.parse(text, now=self._now, language=self._language, order=self._order, coarse=True)
            plausible = found is not None and found.year >= EARLIEST and found <= self._latest
            self._read[text] = found if plausible else None
        return self._read[text]


def _is_timed(text: str) -> bool:
    return _CLOCK.search(text) is not None or (text.isdigit() and len(text) in (10, 13))


def _may_be_date(text: str) -> bool:
    """Return whether a text may be a date; this test costs much less than reading it."""
    if len(text) < 4:
        return False
    if any(map(str.isdigit, text)):
        return not text.isdigit()
    return len(text) <= 30 and any(word in _near_words() for word in _WORD.findall(plain_letters(text)))


@lru_cache(maxsize=1)
def _near_words() -> frozenset[str]:
    found: set[str] = set()
    for words in vocabularies().values():
        found.update(words.days, words.ago, words.now)
    return frozenset(found)
