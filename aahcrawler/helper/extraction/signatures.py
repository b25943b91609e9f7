"""Find signatures of wiki comments: author, then date, at the end of a line."""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import unquote

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.page import dates
from aahcrawler.page.text import UNSEEN

MAX_TRIES = 10_000
"""The most texts of one page that are tried as dates; a signature takes one or two."""

MAX_DATES = 4
"""The most dates of a line that are examined, from its end."""

MAX_DATE_LENGTH = 70
MAX_GAP = 100
"""The most characters between two links of a signature, or between the last link and the date."""

MAX_WRAPPER_LENGTH = 400
MAX_REMARK_LENGTH = 60
MAX_NAME_LENGTH = 40
MAX_DASH_LENGTH = 12

_YEAR = re.compile(r"\d{4}")
_CLOCK = re.compile(r"\d{1,2}\s?[:.h時时点點시]\s?\d{2}")
_TOKEN = re.compile(r"\d+|[^\W\d_]+")
_NUMBERS = re.compile(r"\d+\D+\d")
_PARENTHESES = re.compile(r"\([^()]{1,20}\)")
_CLOSED_BEFORE = re.compile(r"[^()]*\)[^\d]*\d")
_POINT_CLOCK = re.compile(r"(?<![\d.:])(\d{1,2})\.(\d{2})(?![\d.:])")
_HOUR_MINUTE = re.compile(r"(\d{1,2})h(\d{2})min\b")
_BRACKETS = re.compile(r"\s*\[[^\[\]]{0,40}\]$")
_ZONED = re.compile(r"\d[^()\n]{0,30}\((?:[^\W\d_](?:[ \xa0.]?[^\W\d_]){1,5}|(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?)\)")
_LEADING_IN = re.compile(r"[\s\-–—―‒−~(|]*$")
_DASH = re.compile(r"(?:--|[–—―]|\s-\s)\s*([^–—―()]+?)[\s,(]*$")
_REMARK = re.compile(r"\s*[(–—―-][^.!?]*")
_TITLE = re.compile(r"[?&]title=([^&#]*)")
_NEW_SENTENCE = re.compile(r"[.!?…]\s+[^\s)\]]")
_WORDS = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a block: the text before its first element, and its elements with the text behind each."""

    lead: str
    elements: list[HtmlElement]


@dataclass(frozen=True, slots=True)
class Measured:
    """The text of a line as in the source, and the offsets in it of each element or comment."""

    text: str
    spans: dict[HtmlElement, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature within a line: its offset in the text, its date as written, and its author.

    ``part`` is the element that names the author; without such an element, ``name`` is the text before the date.
    """

    start: int
    date: str
    part: HtmlElement | None
    name: str
    spans: dict[HtmlElement, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Mark:
    """An element that may name the author, and its offsets."""

    start: int
    end: int
    element: HtmlElement


@dataclass(frozen=True, slots=True)
class _Date:
    start: int
    text: str


def measure(lead: str, elements: list[HtmlElement]) -> Measured:
    """Read a line; invisible elements have no text, and elements within them no offsets."""
    pieces, length = [lead], len(lead)
    starts: dict[HtmlElement, int] = {}
    spans: dict[HtmlElement, tuple[int, int]] = {}

    def add(piece: str | None) -> None:
        nonlocal length
        if piece:
            pieces.append(piece)
            length += len(piece)

    for root in elements:
        if isinstance(root.tag, str):
            walk = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
            for event, node in walk:
                if event == "start":
                    starts[node] = length
                    spans[node] = (length, length)
                    if node.tag in UNSEEN:
                        walk.skip_subtree()
                    else:
                        add(node.text)
                    continue
                spans[node] = (starts.get(node, length), length)
                if node is not root:
                    add(node.tail)
        else:
            spans[root] = (length, length)
        add(root.tail)
    return Measured("".join(pieces), spans)


class Signatures:
    """Finds the signatures of one page; ``now`` is aware. After `MAX_TRIES` dates nothing more is found."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._tries = MAX_TRIES

    @staticmethod
    def may_end(text: str | None) -> bool:
        """Return whether a text contains a date with its zone, as wikis write it, so that a signature needs no link."""
        return text is not None and "(" in text and _ZONED.search(text) is not None

    def find(self, line: Line, parts: Container[HtmlElement]) -> Signature | None:
        """Return the signature of a line, None if there is none.

        It consists of one of ``parts`` and a date behind it; adjacent parts that lead to pages of the same person all
        belong to it. The date ends the line, but for closing brackets. A date with its zone may be anywhere in the line
        if it directly follows the part; the last such date counts. A date without a time of day must directly follow
        the part, too. Without any part, a name between a dash and a date with time and zone at the end of the line is a
        signature.
        """
        read = measure(line.lead, line.elements)
        marks = [_Mark(*span, element) for element, span in read.spans.items() if element in parts]
        tried = set()
        for end in _ends(read.text):
            tried.add(end)
            date = self._date_before(read.text, marks, end)
            if date is not None:
                found = _signed(read, marks, date) or _unlinked(read, marks, date)
                if found is not None:
                    return found
        for end in _inner_ends(read.text) if marks else ():
            date = self._date_before(read.text, marks, end) if end not in tried else None
            found = _signed(read, marks, date, at_once=True) if date is not None else None
            if found is not None:
                return found
        return None

    def _date_before(self, text: str, marks: list[_Mark], end: int) -> _Date | None:
        if _YEAR.search(text, max(0, end - MAX_DATE_LENGTH), end) is None:
            return None
        clip = max((mark.end for mark in marks if mark.end < end), default=0)
        return self._date(text, clip, end) or (self._date(text, 0, end) if clip else None)

    def _date(self, text: str, clip: int, end: int) -> _Date | None:
        """Return the longest date that ends here and does not begin before ``clip``."""
        for token in _TOKEN.finditer(text, max(clip, end - MAX_DATE_LENGTH), end):
            rest = text[token.start() : end]
            if self._tries <= 0 or _NUMBERS.search(rest) is None or _YEAR.search(rest) is None:
                return None
            if _CLOSED_BEFORE.match(rest):
                continue
            for written in _spellings(rest):
                self._tries -= 1
                if dates.read_date(written, now=self._now) is not None:
                    return _Date(token.start(), written)
        return None


def _ends(text: str) -> Iterator[int]:
    """Yield the offsets at which the date of a signature may end: the end of the line, or before brackets there."""
    end = len(text.rstrip())
    yield end
    bracketed = _BRACKETS.search(text, max(0, end - 60), end)
    if bracketed is not None:
        yield bracketed.start()


def _inner_ends(text: str) -> list[int]:
    """Return the ends of the last dates that have their zones, the last one first."""
    return [match.end() for match in _ZONED.finditer(text)][: -MAX_DATES - 1 : -1]


def _spellings(text: str) -> Iterator[str]:
    """Yield a date as written, with plain commas and colons, and without weekdays or zones in parentheses."""
    yield text
    plain = _HOUR_MINUTE.sub(r"\1:\2", text.replace("،", ","))
    plain = plain if ":" in plain else _POINT_CLOCK.sub(r"\1:\2", plain)
    if plain != text:
        yield plain
    groups = list(_PARENTHESES.finditer(plain))
    if len(groups) > 1:
        yield _PARENTHESES.sub(" ", plain[: groups[-1].start()]) + plain[groups[-1].start() :]
    if groups:
        yield _PARENTHESES.sub(" ", plain)


def _signed(read: Measured, marks: list[_Mark], date: _Date, *, at_once: bool = False) -> Signature | None:
    before = [mark for mark in marks if mark.end <= date.start]
    if not before or not _is_near(read.text[before[-1].end : date.start], date, at_once=at_once):
        return None
    last = first = before[-1]
    person = _person(last.element)
    start = first.start
    named = first if _has_words(read, first) else None
    for mark in reversed(before[:-1]):
        if mark.start <= first.start and mark.end >= last.end:
            start = min(start, mark.start)
            continue
        other = _person(mark.element)
        if first.start - mark.end > (MAX_GAP if all(person) else MAX_DASH_LENGTH) or not _is_same(person, other):
            break
        first, person = mark, person if all(person) else other
        start = min(start, first.start)
        named = first if _has_words(read, first) else named
    around = (element for element, span in read.spans.items() if span[0] <= start and span[1] >= date.start)
    wrapped = {mark.element for mark in marks}
    wrappers = (read.spans[element][0] for element in around if element in wrapped or _is_remark(read, element, start))
    start = min((at for at in wrappers if date.start - at <= MAX_WRAPPER_LENGTH), default=start)
    return Signature(_led_in(read.text, start), date.text, (named or first).element, "", read.spans)


def _is_remark(read: Measured, element: HtmlElement, start: int) -> bool:
    """Return whether an element contains only an introduction before the signature: ``(unsigned words of``."""
    begins = read.spans[element][0]
    is_short = start - begins <= MAX_REMARK_LENGTH and _WORDS.search(read.text, 0, begins) is not None
    return is_short and _REMARK.fullmatch(read.text, begins, start) is not None


def _has_words(read: Measured, mark: _Mark) -> bool:
    return _WORDS.search(read.text, mark.start, mark.end) is not None


def _is_near(gap: str, date: _Date, *, at_once: bool) -> bool:
    """Return whether the text between a part and a date may belong to a signature."""
    if len(gap) > MAX_GAP or _NEW_SENTENCE.search(gap):
        return False
    needs_no_more = not at_once and _CLOCK.search(date.text) is not None
    return needs_no_more or _WORDS.search(gap) is None


def _unlinked(read: Measured, marks: list[_Mark], date: _Date) -> Signature | None:
    if any(mark.end > date.start - MAX_NAME_LENGTH for mark in marks if mark.end <= date.start):
        return None
    if _CLOCK.search(date.text) is None or _PARENTHESES.search(date.text) is None:
        return None
    begins = max(0, date.start - MAX_NAME_LENGTH - MAX_DASH_LENGTH)
    dash = _DASH.search(read.text[begins : date.start])
    if dash is None or not dash[1].strip() or len(dash[1]) > MAX_NAME_LENGTH:
        return None
    return Signature(_led_in(read.text, begins + dash.start()), date.text, None, dash[1].strip(), read.spans)


def _led_in(text: str, start: int) -> int:
    """Return the offset of a dash, or the like, that introduces a signature."""
    leading = _LEADING_IN.search(text[max(0, start - MAX_DASH_LENGTH) : start])
    return start - len(leading[0]) if leading else start


def _person(element: HtmlElement) -> tuple[str, ...]:
    """Return the parts that identify a person: of a link to ``Namespace:Name/page`` those behind the colon.

    An element without a link, such as one to the page itself, identifies nobody: its only part is empty.
    """
    link = element if element.tag == "a" else next(element.iter("a"), element)
    href = link.get("href") or ""
    asked = _TITLE.search(href)
    title = unquote(asked[1] if asked else href.partition("?")[0].partition("#")[0]).replace("_", " ")
    if "://" in title:
        title = title.partition("://")[2].partition("/")[2]
    name = title.partition(":")[2]
    return tuple(name.split("/")[:2]) if name else (title,)


def _is_same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether two links name the same person: ``User:Ada`` and ``Special:Contributions/Ada`` do."""
    if not (all(one) and all(other)):
        return True
    if len(one) == len(other):
        return one == other
    return one[0] == other[-1] or one[-1] == other[0] or one[0] == other[0]
