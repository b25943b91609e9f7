"""The table of collections about events, a line each (Klein, Balakireva and Van de Sompel, section 5, table 1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from aahcrawler.overview.overview_sections import open_table
from aahcrawler.report.chart import Measure, told
from aahcrawler.report.event_collection import LIVE, EventCollection
from online_analysis.icd import Icd


@dataclass(frozen=True, slots=True)
class EventLine:
    """What was collected about an event. Days are ISO 8601, empty where there are none.

    ``begin`` and ``end`` are those of the event; ``first`` and ``last`` of the relevant captures, of all pages where
    none is relevant. ``archives`` counts those that pages were taken from, ``retrieval_rate`` is as in
    ``EventCollection``.
    """

    name: str
    begin: str
    end: str
    pages: int
    relevant: int
    first: str
    last: str
    archives: int
    retrieval_rate: float | None

    @classmethod
    def of(cls, icd: Icd, collection: EventCollection) -> Self:
        """Return the line of a collection that was made by a definition."""
        event = icd.event
        days = sorted(row.fetched_at[:10] for row in collection.relevant or collection.pages)
        return cls(
            icd.title or icd.id,
            "" if event is None else f"{event.start:%Y-%m-%d}",
            "" if event is None else f"{event.end:%Y-%m-%d}",
            len(collection.pages),
            len(collection.relevant),
            days[0] if days else "",
            days[-1] if days else "",
            sum(each.archive != LIVE for each in collection.contributions),
            collection.retrieval_rate,
        )


def is_collection(icd: Icd) -> bool:
    """Return whether a crawl collects for an event, or from archives."""
    return icd.event is not None or not icd.captures.is_live


def event_table(lines: Sequence[EventLine], leads: Sequence[str] = ()) -> str:
    """Return the table of several collections as HTML; ``leads`` are the addresses of each, empty for none."""
    head = ("Collection", "event", "pages", "relevant", "captured", "archives", "archives had")
    rows = (
        (
            each.name,
            lead,
            (
                _span(each.begin, each.end),
                each.pages,
                each.relevant,
                _span(each.first, each.last),
                each.archives,
                "–" if each.retrieval_rate is None else told(each.retrieval_rate, Measure.SHARE),
            ),
        )
        for each, lead in zip(lines, leads or [""] * len(lines), strict=True)
    )
    return open_table(head, rows)


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"
