"""Archives that let one wait: what they cost a look-up is bounded, and what others have goes on meanwhile."""

import asyncio
import io
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from aahcrawler.crawl.fetch import sourced_captures
from aahcrawler.crawl.fetch.sourced_captures import SourcedCaptures
from aahcrawler.exchange import Exchange
from aahcrawler.sources import archive_client, source
from aahcrawler.sources.archive_client import LATE_AGAIN, ArchiveClient
from aahcrawler.sources.source import LATE, Demand, LateError
from aahcrawler.wire.client import WireClient, WireRequest, WireResponse
from online_analysis.icd import Politeness

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
HELD, OTHER, ALONE = (f"http://dikes.test/{name}" for name in ("held", "other", "alone"))


def exchange_of(url: str) -> Exchange:
    response = io.BytesIO(HEAD + b"x")
    at = datetime(2013, 6, 5, tzinfo=UTC)
    return Exchange(url, "GET", b"", response, len(HEAD) + 1, b"", "", at, head_size=len(HEAD))


@dataclass(slots=True)
class MadeUp:
    """A source that has some URLs; one that is slow answers who waits for it once ``answers`` is set."""

    name: str
    urls: Sequence[str] = ()
    is_slow: bool = False
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    waited_for: list[str] = field(default_factory=list)

    async def captures(self, url: str, demand: Demand) -> AsyncIterator[Exchange]:
        if self.is_slow:
            if not demand.is_patient:
                raise LateError(self.name, LATE, "lets one wait", may_pass=True, seconds=LATE_AGAIN)
            self.waited_for.append(url)
            self.asked.set()
            await self.answers.wait()
        if url in self.urls:
            yield exchange_of(url)

    def near(self, moment: datetime) -> "MadeUp":
        raise NotImplementedError(moment)

    async def moments(self, url: str) -> Sequence[datetime]:
        raise NotImplementedError(url)

    def close(self) -> None:
        pass


async def looked_up(captures: SourcedCaptures, url: str) -> int:
    """Look a URL up as a crawl does; return how many captures it has."""
    taken = [each async for each in captures.captures(url, captures.preferred, None)]
    for each in taken:
        each.exchange.close()
    return len(taken)


def test_one_look_up_waits_for_a_slow_archive_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sourced_captures, "IDLE", -1.0)

    async def course() -> None:
        slow, quick = MadeUp("slow", [HELD], is_slow=True), MadeUp("quick", [OTHER])
        captures = SourcedCaptures([slow, quick])
        waiting = asyncio.create_task(looked_up(captures, HELD))
        await slow.asked.wait()
        assert await looked_up(captures, OTHER) == 1
        assert await looked_up(captures, ALONE) == 0
        failed = captures.unavailable(ALONE)
        assert failed is not None
        assert failed.seconds == LATE_AGAIN, "it is looked up again, and the attempt not counted"
        assert slow.waited_for == [HELD]
        slow.answers.set()
        assert await waiting == 1
        assert await looked_up(captures, ALONE) == 0
        assert captures.unavailable(ALONE) is None, "it is the turn of the next one, and nobody has it"

    asyncio.run(asyncio.wait_for(course(), 30))


@pytest.mark.parametrize("others", [[], [MadeUp("second", is_slow=True)]], ids=["one", "two"])
def test_a_slow_archive_costs_a_url_no_more_than_its_bound(
    monkeypatch: pytest.MonkeyPatch, others: Sequence[MadeUp]
) -> None:
    monkeypatch.setattr(sourced_captures, "IDLE", -1.0)
    monkeypatch.setattr(source, "LATE_PATIENCE", 0.0)

    async def course() -> None:
        slow = MadeUp("slow", [HELD], is_slow=True)
        captures = SourcedCaptures([slow, *others, MadeUp("quick")])
        assert await looked_up(captures, HELD) == 0
        failed = captures.unavailable(HELD)
        assert failed is not None
        assert failed.have_nothing
        assert failed.seconds == 0.0, "the attempt counts: it is not waited for for ever"
        assert failed.troubles["slow: late"] == 1

    asyncio.run(asyncio.wait_for(course(), 30))


def test_a_look_up_that_no_other_archive_could_answer_stands_in_line_for_a_while_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sourced_captures, "IDLE", 0.0)

    async def course() -> None:
        slow, slower = (MadeUp(name, [HELD], is_slow=True) for name in ("slow", "slower"))
        captures = SourcedCaptures([slow, slower])
        waiting = asyncio.create_task(looked_up(captures, HELD))
        await slow.asked.wait()
        assert await looked_up(captures, ALONE) == 0
        failed = captures.unavailable(ALONE)
        assert failed is not None
        assert (failed.seconds, failed.have_nothing) == (LATE_AGAIN, [])
        slow.answers.set()
        assert await waiting == 1

    asyncio.run(asyncio.wait_for(course(), 30))


def test_a_slow_archive_that_has_nothing_is_waited_for_no_more_until_time_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(sourced_captures, "monotonic", lambda: now[0])
    monkeypatch.setattr(sourced_captures, "IDLE", -1.0)

    async def course() -> None:
        slow = MadeUp("slow", [HELD], is_slow=True)
        captures = SourcedCaptures([slow, MadeUp("quick")], _opened_at=now[0])
        waiting = asyncio.create_task(looked_up(captures, OTHER))
        await slow.asked.wait()
        now[0] += 2 * sourced_captures.MAX_IN_VAIN
        slow.answers.set()
        assert await waiting == 0
        assert await looked_up(captures, HELD) == 0
        failed = captures.unavailable(HELD)
        assert failed is not None
        assert failed.seconds == 0.0, "the attempt counts"
        now[0] += 4 * sourced_captures.MAX_IN_VAIN
        assert await looked_up(captures, HELD) == 1
        assert slow.waited_for == [OTHER, HELD]

    asyncio.run(asyncio.wait_for(course(), 30))


class Silent:
    """A client whose requests are answered, 3 seconds late by what it tells, once ``answers`` is set."""

    def __init__(self) -> None:
        self.answers, self.asked = asyncio.Event(), asyncio.Event()

    async def fetch(self, request: WireRequest) -> WireResponse:
        self.asked.set()
        await self.answers.wait()
        return WireResponse(exchange_of(request.url), 200, "OK", (1, 1), (), b"", True, 3.0, 3.0)

    async def close(self) -> None:
        pass


def test_nobody_stands_in_line_behind_who_waits_for_a_slow_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_client, "FIRST_LATENESS", 0.0)
    now = [0.0]

    async def course() -> None:
        wire = Silent()
        politeness = Politeness(delay=timedelta(0), delay_factor=0.0)
        client = ArchiveClient(cast("WireClient", wire), politeness, {}, lambda: now[0])
        with pytest.raises(LateError):
            await client.get("http://slow.test/1", most=10, is_patient=False)
        wire.answers.set()
        (await client.get("http://slow.test/2", most=10)).exchange.close()
        wire.answers.clear()
        wire.asked.clear()
        patient = asyncio.create_task(client.get("http://slow.test/3", most=10))
        await wire.asked.wait()
        now[0] += archive_client.MAX_REST  # It may be asked whether it is still slow, but for its turn.
        with pytest.raises(LateError):
            await client.get("http://slow.test/4", most=10, is_patient=False)
        wire.answers.set()
        (await patient).exchange.close()
        (await client.get("http://slow.test/5", most=10, is_patient=False)).exchange.close()
        await client.close()

    asyncio.run(asyncio.wait_for(course(), 30))
