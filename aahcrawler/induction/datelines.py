"""Find the publication date of an article: the one shown beside the heading, or the declared one.

A date that is both shown and declared is preferred, then one declared as the publication date, then one shown, and last
dates in meta elements in which many systems put the day of the last change.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from itertools import accumulate, islice

from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.shown_dates import ShownDate, is_of_change
from aahcrawler.page import Page, claims
from aahcrawler.page.schemaorg import Item
from aahcrawler.page.text import excerpt

PIECES_BELOW, PIECES_ABOVE = 16, 4
"""How many pieces of text below and above a heading may contain its date, if no running text is in between."""

STANDFIRST = 1
"""The most lines of running text between a heading and its date."""

MAX_HEADINGS = 300
WIDEST = timedelta(hours=14)
"""The greatest offset of a time zone from UTC."""

_HEADINGS = frozenset({"h1", "h2", "h3"})
_CHANGED = re.compile(
    r"updat|modif|aktuali|ge[äa]ndert|mis à jour|actuali[zs]|aggiorna|geändert|bijgewerkt", re.IGNORECASE
)


def published(page: Page, prepared: PreparedPage, title: str, item: Item | None = None) -> datetime | None:
    """Return the publication time of the text with a title, as the page declares it or shows it near the heading.

    ``item`` is the page's declaration of the text.
    """
    declared = claims.publication_moments(page, item)
    shown = dateline(prepared, title)
    pairs = [(each, moment) for each in shown for moment in (*declared.certain, *declared.vague)]
    alike = next((moment for each, moment in pairs if _is_same_day(each, moment)), None)
    alike = alike or next(filter(None, (_in_zone_of(each, moment) for each, moment in pairs)), None)
    first = alike or next(iter(declared.certain), None) or _exact(shown)
    return first or next(iter(declared.vague), None)


def dateline(prepared: PreparedPage, title: str) -> Sequence[ShownDate]:
    """Return the dates with a year near the heading with a title, without dates of changes by the words before them.

    Dates that only the markup marks as dates of changes come last.
    """
    outline = prepared.outline
    found: dict[int, ShownDate] = {}
    owners = [piece.owner for piece in outline.pieces]
    for heading in _headings(prepared, title):
        above = next((number for number, owner in enumerate(owners) if owner >= heading), len(owners))
        below = next((number for number, owner in enumerate(owners) if owner >= outline.ends[heading]), len(owners))
        texts = (piece.text for piece in outline.pieces[below : below + PIECES_BELOW])
        running = accumulate(len(text) >= claims.LONG_LINE for text in texts)
        near = [below + number for number, lines in enumerate(running) if lines <= STANDFIRST]
        near += range(above - 1, max(above - 1 - PIECES_ABOVE, -1), -1)
        places = [owners[number] for number in near]
        for each in prepared.shown:
            if not each.read.names_day or is_of_change(outline, each):
                continue
            if any(each.place <= other < outline.ends[each.place] for other in places):
                found.setdefault(each.place, each)
        if found:
            break
    return sorted(found.values(), key=lambda each: _tells_change(prepared, each))


def _exact(shown: Sequence[ShownDate]) -> datetime | None:
    """Return the first date, with the time of day of another date of the same day, if that has one."""
    same = (each for each in shown if each.read.timed and each.moment.date() == shown[0].moment.date())
    return next((each.moment for each in (*same, *shown)), None)


def _headings(prepared: PreparedPage, title: str) -> Iterator[int]:
    """Yield the places of the headings with the title, the first ones first."""
    outline = prepared.outline
    tagged = (place for place, tag in enumerate(outline.tags) if tag in _HEADINGS)
    for place in islice(tagged, MAX_HEADINGS):
        text = excerpt(outline.elements[place], 2 * len(title) + 1)
        if title and title in text and len(text) <= 2 * len(title):
            yield place


def _in_zone_of(shown: ShownDate, moment: datetime) -> datetime | None:
    """Return a time declared in UTC with the offset of the page's shown time; None if the page does not show it."""
    away = shown.moment - moment.replace(second=0, microsecond=0)
    if not shown.read.timed or shown.moment.second or moment.utcoffset() or abs(away) > WIDEST:
        return None
    return moment.astimezone(timezone(away)) if away % timedelta(minutes=15) == timedelta() else None


def _tells_change(prepared: PreparedPage, each: ShownDate) -> bool:
    """Return whether a date is marked as that of a change."""
    outline = prepared.outline
    element = outline.elements[each.place]
    line = excerpt(element, 100)
    above = outline.parents[each.place]
    if above >= 0 and outline.free(above) + outline.linked(above) < len(line) + 30:
        line = excerpt(outline.elements[above], 100)
    return _CHANGED.search(f"{line} {element.get('class') or ''} {element.get('itemprop') or ''}") is not None


def _is_same_day(shown: ShownDate, moment: datetime) -> bool:
    """Return whether a shown date is the day of a time, in some possible order of day and month."""
    one, other = shown.moment.date(), moment.date()
    exchanged = (one.year, one.month, one.day) == (other.year, other.day, other.month)
    return one == other or (exchanged and re.match(r"\D*\d{1,2}[/.-]\d{1,2}[/.-]", shown.text) is not None)
