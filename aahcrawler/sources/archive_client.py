"""Asks archives over the network: one request at a time, a delay apart, less and less where they fail."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from aahcrawler.exchange import Exchange, Truncation
from aahcrawler.page import Headers
from aahcrawler.sources.source import REST, SourceError
from aahcrawler.urls import queue_of
from aahcrawler.wire.client import WireClient, WireRequest, WireResponse
from aahcrawler.wire.errors import WireError, WireReason
from aahcrawler.wire.politeness import PolitenessTracker, retry_after
from online_analysis.icd import Politeness

REQUESTS: Final = "source_requests"
BYTES: Final = "source_bytes"
"""The counts of what archives were asked, and of what they sent."""
FIRST_REST: Final = 5.0
"""Seconds for which an archive that failed is asked nothing; twice as many after each failure in a row."""
SILENT_REST: Final = 60.0
"""The same for one that did not answer in time: to ask it costs more than to ask one that refuses."""
MAX_REST: Final = 600.0
FIRST_PATIENCE: Final = 10.0
"""Seconds that an archive has for an answer before it has given any; from then on it has the client's."""
PATIENT_FAILURES: Final = 10
"""Answers in a row that there is too much to do, up to which whoever wanted something waits without its attempts."""

Pause = Callable[[float], Awaitable[None]]
"""Waits for some seconds; it may raise where the crawl ends meanwhile."""


@dataclass(slots=True)
class _Health:
    """How an archive fares: failures in a row, and until when it is asked nothing, by the clock."""

    has_answered: bool = False
    failures: int = 0
    rests_until: float = 0.0
    is_busy: bool = False
    """Whether it said of itself that it has too much to do."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class ArchiveClient:
    """A client of archives. Each is asked one thing at a time, by the definition's delay, its Retry-After obeyed.

    One that fails, or says that it has too much to do, is left alone for a while, in which ``SourceError`` tells so at
    once. ``pause`` waits between requests and may raise where the crawl ends; ``ending`` is set then. ``robots.txt`` is
    not asked for: a person names archives, and what is asked for is made for programs.
    """

    def __init__(
        self,
        client: WireClient,
        politeness: Politeness,
        headers: Mapping[str, str],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.pause: Pause = asyncio.sleep
        self.ending: asyncio.Event | None = None
        self._client = client
        self._politeness = PolitenessTracker(politeness, clock)
        self._headers = dict(headers)
        self._clock = clock
        self._health: dict[str, _Health] = {}
        self._counts: Counter[str] = Counter()

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        most: int,
        wanted: Callable[[int, Sequence[tuple[str, str]]], bool] | None = None,
    ) -> WireResponse:
        """Return the answer of an archive to a request, of which the caller closes the exchange.

        ``most`` bounds the body; ``wanted`` says by its head whether that is wanted at all. Raise ``SourceError`` where
        there is no answer, or one that there is too much to do; an archived answer is given whatever its status.
        """
        archive, health = urlsplit(url).netloc, self._health.setdefault(queue_of(url), _Health())
        self._refuse_at_rest(archive, health)
        async with health.turn:
            self._refuse_at_rest(archive, health, is_its_turn=True)
            await self.pause(self._politeness.reserve(url))
            answer = await self._asked(url, archive, health, {**self._headers, **(headers or {})}, most, wanted)
        self._counts.update({REQUESTS: 1, BYTES: answer.exchange.response_size})
        rest = retry_after(answer.status, answer.headers)
        self._politeness.on_response(url, answer.status, answer.latency, rest)
        if not is_memento(answer) and (answer.status >= 500 or answer.status == 429):
            answer.exchange.close()
            health.is_busy = True
            seconds = self._fail(health, rest)
            raise SourceError(
                archive, f"status {answer.status}", f"answered {answer.status} to {url}", may_pass=True, seconds=seconds
            )
        health.failures, health.is_busy = 0, False
        return answer

    def distrust(self, url: str) -> None:
        """Note that an archive does not speak its protocol: it is asked less while that goes on."""
        self._fail(self._health.setdefault(queue_of(url), _Health()), 0.0)

    def take_counts(self) -> Mapping[str, int]:
        """Return what there is to be counted since the last call."""
        counts, self._counts = self._counts, Counter()
        return counts

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _asked(
        self,
        url: str,
        archive: str,
        health: _Health,
        headers: Mapping[str, str],
        most: int,
        wanted: Callable[[int, Sequence[tuple[str, str]]], bool] | None,
    ) -> WireResponse:
        request = WireRequest(url, tuple(headers.items()), keep=0, max_bytes=most, wanted=wanted, until=self.ending)
        try:
            async with asyncio.timeout(None if health.has_answered else FIRST_PATIENCE):
                answer = await self._client.fetch(request)
            health.has_answered = True
            if answer.exchange.truncated is Truncation.TIME:
                await self._unless_ending(answer.exchange)
            return answer
        except WireError as error:
            await self._unless_ending(error.exchange)
            if error.exchange is not None:
                error.exchange.close()
            health.is_busy = False
            rest = self._fail(health, 0.0, SILENT_REST if error.reason is WireReason.TIMEOUT else FIRST_REST)
            raise SourceError(archive, error.reason, str(error), may_pass=True, rest=rest) from error
        except TimeoutError as error:
            await self._unless_ending(None)
            health.is_busy = False
            rest = self._fail(health, 0.0, SILENT_REST)
            told = f"gave no answer within {FIRST_PATIENCE:.0f} s to {url}"
            raise SourceError(archive, WireReason.TIMEOUT, told, may_pass=True, rest=rest) from error
        finally:
            self._politeness.fetch_ended(url)

    async def _unless_ending(self, exchange: Exchange | None) -> None:
        """Raise what ``pause`` raises when the crawl ends: what came then says nothing of the archive."""
        try:
            await self.pause(0.0)
        except BaseException:
            if exchange is not None:
                exchange.close()
            raise

    def _refuse_at_rest(self, archive: str, health: _Health, *, is_its_turn: bool = False) -> None:
        """Raise ``SourceError`` while an archive rests, or while somebody else tries whether it is well again."""
        left = health.rests_until - self._clock()
        is_tried = health.failures and not health.is_busy and not is_its_turn and health.turn.locked()
        if left > 0 or is_tried:
            waits = health.is_busy and health.failures <= PATIENT_FAILURES
            seconds, told = max(left, 1.0), "is asked nothing for a while"
            raise SourceError(archive, REST, told, may_pass=True, seconds=seconds if waits else 0.0, rest=seconds)

    def _fail(self, health: _Health, rest: float, first: float = FIRST_REST) -> float:
        """Let an archive rest; return for how many seconds."""
        health.failures += 1
        seconds = rest or min(MAX_REST, first * 2.0 ** min(health.failures - 1, 10))
        health.rests_until = max(health.rests_until, self._clock() + seconds)
        return health.rests_until - self._clock()


def is_memento(answer: WireResponse) -> bool:
    """Return whether an answer says of itself that it is a memento."""
    return bool(Headers(answer.headers).get("Memento-Datetime"))
