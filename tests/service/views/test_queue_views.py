"""What is shown of a crawl's queue, and of what it left aside."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aahcrawler.adaptation.learned import Decisions
from aahcrawler.adaptation.learned import State as Decided
from aahcrawler.adaptation.overlay import Overlay
from aahcrawler.event_index import EventQuery
from aahcrawler.frontier.protocol import State
from aahcrawler.layout import INDEXES, LEARNED, REFUSALS_INDEX, REFUSED, SCORES
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views import queue_pages
from aahcrawler.service.views.crawl_findings import matters, repairs_of, seeds_page, traps_of
from aahcrawler.service.views.crawl_state import CrawlStates
from aahcrawler.service.views.live_feed import events_page
from aahcrawler.service.views.queue_pages import QueuePage, QueueQuery, queue_page
from aahcrawler.service.views.refused_links import RefusedLinks, RefusedQuery
from aahcrawler.service.views.site_pages import SiteQuery, site_page, sites_page
from aahcrawler.service.views.url_story import ScoreHistories, url_story
from aahcrawler.service.web.problems import ProblemError
from tests.adaptation.test_overlay import SIGN
from tests.pace import at_most
from tests.service.asking import begun
from tests.service.views.folders import (
    BLOCKED,
    FAILED,
    FRONT,
    QUEUED,
    REFUSED_URL,
    fill,
    serving_frontier,
    write_crawl,
)

pytestmark = pytest.mark.starts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views") / "crawl"
    write_crawl(folder)
    return folder


@pytest.fixture(scope="module")
def reach(folder: Path) -> Iterator[CrawlRegistry]:
    reach = CrawlRegistry.of(Catalog([folder]), None)
    yield reach
    reach.close()


@pytest.fixture
def crawl(reach: CrawlRegistry) -> Crawl:
    return reach.crawl("test")


def pages(reach: CrawlRegistry, crawl: Crawl, query: QueueQuery) -> list[QueuePage]:
    """Return all pages of a listing."""
    found = [queue_page(reach, crawl, query)]
    while found[-1].next:
        after = found[-1].next
        found.append(
            queue_page(
                reach,
                crawl,
                QueueQuery(query.state, query.site, query.text, query.lowest, query.highest, after, query.most),
            )
        )
    return found


def test_the_queue_is_paged_best_first_and_complete(reach: CrawlRegistry, crawl: Crawl) -> None:
    found = pages(reach, crawl, QueueQuery(most=70))
    urls = [url for page in found for url in page.urls]
    assert len({url.url for url in urls}) == len(urls) == found[0].of == 341
    scores = [url.score for url in urls if url.score is not None]
    assert scores == sorted(scores, reverse=True)
    assert (urls[-1].url, urls[-1].score) == ("http://a.test/unscored", None)
    assert (urls[0].url, urls[0].via, urls[0].depth) == ("http://a.test/thread/300", FRONT, 1)


def test_the_queue_is_found_by_site_score_and_text(reach: CrawlRegistry, crawl: Crawl) -> None:
    of_site = pages(reach, crawl, QueueQuery(site="q7.test"))
    assert [url.url for page in of_site for url in page.urls] == ["http://q7.test/"]
    middle = pages(reach, crawl, QueueQuery(lowest=0.3, highest=0.51, most=20))
    scores = [url.score for page in middle for url in page.urls if url.score is not None]
    assert (max(scores), min(scores), len(scores)) == (0.51, 0.3, 10 + 10)
    found = pages(reach, crawl, QueueQuery(text="*/thread/29*"))
    assert len(found[0].urls) == 11
    assert (found[0].looked_at, found[0].of, found[0].is_ordered) == (341, 341, False)
    of_host = queue_page(reach, crawl, QueueQuery(text="host:a.test", most=5))
    assert of_host.is_ordered
    assert {url.site for url in of_host.urls} == {"a.test"}


def test_a_search_that_takes_long_goes_on_where_it_stopped(
    reach: CrawlRegistry, crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_pages, "LOOKED_SECONDS", 0.0)
    found = pages(reach, crawl, QueueQuery(site="a.test", text="thread/77"))
    assert len(found) > 100
    assert [url.url for page in found for url in page.urls] == ["http://a.test/thread/77"]


def test_other_states_are_listed_with_their_reasons(reach: CrawlRegistry, crawl: Crawl) -> None:
    (blocked,) = queue_page(reach, crawl, QueueQuery(State.BLOCKED)).urls
    assert (blocked.url, blocked.reason and blocked.reason.words) == (BLOCKED, "blocked by the rule host spam.test")
    (failed,) = queue_page(reach, crawl, QueueQuery(State.FAILED)).urls
    assert (failed.url, failed.via, failed.reason and failed.reason.words) == (FAILED, FRONT, "not found (404)")
    assert queue_page(reach, crawl, QueueQuery(State.LEASED)).urls == ()
    assert queue_page(reach, crawl, QueueQuery(State.DUE)).urls == ()


@pytest.mark.parametrize(
    "query",
    [QueueQuery(State.DONE), QueueQuery(text="two words"), QueueQuery(after="x"), QueueQuery(State.DUE, after="-3")],
)
def test_what_cannot_be_looked_for_is_told(reach: CrawlRegistry, crawl: Crawl, query: QueueQuery) -> None:
    with pytest.raises(ProblemError):
        queue_page(reach, crawl, query)


def test_sites_say_what_they_wait_for(reach: CrawlRegistry, crawl: Crawl) -> None:
    page = sites_page(reach, crawl, SiteQuery(most=2))
    assert (page.sites[0].name, page.sites[0].queued, page.sites[0].done) == ("a.test", 301, 1)
    assert page.sites[0].waits_for == ""
    assert sites_page(reach, crawl, SiteQuery(text="q1", after=int("2"), most=5)).of == 11
    with reach.frontier(crawl) as frontier:
        frontier.pause_queue("a.test")
        assert sites_page(reach, crawl, SiteQuery(most=1)).sites[0].waits_for == "the site is paused"
        frontier.resume_queue("a.test")
    (spam,) = sites_page(reach, crawl, SiteQuery(text="spam")).sites
    assert spam.waits_for == "blocked by the rule host spam.test"
    best = sites_page(reach, crawl, SiteQuery(order="best", queued_only=True, most=3))
    assert [site.best for site in best.sites] == [0.8, 0.39, 0.38]


def test_one_site_tells_its_queue_and_what_was_avoided(reach: CrawlRegistry, crawl: Crawl) -> None:
    site = site_page(reach, crawl, "a.test")
    assert [url.url for url in site.urls[:2]] == ["http://a.test/thread/300", "http://a.test/thread/299"]
    assert [(each.name, each.count) for each in site.avoided] == [("a.test/cal/*", 7)]
    assert site.refused is not None
    assert [url.url for url in site.refused.urls] == ["http://a.test/copy"]
    with pytest.raises(ProblemError, match="never offered"):
        site_page(reach, crawl, "never.test")


def test_refused_links_are_paged_and_found_by_reason(crawl: Crawl) -> None:
    page = RefusedLinks(crawl).refused(RefusedQuery(most=100))
    assert {each.name: each.count for each in page.reasons} == {"other_site": 121, "near_duplicate": 1}
    rest = RefusedLinks(crawl).refused(RefusedQuery(after=page.next, most=100))
    assert len({each.url for each in (*page.urls, *rest.urls)}) == 122
    assert rest.next == ""
    assert rest.coverage.is_whole
    (copy,) = RefusedLinks(crawl).refused(RefusedQuery(reason="near_duplicate")).urls
    assert (copy.via, copy.reason.words) == (FRONT, "on a copy of another page")
    assert RefusedLinks(crawl).refused(RefusedQuery(text="ELSEWHERE.test/77")).urls[0].score == 0.1
    assert RefusedLinks(crawl).failed(RefusedQuery(site="a.test")).urls == ()


def test_the_index_of_refused_links_is_made_anew_where_it_is_damaged(crawl: Crawl, folder: Path) -> None:
    index = folder / INDEXES / REFUSALS_INDEX
    before = RefusedLinks(crawl).refused(RefusedQuery()).reasons
    for path in index.parent.glob(f"{REFUSALS_INDEX}*"):
        path.unlink()
    index.write_bytes(b"no database at all" * 500)
    assert RefusedLinks(crawl).refused(RefusedQuery()).reasons == before
    assert any((folder / REFUSED).iterdir())


def test_the_story_of_each_url_says_why_and_what_can_be_done(reach: CrawlRegistry, crawl: Crawl) -> None:
    queued = url_story(reach, crawl, "HTTP://A.test/thread/1")
    assert (queued.url, queued.state, queued.ahead) == (QUEUED, State.QUEUED, 299)
    assert queued.story[0] == "299 URLs of its site are fetched before it."
    assert queued.acts == ("fetch_now", "rescore", "block")
    refused = url_story(reach, crawl, REFUSED_URL)
    assert refused.state is None
    assert refused.story[0] == f"A link to it on {FRONT} was not followed: on other sites than the seeds."
    assert (refused.scope and refused.scope.name, refused.acts) == ("other_site", ("block",))
    failed = url_story(reach, crawl, FAILED)
    assert (failed.state, failed.reason and failed.reason.words) == (State.FAILED, "not found (404)")
    assert [event.level for event in failed.events] == ["ERROR"]
    blocked = url_story(reach, crawl, BLOCKED)
    assert (blocked.rule, blocked.acts) == ("host spam.test", ("unblock",))
    assert url_story(reach, crawl, FRONT).acts == ("revisit",)
    assert "never queued" in url_story(reach, crawl, "http://a.test/nowhere").story[0]
    with pytest.raises(ProblemError, match="whole http"):
        url_story(reach, crawl, "mailto:x@a.test")


def test_a_score_is_explained_once_the_log_is_read(crawl: Crawl) -> None:
    history = ScoreHistories().history(crawl, QUEUED)
    assert history.coverage.is_whole
    assert [(event.what, event.score, event.queued, event.source) for event in history.events] == [
        ("linked", 0.501, 0.501, FRONT)
    ]
    halting = ScoreHistories(0.0)
    assert not halting.history(crawl, QUEUED).coverage.is_whole
    assert ScoreHistories().history(crawl, REFUSED_URL).events[0].note == "other_site"


def test_events_are_found_the_newest_first(crawl: Crawl) -> None:
    page = events_page(crawl, EventQuery(), most=2)
    assert [event.at[-4:-1] for event in page.events] == ["002", "001"]
    rest = events_page(crawl, EventQuery(), page.next, 2)
    assert ([event.at[-4:-1] for event in rest.events], rest.next) == (["000"], "")
    assert [event.level for event in events_page(crawl, EventQuery(levels=("ERROR",))).events] == ["ERROR"]
    for query, after in ((EventQuery("-x"), ""), (EventQuery(), "x")):
        with pytest.raises(ProblemError):
            events_page(crawl, query, after)


def test_damage_is_told_without_the_paths_of_the_machine(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    write_crawl(folder)
    for log in (REFUSED, SCORES):
        (path,) = (folder / log).iterdir()
        path.write_bytes(b"x" * 100)
    crawl = Catalog([folder]).crawls()[0]
    for ask in (lambda: RefusedLinks(crawl).refused(RefusedQuery()), lambda: ScoreHistories().history(crawl, QUEUED)):
        with pytest.raises(ProblemError) as problem:
            ask()
        assert problem.value.kind.name == "damaged"
        assert str(tmp_path) not in problem.value.detail


def test_a_crawl_that_has_written_nothing_yet_shows_nothing(tmp_path: Path) -> None:
    begun(tmp_path)
    crawl = Catalog([tmp_path]).crawls()[0]
    assert events_page(crawl, EventQuery()).events == ()
    assert RefusedLinks(crawl).refused(RefusedQuery()).coverage.is_whole
    assert ScoreHistories().history(crawl, QUEUED).events == ()
    assert seeds_page(crawl).seeds == ()
    reach = CrawlRegistry.of(Catalog([tmp_path]), None)
    assert CrawlStates(reach).status(crawl).state == "unknown"
    with pytest.raises(ProblemError):
        queue_page(reach, crawl, QueueQuery())
    reach.close()


def test_a_crawl_at_rest_is_shown_by_what_it_said_last(reach: CrawlRegistry, crawl: Crawl) -> None:
    states = CrawlStates(reach)
    status = states.status(crawl)
    assert (status.state, status.reason, status.is_live) == ("stopped", "interrupted", False)
    assert (status.fetched, status.harvest_ratio, status.pages[State.QUEUED]) == (2, 1.0, 341)
    assert [(limit.name, limit.used) for limit in status.limits] == [("limits.pages", 2), ("limits.requisite_bytes", 0)]
    assert [seed.verdict for seed in seeds_page(crawl, "not found").seeds] == ["not found"]
    assert traps_of(states, crawl).pages == ()
    (failed,) = repairs_of(states, crawl).failed
    assert (failed.where, failed.reason, failed.pages, failed.mended) == (
        "WordPress/post/extract",
        "nothing-found",
        4,
        3,
    )


def test_what_a_crawl_needs_a_person_for_is_said(reach: CrawlRegistry, crawl: Crawl) -> None:
    found = list(matters(crawl, CrawlStates(reach).status(crawl)))
    assert [(each.words, each.page, dict(each.asked)) for each in found] == [
        ("It stands still: interrupted", "", {}),
        ("1 of 2 seeds gives nothing: not found", "seeds", {"verdict": "not found"}),
    ]
    assert found[1].advice


def test_what_people_decided_is_shown_of_what_was_learned(reach: CrawlRegistry, crawl: Crawl) -> None:
    assert crawl.folder is not None
    learned = crawl.folder / LEARNED
    Overlay(learned).keep(SIGN)
    (waiting,) = repairs_of(CrawlStates(reach), crawl).learned
    assert waiting.decided == ""
    Decisions(learned).note(SIGN, Decided.REJECTED, "Ada", "too common")
    (rejected,) = repairs_of(CrawlStates(reach), crawl).learned
    assert rejected.decided.startswith("rejected by Ada on ")
    assert rejected.decided.endswith(": too common")


def test_a_crawl_that_runs_is_shown_as_it_is_with_its_rates(tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    icd = write_crawl(folder)
    reach, clock = CrawlRegistry.of(Catalog([folder]), None), [0.0]
    states = CrawlStates(reach, lambda: clock[0])
    with serving_frontier(folder, icd) as frontier:
        crawl = reach.crawl("test")
        assert states.status(crawl).state == "running"
        frontier.count({"pages": 50, "bytes": 1e6})
        clock[0] = 10.0
        with at_most(0.2):
            status = states.status(crawl)
        assert (status.fetched, status.rates[0].pages, status.rates[0].seconds) == (52, 5.0, 10.0)
        frontier.pause()
        assert (states.status(crawl).state, states.status(crawl).reason) == ("paused", "paused by an operator")
        assert traps_of(states, crawl).pages[0].count == 2
        frontier.remove()
        fill(frontier)
    reach.close()
