"""Read the entries of feeds: RSS 0.9 to 2.0, Atom and JSON Feed."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from aahcrawler.page import Page, dates, markup
from aahcrawler.page.loose_xml import Element, LooseXml, Mistakes, Vocabulary, exact_url
from aahcrawler.page.sniffing import is_xml
from aahcrawler.page.text import excerpt, fold
from aahcrawler.urls import resolve

MAX_ENTRIES = 1_000
"""The most entries of a feed that are read."""

MAX_BYTES = 5_000_000
"""The most bytes of a feed that are read."""

MAX_SUMMARY = 1_000
"""The length of a title and of a summary, in characters."""

MAX_ANNOUNCED = 3
"""The most announced feeds of a page that are returned."""

_FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
_PIECE = 65_536
_COMMENTS = re.compile(r"/comments?(?:[/.]|$)|[?&](?:feed|type|mode)=\w*comments", re.IGNORECASE)
_OF_COMMENT = re.compile(r"#[\w.:-]*comment|#c\d+$", re.IGNORECASE)
_DATES = ("pubdate", "published", "date", "issued", "updated", "modified")
_SUMMARIES = ("description", "summary", "encoded", "content")
_TEXTS = frozenset({*_DATES, *_SUMMARIES, "title", "link", "origlink", "guid", "id", "author", "creator", "category"})
_VOCABULARY = Vocabulary(
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
    feeds = (link for link in links if (link.get("type") or "").partition(";")[0].strip().lower() in _FEED_TYPES)
    urls = (resolve(page.base_url, link.get("href") or "") for link in feeds)
    return tuple(islice(dict.fromkeys(url for url in urls if url and not _COMMENTS.search(url)), MAX_ANNOUNCED))


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
        xml = LooseXml(pieces, _VOCABULARY, allows_subset=True)
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
