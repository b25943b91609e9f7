"""Tells pages that are nearly empty, or lack their content, until a browser has run their scripts.

Every page of a crawl is examined, so cheap checks that exclude most pages come first.
"""

import re
from collections.abc import Collection, Container, Iterator
from enum import IntEnum
from itertools import islice

from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.page import Page, text
from aahcrawler.page.onward import refresh
from aahcrawler.page.zones import Zone, Zones

FEW_LETTERS = 120
"""The most letters of a text such as "loading", in any language."""
FEW_LINKS = 3
"""The most links that a page without its content has outside of menus: its name, its imprint."""
PLACEHOLDER = 30
"""The most letters of an element that is still to be filled."""
MAX_ELEMENTS = 5_000
"""The most possible mounts of a page; a page with more is no frame without content."""

_DATA_TYPES = ("json", "template", "speculationrules", "importmap")
_MEDIA = ("img", "picture", "video", "audio", "object", "embed", "canvas", "svg")
_FORMS = ("form", "input", "textarea", "select")
_SILENT = frozenset({"style", "script"})
_CONTENT = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "dd", "td", "pre", "blockquote", "article")
_MOUNTS = ("div", "section", "main", "article", "ul", "ol", "tbody")
_BUSY = re.compile(r"(?:^|[\s_-])(?:spinner|loader|loading|preloader|skeleton|splash)(?:$|[\s_-])", re.IGNORECASE)
"""Words in class names and ids of elements that show that content is loading, as style sheets in all languages have
them.
"""
_BUSY_ROLES = frozenset({"progressbar", "status"})
_ELLIPSES = ("...", "…")
_CUSTOM = re.compile(rb"<([a-z][a-z0-9.]*-[a-z0-9._-]*)", re.IGNORECASE)
"""Elements that scripts define: their names have a hyphen (HTML, section 4.13.3)."""
_MAX_CUSTOM = 50


class Scripted(IntEnum):
    """How far a page shows that scripts make its content."""

    NO = 0
    PART = 1
    """By the knowledge base, a script puts a part of its content, such as comments, into an empty element."""
    FRAME = 2
    """It has an element that a script is to fill, and next to no text outside of menus and the like."""
    SHELL = 3
    """It has only scripts and a placeholder until they have run, or the knowledge base says so."""


def scripted(page: Page) -> Scripted:
    """Return how far an HTML page by itself shows that scripts make its content, whatever its language."""
    if page.rendered:
        return Scripted.NO
    if is_empty_shell(page):
        return Scripted.SHELL
    return Scripted.FRAME if may_lack_content(page) and _is_frame(page.tree, mounts(page)) else Scripted.NO


def is_empty_shell(page: Page) -> bool:
    """Return whether only a browser could show the content of an HTML page, whatever its language.

    Such a page has scripts, no links and forms, and no more than ``FEW_LETTERS`` of text. It also has a text for
    browsers without scripts, or no media and at most a placeholder until an element is filled. False for a page that a
    browser has already rendered.
    """
    if page.rendered:
        return False
    tree = page.tree
    body = next(tree.iter("body"), tree)
    if not _has_scripts(tree) or _leads_on(page) or next(body.iter(*_FORMS), None) is not None:
        return False
    if _letters(body) > FEW_LETTERS:
        return False
    if any(map(_speaks, tree.iter("noscript"))):
        return True
    mounts = [each for each in body if _waits(each)]
    pictured = any(not _is_unseen(each) and not _lies_in(each, mounts, busy=True) for each in body.iter(*_MEDIA))
    return not pictured and (not _letters(body) or bool(mounts))


def shows_nothing(page: Page) -> bool:
    """Return whether an HTML page shows no more than a text such as "loading", whatever the language."""
    return _letters(page.tree) <= FEW_LETTERS


def may_lack_content(page: Page) -> bool:
    """Return whether an HTML page has an element that a script is to fill, and asks for no password.

    That may be why many URLs show the same.
    """
    return bool(mounts(page)) and not _asks_who(page.tree)


def mounts(page: Page) -> list[HtmlElement]:
    """Return the elements of an HTML page that its scripts are to fill."""
    return page.once(_mounts)


def _is_frame(tree: HtmlElement, waiting: Collection[HtmlElement]) -> bool:
    body = next(tree.iter("body"), tree)
    menus = _Menus(tree)
    if _letters(body, menus) > FEW_LETTERS or all(each in menus for each in waiting):
        return False
    beside = (each for each in body.iter(*_MEDIA, *_FORMS) if not _is_unseen(each))
    if not all(each in menus or _lies_in(each, waiting) for each in beside):
        return False
    links = {each.get("href") for each in body.iter("a") if each.get("href") and not _is_unseen(each)}
    menus_links = {each.get("href") for each in body.iter("a") if each in menus}
    return len(links - menus_links) <= FEW_LINKS


class _Menus(Container[Element]):
    """Finds out whether elements of a page lie in menus and the like, on demand.

    Sidebars do not count: an element whose name says that it is beside the content may hold the content.
    """

    def __init__(self, tree: HtmlElement) -> None:
        self._zones = Zones(tree)

    def __contains__(self, element: object) -> bool:
        return isinstance(element, Element) and self._zones.of(element) in (Zone.MENU, Zone.DROPPED)


def _mounts(page: Page) -> list[HtmlElement]:
    """Return elements that a script can find and that hold at most a placeholder; none of a huge page."""
    if not _has_scripts(page.tree):
        return []
    names = {match[1].lower().decode() for match in islice(_CUSTOM.finditer(page.body), _MAX_CUSTOM)}
    possible = list(islice(_possible_mounts(page.tree, names), MAX_ELEMENTS + 1))
    return [each for each in possible if _is_mount(each)] if len(possible) <= MAX_ELEMENTS else []


def _possible_mounts(tree: HtmlElement, names: Collection[str]) -> Iterator[HtmlElement]:
    """Yield elements with an id or a name that scripts define, and empty elements with a class in the main part."""
    yield from (element for element in tree.iter(*_MOUNTS) if element.get("id"))
    if names:
        yield from tree.iter(*names)
    for main in tree.iter("main"):
        yield from (each for each in main.iter(*_MOUNTS) if each.get("class") and _is_bare(each))


def _is_bare(element: HtmlElement) -> bool:
    return not len(element) and not (element.text or "").strip()


def _is_mount(element: HtmlElement) -> bool:
    if next(element.iter("a", *_FORMS), None) is not None or _letters(element) > PLACEHOLDER:
        return False
    if _is_busy(element) or _is_busy_within(element):
        return True
    return next(element.iter(*_MEDIA), None) is None and not _has_content(element)


def _is_busy(element: HtmlElement) -> bool:
    """Return whether an element's class or id says that content is loading."""
    get = element.get
    if get("aria-busy") == "true" or get("role") in _BUSY_ROLES or element.tag == "progress":
        return True
    return bool(_BUSY.search(get("class") or "") or _BUSY.search(get("id") or ""))


def _is_busy_within(element: HtmlElement) -> bool:
    """Return whether an element with a few letters says, in any language, that content is loading."""
    shown = text.excerpt(element, 4 * PLACEHOLDER)
    return shown.endswith(_ELLIPSES) or any(map(_is_busy, islice(element.iterdescendants("*"), 4 * PLACEHOLDER)))


def _asks_who(tree: HtmlElement) -> bool:
    return any((field.get("type") or "").lower() == "password" for field in tree.iter("input"))


def _letters(element: HtmlElement, without: Container[Element] = ()) -> int:
    """Return the number of letters and digits that an element shows, counted only as far as it matters."""
    return sum(map(str.isalnum, text.excerpt(element, 4 * FEW_LETTERS, without)))


def _has_scripts(tree: HtmlElement) -> bool:
    return any(map(_runs, tree.iter("script")))


def _runs(script: HtmlElement) -> bool:
    kind = (script.get("type") or "").lower()
    return not any(data in kind for data in _DATA_TYPES)


def _leads_on(page: Page) -> bool:
    """Return whether the page links to another one, or redirects to one without a script."""
    for link in page.tree.iter("a", "area", "iframe", "frame"):
        url = urls.resolve(page.base_url, link.get("href") or link.get("src") or "#")
        if url is not None and url != page.url and not _is_unseen(link):
            return True
    return refresh(page) is not None


def _waits(element: HtmlElement) -> bool:
    """Return whether a script can find an element and is to fill it: it has a name, and no content yet."""
    if not isinstance(element.tag, str) or element.tag in text.UNSEEN:
        return False
    is_named = bool(element.get("id")) or "-" in element.tag
    is_placeholder = is_named and _letters(element) <= PLACEHOLDER and _is_busy_within(element)
    return (is_named and not _has_content(element)) or is_placeholder or _is_busy(element)


def _has_content(element: HtmlElement) -> bool:
    return any(text.excerpt(part, 1) for part in element.iter(*_CONTENT))


def _is_unseen(element: HtmlElement) -> bool:
    """Return whether an element is for browsers without scripts, or in a template."""
    return next(element.iterancestors("noscript", "template"), None) is not None


def _lies_in(element: HtmlElement, regions: Collection[HtmlElement], *, busy: bool = False) -> bool:
    """Return whether an element lies in one of several regions; with ``busy``, in one that is loading."""
    above = {element, *element.iterancestors()}
    return any(each in above and (not busy or _is_busy(each) or _is_busy_within(each)) for each in regions)


def _speaks(noscript: HtmlElement) -> bool:
    pieces = [noscript.text]
    for part in noscript.iterdescendants("*"):
        pieces += [part.text if part.tag not in _SILENT else "", part.tail]
    return any(sign.isalpha() for piece in pieces for sign in piece or "")
