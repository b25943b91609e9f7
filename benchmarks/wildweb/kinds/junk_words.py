"""Words of queries and paths that mean junk in one software and contents in another; and what operators allow."""

import json
from collections.abc import Mapping, Sequence
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.exact_server import Reply
from benchmarks.wildweb.case import Case
from benchmarks.wildweb.pages import front, plain_pages

WORDS: Final = "junk words that are contents"
ALLOWED: Final = "what scope.allow allows"


def _site(targets: Sequence[str], title: str = "Everything here") -> Mapping[str, Reply]:
    """Return a site whose front page links to all others."""
    return {"/": front(title, map(escape, targets)), **plain_pages(targets)}


def _numbered(name: str, target: str, *, aside: bool = False) -> Case:
    """Return a site of unknown software whose texts are found under numbers alone."""
    targets = [target.format(number) for number in range(1, 9)]
    return Case(WORDS, f"junk-{name}", _site(targets), targets, aside=aside)


def _words(name: str, *targets: str, aside: bool = False) -> Case:
    """Return a site of unknown software with texts under these targets alone."""
    return Case(WORDS, f"junk-{name}", _site(targets), targets, aside=aside)


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


def _allowed(word: str, targets: Sequence[str], refused: str, *, aside: bool = False) -> Case:
    """Return a site of which the definition allows the front page and some targets, and nothing else."""
    site = {"/front.html": front("Begin", map(escape, [*targets, refused])), **plain_pages([*targets, refused])}
    return Case(ALLOWED, f"allow-{word}", site, targets, seeds=("/front.html",), icd=_ICD, aside=aside)


CASES: Final = (
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
    _numbered("action", "/law.cgi?action=act{}", aside=True),
    _numbered("version", "/bible.php?version={}", aside=True),
    _words("compare", "/compare.html", "/export.html", "/poll.php?id=4", "/tags.htm", aside=True),
    _allowed("order", [f"/shop.php?order={n}" for n in range(1, 6)], "/other.html"),
    _allowed("sid", [f"/article.php?sid={n}" for n in range(1, 6)], "/article.html"),
    _allowed("rev", [f"/wiki/page?rev={n}" for n in range(1, 6)], "/wiki/page?x=1"),
    _allowed("print", [f"/print/{n}" for n in range(1, 6)], "/other/1"),
    _allowed("history", [f"/history.php?id={n}" for n in range(1, 6)], "/other.php?id=3"),
    _allowed("session", [f"/minutes.php?session={n}" for n in range(1, 6)], "/minutes.php"),
    _allowed("reply", [f"/letters/{n}/reply" for n in range(1, 6)], "/letters/3"),
    _allowed("calendar", [f"/calendar?day={n}" for n in range(1, 6)], "/day", aside=True),
)
