"""Links that lead to a picture, sound or film rather than to another page, and what such a file is."""

import re
from collections import Counter
from collections.abc import Mapping
from io import BytesIO
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

import imagesize
from lxml.etree import _Element as Element

from aahcrawler.page.page import Page
from aahcrawler.page.sniffing import sniff
from aahcrawler.webobject import Reference, Value, WebObject
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


MAX_LINKS: Final = 5_000
"""The most links of one page that are looked at."""
_FOREIGN: Final = re.compile(
    r"(ftps?|sftp|tftp|gophers?|gemini|spartan|titan|nex|finger|wais|dict|s?news|nntp|magnet|ed2k|ip[fn]s|dat|hyper|dweb"
    r"|file|smb|nfs|rsync|svn|git|rtsps?|rtmp|mmsh?|telnet):(.+)",
    re.IGNORECASE | re.DOTALL,
)
"""Links whose schemes name documents, files and places (IANA's registry of URI schemes, and what is common without it).

Others name people, programs and actions, such as ``mailto`` and ``javascript``, or are no schemes: ``Talk:Harbour``.
"""


def foreign_links(page: Page) -> Mapping[str, int]:
    """Return by scheme how many different links, and frames, of a page lead to documents by other ways than HTTP."""
    found = set()
    for element in islice(page.tree.iter("a", "area", "frame", "iframe"), MAX_LINKS):
        match = _FOREIGN.fullmatch((element.get("href") or element.get("src") or "").strip())
        if match is not None:
            found.add((match[1].lower(), match[2]))
    return Counter(scheme for scheme, _ in found)


_KINDS: Final = {"image": "image", "audio": "audio", "video": "video"}
_MEASURED: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""Formats whose head tells for certain how large a picture is."""
_HEAD: Final = 1 << 18


def media_file(page: Page) -> WebObject | None:
    """Return a fetched file as an object named by its URL; None where its bytes are no picture, sound or film.

    ``format`` is its media type, whatever the server declares; ``size`` its bytes, absent where it did not come whole;
    ``width`` and ``height`` those of a picture in pixels, as it is shown.
    """
    media_type = sniff(page.body, page.media_type)
    kind = _KINDS.get(media_type.partition("/")[0])
    if kind is None:
        return None
    known: dict[str, tuple[Value, ...]] = {"format": (media_type,), "url": (Reference(page.url),)}
    if page.complete:
        known["size"] = (len(page.body),)
    if media_type in _MEASURED:
        width, height = imagesize.get(BytesIO(page.body[:_HEAD]))
        if width > 0 and height > 0:
            known |= {"width": (width,), "height": (height,)}
    return WebObject(page.url, kind, page.url, known)
