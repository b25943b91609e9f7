"""A fetched page, parsed once and shared by detection, actions, text and links."""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from lxml.html import HtmlElement

from aahcrawler.page import charset, jsontree, markup
from aahcrawler.urls import resolve

PARSED_BYTES = 10_000_000
"""How much of a body is decoded and parsed; what follows is archived and not looked at."""

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_UNKNOWN_TYPES = frozenset({"unknown/unknown", "application/unknown", "*/*"})


@dataclass(frozen=True)
class Headers:
    """Response header fields in their order; names are looked up without regard to case."""

    fields: tuple[tuple[str, str], ...] = ()

    def get(self, name: str, default: str = "") -> str:
        """Return the first field of that name."""
        return next(self.all(name), default)

    def all(self, name: str) -> Iterator[str]:
        """Yield every field of that name, in order."""
        wanted = name.lower()
        return (value for key, value in self.fields if key.lower() == wanted)


@dataclass(frozen=True)
class Page:
    """One response as the helper and the analysers see it.

    ``body`` is after transfer and content decoding and may have been cut at the crawl's size limit
    (``complete`` is False then). ``fetched_at`` is aware and in UTC. The instance keeps its parsed tree; treat the
    tree as read-only, everybody shares it. Only the first ``PARSED_BYTES`` of a body are decoded and parsed.
    """

    url: str
    status: int
    headers: Headers
    body: bytes
    fetched_at: datetime
    complete: bool = True

    @cached_property
    def media_type(self) -> str:
        """Type and subtype in lower case, sniffed where the header is missing: ``text/html``."""
        declared = ""
        for field in self.headers.all("content-type"):
            for value in field.split(","):
                essence = value.partition(";")[0].strip().lower()
                if _MEDIA_TYPE.fullmatch(essence) and essence not in _UNKNOWN_TYPES:
                    declared = essence
        return declared or sniff(self.body)

    @cached_property
    def encoding(self) -> str:
        """The encoding a browser would use (WHATWG): BOM, header, meta, then a guess; a Python codec name.

        Labels that nobody knows are passed over. The guess is UTF-8 if the bytes allow it.
        """
        return (
            charset.of_bom(self.body)
            or next(filter(None, map(charset.of_field, self.headers.all("content-type"))), "")
            or charset.declared(self.body, self.media_type)
            or charset.guessed(self.body[:PARSED_BYTES])
        )

    @property
    def is_html(self) -> bool:
        """Whether the page can be parsed as HTML."""
        return self.media_type in _HTML_TYPES

    @property
    def is_json(self) -> bool:
        """Whether the page says that it is JSON; what says nothing of the sort is never taken for it."""
        return self.media_type == "application/json" or (
            self.media_type.startswith("application/") and self.media_type.endswith("+json")
        )

    @cached_property
    def text(self) -> str:
        """The decoded body without byte order mark; bytes that mean nothing become U+FFFD."""
        codec = getincrementaldecoder(self.encoding)(errors="replace")
        cut = len(self.body) > PARSED_BYTES
        return codec.decode(self.body[:PARSED_BYTES], final=not cut).removeprefix("\ufeff")

    @cached_property
    def tree(self) -> HtmlElement:
        """The document element; an empty document for a body that holds no markup. Never raises on hostile input.

        JSON is a tree as well, see `aahcrawler.page.jsontree.parse`; a body of another media type has an empty
        document. Elements are nested at most 2,048 deep, the markup beyond is left out, and so are attributes that
        a tag has beyond ``markup.MAX_ATTRIBUTES``.
        """
        if self.is_json:
            return jsontree.parse(self.text)
        if not self.is_html:
            return markup.empty()
        if self.encoding == "utf-8":
            return markup.parse(self.body[:PARSED_BYTES])
        return markup.parse(self.text.encode("utf-8", "replace"))

    @cached_property
    def base_url(self) -> str:
        """What relative links resolve against: the first ``base`` element's address, else the page's."""
        for element in self.tree.iter("base"):
            reference = element.get("href")
            if reference is not None:
                return resolve(self.url, reference) or self.url
        return self.url


_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+|\*/\*")


_SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"BM", "image/bmp"),
    (b"\x00\x00\x01\x00", "image/x-icon"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OggS\x00", "application/ogg"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
)
_HTML_START = re.compile(
    rb"\s*<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link|main)"
    rb"(?=[\s>/])|\s*<!--",
    re.IGNORECASE,
)
_FEED_START = re.compile(rb"(?:<\?[^>]*>|<!--.*?-->|<![^>]*>|\s)*<(rss|feed|rdf:RDF)[\s>]", re.DOTALL)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_SNIFFED_BYTES = 1445


def sniff(body: bytes) -> str:
    """Return the media type of bytes that came without one, after the essentials of WHATWG's MIME Sniffing."""
    head = body[:_SNIFFED_BYTES]
    for signature, media_type in _SIGNATURES:
        if head.startswith(signature):
            return media_type
    if head[:4] == b"RIFF" and head[8:14] == b"WEBPVP":
        return "image/webp"
    if head[4:8] == b"ftyp":
        return "video/mp4"
    return _sniff_text(head)


def _sniff_text(head: bytes) -> str:
    bom = charset.of_bom(head)
    text = head.decode(bom, "replace").lstrip("\ufeff").encode() if bom else head
    if _HTML_START.match(text):
        return "text/html"
    if feed := _FEED_START.match(text):
        return {b"rss": "application/rss+xml", b"feed": "application/atom+xml"}.get(feed[1], "application/rdf+xml")
    if text.lstrip().startswith(b"<?xml"):
        return "application/xhtml+xml" if b"<html" in text else "text/xml"
    return "application/octet-stream" if _BINARY.search(text) else "text/plain"


__all__ = ["Headers", "Page", "sniff"]
