"""The path of hops from a seed to a URL: one letter for each hop, the latest last; empty for a seed.

Letters of hops that leave the sites of the seeds are in lower case.
"""

from enum import StrEnum
from typing import Final

from aahcrawler.urls import FORM_HOP

MAX_HOPS: Final = 64
"""A longer path keeps only its last hops."""


class Hop(StrEnum):
    """The ways in which one URL leads to another."""

    LINK = "L"
    NAVIGATION = "N"
    """A link chosen by a navigation action of a known application."""
    REDIRECT = "R"
    FRAME = "I"
    """A document that is shown within another page."""
    REQUISITE = "E"
    MEDIA = "O"
    """A file that belongs to a web object: a picture, sound or film; it is a requisite of its page."""
    SITEMAP = "S"
    FEED = "F"
    DOCUMENT = "D"
    """A link in a document such as PDF."""
    POST = "M"
    """A URL posted from outside the crawl."""
    FORM = FORM_HOP
    """A response to sending a form with method POST."""


LETTERS: Final = frozenset(letter for hop in Hop for letter in (hop.value, hop.value.lower()))
"""All letters that occur in paths."""


def extended(path: str, hop: Hop, *, is_off_site: bool = False) -> str:
    """Return the path of a URL found on a page with this path; ``is_off_site`` means that it is on no seed's site.

    >>> extended("LL", Hop.REDIRECT), extended("LL", Hop.LINK, is_off_site=True)
    ('LLR', 'LLl')
    """
    return (path + (hop.lower() if is_off_site else hop))[-MAX_HOPS:]


def ends_with(path: str, hop: Hop) -> bool:
    """Return whether the last hop of a path is ``hop``, not counting redirects.

    >>> ends_with("LSr", Hop.SITEMAP), ends_with("SL", Hop.SITEMAP)
    (True, False)
    """
    return path.upper().rstrip(Hop.REDIRECT).endswith(hop)


def redirects_in_a_row(path: str) -> int:
    """Count the redirects at the end of a path.

    >>> redirects_in_a_row("LRLRr")
    2
    """
    return len(path) - len(path.rstrip(Hop.REDIRECT + Hop.REDIRECT.lower()))
