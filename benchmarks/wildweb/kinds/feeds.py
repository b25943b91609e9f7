"""Feeds with mistakes, and feeds that come under other media types."""

import json
from typing import Final

from benchmarks.wildweb.case import Case, WantedPage, host_of
from benchmarks.wildweb.pages import front, html, plain_pages, text_page, typed

MISTAKES: Final = "feeds with mistakes"
TYPES: Final = "feeds by type"
_XML: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_RSS: Final = "application/rss+xml"
_ATOM: Final = "application/atom+xml"


def _served(
    kind: str,
    name: str,
    content: str | bytes,
    *wanted: str,
    media_type: str | None = _RSS,
    may: str = "",
    target: str = "/news.xml",
    aside: bool = False,
) -> Case:
    """Return a site whose front page links to a feed; ``HOST`` in it stands for its host."""
    host = host_of(name)
    body = (
        content.replace("HOST", host).encode() if isinstance(content, str) else content.replace(b"HOST", host.encode())
    )
    site = {"/": front("News of the boats", [target]), target: typed(body, media_type), **plain_pages(wanted)}
    return Case(kind, name, site, ("/", target, *wanted), may=may, aside=aside)


def _rss(items: str) -> str:
    return (
        f'{_XML}<rss version="2.0"><channel><title>Boats</title><link>http://HOST/</link>'
        f"<description>All boats</description>{items}</channel></rss>"
    )


def _item(link: str, more: str = "", title: str = "A boat") -> str:
    return f"<item><title>{title}</title><link>{link}</link>{more}</item>\n"


def _atom(entries: str, attributes: str = "") -> str:
    return (
        f'{_XML}<feed xmlns="http://www.w3.org/2005/Atom"{attributes}><title>Boats</title><id>urn:boats</id>'
        f"<updated>2021-03-20T10:00:00Z</updated>{entries}</feed>"
    )


def _entry(link: str, more: str = "") -> str:
    return (
        f"<entry><title>A boat</title><id>urn:boat</id><updated>2021-03-20T10:00:00Z</updated>"
        f'<link href="{link}"/>{more}</entry>\n'
    )


def _broken(name: str, middle: str, *wanted: str, may: str = "", aside: bool = False) -> Case:
    """Return an RSS feed with what stands in the middle between whole items."""
    content = _rss(_item("http://HOST/first") + middle + _item("http://HOST/last"))
    return _served(MISTAKES, f"feed-{name}", content, "/first", *wanted, "/last", may=may, aside=aside)


def _broken_atom(name: str, middle: str, *wanted: str, may: str = "", aside: bool = False) -> Case:
    """Return an Atom feed with what stands in the middle between whole entries."""
    content = _atom(_entry("http://HOST/first") + middle + _entry("http://HOST/last"))
    return _served(
        MISTAKES, f"feed-{name}", content, "/first", *wanted, "/last", may=may, media_type=_ATOM, aside=aside
    )


_TWO: Final = _rss(_item("http://HOST/one") + _item("http://HOST/two"))
_TWO_ATOM: Final = _atom(_entry("http://HOST/one") + _entry("/two"))
_RDF: Final = (
    f'{_XML}<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
    '<channel rdf:about="http://HOST/"><title>Boats</title><link>http://HOST/</link></channel>'
    + "".join(
        f'<item rdf:about="http://HOST/{each}"><title>{each}</title><link>http://HOST/{each}</link></item>'
        for each in ("one", "two")
    )
    + "</rdf:RDF>"
)
_JSON: Final = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "Boats",
        "items": [{"id": each, "url": f"http://HOST/{each}", "content_text": each} for each in ("one", "two")],
    }
)


def _typed(name: str, content: str, media_type: str | None, *, aside: bool = False) -> Case:
    """Return a feed of two entries under a media type, None where the server names none."""
    return _served(TYPES, f"feed-as-{name}", content, "/one", "/two", media_type=media_type, target="/new", aside=aside)


def _page_about_feeds() -> Case:
    """Return a page that shows a feed as an example: it is a page, and its example no feed."""
    example = "&lt;rss&gt;&lt;item&gt;&lt;link&gt;http://feed-shown.example/not&lt;/link&gt;&lt;/item&gt;&lt;/rss&gt;"
    page = html(text_page("How feeds are made", f"<pre>{example}</pre><p><rss></rss><a href='/linked'>more</a></p>"))
    pages = (WantedPage("/about", "How feeds are made"),)
    site = {"/": front("About feeds", ["/about"]), "/about": page, **plain_pages(["/linked"])}
    return Case(TYPES, "feed-shown", site, ("/", "/about", "/linked"), pages=pages)


CASES: Final = (
    _broken("ampersand", _item("http://HOST/commit?id=7&h=main"), "/commit?id=7&h=main"),
    _broken("like-an-entity", _item("http://HOST/b?a=1&copy=2&lt=3"), "/b?a=1&copy=2&lt=3"),
    _broken("entity", _item("http://HOST/caf&eacute;"), "/caf%C3%A9"),
    _broken("title-ampersand", _item("http://HOST/b", title="Boats & ships"), "/b"),
    _broken("title-entity", _item("http://HOST/b", title="Caf&eacute;&nbsp;Boat &hellip;"), "/b"),
    _broken("raw-html", _item("http://HOST/b", "<description>One<br>two<hr>three</description>"), may="/b"),
    _broken("raw-less", _item("http://HOST/b", "<description>3 < 4 boats</description>"), may="/b"),
    _broken(
        "unquoted", _item("http://HOST/b", "<enclosure url=http://HOST/a.mp3 length=4 type=audio/mpeg />"), may="/b"
    ),
    _broken("wrong-end", "<item><title>A boat</titel><link>http://HOST/b</link></item>", may="/b"),
    _broken("control", _item("http://HOST/b", title="A\x0bboat\x1b"), may="/b"),
    _broken("prefix", _item("http://HOST/b", "<dc:creator>Ada</dc:creator>"), may="/b"),
    _broken("cdata", _item("<![CDATA[ http://HOST/b?x=1&y=2 ]]>"), "/b?x=1&y=2"),
    _broken("relative", _item("/b?x=1&amp;y=2"), "/b?x=1&y=2"),
    _broken("two-slashes", _item("//HOST/b"), "/b"),
    _broken_atom("atom-ampersand", _entry("http://HOST/b?x=1&y=2"), "/b?x=1&y=2"),
    _broken_atom("atom-entity", _entry("http://HOST/b", "<summary>Caf&eacute;</summary>"), "/b"),
    _broken_atom(
        "atom-unquoted", "<entry><title>x</title><link href=http://HOST/b rel=alternate></link></entry>", may="/b"
    ),
    _broken_atom("atom-letters", _entry("http://HOST/порт?я"), "/%D0%BF%D0%BE%D1%80%D1%82?%D1%8F"),
    _served(MISTAKES, "feed-cut", _rss(_item("http://HOST/one") + _item("http://HOST/two"))[:-20], "/one", "/two"),
    _served(MISTAKES, "feed-lines-before", "\r\n \n" + _TWO, "/one", "/two"),
    _served(MISTAKES, "feed-byte-order-mark", "\ufeff" + _TWO, "/one", "/two"),
    _served(MISTAKES, "feed-wrong-charset", _TWO.replace("A boat", "Bärbel").encode("latin-1"), "/one", "/two"),
    _broken("title-less", _item("http://HOST/b", title="a <b boats"), may="/b", aside=True),
    _broken("comment", _item("http://HOST/b", "<!-- one -- two -->"), "/b", aside=True),
    _broken_atom("atom-attribute", _entry("http://HOST/b", '<category term="A & B"/>'), "/b", aside=True),
    _broken("blank-link", _item("http://HOST/old boats"), "/old%20boats", aside=True),
    _typed("html", _TWO, "text/html; charset=utf-8"),
    _typed("plain", _TWO, "text/plain"),
    _typed("plain-charset", _TWO, "text/plain; charset=utf-8"),
    _typed("octets", _TWO, "application/octet-stream"),
    _typed("json", _TWO, "application/json"),
    _typed("nothing", _TWO, None),
    _typed("xml", _TWO, "text/xml"),
    _typed("application-xml", _TWO, "application/xml"),
    _typed("old-name", _TWO, "application/x-rss+xml"),
    _typed("unknown", _TWO, "unknown/unknown"),
    _typed("atom-html", _TWO_ATOM, "text/html"),
    _typed("atom-plain", _TWO_ATOM, "text/plain"),
    _typed("atom-octets", _TWO_ATOM, "application/octet-stream"),
    _typed("rdf-html", _RDF, "text/html"),
    _typed("rdf-plain", _RDF, "text/plain"),
    _typed("html-comment", _TWO.replace("<rss", "<!-- made by hand -->\n<rss"), "text/html"),
    _typed("json-feed", _JSON, "application/json"),
    _typed("json-feed-plain", _JSON, "text/plain"),
    _page_about_feeds(),
    _typed("style-sheet-html", _TWO.replace("<rss", '<?xml-stylesheet href="/s.xsl"?><rss'), "text/html", aside=True),
    _typed("rdf-octets", _RDF, "application/octet-stream", aside=True),
    _typed("atom-json", _TWO_ATOM, "application/json", aside=True),
    _typed("json-feed-octets", _JSON, "application/octet-stream", aside=True),
)
