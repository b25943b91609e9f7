"""Recognise templates in which ``aside`` is only a block, so that the main content of the page lies in it."""

import re

from aahcrawler.induction.headings import Names, headings
from aahcrawler.induction.outline import Outline

MUCH_OF_TEXT, NEARLY_ALL = 0.3, 0.8
"""The share of a page's running text in asides that makes them no asides: with the page's heading, and without it."""

_SIDES = r"(?<!with-)(?<!has-)(?<!no-)side[-_]?bar|(?:^|[-_])(?:nav|navigation|menu|footer|related|recent)(?:$|[-_])"
SIDE = re.compile(rf"{_SIDES}|widget", re.IGNORECASE)
"""Names of elements beside the content; some software calls each box of its content a widget, too."""
SURELY_SIDE = re.compile(_SIDES, re.IGNORECASE)
"""Names of elements that hold nothing else."""


def asides_hold_content(outline: Outline, names: Names) -> bool:
    """Return whether the main content of the page lies in elements called ``aside``.

    It does if the heading that repeats the page's title is in one and not outside, with much of the text, or if nearly
    all text is in them. Headings that lead to the front page are the site's, and asides that are named sidebars are
    sidebars.
    """
    asides = _outermost(outline)
    if not asides:
        return False
    named = [each.place for each in headings(outline, names, ()) if each.rank[0]]
    headed = bool(named) and all(any(outline.contains(aside, place) for aside in asides) for place in named)
    mains = [place for place, tag in enumerate(outline.tags) if tag == "main"]
    if not headed and mains and not any(outline.contains(aside, place) for aside in asides for place in mains):
        return False
    return sum(map(outline.running, asides)) > (MUCH_OF_TEXT if headed else NEARLY_ALL) * outline.running(0)


def _outermost(outline: Outline) -> list[int]:
    found: list[int] = []
    for place, tag in enumerate(outline.tags):
        if tag == "aside" and (not found or place >= outline.ends[found[-1]]) and not _is_named_so(outline, place):
            found.append(place)
    return found


def _is_named_so(outline: Outline, place: int) -> bool:
    return any(SIDE.search(word) for word in (*outline.tokens[place], outline.elements[place].get("id") or ""))
