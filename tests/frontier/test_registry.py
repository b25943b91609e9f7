"""What every registry of crawls promises, over the Redis implementation."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from redis import Redis

from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.redis.registry import RedisEventLog, RedisPresence, RedisRegistry
from aahcrawler.frontier.registry import (
    MAX_DEFINITION_BYTES,
    CrawlState,
    Definition,
    Doing,
    Registry,
    RegistryError,
    UnknownCrawlError,
    Worker,
    WorkerEvent,
)
from tests.crawl.crawling import until
from tests.frontier.conftest import address_of, started

ONE = Definition(b"id: floods", {"texts/a.html": b"\xffone", "../b": b""})
OTHER = Definition(b"id: floods\nlimits: {pages: 3}")


class Calendar:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture(params=started("redis", "cluster"))
def address(request: pytest.FixtureRequest) -> str:
    return address_of(request.param, request)


@pytest.fixture
def registry(address: str, calendar: Calendar) -> Iterator[Registry]:
    with closing(connect(address)) as client:
        client.flushall()
        yield RedisRegistry(client, calendar)


def test_a_crawl_is_registered_with_all_that_its_definition_names(registry: Registry, calendar: Calendar) -> None:
    submitted = registry.submit("floods", ONE, title="Floods")
    assert (submitted.number, submitted.version, submitted.state) == (1, 1, CrawlState.ACTIVE)
    assert registry.crawls() == (submitted,)
    assert submitted.changed_at == calendar.now
    assert registry.definition("floods") == (1, ONE)


def test_only_another_text_is_another_version(registry: Registry) -> None:
    registry.submit("floods", ONE)
    assert registry.submit("floods", Definition(ONE.text, dict(reversed(list(ONE.files.items()))))).version == 1
    assert registry.submit("floods", OTHER).version == 2
    assert registry.definition("floods") == (2, OTHER)


def test_a_crawl_ends_once_and_only_the_one_at_hand(registry: Registry, calendar: Calendar) -> None:
    registry.submit("floods", ONE)
    calendar.now += timedelta(hours=1)
    assert not registry.end("floods", 2, "finished")
    assert not registry.end("droughts", 1, "finished")
    assert registry.end("floods", 1, "finished")
    assert not registry.end("floods", 1, "limits.time reached")
    (ended,) = registry.crawls()
    assert (ended.state, ended.reason, ended.changed_at) == (CrawlState.ENDED, "finished", calendar.now)


def test_what_has_ended_goes_on_or_begins_anew(registry: Registry, calendar: Calendar) -> None:
    first = registry.submit("floods", ONE)
    calendar.now += timedelta(hours=1)
    registry.end("floods", 1, "limits.pages reached")
    onward = registry.submit("floods", ONE)
    assert (onward.number, onward.begun_at, onward.changed_at) == (1, first.begun_at, calendar.now)
    registry.end("floods", 1, "finished")
    again = registry.submit("floods", ONE, number=2)
    assert (again.number, again.version, again.state, again.reason) == (2, 1, CrawlState.ACTIVE, "")
    assert again.begun_at == calendar.now
    assert registry.submit("floods", ONE, number=2) == again, "two that begin the next one begin the same"


def test_a_topic_is_that_of_one_crawl(registry: Registry) -> None:
    registry.submit("floods", ONE)
    assert registry.topic("floods", 1) is None
    registry.keep_topic("floods", 1, '{"http://a.test/": "a flood"}')
    assert registry.topic("floods", 1) == '{"http://a.test/": "a flood"}'
    assert registry.topic("floods", 2) is None


@pytest.mark.usefixtures("registry")
def test_two_that_submit_at_once_are_two_versions(address: str) -> None:
    registries = [RedisRegistry(address) for _ in range(4)]
    texts = [Definition(f"id: floods\ntitle: {number}".encode()) for number in range(20)]
    with ThreadPoolExecutor(4) as threads:
        given = list(threads.map(lambda n: registries[n % 4].submit("floods", texts[n]).version, range(20)))
    assert sorted(given) == list(range(1, 21))
    for each in registries:
        each.close()


def test_mistakes_and_damage_are_told(address: str, registry: Registry) -> None:
    with pytest.raises(UnknownCrawlError, match="no crawl 'floods'"):
        registry.definition("floods")
    with pytest.raises(ValueError, match="can be sent; name shorter"):
        Definition(b"id: floods", {"a": bytes(MAX_DEFINITION_BYTES)})
    registry.submit("floods", ONE)
    with closing(connect(address)) as client:
        client.set("{aah}:definition:floods", b"no such thing")
        with pytest.raises(RegistryError, match="submit the crawl again"):
            registry.definition("floods")
        client.hset("{aah}:crawls", "floods", b"[]")
        with pytest.raises(RegistryError, match="'floods' cannot be read"):
            registry.crawls()
        client.set("{aah}:format", 99)
        with pytest.raises(RegistryError, match="in format b'99'"):
            RedisRegistry(client)


@pytest.mark.usefixtures("registry")
def test_workers_are_there_until_they_leave_or_fall_silent(address: str) -> None:
    with closing(connect(address)) as client:
        presence, brief = RedisPresence(client), RedisPresence(client, silence=0.001)
        doing = {"floods": Doing(("a.test",)), "storms": Doing((), "b.test", 9.5, "the disk is full")}
        ann = Worker("ann", "here", 1, 1.5, "/crawls", "AAHCrawler/1", {"floods": {"pages": 3}}, doing)
        presence.heartbeat(ann)
        presence.heartbeat(Worker("bob", "there", 2, 2.5))
        brief.heartbeat(Worker("cid", "there", 3, 3.5))
        until_expired(client, "{aah}:worker:cid")
        assert [worker.name for worker in presence.workers()] == ["ann", "bob"]
        assert presence.workers()[0] == ann
        presence.leave("ann")
        assert [worker.name for worker in presence.workers()] == ["bob"]
        client.set("{aah}:worker:bob", b"{}")
        assert presence.workers() == ()


@pytest.mark.usefixtures("registry")
def test_an_office_has_one_holder(address: str) -> None:
    with closing(connect(address)) as client:
        presence, brief = RedisPresence(client), RedisPresence(client, silence=0.001)
        assert presence.hold("floods/1", "ann")
        assert presence.hold("floods/1", "ann")
        assert not presence.hold("floods/1", "bob")
        assert presence.hold("floods/2", "bob")
        presence.leave("ann")
        assert presence.hold("floods/1", "bob")
        assert brief.hold("floods/3", "ann")
        until_expired(client, "{aah}:office:floods/3")
        assert presence.hold("floods/3", "bob")


def until_expired(client: Redis, key: str) -> None:
    until(lambda: not client.exists(key))


@pytest.mark.usefixtures("registry")
def test_events_are_read_in_parts(address: str) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    events = [WorkerEvent(at, "w", "floods", "INFO", "crawl.core.job", str(number)) for number in range(2500)]
    with closing(RedisEventLog(address)) as log:
        log.put(events)
        assert [event for _, event in log.read()] == events
