"""Pages that hold next to nothing before a browser has run their scripts."""

from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.page import Page, text

FEW_LETTERS = 120
"""The number of letters that a text "loading" has at most, in any language."""

_DATA_TYPES = ("json", "template", "speculationrules", "importmap")
_MEDIA = ("img", "picture", "video", "audio", "object", "embed", "canvas", "svg")
_FORMS = ("form", "input", "textarea", "select")
_SILENT = frozenset({"style", "script"})
_CONTENT = ("h1", "h2", "h3", "h4", "h5", "h6", "p", "li", "dd", "td", "pre", "blockquote", "article")


def is_empty_shell(page: Page) -> bool:
    """Return whether only a browser could show the content of an HTML page, whatever the language of the page.

    Such a page has scripts, no links and forms, and no more than ``FEW_LETTERS`` of text, and it either has a text for
    browsers without scripts, or no media and at most a placeholder to show until an element is filled.
    """
    tree = page.tree
    body = next(tree.iter("body"), tree)
    if not any(map(_runs, tree.iter("script"))) or _leads_on(page) or next(body.iter(*_FORMS), None) is not None:
        return False
    letters = sum(map(str.isalnum, text.excerpt(body, 4 * FEW_LETTERS)))
    if letters > FEW_LETTERS:
        return False
    if any(map(_speaks, tree.iter("noscript"))):
        return True
    return next(body.iter(*_MEDIA), None) is None and (not letters or any(map(_waits, body)))


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
