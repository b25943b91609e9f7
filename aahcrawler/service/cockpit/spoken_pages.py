"""What a crawl speaks of: all of it with pictures, and each topic, organisation, place and event by itself."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from markupsafe import Markup

from aahcrawler.annotations import Kind
from aahcrawler.overview.overview_sections import OverviewSection, bars, columns, matrix, over_time, table
from aahcrawler.overview.periods import periods, worded
from aahcrawler.overview.spoken_pictures import Row, balance, shares
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.rendering import visible
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.views.annotation_settings import AnnotationSettings
from aahcrawler.service.views.conversation_graph import Conversation, Talk
from aahcrawler.service.views.spoken_of import (
    CrawlSpokenOf,
    Enriched,
    EventTold,
    OpinionTold,
    SpokenOf,
    SpokenOfOne,
    crawl_spoken_of,
    enriched_of,
    is_enriched,
    month_of,
    spoken_of,
    table_of,
)

LABELS: Final = {
    Kind.TOPIC: "Topic",
    Kind.ORGANISATION: "Organisation",
    Kind.PLACE: "Place",
    Kind.EVENT: "Event",
    Kind.NAME: "Name",
    Kind.PERSON: "Person",
}
"""What is called how on its page."""
OfSite = Annotated[str, Query(max_length=300)]
_MAX_KEPT: Final = 20
_BARS: Final = 8
_TOPICS: Final = 12
_IN_SEARCH: Final = frozenset({Kind.PERSON, Kind.ORGANISATION, Kind.PLACE, Kind.TOPIC})
_CSV: Final = "text/csv; charset=utf-8"


def routes(site: Site) -> APIRouter:
    """Return the routes of what crawls speak of."""
    router = APIRouter(prefix="/crawls/{crawl}/archive")
    indexes, counted = site.instruments.indexes, Counted()

    @router.get("/spoken")
    def show_all(session: Reading, crawl: str) -> Response:
        found = site.crawl(crawl)
        settings = AnnotationSettings.of(found)
        if not is_enriched(found):
            return site.crawl_page(session, found, "archive", "spoken.html", spoken=None)
        with enriched_of(indexes, found) as enriched:
            told = counted.of(found, enriched)
        leads = Leads(crawl, settings)
        values = {"spoken": told, "settings": settings, "sections": _shown(_sections(told, leads)), "leads": leads}
        return site.crawl_page(session, found, "archive", "spoken.html", **values)

    @router.get("/spoken.csv")
    def download(_: Reading, crawl: str) -> Response:
        with enriched_of(indexes, site.crawl(crawl)) as enriched:
            rows = [*table_of(enriched)]
        return as_csv(f"{crawl}-spoken-of", rows)

    def talk_of(crawl: str, of_site: str) -> Talk:
        found = site.crawl(crawl)
        with enriched_of(indexes, found) as enriched:
            return Talk(enriched, of_site, named=AnnotationSettings.of(found).people)

    @router.get("/conversations")
    def show_conversations(session: Reading, crawl: str, of: OfSite = "") -> Response:
        found = site.crawl(crawl)
        if not is_enriched(found):
            return site.crawl_page(session, found, "archive", "conversations.html", told=None)
        talk = talk_of(crawl, of)
        told, settings = talk.told(), AnnotationSettings.of(found)
        values = {"told": told, "settings": settings, "sections": _shown(_sections_of_talk(talk, told, crawl))}
        return site.crawl_page(session, found, "archive", "conversations.html", **values)

    @router.get("/conversations.graphml")
    def download_graph(_: Reading, crawl: str, of: OfSite = "") -> Response:
        named = {"Content-Disposition": f'attachment; filename="{crawl}-conversations.graphml"'}
        return Response(talk_of(crawl, of).graphml(), media_type="application/xml", headers=named)

    @router.get("/conversations.csv")
    def download_voices(_: Reading, crawl: str, of: OfSite = "") -> Response:
        head = ("name", "influence", "answers", "answered", "community")
        rows = (tuple(each.model_dump().values()) for each in talk_of(crawl, of).voices())
        return as_csv(f"{crawl}-conversations", (head, *rows))

    @router.get("/spoken/{kind}")
    def show_one(session: Reading, crawl: str, kind: Kind, of: Annotated[str, Query(max_length=2_000)]) -> Response:
        found = site.crawl(crawl)
        settings = AnnotationSettings.of(found)
        with enriched_of(indexes, found) as enriched:
            told = spoken_of(enriched, kind, of, settings)
        leads = Leads(crawl, settings)
        values = {
            "one": told,
            "label": LABELS.get(kind, kind),
            "settings": settings,
            "leads": leads,
            "sections": _shown(_sections_of_one(told, leads)),
            "judgements": _by_period(told),
            "links": () if kind is Kind.EVENT else settings.links(kind, told.spoken.label),
        }
        return site.crawl_page(session, found, "archive", "spoken_one.html", **values)

    return router


class Counted:
    """What was counted last of each crawl: it takes long for large ones, and is the same until something is added."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._told: dict[str, tuple[tuple[int, ...], CrawlSpokenOf]] = {}

    def of(self, crawl: Crawl, enriched: Enriched) -> CrawlSpokenOf:
        """Return what a crawl speaks of."""
        with self._lock:
            state, told = self._told.get(crawl.id, ((), None))
        if told is None or state != enriched.state:
            told = crawl_spoken_of(enriched)
            with self._lock:
                if len(self._told) >= _MAX_KEPT:
                    self._told.clear()
                self._told[crawl.id] = enriched.state, told
        return told.model_copy(update={"note": enriched.note})


def as_csv(name: str, rows: Iterable[Sequence[object]]) -> Response:
    """Return rows as a file (RFC 4180); what a spreadsheet would compute is written as text."""
    written = io.StringIO()
    csv.writer(written).writerows([_as_text(each) for each in row] for row in rows)
    return Response(
        written.getvalue(), media_type=_CSV, headers={"Content-Disposition": f'attachment; filename="{name}.csv"'}
    )


def _as_text(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


class Leads:
    """Where names of a crawl lead: to the page of each, and to the search for the objects that speak of it."""

    def __init__(self, crawl: str, settings: AnnotationSettings) -> None:
        self._crawl, self._settings = crawl, settings

    def page(self, kind: Kind, of: str, label: str) -> str:
        """Return the address of the page of something, or of the search where it has none."""
        if self._settings.has_page(kind):
            return address("crawls", self._crawl, "archive", "spoken", kind, of=of)
        return self.search(kind, label)

    def search(self, kind: Kind, label: str, period: str = "") -> str:
        """Return the address of the search for objects that speak of something; a mere name is searched as words."""
        words = label.replace('"', " ")
        query = f'{kind}:"{words}"' if kind in _IN_SEARCH else f'"{words}"'
        return address("search", q=query, crawl=self._crawl, **_dates(period))

    def capture(self, record: str, words: str) -> str:
        """Return the address of a capture with some words marked."""
        marked = " ".join(words.replace('"', " ").split()[:12])
        asked = f'"{marked}"' if marked else ""
        return address("crawls", self._crawl, "captures", record.removeprefix("urn:uuid:"), words=asked)


def _dates(period: str) -> dict[str, str]:
    """Return what asks the search for a period."""
    if not period:
        return {}
    if len(period) >= 4:
        return {"since": period, "until": period}
    return {"since": period.ljust(4, "0"), "until": period.ljust(4, "9")}


def _shown(sections: Iterable[OverviewSection]) -> list[tuple[OverviewSection, Markup]]:
    return [(each, Markup(visible(each.html))) for each in sections]  # noqa: S704 (it is escaped there)


def _sections(told: CrawlSpokenOf, leads: Leads) -> list[OverviewSection]:
    found = [_topics(told, leads)] if told.topics else []
    for name, title, every in (
        ("organisations", "Organisations", told.organisations),
        ("places", "Places", told.places),
        ("keywords", "Keywords", told.keywords),
        ("names", "Names of which is not known what bears them", told.names),
    ):
        if every:
            found.append(_ranked(name, title, every, leads.page))
    if told.events:
        found.insert(min(3, len(found)), _events(told.events, told.all_events, leads.page))
    return found


def _topics(told: CrawlSpokenOf, leads: Leads) -> OverviewSection:
    shown = told.topics[:_TOPICS]
    rows = [Row(each.label, each.months, leads.page(Kind.TOPIC, each.of, each.label)) for each in shown]

    def lead(place: int, period: str) -> str:
        return leads.search(Kind.TOPIC, shown[place].label, period)

    picture = shares("Topics over time", rows, told.published, lead)
    note = "<p>The larger a disk, the more of the objects that were published then speak of the topic.</p>"
    picture = picture + note if picture else _bars("Topics", shown, leads.page)
    lines = [
        (each.label, leads.page(Kind.TOPIC, each.of, each.label), (", ".join(each.terms), each.objects))
        for each in told.topics
    ]
    return OverviewSection("topics", "Topics", picture + table(("Topic", "stems of its terms", "objects"), lines))


def _ranked(name: str, title: str, every: Sequence[SpokenOf], lead: Callable[[Kind, str, str], str]) -> OverviewSection:
    rows = [(each.label, lead(each.kind, each.of, each.label), (each.objects, each.times)) for each in every]
    return OverviewSection(name, title, _bars(title, every[:_BARS], lead) + table((title, "objects", "times"), rows))


def _bars(title: str, every: Sequence[SpokenOf], lead: Callable[[Kind, str, str], str]) -> str:
    named = {each.of: each for each in every}
    labels = {of: each.label for of, each in named.items()}
    counts = {of: each.objects for of, each in named.items()}
    return bars(title, counts, labels, lambda of: lead(named[of].kind, of, labels[of]), "objects")


def _events(events: Sequence[EventTold], total: int, lead: Callable[[Kind, str, str], str]) -> OverviewSection:
    months = Counter(month_of(each.when) for each in events)
    times = periods({name: n for name, n in months.items() if name})
    picture = columns("Events", times.counts, lambda _: "", "events") if times.counts else ""
    rows = [(each.label, lead(Kind.EVENT, each.of, each.label), (each.when, each.objects)) for each in events]
    more = f"<p>The first {len(events):,} of {total:,}.</p>" if total > len(events) else ""
    outside = times.earlier + times.later
    far = f"<p>{outside:,} that lie far from all others are in the table alone.</p>" if outside else ""
    return OverviewSection("events", "Events", picture + more + far + table(("What happened", "when", "objects"), rows))


def _sections_of_one(told: SpokenOfOne, leads: Leads) -> list[OverviewSection]:
    spoken = told.spoken

    def of_time(period: str) -> str:
        return leads.search(spoken.kind, spoken.label, period)

    dated = {month: n for month, n in spoken.months.items() if month}
    found = [over_time("times", "Over time", dated, of_time, "web objects", spoken.months.get("", 0))]
    if told.beside:
        rows = [
            (each.label, leads.page(each.kind, each.of, each.label), (str(each.kind), each.objects))
            for each in told.beside
        ]
        best = sorted(told.beside, key=lambda each: -each.objects)[:_BARS]
        picture = _bars("Together with", best, leads.page)
        found.append(OverviewSection("beside", "Together with", picture + table(("Name", "kind", "objects"), rows)))
    if told.opinions:
        names = _periods_of(told)

        def sentences(period: str) -> str:
            return f"#opinions-{period}" if period in names else ""

        picture = balance("Praise and blame", told.months, sentences)
        counts = [(worded(month) or "no date", "", pair) for month, pair in told.months.items()]
        found.append(
            OverviewSection("balance", "Praise and blame", picture + table(("Time", "praise", "blame"), counts))
        )
    return found


def _sections_of_talk(talk: Talk, told: Conversation, crawl: str) -> list[OverviewSection]:
    if not told.answers:
        return []

    def lead(name: str) -> str:
        words = name.replace('"', " ")
        return address("search", q=f'author:"{words}"', crawl=crawl) if told.named else ""

    graph = talk.strongest()
    title = "Who answers whom"
    note = f"<p>From those in rows to those in columns: the {len(graph.names):,} with the most of {told.people:,}.</p>"
    rows = [(f"{one} → {other}", lead(one), (n,)) for one, other, n in told.links]
    picture = matrix(title, graph, lead, "answer", "people") + note + table(("From and to", "answers"), rows)
    voices = {each.name: round(1_000 * each.influence) for each in told.voices[:_BARS]}
    lines = [
        (each.name, lead(each.name), (f"{each.influence:.3f}", each.answered, each.answers, each.community or "–"))
        for each in told.voices
    ]
    influence = bars("Influence", voices, {}, lead, "thousandths")
    months = dict(talk.months())
    undated = months.pop("", 0)
    return [
        OverviewSection("graph", title, picture),
        OverviewSection(
            "influence",
            "Influence, in thousandths",
            influence + table(("Who", "influence", "is answered", "answers", "community"), lines),
        ),
        over_time("times", "Answers over time", months, lambda _: "", "answers", undated),
    ]


def _periods_of(told: SpokenOfOne) -> tuple[str, ...]:
    """Return the periods of the picture of praise and blame."""
    return tuple(periods({month: sum(pair) for month, pair in told.months.items() if month}).counts)


def _by_period(told: SpokenOfOne) -> list[tuple[str, str, list[OpinionTold]]]:
    """Return the sentences with opinions by the periods of their picture, each with its name and its words."""
    names = _periods_of(told)
    length = len(names[0]) if names else 0
    found: dict[str, list[OpinionTold]] = {}
    for each in told.opinions:
        period = month_of(each.published)[:length]
        found.setdefault(period if period in names else "", []).append(each)
    return [(name, worded(name) if name else "at another time, or none", found[name]) for name in sorted(found)]
