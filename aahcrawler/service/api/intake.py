"""Posts of scored URLs: read within bounds, validated, passed to the frontier, and answered item by item.

Items that changed a crawl are noted in a journal in its folder.
"""

import asyncio
import json
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Generic, Self, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from aahcrawler import urls
from aahcrawler.frontier.control import CONTENT_BYTES, KEY_BYTES, Effect, Post, Posted, Wish
from aahcrawler.frontier.protocol import Offer, State
from aahcrawler.layout import POSTED
from aahcrawler.segments import private
from aahcrawler.service.catalog.crawl_catalog import Crawl, Fault, Target
from aahcrawler.service.catalog.gateway import Gateway
from aahcrawler.service.web.problems import BAD_JSON, TOO_LARGE, TOO_SLOW, ProblemError
from aahcrawler.urls import MAX_LENGTH
from online_analysis.icd.explanations import in_words

_EXAMPLE: JsonValue = {
    "url": "https://forum.example.org/thread/17",
    "score": 0.83,
    "anchor": "Dike breaks at the harbour",
    "source": "https://social.example.net/post/4711",
}


class ItemOutcome(StrEnum):
    """The outcome of an item."""

    ACCEPTED = "accepted"
    """Its URL is new and queued."""
    RESCORED = "rescored"
    """Its URL was queued already; the crawl's update function was applied."""
    BLACKLISTED = "blacklisted"
    """Its URL will not be fetched."""
    KNOWN = "known"
    """Its URL is being fetched or was, as ``state`` says; nothing changed."""
    OUT_OF_SCOPE = "out_of_scope"
    """The crawl does not want its URL, as ``reason`` says."""
    INVALID = "invalid"
    """The item is invalid, as ``reason`` and ``detail`` tell."""


class Item(BaseModel):
    """A URL and a client's score of it."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, hide_input_in_errors=True, json_schema_extra={"examples": [_EXAMPLE]}
    )

    url: Annotated[str, Field(max_length=4 * MAX_LENGTH, description="An http or https URL.")]
    score: Annotated[
        float | None,
        Field(ge=0, le=1, allow_inf_nan=False, description="How relevant; may be left out with `blacklist` only."),
    ] = None
    blacklist: Annotated[bool, Field(description="Never fetch this URL; the score is not looked at then.")] = False
    immediate: Annotated[bool, Field(description="Fetch it before everything that is not immediate.")] = False
    anchor: Annotated[str, Field(max_length=1000, description="The text of the link.")] = ""
    source: Annotated[
        str, Field(max_length=MAX_LENGTH, description="The page the link is on, or the name of its scorer.")
    ] = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.score is None and not self.blacklist:
            raise ValueError("give a score from 0 to 1, or blacklist")
        if self.blacklist and self.immediate:
            raise ValueError("give immediate or blacklist, not both")
        return self

    @property
    def wish(self) -> Wish:
        """The operation on the frontier that the item requests."""
        if self.blacklist:
            return Wish.BLOCK
        return Wish.FRONT if self.immediate else Wish.SCORE

    def content_for(self, url: str) -> bytes:
        """Return the item's content as bytes, with the canonical URL ``url``; equal items give equal bytes."""
        score = None if self.blacklist else round((self.score or 0.0) * 1_000_000)
        return json.dumps([url, score, self.wish, self.anchor, self.source]).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemResult:
    """The outcome of one item. ``repeated``: an equal item had this outcome before, and nothing was changed now."""

    url: str = ""
    outcome: ItemOutcome
    state: State | None = None
    reason: str = ""
    detail: str = ""
    repeated: bool = False


class IntakeOutcomes(BaseModel):
    """The outcomes of the items of a request, in their order."""

    crawl: str
    counts: Mapping[ItemOutcome, int]
    results: tuple[ItemResult, ...]


def invalid(url: str, reason: str, detail: str) -> ItemResult:
    """Return the result for an invalid item."""
    return ItemResult(url=url[:MAX_LENGTH], outcome=ItemOutcome.INVALID, reason=reason, detail=detail)


def read_item(raw: object) -> Item | ItemResult:
    """Return an item from parsed JSON, or the result for an invalid one."""
    try:
        return Item.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        url = raw.get("url", "") if isinstance(raw, dict) else ""
        given = url if isinstance(url, str) else ""
        return invalid(given, where or "item", in_words(first, ""))


def read_line(line: bytes) -> Item | ItemResult:
    """Return the item of a line of NDJSON, or the result for an invalid one."""
    try:
        return read_item(from_json(line, allow_inf_nan=False))
    except ValueError as error:
        return invalid("", "json", str(error))


def identity(posted: bytes, key: str, position: int) -> tuple[bytes, bytes]:
    """Return the key and content that identify a posted item.

    With an idempotency key, it is identified by that key and its position in the request, else by its content.
    """
    content = blake2b(posted, digest_size=CONTENT_BYTES).digest()
    known_by = b"key\0%d\0%s" % (position, key.encode()) if key else b"said\0" + posted
    return blake2b(known_by, digest_size=KEY_BYTES).digest(), content


AT_ONCE = 500
"""Items of a stream that are applied together."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a request: items, bytes, bytes of a line of NDJSON, seconds between two pieces of a body."""

    items: int = 10_000
    body: int = 16 * 2**20
    line: int = 2**16
    patience: float = 30.0


async def read_whole(request: Request, limits: Limits) -> bytes:
    """Return a body. Raise ``ProblemError`` if it is too large."""
    return b"".join([piece async for piece in _pieces(request, limits)])


def parse_whole(body: bytes, limits: Limits) -> Sequence[Item | ItemResult]:
    """Return the items of a JSON body, an object or an array. Raise ``ProblemError`` for an invalid or large one."""
    try:
        raw = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ProblemError(BAD_JSON, str(error)) from None
    entries = raw if isinstance(raw, list) else [raw]
    if len(entries) > limits.items:
        raise ProblemError(TOO_LARGE, _too_many(limits), applied=0)
    return [read_item(entry) for entry in entries]


async def read_stream(request: Request, limits: Limits) -> AsyncIterator[Sequence[bytes]]:
    """Yield the lines of an NDJSON body in batches as they arrive, without empty lines.

    Raise ``ProblemError`` if the body is too large; lines yielded before are still applied.
    """
    batch: list[bytes] = []
    total = 0
    async for line in _lines(request, limits):
        total += 1
        if total > limits.items:
            if batch:
                yield batch
            raise ProblemError(TOO_LARGE, _too_many(limits))
        batch.append(line)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


async def _lines(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    rest = b""
    async for piece in _pieces(request, limits):
        *lines, rest = (rest + piece).split(b"\n")
        if any(len(line) > limits.line for line in (*lines, rest)):
            raise ProblemError(TOO_LARGE, f"a line has at most {limits.line:,} bytes")
        for line in filter(None, map(bytes.strip, lines)):
            yield line
    if rest.strip():
        yield rest.strip()


async def _pieces(request: Request, limits: Limits) -> AsyncIterator[bytes]:
    size = 0
    pieces = request.stream().__aiter__()
    while True:
        try:
            async with asyncio.timeout(limits.patience):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except ClientDisconnect:
            raise ProblemError(TOO_SLOW, "the rest of the request never arrived") from None
        except TimeoutError:
            raise ProblemError(TOO_SLOW, f"nothing arrived for {limits.patience:g} seconds") from None
        size += len(piece)
        if size > limits.body:
            raise ProblemError(TOO_LARGE, f"a body has at most {limits.body:,} bytes; post in several requests")
        yield piece


def _too_many(limits: Limits) -> str:
    return f"a request has at most {limits.items:,} items; post the rest in further requests"


MAX_STEP = 200
"""Requests of one step."""

Q = TypeVar("Q")
A = TypeVar("A")


class JointSteps(Generic[Q, A]):
    """Combine requests with the same name: those that arrive during one step are processed together in the next.

    A single request does not wait. ``step`` gets a name and its requests in the order of arrival, and returns as many
    responses; a response that is an exception is raised for its request only. An exception raised by ``step`` is raised
    for all of them. Different names are independent. For one event loop.
    """

    def __init__(
        self, step: Callable[[str, Sequence[Q]], Awaitable[Sequence[A | Exception]]], most: int = MAX_STEP
    ) -> None:
        self._step = step
        self._most = most
        self._waiting: dict[str, deque[tuple[Q, asyncio.Future[A]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, name: str, request: Q) -> A:
        """Return the response to a request."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.get(name)
        if waiting is None:
            self._waiting[name] = deque([(request, future)])
            task = asyncio.create_task(self._take_steps(name))
            self._tasks.add(task)  # The loop itself holds tasks weakly.
            task.add_done_callback(self._tasks.discard)
        else:
            waiting.append((request, future))
        return await future

    async def _take_steps(self, name: str) -> None:
        waiting = self._waiting[name]
        while waiting:
            part = [waiting.popleft() for _ in range(min(len(waiting), self._most))]
            await self._respond(name, [(request, future) for request, future in part if not future.done()])
        del self._waiting[name]

    async def _respond(self, name: str, part: Sequence[tuple[Q, asyncio.Future[A]]]) -> None:
        try:
            responses = await self._step(name, [request for request, _ in part])
        except Exception as error:  # Whatever it is, the requests must not wait for ever.
            responses = [error] * len(part)
        for (_, future), response in zip(part, responses, strict=True):
            if future.done():
                continue
            if isinstance(response, Exception):
                future.set_exception(response)
            else:
                future.set_result(response)


_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_logger = logging.getLogger(__name__)


class Journal:
    """Appends lines of JSON to journals.

    If a journal cannot be written, that is logged, and the crawl still takes posts. Posts to a crawl without a folder
    on this machine are only logged.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def keep(self, folder: Path | None, entries: Iterable[Mapping[str, object]]) -> None:
        """Append entries to the journal of a crawl's folder."""
        lines = "".join(_ENCODE(entry) + "\n" for entry in entries)
        if not lines:
            return
        if folder is None:
            _logger.info("posted: %s", lines.rstrip().replace("\n", " "))
            return
        try:
            with self._lock, open(folder / POSTED, "a", encoding="utf-8", opener=private) as file:
                file.write(lines)
        except OSError as error:
            _logger.error("%s cannot be written: %s; the posts were applied", folder / POSTED, error.strerror)


_OUTCOMES = {
    Effect.ADDED: ItemOutcome.ACCEPTED,
    Effect.RESCORED: ItemOutcome.RESCORED,
    Effect.BLOCKED: ItemOutcome.BLACKLISTED,
    Effect.KNOWN: ItemOutcome.KNOWN,
}
_FAULTS = {
    Fault.URL: "give a whole http or https URL",
    Fault.TOO_LONG: f"URLs have at most {urls.MAX_LENGTH} characters",
}
_MISUSED = "another item was posted under this Idempotency-Key; use a new key for each request"


@dataclass(frozen=True, slots=True)
class Batch:
    """Items of one request, some possibly invalid. ``first`` is the first item's position, ``by`` the caller's name."""

    items: Sequence[Item | ItemResult]
    first: int = 0
    key: str = ""
    by: str = ""


class Intake:
    """Applies posted items to crawls. Blocks while the frontier works. Thread-safe."""

    def __init__(self, gateway: Gateway, journal: Journal) -> None:
        self._gateway = gateway
        self._journal = journal
        self._judging = threading.Lock()

    def take(self, crawl: Crawl, batch: Batch) -> list[ItemResult]:
        """Apply a batch and return a result for each item, in order.

        Raise ``ProblemError`` if the frontier cannot be reached. Part of a long batch may then have been applied;
        posting it again does no harm.
        """
        return self.take_all(crawl, [batch])[0]

    def take_all(self, crawl: Crawl, batches: Sequence[Batch]) -> list[list[ItemResult]]:
        """Apply batches of several requests in one step; otherwise like ``take``."""
        # The parser of URLs lets other threads run at each call, and waits for them: two that judge hinder each other.
        with self._judging:
            judged = [
                [self._judge(crawl, entry, batch, at) for at, entry in enumerate(batch.items, batch.first)]
                for batch in batches
            ]
        posts = [each for results in judged for each in results if isinstance(each, Post)]
        with self._gateway.frontier(crawl, to_post=True) as frontier:
            responses = iter(frontier.post(posts))
        all_results = [
            [_result(each, next(responses)) if isinstance(each, Post) else each for each in results]
            for results in judged
        ]
        pairs = zip(batches, all_results, strict=True)
        self._journal.keep(
            crawl.folder, (entry for batch, results in pairs for entry in _entries(crawl, batch, results))
        )
        return all_results

    def _judge(self, crawl: Crawl, entry: Item | ItemResult, batch: Batch, position: int) -> Post | ItemResult:
        if isinstance(entry, ItemResult):
            return entry
        target = crawl.admission.target(entry.url)
        if isinstance(target, Fault):
            return invalid(entry.url, target.value, _FAULTS[target])
        refusal = None if entry.blacklist else crawl.admission.refusal(target)
        if refusal is not None:
            return ItemResult(url=target.url, outcome=ItemOutcome.OUT_OF_SCOPE, reason=refusal)
        source = crawl.admission.target(entry.source) if entry.source else None
        via = source.url if isinstance(source, Target) else ""
        key, content = identity(entry.content_for(target.url), batch.key, position)
        path = crawl.admission.path(target)
        offer = Offer(target.url, target.queue, entry.score or 0.0, via=via, path=path)
        return Post(offer, key, content, entry.wish)


def _result(post: Post, posted: Posted) -> ItemResult:
    if posted.effect is Effect.MISUSED:
        return invalid(post.offer.url, "idempotency_key", _MISUSED)
    return ItemResult(
        url=post.offer.url, outcome=_OUTCOMES[posted.effect], state=posted.state, repeated=posted.repeated
    )


def _entries(crawl: Crawl, batch: Batch, results: Sequence[ItemResult]) -> Iterator[Mapping[str, object]]:
    """Yield the journal's entries for the items that changed something."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    for item, result in zip(batch.items, results, strict=True):
        changed = result.outcome in (ItemOutcome.ACCEPTED, ItemOutcome.RESCORED, ItemOutcome.BLACKLISTED)
        if changed and not result.repeated and isinstance(item, Item):
            item_fields = item.model_dump(exclude={"url"}, exclude_defaults=True)
            told = {"at": now, "by": batch.by, "crawl": crawl.number, "url": result.url, "outcome": result.outcome}
            yield {**told, **item_fields}
