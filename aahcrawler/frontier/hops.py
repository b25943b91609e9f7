"""The path of hops that led from a seed to a URL: one letter a hop, the latest last, empty for a seed.

Hops off the sites of the seeds are in lower case.
"""

from enum import StrEnum
from typing import Final

from aahcrawler.urls import FORM_HOP

MAX_HOPS: Final = 64
"""Of a longer path the last ones are kept."""


class Hop(StrEnum):
    """The ways in which one URL leads to another."""

    LINK = "L"
    NAVIGATION = "N"
    """A link that the navigation of a known application chose."""
    REDIRECT = "R"
    FRAME = "I"
    """A document that is shown within a page."""
    REQUISITE = "E"
    MEDIA = "O"
    """A file that an object of a page consists of: a picture, sound or film; a requisite of its page."""
    SITEMAP = "S"
    FEED = "F"
    DOCUMENT = "D"
    """A link in a document such as PDF."""
    POST = "M"
    """Posted from outside of the crawl."""
    FORM = FORM_HOP
    """What a form gives that is sent with method post."""


LETTERS: Final = frozenset(letter for hop in Hop for letter in (hop.value, hop.value.lower()))
"""What paths are written in."""


def extended(path: str, hop: Hop, *, is_off_site: bool = False) -> str:
    """Return the path of a URL found from one with this path; ``is_off_site`` where it is on no seed's site.

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
