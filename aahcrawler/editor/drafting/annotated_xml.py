"""Write elements of an application's file, with comments on guesses."""

import re
from collections.abc import Mapping

from lxml import etree
from lxml.etree import _Comment as Comment

from aahcrawler.editor.text.printable_text import printable

UNPROVEN = "unproven: read off a page"


def append_element(parent: etree._Element, tag: str, attributes: Mapping[str, str] | None = None) -> etree._Element:
    """Append an element; attributes come in the order given."""
    return etree.SubElement(parent, tag, dict(attributes or {}))


def note(parent: etree._Element, text: str) -> None:
    """Append a comment; forbidden character sequences are changed."""
    parent.append(_comment(text))


def guess(parent: etree._Element, text: str) -> None:
    """Append a comment that marks the next element as a guess."""
    parent.append(guessed(text))


def guessed(text: str) -> Comment:
    """Return a comment that marks the next element as a guess."""
    return _comment(f"guess: {text}")


def replace_by_note(element: etree._Element, text: str) -> None:
    """Put a comment in the place of an element and of the comments before it that mark it as a guess."""
    parent = element.getparent()
    before = element.getprevious()
    if parent is not None and isinstance(before, Comment) and (before.text or "").startswith(" guess: "):
        parent.remove(before)
    if parent is not None:
        parent.replace(element, _comment(text))


def _comment(text: str) -> Comment:
    return etree.Comment(f" {re.sub('-{2,}', '-', printable(text)).strip('-')} ")


def document(root: etree._Element) -> bytes:
    """Return the file, indented and with an empty line before each part."""
    etree.indent(root, "  ")
    for child in root:
        if child.tag == "level" or child.tag in ("detect", "canonical", "avoid"):
            _space_before(child)
    written = etree.tostring(root, xml_declaration=True, encoding="UTF-8")
    return re.sub(rb"^(<\?xml[^>]*)'1.0' encoding='UTF-8'", rb'\1"1.0" encoding="UTF-8"', written) + b"\n"


def _space_before(element: etree._Element) -> None:
    before = element.getprevious()
    while isinstance(before, Comment):
        before = before.getprevious()
    if before is not None:
        before.tail = "\n" + (before.tail or "")
