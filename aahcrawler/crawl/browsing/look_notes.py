"""Make what is kept of a look at a page in a browser: its pictures, and what is noted in the metadata of the page."""

from collections.abc import Iterator
from hashlib import sha1
from typing import Final

from aahcrawler.archive.resources import Resource
from aahcrawler.browser.visits.rendered_page import BehaviourNote, ConsoleLine, RenderedPage
from aahcrawler.browser_look import BrowserLook
from aahcrawler.page import Page, text

MOST_LINES: Final = 20
MOST_OF_LINE: Final = 300
"""Lines of the console that are kept of a page, and characters of each."""
MOST_REASONS: Final = 50


def note_of(rendered: RenderedPage, refused: dict[str, int], requests: int) -> BrowserLook:
    """Return the note of a look: ``refused`` counts what the crawl did not give, ``requests`` what it sent."""
    reasons = {**rendered.refused, **refused}
    return BrowserLook(
        ended=rendered.ended,
        seconds=round(rendered.seconds, 3),
        requests=requests,
        refused=dict(list(reasons.items())[:MOST_REASONS]),
        behaviours=tuple(map(_behaviour, rendered.behaviours[:MOST_LINES])),
        console=tuple(map(_line, rendered.console[:MOST_LINES])),
    )


def digest_of(page: Page) -> str:
    """Return the SHA-1 of what a page shows, in hexadecimal digits."""
    return sha1(text.plain_text(page.tree).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def pictures_of(url: str, rendered: RenderedPage) -> Iterator[Resource]:
    """Yield the pictures of a page, as far as some were taken."""
    if rendered.screenshot:
        yield Resource.screenshot(url, rendered.screenshot)
    if rendered.thumbnail:
        yield Resource.thumbnail(url, rendered.thumbnail)


def in_a_line(text: str) -> str:
    """Return a text on one line, its beginning where it is long."""
    return " ".join(text[: 4 * MOST_OF_LINE].split())[:MOST_OF_LINE]


def _behaviour(note: BehaviourNote) -> str:
    return in_a_line(f"{note.name}: {note.steps} steps, {note.ended}")


def _line(line: ConsoleLine) -> str:
    return in_a_line(f"{line.level}: {line.text}")
