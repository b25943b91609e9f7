"""Sitemaps with mistakes: each costs its own entry at most, and no URL is asked for that nobody wrote."""

import gzip
from typing import Final

from benchmarks.wildweb.case import Case, host_of
from benchmarks.wildweb.pages import plain_page, plain_pages, typed

KIND: Final = "sitemaps with mistakes"
_ICD: Final = "sources: {sitemaps: robots}\n"
_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
_END: Final = "</urlset>\n"


def _served(
    name: str,
    content: str | bytes,
    *wanted: str,
    may: str = "",
    media_type: str | None = "text/xml",
    aside: bool = False,
) -> Case:
    """Return a site whose robots.txt names a sitemap; ``HOST`` in it stands for its host."""
    host = host_of(f"sitemap-{name}")
    body = (
        content.replace("HOST", host).encode() if isinstance(content, str) else content.replace(b"HOST", host.encode())
    )
    if name.startswith("gzip"):
        body = gzip.compress(body, mtime=0)
    robots = typed(f"User-agent: *\nDisallow:\nSitemap: http://{host}/map.xml\n", "text/plain")
    site = {
        "/": plain_page("A page without links"),
        "/robots.txt": robots,
        "/map.xml": typed(body, media_type),
        **plain_pages(wanted),
    }
    more = f"/map\\.xml|{may}" if may else r"/map\.xml"
    return Case(KIND, f"sitemap-{name}", site, ("/", *wanted), may=more, icd=_ICD, aside=aside)


def _entries(
    name: str, middle: str, *wanted: str, may: str = "", head: str = _HEAD, end: str = _END, aside: bool = False
) -> Case:
    """Return a sitemap of an entry, what stands in the middle, and two more entries."""
    first, *last = (f"<url><loc>http://HOST/{each}</loc></url>\n" for each in ("first", "next", "last"))
    return _served(
        name, f"{head}{first}{middle}\n{''.join(last)}{end}", "/first", *wanted, "/next", "/last", may=may, aside=aside
    )


def _location(name: str, loc: str, *wanted: str, may: str = "", aside: bool = False) -> Case:
    """Return a sitemap of whose entries one has this text in ``loc``."""
    return _entries(name, f"<url><loc>{loc}</loc></url>", *wanted, may=may, aside=aside)


CASES: Final = (
    _location("ampersand", "http://HOST/b?x=1&y=2", "/b?x=1&y=2"),
    _location("ampersands", "http://HOST/b?x=1&y=2&z=3&a", "/b?x=1&y=2&z=3&a"),
    _location("like-an-entity", "http://HOST/b?x=1&copy=2&lang=en&reg=3", "/b?x=1&copy=2&lang=en&reg=3"),
    _location("entity", "http://HOST/caf&eacute;s/x", "/caf%C3%A9s/x"),
    _location("unknown-entity", "http://HOST/b?a=1&boat;=2", "/b?a=1&boat;=2"),
    _location("bare-end", "http://HOST/b?a&", "/b?a&"),
    _location("number", "http://HOST/caf&#233;", "/caf%C3%A9"),
    _location("escaped-twice", "http://HOST/b?a=1&amp;amp;b=2", "/b?a=1&amp;b=2"),
    _location("path", "/relative", "/relative"),
    _location("two-slashes", "//HOST/slashes", "/slashes"),
    _location("lines", "\n   http://HOST/lines\n  ", "/lines"),
    _location("cdata", "<![CDATA[http://HOST/b?x=1&y=2]]>", "/b?x=1&y=2"),
    _location("comment", "<!-- old -->http://HOST/commented", "/commented"),
    _location("letters", "http://HOST/порт", "/%D0%BF%D0%BE%D1%80%D1%82"),
    _location("blank", "http://HOST/old boats", "/old%20boats"),
    _location("less", "http://HOST/b?x<5", may=r"/b\?x(<|%3C)5"),
    _location("empty", ""),
    _location("control", "http://HOST/con\x0btrol", may=r"/con(%0B)?trol"),
    _entries("wrong-end", "<url><loc>http://HOST/wrong</lock></url>", may="/wrong"),
    _entries("no-end", "<url><loc>http://HOST/wrong</url>", may="/wrong"),
    _entries("unquoted", "<url id=7><loc>http://HOST/unquoted</loc></url>", may="/unquoted"),
    _entries(
        "unquoted-root", "", head='<?xml version="1.0"?><urlset xmlns=http://www.sitemaps.org/schemas/sitemap/0.9>'
    ),
    _entries("no-namespace", "", head='<?xml version="1.0"?><urlset>'),
    _entries("other-namespace", "", head='<urlset xmlns="http://www.google.com/schemas/sitemap/0.84">'),
    _entries("no-declaration", "", head='<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'),
    _entries("lines-before", "", head=f"\n\n  {_HEAD}"),
    _entries("byte-order-mark", "", head=f"\ufeff{_HEAD}"),
    _entries("comment-before", "", head=_HEAD.replace("<urlset", "<!-- made by hand --><urlset")),
    _entries(
        "style-sheet", "", head=_HEAD.replace("<urlset", '<?xml-stylesheet type="text/xsl" href="/m.xsl"?><urlset')
    ),
    _entries(
        "undeclared-prefix", "<url><loc>http://HOST/p</loc><image:loc>http://HOST/i.gif</image:loc></url>", may="/p"
    ),
    _entries("cut", "", end=""),
    _entries("gzip-ampersand", "<url><loc>http://HOST/b?x=1&y=2</loc></url>", "/b?x=1&y=2"),
    _entries("bad-day", "<url><loc>http://HOST/b</loc><lastmod>last <week</lastmod></url>", may="/b"),
    _served(
        "text-comment", "http://HOST/one\n# two follows\nhttp://HOST/two\n", "/one", "/two", media_type="text/plain"
    ),
    _served(
        "text-lines",
        "\ufeffhttp://HOST/one  \r\n\r\n\thttp://HOST/b?x=1&y=2\r\n",
        "/one",
        "/b?x=1&y=2",
        media_type="text/plain",
    ),
    _served(
        "latin1",
        _HEAD.replace("UTF-8", "ISO-8859-1").encode()
        + "<url><loc>http://HOST/café</loc></url></urlset>".encode("latin-1"),
        "/caf%C3%A9",
    ),
    _served("as-html", f"{_HEAD}<url><loc>http://HOST/one</loc></url>{_END}", "/one", media_type="text/html"),
    _location("dashes", "http://HOST/b?a=1&mdash;b", "/b?a=1%E2%80%94b", aside=True),
    _location("in-words", "http://HOST/A&B/q", "/A&B/q", aside=True),
    _entries("attribute-ampersand", '<url note="A & B"><loc>http://HOST/noted</loc></url>', may="/noted", aside=True),
    _entries(
        "missing-ends",
        "<url><loc>http://HOST/one</loc><url><loc>http://HOST/two</loc></url>",
        may="/one|/two",
        aside=True,
    ),
    _served(
        "text-blank",
        "http://HOST/one\n  \n; a remark\nhttp://HOST/two",
        "/one",
        "/two",
        media_type="text/plain",
        aside=True,
    ),
)
