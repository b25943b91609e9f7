"""Links that are pushed to the service of another instance."""

import asyncio
import json
import logging
import random
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from aahcrawler.metadata import Link
from aahcrawler.scope import Refusal
from aahcrawler.wire.ip_policy import IpPolicy

logger = logging.getLogger(__name__)

_RESPONSE_BYTES = 16 * 2**20
_AGAIN = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}


@dataclass(frozen=True, slots=True)
class ScoredUrl:
    """A URL with its score, in the fields of the service (docs/service.md)."""

    url: str
    score: float
    anchor: str = ""
    source: str = ""
    blacklist: bool = False
    immediate: bool = False

    def item(self) -> Mapping[str, object]:
        """Return the item to post; scores above 1, as SUM makes them, are posted as 1."""
        item: dict[str, object] = {"url": self.url, "score": min(1.0, max(0.0, self.score))}
        texts = {"anchor": self.anchor[:1000], "source": self.source[:4096]}
        flags = {"blacklist": self.blacklist, "immediate": self.immediate}
        return item | {name: value for name, value in {**texts, **flags}.items() if value}


@dataclass(frozen=True, slots=True)
class PushPolicy:
    """The bounds of posting: items waiting, items a request; seconds of gathering, answering, backing off."""

    waiting: int = 20_000
    batch: int = 500
    linger: float = 1.0
    timeout: float = 30.0
    first_pause: float = 0.5
    longest_pause: float = 60.0


@dataclass(slots=True)
class PushCounts:
    """Counts of items: how many wait, what became of the others, and the last thing that went wrong."""

    waiting: int = 0
    sent: int = 0
    dropped: int = 0
    """Given up unsent, the oldest first, because too many waited or the crawl ended."""
    refused: int = 0
    """Of requests that the service will never take."""
    outcomes: dict[str, int] = field(default_factory=dict)
    """What the service said of those that were sent."""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    pause: float
    content: Mapping[str, Any]


class ScorePusher:
    """Posts in the background while ``run`` is awaited: ``put`` never waits, and drops the oldest where too many do.

    ``target`` is the whole URL, ``http://HOST:PORT/v1/crawls/ID/urls``. Every request has a key of its own and is
    made again with the same one until it is answered, so that each item is applied once. A request that the service
    will never take (no such crawl, no valid token, a crawl that is over) is counted as refused. Raise ``ValueError``
    for a target that is no http or https URL.
    """

    def __init__(
        self,
        target: str,
        token: str = "",
        policy: PushPolicy | None = None,
        jitter: Callable[[], float] = random.random,
        new_key: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        parts = urlsplit(target)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{target!r} cannot be posted to; write http://HOST:PORT/v1/crawls/ID/urls")
        self._target, self._token = parts, token
        self._policy = policy or PushPolicy()
        self._jitter, self._new_key = jitter, new_key
        self._queue: deque[ScoredUrl] = deque()
        self._has_some = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.posts = PushCounts()

    def put(self, scored: ScoredUrl) -> None:
        """Queue an item. Call it in the event loop that runs ``run``."""
        if len(self._queue) >= self._policy.waiting:
            self._queue.popleft()
            self.posts.dropped += 1
        self._queue.append(scored)
        self.posts.waiting = len(self._queue)
        self._idle.clear()
        self._has_some.set()

    async def run(self) -> None:
        """Post what is put, until cancelled."""
        while True:
            await self._has_some.wait()
            if len(self._queue) < self._policy.batch:
                await asyncio.sleep(self._policy.linger)
            while self._queue:
                batch = self._take()
                try:
                    await self._deliver(batch)
                except asyncio.CancelledError:
                    self.posts.dropped += len(batch)
                    raise
            self._has_some.clear()
            self._idle.set()

    async def drain(self, seconds: float) -> None:
        """Give what waits some time to be posted while ``run`` goes on; what is left then counts as dropped."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)
        self.posts.dropped += len(self._queue)
        self._queue.clear()
        self.posts.waiting = 0

    def _take(self) -> list[ScoredUrl]:
        batch = [self._queue.popleft() for _ in range(min(self._policy.batch, len(self._queue)))]
        self.posts.waiting = len(self._queue)
        return batch

    async def _deliver(self, batch: Sequence[ScoredUrl]) -> None:
        body = json.dumps([scored.item() for scored in batch]).encode()
        key, pause = self._new_key(), self._policy.first_pause
        while True:
            reply = await asyncio.to_thread(self._request, body, key)
            if reply.status == HTTPStatus.OK:
                self._note(len(batch), reply.content)
                return
            self._report(str(reply.content.get("detail") or reply.content.get("title") or reply.status))
            if not _may_pass(reply.status):
                self.posts.refused += len(batch)
                return
            wait = min(max(pause * (0.5 + self._jitter()), reply.pause), self._policy.longest_pause)
            await asyncio.sleep(wait)
            pause = min(2 * pause, self._policy.longest_pause)

    def _note(self, sent: int, content: Mapping[str, Any]) -> None:
        self.posts.sent += sent
        self.posts.problem = ""
        counts = content.get("counts")
        for outcome, number in counts.items() if isinstance(counts, dict) else ():
            self.posts.outcomes[outcome] = self.posts.outcomes.get(outcome, 0) + int(number)

    def _report(self, problem: str) -> None:
        if problem != self.posts.problem:
            logger.warning("scored URLs cannot be posted to %s: %s", self._target.netloc, problem)
        self.posts.problem = problem

    def _request(self, body: bytes, key: str) -> _Reply:
        """Make one request. A response that never came has the status 0."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key, "User-Agent": "AAHCrawler"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            with closing(self._connection()) as connection:
                path = self._target.path or "/"
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                content = _parsed(response.read(_RESPONSE_BYTES))
                return _Reply(response.status, _seconds(response.getheader("Retry-After")), content)
        except (OSError, HTTPException) as error:
            return _Reply(0, 0.0, {"detail": str(error) or type(error).__name__})

    def _connection(self) -> HTTPConnection:
        host, port, patience = self._target.hostname or "", self._target.port, self._policy.timeout
        if self._target.scheme == "https":
            return HTTPSConnection(host, port, timeout=patience)
        return HTTPConnection(host, port, timeout=patience)


def _may_pass(status: int) -> bool:
    """Say whether the same request may be taken later."""
    return status == 0 or status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _AGAIN


def _parsed(body: bytes) -> Mapping[str, Any]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _seconds(retry_after: str | None) -> float:
    return float(retry_after) if retry_after and retry_after.isdecimal() else 0.0


TOKEN = "AAH_POST_TOKEN"  # noqa: S105 - the name of the variable, not what it holds
"""The environment variable that holds the token of the other instance's service."""
LAST_SECONDS = 10.0
"""How long the end of a crawl may wait for what is still to be posted."""
HOPELESS_SECONDS = 1.0
"""The same where the service did not answer so far."""
_REMEMBERED = 100_000
_MIN_RISE = 0.01
_BEYOND = frozenset({Refusal.OTHER_SITE, Refusal.NOT_ALLOWED, Refusal.TOO_DEEP})
"""Refusals that say where this crawl ends; the other one may go there."""


class PeerExport:
    """Pushes every URL that reaches ``at_least``, and again when it gets a higher score than was sent.

    Nothing here waits but ``close``. IP addresses that the ``policy`` does not let this crawl connect to are not sent.
    Call it in the event loop of the crawl.
    """

    def __init__(self, poster: ScorePusher, at_least: float, policy: IpPolicy) -> None:
        self._poster = poster
        self._at_least = at_least
        self._policy = policy
        self._sent: OrderedDict[str, float] = OrderedDict()
        self._running: asyncio.Task[None] | None = None

    @property
    def posts(self) -> PushCounts:
        """The outcomes of the posts of this process."""
        return self._poster.posts

    def links(
        self, page: str, links: Sequence[Link], refused: Mapping[str, Sequence[int]], *, are_scored: bool = True
    ) -> None:
        """Push the links of a page, those beyond the bounds of this crawl included.

        ``refused`` has the positions of those that the crawl does not want, by reason; what is not wanted for what it
        is, such as spam, is not sent. The others are in the frontier: they are sent later unless they ``are_scored``.
        """
        refusals = {position: reason for reason, positions in refused.items() for position in positions}
        for position, link in enumerate(links):
            refusal = refusals.get(position)
            if refusal in _BEYOND or (refusal is None and are_scored):
                self._send(ScoredUrl(link.url, link.score or 0.0, link.anchor, page))

    def scored(self, scores: Iterable[tuple[str, float]]) -> None:
        """Push URLs that wait in the frontier and have been given these scores."""
        for url, score in scores:
            self._send(ScoredUrl(url, score))

    async def close(self) -> None:
        """Give what waits a few seconds to be posted, and say what became of all of it."""
        if self._running is None:
            return
        await self._poster.drain(HOPELESS_SECONDS if self.posts.problem else LAST_SECONDS)
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running
        posts = self.posts
        became = ", ".join(f"{number:,} {outcome}" for outcome, number in posts.outcomes.items())
        logger.info("posted %s scored URLs (%s); %s not", f"{posts.sent:,}", became, posts.dropped + posts.refused)

    def _send(self, scored: ScoredUrl) -> None:
        sent = self._sent.get(scored.url)
        if scored.score < self._at_least or (sent is not None and scored.score < sent + _MIN_RISE):
            return
        if sent is None and self._is_private(scored.url):
            return
        self._sent[scored.url] = scored.score
        self._sent.move_to_end(scored.url)
        if len(self._sent) > _REMEMBERED:
            self._sent.popitem(last=False)
        self._poster.put(scored)
        if self._running is None:
            self._running = asyncio.get_running_loop().create_task(self._poster.run())

    def _is_private(self, url: str) -> bool:
        """Say whether a URL names an IP address, and one that this crawl may not connect to."""
        host = (urlsplit(url).hostname or "").partition("%")[0]
        try:
            ip_address(host)
        except ValueError:
            return False
        return self._policy.refusal(host) is not None
