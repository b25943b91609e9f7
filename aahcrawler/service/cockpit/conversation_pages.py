"""Who answers whom on the sites of a crawl: a matrix, influence, communities, and the answers themselves."""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.overview.overview_sections import Chosen, OverviewSection, bars, matrix, over_time, table
from aahcrawler.service.api.page_routes import Span
from aahcrawler.service.cockpit.site import Reading, Site, address
from aahcrawler.service.cockpit.spoken_pages import as_csv
from aahcrawler.service.cockpit.spoken_sections import Leads, chosen_in, shown_sections
from aahcrawler.service.views.conversation_graph import Conversation, Talk
from aahcrawler.service.views.spoken_of import Quoted, TimeSpan, enriched_of, is_enriched

OfSite = Annotated[str, Query(max_length=300, alias="site")]
Name = Annotated[str, Query(max_length=300)]
_BARS: Final = 8
_NAMED: Final = 3


def routes(site: Site) -> APIRouter:
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
            "sections": shown_sections(_sections(talk, told, crawl, asked, chosen_in(span))),
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


def _sections(
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
