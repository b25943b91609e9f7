"""Find the documents that a page shows within itself."""

import re
from collections.abc import Iterator
from typing import Final

from lxml.etree import _Element as Element

from aahcrawler.page.page import Page
from aahcrawler.urls import resolve

MAX_FRAMES: Final = 100
"""The most frames of one page that are found."""

_NAMES: Final = {"frame": "src", "iframe": "src", "embed": "src", "object": "data"}
_DOCUMENTS: Final = frozenset({"", "text/html", "application/xhtml+xml", "application/pdf", "text/plain"})
"""Declared types of what ``embed`` and ``object`` show that may be a document with links."""
_PICTURES_AND_MEDIA: Final = re.compile(
    r"\.(?:avif|bmp|gif|ico|jpe?g|png|svgz?|webp|aac|aiff?|au|flac|m4[av]|midi?|mp[34]|mpe?g|mov|avi|wm[av]|web[ma]|mkv|"
    r"og[agv]|opus|wav|r[am]m?|swf|flv|dcr|3gp)(?:$|[?#])",
    re.IGNORECASE,
)
"""The endings of files that ``embed`` and ``object`` show without being documents with links."""
_LAZY: Final = ("data-src", "data-lazy-src")


def frames(page: Page) -> tuple[str, ...]:
    """Return the canonical http(s) URLs of documents within a page, each once, in their order.

    They are those of ``frame``, ``iframe``, ``embed`` and ``object``; what declares to be no document is none.
    """
    found: dict[str, None] = {}
    for reference in _references(page):
        url = resolve(page.base_url, reference)
        if url is not None and url != page.url:
            found[url] = None
        if len(found) == MAX_FRAMES:
            break
    return tuple(found)


def shows_document(element: Element, reference: str) -> bool:
    """Tell whether what an ``embed`` or ``object`` shows may be a document: by its type, else by the URL's ending."""
    declared = (element.get("type") or "").partition(";")[0].strip().lower()
    return declared in _DOCUMENTS and bool(declared or not _PICTURES_AND_MEDIA.search(reference))


def _references(page: Page) -> Iterator[str]:
    for element in page.tree.iter(*_NAMES):
        if element.get("srcdoc") is not None:
            continue
        for name in (_NAMES[str(element.tag)], *_LAZY):
            reference = (element.get(name) or "").strip()
            if reference and not reference.lower().startswith(("about:", "javascript:", "data:", "blob:")):
                if element.tag not in ("embed", "object") or shows_document(element, reference):
                    yield reference
                break
