"""Find messages that are not repeated elements: single ones, those in preformatted text, and embedded posts."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Flag, auto
from functools import reduce
from operator import or_

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.induction.field_labels import FieldLabel, has_labels, name_in, split_label
from aahcrawler.induction.headings import Names, own_address
from aahcrawler.induction.outline import Extents, Outline
from aahcrawler.induction.record_identity import says_link
from aahcrawler.induction.record_sets import Byline, Dated, Nature, Record, RecordSet, Region
from aahcrawler.induction.shown_dates import DateReader
from aahcrawler.page.text import UNREAD, fold
from aahcrawler.urls import resolve

_HIGHEST = 3
_MAX_ENTRY_LENGTH = 100
_COLUMNS = 3
_LISTS = frozenset({"ul", "ol", "dl", "table"})
_TABLES = frozenset({"table", "tbody", "ul", "dl"})
"""Elements with the header fields of a message; the byline of an article is a line."""
_ENDS = frozenset({"form", "nav", "footer", "aside"})
_NUMBERS = re.compile(r"\d+")


def message(outline: Outline, block: int, base: str, own: Collection[str]) -> tuple[int, ...]:
    """Return the elements of the message whose labels are a block; none if it has no sender, date or text.

    It ends before lists of other messages with the words that announce these, before forms and menus, and before a rule
    that only short lines and links follow. ``base`` and ``own`` are the base of the page's references and its URLs.
    """
    if outline.tags[block] not in _TABLES or not has_labels(outline, block, (FieldLabel.AUTHOR, FieldLabel.DATE)):
        return ()
    first = block
    for _ in range(_HIGHEST):
        found = _followed(outline, first, base, own)
        if any(outline.free(place) for place in found):
            return (first, *found)
        if outline.parents[first] <= 0 or outline.tags[outline.parents[first]] == "main":
            break
        first = outline.parents[first]
    return ()


def _followed(outline: Outline, first: int, base: str, own: Collection[str]) -> list[int]:
    found: list[int] = []
    siblings = [place for place in outline.children(outline.parents[first]) if place > first]
    for number, place in enumerate(siblings):
        if outline.tags[place] in _ENDS or _is_of_others(outline, place, base, own) or _is_log(outline, place):
            break
        if outline.tags[place] == "hr" and any(map(outline.free, found)) and _are_notes(outline, siblings[number:]):
            break
        found.append(place)
    while found and (outline.tags[found[-1]] in ("hr", "br") or _announces(outline, found[-1])):
        found.pop()
    return found


def _are_notes(outline: Outline, places: Sequence[int]) -> bool:
    """Return whether elements show short lines, some of them links: what an archive says about each message."""
    pieces = [piece for place in places for piece in outline.pieces_of(place)]
    return any(piece.linked for piece in pieces) and all(piece.weight <= _MAX_ENTRY_LENGTH for piece in pieces)


def _announces(outline: Outline, place: int) -> bool:
    """Return whether an element is a few words with a colon that announce what follows."""
    pieces = list(outline.pieces_of(place))
    return len(pieces) == 1 and pieces[0].weight <= _MAX_ENTRY_LENGTH and pieces[0].text.endswith((":", "\uff1a"))


def _is_of_others(outline: Outline, place: int, base: str, own: Collection[str]) -> bool:
    """Return whether a list leads to messages like this one: all entries have links, and one has such a URL."""
    if outline.tags[place] not in _LISTS or not outline.linked(place):
        return False
    if any(piece.weight > _MAX_ENTRY_LENGTH and not piece.linked for piece in outline.pieces_of(place)):
        return False
    entries = [each for each in outline.children(place) if outline.tags[each] in ("li", "tr", "dd", "dt")]
    if not entries or not all(outline.linked(each) for each in entries):
        return False
    shapes = {_NUMBERS.sub("#", url) for url in own}
    hrefs = (
        outline.elements[each].get("href") for each in range(place, outline.ends[place]) if outline.tags[each] == "a"
    )
    targets = {(resolve(base, href) or "").partition("#")[0] for href in hrefs if href}
    return any(_NUMBERS.sub("#", url) in shapes and url not in own for url in targets)


def _is_log(outline: Outline, place: int) -> bool:
    """Return whether a table has a header row of at least three columns: a list of changes, of files, of votes."""
    if outline.tags[place] != "table":
        return False
    rows = [each for each in range(place, outline.ends[place]) if outline.tags[each] == "tr"]
    return any(sum(outline.tags[each] == "th" for each in outline.children(row)) >= _COLUMNS for row in rows)


CONFIDENCE = 0.97
MAX_MESSAGES = 500
MAX_NAME_LENGTH = 60

_BEFORE_HEADER = 2
"""The most lines before a header without links: archives repeat the subject there, and who sent it when."""
_MAX_BEFORE = 16
"""The most lines before a header, including links to its neighbours in the thread."""
_MAX_HEADERS = 60
_CONTROLS = 3
"""The most lines below a text with links to answer it, to its thread and the like."""
_MAX_KEYED = 4
"""If messages have more lines with an anchor on average than this, anchors mark lines rather than messages."""
_BEHIND_NAME = re.compile(r"\s*(?:<|&lt;|\(|\[|\s@\s|,\s).*", re.DOTALL)
_BEHIND_ADDRESS = re.compile(r"[^\s()]+(?:@|\s(?:at|AT)\s)[^\s()]+\s+\((?P<name>[^()]*[^\W\d_][^()]*)\)")
_FROM = re.compile(r"\s*(?:from|von|de|da|van|från|fra|av|od|от|lähettäjä|差出人|发件人)\s*[:：]", re.IGNORECASE)
_MBOX = re.compile(r"From \S+(?: at \S+)?\s+[A-Z][a-z]{2} +[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d(?::\d\d)?.* \d{4}")
_MARKS = " *\t#"


class _Mark(Flag):
    """What distinguishes a header made by a template from one that somebody quotes."""

    NONE = 0
    ANCHOR = auto()
    LINK = auto()
    RULE = auto()
    BOLD = auto()
    MBOX = auto()


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a preformatted element.

    ``linked`` is the length of its text in links, without white space; ``keys`` are the identifiers of the elements
    that begin on it, ``link`` is the URL of a link that says that it is the address of the message around it.
    """

    text: str
    linked: int = 0
    keys: tuple[str, ...] = ()
    link: str | None = None
    is_ruled: bool = False
    is_bold: bool = False

    @property
    def is_control(self) -> bool:
        """Whether links are at least as long as other text."""
        return self.linked > 0 and 2 * self.linked >= len("".join(self.text.split()))


@dataclass(frozen=True, slots=True)
class _Header:
    """Where the lines of a message begin, where its fields begin, where both end, and what marks them."""

    first: int
    fields: int
    end: int
    marks: _Mark


def preformatted_messages(outline: Outline, dates: DateReader, names: Names) -> tuple[RecordSet, ...]:
    """Return the messages of a page as one set; no set if it has none. The time is linear in the size of the page.

    Messages do not count if the page's other text is as long: they are examples in it.
    """
    found: list[Record] = []
    for place, tag in enumerate(outline.tags):
        if tag == "pre" and len(found) < MAX_MESSAGES:
            found += _messages(outline, place, dates, names)
    if not found or (not any(each.permalink or each.key for each in found) and _are_examples(outline, found)):
        return ()
    if len(found) == 1:
        found = [replace(found[0], permalink=found[0].permalink or own_address(names), key=None)]
        return (RecordSet(found[0].element, tuple(found), Nature.POSTS, CONFIDENCE, alone=True),)
    container = outline.places[found[0].element]
    for record in found[1:]:
        container = outline.common(container, outline.places[record.element])
    return (RecordSet(outline.elements[max(container, 0)], tuple(found[:MAX_MESSAGES]), Nature.POSTS, CONFIDENCE),)


def _are_examples(outline: Outline, found: Sequence[Record]) -> bool:
    """Return whether the elements of messages have less text than the paragraphs around them."""
    held = [outline.places[element] for element in {each.element: None for each in found}]
    return sum(map(outline.free, held)) < outline.running(0) - sum(map(outline.running, held))


def _messages(outline: Outline, place: int, dates: DateReader, names: Names) -> Iterator[Record]:
    """Yield the messages in a preformatted element."""
    lines = _Lines(outline, names).of(outline.elements[place])
    headers = _boundaries(lines, list(_headers(lines)))
    ends = (*(header.first for header in headers[1:]), len(lines))
    for header, end in zip(headers, ends, strict=False):
        body = _text(lines[header.end : end])
        record = _message(outline.elements[place], lines[header.first : header.end], header, body, dates)
        if record is not None:
            yield record


def _message(element: Element, lines: Sequence[_Line], header: _Header, body: str, dates: DateReader) -> Record | None:
    """Return a message; None if it has no sender, no date or no text."""
    above, told = lines[: header.fields - header.first], lines[header.fields - header.first :]
    fields = {field: value for line in reversed(told) for field, value in [split_label(line.text)] if field is not None}
    author = _sender(fields.get(FieldLabel.AUTHOR, ""))
    told_dates = (fold(fields.get(field, "")) for field in (FieldLabel.DATE, FieldLabel.AUTHOR))
    date = next((read for text in told_dates if text and (read := dates.of_line(text)[1]) is not None), None)
    if date is None or not author or len(author) > MAX_NAME_LENGTH or not body:
        return None
    subject = next((line.text for line in above if not line.is_control and not _MBOX.match(line.text)), "")
    return Record(
        (element,),
        Region((element,), (), body),
        Byline(author, element, None, labelled=True),
        Dated(date, element),
        fold(fields.get(FieldLabel.TITLE, "") or subject).strip(_MARKS),
        permalink=next((line.link for line in lines if line.link), None),
        key=next((key for line in lines for key in line.keys), None) or element.get("id"),
    )


def _sender(value: str) -> str:
    """Return the name of a sender: before the e-mail address, or in brackets after it."""
    named = _BEHIND_ADDRESS.fullmatch(value.strip())
    return name_in(named["name"] if named else _BEHIND_NAME.sub("", value))


def _headers(lines: Sequence[_Line]) -> Iterator[_Header]:
    """Yield what looks like the header of a message: lines of fields after an empty line, including the sender."""
    for first, end in _paragraphs(lines):
        within = lines[first : min(end, first + _MAX_BEFORE + _MAX_HEADERS)]
        fields = next((n for n, line in enumerate(within) if split_label(line.text)[0] is not None), None)
        if fields is None or not any(_FROM.match(line.text) for line in within[fields : fields + _MAX_HEADERS]):
            continue
        others = sum(not line.linked for line in within[:fields])
        if others <= _BEFORE_HEADER and fields <= _MAX_BEFORE:
            yield _Header(first, first + fields, end, _marks(within, fields))


def _marks(lines: Sequence[_Line], fields: int) -> _Mark:
    marks = {
        _Mark.ANCHOR: any(line.keys for line in lines),
        _Mark.LINK: any(line.link for line in lines),
        _Mark.RULE: lines[0].is_ruled,
        _Mark.BOLD: lines[fields].is_bold,
        _Mark.MBOX: _MBOX.match(lines[0].text) is not None,
    }
    return reduce(or_, (mark for mark, is_there in marks.items() if is_there), _Mark.NONE)


def _boundaries(lines: Sequence[_Line], headers: Sequence[_Header]) -> Sequence[_Header]:
    """Return the headers that begin messages: those marked like the first one.

    A header at the beginning of the element needs no mark; then headers after rules follow it.
    """
    keyed = sum(bool(line.keys) for line in lines)
    believed = ~_Mark.NONE if keyed <= _MAX_KEYED * len(headers) else ~_Mark.ANCHOR
    marked = [header for header in headers if header.marks & believed]
    like_first = [header for header in marked if header.marks & believed & marked[0].marks]
    opens = bool(headers) and not any(line.text.strip() for line in lines[: headers[0].first])
    if opens and (not marked or headers[0] is not marked[0]):
        return (headers[0], *(header for header in marked if header.marks & _Mark.RULE))
    return like_first


def _paragraphs(lines: Sequence[_Line]) -> Iterator[tuple[int, int]]:
    """Yield, for each run of lines with text, the number of the first line and the number after the last."""
    first = None
    for number, line in enumerate((*lines, _Line(""))):
        if first is not None and (not line.text.strip() or line.is_ruled):
            yield first, number
            first = None
        if first is None and line.text.strip():
            first = number


def _text(lines: Sequence[_Line]) -> str:
    """Return the lines of a text without links that follow it."""
    kept = list(lines)
    for _ in range(_CONTROLS):
        while kept and not kept[-1].text.strip():
            kept.pop()
        if not kept or not kept[-1].is_control:
            break
        kept.pop()
    return "\n".join(line.text.rstrip() for line in kept).strip("\n")


class _Lines:
    """Splits preformatted elements into lines; a rule also begins a new line."""

    def __init__(self, outline: Outline, names: Names) -> None:
        self._outline, self._names = outline, names
        self._lines: list[_Line] = []
        self._clear()

    def of(self, element: Element) -> Sequence[_Line]:
        """Return the lines of an element."""
        self._lines = []
        inside: Counter[str] = Counter()
        walk = iterwalk(element, events=("start", "end", "comment", "pi"))
        for event, each in walk:
            if event == "start" and each.tag in UNREAD:
                walk.skip_subtree()
            elif event == "start":
                inside[str(each.tag)] += 1
                if each is not element:
                    self._begin(each)
                self._add(each.text, inside)
            else:
                inside[str(each.tag)] -= event == "end" and each.tag not in UNREAD
                self._add(each.tail if each is not element else None, inside)
        self._end()
        return self._lines

    def _clear(self, *, is_ruled: bool = False) -> None:
        self._text: list[str] = []
        self._keys: list[str] = []
        self._linked = 0
        self._link: str | None = None
        self._is_ruled, self._is_bold, self._is_empty = is_ruled, False, True

    def _begin(self, element: Element) -> None:
        """Record what the beginning of an element says about its line."""
        if element.tag == "hr":
            self._end()
            self._clear(is_ruled=True)
        self._keys += dict.fromkeys(key for name in ("id", "name") if (key := element.get(name)))
        self._link = self._link or self._address(element)

    def _add(self, run: str | None, inside: Mapping[str, int]) -> None:
        for number, piece in enumerate(run.split("\n") if run else ()):
            if number:
                self._end()
            if piece.strip():
                self._is_bold = self._is_bold or (self._is_empty and inside["b"] + inside["strong"] > 0)
                self._linked += len("".join(piece.split())) if inside["a"] else 0
                self._is_empty = False
            self._text.append(piece)

    def _end(self) -> None:
        """End a line; a rule and anchors of an empty line belong to the next."""
        shown, kept = ([], self._keys) if self._is_empty else (self._keys, [])
        text = "".join(self._text)
        self._lines.append(_Line(text, self._linked, tuple(shown), self._link, self._is_ruled, self._is_bold))
        self._clear(is_ruled=self._is_ruled and self._is_empty)
        self._keys += kept

    def _address(self, element: Element) -> str | None:
        """Return the URL of a link that says that it is the address of what contains it."""
        href = element.get("href") if element.tag == "a" else None
        place = self._outline.places.get(element)
        if not href or href.startswith("#") or place is None or not says_link(self._outline, place):
            return None
        return resolve(self._names.base, href)


_EMBEDDED = frozenset(
    {
        "bluesky-embed",
        "fb-post",
        "imgur-embed-pub",
        "instagram-media",
        "mastodon-embed",
        "reddit-card",
        "reddit-embed-bq",
        "text-post-media",
        "tiktok-embed",
        "twitter-tweet",
        "twitter-video",
    }
)
"""Classes that networks document for the markup of posts embedded in other pages."""


def are_embedded(outline: Outline, roots: Sequence[int]) -> bool:
    """Return whether the elements are all embedded posts, or parts or mere frames of such posts."""
    if _EMBEDDED.isdisjoint(outline.frequency):
        return False
    places = [place for place, tokens in enumerate(outline.tokens) if not _EMBEDDED.isdisjoint(tokens)]
    within = Extents((place, outline.ends[place]) for place in places)
    return all(within.cover(root) or _frames(outline, root, places) for root in roots)


def _frames(outline: Outline, root: int, places: Sequence[int]) -> bool:
    """Return whether an element contains one of the places, given in document order, and no other running text."""
    number = bisect_left(places, root)
    first = places[number] if number < len(places) else -1
    return outline.contains(root, first) and outline.running(root) == outline.running(first)
