"""Find the dates that a page shows, which are the main evidence for most records."""

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from aahcrawler.induction.field_labels import is_byline_word, tells_of_change, text_before
from aahcrawler.induction.outline import Outline
from aahcrawler.page import dates
from aahcrawler.page.date_grammar import DateReading
from aahcrawler.page.dates import date_attributes
from aahcrawler.page.text import fold

MAX_TRIED = 1_500
"""How many texts of one page are read as dates."""

MAX_DATE_TEXT_LENGTH = 120
"""A longer text shows no date of a record, unless it is a signature."""

EARLIEST = 1990
"""On pages of unknown software, earlier years are mostly part of the subject, such as a birthday."""

_NEAR_NUMBERS = re.compile(
    r"(?:[^\W\d_]+\W{1,3}){0,2}(?<![A-Za-z\d])\d.*\d(?:\s?[apAP]\.?[mM]\b\.?|\s?[^\W\d_]{1,9}\b)?"
)
_NUMBERS = re.compile(r"(?<![A-Za-z\d])\d.*\d(?:\s?[apAP]\.?[mM]\b\.?)?")
_DAY_AND_YEAR = re.compile(r"[\d年月日](?:(?<=[年月日])|\d{3}|[./-]\d|\s?[:h]\s?\d)")
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}(?!\d)")
_NUMBER_OF_POST = re.compile(r"\W*(?:[^\W\d_]+\W{1,3}){0,2}?(?:#|№|n[ro]\.|n[°º])\s?\d{1,7}(?!\w)\W*", re.IGNORECASE)
"""What boards write before the date of an answer: ``« Reply #1 on: ``; words directly before the date may stay."""
_NO_DATE = re.compile(r"\W*\d+(?:\.\d+)?[)\]]\W*|\W*[^\W\d_]{2,}[\w.-]*\d\W*|#\d+\W*")
"""A word with digits that is not part of a date: the number of a post in brackets, a name such as ``ann7``."""
_MAX_HEADS = 6
"""How many words before a date are left out at most."""
_MAX_UNREAD_LENGTH = 40
_MAX_MOMENT_LENGTH = 40
"""The most characters shown by an element whose title attribute contains the moment among other words."""
_MAX_WORDS, _FEW_WORDS = 4, 2
_NUMBER = re.compile(r"\d{1,9}")
_LONG_WORD = re.compile(r"[^\W\d_]{2,}")
_TIME = re.compile(r"(?<!\d)[012]?\d:[0-5]\d(?!\d)")


@dataclass(frozen=True, slots=True)
class ShownDate:
    """A date that a page shows: the place of the element, and what was read there.

    ``text`` is the text read, ``piece`` the number of the piece of text, or -1 if the date is in the attribute named by
    ``attribute``.
    """

    place: int
    read: DateReading
    text: str
    piece: int = -1
    declared: bool = False
    attribute: str = ""
    unread: bool = False
    """Whether the text only looks like a date and could not be read; its moment means nothing then."""

    @property
    def moment(self) -> datetime:
        """The date and time."""
        return self.read.moment


def shown_dates(outline: Outline, reader: "DateReader") -> tuple[ShownDate, ...]:
    """Return the dates of a page in document order, at most one for each element.

    Attributes made for machines are preferred to text. If more lines of one shape look like dates than can be read,
    these lines are among the results, unread, so that a record is found although its date cannot be read.
    """
    found: dict[int, ShownDate] = {}
    for shown in reader.of_attributes(outline):
        found.setdefault(shown.place, shown)
    for shown in reader.of_text(outline):
        if not any(place in found and found[place].declared for place in (shown.place, outline.parents[shown.place])):
            found.setdefault(shown.place, shown)
    for group in _unread(outline, reader.now, found):
        if len(group) > len(found):
            found |= {shown.place: shown for shown in group}
            break
    return tuple(found[place] for place in sorted(found))


def is_of_change(outline: Outline, shown: ShownDate) -> bool:
    """Return whether the words before a date say that it is the date of a change, or of the person who wrote."""
    own = outline.pieces[shown.piece].text if shown.piece >= 0 else ""
    head = own.partition(shown.text)[0][-MAX_DATE_TEXT_LENGTH:] if shown.text in own else ""
    within = _NUMBER.split(shown.text)[0] if shown.piece >= 0 else ""
    if _LONG_WORD.search(head) or any(map(is_byline_word, within.split())):
        return tells_of_change(head + within)
    before = _NUMBER.split(outline.once(shown.place, text_before))[-1]
    return tells_of_change(within) or tells_of_change(before)


def _unread(outline: Outline, now: datetime, found: Container[int]) -> Sequence[Sequence[ShownDate]]:
    """Return groups of lines of one shape that look like dates although they were not read, the largest first."""
    groups: dict[tuple[object, ...], list[ShownDate]] = defaultdict(list)
    for number, piece in enumerate(outline.pieces):
        if (
            len(piece.text) <= _MAX_UNREAD_LENGTH
            and piece.owner not in found
            and _looks_like_date(piece.text, now.year)
        ):
            above = outline.parents[piece.owner]
            shape = (outline.tags[piece.owner], outline.tokens[piece.owner], outline.tags[above], outline.tokens[above])
            groups[shape].append(ShownDate(piece.owner, DateReading(now, vague=True), piece.text, number, unread=True))
    return sorted((group for group in groups.values() if len(group) > 1), key=len, reverse=True)


def _looks_like_date(text: str, latest: int) -> bool:
    """Return whether a text consists of a day, a year or a time of day, and hardly anything else.

    >>> _looks_like_date("20 Qux 2001, 14:05", 2026), _looks_like_date("10 new of 2000 users", 2026)
    (True, False)
    """
    numbers = [int(number) for number in _NUMBER.findall(text)]
    words = _LONG_WORD.findall(text)
    if not 2 <= len(numbers) <= 6 or len(words) > _MAX_WORDS or len(numbers) + 1 < len(words):
        return False
    has_year = any(EARLIEST <= number <= latest for number in numbers)
    has_clock = _TIME.search(text) is not None
    has_day = any(1 <= number <= 31 for number in numbers[: None if has_year else -2])
    return has_day and (has_clock or (has_year and len(words) <= _FEW_WORDS))


def _order(outline: Outline) -> dates.Order | None:
    pairs = [
        (int(match[1]), int(match[2]))
        for piece in outline.pieces
        if len(piece.text) <= MAX_DATE_TEXT_LENGTH
        for match in [_SLASHED.search(piece.text)]
        if match
    ]
    if any(first > 12 >= second for first, second in pairs):
        return "dmy"
    return "mdy" if any(second > 12 >= first for first, second in pairs) else None


class DateReader:
    """Reads texts of one page as dates, each text once and at most ``MAX_TRIED``.

    Numbers such as 01/02/2022 are read in the ``order`` of the site, or else with the day first if any date of the page
    can only be read so.
    """

    def __init__(self, outline: Outline, now: datetime, language: str | None, order: dates.Order | None = None) -> None:
        self.now = now
        self._language = language
        self._order: dates.Order | None = order or _order(outline)
        self._read: dict[str, DateReading | None] = {}

    def of_attributes(self, outline: Outline) -> Iterator[ShownDate]:
        """Yield the dates in attributes made for machines, one for each element at most."""
        for place, element in enumerate(outline.elements):
            for name, value in date_attributes(element):
                text = fold(value)
                read = self._reading(text)
                if read is None and name == "title" and _shows_moment(outline, place):
                    text, read = self._within(text)
                    read = read if read is not None and read.timed and not (read.vague or read.lacks_year) else None
                if read is not None:
                    yield ShownDate(place, read, text, declared=True, attribute=name)
                    break

    def of_text(self, outline: Outline) -> Iterator[ShownDate]:
        """Yield the dates in the pieces of a page's text."""
        for number, piece in enumerate(outline.pieces):
            text, read = self.of_line(piece.text)
            if read is not None:
                yield ShownDate(piece.owner, read, text, number)

    def of_line(self, text: str) -> tuple[str, DateReading | None]:
        """Return the words of a line that give a date, and the date; (the line, None) if it shows none or is long."""
        if len(text) > MAX_DATE_TEXT_LENGTH:
            return text, None
        read = self._reading(text) if _may_be_date(text) else None
        return self._within(text) if read is None and _DAY_AND_YEAR.search(text) else (text, read)

    def _within(self, text: str) -> tuple[str, DateReading | None]:
        """Find a date among other words, after the number of a post if the text begins with one."""
        numbered = _NUMBER_OF_POST.match(text)
        if numbered:
            text = text[numbered.end() :]
            if (read := self._reading(text)) is not None:
                return text, read
        for pattern in (_NEAR_NUMBERS, _NUMBERS):
            match = pattern.search(text)
            if match and match[0] != text:
                words = match[0]
                for _ in range(_MAX_HEADS):
                    read = self._reading(words)
                    if read is not None:
                        return words, read
                    head, _, words = words.partition(" ")
                    if not words or (any(map(str.isdigit, head)) and not _NO_DATE.fullmatch(head)):
                        break
        return text, None

    def _reading(self, text: str) -> DateReading | None:
        if text not in self._read:
            if len(self._read) >= MAX_TRIED:
                return None
            found = dates.read_date(text, now=self.now, language=self._language, order=self._order)
            self._read[text] = found if found is not None and found.moment.year >= EARLIEST else None
        return self._read[text]


def _shows_moment(outline: Outline, place: int) -> bool:
    """Return whether an element shows a few words with a number or a relative date: ``4 years ago``, ``10:02``."""
    if not 0 < outline.free(place) + outline.linked(place) <= _MAX_MOMENT_LENGTH:
        return False
    text = " ".join(piece.text for piece in outline.pieces_of(place))
    return any(map(str.isdigit, text)) or dates.may_be_relative(text)


def _may_be_date(text: str) -> bool:
    """Return whether a text may be a date; this test is much cheaper than reading it."""
    if len(text) < 4:
        return False
    if any(map(str.isdigit, text)):
        return not text.isdigit()
    return len(text) <= 30 and dates.may_be_relative(text)
