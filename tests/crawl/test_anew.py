"""The next crawl of a definition: it begins whole or not at all, and a kill in it loses nothing of what changed."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.archive.history import Former
from aahcrawler.crawl.startup.store_opening import Seeder, clear
from aahcrawler.crawls import frontier_name, number
from aahcrawler.frontier.protocol import FrontierSettings, Offer, Offered, State, Update
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.objects import vocabulary as v
from aahcrawler.scope import Scope
from aahcrawler.scores import Source, entries
from aahcrawler.scores.reader import read_scores
from online_analysis.analysers import ScoredSeed
from online_analysis.icd import Icd
from tests.crawl.articles import article_site, path
from tests.crawl.board import know
from tests.crawl.crawling import EndedRun, aah, rows, running, summary, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import Reply, Site, serving
from tests.crawl.verifying import assert_whole
from tests.offline.shapes import crawl_violations
from tests.scores.logs import score_log

PAGES = 16
EDITED = (2, 5, 9, 12, 15)


class Rounds:
    """One definition whose command is given again and again, with a knowledge base that is read at once."""

    def __init__(self, site: Site, folder: Path, **environment: str) -> None:
        self.icd = write_icd(folder, site.url)
        self.crawl = folder / "crawl"
        self.environment = {**os.environ, "AAH_KNOWLEDGE_BASE": str(know(folder / "known")), **environment}

    def finish(self) -> EndedRun:
        with running("crawl", self.icd, environment=self.environment) as crawler:
            ended = crawler.ended()
        assert ended.code == 0, ended.err
        return ended

    def kill(self, moment: Callable[[], bool]) -> None:
        with running("crawl", self.icd, environment=self.environment) as crawler:
            crawler.until(moment)
            crawler.kill()
            crawler.ended()


def test_whenever_the_second_crawl_is_killed_it_is_the_second_and_tells_what_changed(tmp_path: Path) -> None:
    gate = Gate()
    with serving(article_site(PAGES)) as site:
        rounds = Rounds(site, tmp_path)
        rounds.finish()
        begun = len(site.paths())
        for at in site.pages:
            reply = site.reply(at)
            edit = {path(page): b"lay under" for page in EDITED}.get(at, b"stood under")
            site.pages[at] = gate.holding(Reply(reply.body.replace(b"stood under", edit)))
        definition = rounds.crawl / "icd.json"
        rounds.kill(lambda: number(rounds.crawl) == 2)
        assert len(site.paths()) <= begun + 1, "no page was answered"
        rounds.kill((rounds.crawl / "frontier" / "server.json").exists)
        rounds.kill(definition.exists)
        gate.let_pass(9)
        rounds.kill(lambda: len(set(site.paths()[begun:])) >= 10)
        assert definition.exists()
        gate.open()
        ended = rounds.finish()
        assert f"{rounds.crawl}: crawl 2 goes on\n" in ended.err
        asked = Counter(site.paths()[begun:])
    assert set(asked) == set(site.pages)
    assert asked.total() - len(asked) <= 4, "one connection, four kills"
    counted = summary(rounds.crawl)
    assert [counted[name] for name in ("crawl", "pages", "new", "gone")] == [2, PAGES + 1, 0, 0]
    assert counted["changed"] == len(EDITED)
    assert counted["unchanged"] == PAGES + 1 - len(EDITED)
    assert edited(rounds.crawl) == {site.url.rstrip("/") + path(page) for page in EDITED}
    assert_whole(rounds.crawl)
    assert crawl_violations(rounds.crawl) == []


def edited(crawl: Path) -> set[str]:
    """Return the pages of the second crawl on which an object is said to have been edited."""
    said = aah("objects", crawl, "--format", "nq").out.splitlines()
    captures = {row["capture"]: row["url"] for row in rows(crawl) if row["crawl"] == 2}
    return {captures[line.split(" ", 1)[0].strip("<>")] for line in said if f" <{v.EDITED}> " in line}


def test_on_a_shared_server_each_crawl_has_a_frontier_of_its_own(tmp_path: Path) -> None:
    settings = FrontierSettings()
    with EmbeddedServer(tmp_path / "shared") as server, serving(article_site(6)) as site:
        with closing(RedisFrontier(server.url, "test2", settings)) as other:
            other.offer([Offer("http://b.test/", "b.test", 0.5)])
            rounds = Rounds(site, tmp_path, AAH_REDIS_URL=server.url)
            assert "crawl 1 begun" in rounds.finish().err
            assert "crawl 2 begun anew, knowing 7 pages" in rounds.finish().err
            assert other.state("http://b.test/") is State.QUEUED
        with closing(connect(server.url)) as client:
            keys = {key.split(b":")[2] for key in client.scan_iter(match="{p0}:c:*")}
        assert keys == {b"test%2F2", b"test2"}
    counted = summary(rounds.crawl)
    assert (counted["crawl"], counted["pages"], counted["unchanged"]) == (2, 7, 7)
    assert not list((rounds.crawl / "frontier").iterdir())


# The frontier at the beginning


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path_factory.mktemp("server")) as running_server:
        yield running_server


def test_a_frontier_that_is_removed_leaves_nothing_behind(server: EmbeddedServer) -> None:
    with closing(RedisFrontier(server.url, "left", FrontierSettings())) as frontier:
        frontier.offer([Offer(f"http://{n % 50}.test/{n}", f"{n % 50}.test", 0.5) for n in range(2000)])
        for lease in frontier.lease("w", 10):
            frontier.finish(lease, State.FAILED)
        frontier.lease("w", 5)
        frontier.count({"pages": 3})
        frontier.remove()
        with closing(connect(server.url)) as client:
            assert not list(client.scan_iter(match="{p0}:c:left:*"))
        frontier.remove()
        assert frontier.offer([Offer("http://1.test/1", "1.test", 0.5)]) == (Offered.ADDED,)


def test_the_folder_of_a_server_is_emptied_and_can_be_used_again(tmp_path: Path) -> None:
    folder = tmp_path / "frontier"
    with EmbeddedServer(folder) as own, closing(RedisFrontier(own.url, "t", FrontierSettings())) as frontier:
        frontier.offer([Offer("http://a.test/", "a.test", 0.5)])
    (folder / "appendonlydir").mkdir(exist_ok=True)
    (folder / "appendonlydir" / "x").write_text("of another version")
    for _ in range(2):
        clear(folder)
        assert list(folder.iterdir()) == []
    with EmbeddedServer(folder) as own, closing(RedisFrontier(own.url, "t", FrontierSettings())) as frontier:
        assert frontier.state("http://a.test/") is None


def test_postings_are_scored_seeds_as_far_as_they_are_wanted_and_new(server: EmbeddedServer, tmp_path: Path) -> None:
    said = (
        "id: t\ncontact: a@b.org\nseeds: [http://a.test/seed]\ntopic: {keywords: [flood]}\nscope: {deny: [/denied]}\n"
    )
    with (
        closing(RedisFrontier(server.url, "posted", FrontierSettings(update=Update.SUM))) as frontier,
        score_log(tmp_path / "scores") as log,
    ):
        beginning = Seeder(frontier, Scope(Icd.parse(said.encode())), log)
        for _ in range(2):  # The same again is what a crawl that goes on says.
            beginning.seeds(["http://a.test/seed"])
            beginning.postings(
                ScoredSeed(f"HTTP://A.test/{name}", score)
                for name, score in (("seed", 0.9), ("new#top", 0.4), ("denied", 0.8))
            )
            beginning.postings([ScoredSeed("mailto:a@b.test", 0.3)])
        offered = {offer.url: (offer.score, offer.depth) for offer in frontier.iterate(9)}
        frontier.remove()
    assert offered == {"http://a.test/seed": (1.0, 0), "http://a.test/new": (0.4, 0)}
    logged = [found.entry for found in read_scores(tmp_path / "scores")]
    assert [(entry.source, entry.url, entry.score) for entry in logged if isinstance(entry, entries.Offered)] == [
        (Source.SEED, ["http://a.test/seed"], [1.0]),
        (Source.POSTING, ["http://a.test/new"], [0.4]),
    ]


class Memory:
    """A history of pages, by what is known of them."""

    def __init__(self, **pages: Mapping[str, object]) -> None:
        self._pages = pages

    def pages(self) -> Iterator[Former]:
        unknown: dict[str, Any] = dict.fromkeys(each.name for each in fields(Former))
        for name, known in self._pages.items():
            yield Former(**{**unknown, "depth": 0, "priority": 0.5, **known, "url": f"http://a.test/{name}"})


def test_former_pages_are_offered_as_they_were_worth(server: EmbeddedServer, tmp_path: Path) -> None:
    poor = {"relevant": False, "score": 0.1}
    history: Any = Memory(
        seed={"priority": 0.9},
        good={"priority": 0.4, "terminal": True, "relevant": True, "score": 0.3, "depth": 2},
        poor={"terminal": True, "depth": 2, **poor},
        worse={"priority": 0.05, "terminal": True, **poor},
        list={"priority": 0.6, "terminal": False, **poor},
        told={"priority": 0.2},
        deep={"priority": 0.8, "depth": 4},
        denied={"priority": 0.8},
    )
    said = "id: t\ncontact: a@b.org\nseeds: [http://a.test/seed]\ntopic: {keywords: [flood]}\n"
    scope = Scope(Icd.parse(f"{said}scope: {{depth: 3, deny: [/denied]}}".encode()))
    seeds = ["http://a.test/seed"]
    with closing(RedisFrontier(server.url, frontier_name("t", 2), FrontierSettings())) as frontier:
        with score_log(tmp_path / "scores") as log:
            beginning = Seeder(frontier, scope, log)
            beginning.seeds(seeds)
            assert beginning.former(history, seeds) == 8
        offered = {offer.url.rpartition("/")[2]: (offer.score, offer.depth) for offer in frontier.iterate(20)}
        frontier.remove()
    assert offered == {
        "seed": (1.0, 0),
        "list": (0.6, 0),
        "good": (0.4, 2),
        "told": (0.2, 0),
        "poor": (0.1, 2),
        "worse": (0.05, 0),
    }
