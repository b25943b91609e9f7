"""Find the entries of time lines and lists of messages: each shows when, and leads to a page like those of others."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Sequence

from aahcrawler.induction.headings import Names, is_front
from aahcrawler.induction.outline import Outline
from aahcrawler.page.text import excerpt
from aahcrawler.urls import queue_of, resolve

FEWEST = 3
"""The entries that make a list."""
MOST_LINKS = 3_000
"""The links of a page that are looked at."""

_ENTRIES = frozenset({"li", "tr", "dt", "div", "p", "article", "section"})
_HIGHEST = 4
_SHORTEST = 4
_DIFFERING = 0.3
"""The share of entries that lead to a page of their own; several changes may be of one page."""
_DIGITS = re.compile(r"\d+")
_LAST = re.compile(r"[^/=&?]+/?$")
_TIME_OF_DAY = re.compile(r"(?<!\d)[012]?\d:[0-5]\d(?!\d)")


def dated_entries(outline: Outline, dated: Collection[int], names: Names) -> Sequence[tuple[int, int]]:
    """Return the extents of the entries of lists: elements of one name with a date, or a time of day, and a link each.

    The links lead to several pages of the site, whose URLs differ in numbers and in their last part alone. A term of a
    definition list is an entry with what defines it. The time is linear in the size of the page.
    """
    timed = (piece.owner for piece in outline.pieces if _TIME_OF_DAY.search(piece.text))
    shown = sorted({*timed, *dated})
    groups: dict[tuple[int, str, tuple[str, ...], str], dict[int, str]] = defaultdict(dict)
    for place, url in _links(outline, names):
        shape = _LAST.sub("*", _DIGITS.sub("#", url))
        for above in (place, *outline.ancestors(place))[: _HIGHEST + 1]:
            if outline.tags[above] in _ENTRIES:
                name = (outline.depths[above], outline.tags[above], outline.tokens[above], shape)
                groups[name].setdefault(above, url)
    found: set[tuple[int, int]] = set()
    for entries in groups.values():
        told = {place: url for place, url in entries.items() if _holds(shown, place, outline.ends[place])}
        if len(told) >= FEWEST and len(set(told.values())) >= max(2, _DIFFERING * len(told)):
            found.update((place, _end(outline, place)) for place in told)
    return sorted(found)


def _links(outline: Outline, names: Names) -> Sequence[tuple[int, str]]:
    """Return the places and the URLs of links to other pages of the site that show more than a sign."""
    found: list[tuple[int, str]] = []
    for place, tag in enumerate(outline.tags):
        href = outline.elements[place].get("href") if tag == "a" else None
        if not href or href.startswith("#") or len(excerpt(outline.elements[place], _SHORTEST + 1)) < _SHORTEST:
            continue
        url = (resolve(names.base, href) or "").partition("#")[0]
        if url and url not in names.own and queue_of(url) == names.queue and not is_front(url):
            found.append((place, url))
            if len(found) == MOST_LINKS:
                break
    return found


def _holds(shown: Sequence[int], first: int, end: int) -> bool:
    """Return whether one of some sorted places lies in an extent."""
    at = bisect_left(shown, first)
    return at < len(shown) and shown[at] < end


def _end(outline: Outline, place: int) -> int:
    """Return the end of an entry, that of a term with what defines it."""
    if outline.tags[place] != "dt":
        return outline.ends[place]
    end = outline.ends[place]
    while end < len(outline.tags) and outline.tags[end] == "dd" and outline.parents[end] == outline.parents[place]:
        end = outline.ends[end]
    return end
