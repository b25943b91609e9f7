"""Sitemaps (sitemaps.org): XML, indexes of others, gzip, lists in plain text; read piece by piece."""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice

from aahcrawler.page import Page, dates, feeds, markup
from aahcrawler.page.decoding import ungzipped
from aahcrawler.page.loose_xml import UNKNOWN, Element, LooseXml, Mistakes, Vocabulary
from aahcrawler.page.text import fold
from aahcrawler.urls import canonicalize, resolve

MAX_BYTES = 52_428_800
"""The most bytes of a sitemap that are read, after decompression: it may have no more."""

MAX_ENTRIES = 50_000
"""The most entries that are read: a sitemap may have no more."""

MAX_TITLE = 1_000
"""The length of a title, in characters."""

CHANGE_FREQUENCIES = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})

_PIECE = 65_536
_MAX_LINE_LENGTH = 16_384
_GZIP_MAGIC = b"\x1f\x8b"
_ROOT = re.compile(r"<(?:[\w.-]+:)?(urlset|sitemapindex|rss|feed|rdf)[\s>]", re.IGNORECASE)
_HTML = re.compile(r"<(?:html|head|body)[\s>]", re.IGNORECASE)
_LISTED_LINE = re.compile(r"https?://", re.IGNORECASE)
_RESOLVED = re.compile(r"[a-z][a-z0-9+.-]*:|/", re.IGNORECASE)
_LINE_END = re.compile(r"[\r\n]+")
_MAX_OTHER_LINES = 1_000
"""The most lines of a text that are looked at before the first one that is a URL."""
_TITLES = ("title", "caption")
_VOCABULARY = Vocabulary(
    containers=frozenset({"urlset", "sitemapindex"}),
    entries=frozenset({"url", "sitemap"}),
    texts=frozenset({"loc", "lastmod", "changefreq", "priority"}),
    fields=frozenset({"loc", "lastmod", "changefreq", "priority", "news", "image", "video", "link", "mobile"}),
)


@dataclass(frozen=True, slots=True)
class SitemapEntry:
    """An entry of a sitemap: an absolute, canonical URL and its description.

    ``title`` is that of a news article, an image or a video that the entry describes, mostly empty; ``summary`` comes
    from feeds alone. ``changed`` is the time of publication or of the last change, aware, None if not given.
    ``is_sitemap`` marks an entry of an index. ``changefreq`` is how often the page is said to change, in the words of
    the protocol (``CHANGE_FREQUENCIES``), empty if it is not said.
    """

    url: str
    title: str = ""
    summary: str = ""
    changed: datetime | None = None
    is_sitemap: bool = False
    changefreq: str = ""


class Sitemap:
    """A sitemap, or a feed that serves as one, that is read once by iterating over its entries.

    ``mistakes`` are counted meanwhile.
    """

    def __init__(self, page: Page) -> None:
        self.mistakes = Mistakes()
        self._page = page

    def __iter__(self) -> Iterator[SitemapEntry]:
        """Yield the entries in order; none if the answer is no sitemap.

        Memory is bounded by one entry. Malformed content raises nothing: what can be mended is, and an entry that
        cannot is left out. A document type with declarations of its own, such as entities, ends what is read.
        """
        return islice(self._entries(), MAX_ENTRIES)

    def _entries(self) -> Iterator[SitemapEntry]:
        if self._page.is_json:
            yield from self._of_feed()
            return
        texts = _texts(self._page)
        first = next(texts, "")
        root = _ROOT.search(first)
        if root is None:
            if not first.lstrip().startswith("<"):
                yield from self._lines(chain((first,), texts))
        elif _HTML.search(first, 0, root.start()) is None:
            if root[1].lower() in ("urlset", "sitemapindex"):
                yield from self._of_xml(LooseXml(chain((first,), texts), _VOCABULARY))
            else:
                yield from self._of_feed()

    def _of_feed(self) -> Iterator[SitemapEntry]:
        page = self._page
        if page.body.startswith(_GZIP_MAGIC):
            page = replace(page, body=b"".join(_bounded(_plain(page.body), feeds.MAX_BYTES)))
        feed = feeds.read_feed(page)
        if feed is not None:
            self.mistakes = feed.mistakes
            for entry in feed.entries:
                yield SitemapEntry(entry.url, entry.title, entry.summary, entry.published)

    def _of_xml(self, xml: LooseXml) -> Iterator[SitemapEntry]:
        self.mistakes = xml.mistakes
        for element in islice(xml, MAX_ENTRIES):
            if (listed := _listed(element, self._page)) is not None:
                yield listed
            else:
                self.mistakes.dropped += 1

    def _lines(self, texts: Iterable[str]) -> Iterator[SitemapEntry]:
        """Yield the URLs of a list in plain text; a line that is none is passed over, as are comments."""
        others, is_list = 0, False
        for line in _lines(texts):
            url = canonicalize(line) if _LISTED_LINE.match(line) and UNKNOWN not in line else None
            if url is not None:
                if not is_list:
                    is_list, self.mistakes.dropped = True, others
                yield SitemapEntry(url)
            elif not line.startswith("#"):
                others += 1
                self.mistakes.dropped += is_list
            if not is_list and others > _MAX_OTHER_LINES:
                return


def _texts(page: Page) -> Iterator[str]:
    """Yield the text of an answer in pieces, decompressed if it is gzip, up to ``MAX_BYTES``.

    Its encoding is that of its byte order mark, its header, its declaration, else that of its first piece. The first
    piece is long enough for the root.
    """
    pieces = _bounded(_plain(page.body))
    first = next(pieces, b"")
    while len(first) < _PIECE and (more := next(pieces, b"")):
        first += more
    fields = () if page.body.startswith(_GZIP_MAGIC) else map(markup.of_field, page.headers.all("content-type"))
    named = (*fields, markup.declared(first, "text/xml") or "utf-8")
    codec = markup.of_bom(first) or markup.believed(first, named) or markup.guessed(first)
    decode = getincrementaldecoder(codec)("replace").decode
    yield decode(first).removeprefix("\ufeff")
    yield from map(decode, pieces)


def _plain(body: bytes) -> Iterator[bytes]:
    """Yield a body in pieces. Gzip is undone twice: servers compress files that are compressed already."""
    if not body.startswith(_GZIP_MAGIC):
        yield from (body[at : at + _PIECE] for at in range(0, len(body), _PIECE))
        return
    pieces = ungzipped(body)
    first = next(filter(None, pieces), b"")
    if first.startswith(_GZIP_MAGIC):
        yield from ungzipped(b"".join(_bounded(chain((first,), pieces))))
    else:
        yield from chain((first,), pieces)


def _bounded(pieces: Iterable[bytes], most: int = MAX_BYTES) -> Iterator[bytes]:
    left = most
    for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield lines that are not empty without the white space around them, up to one that is too long."""
    rest = ""
    for text in texts:
        *lines, rest = _LINE_END.split(rest + text)
        yield from filter(None, map(str.strip, lines))
        if len(rest) > _MAX_LINE_LENGTH:
            return
    yield from filter(None, (rest.strip(),))


def _listed(element: Element, page: Page) -> SitemapEntry | None:
    """Return what an entry lists; None if its URL is missing, or if what was written cannot be told."""
    url = next((each.url for each in element.children if (each.name, each.prefix) == ("loc", element.prefix)), "")
    resolved = resolve(page.url, url) if _RESOLVED.match(url) else None
    if resolved is None:
        return None
    texts: dict[str, str] = {}
    for each in element.within():
        texts.setdefault(each.name, each.text)
    written = texts.get("publication_date") or texts.get("lastmod") or ""
    changed = dates.parse(written, now=page.fetched_at) if written[:1].isdigit() else None
    title = next((texts[name] for name in _TITLES if texts.get(name)), "")[:MAX_TITLE]
    stated = texts.get("changefreq", "").strip().lower()
    frequency = stated if stated in CHANGE_FREQUENCIES else ""
    return SitemapEntry(resolved, fold(title), "", changed, element.name == "sitemap", frequency)
