"""Relevance on the way from a page to the links that are followed: what the page tells of its dates, and thresholds."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aahcrawler.frontier.protocol import Lease
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.page import Headers, Page
from aahcrawler.pipeline.links import LinkRules, discover_links
from aahcrawler.pipeline.score import understand
from aahcrawler.scope import Scope, SourceRefusal
from aahcrawler.traps.traps import Traps
from knowledge_base.model import KnowledgeBase
from online_analysis.document import Times
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
