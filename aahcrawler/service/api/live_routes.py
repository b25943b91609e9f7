"""Routes for those who follow crawls: events as they happen (server-sent events), and numbers for Prometheus."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Response
from fastapi.requests import HTTPConnection
from fastapi.responses import StreamingResponse
from starlette.types import Message, Send

from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.crawl_state import CrawlStates, CrawlStatus
from aahcrawler.service.views.live_feed import LiveEvent, LiveFeed
from aahcrawler.service.views.prometheus_text import MEDIA_TYPE, metrics_text
from aahcrawler.service.web.entrance import BEARER, caller_of
from aahcrawler.service.web.problems import ENTRANCE, NO_CRAWL, TOO_MANY_STREAMS, problem_responses
from aahcrawler.service.web.roles import Role, Tokens, checked

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
    """A stream that is given up where its client takes nothing for so many seconds: it would keep others out."""

    taken_within = 60.0

    async def stream_response(self, send: Send) -> None:
        """Send the stream as long as it is taken."""

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
    """Yield events as they are sent; a comment where nothing happens for long."""
    yield f"retry: {_AGAIN}\n\n".encode()
    async for event in events:
        yield _event(event) if event is not None else b": still here\n\n"


def _event(event: LiveEvent) -> bytes:
    name = "status" if isinstance(event.content, CrawlStatus) else "log"
    place = f"id: {event.place}\n" if event.place else ""
    return f"{place}event: {name}\ndata: {event.content.model_dump_json()}\n\n".encode()
