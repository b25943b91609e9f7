"""Reads text and links of ODT files (OpenDocument, parts 2 and 3), in the reader's child process."""

from collections.abc import Iterator
from typing import Final

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.documents.content import (
    About,
    EncryptedError,
    LinkStart,
    Piece,
    TextMark,
    about,
    is_absolute,
    moment_of,
)
from aahcrawler.documents.zip_package import Package, tag_of, text_of, value_of

_UNREAD: Final = frozenset(
    {"annotation", "tracked-changes", "forms", "scripts", "font-face-decls", "automatic-styles", "ruby-text"}
)
"""Elements without text of the document: remarks on it, what was deleted, and form alone."""
_SIGNS: Final = {"s": " ", "tab": " ", "line-break": " "}
_PARAGRAPHS: Final = frozenset({"p", "h"})


def about_file(package: Package) -> About:
    """Return the metadata that a document declares."""
    root = package.xml("meta.xml")
    author = text_of(root, "initial-creator") or text_of(root, "creator")
    return about(text_of(root, "title"), author, moment_of(text_of(root, "creation-date")))


def pieces(package: Package) -> Iterator[Piece]:
    """Yield the text of a document. Raises ``EncryptedError`` where its manifest says that it is encrypted."""
    manifest = package.xml("META-INF/manifest.xml")
    if manifest is not None and next(manifest.iter("{*}encryption-data"), None) is not None:
        raise EncryptedError
    root = package.xml("content.xml")
    if root is None:
        return
    walk = iterwalk(root, events=("start", "end"))
    for event, element in walk:
        tag = tag_of(element)
        if event == "start" and tag in _UNREAD:
            walk.skip_subtree()
        yield from _begun(element, tag) if event == "start" else _ended(element, tag)


def _begun(element: Element, tag: str) -> Iterator[Piece]:
    if tag in _UNREAD:
        return
    if tag == "a":
        yield LinkStart(_address(value_of(element, "href")))
    elif tag in _SIGNS:
        yield _SIGNS[tag]
    yield element.text or ""


def _ended(element: Element, tag: str) -> Iterator[Piece]:
    if tag == "a":
        yield TextMark.LINK_END
    elif tag in _PARAGRAPHS:
        yield TextMark.PARAGRAPH_END
    yield element.tail or ""


def _address(reference: str) -> str:
    """Return the target of a link, empty where it is within the package; the file counts as a folder of its own.

    >>> _address("http://a.test/"), _address("../more.html"), _address("#chapter")
    ('http://a.test/', 'more.html', '')
    """
    if is_absolute(reference):
        return reference
    return reference.removeprefix("../") if reference.startswith("../") else ""
