"""Find the base of a document's links (HTML, section 2.4.3)."""

import re
from itertools import islice
from typing import Final

from lxml.html import HtmlElement

from aahcrawler.urls import DocumentBase, resolve

_MOST_BASES: Final = 50
"""The most ``base`` elements that are looked at."""
_OTHER_SCHEME: Final = re.compile(r"\s*(?!(?:https?|data|javascript):)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_INERT: Final = frozenset({"template", "noscript", "noframes", "noembed", "iframe", "textarea", "title", "xmp"})
"""Elements whose content is a fragment of its own or, in browsers that run scripts, text."""
_FOREIGN: Final = frozenset({"svg", "math"})
_OF_HTML_WITHIN: Final = frozenset({"foreignobject", "desc", "annotation-xml", "mi", "mn", "mo", "ms", "mtext"})
"""Elements of SVG and MathML whose content is HTML again; a ``title`` is rarely one of SVG."""


def based(own: str, tree: HtmlElement) -> str:
    """Return the base of a document's links, whose URL, or whose surroundings' base, is ``own``.

    One of another scheme than http(s) makes relative links lead nowhere; none is that of data or of a script.
    """
    reference = base_reference(tree)
    if reference is None:
        return own
    url = resolve(own, reference)
    if url is None:
        url = reference.strip() if _OTHER_SCHEME.match(reference) else str(own)
    return DocumentBase(url, own.codec) if isinstance(own, DocumentBase) else url


def base_reference(tree: HtmlElement) -> str | None:
    """Return what the first ``base`` that browsers heed has for a URL, None where there is none."""
    elements = islice(tree.iter("base"), _MOST_BASES)
    return next((each.get("href") for each in elements if each.get("href") is not None and _is_heeded(each)), None)


def _is_heeded(base: HtmlElement) -> bool:
    """Return whether a ``base`` is an element of HTML in the tree of its document."""
    is_of_html = False
    for outer in base.iterancestors():
        if outer.tag in _INERT or outer.get("shadowrootmode") is not None:
            return False
        if outer.tag in _FOREIGN and not is_of_html:
            return False
        is_of_html = is_of_html or outer.tag in _OF_HTML_WITHIN
    return True
