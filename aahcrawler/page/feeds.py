"""Read the entries of feeds (RSS 0.9 to 2.0, Atom, JSON Feed) and of sitemaps (sitemaps.org), piece by piece."""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice

from aahcrawler.page import Page, dates, markup
from aahcrawler.page.decoding import ungzipped
from aahcrawler.page.loose_xml import UNKNOWN, Element, LooseXml, Mistakes, Vocabulary, exact_url
from aahcrawler.page.sniffing import is_xml
from aahcrawler.page.text import excerpt, fold
from aahcrawler.urls import canonicalize, resolve

_PIECE = 65_536

MAX_ENTRIES = 1_000
"""The most entries of a feed that are read."""

MAX_BYTES = 5_000_000
"""The most bytes of a feed that are read."""

MAX_SUMMARY = 1_000
"""The length of a title and of a summary, in characters."""

FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
"""The media types of feeds; a feed that is sent as another type of XML is read as one of them."""

MAX_ANNOUNCED = 3
"""The most announced feeds of a page that are returned."""

_COMMENTS = re.compile(r"/comments?(?:[/.]|$)|[?&](?:feed|type|mode)=\w*comments", re.IGNORECASE)
_OF_COMMENT = re.compile(r"#[\w.:-]*comment|#c\d+$", re.IGNORECASE)
_DATES = ("pubdate", "published", "date", "issued", "updated", "modified")
_SUMMARIES = ("description", "summary", "encoded", "content")
_TEXTS = frozenset({*_DATES, *_SUMMARIES, "title", "link", "origlink", "guid", "id", "author", "creator", "category"})
_FEED_VOCABULARY = Vocabulary(
    containers=frozenset({"rss", "channel", "feed", "rdf"}),
    entries=frozenset({"item", "entry"}),
    texts=_TEXTS,
    fields=_TEXTS | {"enclosure", "source", "comments", "thumbnail", "group"},
)
_REFERENCE = re.compile(r"https?:|\S+\Z", re.IGNORECASE)
"""A URL, which may have spaces in it only if nothing else can be meant."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """An entry: the absolute URL of its page, its title and the beginning of its text in the feed.

    ``published`` is the time of publication, else of the last change, aware and in UTC; None if neither is given.
    """

    url: str
    title: str
    summary: str
    published: datetime | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed and its entries in their order, each URL once; ``mistakes`` are those of its markup."""

    title: str
    entries: tuple[FeedEntry, ...]
    mistakes: Mistakes = field(default_factory=Mistakes)


def announced(page: Page) -> tuple[str, ...]:
    """Return the URLs of the first feeds that an HTML page names as its own, those of comments left out.

    https://html.spec.whatwg.org/multipage/links.html#rel-alternate
    """
    links = (link for link in page.tree.iter("link") if "alternate" in (link.get("rel") or "").lower().split())
    feeds = (link for link in links if (link.get("type") or "").partition(";")[0].strip().lower() in FEED_TYPES)
    urls = (resolve(page.base_url, link.get("href") or "") for link in feeds)
    return tuple(islice(dict.fromkeys(url for url in urls if url and not _COMMENTS.search(url)), MAX_ANNOUNCED))


def is_list(page: Page) -> bool:
    """Return whether a page is a list of pages, made for programs: a feed or a sitemap."""
    if page.media_type in FEED_TYPES:
        return True
    root = _FIRST_ELEMENT.search(page.body, 0, _PROLOGUE) if is_xml(page.media_type) else None
    return root is not None and root[1] in _LIST_ROOTS


def read_feed(page: Page) -> Feed | None:
    """Return the feed in an answer, None if the answer is no feed or a feed of comments.

    What can be mended of malformed XML is, and an entry that cannot is left out. Nothing that a document type names
    or declares is loaded or expanded.
    """
    if _COMMENTS.search(page.url):
        return None
    mistakes = Mistakes()
    found: tuple[str, Iterable[_Raw]] | None = None
    if page.is_json:
        found = _json_feed(page)
    elif is_xml(page.media_type):
        text = page.text[:MAX_BYTES]
        pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
        xml = LooseXml(pieces, _FEED_VOCABULARY, allows_subset=True)
        found, mistakes = _xml_feed(xml, page), xml.mistakes
    if found is None:
        return None
    title, entries = found[0], tuple(found[1])
    if entries and sum(_OF_COMMENT.search(each.link) is not None for each in entries) > len(entries) / 2:
        return None
    by_url: dict[str, FeedEntry] = {}
    for each in entries:
        url = resolve(each.base, each.link)
        if url is not None:
            published = dates.parse(each.date, now=page.fetched_at)
            by_url.setdefault(url, FeedEntry(url, _plain(each.title), _plain(each.summary), published))
    return Feed(_plain(title), tuple(by_url.values()), mistakes)


@dataclass(frozen=True, slots=True)
class _Raw:
    link: str
    base: str
    title: str
    summary: str
    date: str


def _json_feed(page: Page) -> tuple[str, Iterable[_Raw]] | None:
    try:
        feed = json.loads(page.text) if len(page.body) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(feed, Mapping) or not str(feed.get("version", "")).startswith("https://jsonfeed.org/version/"):
        return None
    items = feed.get("items")
    return _text(feed, "title"), _json_entries(items if isinstance(items, list) else [], page.url)


def _json_entries(items: list[object], base: str) -> Iterator[_Raw]:
    for item in items[:MAX_ENTRIES]:
        if isinstance(item, Mapping) and (link := _text(item, "url")):
            summary = _text(item, "summary", "content_text", "content_html")
            yield _Raw(link, base, _text(item, "title"), summary, _text(item, "date_published", "date_modified"))


def _text(node: Mapping[str, object], *names: str) -> str:
    return next((value for name in names if isinstance(value := node.get(name), str) and value), "")


def _xml_feed(xml: LooseXml, page: Page) -> tuple[str, Iterable[_Raw]] | None:
    elements = list(islice(xml, MAX_ENTRIES))
    if xml.root is None:
        return None
    base = resolve(page.url, xml.root.attributes.get("xml:base", "")) or page.url
    title = next((each.text for each in xml.others if each.name == "title"), "")
    return title, _xml_entries(elements, base, xml.mistakes)


def _xml_entries(elements: Iterable[Element], base: str, mistakes: Mistakes) -> Iterator[_Raw]:
    for element in elements:
        own = _base_of(element, base)
        parts = {each.name: each for each in reversed(list(element.children))}
        links = _links(element, own)
        found = next((link for link in links if link is not None), None)
        if found is None:
            mistakes.dropped += bool(links)
            continue
        summary, date = _first(parts, _SUMMARIES), _first(parts, _DATES)
        yield _Raw(*found, parts["title"].text if "title" in parts else "", summary, date)


def _base_of(element: Element, base: str) -> str:
    return resolve(base, element.attributes.get("xml:base", "")) or base


def _first(parts: Mapping[str, Element], names: Iterable[str]) -> str:
    return next((text for name in names if name in parts and (text := parts[name].text)), "")


def _links(entry: Element, base: str) -> list[tuple[str, str] | None]:
    """Return the URLs of an entry's page with their bases, the best first; None for one that cannot be told exactly.

    Best is that before a counter was put into it, then its link, then its identifier.
    """
    ranked: list[tuple[int, str, str]] = []
    for child in entry.children:
        said, own = child.attributes, _base_of(child, base)
        match child.name:
            case "origlink":
                ranked.append((0, child.url, own))
            case "link" if "href" not in said and child.text:
                ranked.append((1, child.url, own))
            case "link" if said.get("rel", "alternate").strip().lower() in ("", "alternate"):
                ranked.append((1 if "html" in said.get("type", "html") else 2, exact_url(said["href"]), own))
            case "guid" if said.get("ispermalink", "true") == "true" and child.text.startswith("http"):
                ranked.append((3, child.url, own))
    ranked.sort(key=lambda each: each[0])
    return [(url, own) if _REFERENCE.match(url) else None for _, url, own in ranked]


def _plain(text: str) -> str:
    """Return text that may be markup in one line."""
    cut = text[: 8 * MAX_SUMMARY]
    if "<" in cut or "&" in cut:
        return excerpt(markup.parse(f"<div>{cut}</div>".encode("utf-8", "replace")), MAX_SUMMARY)
    return fold(cut)[:MAX_SUMMARY]


MAX_SITEMAP_BYTES = 52_428_800
"""The most bytes of a sitemap that are read, after decompression: it may have no more."""

MAX_SITEMAP_ENTRIES = 50_000
"""The most entries that are read: a sitemap may have no more."""

MAX_TITLE = 1_000
"""The length of a title, in characters."""

CHANGE_FREQUENCIES = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})

_MAX_LINE_LENGTH = 16_384
_GZIP_MAGIC = b"\x1f\x8b"
_ROOT = re.compile(r"<(?:[\w.-]+:)?(urlset|sitemapindex|rss|feed|rdf)[\s>]", re.IGNORECASE)
_HTML = re.compile(r"<(?:html|head|body)[\s>]", re.IGNORECASE)
_SITEMAPS = frozenset({"urlset", "sitemapindex"})
_LIST_ROOTS = frozenset({b"urlset", b"sitemapindex", b"rss", b"feed"})
_FIRST_ELEMENT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)(?=[\s/>])")
_PROLOGUE = 4096
"""The most bytes before the root of a list."""
_LISTED_LINE = re.compile(r"https?://", re.IGNORECASE)
_RESOLVED = re.compile(r"[a-z][a-z0-9+.-]*:|/", re.IGNORECASE)
_LINE_END = re.compile(r"[\r\n]+")
_MAX_OTHER_LINES = 1_000
"""The most lines of a text that are looked at before the first one that is a URL."""
_TITLES = ("title", "caption")
_SITEMAP_VOCABULARY = Vocabulary(
    containers=_SITEMAPS,
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
        return islice(self._entries(), MAX_SITEMAP_ENTRIES)

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
            if root[1].lower() in _SITEMAPS:
                yield from self._of_xml(LooseXml(chain((first,), texts), _SITEMAP_VOCABULARY))
            else:
                yield from self._of_feed()

    def _of_feed(self) -> Iterator[SitemapEntry]:
        page = self._page
        if page.body.startswith(_GZIP_MAGIC):
            page = replace(page, body=b"".join(_bounded(_unpacked(page.body), MAX_BYTES)))
        feed = read_feed(page)
        if feed is not None:
            self.mistakes = feed.mistakes
            for entry in feed.entries:
                yield SitemapEntry(entry.url, entry.title, entry.summary, entry.published)

    def _of_xml(self, xml: LooseXml) -> Iterator[SitemapEntry]:
        self.mistakes = xml.mistakes
        for element in islice(xml, MAX_SITEMAP_ENTRIES):
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
    """Yield the text of an answer in pieces, decompressed if it is gzip, up to ``MAX_SITEMAP_BYTES``.

    Its encoding is that of its byte order mark, its header, its declaration, else that of its first piece. The first
    piece is long enough for the root.
    """
    pieces = _bounded(_unpacked(page.body))
    first = next(pieces, b"")
    while len(first) < _PIECE and (more := next(pieces, b"")):
        first += more
    fields = () if page.body.startswith(_GZIP_MAGIC) else map(markup.of_field, page.headers.all("content-type"))
    named = (*fields, markup.declared(first, "text/xml") or "utf-8")
    codec = markup.of_bom(first) or markup.believed(first, named) or markup.guessed(first)
    decode = getincrementaldecoder(codec)("replace").decode
    yield decode(first).removeprefix("\ufeff")
    yield from map(decode, pieces)


def _unpacked(body: bytes) -> Iterator[bytes]:
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


def _bounded(pieces: Iterable[bytes], most: int = MAX_SITEMAP_BYTES) -> Iterator[bytes]:
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
