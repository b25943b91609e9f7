"""Shows all captures of a URL, and what the text of a page says in one that it does not say in another."""

from contextlib import closing
from typing import Final

from lxml.etree import strip_elements
from lxml.html import HtmlElement

from aahcrawler.page import Page
from aahcrawler.service.views.capture_view import CapturePlace, capture_row, exchange_of, plain
from aahcrawler.service.views.object_history import TextDifference, text_difference
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.views.page_list import PageShown, page_shown
from aahcrawler.service.web.problems import Shown
from aahcrawler.wire.replay import replayed

MOST: Final = 200
"""Captures of a URL that are shown, the newest."""
_LARGEST: Final = 2_000_000
_HIDDEN: Final = ("script", "style", "noscript", "template")
_MAX_LINES: Final = 2_000


class UrlCaptures(Shown):
    """The captures of a URL, those that found it unchanged too, the newest first: at most 200 of ``all_captures``."""

    url: str
    captures: tuple[PageShown, ...]
    all_captures: int
    progress: Progress


class CaptureDifference(Shown):
    """Two captures, and the text of their pages side by side.

    ``difference`` is None where the text of one cannot be had; ``note`` says why.
    """

    before: PageShown
    after: PageShown
    difference: TextDifference | None
    note: str = ""


def url_captures(asked: Asked, url: str) -> UrlCaptures:
    """Return the captures of a URL, spelled as the crawl spells it."""
    rows = asked.base.execute(
        "SELECT * FROM capture WHERE url = ? ORDER BY at DESC, id DESC LIMIT ?", (url, MOST)
    ).fetchall()
    (many,) = asked.base.execute("SELECT count(*) FROM capture WHERE url = ?", (url,)).fetchone()
    return UrlCaptures(url=url, captures=tuple(map(page_shown, rows)), all_captures=many, progress=asked.progress)


def capture_difference(asked: Asked, before: str, after: str) -> CaptureDifference:
    """Return the text of two captures side by side, by their records. Raise ``ProblemError`` for an unknown one."""
    first, second = page_shown(capture_row(asked, before)), page_shown(capture_row(asked, after))
    old, new = _lines(asked, first), _lines(asked, second)
    if old is None or new is None:
        lacking = first if old is None else second
        note = f"The archive does not have the page of {lacking.record}, or it is no HTML, or larger than 8 MiB."
        return CaptureDifference(before=first, after=second, difference=None, note=note)
    return CaptureDifference(before=first, after=second, difference=text_difference(old, new))


def _lines(asked: Asked, shown: PageShown) -> list[str] | None:
    """Return the text of a page by lines; that of one that had not changed is in the capture before."""
    holder = shown if shown.unchanged is None else page_shown(capture_row(asked, shown.unchanged))
    exchange = exchange_of(asked.folder, CapturePlace(holder.record, holder.url, holder.fetched_at))
    if exchange is None:
        return None
    with closing(exchange):
        page = replayed(exchange, _LARGEST)
    return None if page is None or not page.is_html else text_lines(page)


def text_lines(page: Page) -> list[str]:
    """Return the text of an HTML page, each piece of it between two tags as a line; white space is folded."""
    tree: HtmlElement = page.tree
    strip_elements(tree, *_HIDDEN, with_tail=False)
    lines = (" ".join(plain(text).split()) for text in tree.itertext(tag=None) if isinstance(text, str))
    return [line for line in lines if line][:_MAX_LINES]
