"""Look-ups in slow archives, which go on in the background while a crawl asks others."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from aahcrawler.exchange import Exchange
from aahcrawler.sources.source import LATE, Demand, LateError, Resolution, Source, SourceError

LATE_PATIENCE: Final = 60.0
"""Seconds that a look-up waits at most for the next capture of an archive that lets one wait, all requests taken."""
MAX_LOOKED_UP: Final = 10_000
"""URLs that stand in line, or whose answers wait to be taken; more are put in line when they are looked up again."""
FEW_ANSWERS: Final = 5
"""Answers of a source of which it is not known yet what its captures cost."""
MAX_HELD: Final = 64
"""Captures that wait to be taken. What was had first is given up for more, and asked for anew if it is wanted."""


@dataclass(slots=True, eq=False)
class _Lookup:
    """The look-up of a URL in one source: its captures, beginning with ``first``, or the ``error`` that ended it."""

    url: str
    source: Source
    lateness: LateError
    captures: AsyncGenerator[Exchange, None]
    first: Exchange | None = None
    error: Exception | None = None
    is_wanted: bool = True
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def close(self) -> None:
        """Close the captures that nobody took."""
        self.is_wanted = False
        if self.first is not None:
            self.first.close()
            self.first = None
            await self.captures.aclose()


@dataclass(slots=True)
class _Line:
    """The look-ups that wait for one source, and its yield so far: seconds, answers, and answers with captures."""

    waiting: deque[_Lookup] = field(default_factory=deque)
    work: asyncio.Task[None] | None = None
    began: float | None = None
    seconds: float = 0.0
    answers: int = 0
    given: int = 0


class LateLookups:
    """Queues of look-ups in slow sources, one queue for each source. For one event loop.

    A source looks up one URL after another; its answer is kept until the caller takes it. ``clock`` returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lines: dict[str, _Line] = {}
        self._lookups: OrderedDict[str, dict[Source, _Lookup]] = OrderedDict()
        self._held: deque[_Lookup] = deque()
        self._told: list[str] = []

    def ask(self, url: str, late: Sequence[tuple[Source, LateError]], most: int) -> None:
        """Queue a URL for the sources that do not have it queued yet, for captures of at most ``most`` bytes."""
        if url not in self._lookups and len(self._lookups) >= MAX_LOOKED_UP:
            return
        known = self._lookups.setdefault(url, {})
        for source, lateness in late:
            if source in known:
                continue
            known[source] = lookup = _Lookup(url, source, lateness, _captures(source, url, Demand(most)))
            line = self._lines.setdefault(source.name, _Line())
            line.waiting.append(lookup)
            if line.work is None:
                line.work = asyncio.create_task(self._work(line))

    async def ended(self, url: str, seconds: float | None) -> None:
        """Wait until some source has a capture of a queued URL, or all have answered; None sets no time limit."""
        lookups = list(self._lookups.get(url, {}).values())
        waiting = {asyncio.create_task(each.has_ended.wait()) for each in lookups if not each.has_ended.is_set()}
        try:
            async with asyncio.timeout(seconds):
                while waiting and not any(each.first is not None for each in lookups):
                    _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            pass
        finally:
            for each in waiting:
                each.cancel()

    async def captures(self, url: str, source: Source, resolution: Resolution) -> AsyncIterator[Exchange]:
        """Yield a source's captures of a URL, and forget its answer; the caller closes each capture.

        Record in ``resolution`` that it has nothing, or why it failed. Yield nothing if it has not answered
        (``has_answered``).
        """
        if not self.has_answered(url, source):
            return
        lookup = self._lookups[url][source]
        self._forget(lookup)
        if isinstance(lookup.error, SourceError):
            resolution.note(url, lookup.error)
        elif lookup.error is not None:
            raise lookup.error
        elif lookup.first is None:
            resolution.have_nothing.append(source)
        else:
            exchange, lookup.first = lookup.first, None
            yield exchange
            async for exchange in _rest(lookup, resolution):
                yield exchange

    def has_answered(self, url: str, source: Source) -> bool:
        """Return whether a source's answer for a URL is ready."""
        lookup = self._lookups.get(url, {}).get(source)
        return lookup is not None and lookup.has_ended.is_set()

    async def withdraw(self, url: str) -> None:
        """Remove a URL from all queues, with answers that are ready."""
        for lookup in list(self._lookups.pop(url, {}).values()):
            await lookup.close()

    def take_told(self) -> Sequence[str]:
        """Return URLs of which captures arrived since the last call, and which are worth looking up again."""
        told, self._told = self._told, []
        return told

    def is_worth(self, source: Source, seconds: float) -> bool:
        """Return whether a source yields at least one capture every so many seconds, counting one more than it gave.

        The answer is True while too few answers are known.
        """
        line = self._lines.get(source.name, _Line())
        present = 0.0 if line.began is None else self._clock() - line.began
        return line.answers < FEW_ANSWERS or line.seconds + present <= seconds * (line.given + 1)

    async def close(self) -> None:
        """Cancel running look-ups, and close captures that nobody took."""
        works = [line.work for line in self._lines.values() if line.work is not None]
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        for url in list(self._lookups):
            await self.withdraw(url)

    def _forget(self, lookup: _Lookup) -> None:
        known = self._lookups.get(lookup.url, {})
        if known.get(lookup.source) is lookup:
            del known[lookup.source]
        if not known:
            self._lookups.pop(lookup.url, None)

    async def _work(self, line: _Line) -> None:
        try:
            while line.waiting:
                lookup = line.waiting.popleft()
                if lookup.is_wanted:
                    await self._asked(line, lookup)
        finally:
            line.work = None

    async def _asked(self, line: _Line, lookup: _Lookup) -> None:
        line.began = self._clock()
        try:
            async with asyncio.timeout(LATE_PATIENCE):
                lookup.first = await anext(lookup.captures, None)
        except TimeoutError:
            lookup.error = _in_vain(lookup)
        except Exception as error:
            lookup.error = error
        finally:
            line.seconds, line.began = line.seconds + self._clock() - line.began, None
            line.answers += 1
            lookup.has_ended.set()
        if not lookup.is_wanted:
            await lookup.close()
        elif lookup.first is not None:
            line.given += 1
            self._told.append(lookup.url)
            self._held.append(lookup)
            self._held = deque(each for each in self._held if each.first is not None)
            if len(self._held) > MAX_HELD:
                first = self._held.popleft()
                self._forget(first)
                await first.close()


async def _captures(source: Source, url: str, demand: Demand) -> AsyncGenerator[Exchange, None]:
    async for exchange in source.captures(url, demand):
        yield exchange


async def _rest(lookup: _Lookup, resolution: Resolution) -> AsyncIterator[Exchange]:
    """Yield a source's captures after the first; record it if the source fails or takes too long."""
    try:
        async with aclosing(lookup.captures):
            while True:
                async with asyncio.timeout(LATE_PATIENCE):
                    exchange = await anext(lookup.captures, None)
                if exchange is None:
                    return
                yield exchange
    except SourceError as error:
        resolution.note(lookup.url, error)
    except TimeoutError:
        resolution.note(lookup.url, _in_vain(lookup))


def _in_vain(lookup: _Lookup) -> LateError:
    told = f"has nothing to say within {LATE_PATIENCE:.0f} s"
    lateness = lookup.lateness
    return LateError(lateness.archive, LATE, told, may_pass=True, rest=lateness.rest)
