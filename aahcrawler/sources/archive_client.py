"""An HTTP client for archives: one request at a time with a delay, and ever fewer requests to an archive that fails."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from aahcrawler.exchange import Exchange, Truncation
from aahcrawler.page import Headers
from aahcrawler.sources.source import LATE, REST, LateError, SourceError
from aahcrawler.urls import queue_of
from aahcrawler.wire.client import WireClient, WireRequest, WireResponse
from aahcrawler.wire.errors import WireError, WireReason
from aahcrawler.wire.politeness import PolitenessTracker, retry_after
from online_analysis.icd import Politeness

REQUESTS: Final = "source_requests"
BYTES: Final = "source_bytes"
TROUBLE: Final = "source_trouble"
"""The counts of what archives were asked, of what they sent, and of what went wrong, by archive and reason."""
FIRST_REST: Final = 5.0
"""Seconds for which an archive that failed is asked nothing; twice as many after each failure in a row."""
SILENT_REST: Final = 60.0
"""The same for one that did not answer in time: to ask it costs more than to ask one that refuses."""
MAX_REST: Final = 600.0
FIRST_PATIENCE: Final = 10.0
"""Seconds that an archive has for a response before it has given any; from then on it has the client's."""
FIRST_LATENESS: Final = 0.5
"""Seconds after which an archive that has given no response yet is passed over while there are others to be asked."""
LATENESS: Final = 2.0
"""The same for one that has answered before, at most: it is less for one that is mostly quick."""
LATE_AGAIN: Final = 1.0
"""Seconds after which a URL is offered again that none but an archive that lets one wait may have."""
PATIENT_FAILURES: Final = 10
"""Responses in a row that there is too much to do, up to which whoever wanted something waits without its attempts."""

Pause = Callable[[float], Awaitable[None]]
"""Waits for some seconds; it may raise where the crawl ends meanwhile."""


@dataclass(slots=True)
class _Health:
    """The state of an archive: its failures in a row, and until when it rests, that is, gets no requests.

    ``latency`` and ``deviation`` are the mean time until a response begins, in seconds, and the mean deviation from it.
    ``late`` and ``late_until`` are the same as ``failures`` and ``rests_until``, for slowness: a late archive is asked
    after all others. ``distrusted`` counts responses in a row that broke the archive's protocol.
    """

    has_answered: bool = False
    failures: int = 0
    rests_until: float = 0.0
    distrusted: int = 0
    latency: float = 0.0
    deviation: float = 0.0
    late: int = 0
    late_until: float = 0.0
    is_busy: bool = False
    """Whether it said of itself that it has too much to do."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def patience(self) -> float:
        """Seconds to wait for the beginning of a response while other archives can be asked.

        It follows from the archive's latencies as TCP's retransmission timeout does (RFC 6298, section 2).
        """
        if not self.has_answered:
            return FIRST_LATENESS
        return min(LATENESS, max(FIRST_LATENESS, self.latency + 4 * self.deviation))

    def note_latency(self, seconds: float) -> None:
        """Record how long a response took to begin."""
        if not self.latency:
            self.latency, self.deviation = seconds, seconds / 2
        else:
            self.deviation += (abs(self.latency - seconds) - self.deviation) / 4
            self.latency += (seconds - self.latency) / 8

    @property
    def may_answer(self) -> bool:
        """Whether the archive has responded before, or has not failed yet."""
        return self.has_answered or not self.failures


class ArchiveClient:
    """A client for archives.

    Each archive gets one request at a time, with the definition's delay, and Retry-After is obeyed. An archive that
    fails, or says that it is overloaded, rests for a while, during which a request raises ``SourceError`` at once. A
    slow archive raises ``LateError`` if others can be asked; its late response is still used to judge its health.
    ``pause`` waits between requests and may raise when the crawl ends; ``ending`` is set then. robots.txt is not
    requested: a person has named the archives, and their interfaces are made for programs.
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
        self._left: set[asyncio.Task[WireResponse]] = set()

    async def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        most: int,
        wanted: Callable[[int, Sequence[tuple[str, str]]], bool] | None = None,
        is_patient: bool = True,
    ) -> WireResponse:
        """Return an archive's response to a request; the caller closes its exchange.

        ``most`` limits the body in bytes. ``wanted`` decides by status and header fields whether the body is read.
        Raise ``SourceError`` if there is no response, or it says that the archive is overloaded; an archived response
        is returned whatever its status. Raise ``LateError`` if the response does not begin soon and ``is_patient`` is
        False.
        """
        archive, health = urlsplit(url).netloc, self._health.setdefault(queue_of(url), _Health())
        self._refuse(archive, health, is_patient=is_patient)
        # Its turn and its delay are not waited for either: who is patient may be before us, and takes long.
        if not is_patient and health.late and (health.turn.locked() or self._politeness.rest_left(url) > LATENESS):
            raise self._late(archive, health, "lets others wait")
        await health.turn.acquire()
        asked: asyncio.Task[WireResponse] | None = None
        try:
            self._refuse(archive, health, is_patient=is_patient, is_its_turn=True)
            await self.pause(self._politeness.reserve(url))
            begun = asyncio.Event()

            def begins(status: int, fields: Sequence[tuple[str, str]]) -> bool:
                begun.set()
                return wanted is None or wanted(status, fields)

            fields = tuple({**self._headers, **(headers or {})}.items())
            request = WireRequest(url, fields, keep=0, max_bytes=most, wanted=begins, until=self.ending)
            asked = asyncio.create_task(self._asked(request, archive, health))
            if not is_patient and await self._is_late(asked, begun, health):
                self._left.add(asked)
                raise self._late(archive, health, f"lets one wait for {url}")
            return await asked
        finally:
            if asked in self._left:
                asked.add_done_callback(partial(self._answered_late, health))
            else:
                if asked is not None:
                    asked.cancel()
                health.turn.release()

    def distrust(self, url: str) -> None:
        """Record that an archive broke its protocol or gave impossible information; it rests ever longer."""
        health = self._health.setdefault(queue_of(url), _Health())
        health.distrusted += 1
        self._fail(health, min(MAX_REST, FIRST_REST * 2.0 ** min(health.distrusted - 1, 10)))

    def trust(self, url: str) -> None:
        """Record that an archive gave something useful."""
        self._health.setdefault(queue_of(url), _Health()).distrusted = 0

    def note(self, error: SourceError | None) -> None:
        """Count an error that is not reported otherwise; None is ignored."""
        if error is not None:
            self._counts[f"{TROUBLE}:{error.archive}: {error.reason}"] += 1

    def take_counts(self) -> Mapping[str, int]:
        """Return the counts since the last call."""
        counts, self._counts = self._counts, Counter()
        return counts

    async def close(self) -> None:
        """Close the connections."""
        for asked in self._left:
            asked.cancel()
        await asyncio.gather(*self._left, return_exceptions=True)
        await self._client.close()

    async def _is_late(self, asked: asyncio.Task[WireResponse], begun: asyncio.Event, health: _Health) -> bool:
        """Wait for the beginning of a response; return whether it is late, and record that."""
        waiting = asyncio.create_task(begun.wait())
        try:
            done, _ = await asyncio.wait({asked, waiting}, timeout=health.patience, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not done:
            health.late += 1
            health.late_until = self._clock() + min(MAX_REST, FIRST_REST * 2.0 ** min(health.late - 1, 10))
        return not done

    def _answered_late(self, health: _Health, asked: asyncio.Task[WireResponse]) -> None:
        """Drop a response that nobody waits for any more, and let the archive be asked again."""
        self._left.discard(asked)
        health.turn.release()
        if not asked.cancelled() and asked.exception() is None:
            asked.result().exchange.close()

    async def _asked(self, request: WireRequest, archive: str, health: _Health) -> WireResponse:
        """Return the response to a request, and record how the archive fares. Raise ``SourceError``."""
        url = request.url
        response = await self._fetched(request, archive, health)
        self._counts.update({REQUESTS: 1, BYTES: response.exchange.response_size})
        rest = retry_after(response.status, response.headers)
        self._politeness.on_response(url, response.status, response.latency, rest)
        if not is_memento(response) and (response.status >= 500 or response.status == 429):
            response.exchange.close()
            health.is_busy = True
            seconds = self._fail(health, rest)
            raise SourceError(
                archive,
                f"status {response.status}",
                f"answered {response.status} to {url}",
                may_pass=True,
                seconds=seconds,
            )
        health.failures, health.is_busy = 0, False
        health.note_latency(response.latency)
        if response.latency < LATENESS:
            health.late, health.late_until = 0, 0.0
        return response

    async def _fetched(self, request: WireRequest, archive: str, health: _Health) -> WireResponse:
        try:
            async with asyncio.timeout(None if health.has_answered else FIRST_PATIENCE):
                response = await self._client.fetch(request)
            health.has_answered = True
            if response.exchange.truncated is Truncation.TIME:
                await self._unless_ending(response.exchange)
            return response
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
            told = f"gave no answer within {FIRST_PATIENCE:.0f} s to {request.url}"
            raise SourceError(archive, WireReason.TIMEOUT, told, may_pass=True, rest=rest) from error
        finally:
            self._politeness.fetch_ended(request.url)

    async def _unless_ending(self, exchange: Exchange | None) -> None:
        """Raise what ``pause`` raises if the crawl is ending, as a response then says nothing about the archive."""
        try:
            await self.pause(0.0)
        except BaseException:
            if exchange is not None:
                exchange.close()
            raise

    def _refuse(self, archive: str, health: _Health, *, is_patient: bool, is_its_turn: bool = False) -> None:
        """Raise ``SourceError`` while an archive rests, or while another request tests whether it has recovered.

        Raise ``LateError`` while it is late, unless the caller is patient and the archive may answer (``may_answer``).
        """
        left = health.rests_until - self._clock()
        is_tried = health.failures and not health.is_busy and not is_its_turn and health.turn.locked()
        if left > 0 or is_tried:
            waits = health.is_busy and health.failures <= PATIENT_FAILURES
            seconds, told = max(left, 1.0), "is asked nothing for a while"
            raise SourceError(archive, REST, told, may_pass=True, seconds=seconds if waits else 0.0, rest=seconds)
        late = health.late_until - self._clock()
        if late > 0 and not (is_patient and health.may_answer):
            raise self._late(archive, health, "has let others wait")

    def _late(self, archive: str, health: _Health, told: str) -> LateError:
        seconds = LATE_AGAIN if health.may_answer else 0.0
        return LateError(
            archive, LATE, told, may_pass=True, seconds=seconds, rest=max(0.0, health.late_until - self._clock())
        )

    def _fail(self, health: _Health, rest: float, first: float = FIRST_REST) -> float:
        """Let an archive rest; return for how many seconds."""
        health.failures += 1
        seconds = rest or min(MAX_REST, first * 2.0 ** min(health.failures - 1, 10))
        health.rests_until = max(health.rests_until, self._clock() + seconds)
        return health.rests_until - self._clock()


def is_memento(response: WireResponse) -> bool:
    """Return whether a response declares itself a memento."""
    return bool(Headers(response.headers).get("Memento-Datetime"))


def is_refused(response: WireResponse) -> bool:
    """Return whether an archive refuses a single URL, which is blocked or unavailable there.

    This says nothing about the archive's other URLs.
    """
    return 400 <= response.status < 500 and not is_memento(response)
