"""Relevance on the way from a page to the links that are followed: what the page tells of its dates, and thresholds."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.page import Headers, Page
from aahcrawler.page.onward import MAX_REDIRECTS
from aahcrawler.pipeline.analysis import understand
from aahcrawler.pipeline.links import LinkRules, discover_links
from aahcrawler.scope import Scope, SourceRefusal
from aahcrawler.traps.traps import Traps
from knowledge_base.model import KnowledgeBase
from online_analysis.analysers import RelevanceAnalyser
from online_analysis.document import Document, Times
from online_analysis.icd import Event, Relevance
from online_analysis.topic import Topic
from tests.online_analysis.definitions import with_lines

PAGE = "https://forum.example.org/report"
LEASE = Lease(PAGE, "example.org", 0.5, 1, "page", "", 1, "")
LINKS = (
    Link("https://forum.example.org/next", LinkType.PAGE, "next", 0.4),
    Link("https://forum.example.org/style.css", LinkType.REQUISITE),
)


def rules(follow: float) -> LinkRules:
    icd = with_lines(f"scoring: {{follow: {follow}}}")
    return LinkRules(Scope(icd), Traps(icd.traps), follows_from=icd.scoring.follow, requisites_per_page=10)


@pytest.mark.parametrize(
    ("score", "follow", "followed"), [(0.3, 0.3, True), (0.299, 0.3, False), (0.0, 0.0, True), (None, 0.9, True)]
)
def test_links_of_pages_below_the_threshold_are_not_followed(
    score: float | None, follow: float, followed: bool
) -> None:
    found = discover_links(LEASE, Metadata(links=LINKS, score=score), rules(follow))
    assert [offer.url for offer in found.offers if offer.kind == "page"] == ([LINKS[0].url] if followed else [])
    assert [offer.url for offer in found.offers if offer.kind == "requisite"] == [LINKS[1].url]
    assert found.counts == ({} if followed else {f"refused:{SourceRefusal.OFF_TOPIC}": 1})


def test_a_page_that_is_no_relevant_one_redirects_all_the_same() -> None:
    links = (Link("https://forum.example.org/moved", LinkType.REDIRECT),)
    assert discover_links(LEASE, Metadata(links=links, score=0.0), rules(0.9)).redirect == links[0].url


def test_where_too_many_redirects_end_is_kept_among_the_refused() -> None:
    links = (Link("https://forum.example.org/moved", LinkType.REDIRECT),)
    lease = replace(LEASE, path="L" + Hop.REDIRECT * MAX_REDIRECTS)
    found = discover_links(lease, Metadata(links=links), rules(0.0))
    assert found.redirect is None
    assert {reason: [offer.url for offer in offers] for reason, offers in found.rejected.items()} == {
        "redirects": [links[0].url]
    }


ARTICLE = b"""<!doctype html><html lang=en><title>The flood</title><body><article><h1>The flood</h1>
<p class=date>9 June 2013</p><p>The river flooded the old town in the night, and volunteers filled sandbags until the
morning came. Nobody was hurt, said the mayor, but the damage would be counted for weeks to come in the old town.</p>
<p>By noon the crest had passed, and the water fell slowly. The bridge stays closed until engineers have looked at its
piers, which may take until the end of the week.</p></article></body></html>"""


@pytest.mark.parametrize("memento", [False, True])
def test_a_document_has_what_the_page_tells_of_its_dates(memento: bool) -> None:
    captured = datetime(2013, 7, 1, tzinfo=UTC)
    headers = Headers((("Content-Type", "text/html"), ("Last-Modified", "Mon, 10 Jun 2013 08:00:00 GMT")))
    page = Page(PAGE, 200, headers, ARTICLE, captured)
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    document = understand(replace(page, memento=memento), helper, lambda url: url).document
    shown, modified = datetime(2013, 6, 9, tzinfo=UTC), datetime(2013, 6, 10, 8, tzinfo=UTC)
    assert document.times == Times(captured, memento, modified, shown)


ELECTIONS = {
    "en": """
The parliamentary election brought losses for the coalition. Voters chose a new parliament, the opposition won seats.
Turnout in the parliamentary election was low, and the coalition lost its majority. The opposition celebrated its seats.
The bakery at the market has new owners. Bread is baked in the old oven from four in the morning, they say.
{day} September {year}""",
    "de": """
Die Parlamentswahl brachte Verluste für die Koalition. Die Wähler bestimmten das Parlament, die Opposition gewann Sitze.
Die Beteiligung an der Parlamentswahl war gering, und die Koalition verlor ihre Mehrheit. Die Opposition feierte Sitze.
Die Bäckerei am Markt hat neue Inhaber. Brot wird ab vier Uhr morgens im alten Ofen gebacken, sagen sie.
{day}. September {year}""",
    "fr": """
Les élections législatives ont coûté des sièges à la coalition. Les électeurs ont choisi, l'opposition gagne des sièges.
La participation aux élections législatives était faible, la coalition a perdu sa majorité. L'opposition a des sièges.
La boulangerie du marché a de nouveaux propriétaires. Le pain y est cuit dans le vieux four dès quatre heures.
{day} septembre {year}""",
    "es": """
Las elecciones parlamentarias trajeron pérdidas a la coalición. Los votantes eligieron, la oposición ganó escaños.
La participación en las elecciones parlamentarias fue baja, la coalición perdió su mayoría. La oposición ganó escaños.
La panadería del mercado tiene nuevos dueños. El pan se hornea en el viejo horno desde las cuatro de la mañana.
{day} de septiembre de {year}""",
    "el": """
Οι βουλευτικές εκλογές έφεραν απώλειες στον συνασπισμό. Οι ψηφοφόροι εξέλεξαν νέα βουλή, η αντιπολίτευση κέρδισε έδρες.
Η συμμετοχή στις βουλευτικές εκλογές ήταν χαμηλή, ο συνασπισμός έχασε την πλειοψηφία. Η αντιπολίτευση κέρδισε έδρες.
Ο φούρνος στην αγορά έχει νέους ιδιοκτήτες. Το ψωμί ψήνεται στον παλιό φούρνο από τις τέσσερις το πρωί.
{day} Σεπτεμβρίου {year}""",
}
"""Of each language a line of a reference document on an election, one of a report, one of another page, and a day."""


@pytest.mark.parametrize("language", ELECTIONS)
def test_of_recurring_events_the_one_of_the_time_is_told_from_others_in_many_languages(language: str) -> None:
    reference, report, other, day = ELECTIONS[language].strip().split("\n")
    event = Event(
        start=datetime(2013, 9, 22, tzinfo=UTC),
        end=datetime(2013, 9, 22, 23, tzinfo=UTC),
        lead=timedelta(days=60),
        cool_down=timedelta(days=14),
    )

    def read(text: str, number: int, year: int) -> Document:
        shown = day.format(day=number, year=year)
        html = (
            f"<!doctype html><html lang={language}><meta charset=utf-8><title>{text[:20]}</title><body><article>"
            f"<h1>{text[:20]}</h1><p class=date>{shown}</p><p>{text}</p><p>{text}</p></article></body></html>"
        )
        headers = Headers((("Content-Type", "text/html; charset=utf-8"),))
        page = Page(f"https://news.example.org/{number}", 200, headers, html.encode(), datetime(2016, 1, 1, tzinfo=UTC))
        return understand(page, ApplicationAwareHelper(KnowledgeBase(())), lambda url: url).document

    pages = {
        "now": read(report, 23, 2013),
        "then": read(report, 28, 2009),
        "other": read(other, 23, 2013),
    }
    topic = Topic((), (reference,))

    def scores(**settings: object) -> dict[str, float]:
        judge = RelevanceAnalyser(Relevance.model_validate(settings), topic, event)
        return {name: judge.relevance(document).score for name, document in pages.items()}

    content = scores(combination="linear", alpha=1)
    assert content["now"] == content["then"] > content["other"]
    for settings in ({}, {"combination": "product"}, {"combination": "linear"}, {"dates": "klein"}):
        found = scores(**settings)
        assert found["now"] > max(found["then"], found["other"]), settings
