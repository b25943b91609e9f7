"""Marks on a replayed page: elements that match parts of an entry, and words that were looked for.

The page's own scripts, handlers and forms are removed as from any replayed page. The policy of the response allows only
the script that carries its nonce. That script can tell the cockpit the number of an element, and nothing else.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from itertools import groupby
from secrets import token_urlsafe
from threading import Lock
from typing import Final

from lxml.etree import SubElement, iterwalk
from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.page import Page, markup
from aahcrawler.page.text import UNREAD
from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.html_rewriting import Rewritten, Surroundings, rewrite_html
from aahcrawler.replay.object_finding import ShownObject
from aahcrawler.replay.own_pages import markup_of, printable

_MAX_NAME_LENGTH: Final = 60

CHOSEN_ID: Final = "aah-chosen"
"""The id of the label of the chosen element."""
MAX_MARKS: Final = 1_500
_NEVER_SEEN: Final = frozenset({"html", "head", "meta", "link", "script", "style", "title", "base"})


class MarkKind(StrEnum):
    """What a marked element is for the entry; the labels of one element are in this order."""

    CHOSEN = "chosen"
    """Somebody has chosen it."""
    ITEM = "item"
    """It is one object: a post, a comment, a photo."""
    FIELD = "field"
    """It is a field of an object."""
    LINK = "link"
    """It is a link that is followed."""
    AVOID = "avoid"
    """It is a link that is avoided."""
    SIGN = "sign"
    """It is a sign of the software or of a level."""
    LEFT_OUT = "left-out"
    """It is left out of a field."""


@dataclass(frozen=True, slots=True)
class OutlineStyle:
    """The style of marks of a kind: a colour that contrasts with white letters, and a line (CSS ``outline``)."""

    colour: str
    width: int
    line: str


# Colours that colour-blind readers can distinguish; the lines differ as well.
LOOKS: Final = {
    MarkKind.CHOSEN: OutlineStyle("#000000", 4, "solid"),
    MarkKind.ITEM: OutlineStyle("#0062a3", 3, "solid"),
    MarkKind.FIELD: OutlineStyle("#b34700", 2, "dashed"),
    MarkKind.LINK: OutlineStyle("#00694d", 3, "dotted"),
    MarkKind.AVOID: OutlineStyle("#8a3a6d", 4, "double"),
    MarkKind.SIGN: OutlineStyle("#4b4b9c", 4, "groove"),
    MarkKind.LEFT_OUT: OutlineStyle("#5c5c5c", 1, "dashed"),
}
_ORDER: Final = list(LOOKS)
_LABELS: Final = (
    "all:initial!important;display:inline-block!important;margin:0 4px 2px 0!important;max-width:100%!important;"
    "vertical-align:top!important;unicode-bidi:isolate!important;pointer-events:auto!important;"
    "visibility:visible!important;opacity:1!important"
)
_LABEL: Final = (
    "all:initial!important;display:inline-block!important;background:{}!important;color:#fff!important;"
    "font:600 11px/1.4 system-ui,-apple-system,'Segoe UI',sans-serif!important;padding:0 6px!important;"
    "margin:0 2px 0 0!important;border-radius:3px!important;max-width:100%!important;overflow-wrap:anywhere!important"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """An element, given by its number, that matches a part of an entry, and its label."""

    number: int
    kind: MarkKind
    label: str


def outline_marks(elements: Sequence[Element], marks: Sequence[Mark]) -> None:
    """Outline and label the elements that marks name, at most the first ``MAX_MARKS``.

    ``elements`` are those of the page by their numbers. Marks of invisible or missing elements are skipped.
    """
    known = [mark for mark in marks[:MAX_MARKS] if 0 <= mark.number < len(elements)]
    known.sort(key=lambda mark: (mark.number, _ORDER.index(mark.kind)))
    for number, group in groupby(known, key=lambda mark: mark.number):
        element = elements[number]
        if element.tag not in _NEVER_SEEN and next(element.iterancestors("head"), None) is None:
            _outline(element, list(dict.fromkeys(group)))


def _outline(element: Element, marks: Sequence[Mark]) -> None:
    look = LOOKS[marks[0].kind]
    style = (element.get("style") or "").strip().rstrip(";")
    offset = -look.width if element.tag == "body" else 1
    own = f"outline:{look.width}px {look.line} {look.colour}!important;outline-offset:{offset}px!important"
    element.set("style", f"{style};{own}" if style else own)
    labels = new_label(element)
    labels.set("style", _LABELS)
    labels.set(LABEL, "")
    if marks[0].kind is MarkKind.CHOSEN:
        labels.set("id", CHOSEN_ID)
    for mark in marks:
        label = labels.makeelement("span", {"style": _LABEL.format(LOOKS[mark.kind].colour)})
        label.text = printable(mark.label, _MAX_NAME_LENGTH)
        labels.append(label)


# Colours that colour-blind readers can distinguish, on white and under white letters.
_COLOURS: Final = {
    **dict.fromkeys(("post", "message", "ticket"), "#0072b2"),
    **dict.fromkeys(("reply", "comment"), "#b34700"),
    **dict.fromkeys(("article", "page", "chapter"), "#00694d"),
}
_OTHER: Final = "#8a3a6d"
_INSIDE: Final = {
    **dict.fromkeys(("table", "tbody", "thead", "tfoot", "tr"), ("td", "th")),
    **dict.fromkeys(("ul", "ol", "menu"), ("li",)),
    "dl": ("dt", "dd"),
    "picture": (),
    "select": (),
}
"""Elements that hold no text themselves, each with the elements in it that do."""
_VOID: Final = frozenset({"img", "input", "br", "hr", "video", "audio", "iframe", "textarea", "svg", "canvas"})
_OUTLINE_LABEL: Final = (
    "all:initial!important;display:inline-block!important;background:{}!important;color:#fff!important;"
    "font:600 12px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif!important;padding:1px 8px!important;"
    "margin:0 8px 4px 0!important;border-radius:3px!important;max-width:100%!important;"
    "overflow-wrap:anywhere!important;unicode-bidi:isolate!important;vertical-align:top!important"
)


def outline(element: Element, each: ShownObject) -> None:
    """Outline the element of an object and label it with type, number, author and date.

    The label has the id ``aah-object-`` and the number.
    """
    colour = _COLOURS.get(each.type, _OTHER)
    style = (element.get("style") or "").strip().rstrip(";")
    own = f"outline:3px solid {colour}!important;outline-offset:2px!important"
    element.set("style", f"{style};{own}" if style else own)
    label = new_label(element)
    label.set("id", f"aah-object-{each.number}")
    label.set("style", _OUTLINE_LABEL.format(colour))
    told = (f"{each.type or 'object'} {each.number}", each.author, each.date)
    label.text = " · ".join(printable(text, _MAX_NAME_LENGTH) for text in told if text)


def new_label(element: Element) -> Element:
    """Return a new element for a label, placed inside the element, or before it where it cannot hold text."""
    place = element
    if element.tag in _INSIDE:
        names = _INSIDE[str(element.tag)]
        place = next(element.iterdescendants(*names), element) if names else element
    parent = place.getparent()
    holds_none = (place is element and element.tag in _INSIDE) or place.tag in _VOID
    if holds_none and parent is not None:
        before = place.makeelement("span")
        parent.insert(parent.index(place), before)
        return before
    label = SubElement(place, "span")
    place.insert(0, label)
    label.tail, place.text = place.text, None
    return label


ATTRIBUTE: Final = "data-aah-n"
"""The attribute of a marked page that holds the number of an element."""
LABEL: Final = f"{ATTRIBUTE}-label"
"""The attribute that tells labels from elements of the page."""
_OWN: Final = "data-aah"


def numbered_elements(tree: Element) -> list[Element]:
    """Return the elements of a document in order, without comments; the index of an element is its number.

    The tree must be as it was parsed. Keep the list as long as elements are compared, as lxml otherwise makes new
    objects.
    """
    return list(tree.iter("*"))


def write_numbers(tree: Element) -> list[Element]:
    """Write each element's number into an attribute, replacing such attributes of the page itself."""
    elements = numbered_elements(tree)
    for number, element in enumerate(elements):
        for name in [name for name in element.attrib if str(name).lower().startswith(_OWN)]:
            del element.attrib[name]
        element.set(ATTRIBUTE, str(number))
    return elements


Span = tuple[int, int]
FindWords = Callable[[str, str], Sequence[Span]]
"""Returns the spans in a text that match a query, given the query and the text; they are in order and do not overlap.
"""
FIRST_WORD: Final = "aah-word"
"""The id of the first mark."""
MAX_WORDS: Final = 2_000
"""The most marks on a page; further matches stay unmarked."""
MAX_TEXT: Final = 2_000_000
"""The most letters of a page in which words are looked for."""
_WITHOUT: Final = UNREAD | {"svg", "math", "select", "option", "textarea", "title", "iframe", "object", "button"}
"""Elements in which no other element may stand, or whose text is not shown as text of the page."""
_STYLE: Final = "background:#ffe066!important;color:#111!important;outline:1px solid #7a5c00!important"


def no_words(_query: str, _text: str) -> Sequence[Span]:
    """Find nothing."""
    return ()


@dataclass(frozen=True, slots=True)
class _Text:
    """A text of a tree: the one at the beginning of an element, or, with ``is_tail``, the one behind the element."""

    element: Element
    is_tail: bool
    text: str


def mark_words(tree: Element, find: Callable[[str], Sequence[Span]]) -> int:
    """Mark what ``find`` finds in the text of a page; return the number of places that are marked.

    ``find`` is given the texts that a reader sees, joined by line breaks, so that a word which markup splits is not
    found. A place of several words may lie in several texts: each of them has a mark of its own.
    """
    texts = [*_texts(tree)]
    spans = iter(sorted(find("\n".join(each.text for each in texts))))
    span, begin, places, marks = next(spans, None), 0, 0, 0
    for each in texts:
        end, within = begin + len(each.text), list[Span]()
        while span is not None and span[0] < end and marks + len(within) < MAX_WORDS:
            if span[1] > begin:
                within.append((max(span[0], begin) - begin, min(span[1], end) - begin))
                places += span[0] >= begin
            if span[1] > end:
                break
            span = next(spans, None)
        if within:
            _mark(each, within, is_first=not marks)
            marks += len(within)
        begin = end + 1
    return places


def _texts(tree: Element) -> Iterator[_Text]:
    """Yield the texts of a page that a reader sees, in document order."""
    body = tree.find("body")
    left, walk = MAX_TEXT, iterwalk(tree if body is None else body, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        is_read = event == "start" and isinstance(node.tag, str) and node.tag not in _WITHOUT
        if event == "start" and not is_read:
            walk.skip_subtree()
            continue
        text = node.text if event == "start" else node.tail if node is not body else None
        if text and not text.isspace():
            left -= len(text)
            if left < 0:
                return
            yield _Text(node, event != "start", text)


def _mark(text: _Text, spans: Sequence[Span], *, is_first: bool) -> None:
    element, whole = text.element, text.text
    before, last = whole[: spans[0][0]], element
    for number, (begin, end) in enumerate(spans):
        mark = element.makeelement("mark", {"style": _STYLE})
        if is_first and not number:
            mark.set("id", FIRST_WORD)
        mark.text = whole[begin:end]
        if number or text.is_tail:
            last.tail = None  # What follows an element would stay behind the mark.
            last.addnext(mark)
            last.tail = before
        else:
            element.text = before
            element.insert(0, mark)
        following = spans[number + 1][0] if number + 1 < len(spans) else len(whole)
        before, last = whole[end:following], mark
    last.tail = before


PLACE: Final = "/marked/"
"""The beginning of the paths of marked pages; a handle follows."""
MAX_HANDLES: Final = 400
HANDLE_SECONDS: Final = 12 * 3600.0
NOWHERE: Final = "#aah-nowhere"
_BEGINNING: Final = 20_000
_FRAMES: Final = ("iframe", "frame", "video", "audio")
_CONTROLS: Final = ("button", "input", "select", "textarea", "fieldset", "option", "optgroup")
_UNTOUCHED: Final = "pointer-events:none!important"
_MEMBER: Final = "padding-left:1.5em;font-family:monospace"


@dataclass(frozen=True, slots=True)
class MarkedPage:
    """A page with its marks. Its pictures are taken from a crawl at a time (14 digits).

    The tree of ``page`` will be changed, so nobody else may use it.
    """

    crawl: str
    moment: str
    page: Page
    marks: tuple[Mark, ...] = ()


MakePage = Callable[[], MarkedPage | None]
"""Makes a marked page each time it is to be shown; returns None where it no longer exists."""


class MarkedPages:
    """Issues unguessable addresses of marked pages. Thread-safe.

    An address is valid for twelve hours; beyond ``MAX_HANDLES`` addresses the oldest is dropped.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._known: OrderedDict[str, tuple[float, MakePage]] = OrderedDict()

    def issue(self, make: MakePage) -> str:
        """Return a new path, unknown to anybody else, under which the replay shows the page that ``make`` returns."""
        handle = token_urlsafe(24)
        with self._lock:
            self._known[handle] = self._clock() + HANDLE_SECONDS, make
            while len(self._known) > MAX_HANDLES:
                self._known.popitem(last=False)
        return f"{PLACE}{handle}"

    def page(self, path: str) -> MarkedPage | None:
        """Make the page of a path anew; return None for an unknown or expired path, or if the page no longer exists."""
        with self._lock:
            until, make = self._known.get(path.removeprefix(PLACE), (0.0, None))
        return make() if make is not None and self._clock() < until else None


def marked_markup(marked: MarkedPage, cockpit: str, nonce: str) -> bytes:
    """Return a marked page as HTML. ``cockpit`` is the origin whose page receives the choices."""
    page = marked.page
    elements = write_numbers(page.tree)
    around = Surroundings(Address(marked.crawl, marked.moment, Modifier.FRAME, page.url), page.base_url)
    if page.is_json:
        rewritten = _json_document(page.tree, elements)
    else:
        rewritten = rewrite_html(page.tree, page.text[:_BEGINNING], around)
    _flat(rewritten.tree)
    _still(rewritten.tree)
    outline_marks(elements, marked.marks)
    chosen = next((mark.number for mark in marked.marks if mark.kind is MarkKind.CHOSEN), -1)
    return rewritten.markup(in_head=_script(cockpit, nonce, chosen))


def _flat(tree: HtmlElement) -> None:
    """Move the content of shadow roots into the page, where its elements can be chosen."""
    for template in list(tree.iter("template")):
        template.tag = "div"
        template.attrib.pop("shadowrootmode", None)


def _still(tree: HtmlElement) -> None:
    """Disable links and frames, and make controls selectable."""
    for element in tree.iter("a", "area", *_FRAMES, *_CONTROLS):
        if element.tag in _CONTROLS:
            element.attrib.pop("disabled", None)  # What is disabled hears of no click; nothing can be sent anyway.
            continue
        if element.tag in _FRAMES:
            style = (element.get("style") or "").strip().rstrip(";")
            element.set("style", f"{style};{_UNTOUCHED}" if style else _UNTOUCHED)
            element.set("tabindex", "-1")
            continue
        for name in ("href", "xlink:href"):
            if element.attrib.pop(name, None) is not None:
                element.set("href", NOWHERE)


def _script(cockpit: str, nonce: str, chosen: int) -> str:
    text = resources.files(__package__).joinpath("choosing.js").read_text("utf-8")
    values = {"nonce": nonce, "data-cockpit": cockpit, "data-attribute": ATTRIBUTE, "data-chosen": str(chosen)}
    attributes = "".join(f' {name}="{markup_of(value)}"' for name, value in values.items())
    return f"<script{attributes}>{text}</script>"


def _json_document(tree: HtmlElement, elements: list[Element]) -> Rewritten:
    """Return a document that shows a JSON response as the tree that expressions see."""
    for element in elements:
        name = element.makeelement("b")
        name.text, name.tail, element.text = str(element.tag) + ": ", element.text, None
        element.tag = "div"
        element.set("style", _MEMBER)
        element.insert(0, name)
    document = markup.empty()
    body = document.find("body")
    assert body is not None  # noqa: S101 - an empty document has one
    body.append(tree)
    return Rewritten(document, "<!DOCTYPE html>\n")
