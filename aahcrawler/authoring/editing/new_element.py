"""Write the text of a new element as its neighbours in the file are written."""

import re

from lxml import etree
from lxml.etree import _Comment as Comment

from aahcrawler.authoring.editing.edit_error import EditError

LONGEST = 256 * 1024
"""Characters of a new element at most."""
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def checked(text: str) -> str:
    """Return a text that a file may hold. Raises `EditError` for one with control characters."""
    bad = _FORBIDDEN.search(text)
    if bad is not None:
        raise EditError(f"the sign U+{ord(bad[0]):04X} cannot stand in XML; take it out")
    return text


def parsed(xml: str) -> tuple[tuple[Comment, ...], etree._Element]:
    """Return the one element of a text, and the comments in front of it. Raises `EditError` for anything else."""
    if len(xml) > LONGEST:
        raise EditError(f"the new element is longer than {LONGEST:,} characters; add it in parts")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_pis=True)
    try:
        around = etree.fromstring(f"<around>{checked(xml)}</around>".encode(), parser)
    except etree.XMLSyntaxError as error:
        raise EditError(f"the new element is not well-formed XML: {error.msg}") from error
    comments = tuple(each for each in around if isinstance(each, Comment))
    elements = [each for each in around if not isinstance(each, Comment)]
    if len(elements) != 1 or around[-1] is not elements[0]:
        raise EditError("write one element; comments may stand before it")
    if not all(_is_blank(text) for text in (around.text, *(child.tail for child in around))):
        raise EditError("write one element; there is text beside it")
    return comments, elements[0]


def lines_of(comments: tuple[Comment, ...], element: etree._Element, indent: str | None, unit: str = "  ") -> str:
    """Return comments and element, each on lines of its own behind ``indent``; on one line where that is None.

    The first line is not indented, and no line break ends the last.
    """
    _lay_out(element, indent, unit)
    element.tail = None
    written = []
    for each in (*comments, element):
        each.tail = None
        written.append(etree.tostring(each, encoding="unicode"))
    return ("" if indent is None else f"\n{indent}").join(written)


def _lay_out(element: etree._Element, indent: str | None, unit: str) -> None:
    children = list(element)
    if not children or not all(_is_blank(text) for text in (element.text, *(child.tail for child in children))):
        return
    deeper = None if indent is None else indent + unit
    element.text = "" if deeper is None else f"\n{deeper}"
    for child in children:
        child.tail = element.text
        if isinstance(child.tag, str):
            _lay_out(child, deeper, unit)
    children[-1].tail = "" if indent is None else f"\n{indent}"


def _is_blank(text: str | None) -> bool:
    return not (text or "").strip(" \t\r\n")
