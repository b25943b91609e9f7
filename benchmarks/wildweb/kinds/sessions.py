"""Software that writes the id of a session into each link: PHP's trans-sid, servlets, ColdFusion, ASP.NET, boards."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.exact_server import Reply, Request
from benchmarks.wildweb.case import Case
from benchmarks.wildweb.pages import front, html, links, plain_page, redirect, text_page

KIND: Final = "sessions in links"
PAGES: Final = 14
_HEX: Final = "0123456789abcdef"
_LETTERS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Id:
    """An id of sessions: its length and letters, and how it is written into a path that may have a query."""

    length: int
    letters: str
    write: Callable[[str, str], str]
    found: str
    """A regular expression of what ``write`` adds."""

    def numbered(self, number: int) -> str:
        """Return the id of a visitor."""
        digest = sha256(f"visitor {number}".encode()).digest() + sha256(f"again {number}".encode()).digest()
        return "".join(self.letters[byte % len(self.letters)] for byte in digest)[: self.length]

    def without(self, target: str) -> str:
        """Return a target without an id."""
        plain = re.sub(self.found, "", target)
        return plain.replace("?&", "?").rstrip("?&") if "?" in plain else plain.replace("&", "?", 1)


def in_query(name: str, length: int, letters: str = _HEX, *, first: bool = False) -> Id:
    """Return an id that is a parameter, the last one of a query or the first."""

    def write(path: str, value: str) -> str:
        head, _, query = path.partition("?")
        said = f"{name}={value}"
        pairs = [said, query] if first else [query, said]
        return f"{head}?{'&'.join(filter(None, pairs))}"

    return Id(length, letters, write, rf"(?:(?<=\?)|&){re.escape(name)}=\w*")


def in_path(prefix: str, length: int, letters: str = _HEX) -> Id:
    """Return an id that ends the path, behind a semicolon."""

    def write(path: str, value: str) -> str:
        head, mark, query = path.partition("?")
        return f"{head};{prefix}{value}{mark}{query}"

    return Id(length, letters, write, rf";{re.escape(prefix)}[\w.!-]*")


def in_folder(before: str, length: int, letters: str, behind: str) -> Id:
    """Return an id that is the first segment of the path."""

    def write(path: str, value: str) -> str:
        return f"/{before}{value}{behind}{path}"

    return Id(length, letters, write, rf"^/{re.escape(before)}\w{{{length}}}{re.escape(behind)}")


class Sessions:
    """A site of which each page links to all others with an id in the links.

    ``always`` a new one with each answer; else one for each visitor, who is known by a cookie or by the id itself. A
    visitor with a cookie still has the id in the links, as where software does not look for cookies.
    """

    def __init__(self, ident: Id, path: str, *, always: bool = False, forced: bool = False) -> None:
        self._ident, self._path, self._always, self._forced = ident, path, always, forced
        self._visitors: Iterator[int] = count(1)

    def __call__(self, request: Request) -> Reply:
        """Answer a request."""
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


def _case(name: str, ident: Id, path: str, **options: bool) -> Case:
    aside = options.pop("aside", False)
    site = Sessions(ident, path, **options)
    most = 10_000 if options.get("forced") else 10
    return Case(KIND, name, site, site.targets(), same_page=ident.without, with_ids=most, aside=aside)


def _sitemap_of_sessions() -> Case:
    """Return a site whose front page alone has ids, written for visitors without a cookie, as PHP does by default."""
    ident = in_query("PHPSESSID", 26, "0123456789abcdefghijklmnopqrstuv")
    targets = [f"/show.php?id={number}" for number in range(1, 12)]

    def answer(request: Request) -> Reply:
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

    return Case(KIND, "session-first-visit", answer, ("/", *targets), same_page=ident.without)


CASES: Final = (
    _case("session-php", in_query("PHPSESSID", 32), "/read.php?id={}"),
    _case("session-php-first", in_query("PHPSESSID", 26, _LETTERS[:36], first=True), "/index.php?page=story{}"),
    _case("session-php-always", in_query("PHPSESSID", 32), "/read.php?id={}", always=True),
    _case("session-sid", in_query("sid", 32), "/board.php?t={}"),
    _case("session-s", in_query("s", 32), "/showthread.php?threadid={}", always=True),
    _case("session-sessionid", in_query("sessionid", 24, _LETTERS), "/cgi-bin/show.pl?story={}"),
    _case("session-session-id", in_query("session_id", 40), "/artikel.html?nr={}", always=True),
    _case("session-jsession-query", in_query("jsessionid", 32, _HEX.upper()), "/view.do?item={}"),
    _case("session-jsession-path", in_path("jsessionid=", 32, _HEX.upper()), "/view.jsp?item={}"),
    _case("session-jsession-folders", in_path("jsessionid=", 32, _HEX.upper()), "/guide/chapter{}.html", always=True),
    _case("session-semicolon", in_path("sid=", 28, _LETTERS), "/stories/{}"),
    _case("session-aspnet", in_folder("(S(", 24, _LETTERS[:36], "))"), "/story.aspx?id={}", forced=True),
    _case("session-own-word", in_query("ref_key", 20, _LETTERS), "/text.php?n={}", always=True),
    _case("session-oscommerce", in_query("osCsid", 32), "/product_info.php?products_id={}"),
    _case("session-digits", in_query("sess", 12, "0123456789"), "/page.cfm?doc={}", always=True),
    _sitemap_of_sessions(),
    _case("session-cfid", in_query("CFTOKEN", 8, "0123456789"), "/article.cfm?id={}", aside=True),
    _case("session-token", in_query("token", 32), "/lesen.php?artikel={}", always=True, aside=True),
    _case("session-unseen-path", in_path("sessid=", 30, _LETTERS), "/a/{}.htm", always=True, aside=True),
    _case("session-unseen-folder", in_folder("s", 30, _LETTERS[:36], ""), "/story/{}.html", always=True, aside=True),
)
