"""Sitemaps (sitemaps.org): XML, indexes of others, gzip, lists in plain text; read piece by piece."""

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from lxml import etree

from aahcrawler.page import Page, dates, feeds
from aahcrawler.page.text import fold
from aahcrawler.urls import canonicalize

MAX_BYTES = 52_428_800
"""The most bytes of a sitemap that are read, after decompression: it may have no more."""

MAX_ENTRIES = 50_000
"""The most entries that are read: a sitemap may have no more."""

MAX_TITLE = 1_000
"""The length of a title, in characters."""

_PIECE = 65_536
_MOST_ELEMENTS = 10_000
"""No entry has so many."""
_LONGEST_LINE = 16_384
_DOCTYPE = re.compile(rb"<!DOCTYPE", re.IGNORECASE)
_FEED = re.compile(rb"<(?:rss|feed|(?:\w+:)?RDF)[\s>]")
_TITLES = ("title", "caption")


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """An entry of a sitemap: an absolute, canonical URL and its description.

    ``title`` is that of a news article, an image or a video that the entry describes, mostly empty; ``summary`` comes
    from feeds alone. ``changed`` is the time of publication or of the last change, aware, None if not given.
    ``is_sitemap`` marks an entry of an index.
    """

    url: str
    title: str = ""
    summary: str = ""
    changed: datetime | None = None
    is_sitemap: bool = False


def read(page: Page) -> Iterator[SitemapEntry]:
    """Yield the entries of an answer to a request for a sitemap, in order; none if it is not a sitemap.

    Memory is bounded by one entry. Malformed content raises nothing: it is read up to its error. A feed that serves as
    a sitemap yields its entries. A sitemap has no document type, and so no entities: an answer with one is not read.
    """
    return islice(_entries(page), MAX_ENTRIES)


def _entries(page: Page) -> Iterator[SitemapEntry]:
    if page.is_json:
        yield from _of_feed(feeds.read(page))
        return
    pieces = _plain(page.body)
    first = next(pieces, b"")
    if not first.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0").startswith(b"<"):
        yield from _lines(_chained(first, pieces))
    elif not _DOCTYPE.search(first):
        if _FEED.search(first[:2000]):
            yield from _of_feed(feeds.read(page))
        else:
            yield from _elements(_chained(first, pieces), page.fetched_at)


def _of_feed(feed: feeds.Feed | None) -> Iterator[SitemapEntry]:
    for entry in feed.entries if feed is not None else ():
        yield SitemapEntry(entry.url, entry.title, entry.summary, entry.published)


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _plain(body: bytes) -> Iterator[bytes]:
    """Yield a body in pieces, decompressed if it is gzip, up to ``MAX_BYTES``."""
    if body[:2] != b"\x1f\x8b":
        yield from (body[at : at + _PIECE] for at in range(0, min(len(body), MAX_BYTES), _PIECE))
        return
    decoder = zlib.decompressobj(wbits=31)
    left, pending = MAX_BYTES, body
    while pending and left > 0 and not decoder.eof:
        try:
            piece = decoder.decompress(pending, min(_PIECE, left))
        except zlib.error:
            return
        if not piece:
            return
        yield piece
        left -= len(piece)
        pending = decoder.unconsumed_tail


def _lines(pieces: Iterable[bytes]) -> Iterator[SitemapEntry]:
    """Yield the URLs of a list in plain text; a line that is no URL ends it."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).removeprefix(b"\xef\xbb\xbf").split(b"\n")
        for line in lines:
            if line.strip():
                listed = _line(line)
                if listed is None:
                    return
                yield listed
        if len(rest) > _LONGEST_LINE:
            return
    if (listed := _line(rest)) is not None:
        yield listed


def _line(line: bytes) -> SitemapEntry | None:
    url = canonicalize(line.decode("utf-8", "replace").strip())
    return None if url is None else SitemapEntry(url)


def _elements(pieces: Iterable[bytes], now: datetime) -> Iterator[SitemapEntry]:
    """Yield the entries of XML; each is forgotten before the next one is read."""
    parser = etree.XMLPullParser(
        events=("end",), resolve_entities=False, load_dtd=False, no_network=True, recover=True, huge_tree=False
    )
    root: etree._Element | None = None
    elements = 0
    try:
        for piece in pieces:
            parser.feed(piece)
            for _, element in parser.read_events():
                elements += 1
                if root is None:
                    root = element.getroottree().getroot()
                    if _name(root) not in ("urlset", "sitemapindex"):
                        return
                parent = element.getparent()
                if parent is not None and parent is root:
                    elements = 0
                    if (listed := _listed(element, now)) is not None:
                        yield listed
                    _forget(parent, element)
            if elements > _MOST_ELEMENTS:
                return
    except etree.XMLSyntaxError:
        return


def _listed(element: etree._Element, now: datetime) -> SitemapEntry | None:
    if _name(element) not in ("url", "sitemap"):
        return None
    fields: dict[str, str] = {}
    for child in element.iter(etree.Element):
        if child.text and len(fields) < 16:
            fields.setdefault(_name(child), child.text)
    url = canonicalize(fields.get("loc", "").strip())
    if url is None:
        return None
    written = (fields.get("publication_date") or fields.get("lastmod") or "").strip()
    changed = dates.parse(written, now=now) if written[:1].isdigit() else None
    title = next((fields[name] for name in _TITLES if name in fields), "")[:MAX_TITLE]
    return SitemapEntry(url, fold(title), "", changed, _name(element) == "sitemap")


def _forget(parent: etree._Element, element: etree._Element) -> None:
    element.clear()
    while element.getprevious() is not None:
        del parent[0]


def _name(element: etree._Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
