"""With SUM a priority grows beyond 1 with every page that links to a URL, and nothing cuts it back."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from aahcrawler.frontier.memory.frontier import MemoryFrontier, QueueSlots
from aahcrawler.frontier.protocol import Frontier, FrontierSettings, Offer, Outcome, Rescore, State, Update
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server.embedded import EmbeddedServer
from tests.crawl.crawling import aah, rows
from tests.crawl.site import Reply, Site, html, serving
from tests.crawl.world import LOOPBACK, crawl
from tests.frontier.conftest import Clock

SETTINGS = FrontierSettings(update=Update.SUM, balance=5, attempts=5)
TEXT = "<article><p>" + "The flood broke the dike, and the storm surge filled the harbour. " * 5 + "</p></article>"


@pytest.fixture(params=["redis", "simulation"])
def frontier(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Frontier]:
    if request.param == "simulation":
        yield MemoryFrontier(QueueSlots(Clock()), "crawl", SETTINGS)
        return
    with EmbeddedServer(tmp_path) as server, closing(RedisFrontier(server.url, "crawl", SETTINGS)) as real:
        yield real


def scores(frontier: Frontier, n: int = 5) -> list[float]:
    leases = frontier.lease("worker", n)
    frontier.release(leases)
    return [round(lease.score, 6) for lease in leases]


def test_frontiers_add_up_order_and_give_back(frontier: Frontier) -> None:
    frontier.offer([Offer("http://a.test/once", "a.test", 1.0)])
    frontier.offer([Offer("http://a.test/often", "a.test", 0.8) for _ in range(4)])
    frontier.offer([Offer("http://a.test/thrice", "a.test", 0.7) for _ in range(3)])
    assert scores(frontier) == scores(frontier) == [3.2, 2.1, 1.0]
    frontier.rescore([Rescore("http://a.test/once", 7.5)])
    frontier.offer([Offer("http://a.test/once", "a.test", 0.5)])
    assert scores(frontier) == [8.0, 3.2, 2.1]


def test_a_retry_and_a_redirect_keep_them(frontier: Frontier) -> None:
    frontier.offer([Offer("http://a.test/often", "a.test", 0.8) for _ in range(4)])
    (lease,) = frontier.lease("worker", 1)
    assert frontier.retry(lease, Outcome("timeout")) is State.QUEUED
    (lease,) = frontier.lease("worker", 1)
    frontier.finish(lease, State.DONE, links=[Offer("http://a.test/moved", "a.test", lease.score)])
    assert scores(frontier) == [3.2]


def test_a_crawl_its_log_and_the_next_crawl_keep_them(tmp_path: Path) -> None:
    paths = [f"/hub{number}" for number in range(5)]
    pages = {path: html("Hub", f'{TEXT}<p><a href="/target">a page</a></p>') for path in paths}
    pages |= {"/target": Reply(b"", 301, {"Location": "/moved"}), "/moved": html("Moved", TEXT)}
    scoring = {"update": "sum", "weights": {"text": 1, "url": 0, "ranker": 0}}
    with serving(Site({**pages})) as site:
        seeds = [f"{site.url}{path[1:]}" for path in paths]
        done = crawl(tmp_path, seeds, scoring=scoring, network={"allow_private": LOOPBACK})
        assert done.ended.code == 0, done.ended.err
        told = aah("explain-score", done.folder, f"{site.url}target", "--json")
        assert told.code == 0, told.err
        found = {row["url"].rpartition("/")[2]: row["priority"] for row in rows(done.folder)}
        assert found["moved"] > 1.0
        said = json.loads(told.out)
        assert (
            said["score"]
            == max(event["queued"] or 0.0 for event in said["history"])
            == pytest.approx(found["moved"], abs=1e-3)
        )
        assert aah("crawl", tmp_path / "icd.yaml").code == 0
    again = {row["url"].rpartition("/")[2]: row["priority"] for row in rows(done.folder) if row["crawl"] == 2}
    assert again["moved"] > 1.0
