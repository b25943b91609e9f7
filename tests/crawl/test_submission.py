"""What becomes of a definition that is submitted, for the first time and again."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from aahcrawler.crawl.cluster.submission import RegisteredDefinition, Submission, SubmissionRefusedError, submit
from aahcrawler.frontier.protocol import FrontierSettings, Offer, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.redis.registry import Server, connected
from aahcrawler.frontier.registry import Worker
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.crawl.crawling import write_icd

URL = "http://site.test/"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def server(embedded: EmbeddedServer) -> Iterator[Server]:
    with closing(connect(embedded.url)) as client:
        client.flushall()
    with connected(embedded.url) as server:
        yield server


def sent(server: Server, folder: Path, more: str = "") -> Submission:
    return submit(write_icd(folder, URL, more=more), server.address, server.registry, server.presence)


def fetched(server: Server, pages: int) -> None:
    """Have a number of pages done in the first crawl."""
    with closing(RedisFrontier(server.address, "test", FrontierSettings())) as frontier:
        frontier.offer([Offer(f"{URL}{number}", "site.test", 0.5) for number in range(pages)])
        for _ in range(pages):
            (lease,) = frontier.lease("w", 1)
            frontier.finish(lease, State.DONE)


def test_a_changed_definition_is_taken_over_by_those_who_look(server: Server, tmp_path: Path) -> None:
    assert str(sent(server, tmp_path)) == "test: crawl 1 is active"
    looked_at = RegisteredDefinition(server.registry, "test", tmp_path / "here")
    assert looked_at.load().limits.pages == 0
    assert looked_at.newer() is None
    same = sent(server, tmp_path)
    assert str(same) == "test: crawl 1 is active, version 1: the definition is as it was"
    assert looked_at.newer() is None
    changed = sent(server, tmp_path, "limits: {pages: 7}\n")
    assert str(changed) == "test: crawl 1 is active, version 2: with a changed definition"
    newer = looked_at.newer()
    assert newer is not None
    assert (newer.limits.pages, newer.output) == (7, tmp_path / "here")
    assert looked_at.newer() is None


def test_what_has_finished_begins_anew_and_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    sent(server, tmp_path)
    fetched(server, 2)
    server.registry.end("test", 1, "finished")
    assert str(sent(server, tmp_path)) == "test: crawl 2 is active"
    with closing(RedisFrontier(server.address, "test", FrontierSettings())) as former:
        assert former.state(f"{URL}0") is None


def test_a_limit_that_is_raised_lets_a_crawl_go_on(server: Server, tmp_path: Path) -> None:
    sent(server, tmp_path, "limits: {pages: 2}\n")
    fetched(server, 2)
    server.registry.end("test", 1, "limits.pages reached")
    onward = sent(server, tmp_path, "limits: {pages: 3}\n")
    assert str(onward) == "test: crawl 1 goes on, version 2: with a changed definition"
    server.registry.end("test", 1, "limits.pages reached")
    again = sent(server, tmp_path, "limits: {pages: 2}\n")
    assert str(again) == "test: crawl 2 is active"


def test_a_crawl_does_not_begin_anew_before_its_workers_have_left(server: Server, tmp_path: Path) -> None:
    sent(server, tmp_path)
    server.registry.end("test", 1, "finished")
    server.presence.heartbeat(Worker("ann", "here", 1, 0.0, crawls={"test": {}}))
    with pytest.raises(SubmissionRefusedError, match="still leaving"):
        sent(server, tmp_path)
    server.presence.leave("ann")
    assert sent(server, tmp_path).now.number == 2
