"""Scores pages by how close to an event they were published (ARCOMEM, section 4.2: a module like any other).

A page of the event's span scores 1. Before its start the score halves with each ``lead``, after its end with each
``cool_down``; where one of these is zero, nothing of that side counts. For ``grace`` after its end nothing scores less
than a half (Klein et al. 2018, section 3.5.1: archives take their time).
"""

import math
from datetime import datetime, timedelta

from online_analysis.aggregation import Scores
from online_analysis.analysers.date_hints import Span, date_in_anchor, date_in_url
from online_analysis.document import Document, Outlink
from online_analysis.icd import Event


def nearness(event: Event, first: datetime, last: datetime | None = None) -> float:
    """Return the nearness to an event, in [0, 1], of a moment or of the nearest moment of a stretch of time.

    It is a temporal relevance function (Gossen et al. 2020, definition 3): it is 1 within the event's span and nowhere
    else, does not fall on the way to the event and does not rise on the way from it.
    """
    if (last or first) < event.start:
        return _halved(event.start - (last or first), event.lead)
    if first <= event.end:
        return 1.0
    late = first - event.end
    return max(_halved(late, event.cool_down), 0.5 if late <= event.grace else 0.0)


class TemporalAnalyser:
    """Scores pages by their date of publication; gives no score where they have none.

    A link is scored by the date in its URL (``/2024/05/``), else by the one that a feed or sitemap gives, else by the
    one that its anchor names; a month or year counts by its moment nearest to the event. Other links get the score of
    their page.
    """

    name = "temporal"

    def __init__(self, event: Event) -> None:
        self._event = event

    def analyse(self, document: Document) -> Scores:
        """Score the document and each link. None: nothing says when it was published."""
        page = nearness(self._event, document.published) if document.published is not None else None
        return Scores(self.name, page, tuple(self._link(link, page) for link in document.outlinks))

    def _link(self, link: Outlink, page: float | None) -> float | None:
        hint: Span | None = date_in_url(link.url)
        if hint is None and link.date is not None:
            return nearness(self._event, link.date)
        hint = hint or date_in_anchor(link.anchor)
        return page if hint is None else nearness(self._event, hint.first, hint.last)


_BELOW_ONE = math.nextafter(1.0, 0.0)


def _halved(distance: timedelta, half_life: timedelta) -> float:
    """Return ``exp(-ln 2 * distance / half_life)``, less than 1 even where a distance is next to nothing."""
    return min(_BELOW_ONE, 0.5 ** (distance / half_life)) if half_life else 0.0
