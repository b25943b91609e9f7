"""Reads text and links of EPUB files (EPUB 2 and 3), in the reader's child process."""

import posixpath
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final
from urllib.parse import unquote

from lxml.etree import _Element as Element
from lxml.etree import iterwalk

from aahcrawler.documents.content import (
    MAX_PAGES,
    About,
    EncryptedError,
    LinkStart,
    Piece,
    TextMark,
    about,
    is_absolute,
    moment_of,
)
from aahcrawler.documents.zip_package import Package, text_of, value_of
from aahcrawler.page import markup
from aahcrawler.page.text import BLOCKS, UNREAD

_TEXTS: Final = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document"})
_MAX_TEXTS: Final = 20 * MAX_PAGES
"""Files of one book that are read: covers and title pages may have no text."""
_SUBSET: Final = re.compile(rb"<!DOCTYPE[^\[>]*+\[[^\]]*+\]\s*+>")
"""A document type with declarations of its own, which the parser of HTML takes for text."""


def about_file(package: Package) -> About:
    """Return the metadata that a book declares; its date is that of its publication."""
    root = package.xml(_root_file(package))
    dates = () if root is None else islice(root.iter("{*}date"), MAX_PAGES)
    named = {value_of(each, "event"): "".join(map(str, each.itertext())) for each in dates}
    return about(
        text_of(root, "title"), text_of(root, "creator"), moment_of(named.get("publication") or named.get("", ""))
    )


def pieces(package: Package) -> Iterator[Piece]:
    """Yield the text of a book in reading order. Raises ``EncryptedError`` where none of it can be read."""
    names, locked = list(islice(_texts(package), _MAX_TEXTS)), _encrypted(package)
    if names and locked.issuperset(names):
        raise EncryptedError
    for name in names:
        if name not in locked:
            yield from _of_text(package.read(name))
            yield TextMark.SHEET_END


def _root_file(package: Package) -> str:
    container = package.xml("META-INF/container.xml")
    found = None if container is None else next(container.iter("{*}rootfile"), None)
    return "" if found is None else value_of(found, "full-path")


def _texts(package: Package) -> Iterator[str]:
    """Yield the names of the files with a book's text, as its spine orders them."""
    name = _root_file(package)
    root = package.xml(name)
    if root is None:
        return
    files = {value_of(each, "id"): each for each in root.iter("{*}item")}
    for each in root.iter("{*}itemref"):
        file = files.get(value_of(each, "idref"))
        if file is not None and value_of(file, "media-type").lower() in _TEXTS:
            yield _within(posixpath.dirname(name), value_of(file, "href"))


def _encrypted(package: Package) -> frozenset[str]:
    root = package.xml("META-INF/encryption.xml")
    named = () if root is None else root.iter("{*}CipherReference")
    return frozenset(_within("", value_of(each, "URI")) for each in named)


def _within(folder: str, reference: str) -> str:
    return posixpath.normpath(posixpath.join("/", folder, unquote(reference.partition("#")[0]))).lstrip("/")


def _of_text(body: bytes) -> Iterator[Piece]:
    encoding = markup.of_bom(body)
    utf_8 = body.decode(encoding, "replace").encode("utf-8", "replace") if encoding else body
    walk = iterwalk(markup.parse(_SUBSET.sub(b"", utf_8)), events=("start", "end", "comment", "pi"))
    for event, node in walk:
        if event == "start" and node.tag in UNREAD:
            walk.skip_subtree()
        elif event == "start":
            yield from _begun(node)
        else:
            yield from _ended(node, is_element=event == "end")


def _begun(element: Element) -> Iterator[Piece]:
    if element.tag in BLOCKS:
        yield TextMark.PARAGRAPH_END
    elif element.tag == "a":
        address = element.get("href") or ""
        yield LinkStart(address if is_absolute(address) else "")
    yield element.text or ""


def _ended(node: Element, *, is_element: bool) -> Iterator[Piece]:
    if is_element and node.tag in BLOCKS:
        yield TextMark.PARAGRAPH_END
    elif is_element and node.tag == "a":
        yield TextMark.LINK_END
    elif is_element and node.tag in ("td", "th"):
        yield " "
    yield node.tail or ""
