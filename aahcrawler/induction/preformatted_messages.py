"""Find messages of mail whose header lines and text stand in one preformatted element, as archives of mail show them.

The header is that of RFC 5322: lines that begin with the name of a field, up to an empty line. Archives write a sender
and a date into one line as well: ``From: Ann Boyd @ 2021-03-02 8:15 UTC``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, islice, takewhile

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.induction.byline_words import name_in
from aahcrawler.induction.field_labels import FieldLabel, split_label
from aahcrawler.induction.headings import Names, own_address
from aahcrawler.induction.outline import Outline
from aahcrawler.induction.record_identity import says_link
from aahcrawler.induction.record_sets import Byline, Dated, Nature, Record, RecordSet, Region
from aahcrawler.induction.shown_dates import Shown
from aahcrawler.page.text import fold
from aahcrawler.urls import resolve

CONFIDENCE = 0.97
MOST_MESSAGES = 500
LONGEST_NAME = 60

_BEFORE_HEADER = 2
"""The most lines before a header: archives repeat the subject there."""
_MOST_HEADERS = 60
_CONTROLS = 3
"""The most lines below a text that hold links to answer it, to its thread and the like."""
_BEHIND_NAME = re.compile(r"\s*(?:<|&lt;|\(|\[|\s@\s|,\s).*", re.DOTALL)
_FROM = re.compile(r"\s*(?:from|von|de|da|van|från|fra|av|od|от|lähettäjä|差出人|发件人)\s*[:：]", re.IGNORECASE)
_MARKS = " *\t#"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a preformatted element: its text, and how much of it, white space apart, stands in links."""

    text: str
    linked: int

    @property
    def is_control(self) -> bool:
        """Whether links are at least as long as other text."""
        return self.linked > 0 and 2 * self.linked >= len("".join(self.text.split()))


def preformatted_messages(outline: Outline, shown: Sequence[Shown], names: Names) -> tuple[RecordSet, ...]:
    """Return the messages of a page as one set, none where it has none. The time is linear in the size of the page."""
    found: list[Record] = []
    for place, tag in enumerate(outline.tags):
        if tag == "pre" and len(found) < MOST_MESSAGES:
            record = _message(outline, place, shown, names)
            found += [record] if record is not None else []
    if not found:
        return ()
    if len(found) == 1 and found[0].permalink is None:
        found = [_alone(found[0], names)]
        return (RecordSet(found[0].element, tuple(found), Nature.POSTS, CONFIDENCE, alone=True),)
    container = outline.places[found[0].element]
    for record in found[1:]:
        container = outline.common(container, outline.places[record.element])
    return (RecordSet(outline.elements[max(container, 0)], tuple(found), Nature.POSTS, CONFIDENCE),)


def _alone(record: Record, names: Names) -> Record:
    return Record(record.elements, record.body, record.author, record.date, record.title, permalink=own_address(names))


def _message(outline: Outline, place: int, shown: Sequence[Shown], names: Names) -> Record | None:
    """Return the message in a preformatted element; None where it has no sender, no date or no text."""
    element = outline.elements[place]
    text = _lines(element)
    lines = list(islice(dropwhile(lambda line: not line.text.strip(), text), _BEFORE_HEADER + _MOST_HEADERS))
    start = next((n for n, line in enumerate(lines[:_BEFORE_HEADER]) if _field(line.text)), None)
    if start is None or not any(_FROM.match(line.text) for line in lines[start : start + _MOST_HEADERS]):
        return None
    lines += text
    header = list(takewhile(lambda line: line.text.strip(), lines[start : start + _MOST_HEADERS]))
    fields = {
        field: value for line in reversed(header) if (field := _field(line.text)) for value in [_value(line.text)]
    }
    told = " ".join(line.text for line in header)
    within = (each for each in shown if outline.contains(place, each.place) and not each.unread)
    dated = next((each for each in within if fold(each.text) in fold(told)), None)
    author = name_in(_BEHIND_NAME.sub("", fields.get(FieldLabel.AUTHOR, "")))
    body = _text(lines[start + len(header) :])
    if dated is None or not author or len(author) > LONGEST_NAME or not body:
        return None
    above = " ".join(line.text for line in lines[:start])
    title = fold(fields.get(FieldLabel.TITLE, "") or above).strip(_MARKS)
    return Record(
        (element,),
        Region((element,), (), body),
        Byline(author, element, None, labelled=True),
        Dated(dated.read, outline.elements[dated.place], dated.attribute),
        title,
        permalink=_permalink(outline, place, names, len(told) + len(above)),
        key=element.get("id"),
    )


def _field(text: str) -> FieldLabel | None:
    return split_label(text)[0]


def _value(text: str) -> str:
    return split_label(text)[1]


def _permalink(outline: Outline, place: int, names: Names, size: int) -> str | None:
    """Return the URL in the header, its first ``size`` characters, that says that it is the message's."""
    passed = 0
    for piece in outline.pieces_of(place):
        if passed > size:
            break
        passed += len(piece.text)
        element = outline.elements[piece.owner]
        href = element.get("href") if outline.tags[piece.owner] == "a" else None
        if href and not href.startswith("#") and says_link(outline, piece.owner):
            return resolve(names.base, href)
    return None


def _text(lines: Sequence[_Line]) -> str:
    """Return the lines of a text without those of links that follow it."""
    kept = list(lines)
    for _ in range(_CONTROLS):
        while kept and not kept[-1].text.strip():
            kept.pop()
        if not kept or not kept[-1].is_control:
            break
        kept.pop()
    return "\n".join(line.text.rstrip() for line in kept).strip("\n")


def _lines(element: Element) -> Iterator[_Line]:
    text, linked = "", 0
    for piece, in_link in _runs(element):
        head, *others = piece.split("\n")
        text, linked = text + head, linked + (len("".join(head.split())) if in_link else 0)
        for other in others:
            yield _Line(text, linked)
            text, linked = other, len("".join(other.split())) if in_link else 0
    yield _Line(text, linked)


def _runs(element: Element) -> Iterator[tuple[str, bool]]:
    """Yield the text within an element as it is written, and of each run whether it stands in a link."""
    links = 0
    for event, each in iterwalk(element, events=("start", "end")):
        is_link = each.tag == "a"
        if event == "start":
            links += is_link
            yield each.text or "", links > 0
        else:
            links -= is_link
            if each is not element:
                yield each.tail or "", links > 0
