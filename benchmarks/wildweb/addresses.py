"""Cases of URLs: as documents and header fields spell them, with session ids in them, and with ids of contents.

Session ids are those of software that writes them into each link, such as PHP's trans-sid, servlets, ColdFusion and
ASP.NET.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import md5, sha1, sha256
from itertools import count
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.exact_server import Reply, Request
from benchmarks.wildweb.case import (
    Case,
    document,
    front,
    html,
    links,
    picture,
    plain_page,
    plain_pages,
    prose,
    redirect,
    text_page,
    typed,
)

QUERIES: Final = "queries in the page's charset"
FIELDS: Final = "bytes of Location"
BASES: Final = "bases"
_IN_QUERIES: Final = frozenset(b" \"#<>'")
"""The bytes that are percent-encoded in a query (URL standard), besides all that is not printable ASCII."""


def in_query(text: str, codec: str) -> str:
    """Return a query as the URL standard encodes it for a document in a charset."""
    said = text.encode(codec)
    return "".join(chr(b) if 0x20 < b < 0x7F and b not in _IN_QUERIES else f"%{b:02X}" for b in said)


def _query(name: str, charset: str, href: str, wanted: str, codec: str = "", *, field: bool = False) -> Case:
    """Return a page with a raw link, in a charset that the header field or the page itself names."""
    head = "" if field else f'<meta http-equiv="Content-Type" content="text/html; charset={charset}">'
    body = f'<h1>Find it</h1><p>{prose(name)}</p><p><a href="{href}">all that was found</a></p>'
    content = document("Find it", body, head).encode(codec or charset)
    media_type = f"text/html; charset={charset}" if field else "text/html"
    site = {"/": typed(content, media_type), wanted: plain_page("What was found")}
    return Case(QUERIES, f"query-{name}", site, ("/", wanted))


def _encoded(name: str, charset: str, word: str, codec: str = "", *, field: bool = False) -> Case:
    return _query(name, charset, f"/find?q={word}", f"/find?q={in_query(word, codec or charset)}", codec, field=field)


def _location(name: str, location: str, *wanted: str, status: int = 302) -> Case:
    """Return a seed that redirects to raw bytes, given as Latin-1; any one of the targets is right."""
    site = {"/old/page": redirect(location, status), **{target: plain_page("The new place") for target in wanted}}
    return Case(FIELDS, f"location-{name}", site, one_of=(wanted,), seeds=("/old/page",))


def _utf8(text: str) -> str:
    """Return text in UTF-8 as Latin-1, in which header fields are given."""
    return text.encode().decode("latin-1")


def _based(name: str, head: str, href: str, wanted: str, *, body: str = "", path: str = "/a/b.html") -> Case:
    """Return a page with a ``base`` element and a link."""
    text = f'<h1>Old boats</h1><p>{prose(name)}</p><p><a href="{href}">the boats</a></p>{body}'
    site = {path: html(document("Old boats", text, head)), wanted: plain_page("The boats")}
    others = ("files",) if "files." in head else ()
    return Case(BASES, f"base-{name}", site, (path, wanted), seeds=(path,), others=others)


_HERE: Final = "http://base-absolute.example"
ADDRESS_CASES: Final = (
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
    replace(_encoded("greek", "iso-8859-7", "φάρος")),
    replace(_encoded("thai", "windows-874", "เรือ", "cp874")),
    replace(_query("reference", "shift_jis", "/find?q=&#233;", "/find?q=%26%23233%3B")),
    replace(_query("trail-byte", "shift_jis", "/find?q=ソ", "/find?q=%83\\")),
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
    _location("for-good", _utf8("/порт?я"), "/%D0%BF%D0%BE%D1%80%D1%82?%D1%8F", status=308),
    _location("quotes", '/new?q="a"', "/new?q=%22a%22"),
    _location("cut-utf8", "/caf\xc3", "/caf%C3", "/caf%C3%83", status=307),
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
    _based("svg", "", "boats.html", "/a/boats.html", body='<svg><base href="/old/"/></svg>'),
    _based("backslash", '<base href="\\files\\">', "boats.html", "/files/boats.html"),
)


CONTENTS: Final = "ids of contents"
_STORIES: Final = range(1, 13)


def _hash(number: int, length: int = 40) -> str:
    return (sha1(f"content {number}".encode()).hexdigest() + md5(b"more").hexdigest())[:length]  # noqa: S324 - no secret


def _site(name: str, write: Callable[[int], str]) -> Case:
    """Return a site whose front page links to all contents."""
    targets = [write(number) for number in _STORIES]
    pages = {"/": front("All of it", map(escape, targets)), **plain_pages(targets)}
    return Case(CONTENTS, name, pages, targets)


def _chain(name: str, write: Callable[[int], str]) -> Case:
    """Return a site on which each content links only to the next one."""
    targets = [write(number) for number in _STORIES]
    pages = {"/": front("Begin here", [escape(targets[0])])}
    for number, target in enumerate(targets):
        pages[target] = front(f"Part {number}", map(escape, targets[number + 1 : number + 2]))
    return Case(CONTENTS, name, pages, targets)


def _alike(name: str, write: Callable[[int], str]) -> Case:
    """Return a site whose contents are pictures below the same words."""
    targets = [write(number) for number in _STORIES]
    pages = {"/": front("All pictures", map(escape, targets))}
    for number, target in enumerate(targets):
        pages[target] = html(text_page("A picture", f'<img src="/pictures/{number}.gif" alt="picture {number}">'))
        pages[f"/pictures/{number}.gif"] = picture(f"{name} {number}")
    return Case(CONTENTS, name, pages, targets, may=r"/pictures/\d+\.gif")


def _seeded(name: str, seeds: Sequence[str]) -> Case:
    """Return a site whose contents are seeds."""
    return Case(CONTENTS, name, plain_pages(seeds), seeds, seeds=seeds)


CONTENT_CASES: Final = (
    _site("content-nuke", lambda n: f"/modules.php?name=News&file=article&sid={n}"),
    _site("content-nuke-old", lambda n: f"/article.php?sid={n + 200}&mode=thread&order=0"),
    _site("content-slash", lambda n: f"/article.pl?sid=01/03/{n:02}/14{n + 20}"),
    _chain("content-chain", lambda n: f"/story.php?sid={n * 7}"),
    _seeded("content-seeds", [f"/article.php?sid={n}" for n in (12, 13, 20)]),
    _site("content-date-sid", lambda n: f"/comments.pl?sid=200103{n:02}"),
    _site("content-fossil", lambda n: f"/info/{_hash(n)}"),
    _site("content-fossil-timeline", lambda n: f"/timeline?c={_hash(n)}"),
    _site("content-gitweb", lambda n: f"/?p=tool.git;a=commit;h={_hash(n)}"),
    _site("content-blob", lambda n: f"/blob/{_hash(n)}/readme"),
    _site("content-md5-query", lambda n: f"/file.php?id={_hash(n, 32)}"),
    _site("content-session-of-parliament", lambda n: f"/minutes.php?session={n}"),
    _site("content-conference", lambda n: f"/programme.php?session_id={n + 100}"),
    _site("content-token", lambda n: f"/dictionary.cgi?token=word{n}"),
    _site("content-s", lambda n: f"/index.php?s=chapter{n}"),
    _alike("content-pictures", lambda n: f"/photo/{_hash(n, 24)}"),
    _alike("content-pictures-query", lambda n: f"/show.cgi?file={_hash(n, 32)}"),
    _alike("content-numbered-pictures", lambda n: f"/show.php?sid={n * 3}"),
    _site("content-message", lambda n: f"/msgid.cgi?mid={_hash(n, 24)}"),
    _site("content-hex-sid", lambda n: f"/paste.php?sid={_hash(n, 32)}"),
    _site("content-uuid", lambda n: f"/doc?key={_hash(n, 8)}-{_hash(n + 1, 4)}-4000-8000-{_hash(n, 12)}"),
)


WORDS: Final = "junk words that are contents"
ALLOWED: Final = "what scope.allow allows"


def _junk_site(targets: Sequence[str], title: str = "Everything here") -> Mapping[str, Reply]:
    """Return a site whose front page links to all others."""
    return {"/": front(title, map(escape, targets)), **plain_pages(targets)}


def _numbered(name: str, target: str) -> Case:
    """Return a site of unknown software whose texts have numbers alone in their URLs."""
    targets = [target.format(number) for number in range(1, 9)]
    return Case(WORDS, f"junk-{name}", _junk_site(targets), targets)


def _words(name: str, *targets: str) -> Case:
    """Return a site of unknown software whose only texts are at these targets."""
    return Case(WORDS, f"junk-{name}", _junk_site(targets), targets)


_PATTERNS: Final = {
    "order": "*shop.php?order=*",
    "sid": "*article.php?sid=*",
    "rev": "/wiki/page?rev=",
    "print": "/print/",
    "history": "*/history.php*",
    "session": "*?session=*",
    "reply": "*/reply",
    "calendar": "/calendar?",
}
_ICD: Final = f"scope: {{allow: {json.dumps(['/front.html', *_PATTERNS.values()])}}}\n"


def _allowed(word: str, targets: Sequence[str], refused: str) -> Case:
    """Return a site whose front page and some targets alone are allowed by the definition."""
    site = {"/front.html": front("Begin", map(escape, [*targets, refused])), **plain_pages([*targets, refused])}
    return Case(ALLOWED, f"allow-{word}", site, targets, seeds=("/front.html",), icd=_ICD)


JUNK_CASES: Final = (
    _numbered("order", "/shop.php?order={}"),
    _numbered("order-beside", "/liste.php?id={}&order=12"),
    _numbered("rev", "/law.php?rev={}"),
    _numbered("diff", "/puzzle.cgi?diff={}"),
    _numbered("quote", "/quotes.php?quote={}"),
    _numbered("reply", "/letters.asp?reply={}"),
    _numbered("print", "/prints.php?print={}"),
    _numbered("report", "/report.php?id={}"),
    _numbered("history", "/history.php?id={}"),
    _numbered("search-path", "/search/{}.html"),
    _numbered("calendar", "/calendar.html?picture={}"),
    _words("sort", "/stamps.php?sort=airmail", "/stamps.php?sort=telegraph", "/stamps.php?sort=postage"),
    _words("view", "/museum.cgi?view=harbour", "/museum.cgi?view=tower", "/museum.cgi?view=light"),
    _words("pages", "/login-of-the-pilots.html", "/print/", "/share.htm", "/reply.htm", "/register.htm", "/vote.htm"),
    _words("lists", "/print.php?sid=4", "/comment.php?id=3", "/email.php?page=2", "/rss.html", "/feed.html"),
    _numbered("action", "/law.cgi?action=act{}"),
    _numbered("version", "/bible.php?version={}"),
    _words("compare", "/compare.html", "/export.html", "/poll.php?id=4", "/tags.htm"),
    _allowed("order", [f"/shop.php?order={n}" for n in range(1, 6)], "/other.html"),
    _allowed("sid", [f"/article.php?sid={n}" for n in range(1, 6)], "/article.html"),
    _allowed("rev", [f"/wiki/page?rev={n}" for n in range(1, 6)], "/wiki/page?x=1"),
    _allowed("print", [f"/print/{n}" for n in range(1, 6)], "/other/1"),
    _allowed("history", [f"/history.php?id={n}" for n in range(1, 6)], "/other.php?id=3"),
    _allowed("session", [f"/minutes.php?session={n}" for n in range(1, 6)], "/minutes.php"),
    _allowed("reply", [f"/letters/{n}/reply" for n in range(1, 6)], "/letters/3"),
    _allowed("calendar", [f"/calendar?day={n}" for n in range(1, 6)], "/day"),
)


SESSIONS: Final = "sessions in links"
PAGES: Final = 14
_HEX: Final = "0123456789abcdef"
_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Id:
    """A kind of session id: its length and letters, and how it is written into a path that may have a query."""

    length: int
    letters: str
    write: Callable[[str, str], str]
    found: str
    """A regular expression for what ``write`` adds."""

    def numbered(self, number: int) -> str:
        """Return the id of a visitor, by the visitor's number."""
        digest = sha256(f"visitor {number}".encode()).digest() + sha256(f"again {number}".encode()).digest()
        return "".join(self.letters[byte % len(self.letters)] for byte in digest)[: self.length]

    def without(self, target: str) -> str:
        """Return a target without an id."""
        plain = re.sub(self.found, "", target)
        return plain.replace("?&", "?").rstrip("?&") if "?" in plain else plain.replace("&", "?", 1)


def id_in_query(name: str, length: int, letters: str = _HEX, *, first: bool = False) -> Id:
    """Return a kind of id that is a parameter, the last or the first one of a query."""

    def write(path: str, value: str) -> str:
        head, _, query = path.partition("?")
        said = f"{name}={value}"
        pairs = [said, query] if first else [query, said]
        return f"{head}?{'&'.join(filter(None, pairs))}"

    return Id(length, letters, write, rf"(?:(?<=\?)|&){re.escape(name)}=\w*")


def id_in_path(prefix: str, length: int, letters: str = _HEX) -> Id:
    """Return a kind of id that ends the path, behind a semicolon."""

    def write(path: str, value: str) -> str:
        head, mark, query = path.partition("?")
        return f"{head};{prefix}{value}{mark}{query}"

    return Id(length, letters, write, rf";{re.escape(prefix)}[\w.!-]*")


def id_in_folder(before: str, length: int, letters: str, behind: str) -> Id:
    """Return a kind of id that is the first segment of the path."""

    def write(path: str, value: str) -> str:
        return f"/{before}{value}{behind}{path}"

    return Id(length, letters, write, rf"^/{re.escape(before)}\w{{{length}}}{re.escape(behind)}")


class Sessions:
    """A site on which each page links to all others with an id in the links.

    With ``always``, each response has a new id; otherwise each visitor has one, and is recognised by a cookie or by the
    id itself. A visitor with a cookie still gets the id in links, as with software that does not look for cookies.
    """

    def __init__(self, ident: Id, path: str, *, always: bool = False, forced: bool = False) -> None:
        self._ident, self._path, self._always, self._forced = ident, path, always, forced
        self._visitors: Iterator[int] = count(1)

    def __call__(self, request: Request) -> Reply:
        """Return the response to a request."""
        target = self._ident.without(request.target)
        known = re.search(self._ident.found, request.target)
        cookie = re.search(r"visitor=(\w+)", request.field("Cookie"))
        value = cookie[1] if cookie and not self._always else self._ident.numbered(next(self._visitors))
        if target not in self.targets():
            return html(text_page("No such page"), status=404)
        if self._forced and not known:
            return redirect(self._ident.write(target, value))
        if self._forced and known and not self._always:
            value = re.sub(r"^/?\(S\(|\)\)$", "", known[0]) if "S(" in known[0] else value
        return self._page(target, value)

    def _page(self, target: str, value: str) -> Reply:
        others = [escape(self._ident.write(each, value)) for each in self.targets()]
        fields = () if self._always else (("Set-Cookie", f"visitor={value}; Path=/"),)
        return html(text_page(f"The story {target}".replace("&", " "), links(others, "a story")), *fields)

    def targets(self) -> tuple[str, ...]:
        """Return the targets of all pages, without ids."""
        return ("/", *(self._path.format(number) for number in range(1, PAGES)))


def _session(name: str, ident: Id, path: str, **options: bool) -> Case:
    site = Sessions(ident, path, **options)
    most = 10_000 if options.get("forced") else 10
    return Case(SESSIONS, name, site, site.targets(), same_page=ident.without, with_ids=most)


def _sitemap_of_sessions() -> Case:
    """Return a site on which only the front page has ids, as PHP by default adds them for visitors without a cookie."""
    ident = id_in_query("PHPSESSID", 26, "0123456789abcdefghijklmnopqrstuv")
    targets = [f"/show.php?id={number}" for number in range(1, 12)]

    def respond(request: Request) -> Reply:
        target = ident.without(request.target)
        if target in targets:
            return plain_page(f"Entry {target.rpartition('=')[2]}")
        if target != "/":
            return html(text_page("No such page"), status=404)
        if "PHPSESSID" in request.field("Cookie"):
            return front("Front", targets)
        value = ident.numbered(1)
        page = front("Front", [escape(ident.write(each, value)) for each in targets])
        return html(page.body, ("Set-Cookie", f"PHPSESSID={value}; path=/"))

    return Case(SESSIONS, "session-first-visit", respond, ("/", *targets), same_page=ident.without)


SESSION_CASES: Final = (
    _session("session-php", id_in_query("PHPSESSID", 32), "/read.php?id={}"),
    _session("session-php-first", id_in_query("PHPSESSID", 26, _LETTERS[:36], first=True), "/index.php?page=story{}"),
    _session("session-php-always", id_in_query("PHPSESSID", 32), "/read.php?id={}", always=True),
    _session("session-sid", id_in_query("sid", 32), "/board.php?t={}"),
    _session("session-s", id_in_query("s", 32), "/showthread.php?threadid={}", always=True),
    _session("session-sessionid", id_in_query("sessionid", 24, _LETTERS), "/cgi-bin/show.pl?story={}"),
    _session("session-session-id", id_in_query("session_id", 40), "/artikel.html?nr={}", always=True),
    _session("session-jsession-query", id_in_query("jsessionid", 32, _HEX.upper()), "/view.do?item={}"),
    _session("session-jsession-path", id_in_path("jsessionid=", 32, _HEX.upper()), "/view.jsp?item={}"),
    _session(
        "session-jsession-folders", id_in_path("jsessionid=", 32, _HEX.upper()), "/guide/chapter{}.html", always=True
    ),
    _session("session-semicolon", id_in_path("sid=", 28, _LETTERS), "/stories/{}"),
    _session("session-aspnet", id_in_folder("(S(", 24, _LETTERS[:36], "))"), "/story.aspx?id={}", forced=True),
    _session("session-own-word", id_in_query("ref_key", 20, _LETTERS), "/text.php?n={}", always=True),
    _session("session-oscommerce", id_in_query("osCsid", 32), "/product_info.php?products_id={}"),
    _session("session-digits", id_in_query("sess", 12, "0123456789"), "/page.cfm?doc={}", always=True),
    _sitemap_of_sessions(),
    _session("session-cfid", id_in_query("CFTOKEN", 8, "0123456789"), "/article.cfm?id={}"),
    _session("session-token", id_in_query("token", 32), "/lesen.php?artikel={}", always=True),
    _session("session-unseen-path", id_in_path("sessid=", 30, _LETTERS), "/a/{}.htm", always=True),
    _session("session-unseen-folder", id_in_folder("s", 30, _LETTERS[:36], ""), "/story/{}.html", always=True),
)
