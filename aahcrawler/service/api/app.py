"""The service as an ASGI application, with its routes and their OpenAPI descriptions."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response
from fastapi.requests import HTTPConnection
from pydantic import BaseModel, TypeAdapter

from aahcrawler import __version__, urls
from aahcrawler.service.api.intake import (
    Batch,
    Intake,
    IntakeOutcomes,
    Item,
    ItemOutcome,
    ItemResult,
    JointSteps,
    Journal,
    Limits,
    parse_whole,
    read_line,
    read_stream,
    read_whole,
)
from aahcrawler.service.api.judgement_routes import judgement_routes
from aahcrawler.service.api.live_routes import CrawlView, Overview, UrlView, change_routes, live_routes, metric_routes
from aahcrawler.service.api.page_routes import page_routes, search_routes, sparql_routes, spoken_routes
from aahcrawler.service.api.queue_routes import queue_routes
from aahcrawler.service.api.schedule_routes import holding_routes, schedule_routes
from aahcrawler.service.api.specification_routes import collection_routes, specification_routes
from aahcrawler.service.api.steering_routes import definition_routes, managing_routes, steering_routes
from aahcrawler.service.catalog.crawl_catalog import Catalog, Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.web import problems
from aahcrawler.service.web.entrance import BEARER, Entrance, Guard, Rates, caller_of
from aahcrawler.service.web.noted_acts import AccessLog, NotedActs, Noting, ServiceLog
from aahcrawler.service.web.problems import BAD_TYPE, NO_CRAWL, DescribedApp, ProblemError, problem_responses
from aahcrawler.service.web.roles import Caller, Role, Tokens, needs

JSON, NDJSON = "application/json", "application/x-ndjson"
THREADS = 8
SMALL = 2**14
"""Bytes of a body that is applied together with others: those that are larger hold up a step for long."""

_URLS = re.compile(r"/v1/crawls/[^/]+/urls/?")

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of a service.

    ``shared`` is the URL of the shared frontier server, None if each crawl has its own.
    """

    catalog: Catalog
    shared: str | None = None
    tokens: Tokens = field(default_factory=Tokens)
    limits: Limits = field(default_factory=Limits)
    rates: Rates = field(default_factory=Rates)
    log: ServiceLog = field(default_factory=ServiceLog)


class Health(BaseModel):
    """The state of a service that answers."""

    status: str = "ok"
    version: str = __version__


def create_app(settings: ServiceSettings, instruments: Instruments | None = None) -> FastAPI:
    """Return the application.

    Blocking work runs in threads; ``instruments``, if given, are closed with the application.
    """
    shown_by = instruments or Instruments.of(CrawlRegistry.of(settings.catalog, settings.shared))
    desk = ApiHandlers(shown_by.reach, settings.limits)

    def known(connection: HTTPConnection) -> Caller | None:
        with suppress(ProblemError):
            return caller_of(connection, settings.tokens)
        return None

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()
        shown_by.close()

    app = DescribedApp(
        title="AAHCrawler",
        summary="Scored URLs for crawls.",
        version=__version__,
        lifespan=lifespan,
        redoc_url=None,
    )
    problems.install(app)
    app.add_middleware(Entrance, guard=Guard(settings.tokens, settings.rates, _posts_urls))
    app.add_middleware(NotedActs, noting=Noting(settings.log, "service", known, _posts_urls))
    app.add_middleware(AccessLog)
    app.include_router(_open_routes())
    app.include_router(_routes(desk), dependencies=[Depends(BEARER)])
    app.include_router(metric_routes(shown_by.reach, shown_by.states, shown_by.live, settings.tokens))
    for router in _topics(shown_by):
        app.include_router(
            router, prefix="/v1", dependencies=[Depends(BEARER)], responses=problem_responses(*problems.ENTRANCE)
        )
    return app


def _topics(instruments: Instruments) -> tuple[APIRouter, ...]:
    reach, helm = instruments.reach, instruments.helm
    return (
        queue_routes(reach, instruments.states),
        change_routes(reach),
        live_routes(instruments.live),
        page_routes(reach, instruments.indexes),
        search_routes(reach, instruments.search),
        spoken_routes(reach, instruments.indexes),
        sparql_routes(reach, instruments.sparql),
        definition_routes(helm),
        managing_routes(instruments),
        collection_routes(instruments),
        judgement_routes(instruments),
        specification_routes(instruments),
        schedule_routes(instruments),
        holding_routes(instruments),
        steering_routes(helm),
    )


def _posts_urls(method: str, path: str) -> bool:
    """Return whether a request posts scored URLs, which have a rate limit of their own and a streamed body."""
    return method == "POST" and _URLS.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Sender:
    """The name of the caller who posts, and the idempotency key of the request."""

    by: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Posted:
    """A posted body with its sender."""

    body: bytes
    sender: Sender


class ApiHandlers:
    """Handlers of the routes for scored URLs."""

    def __init__(self, reach: CrawlRegistry, limits: Limits) -> None:
        self._reach, self._limits = reach, limits
        self._intake = Intake(reach.gateway, Journal())
        self._overview = Overview(reach.gateway)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="service")
        self._small = JointSteps(self._step)

    async def crawls(self) -> list[CrawlView]:
        """List crawls."""
        return await self._run(lambda: [self._overview.crawl(crawl) for crawl in self._reach.crawls()])

    async def url(self, name: str, url: str) -> UrlView:
        """Show a URL of a crawl."""
        return await self._run(lambda: self._overview.url(self._reach.crawl(name), url))

    async def take(self, name: str, request: Request, sender: Sender) -> Response:
        """Apply a posted body."""
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media not in (JSON, NDJSON):
            raise ProblemError(BAD_TYPE, f"send {JSON} or {NDJSON}")
        if media == NDJSON:
            return _lines(await self._take_stream(await self._crawl(name), request, sender))
        body = await read_whole(request, self._limits)
        if len(body) <= SMALL:
            return await self._small.ask(name, Posted(body, sender))
        return await self._run(self._take_whole, await self._crawl(name), body, sender)

    def close(self) -> None:
        """Wait for requests in progress."""
        self._threads.shutdown()

    async def _step(self, name: str, posted: Sequence[Posted]) -> Sequence[Response | Exception]:
        return await self._run(self._take_small, name, posted)

    def _take_small(self, name: str, posted: Sequence[Posted]) -> Sequence[Response | Exception]:
        """Apply the bodies of several requests in one step; an invalid body gets a response of its own."""
        crawl = self._reach.crawl(name)
        batches = [self._batch(each) for each in posted]
        sound = [each for each in batches if isinstance(each, Batch)]
        results = iter(self._intake.take_all(crawl, sound) if sound else ())
        return [_document(crawl, next(results)) if isinstance(each, Batch) else each for each in batches]

    def _batch(self, posted: Posted) -> Batch | ProblemError:
        try:
            return _batch(parse_whole(posted.body, self._limits), posted.sender)
        except ProblemError as problem:
            return problem

    def _take_whole(self, crawl: Crawl, body: bytes, sender: Sender) -> Response:
        items = parse_whole(body, self._limits)
        return _document(crawl, self._intake.take(crawl, _batch(items, sender)))

    def _take_lines(self, crawl: Crawl, lines: Sequence[bytes], first: int, sender: Sender) -> list[ItemResult]:
        return self._intake.take(crawl, _batch([read_line(line) for line in lines], sender, first))

    async def _take_stream(self, crawl: Crawl, request: Request, sender: Sender) -> list[ItemResult]:
        results: list[ItemResult] = []
        try:
            async for lines in read_stream(request, self._limits):
                results += await self._run(self._take_lines, crawl, lines, len(results), sender)
        except ProblemError as problem:
            problem.applied = len(results)
            raise
        return results

    async def _crawl(self, name: str) -> Crawl:
        return await self._run(self._reach.crawl, name)

    async def _run(self, operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: operation(*args, **kwargs))


_RESULT = TypeAdapter(ItemResult)


def _batch(items: Sequence[Item | ItemResult], sender: Sender, first: int = 0) -> Batch:
    return Batch(items, first, sender.key, sender.by)


def _document(crawl: Crawl, results: list[ItemResult]) -> Response:
    counts = {outcome: sum(1 for result in results if result.outcome is outcome) for outcome in ItemOutcome}
    outcomes = IntakeOutcomes(
        crawl=crawl.id, counts={each: n for each, n in counts.items() if n}, results=tuple(results)
    )
    return Response(outcomes.model_dump_json(exclude_defaults=True), media_type=JSON)


def _lines(results: list[ItemResult]) -> Response:
    lines = (_RESULT.dump_json(result, exclude_defaults=True) + b"\n" for result in results)
    return Response(b"".join(lines), media_type=NDJSON)


_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        JSON: {
            "schema": {"anyOf": [Item.model_json_schema(), {"type": "array", "items": Item.model_json_schema()}]},
            "examples": {
                "one": {"value": {"url": "https://forum.example.org/thread/17", "score": 0.83}},
                "many": {
                    "value": [
                        {
                            "url": "https://forum.example.org/thread/18",
                            "score": 1,
                            "immediate": True,
                            "anchor": "Live: the dike",
                            "source": "https://social.example.net/post/4711",
                        },
                        {"url": "https://forum.example.org/casino", "blacklist": True, "source": "spam-watch"},
                    ]
                },
            },
        },
        NDJSON: {
            "schema": {"type": "string"},
            "example": '{"url": "https://forum.example.org/thread/17", "score": 0.83}\n',
        },
    },
}
_RESPONSES: dict[str, Any] = {
    "example": {
        "crawl": "flood",
        "counts": {"accepted": 1, "invalid": 1},
        "results": [
            {"url": "https://forum.example.org/thread/17", "outcome": "accepted", "state": "queued"},
            {"url": "mailto:x", "outcome": "invalid", "reason": "url", "detail": "give a whole http or https URL"},
        ],
    }
}


def _open_routes() -> APIRouter:
    router = APIRouter()

    @router.get("/health")
    async def health() -> Health:
        """Report that the service answers."""
        return Health()

    return router


def _routes(desk: ApiHandlers) -> APIRouter:
    router = APIRouter(prefix="/v1", responses=problem_responses(*problems.ENTRANCE))

    @router.get("/crawls")
    async def list_crawls() -> list[CrawlView]:
        """List the crawls that have begun, with the counts of those that can be asked now."""
        return await desk.crawls()

    @router.get(
        "/crawls/{crawl}/urls", responses=problem_responses(problems.NO_URL, problems.BAD_URL, problems.NOT_RUNNING)
    )
    async def show_url(
        crawl: str, url: Annotated[str, Query(max_length=4 * urls.MAX_LENGTH, examples=["https://forum.example.org/"])]
    ) -> UrlView:
        """Report the state of a URL, and while it is queued or leased its score, depth and the page it is from."""
        return await desk.url(crawl, url)

    @router.post(
        "/crawls/{crawl}/urls",
        response_model=IntakeOutcomes,
        responses={
            200: {"content": {JSON: _RESPONSES, NDJSON: {"schema": {"type": "string"}}}},
            **problem_responses(NO_CRAWL, problems.OVER, problems.TOO_LARGE, BAD_TYPE, problems.NOT_RUNNING),
        },
        openapi_extra={"requestBody": _BODY},
    )
    async def post_urls(
        crawl: str,
        request: Request,
        caller: Annotated[Caller, Depends(needs(Role.SCORE))],
        idempotency_key: Annotated[
            str,
            Header(max_length=255, description="Names this request: sent again with the same key it changes nothing."),
        ] = "",
    ) -> Response:
        """Post scored URLs: one object, an array, or NDJSON. There is a result for each item, in order.

        Items that say the same are applied once in a day, unless they come with another Idempotency-Key.
        """
        return await desk.take(crawl, request, Sender(caller.name, idempotency_key))

    return router
