"""Cases of refreshes and redirects, page requisites, and seeds of which nothing can be read or followed."""

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.exact_server import HTML, Reply
from benchmarks.wildweb.case import (
    Case,
    bare,
    document,
    html,
    links,
    picture,
    plain_page,
    plain_pages,
    prose,
    text_page,
    typed,
)

REFRESHES: Final = "refreshes and redirects"
_TYPE: Final = ("Content-Type", "text/html; charset=utf-8")


def _meta(name: str, content: str, wanted: str = "/next") -> Case:
    """Return a page that redirects by a ``meta`` element, given the content of a double-quoted attribute."""
    page = document("Moved", "<p>moved</p>", f'<meta http-equiv="refresh" content="{content}">')
    return Case(REFRESHES, f"refresh-{name}", {"/": html(page), wanted: plain_page("Here it is")}, ("/", wanted))


def _not_meta(name: str, content: str) -> Case:
    """Return a page with a text, whose ``meta`` element is no refresh to another page."""
    page = text_page("Stay here", head=f'<meta http-equiv="refresh" content="{content}">')
    return Case(REFRESHES, f"refresh-{name}", {"/": html(page)}, ("/",))


def _written(name: str, page: str, wanted: str = "/next") -> Case:
    """Return a page that redirects."""
    return Case(REFRESHES, f"refresh-{name}", {"/": html(page), wanted: plain_page("Here it is")}, ("/", wanted))


def _field(name: str, value: str, wanted: str = "/next") -> Case:
    """Return a page that redirects by a header field, given as Latin-1."""
    page = html(document("Moved", "<p>moved</p>"), ("Refresh", value))
    return Case(REFRESHES, f"refresh-field-{name}", {"/": page, wanted: plain_page("Here it is")}, ("/", wanted))


def _nowhere(name: str, status: int, *fields: tuple[str, str]) -> Case:
    """Return a response with the status of a redirect but no target, whose body has links."""
    targets = ("/one", "/two", "/three")
    body = text_page("Several choices", links(targets))
    site = {"/": bare(status, _TYPE, *fields, body=body), **plain_pages(targets)}
    return Case(REFRESHES, f"redirect-{name}", site, ("/", *targets))


REFRESH_CASES: Final = (
    _meta("plain", "0;url=/next"),
    _meta("blank", "0 /next"),
    _meta("blank-url", "0 url=/next"),
    _meta("comma", "0,/next"),
    _meta("semicolon", "0;/next"),
    _meta("single-quotes", "0; URL='/next'"),
    _meta("double-quotes", "5;URL = &quot;/next&quot;"),
    _meta("behind-quote", "0;url='/next' and more"),
    _meta("fraction", " 2.5 ; url=/next"),
    _meta("point", ".5;url=/next"),
    _meta("points", "1.2.3;url=/next"),
    _meta("mixed-case", "0;uRl=/next"),
    _meta("ampersand", "0;url=/next?a=1&amp;b=2", "/next?a=1&b=2"),
    _meta("semicolon-in-url", "0;url=/next;x=1", "/next;x=1"),
    _meta("lines", "0;\n\turl=\n/next\n"),
    _meta("long", "600; url=/next"),
    _meta("letters", "0;url=/порт", "/%D0%BF%D0%BE%D1%80%D1%82"),
    _written("body", document("Moved", '<p>moved</p><meta http-equiv="Refresh" content="0;url=/next">')),
    _written(
        "noscript", document("Moved", "m", '<noscript><meta http-equiv=refresh content="0;url=/next"></noscript>')
    ),
    _written(
        "base", document("Moved", "m", '<base href="/d/"><meta http-equiv=refresh content="0;url=next">'), "/d/next"
    ),
    _not_meta("words", "soon;url=/next"),
    _not_meta("negative", "-1;url=/next"),
    _not_meta("run-in", "0url=/next"),
    _not_meta("reload", "60"),
    _not_meta("script", "0;url=javascript:go('/next')"),
    _field("plain", "0; url=/next"),
    _field("quotes", "3;URL='/next'"),
    _field("bare", "0;/next"),
    _field("comma", "0, url=/next"),
    _field("absolute", "0; url=http://refresh-field-absolute.example/next"),
    _field("blank", "1 /next"),
    _meta("escaped-sign", "0;url=next?x=%23", "/next?x=%23"),
    _nowhere("300", 300),
    _nowhere("302", 302),
    _nowhere("301", 301),
    _nowhere("303", 303),
    _nowhere("307", 307),
    _nowhere("308", 308),
    Case(
        REFRESHES,
        "redirect-300-location",
        {"/": bare(300, _TYPE, ("Location", "/next"), body=prose("300")), "/next": plain_page("The one chosen")},
        ("/",),
        may="/next",
    ),
)


REQUISITES: Final = "frames in attributes, and requisites"


def _text(name: str) -> str:
    return "".join(f"<p>{prose(f'{name} {number}')}</p>" for number in range(3))


def _shows(
    name: str,
    body: str = "",
    *wanted: str,
    head: str = "",
    one_of: Sequence[Sequence[str]] = (),
    may: str = "",
    more: Mapping[str, Reply] | None = None,
) -> Case:
    """Return a page with pictures, or with links to pages, whose targets do not begin with ``/i/``."""
    page = html(document(f"Shown by {name}", f"<h1>Pictures of the boats</h1>{_text(name)}{body}", head))
    named = [*wanted, *(target for choice in one_of for target in choice)]
    files = {
        each: picture(f"{name} {each}") if each.startswith("/i/") else plain_page(f"The page {each}") for each in named
    }
    site = {"/": page, **files, **(more or {})}
    return Case(REQUISITES, f"shows-{name}", site, ("/", *wanted), one_of, may)


def _style(text: str) -> Mapping[str, Reply]:
    return {"/s.css": typed(text, "text/css")}


_LINKED: Final = '<link rel="stylesheet" href="/s.css">'
_BOTH: Final = (("/i/one.gif", "/i/two.gif"),)

REQUISITE_CASES: Final = (
    _shows(
        "srcdoc",
        "<iframe srcdoc=\"&lt;img src='/i/a.gif'&gt;&lt;a href='/linked'&gt;x&lt;/a&gt;\"></iframe>",
        "/i/a.gif",
        "/linked",
    ),
    _shows("srcdoc-base", '<iframe srcdoc="&lt;img src=a.gif&gt;"></iframe>', "/i/a.gif", head='<base href="/i/">'),
    _shows("srcdoc-own-base", "<iframe srcdoc=\"&lt;base href='/i/'&gt;&lt;img src=a.gif&gt;\"></iframe>", "/i/a.gif"),
    _shows(
        "srcdoc-within",
        "<iframe srcdoc=\"&lt;iframe srcdoc=&quot;&amp;lt;img src='/i/a.gif'&amp;gt;&quot;&gt;&lt;/iframe&gt;\">"
        "</iframe>",
        "/i/a.gif",
    ),
    _shows(
        "srcdoc-over-src",
        '<iframe src="/unseen" srcdoc="&lt;img src=/i/a.gif&gt;"></iframe>',
        "/i/a.gif",
        may="/unseen",
    ),
    _shows("srcdoc-style", "<iframe srcdoc=\"&lt;p style='background:url(/i/a.gif)'&gt;x\"></iframe>", "/i/a.gif"),
    _shows("image-set", '<p style=\'background:image-set("/i/one.gif" 1x, "/i/two.gif" 2x)\'>x</p>', one_of=_BOTH),
    _shows(
        "image-set-url",
        '<p style="background-image:-webkit-image-set(url(/i/one.gif) 1x, url(/i/two.gif) 2x)">x</p>',
        one_of=_BOTH,
    ),
    _shows(
        "image-set-style",
        head='<style>body{background:image-set("/i/one.gif" 1x,"/i/two.gif" 2x)}</style>',
        one_of=_BOTH,
    ),
    _shows(
        "image-set-sheet",
        head=_LINKED,
        one_of=_BOTH,
        may="/s.css",
        more=_style('p { background: image-set( "/i/one.gif" type("image/gif") 1x , \'/i/two.gif\' 2x ) }'),
    ),
    _shows("input", '<form><input type="image" src="/i/a.gif"></form>', "/i/a.gif"),
    _shows(
        "table",
        '<table background="/i/a.gif"><tr><td background="/i/b.gif">x</td></tr></table>',
        "/i/a.gif",
        "/i/b.gif",
    ),
    _shows("svg", '<svg><image href="/i/a.gif"/><image xlink:href="/i/b.gif"/></svg>', "/i/a.gif", "/i/b.gif"),
    _shows("object", '<object data="/i/a.gif" type="image/gif">a boat</object>', "/i/a.gif"),
    _shows("noscript", '<noscript><img src="/i/a.gif" alt="boat"></noscript>', "/i/a.gif"),
    _shows("srcset", '<img srcset="/i/a.gif 1x" alt="boat">', "/i/a.gif"),
    _shows("srcset-commas", '<img srcset="/i/a,b.gif 1x" src="/i/a,b.gif" alt="boat">', "/i/a,b.gif"),
    _shows(
        "picture",
        '<picture><source srcset="/i/a.gif"><img src="/i/b.gif" alt="boat"></picture>',
        one_of=(("/i/a.gif", "/i/b.gif"),),
    ),
    _shows(
        "blanks",
        '<img src=" /i/a.gif\n" alt="boat"><img src="/i/b c.gif" alt="boat">',
        "/i/a.gif",
        more={"/i/b%20c.gif": picture("b c")},
        may="/i/b%20c.gif",
    ),
    _shows("backslash", '<img src="\\i\\a.gif" alt="boat">', "/i/a.gif"),
    _shows("newline", '<img src="/i/\na.gif" alt="boat">', "/i/a.gif"),
    _shows(
        "import",
        "",
        "/i/a.gif",
        head='<style>@import "/s.css";</style>',
        may="/s.css",
        more=_style("p{background:url( '/i/a.gif' )}"),
    ),
    _shows("css-escape", "", "/i/a.gif", head="<style>p{background:url(/i/\\61.gif)}</style>"),
    _shows("css-comment", "", "/i/a.gif", head="<style>/* url(/i/not.gif) */p{background:url(/i/a.gif)}</style>"),
    _shows(
        "css-relative",
        "",
        "/i/a.gif",
        head='<link rel="stylesheet" href="/i/s.css">',
        may="/i/s.css",
        more={"/i/s.css": typed("p{background:url(a.gif)}", "text/css")},
    ),
    _shows("icon", head='<link rel="shortcut icon" href="/i/a.gif">', one_of=(("/i/a.gif",),)),
    _shows("in-script", "<script>var x = '<img src=\"/i/not.gif\">';</script>"),
    _shows("in-comment", '<!-- <img src="/i/not.gif"><a href="/not">x</a> -->'),
    _shows("in-textarea", '<textarea><img src="/i/not.gif"><a href="/not">x</a></textarea>'),
    _shows("body", '<table><tr><th background="/i/a.gif">x</th></tr></table>', "/i/a.gif"),
    _shows("poster", '<video poster="/i/a.gif"></video>', "/i/a.gif"),
    _shows("srcdoc-quotes", "<iframe srcdoc='<a href=/linked>x</a>'></iframe>", "/linked"),
    _shows(
        "srcdoc-links",
        '<iframe srcdoc="&lt;link rel=stylesheet href=/s.css&gt;"></iframe>',
        "/i/a.gif",
        may="/s.css",
        more=_style("p{background:url(/i/a.gif)}"),
    ),
    _shows(
        "image-set-mixed",
        "<p style=\"background:image-set('/i/one.gif' 1x, url(/i/two.gif) 2x)\">x</p>",
        one_of=_BOTH,
    ),
)


VERDICTS: Final = "verdicts"
_HTML_TYPE: Final = ("Content-Type", HTML)
_FAR: Final = [f"http://other{number}.example/" for number in range(12)]


_ALLOWED: Final = 'scope: {allow: ["http://*.example/"]}\n'
"""A definition that allows front pages alone."""


def _numbers(targets: Sequence[str]) -> str:
    """Return links whose texts are numbers, with nothing beside them to read."""
    return " ".join(f'<a href="{each}">{number}</a>' for number, each in enumerate(targets, 1))


def _nothing(name: str, response: Reply, *, icd: str = "") -> Case:
    """Return a seed that leads to nothing."""
    return Case(VERDICTS, f"verdict-{name}", {"/": response}, ("/",), gives=False, icd=icd, alone=True)


def _something(name: str, response: Reply, *wanted: str) -> Case:
    """Return a seed that is a page itself, and leads to other pages."""
    site = {"/": response, **plain_pages(wanted)}
    return Case(VERDICTS, f"verdict-{name}", site, ("/", *wanted), alone=True)


VERDICT_CASES: Final = (
    _nothing("204", bare(204)),
    _nothing("205", bare(205)),
    _nothing("304", bare(304)),
    _nothing("empty", typed(b"", HTML)),
    _nothing("blank", typed(" \n\r\n  ", HTML)),
    _nothing("no-content", html("<!DOCTYPE html><html><head><title></title></head><body></body></html>")),
    _nothing("untyped-empty", bare(200)),
    _nothing("all-elsewhere", html(document("", _numbers(_FAR)))),
    _nothing("all-mail", html(document("", _numbers([f"mailto:ada{n}@example.org" for n in range(9)])))),
    _nothing("none-allowed", html(document("", _numbers([f"/{n}.html" for n in range(9)]))), icd=_ALLOWED),
    _something(
        "small", html(document("Boats", "<h1>Boats</h1><p>Welcome to the harbour.</p>" + links(["/one"]))), "/one"
    ),
    _something("text-alone", html(text_page("All in one page"))),
    _something("203", bare(203, _HTML_TYPE, body=text_page("Passed on", links(["/one"]))), "/one"),
    _something("links-alone", html(document("Links", links(["/one", "/two"]))), "/one", "/two"),
    _something("404-link", html(text_page("Old page", links(["/one"]))), "/one"),
    _nothing("204-typed", bare(204, _HTML_TYPE)),
    _nothing("comment-alone", html("<!-- nothing here yet -->")),
    _nothing("304-dated", bare(304, ("ETag", '"7"'))),
    _something("206", bare(206, _HTML_TYPE, ("Content-Range", "bytes 0-9999/20000"), body=text_page("A part"))),
)
