"""Read the entries of feeds: RSS 0.9 to 2.0, Atom and JSON Feed."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from lxml import etree

from aahcrawler.page import Page, dates, markup
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
_XML_TYPES = frozenset({"text/xml", "application/xml"})
_COMMENTS = re.compile(r"/comments?(?:[/.]|$)|[?&](?:feed|type|mode)=\w*comments", re.IGNORECASE)
_OF_COMMENT = re.compile(r"#[\w.:-]*comment|#c\d+$", re.IGNORECASE)
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_DATES = ("pubDate", "published", "date", "issued", "updated", "modified")
_SUMMARIES = ("description", "summary", "encoded", "content")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: the absolute URL of its page, its title and the beginning of its text in the feed.

    ``published`` is the time of publication, else of the last change, aware and in UTC; None if neither is given.
    """

    url: str
    title: str
    summary: str
    published: datetime | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed and its entries in their order, each URL once."""

    title: str
    entries: tuple[Entry, ...]


def announced(page: Page) -> tuple[str, ...]:
    """Return the URLs of the first feeds that an HTML page names as its own, those of comments left out.

    https://html.spec.whatwg.org/multipage/links.html#rel-alternate
    """
    links = (link for link in page.tree.iter("link") if "alternate" in (link.get("rel") or "").lower().split())
    feeds = (link for link in links if (link.get("type") or "").partition(";")[0].strip().lower() in _FEED_TYPES)
    urls = (resolve(page.base_url, link.get("href") or "") for link in feeds)
    return tuple(islice(dict.fromkeys(url for url in urls if url and not _COMMENTS.search(url)), MAX_ANNOUNCED))


def read(page: Page) -> Feed | None:
    """Return the feed in an answer, None if the answer is no feed or a feed of comments.

    XML is read without entities, document types and network; malformed XML is read up to its error.
    """
    if _COMMENTS.search(page.url):
        return None
    found: tuple[str, Iterable[_Raw]] | None = None
    if page.is_json:
        found = _json_feed(page)
    elif page.media_type in _XML_TYPES or page.media_type.endswith(("rss+xml", "atom+xml", "rdf+xml")):
        found = _xml_feed(page)
    if found is None:
        return None
    title, raw = found
    entries = list(raw)
    if entries and sum(_OF_COMMENT.search(each.link) is not None for each in entries) > len(entries) / 2:
        return None
    by_url: dict[str, Entry] = {}
    for each in entries:
        url = resolve(each.base, each.link)
        if url is not None:
            published = dates.parse(each.date, now=page.fetched_at)
            by_url.setdefault(url, Entry(url, _plain(each.title), _plain(each.summary), published))
    return Feed(_plain(title), tuple(by_url.values()))


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


def _xml_feed(page: Page) -> tuple[str, Iterable[_Raw]] | None:
    root = _parsed(page.text.lstrip().encode("utf-8", "replace")[:MAX_BYTES])
    if root is None or _name(root) not in ("rss", "feed", "RDF"):
        return None
    channel = root if _name(root) == "feed" else next((each for each in root if _name(each) == "channel"), root)
    title = next((_content(each) for each in channel if _name(each) == "title"), "")
    return title, _xml_entries(root, resolve(page.url, root.get(_XML_BASE) or "") or page.url)


def _parsed(utf_8: bytes) -> etree._Element | None:
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, load_dtd=False, no_network=True, recover=True, huge_tree=False
    )
    try:
        return etree.fromstring(utf_8, parser=parser)
    except etree.XMLSyntaxError:
        return None


def _xml_entries(root: etree._Element, base: str) -> Iterator[_Raw]:
    for element in islice(root.iter("{*}item", "{*}entry"), MAX_ENTRIES):
        own = resolve(base, element.get(_XML_BASE) or "") or base
        link = _link(element)
        if link:
            parts = {name: each for each in reversed(element) if (name := _name(each))}
            summary, date = _first(parts, _SUMMARIES), _first(parts, _DATES)
            yield _Raw(link, own, _content(parts["title"]) if "title" in parts else "", summary, date)


def _first(parts: Mapping[str, etree._Element], names: Iterable[str]) -> str:
    return next((text for name in names if name in parts and (text := _content(parts[name]))), "")


def _link(entry: etree._Element) -> str:
    """Return the URL of an entry's page: the one before a counter was put into it, its link, or its identifier."""
    ranked: dict[int, str] = {}
    for child in entry:
        match _name(child):
            case "origLink":
                ranked.setdefault(0, _content(child))
            case "link" if child.get("href") is None:
                ranked.setdefault(1, _content(child))
            case "link" if child.get("rel", "alternate") == "alternate":
                ranked.setdefault(1 if "html" in child.get("type", "html") else 2, child.get("href", "").strip())
            case "guid" if child.get("isPermaLink", "true") == "true" and _content(child).startswith("http"):
                ranked.setdefault(3, _content(child))
    return next((link for _, link in sorted(ranked.items()) if link), "")


def _name(element: etree._Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _content(element: etree._Element) -> str:
    """Return the beginning of an element's text; XHTML within it is text as well."""
    found: list[str] = []
    length = 0
    for text in element.itertext(tag=etree.Element):
        found.append(text)
        length += len(text)
        if length > 8 * MAX_SUMMARY:
            break
    return "".join(found)[: 8 * MAX_SUMMARY].strip()


def _plain(text: str) -> str:
    """Return text that may be markup in one line."""
    cut = text[: 8 * MAX_SUMMARY]
    if "<" in cut or "&" in cut:
        return excerpt(markup.parse(f"<div>{cut}</div>".encode("utf-8", "replace")), MAX_SUMMARY)
    return fold(cut)[:MAX_SUMMARY]
