"""Copies of pages for libraries that make elements of a page's names and texts, of which XML does not allow all."""

import re
from collections.abc import Iterator
from copy import deepcopy

from lxml.etree import Comment, ProcessingInstruction, strip_tags, tostring
from lxml.html import HtmlElement

from aahcrawler.page import markup

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*+")
"""A name without a prefix that elements and attributes may have in XML, and that expressions may ask for."""

_BLANK = "span"
_CONTROLS = bytes({*range(32), 127} - {*b"\t\n\r"})
_NO_CHARACTER = re.compile(b"\xef\xbf[\xbe\xbf]")


def as_xml_allows(tree: HtmlElement) -> Iterator[HtmlElement]:
    """Yield a copy of a page without comments, then one of which XML allows all, where it does not allow all of it.

    In that one, elements with names such as ``o:p`` or ``a"b`` are called ``span``, such attributes are left out, and
    so are control characters.
    """
    yield _without_comments(deepcopy(tree))
    written = tostring(tree, encoding="utf-8", method="html", with_tail=False)
    allowed = _NO_CHARACTER.sub(b"", written.translate(None, _CONTROLS))
    if len(allowed) == len(written) and not any(map(_is_odd, tree.iter())):
        return
    copied = _without_comments(markup.parse(allowed))
    for element in copied.iter():
        if not NAME.fullmatch(str(element.tag)):
            element.tag = _BLANK
        allowed_ones = {name: value for name, value in element.attrib.items() if NAME.fullmatch(name)}
        if len(allowed_ones) < len(element.attrib):  # Some names cannot even be named to be deleted, such as "{".
            element.attrib.clear()
            element.attrib.update(allowed_ones)
    yield copied


def name_of(element: HtmlElement) -> str:
    """Return the name of an element as an expression may ask for it, ``*`` where it has none such."""
    tag = str(element.tag)
    return tag if NAME.fullmatch(tag) else "*"


def _without_comments(tree: HtmlElement) -> HtmlElement:
    strip_tags(tree, Comment, ProcessingInstruction)
    return tree


def _is_odd(element: HtmlElement) -> bool:
    names = (element.tag, *element.attrib) if isinstance(element.tag, str) else ()
    return not all(map(NAME.fullmatch, names))
