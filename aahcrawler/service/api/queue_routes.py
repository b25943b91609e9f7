"""Routes for what a crawl has still to fetch and what it left out: queue, sites, refusals, failures, and reasons."""

from collections.abc import Mapping
from math import inf
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Depends, Path, Query

from aahcrawler.event_index import EventQuery
from aahcrawler.frontier.protocol import State
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.catalog.gateway import AskingAgain
from aahcrawler.service.views import crawl_findings, live_feed, queue_pages, refused_links, site_pages
from aahcrawler.service.views.crawl_findings import RepairsView, SeedsPage, TrapsView
from aahcrawler.service.views.crawl_state import CrawlStates, CrawlStatus
from aahcrawler.service.views.live_feed import EventsPage
from aahcrawler.service.views.queue_pages import QueuePage, QueueQuery
from aahcrawler.service.views.refused_links import FailedPage, RefusedLinks, RefusedPage, RefusedQuery
from aahcrawler.service.views.site_pages import SiteOrder, SitePage, SiteQuery, SitesPage
from aahcrawler.service.views.url_story import ScoreHistories, ScoreHistory, UrlStory, url_story
from aahcrawler.service.web.problems import (
    BAD_SEARCH,
    BAD_URL,
    DAMAGED,
    NO_CRAWL,
    NO_SITE,
    NOT_RUNNING,
    UNAVAILABLE,
    ProblemError,
    problem_responses,
)
from aahcrawler.urls import MAX_LENGTH

_MAX_SITE_LENGTH = 255
_MAX_TEXT_LENGTH = 2_000
_FARTHEST = 10_000_000

Site = Annotated[str, Query(max_length=_MAX_SITE_LENGTH, description="A pay-level domain.", examples=["example.org"])]
Text = Annotated[
    str,
    Query(
        max_length=_MAX_TEXT_LENGTH,
        description="A part of URLs, a pattern with `*`, or `host:example.org`.",
        examples=["*/thread/*"],
    ),
]
Part = Annotated[str, Query(max_length=_MAX_TEXT_LENGTH, description="A part of URLs.")]
After = Annotated[str, Query(max_length=100, description="`next` of the answer before.")]
Row = Annotated[int, Query(ge=0, le=_FARTHEST, description="`next` of the answer before.")]
Score = Annotated[float | None, Query(ge=0, le=1e9)]
Url = Annotated[str, Query(max_length=4 * MAX_LENGTH, examples=["https://forum.example.org/thread/17"])]
ReasonName = Annotated[str, Query(max_length=500, examples=["too_deep"])]
_FRONTIER = problem_responses(NO_CRAWL, NOT_RUNNING, UNAVAILABLE)
_LOGS = problem_responses(NO_CRAWL, BAD_SEARCH, DAMAGED, UNAVAILABLE)
Waiting = Literal[State.QUEUED, State.LEASED, State.DUE, State.BLOCKED, State.FAILED]
Severity = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


def queue_routes(reach: CrawlRegistry, states: CrawlStates) -> APIRouter:
    """Return the routes, all below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}", route_class=AskingAgain, tags=["queue"])
    _add_state(router, reach, states)
    _add_queue(router, reach)
    _add_sites(router, reach)
    _add_refusals(router, reach)
    _add_url(router, reach, ScoreHistories())
    _add_log(router, reach)
    return router


def _add_state(router: APIRouter, reach: CrawlRegistry, states: CrawlStates) -> None:
    @router.get("", responses={**example_of(CrawlStatus), **problem_responses(NO_CRAWL)})
    def show_crawl(crawl: str) -> CrawlStatus:
        """Show what a crawl is doing: state, counts, rates, limits, workers and disk."""
        return states.status(reach.crawl(crawl))

    @router.get("/seeds", responses={**example_of(SeedsPage), **problem_responses(NO_CRAWL)})
    def list_seeds(
        crawl: str,
        verdict: Annotated[str, Query(max_length=100, examples=["not found"])] = "",
        after: Row = 0,
        limit: Annotated[int, Query(ge=1, le=crawl_findings.MAX_ROWS)] = 100,
    ) -> SeedsPage:
        """List the seeds with what became of them and what to do about it."""
        return crawl_findings.seeds_page(reach.crawl(crawl), verdict, after, limit)

    @router.get("/traps", responses=problem_responses(NO_CRAWL))
    def show_traps(crawl: str) -> TrapsView:
        """Show the traps that were met: endless parts of sites, and what shows the same again and again."""
        return crawl_findings.traps_of(states, reach.crawl(crawl))

    @router.get("/repairs", responses=problem_responses(NO_CRAWL))
    def show_repairs(crawl: str) -> RepairsView:
        """Show the actions that failed, and what was learned in their place, with the evidence."""
        return crawl_findings.repairs_of(states, reach.crawl(crawl))


def _add_queue(router: APIRouter, reach: CrawlRegistry) -> None:
    @router.get("/queue", responses={**example_of(QueuePage), **_FRONTIER, **problem_responses(BAD_SEARCH)})
    def list_queue(
        crawl: str,
        state: Waiting = State.QUEUED,
        site: Site = "",
        text: Text = "",
        lowest: Score = None,
        highest: Score = None,
        after: After = "",
        limit: Annotated[int, Query(ge=1, le=queue_pages.MAX_URLS)] = 50,
    ) -> QueuePage:
        """List URLs of the queue, the best first, or those that are leased, due, blocked or failed.

        A search looks for a short time and answers what it found; `next` goes on with the rest. A crawl that does not
        run is asked all the same.
        """
        low, high = -inf if lowest is None else lowest, inf if highest is None else highest
        query = QueueQuery(state, site, text, low, high, after, limit)
        return queue_pages.queue_page(reach, reach.crawl(crawl), query)


def _add_sites(router: APIRouter, reach: CrawlRegistry) -> None:
    @router.get("/sites", responses={**example_of(SitesPage), **_FRONTIER})
    def list_sites(
        crawl: str,
        text: Annotated[str, Query(max_length=_MAX_SITE_LENGTH)] = "",
        order: SiteOrder = "queued",
        queued_only: bool = False,
        after: Row = 0,
        limit: Annotated[int, Query(ge=1, le=site_pages.MAX_SITES)] = 50,
    ) -> SitesPage:
        """List the sites of a crawl with their counts, and what each waits for."""
        return site_pages.sites_page(reach, reach.crawl(crawl), SiteQuery(text, order, queued_only, after, limit))

    @router.get("/sites/{site}", responses={**example_of(SitePage), **_FRONTIER, **problem_responses(NO_SITE, DAMAGED)})
    def show_site(crawl: str, site: Annotated[str, Path(max_length=_MAX_SITE_LENGTH)]) -> SitePage:
        """Show one site: what is fetched next from it, what was not and why, and the rules that name it."""
        return site_pages.site_page(reach, reach.crawl(crawl), site)


def _refused_query(
    reason: ReasonName = "",
    site: Site = "",
    text: Part = "",
    after: After = "",
    limit: Annotated[int, Query(ge=1, le=refused_links.MAX_LINKS)] = 50,
) -> RefusedQuery:
    return RefusedQuery(reason, site, text, after, limit)


Refusals = Annotated[RefusedQuery, Depends(_refused_query)]


def _add_refusals(router: APIRouter, reach: CrawlRegistry) -> None:
    @router.get("/refused", responses={**example_of(RefusedPage), **_LOGS})
    def list_refused(crawl: str, query: Refusals) -> RefusedPage:
        """List links that were not followed, with the reason and the page that has them."""
        return RefusedLinks(reach.crawl(crawl)).refused(query)

    @router.get("/failures", responses={**example_of(FailedPage), **_LOGS})
    def list_failures(crawl: str, query: Refusals) -> FailedPage:
        """List URLs that could not be fetched, or answered with an error."""
        return RefusedLinks(reach.crawl(crawl)).failed(query)


def _add_url(router: APIRouter, reach: CrawlRegistry, histories: ScoreHistories) -> None:
    @router.get("/story", responses={**example_of(UrlStory), **_FRONTIER, **problem_responses(BAD_URL, DAMAGED)})
    def tell_story(crawl: str, url: Url) -> UrlStory:
        """Tell where a URL is and why, what keeps it from being fetched, and what can be done about it."""
        return url_story(reach, reach.crawl(crawl), url)

    @router.get("/story/score", responses={**example_of(ScoreHistory), **problem_responses(NO_CRAWL, BAD_URL, DAMAGED)})
    def explain_score(crawl: str, url: Url) -> ScoreHistory:
        """Tell how the score of a URL came about.

        The log of a large crawl is read bit by bit: while `coverage.read` is less than `coverage.of`, ask again.
        """
        found = reach.crawl(crawl)
        target = found.admission.target(url)
        if isinstance(target, str):
            raise ProblemError(BAD_URL, "give a whole http or https URL, percent-encoded as a query parameter")
        return histories.history(found, target.url)


def _add_log(router: APIRouter, reach: CrawlRegistry) -> None:
    @router.get("/log", responses={**example_of(EventsPage), **problem_responses(NO_CRAWL, BAD_SEARCH)})
    def search_log(
        crawl: str,
        text: Annotated[str, Query(max_length=_MAX_TEXT_LENGTH, description="Words, as for `aah events`.")] = "",
        level: Annotated[list[Severity] | None, Query(max_length=len(get_args(Severity)), examples=[["ERROR"]])] = None,
        number: Annotated[int | None, Query(ge=1, le=_FARTHEST, description="The number of a crawl.")] = None,
        since: Annotated[str, Query(max_length=40, examples=["2026-11-26T10:00"])] = "",
        until: Annotated[str, Query(max_length=40)] = "",
        after: After = "",
        limit: Annotated[int, Query(ge=1, le=live_feed.MAX_EVENTS)] = 100,
    ) -> EventsPage:
        """Search what the crawls of a folder logged, the newest first."""
        query = EventQuery(text, tuple(level or ()), number, since, until)
        return live_feed.events_page(reach.crawl(crawl), query, after, limit)


_REASON = {"name": "other_site", "words": "on other sites than the seeds"}
_URL = {
    "url": "https://forum.example.org/thread/17",
    "site": "example.org",
    "state": "queued",
    "score": 0.83,
    "depth": 2,
    "kind": "page",
    "via": "https://forum.example.org/",
    "at_front": False,
    "attempts": 0,
}
_SITE = {
    "name": "example.org",
    "queued": 1250,
    "leased": 1,
    "done": 310,
    "requisites_queued": 4,
    "best": 0.83,
    "delay": 2.0,
    "asked_delay": 0.0,
    "opens_in": 1.4,
    "is_paused": False,
    "waits_for": "its delay, for 1.4 s more",
}
_COVERAGE = {"read": 20480, "of": 20480}
_REFUSED = {
    "url": "https://elsewhere.example.net/",
    "site": "example.net",
    "reason": _REASON,
    "via": "https://forum.example.org/",
    "score": 0.2,
    "depth": 3,
    "kind": "page",
}
_FAILED = {
    "url": "https://forum.example.org/gone",
    "site": "example.org",
    "reason": {"name": "status 503", "words": "server error (503)"},
    "kind": "page",
    "via": "https://forum.example.org/",
}
_PART = {"analyser": "keywords", "weight": 1.0, "value": 0.83, "share": 0.83}

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "CrawlStatus": {
        "id": "flood",
        "title": "The flood",
        "crawl": 1,
        "state": "running",
        "reason": "",
        "is_live": True,
        "begun_at": "2026-11-26T10:00:00+00:00",
        "since": "2026-11-26T10:00:00+00:00",
        "seconds": 600.0,
        "pages": {"queued": 5000, "leased": 3, "done": 1200, "failed": 4, "blocked": 30, "due": 0},
        "fetched": 1200,
        "relevant": 700,
        "harvest_ratio": 0.5833,
        "rates": [{"seconds": 10.0, "pages": 2.1, "relevant": 1.2, "objects": 9.0, "requests": 3.0, "bytes": 81000.0}],
        "limits": [{"name": "limits.pages", "bound": 10000, "used": 1200, "share": 0.12}],
        "disk": {"free": 81000000000, "total": 250000000000},
    },
    "QueuePage": {
        "urls": [_URL],
        "looked_at": 50,
        "of": 5000,
        "next": "-830000.1.000000001f8f3b2a9d",
        "is_ordered": True,
    },
    "SitesPage": {"sites": [_SITE], "of": 40, "next": "50"},
    "SitePage": {
        "site": _SITE,
        "urls": [_URL],
        "refused": None,
        "failed": None,
        "avoided": [],
        "rules": ["host example.org"],
    },
    "RefusedPage": {
        "urls": [_REFUSED],
        "reasons": [{**_REASON, "count": 121}],
        "coverage": _COVERAGE,
        "next": "50",
    },
    "FailedPage": {
        "urls": [_FAILED],
        "reasons": [{"name": "status 503", "words": "server error (503)", "count": 4}],
        "of": 4,
        "coverage": _COVERAGE,
        "next": "",
    },
    "ChangesPage": {
        "visits": [
            {
                "url": "https://forum.example.org/thread/17",
                "at": "2026-11-26T10:00:00.000Z",
                "seconds": 0.21,
                "status": 200,
                "state": "changed",
                "kind": "content",
                "last_modified": "Thu, 26 Nov 2026 08:12:00 GMT",
                "byte_digest": "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
                "size": 18422,
                "requests": 1,
                "record_id": "urn:uuid:5f9c2e1a-0000-4000-8000-000000000017",
                "crawl": 2,
                "previous": "2026-11-19T10:00:00.000Z",
                "new": ["https://forum.example.org/thread/17#post-9"],
                "changed_after": "2026-11-26T08:12:00.000Z",
                "changed_before": "2026-11-26T08:12:00.000Z",
                "dated_by": "last-modified",
                "told": "changed in its content; web objects: 1 new",
                "before": "urn:uuid:5f9c2e1a-0000-4000-8000-000000000009",
            }
        ],
        "coverage": _COVERAGE,
        "next": "",
    },
    "UrlStory": {
        "url": "https://forum.example.org/thread/17",
        "site": "example.org",
        "state": "queued",
        "story": ["12 URLs of its site are fetched before it.", "Its site waits: its delay, for 1.4 s more."],
        "acts": ["fetch_now", "rescore", "block"],
        "queued": _URL,
        "ahead": 12,
        "waits_for": "its delay, for 1.4 s more",
        "coverage": _COVERAGE,
    },
    "ScoreHistory": {
        "url": "https://forum.example.org/thread/17",
        "events": [
            {
                "at": "2026-11-26T10:00:00.000+00:00",
                "crawl": 1,
                "what": "linked",
                "score": 0.83,
                "queued": 0.83,
                "source": "https://forum.example.org/",
                "parts": [_PART],
            }
        ],
        "of": 1,
        "parts": [_PART],
        "coverage": _COVERAGE,
    },
    "SeedsPage": {
        "seeds": [
            {
                "url": "https://forum.example.org/",
                "verdict": "not found",
                "advice": "correct it in the ICD",
                "detail": "status 404",
                "ended_at": "",
                "pages": 0,
                "objects": 0,
            }
        ],
        "verdicts": {"fetched": 11, "not found": 1},
        "of": 12,
        "next": "",
    },
    "EventsPage": {
        "events": [
            {
                "at": "2026-11-26T10:00:00.123Z",
                "level": "INFO",
                "crawl": 1,
                "subsystem": "crawl.response.handler",
                "message": "https://forum.example.org/ 200 new",
            }
        ],
        "unread": 0,
        "next": "4711",
    },
}
"""Examples by the name of their model."""


def example_of(model: type) -> dict[int | str, dict[str, Any]]:
    """Return the description of a response with an example of a model."""
    return {200: {"content": {"application/json": {"example": EXAMPLES[model.__name__]}}}}
