"""URLs as documents and header fields spell them: queries in the page's charset, bytes of fields, bases."""

from dataclasses import replace
from typing import Final

from benchmarks.wildweb.case import Case
from benchmarks.wildweb.pages import document, html, plain_page, prose, redirect, typed

QUERIES: Final = "queries in the page's charset"
FIELDS: Final = "bytes of Location"
BASES: Final = "bases"
_IN_QUERIES: Final = frozenset(b" \"#<>'")
"""Besides all that is not printable ASCII, the bytes that are percent-encoded in a query (URL standard)."""


def in_query(text: str, codec: str) -> str:
    """Return a query as the URL standard writes it for a document in a charset."""
    said = text.encode(codec)
    return "".join(chr(b) if 0x20 < b < 0x7F and b not in _IN_QUERIES else f"%{b:02X}" for b in said)


def _query(name: str, charset: str, href: str, wanted: str, codec: str = "", *, field: bool = False) -> Case:
    """Return a page in a charset, which the header field names or the page itself, with a raw link."""
    head = "" if field else f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">'
    body = f'<h1>Find it</h1><p>{prose(name)}</p><p><a href="{href}">all that was found</a></p>'
    content = document("Find it", body, head).encode(codec or charset)
    media_type = f"text/html; charset={charset}" if field else "text/html"
    site = {"/": typed(content, media_type), wanted: plain_page("What was found")}
    return Case(QUERIES, f"query-{name}", site, ("/", wanted))


def _encoded(name: str, charset: str, word: str, codec: str = "", *, field: bool = False) -> Case:
    return _query(name, charset, f"/find?q={word}", f"/find?q={in_query(word, codec or charset)}", codec, field=field)


def _location(name: str, location: str, *wanted: str, status: int = 302, aside: bool = False) -> Case:
    """Return a seed that redirects to bytes, given as Latin-1; any one of the targets is right."""
    site = {"/old/page": redirect(location, status), **{target: plain_page("The new place") for target in wanted}}
    return Case(FIELDS, f"location-{name}", site, one_of=(wanted,), seeds=("/old/page",), aside=aside)


def _utf8(text: str) -> str:
    """Return UTF-8 as the Latin-1 that header fields are written by."""
    return text.encode().decode("latin-1")


def _based(
    name: str, head: str, href: str, wanted: str, *, body: str = "", path: str = "/a/b.html", aside: bool = False
) -> Case:
    """Return a page with a base and a link."""
    text = f'<h1>Old boats</h1><p>{prose(name)}</p><p><a href="{href}">the boats</a></p>{body}'
    site = {path: html(document("Old boats", text, head)), wanted: plain_page("The boats")}
    others = ("files",) if "files." in head else ()
    return Case(BASES, f"base-{name}", site, (path, wanted), seeds=(path,), others=others, aside=aside)


_HERE: Final = "http://base-absolute.example"
CASES: Final = (
    _encoded("cyrillic", "windows-1251", "маяк"),
    _encoded("koi8", "koi8-r", "лодка", field=True),
    _encoded("japanese", "shift_jis", "灯台"),
    _encoded("japanese-euc", "euc-jp", "港の船", field=True),
    _encoded("korean", "euc-kr", "등대"),
    _encoded("chinese", "gbk", "灯塔"),
    _encoded("chinese-big5", "big5", "燈塔", field=True),
    _encoded("turkish", "iso-8859-9", "ışık", "cp1254"),
    _encoded("polish", "iso-8859-2", "łódź"),
    _encoded("arabic", "windows-1256", "ميناء", field=True),
    _encoded("euro", "iso-8859-1", "5€", "cp1252"),
    _encoded("utf8", "utf-8", "маяк"),
    _encoded("space", "windows-1251", "старый маяк"),
    _query("unencodable", "windows-1251", "/find?q=&#28783;", "/find?q=%26%2328783%3B"),
    _query("path", "windows-1251", "/порт/?q=я", "/%D0%BF%D0%BE%D1%80%D1%82/?q=%FF"),
    _query("escaped", "windows-1251", "/find?q=%D1%8F&amp;r=я", "/find?q=%D1%8F&r=%FF"),
    _query("utf16", "utf-16le", "/find?q=я", "/find?q=%D1%8F", "utf-16", field=True),
    replace(_encoded("greek", "iso-8859-7", "φάρος"), aside=True),
    replace(_encoded("thai", "windows-874", "เรือ", "cp874"), aside=True),
    replace(_query("reference", "shift_jis", "/find?q=&#233;", "/find?q=%26%23233%3B"), aside=True),
    replace(_query("trail-byte", "shift_jis", "/find?q=ソ", "/find?q=%83\\"), aside=True),
    _location("utf8", _utf8("/café"), "/caf%C3%A9"),
    _location("utf8-query", _utf8("/find?q=маяк"), "/find?q=" + in_query("маяк", "utf-8")),
    _location("utf8-beside-escapes", _utf8("/%D0%BC/я"), "/%D0%BC/%D1%8F"),
    _location("latin1", "/caf\xe9", "/caf%E9", "/caf%C3%A9"),
    _location("blank", "/new place", "/new%20place"),
    _location("blanks-around", " \t/new ", "/new"),
    _location("relative", "page2", "/old/page2"),
    _location("query-alone", "?page=2", "/old/page?page=2"),
    _location("up", "../../../new", "/new"),
    _location("backslashes", "\\new\\place", "/new/place"),
    _location("capitals", "HTTP://LOCATION-CAPITALS.example/New", "/New"),
    _location("no-scheme", "//location-no-scheme.example/new", "/new"),
    _location("fragment", "/new#part", "/new"),
    _location("no-slashes", "http:/new", "/new", "/old/new"),
    _location("entity", "/new?a=1&amp;b=2", "/new?a=1&amp;b=2"),
    _location("semicolon", "/new;", "/new;"),
    _location("moved", _utf8("/straße"), "/stra%C3%9Fe", status=301),
    _location("other", _utf8("/日本"), "/%E6%97%A5%E6%9C%AC", status=303),
    _location("for-good", _utf8("/порт?я"), "/%D0%BF%D0%BE%D1%80%D1%82?%D1%8F", status=308, aside=True),
    _location("quotes", '/new?q="a"', "/new?q=%22a%22", aside=True),
    _location("cut-utf8", "/caf\xc3", "/caf%C3", "/caf%C3%83", status=307, aside=True),
    _based("folder", '<base href="/files/">', "boats.html", "/files/boats.html"),
    _based("file", '<base href="/files/index.html?x=1#y">', "boats.html", "/files/boats.html"),
    _based("relative", '<base href="../files/">', "boats.html", "/files/boats.html"),
    _based("absolute", f'<base href="{_HERE}/files/">', "boats.html", "/files/boats.html"),
    _based("two", '<base href="/first/"><base href="/second/">', "boats.html", "/first/boats.html"),
    _based("target-first", '<base target="_top"><base href="/files/">', "boats.html", "/files/boats.html"),
    _based("late", "", "boats.html", "/files/boats.html", body='<base href="/files/">'),
    _based("data", '<base href="data:text/plain,x">', "boats.html", "/a/boats.html"),
    _based("script", '<base href="javascript:void(0)">', "boats.html", "/a/boats.html"),
    _based("broken", '<base href="http://[files/">', "boats.html", "/a/boats.html"),
    _based("empty", '<base href="">', "boats.html", "/a/boats.html"),
    _based("blanks", '<base href=" \n/files/ ">', "boats.html", "/files/boats.html"),
    _based("query", '<base href="/files/list.php">', "?page=2", "/files/list.php?page=2"),
    _based("comment", '<!-- <base href="/old/"> -->', "boats.html", "/a/boats.html"),
    _based("template", '<template><base href="/old/"></template>', "boats.html", "/a/boats.html"),
    _based(
        "other-host",
        '<base href="http://files.base-other-host.example/d/">',
        "x",
        "http://files.base-other-host.example/d/x",
    ),
    _based("root", '<base href="/files/">', "/boats.html", "/boats.html"),
    _based("svg", "", "boats.html", "/a/boats.html", body='<svg><base href="/old/"/></svg>', aside=True),
    _based("backslash", '<base href="\\files\\">', "boats.html", "/files/boats.html", aside=True),
)
