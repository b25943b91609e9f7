"""Routes for following crawls: states and counts, changes that visits found, events, metrics for Prometheus."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.requests import HTTPConnection
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.types import Message, Send

from aahcrawler.frontier.protocol import State
from aahcrawler.revisits.visit_record import ChangeKind, ChangeState, WantedVisits
from aahcrawler.service.api.queue_routes import After, Part, example_of
from aahcrawler.service.catalog.crawl_catalog import Crawl, Fault
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.catalog.gateway import AskingAgain, Gateway
from aahcrawler.service.views import change_list
from aahcrawler.service.views.change_list import ChangeList, ChangesPage, ChangesQuery, asked_moment
from aahcrawler.service.views.crawl_state import CrawlStates, CrawlStatus
from aahcrawler.service.views.live_feed import LiveEvent, LiveFeed
from aahcrawler.service.views.prometheus_text import MEDIA_TYPE, metrics_text
from aahcrawler.service.web.entrance import BEARER, caller_of
from aahcrawler.service.web.problems import (
    BAD_SEARCH,
    BAD_URL,
    DAMAGED,
    ENTRANCE,
    NO_CRAWL,
    NO_URL,
    TOO_MANY_STREAMS,
    UNAVAILABLE,
    ProblemError,
    problem_responses,
)
from aahcrawler.service.web.roles import Role, Tokens, checked
from aahcrawler.urls import MAX_LENGTH, canonicalize


class CountsView(BaseModel):
    """URLs by state, pages and requisites apart, and how many queues hold some."""

    pages: Mapping[State, int]
    requisites: Mapping[State, int]
    queues: int
    reasons: Mapping[str, int]


class CrawlView(BaseModel):
    """A crawl. ``reachable`` says whether URLs can be posted to it now; where not, ``detail`` says why."""

    id: str
    title: str
    crawl: int
    update: str
    reachable: bool
    detail: str = ""
    counts: CountsView | None = None


class UrlView(BaseModel):
    """The state of a URL. Score, depth and ``via`` are null once it has ended; ``via`` is empty for a seed."""

    url: str
    state: State
    score: float | None = None
    depth: int | None = None
    via: str | None = None
    immediate: bool = False
    reason: str = ""


class Overview:
    """Reads states from frontiers. Blocks until they respond."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def crawl(self, crawl: Crawl) -> CrawlView:
        """Return a crawl with its counts; without them if its frontier cannot be reached."""
        shown = CrawlView(
            id=crawl.id,
            title=crawl.icd.title,
            crawl=crawl.number,
            update=crawl.icd.scoring.update,
            reachable=False,
        )
        try:
            with self._gateway.frontier(crawl) as frontier:
                counts = frontier.counts()
        except ProblemError as problem:
            return shown.model_copy(update={"detail": problem.detail})
        shown_counts = CountsView(
            pages=counts.pages, requisites=counts.requisites, queues=counts.queues, reasons=counts.reasons
        )
        return shown.model_copy(update={"reachable": True, "counts": shown_counts})

    def url(self, crawl: Crawl, text: str) -> UrlView:
        """Return the state of a URL. Raise ``ProblemError`` for an invalid one, or one that the crawl does not know."""
        target = crawl.admission.target(text)
        if isinstance(target, Fault):
            raise ProblemError(BAD_URL, "give a whole http or https URL, percent-encoded as a query parameter")
        with self._gateway.frontier(crawl) as frontier:
            status = frontier.status(target.url)
        if status is None:
            raise ProblemError(NO_URL, f"{target.url} was never offered to {crawl.id}")
        shown = UrlView(url=target.url, state=status.state, immediate=status.at_front, reason=status.reason)
        offer = status.offer
        return shown.model_copy(
            update={"score": offer.score if offer.score >= 0 else None, "depth": offer.depth, "via": offer.via}
            if offer is not None
            else {}
        )


ATOM: Final = "application/atom+xml"
Moment = Annotated[
    str, Query(max_length=40, description="In UTC, unless it says otherwise.", examples=["2026-11-26T10:00"])
]
_LOGS: Final = problem_responses(NO_CRAWL, BAD_SEARCH, DAMAGED, UNAVAILABLE)


class AtomResponse(Response):
    """An Atom feed."""

    media_type = ATOM


def _wanted_visits(
    url: Annotated[str, Query(max_length=4 * MAX_LENGTH, examples=["https://forum.example.org/thread/17"])] = "",
    text: Part = "",
    since: Moment = "",
    until: Moment = "",
    state: Annotated[list[ChangeState] | None, Query(max_length=len(ChangeState), examples=[["changed"]])] = None,
    kind: Annotated[list[ChangeKind] | None, Query(max_length=len(ChangeKind), examples=[["content"]])] = None,
    telling: bool = False,
) -> WantedVisits:
    named = (canonicalize(url) or url) if url else None
    return WantedVisits(
        named,
        asked_moment("since", since),
        asked_moment("until", until),
        frozenset(state or ()),
        frozenset(kind or ()),
        text,
        telling,
    )


Wanted = Annotated[WantedVisits, Depends(_wanted_visits)]


def change_routes(reach: CrawlRegistry) -> APIRouter:
    """Return the routes, all below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}", route_class=AskingAgain, tags=["changes"])

    @router.get("/changes", responses={**example_of(ChangesPage), **_LOGS})
    def list_changes(
        crawl: str,
        wanted: Wanted,
        after: After = "",
        limit: Annotated[int, Query(ge=1, le=change_list.MAX_CHANGES)] = 50,
    ) -> ChangesPage:
        """List visits of pages, the newest first: what each found, when that changed, and what it cost.

        With `telling`, only those after which a page is another one for its readers. A search looks at a bounded number
        of visits and answers what it found; `next` goes on with the rest.
        """
        return ChangeList(reach.crawl(crawl)).page(ChangesQuery(wanted, after, limit))

    @router.get(
        "/changes.atom",
        responses={200: {"content": {ATOM: {}}}, **_LOGS},
        response_class=AtomResponse,
    )
    def feed_changes(request: Request, crawl: str, wanted: Wanted) -> Response:
        """Give the newest visits as an Atom feed (RFC 4287)."""
        return AtomResponse(ChangeList(reach.crawl(crawl)).feed(wanted, str(request.url)))

    return router


EVENT_STREAM = "text/event-stream"
_logger = logging.getLogger(__name__)
_AGAIN = 3000
"""Milliseconds after which a client that was cut off asks again."""
_UNBUFFERED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_STREAM: dict[str, Any] = {
    EVENT_STREAM: {
        "schema": {
            "description": "One event of the stream.",
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "Where the log goes on after these lines."},
                "event": {"enum": ["status", "log"]},
                "data": {"type": "string", "contentMediaType": "application/json"},
                "retry": {"type": "integer"},
            },
        },
        "example": 'event: status\ndata: {"id": "flood", "state": "running"}\n\nid: 1-2048\nevent: log\n'
        'data: {"lines": [{"at": "2026-11-26T10:00:00.123Z", "level": "INFO", "crawl": 1, '
        '"subsystem": "crawl.response.handler", "message": "https://forum.example.org/ 200 new"}], "skipped": 0}\n\n',
    }
}


class EventResponse(StreamingResponse):
    """A stream that is closed if its client accepts no data for some seconds, as it would block others."""

    taken_within = 60.0

    async def stream_response(self, send: Send) -> None:
        """Send the stream until it ends or the client stops accepting data."""

        async def in_time(message: Message) -> None:
            async with asyncio.timeout(self.taken_within):
                await send(message)

        try:
            await super().stream_response(in_time)
        except TimeoutError:
            _logger.info("a stream is given up, whose client has taken nothing for %g seconds", self.taken_within)


def live_routes(feed: LiveFeed) -> APIRouter:
    """Return the route for live events, below one crawl."""
    router = APIRouter(prefix="/crawls/{crawl}", tags=["live"])

    @router.get(
        "/events",
        response_class=EventResponse,
        responses={200: {"content": _STREAM}, **problem_responses(NO_CRAWL, TOO_MANY_STREAMS)},
    )
    async def follow(
        crawl: str,
        last_event_id: Annotated[
            str, Header(max_length=40, description="The `id` of the last event that was seen: its log is gone on with.")
        ] = "",
    ) -> EventResponse:
        """Follow a crawl: `status` (as `GET /v1/crawls/{crawl}`) when it changes, `log` with new lines of its log."""
        await feed.check(crawl)
        stream = _written(feed.events(crawl, last_event_id))
        return EventResponse(stream, media_type=EVENT_STREAM, headers=_UNBUFFERED)

    return router


def metric_routes(reach: CrawlRegistry, states: CrawlStates, feed: LiveFeed, tokens: Tokens) -> APIRouter:
    """Return the route for Prometheus, which needs the role ``read`` like all others."""
    router = APIRouter(tags=["live"])

    def admitted(connection: HTTPConnection) -> None:
        checked(caller_of(connection, tokens), Role.READ)

    @router.get(
        "/metrics",
        response_class=Response,
        dependencies=[Depends(BEARER), Depends(admitted)],
        responses={
            200: {
                "content": {"text/plain": {"schema": {"type": "string"}, "example": 'aah_info{version="0.2.0"} 1\n'}}
            },
            **problem_responses(*ENTRANCE),
        },
    )
    def metrics() -> Response:
        """Return the numbers of all crawls in the text format of Prometheus."""
        text = metrics_text(states, reach.crawls(), feed.streams)
        return Response(text, headers={"Content-Type": MEDIA_TYPE})

    return router


async def _written(events: AsyncIterator[LiveEvent | None]) -> AsyncIterator[bytes]:
    """Yield events as bytes of the stream, and a comment whenever nothing happens for long."""
    yield f"retry: {_AGAIN}\n\n".encode()
    async for event in events:
        yield _event(event) if event is not None else b": still here\n\n"


def _event(event: LiveEvent) -> bytes:
    name = "status" if isinstance(event.content, CrawlStatus) else "log"
    place = f"id: {event.place}\n" if event.place else ""
    return f"{place}event: {name}\ndata: {event.content.model_dump_json()}\n\n".encode()
