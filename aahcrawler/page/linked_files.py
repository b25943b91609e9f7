"""Tell the links that lead to a file of the page, a picture, sound or film, from those that lead to another page."""

import re
from typing import Final
from urllib.parse import urlsplit

from lxml.etree import _Element as Element

from online_analysis.media_types import type_by_url

KINDS: Final = frozenset({"image", "audio", "video"})

_PAGES_OF_FILES: Final = frozenset(
    {"attachment", "attachments", "blame", "blob", "browse", "browser", "cgit", "gitweb", "src", "viewvc", "wiki"}
)
"""Folders in which trackers, wikis and source browsers show a page about a file under the file's name."""
_VECTORS: Final = frozenset({"image/svg+xml", "image/vnd.microsoft.icon"})
_SEGMENTS: Final = re.compile(r"/+")


def kind_of_file(url: str, declared: str | None = None) -> str | None:
    """Return whether a URL is that of an ``image``, ``audio`` or ``video`` file, None where it may be that of a page.

    ``declared`` is the media type that a link gives; without one the ending of the path decides. Drawings and icons are
    no pictures that somebody took.

    >>> kind_of_file("http://a.test/big/tower.JPG"), kind_of_file("http://a.test/get?id=3", "video/mp4")
    ('image', 'video')
    >>> kind_of_file("http://a.test/attachment/7/tower.jpg"), kind_of_file("http://a.test/wiki/File:Tower.jpg")
    (None, None)
    """
    media_type = (declared or "").partition(";")[0].strip().lower() or type_by_url(url) or ""
    kind = media_type.partition("/")[0]
    if kind not in KINDS or media_type in _VECTORS:
        return None
    if not declared and not _PAGES_OF_FILES.isdisjoint(_SEGMENTS.split(urlsplit(url).path.lower())[:-1]):
        return None
    return kind


def linked_file(link: Element, url: str) -> str | None:
    """Return the kind of the file that a link to a URL, an ``a`` or ``area``, leads to, as ``kind_of_file`` does."""
    return kind_of_file(url, link.get("type"))
