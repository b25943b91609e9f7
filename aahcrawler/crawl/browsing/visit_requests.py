"""Who answers the requests of a page while a browser looks at it: the crawl itself, in the network's place.

The page's own response is there already. What this crawl has captured before comes from the archive. All else goes to
the network as the crawl's requests do, and is archived when it has ended, whatever the browser makes of it.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from http import HTTPStatus
from typing import Final

from aahcrawler import urls
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.crawl.browsing.captured_responses import (
    PartRelay,
    ResponseRelay,
    has_manifest,
    head_of,
    is_manifest,
    part_asked,
    replay,
    sent_headers,
    size_of,
)
from aahcrawler.crawl.browsing.visited_crawl import PageFetch, VisitedCrawl, VisitPace
from aahcrawler.crawl.capture.archiver import Annotations, identified
from aahcrawler.crawl.core.site_sessions import LoginFailedError
from aahcrawler.crawl.fetch.download_handler import GRACE, CapturedResponse
from aahcrawler.crawl.fetch.ip_claims import IpAddressBusyError
from aahcrawler.crawl.health.outages import is_local
from aahcrawler.crawl.lease.lease_source import StoppedError
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Headers
from aahcrawler.wire.errors import ProxyUnavailableError, WireError
from aahcrawler.wire.politeness import retry_after
from aahcrawler.wire.relay import Relay
from aahcrawler.wire.replay import replayed
from aahcrawler.wire.robots_txt import RobotsDeniedError, RobotsUnreachableError

logger = logging.getLogger(__name__)

AFTER_HANG_UP: Final = 10.0
"""Seconds that a response has to end in which the browser does not want any more: half a file is worth little."""
MAX_DATA: Final = 20
MAX_DATA_SIZE: Final = 1_000_000
"""Responses with JSON, and bytes of each, that are held to learn from until the visit is over."""
LAST_SECONDS: Final = 1.0
"""Seconds that responses under way have to end in when the visit is over, and then for what came to be had."""


class VisitRequests:
    """Answers the requests of one visit to a leased page (``Upstream``), whose ``recorded`` response is there already.

    ``allows`` are the methods beyond GET, HEAD and OPTIONS that may be used. After the visit it is closed, however that
    ended; from then on it makes no request. ``requests`` and ``bytes`` count what went to the network.
    """

    def __init__(
        self, crawl: VisitedCrawl, lease: Lease, recorded: Exchange, allows: frozenset[str] = frozenset()
    ) -> None:
        self.requests = 0
        self.bytes = 0
        self.from_archive = 0
        self.refused: Counter[str] = Counter()
        self._crawl = crawl
        self._lease = lease
        self._recorded: Exchange | None = recorded
        self._allows = allows
        self._pace = VisitPace(crawl.fetching, lease.url)
        self._asked: set[str] = set()
        self._manifests: dict[str, None] = {}
        self._data: dict[str, bytes] = {}
        self._under_way: dict[asyncio.Task[None], _UnderWay] = {}
        self._watching: asyncio.Task[None] | None = None
        self._failure: Exception | None = None
        self._is_over = False

    @property
    def rest_asked(self) -> float:
        """For how many seconds the page's own site has asked to be left in peace meanwhile."""
        return self._pace.rest_asked

    @property
    def manifests(self) -> tuple[str, ...]:
        """The canonical URLs of the responses that were manifests of streams."""
        return tuple(self._manifests)

    @property
    def data(self) -> Mapping[str, bytes]:
        """The JSON that was answered to GET requests, by URL as asked for, ``MAX_DATA`` at most."""
        return self._data

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        """See ``Upstream.answer``."""
        try:
            await self._answer(request, relay)
        except RequestRefusedError as refusal:
            self.refused[refusal.reason] += 1
            raise

    async def close(self) -> None:
        """End what is under way, wait until all that came is archived, and let the pause of the site begin.

        Raise the error of this machine that came up meanwhile, if one did: the page is not to be finished then.
        """
        self._is_over = True
        for seconds in (LAST_SECONDS, LAST_SECONDS):
            if self._under_way:
                await asyncio.wait(tuple(self._under_way), timeout=seconds)
            self._end_all()
        for task, under_way in self._under_way.items():
            if not under_way.has_come:
                task.cancel()
        if self._under_way:
            await asyncio.wait(tuple(self._under_way))
        if self._watching is not None:
            self._watching.cancel()
        await self._pace.end()
        counts = {f"browser_refused:{reason}": number for reason, number in self.refused.items()}
        await self._crawl.writer.count({**counts, "browser_answered_from_archive": self.from_archive})
        if self._failure is not None:
            raise self._failure

    async def _answer(self, request: BrowserRequest, relay: Relay) -> None:
        if self._is_over:
            raise RequestRefusedError("ended")
        url = urls.canonicalize(request.url)
        if url is None:
            raise RequestRefusedError("too_long" if len(request.url) > urls.MAX_LENGTH else "scheme")
        is_page = url == self._lease.url
        recorded = self._recorded
        if recorded is not None and is_page and request.method == "GET":
            self._recorded = None
            replay(recorded, relay)
            return
        wanted = self._crawl.rules.as_requisite(self._lease, url)
        self._crawl.rules.check(request, wanted, self.requests, self._allows)
        # What a page asks for a second time it wants to have anew, as when it waits for something to change.
        part = part_asked(request)
        is_new = part is not None or url not in self._asked
        if not is_page and is_new and await self._from_archive(request, url, relay):
            return
        self._asked.add(url)
        if self._pace.is_overloaded(url):
            raise RequestRefusedError("overload")
        self.requests += 1
        wants_whole = part is not None and part.is_whole and request.method == "GET"
        handed = PartRelay(relay, part) if part is not None and wants_whole else relay
        await self._from_network(_UnderWay(request, wanted, handed, wants_whole=wants_whole))

    async def _from_archive(self, request: BrowserRequest, url: str, relay: Relay) -> bool:
        exchange = await self._crawl.recorded.to_request(request, url)
        if exchange is None:
            return False
        part = part_asked(request)
        with closing(exchange):
            size = None if part is None else size_of(exchange)
            if part is not None and size is not None and part.within(size) is None:
                return False
            head = head_of(exchange)
            if head is not None and has_manifest(exchange, head.headers):
                self._manifests[url] = None
            replay(exchange, relay if part is None else PartRelay(relay, part, size))
            if head is not None and _is_json(head.headers) and (page := replayed(exchange, MAX_DATA_SIZE)) is not None:
                self._take_data(request, page.body)
        self._asked.add(url)
        self.from_archive += 1
        return True

    # To the network

    async def _from_network(self, under_way: "_UnderWay") -> None:
        """Return when a response has ended; what is done with it then goes on by itself."""
        if self._watching is None:
            self._watching = asyncio.ensure_future(self._watch_for_the_end())
        task = asyncio.ensure_future(self._run(under_way))
        self._under_way[task] = under_way
        try:
            await asyncio.shield(under_way.ended)
        except asyncio.CancelledError:
            under_way.relay.leave()
            if under_way.is_sent:
                asyncio.get_running_loop().call_later(AFTER_HANG_UP, under_way.until.set)
            else:
                task.cancel()
            raise

    async def _run(self, under_way: "_UnderWay") -> None:
        try:
            async with self._pace.slots:
                await self._fetch(under_way)
        except asyncio.CancelledError:
            under_way.refuse("stopped")
            raise
        except Exception as error:
            # What robots.txt forbids is not what the limit on requests is for.
            self.requests -= isinstance(error, RobotsDeniedError | RobotsUnreachableError)
            under_way.refuse(refusal_of(error))
            await self._take(error)
        finally:
            del self._under_way[asyncio.current_task()]  # type: ignore[arg-type]  # it runs in a task

    async def _take(self, error: Exception) -> None:
        """Keep what came before an error, and the error where it is this machine's."""
        try:
            if isinstance(error, ProxyUnavailableError):
                self._crawl.fetching.proxy_outage.began(error.proxy, str(error))
            if isinstance(error, WireError) and error.exchange is not None:
                await self._crawl.writer.archive_remains(error)
                await self._crawl.writer.count({"browser_requests": 1})
        except Exception as failure:
            error = failure
        if is_local(error):
            self._failure = self._failure or error
        elif refusal_of(error) == "error":
            logger.error("%s: unforeseen error of a request", self._lease.url, exc_info=error)

    async def _fetch(self, under_way: "_UnderWay") -> None:
        request, rules = under_way.request, self._crawl.rules
        icd, sessions = self._crawl.context.now.icd, self._crawl.sessions

        def unwanted(status: int, fields: Sequence[tuple[str, str]]) -> str:
            return rules.unwanted(under_way.wanted, status, fields)

        def holds(status: int, fields: Sequence[tuple[str, str]]) -> bool:
            under_way.unwanted = unwanted(status, fields)
            return bool(under_way.unwanted) or (status == 401 and sessions.authentication(request.url) is not None)

        under_way.relay.holds = holds
        if self._crawl.fetching.ending.is_set():
            raise StoppedError
        under_way.is_sent = True
        response = await self._crawl.fetch(
            PageFetch(
                request.url.partition("#")[0],
                request.method,
                sent_headers(
                    request,
                    icd.user_agent(),
                    keeps_cookies=sessions.given.keeps_cookies,
                    wants_whole=under_way.wants_whole,
                ),
                request.body,
                under_way.relay,
                lambda status, fields: not unwanted(status, fields),
                self._crawl.lifecycle.most_bytes("requisite"),
                self._pace,
                under_way.until,
            )
        )
        under_way.has_come = True
        with closing(response.exchange):
            self._learn(under_way, response)
            under_way.finish(response)
            await self._keep(under_way, response)

    def _learn(self, under_way: "_UnderWay", response: CapturedResponse) -> None:
        rest = retry_after(response.status, response.wire_headers)
        self._pace.answered(under_way.wanted.url, response.status, response.captured.latency, rest)
        self._crawl.fetching.proxy_outage.over(response.exchange.proxy)
        self.bytes += response.exchange.response_size
        if response.status == HTTPStatus.OK and is_manifest(response.body):
            self._manifests[under_way.wanted.url] = None
        if response.status == HTTPStatus.OK and response.complete and _is_json(response.wire_headers):
            self._take_data(under_way.request, response.body)

    def _take_data(self, request: BrowserRequest, body: bytes) -> None:
        if request.method == "GET" and len(body) < MAX_DATA_SIZE and len(self._data) < MAX_DATA:
            self._data[request.url] = body

    async def _keep(self, under_way: "_UnderWay", response: CapturedResponse) -> None:
        """Archive a response, unless it is one that the crawl does not keep of requisites either; count it."""
        size = response.exchange.response_size
        if not under_way.unwanted:
            declared, request = Headers(response.wire_headers).media_type, under_way.request
            asked = replace(
                response.exchange,
                resource_type=request.resource_type,
                initiator=request.initiator,
                shown_on=self._lease.url,
            )
            await self._crawl.writer.archive(asked, Annotations(identified(response.body, declared=declared)))
        counts = {"requests": 1.0, "bytes": float(size), "requisite_bytes": float(size), "browser_requests": 1.0}
        if not under_way.unwanted and not 300 <= response.status < 400:
            counts["requisites"] = 1.0
        counts[f"status:{response.status}"] = counts["answers"] = 1.0
        if response.exchange.tls_problem:
            counts[f"unverified:{response.exchange.tls_problem}"] = 1.0
        await self._count(under_way, counts)

    async def _count(self, under_way: "_UnderWay", counts: Mapping[str, float]) -> None:
        used = self._crawl.rules.budgets.used(under_way.wanted.url, counts)
        await self._crawl.writer.count({**counts, **used})
        self._crawl.lifecycle.check_limits()

    # The end

    def _end_all(self) -> None:
        for task, under_way in self._under_way.items():
            under_way.until.set()
            if not under_way.is_sent:
                task.cancel()
                under_way.refuse("stopped")  # A task that has not begun by then never says so itself.

    async def _watch_for_the_end(self) -> None:
        """End what is under way with the crawl, when that has waited for a little while."""
        await self._crawl.fetching.ending.wait()
        await asyncio.sleep(GRACE)
        self._end_all()


def _is_json(fields: Sequence[tuple[str, str]]) -> bool:
    return "json" in Headers(tuple(fields)).media_type


class _UnderWay:
    """A request on its way. States: waiting -> sent -> come; ``ended`` is done when its response has been handed on."""

    def __init__(self, request: BrowserRequest, wanted: Lease, relay: Relay, *, wants_whole: bool = False) -> None:
        self.request = request
        self.wants_whole = wants_whole
        self.wanted = wanted
        self.relay = ResponseRelay(relay)
        self.until = asyncio.Event()
        self.is_sent = False
        self.has_come = False
        self.unwanted = ""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.ended.add_done_callback(_look)

    def finish(self, response: CapturedResponse) -> None:
        """Say that a response has been handed on, as far as it came."""
        if self.unwanted:
            self.refuse(self.unwanted)
            return
        self.relay.catch_up(response.exchange)
        if response.exchange.truncated is not None:
            self.refuse(response.exchange.truncated)
        elif not self.ended.done():
            self.ended.set_result(None)

    def refuse(self, reason: str) -> None:
        """Say that there is no response, or none to its end."""
        if not self.ended.done():
            self.ended.set_exception(RequestRefusedError(reason))


def _look(ended: "asyncio.Future[None]") -> None:
    """Look at how a request ended: after the browser has hung up nobody else does, and asyncio would complain."""
    if not ended.cancelled():
        ended.exception()


UNFORESEEN: Final = "error"
"""The reason where nobody foresaw what came up."""
_REASONS: Final[Mapping[type[Exception], str]] = {
    RobotsDeniedError: "robots",
    RobotsUnreachableError: "robots.txt",
    IpAddressBusyError: "busy",
    StoppedError: "stopped",
    LoginFailedError: "login",
}


def refusal_of(error: Exception) -> str:
    """Return the reason of a request that ended with an error."""
    if isinstance(error, RequestRefusedError):
        return error.reason
    if isinstance(error, WireError):
        return error.reason
    return "machine" if is_local(error) else _REASONS.get(type(error), UNFORESEEN)
