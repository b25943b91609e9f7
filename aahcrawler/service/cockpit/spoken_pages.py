"""Pages on what crawls speak of, for one crawl or all, and on who answers whom on their sites."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Annotated, Final, Generic, TypeVar

from fastapi import APIRouter, Query, Response

from aahcrawler.annotations import Kind
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.overview.overview_sections import Chosen, OverviewSection, bars, matrix, over_time, table
from aahcrawler.overview.spoken_pictures import TopicArea, topic_map
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
from aahcrawler.service.views.conversation_graph import Conversation, Talk
from aahcrawler.service.views.enriched_crawl import ALL_TIMES, Enriched, TimeSpan, enriched_of, is_enriched
from aahcrawler.service.views.quotations import Quoted
from aahcrawler.service.views.spoken_of import crawl_spoken_of, table_of
from aahcrawler.service.views.spoken_of_by_all import (
    AllSpokenOf,
    SpokenOfByAll,
    all_spoken_of,
    crawl_names,
    table_of_all,
)
from aahcrawler.service.views.spoken_of_one import spoken_of, table_of_one, table_of_ties

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
            "ties": address(*here, "ties.csv", of=of) if told.ties else "",
        }
        return site.crawl_page(session, found, "archive", "spoken_one.html", **values)

    @router.get("/spoken/{kind}/mentions.csv")
    def download_one(_: Reading, crawl: str, kind: Kind, of: Meant, span: Span) -> Response:
        found = site.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            rows = [*table_of_one(enriched, kind, of, AnnotationSettings.of(found.folder), span)]
        return as_csv(f"{crawl}-mentions", rows)

    @router.get("/spoken/{kind}/ties.csv")
    def download_ties(_: Reading, crawl: str, kind: Kind, of: Meant) -> Response:
        found = site.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            rows = [*table_of_ties(enriched, kind, of, AnnotationSettings.of(found.folder))]
        return as_csv(f"{crawl}-ties", rows)

    return router


class Counted(Generic[T]):
    """A cache of slow counts by crawl, valid until something is added to the crawl."""

    def __init__(self, count: Callable[[Enriched, TimeSpan], T]) -> None:
        self._count, self._lock = count, Lock()
        self._told: dict[tuple[str, TimeSpan], tuple[tuple[int, ...], T]] = {}

    def of(self, crawl: Crawl, enriched: Enriched, span: TimeSpan = ALL_TIMES) -> T:
        """Return the counts of a crawl, within a span of time if one is given."""
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
    """Return rows as a CSV file (RFC 4180); texts that a spreadsheet would evaluate are quoted."""
    written = io.StringIO()
    csv.writer(written).writerows([_as_text(each) for each in row] for row in rows)
    return Response(
        written.getvalue(), media_type=_CSV, headers={"Content-Disposition": f'attachment; filename="{name}.csv"'}
    )


def _as_text(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


_TITLES: Final = {
    Kind.ORGANISATION: "Organisations",
    Kind.PLACE: "Places",
    Kind.PERSON: "People",
    Kind.KEYWORD: "Keywords",
    Kind.NAME: "Names of which is not known what bears them",
}
_TOPIC_BARS, _ROWS, _MAPPED = 8, 50, 40


def all_spoken_routes(site: Site) -> APIRouter:
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
            "sections": shown_sections(_overview_sections(found, span, chosen_in(span))),
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


def _overview_sections(found: AllSpokenOf, span: TimeSpan, chosen: Chosen) -> list[OverviewSection]:
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
    picture = bars(title, {each.of: each.objects for each in names[:_TOPIC_BARS]}, labels, lead, "objects")
    rows = [(each.label, lead(each.of), (each.objects, len(each.crawls))) for each in names[:_ROWS]]
    return OverviewSection(kind, title, picture + table((title, "objects", "crawls"), rows))


OfSite = Annotated[str, Query(max_length=300, alias="site")]
Name = Annotated[str, Query(max_length=300)]
_BARS: Final = 8
_NAMED: Final = 3


def conversation_routes(site: Site) -> APIRouter:
    """Return the routes of conversations."""
    router = APIRouter(prefix="/crawls/{crawl}/archive")
    indexes = site.instruments.indexes

    def talk_of(crawl: str, of: str, span: TimeSpan, who: str = "", whom: str = "") -> tuple[Talk, tuple[Quoted, ...]]:
        found = site.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            talk = Talk(enriched, of, named=AnnotationSettings.of(found.folder).people, span=span)
            return talk, talk.answers(enriched, who, whom) if who and whom else ()

    @router.get("/conversations")
    def show(
        session: Reading,
        crawl: str,
        span: Span,
        of: OfSite = "",
        who: Name = "",
        whom: Name = "",
    ) -> Response:
        found = site.crawl(crawl)
        if not is_enriched(found):
            return site.crawl_page(session, found, "archive", "conversations.html", told=None)
        talk, answers = talk_of(crawl, of, span, who, whom)
        told, settings = talk.told(), AnnotationSettings.of(found.folder)
        asked = {"site": of, "since": span.since, "until": span.until}
        values = {
            "told": told,
            "settings": settings,
            "sections": shown_sections(_conversation_sections(talk, told, crawl, asked, chosen_in(span))),
            "answers": answers,
            "who": who,
            "whom": whom,
            "span": span,
            "leads": Leads(crawl, settings),
            "unspanned": address("crawls", crawl, "archive", "conversations", site=of),
        }
        return site.crawl_page(session, found, "archive", "conversations.html", **values)

    @router.get("/conversations.graphml")
    def download_graph(_: Reading, crawl: str, span: Span, of: OfSite = "") -> Response:
        named = {"Content-Disposition": f'attachment; filename="{crawl}-conversations.graphml"'}
        return Response(talk_of(crawl, of, span)[0].graphml(), media_type="application/xml", headers=named)

    @router.get("/conversations.csv")
    def download_voices(_: Reading, crawl: str, span: Span, of: OfSite = "") -> Response:
        head = ("name", "influence", "answers", "answered", "community")
        rows = (
            (each.name, each.influence, each.answers, each.answered, each.community or "")
            for each in talk_of(crawl, of, span)[0].voices()
        )
        return as_csv(f"{crawl}-conversations", (head, *rows))

    return router


def _conversation_sections(
    talk: Talk, told: Conversation, crawl: str, asked: Mapping[str, str], chosen: Chosen
) -> list[OverviewSection]:
    if not told.answers:
        return []

    def lead(name: str) -> str:
        words = name.replace('"', " ")
        return address("search", q=f'author:"{words}"', crawl=crawl) if told.named else ""

    def between(one: str, other: str) -> str:
        if not told.named:  # Together, the words of answers would tell who somebody is.
            return ""
        return f"{address('crawls', crawl, 'archive', 'conversations', who=one, whom=other, **asked)}#answers"

    graph = talk.strongest()
    title = "Who answers whom"
    note = f"<p>From those in rows to those in columns: the {len(graph.names):,} with the most of {told.people:,}.</p>"
    rows = [(f"{one} → {other}", between(one, other), (n,)) for one, other, n in told.links]
    picture = matrix(title, graph, lead, "answer", "people", between)
    voices = {each.name: round(1_000 * each.influence) for each in told.voices[:_BARS]}
    lines = [
        (each.name, lead(each.name), (f"{each.influence:.3f}", each.answered, each.answers, each.community or "–"))
        for each in told.voices
    ]
    influence = bars("Influence", voices, {}, lead, "thousandths")
    months = dict(talk.months())
    undated = months.pop("", 0)
    return [
        OverviewSection("graph", title, picture + note + table(("From and to", "answers"), rows)),
        OverviewSection(
            "influence",
            "Influence, in thousandths",
            influence + table(("Who", "influence", "is answered", "answers", "community"), lines),
        ),
        *_communities(talk),
        over_time("times", "Answers over time", months, lambda _: "", "answers", undated, chosen),
    ]


def _communities(talk: Talk) -> list[OverviewSection]:
    members: dict[int, list[str]] = {}
    for name, number in talk.community.items():
        if number:
            members.setdefault(number, []).append(talk.shown[name])
    if not members:
        return []
    counts = {str(number): len(names) for number, names in sorted(members.items())}
    labels = {str(number): f"{number}: {', '.join(names[:_NAMED])}" for number, names in members.items()}
    rows = [(f"Community {number}", "", (len(names), ", ".join(names))) for number, names in sorted(members.items())]
    picture = bars("Communities", counts, labels, lambda _: "", "people")
    note = "<p>Those who answer one another more than others; named by the members with the most influence.</p>"
    return [OverviewSection("communities", "Communities", picture + note + table(("Community", "people", "who"), rows))]
