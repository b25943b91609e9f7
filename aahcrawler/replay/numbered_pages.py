"""Pages for the studio: made inert, numbered, marked, and with one script with which to choose elements.

The page's own scripts, handlers and forms are removed as from any replayed page, and the policy of the response allows
only the script that carries its nonce. All that script can tell the cockpit is the number of an element, and it knows
nothing else.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from secrets import token_urlsafe
from threading import Lock
from typing import Final

from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.page import Page, markup
from aahcrawler.replay.addresses import Address, Modifier
from aahcrawler.replay.html_rewriting import Rewritten, Surroundings, rewrite_html
from aahcrawler.replay.own_pages import markup_of
from aahcrawler.replay.page_marks import ATTRIBUTE, Mark, MarkKind, outline_marks, write_numbers

PLACE: Final = "/marked/"
"""How the addresses of marked pages begin; a handle follows."""
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
    """A page with its marks, in a crawl at a time (14 digits), from which its pictures are taken.

    The tree of ``page`` will be changed, so nobody else may use it.
    """

    crawl: str
    moment: str
    page: Page
    marks: tuple[Mark, ...] = ()


MakePage = Callable[[], MarkedPage | None]
"""Makes a marked page whenever it is to be shown; None where it is there no more."""


class MarkedPages:
    """Issues unguessable addresses of marked pages. Thread-safe.

    An address is valid for twelve hours; beyond ``MAX_HANDLES`` addresses the oldest is dropped.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._known: OrderedDict[str, tuple[float, MakePage]] = OrderedDict()

    def issue(self, make: MakePage) -> str:
        """Return the path under which the replay shows a page."""
        handle = token_urlsafe(24)
        with self._lock:
            self._known[handle] = self._clock() + HANDLE_SECONDS, make
            while len(self._known) > MAX_HANDLES:
                self._known.popitem(last=False)
        return f"{PLACE}{handle}"

    def page(self, path: str) -> MarkedPage | None:
        """Return the page of a path, None where there is none, or it has expired."""
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
    return rewritten.markup(in_head=_script(cockpit, nonce, _chosen(marked)))


def _flat(tree: HtmlElement) -> None:
    """Move the content of shadow roots into the page, where it can be chosen."""
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


def _chosen(marked: MarkedPage) -> int:
    """Return the number of the element that is already chosen, -1 for none."""
    return next((mark.number for mark in marked.marks if mark.kind is MarkKind.CHOSEN), -1)


def _script(cockpit: str, nonce: str, chosen: int) -> str:
    text = resources.files(__package__).joinpath("choosing.js").read_text("utf-8")
    values = {"nonce": nonce, "data-cockpit": cockpit, "data-attribute": ATTRIBUTE, "data-chosen": str(chosen)}
    return f"<script{_written(values)}>{text}</script>"


def _written(values: Mapping[str, str]) -> str:
    return "".join(f' {name}="{markup_of(value)}"' for name, value in values.items())


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
