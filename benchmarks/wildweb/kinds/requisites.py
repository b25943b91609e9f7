"""Files that pages are shown with, in the less usual ways to name them, and documents within attributes."""

from collections.abc import Mapping, Sequence
from typing import Final

from benchmarks.exact_server import Reply
from benchmarks.wildweb.case import Case
from benchmarks.wildweb.pages import document, html, picture, plain_page, prose, typed

KIND: Final = "frames in attributes, and requisites"


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
    aside: bool = False,
) -> Case:
    """Return a page that shows pictures, or links to pages whose targets do not begin with ``/i/``."""
    page = html(document(f"Shown by {name}", f"<h1>Pictures of the boats</h1>{_text(name)}{body}", head))
    named = [*wanted, *(target for choice in one_of for target in choice)]
    files = {
        each: picture(f"{name} {each}") if each.startswith("/i/") else plain_page(f"The page {each}") for each in named
    }
    site = {"/": page, **files, **(more or {})}
    return Case(KIND, f"shows-{name}", site, ("/", *wanted), one_of, may, aside=aside)


def _style(text: str) -> Mapping[str, Reply]:
    return {"/s.css": typed(text, "text/css")}


_LINKED: Final = '<link rel="stylesheet" href="/s.css">'
_BOTH: Final = (("/i/one.gif", "/i/two.gif"),)

CASES: Final = (
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
    _shows("body", '<table><tr><th background="/i/a.gif">x</th></tr></table>', "/i/a.gif", aside=True),
    _shows("poster", '<video poster="/i/a.gif"></video>', "/i/a.gif", aside=True),
    _shows("srcdoc-quotes", "<iframe srcdoc='<a href=/linked>x</a>'></iframe>", "/linked", aside=True),
    _shows(
        "srcdoc-links",
        '<iframe srcdoc="&lt;link rel=stylesheet href=/s.css&gt;"></iframe>',
        "/i/a.gif",
        may="/s.css",
        more=_style("p{background:url(/i/a.gif)}"),
        aside=True,
    ),
    _shows(
        "image-set-mixed",
        "<p style=\"background:image-set('/i/one.gif' 1x, url(/i/two.gif) 2x)\">x</p>",
        one_of=_BOTH,
        aside=True,
    ),
)
