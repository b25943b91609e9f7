"""Refreshes, by header field and meta element, and redirects that name no place."""

from typing import Final

from benchmarks.wildweb.case import Case
from benchmarks.wildweb.pages import bare, document, html, links, plain_page, plain_pages, prose, text_page

KIND: Final = "refreshes and redirects"
_TYPE: Final = ("Content-Type", "text/html; charset=utf-8")


def _meta(name: str, content: str, wanted: str = "/next", *, aside: bool = False) -> Case:
    """Return a page that leads on by a meta element, written into a double-quoted attribute."""
    page = document("Moved", "<p>moved</p>", f'<meta http-equiv="refresh" content="{content}">')
    return Case(
        KIND, f"refresh-{name}", {"/": html(page), wanted: plain_page("Here it is")}, ("/", wanted), aside=aside
    )


def _not_meta(name: str, content: str, *, aside: bool = False) -> Case:
    """Return a page with a text, whose meta element is no refresh to another page."""
    page = text_page("Stay here", head=f'<meta http-equiv="refresh" content="{content}">')
    return Case(KIND, f"refresh-{name}", {"/": html(page)}, ("/",), aside=aside)


def _written(name: str, page: str, wanted: str = "/next") -> Case:
    """Return a page that leads on."""
    return Case(KIND, f"refresh-{name}", {"/": html(page), wanted: plain_page("Here it is")}, ("/", wanted))


def _field(name: str, value: str, wanted: str = "/next", *, aside: bool = False) -> Case:
    """Return a page that leads on by a header field, given as Latin-1."""
    page = html(document("Moved", "<p>moved</p>"), ("Refresh", value))
    return Case(
        KIND, f"refresh-field-{name}", {"/": page, wanted: plain_page("Here it is")}, ("/", wanted), aside=aside
    )


def _nowhere(name: str, status: int, *fields: tuple[str, str], aside: bool = False) -> Case:
    """Return an answer of a status that redirects, without a place, whose body has links."""
    targets = ("/one", "/two", "/three")
    body = text_page("Several choices", links(targets))
    site = {"/": bare(status, _TYPE, *fields, body=body), **plain_pages(targets)}
    return Case(KIND, f"redirect-{name}", site, ("/", *targets), aside=aside)


CASES: Final = (
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
    _field("blank", "1 /next", aside=True),
    _meta("escaped-sign", "0;url=next?x=%23", "/next?x=%23", aside=True),
    _nowhere("300", 300),
    _nowhere("302", 302),
    _nowhere("301", 301),
    _nowhere("303", 303),
    _nowhere("307", 307, aside=True),
    _nowhere("308", 308, aside=True),
    Case(
        KIND,
        "redirect-300-location",
        {"/": bare(300, _TYPE, ("Location", "/next"), body=prose("300")), "/next": plain_page("The one chosen")},
        ("/",),
        may="/next",
    ),
)
