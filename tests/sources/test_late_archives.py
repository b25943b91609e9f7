"""Archives that let one wait: what they cost a look-up is bounded, and what others have goes on meanwhile."""

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from aahcrawler.crawl.fetch import sourced_captures
from aahcrawler.crawl.fetch.sourced_captures import SourcedCaptures
from aahcrawler.exchange import Exchange
from aahcrawler.sources import archive_client, late_lookups
from aahcrawler.sources.archive_client import LATE_AGAIN, ArchiveClient
from aahcrawler.sources.late_lookups import LateLookups
from aahcrawler.sources.source import LATE, Demand, LateError
from aahcrawler.wire.client import WireClient, WireRequest, WireResponse
from online_analysis.icd import Politeness

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
HELD, OTHER, ALONE = (f"http://dikes.test/{name}" for name in ("held", "other", "alone"))


def exchange_of(url: str) -> Exchange:
    response = io.BytesIO(HEAD + b"x")
    at = datetime(2013, 6, 5, tzinfo=UTC)
    return Exchange(url, "GET", b"", response, len(HEAD) + 1, b"", "", at, head_size=len(HEAD))


@dataclass(slots=True, eq=False)
class MadeUp:
    """A source that has some URLs; one that is slow answers who waits for it once ``answers`` is set."""

    name: str
    urls: Sequence[str] = ()
    is_slow: bool = False
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    waited_for: list[str] = field(default_factory=list)
    answered: int = 0

    async def captures(self, url: str, demand: Demand) -> AsyncIterator[Exchange]:
        if self.is_slow:
            if not demand.is_patient:
                raise LateError(self.name, LATE, "lets one wait", may_pass=True, seconds=LATE_AGAIN)
            self.waited_for.append(url)
            self.asked.set()
            await self.answers.wait()
            self.answered += 1
        if url in self.urls:
            yield exchange_of(url)

    def near(self, moment: datetime) -> "MadeUp":
        raise NotImplementedError(moment)

    async def moments(self, url: str) -> Sequence[datetime]:
        raise NotImplementedError(url)

    def close(self) -> None:
        pass


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0)


async def looked_up(captures: SourcedCaptures, url: str) -> int:
    """Look a URL up as a crawl does; return how many captures it has."""
    taken = [each async for each in captures.captures(url, captures.preferred, None)]
    for each in taken:
        each.exchange.close()
    return len(taken)


def test_a_slow_archive_answers_in_its_own_time_and_the_others_go_on() -> None:
    async def course() -> None:
        slow, quick = MadeUp("slow", [HELD], is_slow=True), MadeUp("quick", [OTHER])
        captures = SourcedCaptures([slow, quick], has_live=False)
        for url in (HELD, ALONE):
            assert await looked_up(captures, url) == 0
            failed = captures.unavailable(url)
            assert failed is not None
            assert failed.seconds == LATE_AGAIN, "it is looked up again, and the attempt not counted"
        await slow.asked.wait()
        assert await looked_up(captures, OTHER) == 1
        assert slow.waited_for == [HELD], "one URL after the other, and none that others have"
        slow.answers.set()
        await until(lambda: captures.take_late_answers() == [HELD])
        assert await looked_up(captures, HELD) == 1
        await until(lambda: slow.answered == 2)
        assert await looked_up(captures, ALONE) == 0
        assert captures.unavailable(ALONE) is None, "nobody has it"
        assert slow.waited_for == [HELD, ALONE]
        await captures.close()

    asyncio.run(asyncio.wait_for(course(), 30))


def test_an_archive_that_does_not_end_its_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_lookups, "LATE_PATIENCE", 0.0)

    async def course() -> None:
        slow = MadeUp("slow", [HELD], is_slow=True)
        captures = SourcedCaptures([slow, MadeUp("second", is_slow=True), MadeUp("quick")], has_live=False)
        taken = [each async for each in captures.captures(HELD, captures.preferred, None, is_patient=True)]
        failed = captures.unavailable(HELD)
        assert (taken, failed is None) == ([], False)
        assert failed is not None
        assert failed.seconds == 0.0, "the attempt counts: it is not waited for for ever"
        assert failed.troubles == {"slow: late": 1, "second: late": 1}
        await captures.close()

    asyncio.run(asyncio.wait_for(course(), 30))


def test_a_look_up_that_no_other_archive_could_answer_stays_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async def course() -> None:
        slow, slower = (MadeUp(name, [HELD], is_slow=True) for name in ("slow", "slower"))
        captures = SourcedCaptures([slow, slower], has_live=False)
        waiting = asyncio.create_task(looked_up(captures, HELD))
        await slower.asked.wait()
        assert not waiting.done()
        slower.answers.set()
        assert await waiting == 1, "the other one is not waited for"
        slower.answers.clear()
        monkeypatch.setattr(sourced_captures, "IN_LINE", 0.0)
        assert await looked_up(captures, ALONE) == 0
        failed = captures.unavailable(ALONE)
        assert failed is not None
        assert (failed.seconds, failed.have_nothing) == (LATE_AGAIN, [])
        await captures.close()

    asyncio.run(asyncio.wait_for(course(), 30))


@pytest.mark.parametrize("gave", [True, False])
def test_an_archive_is_waited_for_by_what_its_captures_cost(monkeypatch: pytest.MonkeyPatch, *, gave: bool) -> None:
    now = [1000.0]
    monkeypatch.setattr(sourced_captures, "monotonic", lambda: now[0])
    monkeypatch.setattr(late_lookups, "FEW_ANSWERS", 1)

    async def course() -> None:
        slow = MadeUp("slow", [HELD] if gave else [], is_slow=True)
        late = LateLookups(lambda: now[0])
        captures = SourcedCaptures([slow, MadeUp("quick")], has_live=False, _opened_at=0.0, _late=late)
        assert await looked_up(captures, HELD) == 0
        await slow.asked.wait()
        now[0] += 1.5 * sourced_captures.WORTH
        slow.answers.set()
        await until(lambda: slow.answered == 1)
        assert await looked_up(captures, HELD) == int(gave)
        assert await looked_up(captures, ALONE) == 0
        slow.answers.clear()
        now[0] += 0.4 * sourced_captures.MAX_IN_VAIN  # Nothing else came up.
        assert await looked_up(captures, OTHER) == 0, "what comes up is put in line in any case"
        failed = captures.unavailable(OTHER)
        assert failed is not None
        assert failed.seconds == LATE_AGAIN
        now[0] += 0.4 * sourced_captures.MAX_IN_VAIN
        assert await looked_up(captures, OTHER) == 0
        failed = captures.unavailable(OTHER)
        assert failed is not None
        assert (failed.seconds > 0) == gave, "else the attempt counts"
        await captures.close()

    asyncio.run(asyncio.wait_for(course(), 30))


def test_an_archive_that_is_mostly_quick_is_passed_over_sooner() -> None:
    health = archive_client._Health()
    assert health.patience == archive_client.FIRST_LATENESS
    health.has_answered = True
    for seconds in (0.2, 0.21, 0.19, 0.2, 0.2, 0.2):
        health.note_latency(seconds)
    assert health.patience == archive_client.FIRST_LATENESS
    for _ in range(20):
        health.note_latency(1.2)
    assert 1.2 < health.patience < archive_client.LATENESS
    health.note_latency(30.0)
    assert health.patience == archive_client.LATENESS


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
