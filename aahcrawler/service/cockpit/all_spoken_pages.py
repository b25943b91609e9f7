"""What all crawls that the cockpit shows speak of together, and which of them speak of one thing."""

from collections.abc import Mapping, Sequence
from typing import Final

from fastapi import APIRouter, Response

from aahcrawler.annotations import Kind
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.overview.overview_sections import Chosen, OverviewSection, bars, over_time, table
from aahcrawler.overview.topic_map import TopicArea, topic_map
from aahcrawler.service.api.page_routes import Meant, Span
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.cockpit.spoken_pages import Counted, as_csv
from aahcrawler.service.cockpit.spoken_sections import LABELS, Leads, chosen_in, shown_sections
from aahcrawler.service.views.spoken_of import (
    AllSpokenOf,
    SpokenOfByAll,
    TimeSpan,
    all_spoken_of,
    crawl_names,
    table_of_all,
)

_TITLES: Final = {
    Kind.ORGANISATION: "Organisations",
    Kind.PLACE: "Places",
    Kind.PERSON: "People",
    Kind.KEYWORD: "Keywords",
    Kind.NAME: "Names of which is not known what bears them",
}
_BARS, _ROWS, _MAPPED = 8, 50, 40


def routes(site: Site) -> APIRouter:
    """Return the routes of what all crawls speak of."""
    router = APIRouter(prefix="/archive")
    reach, indexes, counted = site.instruments.reach, site.instruments.indexes, Counted(crawl_names)

    def found_in(span: TimeSpan) -> AllSpokenOf:
        crawls = [crawl for crawl in reach.crawls() if crawl.folder is not None]
        return all_spoken_of(indexes, crawls, lambda crawl, enriched: counted.of(crawl, enriched, span))

    @router.get("/spoken")
    def show(session: Reading, span: Span) -> Response:
        found = found_in(span)
        values = {
            "found": found,
            "sections": shown_sections(_sections(found, span, chosen_in(span))),
            "span": span,
            "unspanned": address("archive", "spoken"),
        }
        return site.page(session, "all_spoken.html", **values)

    @router.get("/spoken.csv")
    def download(_: Reading, span: Span) -> Response:
        return as_csv("spoken-of", table_of_all(found_in(span)))

    @router.get("/spoken/of")
    def show_one(session: Reading, kind: Kind, of: Meant, span: Span) -> Response:
        found = found_in(span)
        name = next((each for each in found.names.get(kind, ()) if each.of == of), None)
        crawls = {crawl.id: crawl for crawl in found.crawls}
        parts = (
            []
            if name is None
            else [(crawls[each], n, _page(crawls[each], name, span)) for each, n in name.crawls.items()]
        )
        values = {"name": name, "label": LABELS.get(kind, kind), "parts": parts, "span": span}
        values["back"] = address("archive", "spoken", since=span.since, until=span.until)
        return site.page(session, "all_spoken_one.html", **values)

    return router


def _page(crawl: Crawl, name: SpokenOfByAll, span: TimeSpan) -> str:
    return Leads(crawl.id, AnnotationSettings.of(crawl.folder), span).page(name.kind, name.of, name.label)


def _sections(found: AllSpokenOf, span: TimeSpan, chosen: Chosen) -> list[OverviewSection]:
    def part_of(period: str) -> str:
        return address("archive", "part", by="published", period=period)

    sections = [over_time("times", "Publications over time", found.published, part_of, "web objects", 0, chosen)]
    if found.topics:
        sections.insert(0, _topics(found, span))
    sections += [
        _ranked(kind, title, found.names[kind], span) for kind, title in _TITLES.items() if kind in found.names
    ]
    return sections


def _topics(found: AllSpokenOf, span: TimeSpan) -> OverviewSection:
    def page(crawl: Crawl, of: str, label: str) -> str:
        return Leads(crawl.id, AnnotationSettings.of(crawl.folder), span).page(Kind.TOPIC, of, label)

    shown = [
        (crawl, TopicArea(each.label, each.objects, each.terms, page(crawl, each.of, each.label)))
        for crawl, each in found.topics[:_MAPPED]
    ]
    rows = [
        (each.label, each.address, (crawl.icd.title or crawl.id, each.weight, ", ".join(each.terms)))
        for crawl, each in shown
    ]
    note = "<p>Each crawl has topics of its own; those that share terms lie together, whichever crawl they are of.</p>"
    drawn = topic_map("Topics of all crawls", [each for _, each in shown])
    return OverviewSection(
        "map", "Topics", drawn + note + table(("Topic", "crawl", "objects", "stems of its terms"), rows)
    )


def _ranked(kind: Kind, title: str, names: Sequence[SpokenOfByAll], span: TimeSpan) -> OverviewSection:
    def lead(of: str) -> str:
        return address("archive", "spoken", "of", kind=kind, of=of, since=span.since, until=span.until)

    labels: Mapping[str, str] = {each.of: each.label for each in names}
    picture = bars(title, {each.of: each.objects for each in names[:_BARS]}, labels, lead, "objects")
    rows = [(each.label, lead(each.of), (each.objects, len(each.crawls))) for each in names[:_ROWS]]
    return OverviewSection(kind, title, picture + table((title, "objects", "crawls"), rows))
