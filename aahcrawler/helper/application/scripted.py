"""Pages that hold next to nothing, or all but their content, before a browser has run their scripts."""

from collections.abc import Collection
from enum import IntEnum

from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.page import Page, text
from aahcrawler.page.zones import Zones

FEW_LETTERS = 120
"""The number of letters that a text "loading" has at most, in any language."""
PLACEHOLDER = 30
"""The number of letters that an element has at most which is still to be filled."""
BEGINNING = 1_500
"""The number of characters from which on a page is no frame without content, however many of them are in its menus."""
MOST_ELEMENTS = 5_000
"""Elements of a page beyond which it is no frame without content."""

_DATA_TYPES = ("json", "template", "speculationrules", "importmap")
_MEDIA = ("img", "picture", "video", "audio", "object", "embed", "canvas", "svg")
_FORMS = ("form", "input", "textarea", "select")
_SILENT = frozenset({"style", "script"})
_CONTENT = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "dd", "td", "pre", "blockquote", "article")
_MOUNTS = frozenset({"div", "section", "main", "article", "ul", "ol", "tbody"})


class Scripted(IntEnum):
    """How far a page shows that scripts make its content."""

    NO = 0
    PART = 1
    """The knowledge base says that a script puts a part of its content, such as comments, into an empty element."""
    FRAME = 2
    """It has an element that waits to be filled, and beside menus and the like next to no text."""
    SHELL = 3
    """It has nothing but scripts and what stands there until they have run, or the knowledge base says so."""


def scripted(page: Page) -> Scripted:
    """Return how far an HTML page shows by itself that scripts make its content, whatever its language."""
    if page.rendered:
        return Scripted.NO
    if is_empty_shell(page):
        return Scripted.SHELL
    return Scripted.FRAME if _is_frame(page) else Scripted.NO


def is_empty_shell(page: Page) -> bool:
    """Return whether only a browser could show the content of an HTML page, whatever the language of the page.

    Such a page has scripts, no links and forms, and no more than ``FEW_LETTERS`` of text, and it either has a text for
    browsers without scripts, or no media and at most a placeholder to show until an element is filled. A page that a
    browser has shown is none.
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
    return next(body.iter(*_MEDIA), None) is None and (not _letters(body) or any(map(_waits, body)))


def shows_nothing(page: Page) -> bool:
    """Return whether an HTML page shows no more than a text such as "loading", whatever the language."""
    return _letters(page.tree) <= FEW_LETTERS


def beginning(page: Page) -> str:
    """Return the beginning of the text of an HTML page, of at most ``BEGINNING`` characters."""
    return text.excerpt(page.tree, BEGINNING)


def has_mount(page: Page) -> bool:
    """Return whether an HTML page has scripts, and an element beside its menus that waits to be filled by one."""
    return bool(mounts(page))


def mounts(page: Page) -> list[HtmlElement]:
    """Return the elements of an HTML page with scripts that wait to be filled by one."""
    return page.once(_mounts)


def _is_frame(page: Page) -> bool:
    tree = page.tree
    body = next(tree.iter("body"), tree)
    waiting = mounts(page)
    if not waiting or len(page.once(beginning)) >= BEGINNING - 1:
        return False
    menus = frozenset(Zones(tree).apart(body)[1])  # What is beside the content may be content under a name of its own.
    if _letters(body, menus) > FEW_LETTERS or all(_lies_in(each, menus) for each in waiting):
        return False
    return all(_lies_in(each, menus) for each in body.iter(*_MEDIA, *_FORMS))


def _lies_in(element: Element, regions: Collection[Element]) -> bool:
    return element in regions or any(above in regions for above in element.iterancestors())


def _mounts(page: Page) -> list[HtmlElement]:
    """Return the elements of a page that a script may fill."""
    return [each for each in _beginning(page.tree) if _is_mount(each)] if _has_scripts(page.tree) else []


def _beginning(tree: HtmlElement) -> list[HtmlElement]:
    """Return the elements of a page, none of one with more than ``MOST_ELEMENTS``."""
    found = []
    for element in tree.iter("*"):
        found.append(element)
        if len(found) > MOST_ELEMENTS:
            return []
    return found


def _is_mount(element: HtmlElement) -> bool:
    """Return whether an element is one that a script finds, and holds at most a placeholder."""
    if "-" not in str(element.tag) and (element.tag not in _MOUNTS or not element.get("id")):
        return False
    if next(element.iterdescendants("a", *_MEDIA, *_FORMS), None) is not None:
        return False
    return _waits(element) and _letters(element) <= PLACEHOLDER


def _letters(element: HtmlElement, without: Collection[Element] = ()) -> int:
    """Return the number of letters and digits that an element shows, as far as that is not too many."""
    return sum(map(str.isalnum, text.excerpt(element, 4 * FEW_LETTERS, without)))


def _has_scripts(tree: HtmlElement) -> bool:
    return any(map(_runs, tree.iter("script")))


def _runs(script: HtmlElement) -> bool:
    kind = (script.get("type") or "").lower()
    return not any(data in kind for data in _DATA_TYPES)


def _leads_on(page: Page) -> bool:
    """Return whether the page links to another one, or sends its reader there without a script."""
    for link in page.tree.iter("a", "area", "iframe", "frame"):
        url = urls.resolve(page.base_url, link.get("href") or link.get("src") or "#")
        if url is not None and url != page.url:
            return True
    return any((meta.get("http-equiv") or "").lower() == "refresh" for meta in page.tree.iter("meta"))


def _waits(element: HtmlElement) -> bool:
    """Return whether an element is one that a script finds and fills: it has a name and no content yet."""
    if not isinstance(element.tag, str) or element.tag in text.UNSEEN:
        return False
    is_named = bool(element.get("id")) or "-" in element.tag
    return is_named and not any(text.excerpt(part, 1) for part in element.iter(*_CONTENT))


def _speaks(noscript: HtmlElement) -> bool:
    pieces = [noscript.text]
    for part in noscript.iterdescendants("*"):
        pieces += [part.text if part.tag not in _SILENT else "", part.tail]
    return any(sign.isalpha() for piece in pieces for sign in piece or "")
