"""Seeds of which nothing can be read or followed, which the crawl must say; and small ones that are whole."""

from collections.abc import Sequence
from typing import Final

from benchmarks.exact_server import HTML, Reply
from benchmarks.wildweb.case import Case
from benchmarks.wildweb.pages import bare, document, html, links, plain_pages, text_page, typed

KIND: Final = "verdicts"
_TYPE: Final = ("Content-Type", HTML)
_FAR: Final = [f"http://other{number}.example/" for number in range(12)]


_ALLOWED: Final = 'scope: {allow: ["http://*.example/"]}\n'
"""A definition that wants front pages alone."""


def _numbers(targets: Sequence[str]) -> str:
    """Return links that are called by numbers, beside which there is nothing to be read."""
    return " ".join(f'<a href="{each}">{number}</a>' for number, each in enumerate(targets, 1))


def _nothing(name: str, answer: Reply, *, icd: str = "", aside: bool = False) -> Case:
    """Return a seed that gives nothing."""
    return Case(KIND, f"verdict-{name}", {"/": answer}, ("/",), gives=False, icd=icd, alone=True, aside=aside)


def _something(name: str, answer: Reply, *wanted: str, aside: bool = False) -> Case:
    """Return a seed that gives itself, and pages that it links to."""
    site = {"/": answer, **plain_pages(wanted)}
    return Case(KIND, f"verdict-{name}", site, ("/", *wanted), alone=True, aside=aside)


CASES: Final = (
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
    _something("203", bare(203, _TYPE, body=text_page("Passed on", links(["/one"]))), "/one"),
    _something("links-alone", html(document("Links", links(["/one", "/two"]))), "/one", "/two"),
    _something("404-link", html(text_page("Old page", links(["/one"]))), "/one"),
    _nothing("204-typed", bare(204, _TYPE), aside=True),
    _nothing("comment-alone", html("<!-- nothing here yet -->"), aside=True),
    _nothing("304-dated", bare(304, ("ETag", '"7"')), aside=True),
    _something("206", bare(206, _TYPE, ("Content-Range", "bytes 0-9999/20000"), body=text_page("A part")), aside=True),
)
