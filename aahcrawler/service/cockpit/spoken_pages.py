"""What crawls speak of: one of them, all of them together, and each topic, organisation, place and event by itself."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Final, Generic, TypeVar

from fastapi import APIRouter, Response

from aahcrawler.annotations import Kind
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.service.api.page_routes import Meant, Span
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.cockpit.spoken_sections import (
    LABELS,
    Leads,
    by_period,
    chosen_in,
    sections_of_all,
    sections_of_one,
    shown_sections,
)
from aahcrawler.service.views.spoken_of import (
    ALL_TIMES,
    Enriched,
    TimeSpan,
    crawl_spoken_of,
    enriched_of,
    is_enriched,
    spoken_of,
    table_of,
    table_of_one,
)

_MAX_KEPT: Final = 20
_CSV: Final = "text/csv; charset=utf-8"
T = TypeVar("T")


def routes(site: Site) -> APIRouter:
    """Return the routes of what crawls speak of."""
    router = APIRouter(prefix="/crawls/{crawl}/archive")
    indexes, counted = site.instruments.indexes, Counted(crawl_spoken_of)

    @router.get("/spoken")
    def show_all(session: Reading, crawl: str, span: Span) -> Response:
        found = site.crawl(crawl)
        settings = AnnotationSettings.of(found.folder)
        if not is_enriched(found):
            return site.crawl_page(session, found, "archive", "spoken.html", spoken=None)
        with enriched_of(indexes, found) as enriched:
            told = counted.of(found, enriched, span).model_copy(update={"note": enriched.note}).shown_by(settings)
        leads = Leads(crawl, settings, span)
        values = {
            "spoken": told,
            "settings": settings,
            "sections": shown_sections(sections_of_all(told, leads, chosen_in(span))),
            "leads": leads,
            "span": span,
            "unspanned": address("crawls", crawl, "archive", "spoken"),
        }
        return site.crawl_page(session, found, "archive", "spoken.html", **values)

    @router.get("/spoken.csv")
    def download(_: Reading, crawl: str, span: Span) -> Response:
        with enriched_of(indexes, site.crawl(crawl)) as enriched:
            rows = [*table_of(enriched, span)]
        return as_csv(f"{crawl}-spoken-of", rows)

    @router.get("/spoken/{kind}")
    def show_one(session: Reading, crawl: str, kind: Kind, of: Meant, span: Span) -> Response:
        found = site.crawl(crawl)
        settings = AnnotationSettings.of(found.folder)
        with enriched_of(indexes, found) as enriched:
            told = spoken_of(enriched, kind, of, settings, span)
        leads = Leads(crawl, settings, span)
        here = ("crawls", crawl, "archive", "spoken", kind)
        values = {
            "one": told,
            "label": LABELS.get(kind, kind),
            "settings": settings,
            "leads": leads,
            "sections": shown_sections(sections_of_one(told, leads, chosen_in(span))),
            "judgements": by_period(told),
            "links": () if kind is Kind.EVENT else settings.links(kind, told.spoken.label),
            "span": span,
            "unspanned": address(*here, of=of),
            "csv": address(*here, "mentions.csv", of=of, since=span.since, until=span.until),
        }
        return site.crawl_page(session, found, "archive", "spoken_one.html", **values)

    @router.get("/spoken/{kind}/mentions.csv")
    def download_one(_: Reading, crawl: str, kind: Kind, of: Meant, span: Span) -> Response:
        found = site.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            rows = [*table_of_one(enriched, kind, of, AnnotationSettings.of(found.folder), span)]
        return as_csv(f"{crawl}-mentions", rows)

    return router


class Counted(Generic[T]):
    """What was counted last of each crawl: it takes long for large ones, and is the same until something is added."""

    def __init__(self, count: Callable[[Enriched, TimeSpan], T]) -> None:
        self._count, self._lock = count, Lock()
        self._told: dict[tuple[str, TimeSpan], tuple[tuple[int, ...], T]] = {}

    def of(self, crawl: Crawl, enriched: Enriched, span: TimeSpan = ALL_TIMES) -> T:
        """Return what a crawl has, of a span of time where one is asked for."""
        with self._lock:
            state, told = self._told.get((crawl.id, span), ((), None))
        if told is None or state != enriched.state:
            told = self._count(enriched, span)
            with self._lock:
                if len(self._told) >= _MAX_KEPT:
                    self._told.clear()
                self._told[crawl.id, span] = enriched.state, told
        return told


def as_csv(name: str, rows: Iterable[Sequence[object]]) -> Response:
    """Return rows as a file (RFC 4180); what a spreadsheet would compute is written as text."""
    written = io.StringIO()
    csv.writer(written).writerows([_as_text(each) for each in row] for row in rows)
    return Response(
        written.getvalue(), media_type=_CSV, headers={"Content-Disposition": f'attachment; filename="{name}.csv"'}
    )


def _as_text(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
