"""Events of workers on their way to the server."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from aahcrawler.crawl.cluster import worker as telling
from aahcrawler.crawl.cluster.worker import EventSink
from aahcrawler.crawl.stats.crawl_log import CURRENT_CRAWL, keep_events, listening
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.redis.registry import RedisEventLog
from aahcrawler.frontier.registry import MAX_EVENT_LENGTH, WorkerEvent
from aahcrawler.frontier.server.embedded import EmbeddedServer

logger = logging.getLogger("aahcrawler.crawl.somewhere")


class HistoryRecord:
    """A log that is away at times."""

    def __init__(self) -> None:
        self.events: list[WorkerEvent] = []
        self.is_away = False

    def put(self, events: Sequence[WorkerEvent]) -> None:
        if self.is_away:
            raise FrontierUnavailableError("away")
        self.events += events

    def read(self, after: str = "") -> Iterator[tuple[str, WorkerEvent]]:
        raise NotImplementedError


def test_events_know_worker_and_crawl_and_are_one_line() -> None:
    log = HistoryRecord()
    sink = EventSink(log, "host:1")
    with listening(sink):
        logger.info("two\nlines %d", 7)
        token = CURRENT_CRAWL.set("floods")
        try:
            1 // 0  # noqa: B018
        except ZeroDivisionError:
            logger.exception("trouble")
        CURRENT_CRAWL.reset(token)
    asyncio.run(sink.deliver())
    first, second = log.events
    assert (first.worker, first.crawl, first.level, first.subsystem) == ("host:1", "", "INFO", "crawl.somewhere")
    assert first.message == "two | lines 7"
    assert second.crawl == "floods"
    assert "trouble Traceback" in second.message
    assert "\n" not in str(second)


def test_what_cannot_be_delivered_waits_and_what_is_lost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "MAX_WAITING", 3)
    log = HistoryRecord()
    log.is_away = True
    sink = EventSink(log, "host:1")
    with listening(sink):
        for number in range(5):
            logger.info("%d", number)
            asyncio.run(sink.deliver())
    log.is_away = False
    asyncio.run(sink.deliver())
    asyncio.run(sink.deliver())
    assert [event.message for event in log.events[1:]] == ["2", "3", "4"]
    assert log.events[0].message.startswith("2 events before this one are lost")


def test_each_crawl_of_a_process_has_its_own_log(tmp_path: Path) -> None:
    async def said(crawl: str) -> None:
        CURRENT_CRAWL.set(crawl)
        with keep_events(tmp_path / crawl, crawl):
            for number in range(3):
                logger.info("%s %d", crawl, number)
                await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(said("a"), said("b"))

    level = logging.getLogger().level
    asyncio.run(both())
    for crawl in ("a", "b"):
        lines = (tmp_path / crawl).read_text("utf-8").splitlines()
        assert [line.rpartition("somewhere ")[2] for line in lines] == [f"{crawl} {number}" for number in range(3)]
    assert logging.getLogger().level == level


def test_the_server_keeps_the_last_events_in_order(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        log = RedisEventLog(server.url, most=100)
        sink = EventSink(log, "w")
        for number in range(5000):
            # Past the logger: what a test logs goes into its report, which no surrogate may be in.
            said = f"{number} " + ("\ud800" * 3 if number == 4999 else "x" * (MAX_EVENT_LENGTH + number))
            sink.handle(logging.LogRecord(logger.name, logging.INFO, "", 0, said, None, None))
        asyncio.run(sink.deliver())
        kept = list(log.read())
        messages = [event.message for _, event in kept]
        assert 100 <= len(messages) < 1000
        assert [int(message.partition(" ")[0]) for message in messages] == list(range(5000 - len(messages), 5000))
        assert max(map(len, messages)) <= MAX_EVENT_LENGTH
        place = kept[-2][0]
        assert [event.message for _, event in log.read(place)] == [messages[-1]]
        log.close()
