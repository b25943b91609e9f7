"""Batch prioritisation in a crawl: links wait unscored for their batch, and nothing is lost with it."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.frontier.protocol import UNSCORED, FrontierUnavailableError, Lease, Offer, Offered, Outcome, State
from aahcrawler.scores.entries import Batched, Judged
from aahcrawler.scores.reader import read_scores
from online_analysis.batching import Batch, BatchScore
from online_analysis.icd import Icd
from online_analysis.topic import build_topic
from tests.crawl.articles import article_site
from tests.crawl.crawling import aah, running, summary, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import Site, html, serving
from tests.crawl.test_response_handler import DEFINITION, Bench, Flood, answer, lease
from tests.crawl.test_scores import told
from tests.crawl.world import crawl, network
from tests.shipped import shipped

PLAIN = "<p>The bakery sells rye bread, and on Sundays there are rolls with poppy seeds.</p>"
NEIGHBOURS = 8


def neighbourhood() -> Site:
    """Return a front page that links to others, all of which link to two pages, by one anchor that is on topic."""
    linked = '<p><a href="/bread">Bread</a></p><p><a href="/dike">The dike after the storm surge</a></p>'
    front = "".join(f'<p><a href="/{number}">Number {number}</a></p>' for number in range(NEIGHBOURS))
    pages = {f"//site.test/{number}": html(f"Number {number}", PLAIN + linked) for number in range(NEIGHBOURS)}
    ends = {f"//site.test/{name}": html(name, PLAIN) for name in ("bread", "dike")}
    return Site({**pages, **ends, "//site.test/": html("Front", PLAIN + front)})


def order(tmp_path: Path, **scoring: object) -> Sequence[str]:
    with serving(neighbourhood()) as site:
        weights = {"text": 1, "ranker": 0}
        crawled = crawl(
            tmp_path,
            ["http://site.test/"],
            network=network(site, "site.test"),
            scoring={"weights": weights, **scoring},
            politeness={"delay": "0", "robots": "ignore"},
        )
        assert crawled.ended.code == 0, crawled.ended.err
        assert crawled.summary["state"] == "finished"
        assert Counter(site.paths()) == Counter({f"/{name}" for name in ("", "bread", "dike", *range(NEIGHBOURS))})
        return site.paths()


def test_links_wait_for_their_batch_and_the_crawl_does_not(tmp_path: Path) -> None:
    # One more may have been leased before a page was settled.
    assert order(tmp_path / "alone").index("/dike") in (2, 3)
    # Nothing is better than the links of the front page, so its batch ends with it.
    assert order(tmp_path / "batch", batch=3).index("/dike") in (4, 5)
    found = summary(tmp_path / "batch" / "crawl")
    assert found["batches"] >= 3
    log = [each.entry for each in read_scores(tmp_path / "batch" / "crawl" / "scores")]
    batches = [entry for entry in log if isinstance(entry, Batched)]
    assert [batch.pages for batch in batches[:2]] == [1, 3]
    assert batches[1].url == ["http://site.test/bread", "http://site.test/dike"]
    assert batches[1].linked == 3
    assert all(entry.links is None or entry.links.unscored for entry in log if isinstance(entry, Judged))
    known = told(tmp_path / "batch" / "crawl", "http://site.test/dike")
    assert [event["what"] for event in known["history"][:4]] == ["linked"] * 3 + ["scored in a batch"]
    assert [event["queued"] for event in known["history"][:3]] == [None] * 3
    scored = known["history"][3]
    assert scored["note"] == "by 3 of the 3 pages of a batch"
    assert (
        scored["queued"] == scored["score"] == pytest.approx(sum(part["share"] for part in scored["parts"]), abs=1e-4)
    )


def test_balance_takes_several_of_a_domain_and_its_links_still_wait_for_the_batch(tmp_path: Path) -> None:
    assert order(tmp_path, batch=2, balance=3).index("/dike") in (4, 5, 6)


def test_a_worker_that_is_killed_with_a_batch_loses_nothing(tmp_path: Path) -> None:
    gate = Gate()
    site = article_site(60, gate=gate)
    with serving(site):
        icd = write_icd(tmp_path, site.url, more="scoring: {batch: 25}\n")
        for more in (10, 25):
            gate.let_pass(more)
            with running("crawl", icd) as crawler:
                crawler.until(lambda: gate.held > 0)
                crawler.kill()
        gate.open()
        ended = aah("crawl", icd)
        assert ended.code == 0, ended.err
    asked = Counter(site.paths())
    assert set(asked) == set(site.pages)
    assert sum(asked.values()) - len(asked) <= 2, "one connection, two kills"
    assert summary(tmp_path / "crawl")["state"] == "finished"
    assert "links that were waiting for their batch when the crawl ended are scored" in logged(tmp_path)


def logged(folder: Path) -> str:
    return (folder / "crawl" / "crawl.log").read_text("utf-8")


def test_what_waits_for_its_batch_when_a_crawl_stops_is_scored_first(tmp_path: Path) -> None:
    site = article_site(60)
    with serving(site):
        icd = write_icd(tmp_path, site.url, more="scoring: {batch: 1000}\nlimits: {pages: 12}\n")
        ended = aah("crawl", icd)
        assert ended.code == 0, ended.err
    log = [each.entry for each in read_scores(tmp_path / "crawl" / "scores")]
    assert isinstance(log[-1], Batched)
    pages = [entry for entry in log if isinstance(entry, Judged)]
    assert sum(entry.pages for entry in log if isinstance(entry, Batched)) == len(pages)


# Piece by piece


class BatchBench(Bench):
    """A response handler with batches of two pages, and a frontier that keeps what it is offered."""

    def __init__(self, tmp_path: Path) -> None:
        super().__init__(tmp_path, shipped(), Flood())
        icd = Icd.parse(f"{DEFINITION}\nscoring: {{batch: 2}}\n".encode())
        context = replace(self.job.context.now, icd=icd, topic=build_topic(icd, {}))
        self.job.context.use(context)
        self.batches = self.job.fetching.leases.backlog
        self.offered: list[Offer] = []
        self.logged: list[tuple[int, Mapping[str, BatchScore]]] = []
        self.known: frozenset[str] = frozenset()
        frontier, log = self.recorder, self.log
        self._finish = frontier.finish
        stubbed: Any = frontier
        stubbed.finish, stubbed.offer = self._finish_with, self._offer
        writing: Any = log
        writing.batched = lambda pages, scores: self.logged.append((pages, scores))

    def _finish_with(self, of: Lease, state: State, outcome: Outcome, links: Sequence[Offer]) -> bool:
        self.offered += links
        return self._finish(of, state, outcome, links)

    def _offer(self, offers: Sequence[Offer]) -> tuple[Offered, ...]:
        self.recorder.did("offer")
        self.offered += offers
        return tuple(Offered.KNOWN if offer.url in self.known else Offered.RESCORED for offer in offers)

    def scores(self) -> list[tuple[str, float]]:
        return [(offer.url.removeprefix("http://a.test"), offer.score) for offer in self.offered]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[BatchBench]:
    made = BatchBench(tmp_path)
    with made.history:
        yield made


@pytest.mark.slow
def test_links_are_offered_unscored_requisites_are_not_and_then_comes_the_score_of_the_batch(bench: BatchBench) -> None:
    bench.answer(lease(score=0.75), answer())
    assert bench.scores() == [("/b", UNSCORED), ("/i.png", 0.75)]
    assert bench.logged == []
    bench.answer(lease("http://a.test/2", depth=0), answer())
    (last,) = bench.offered[4:]
    assert (last.url, last.depth) == ("http://a.test/b", 1)
    assert 0.0 <= last.score <= 1.0
    ((pages, scores),) = bench.logged
    assert (pages, list(scores), scores["http://a.test/b"].pages) == (2, ["http://a.test/b"], 2)
    assert bench.recorder.counted["batches"] == 1
    assert not bench.batches


def test_a_page_whose_lease_was_lost_is_in_no_batch(bench: BatchBench) -> None:
    bench.recorder.held = False
    bench.answer(lease(), answer())
    assert not bench.batches


@pytest.mark.slow
def test_what_was_fetched_meanwhile_is_not_told_as_scored(bench: BatchBench) -> None:
    bench.known = frozenset({"http://a.test/b"})
    bench.answer(lease(), answer())
    bench.answer(lease("http://a.test/2"), answer())
    assert bench.logged == []


def test_a_batch_that_cannot_be_scored_stops_no_crawl(bench: BatchBench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Batch) -> Mapping[str, BatchScore]:
        raise ZeroDivisionError

    monkeypatch.setattr(Batch, "scores", broken)
    bench.answer(lease(), answer())
    bench.answer(lease("http://a.test/2"), answer())
    assert bench.job.lifecycle.failure is None
    assert [state for state, *_ in bench.recorder.finished] == [State.DONE] * 2
    assert all(score != 0.25 for _, score in bench.scores())


@pytest.mark.slow
def test_a_frontier_that_is_gone_when_the_last_batch_ends_ends_the_crawl(bench: BatchBench) -> None:
    bench.answer(lease(), answer())
    error = FrontierUnavailableError("gone")
    bench.recorder.fails_at = {"offer": error}
    asyncio.run(bench.response_handler.close())
    assert bench.job.lifecycle.failure is error


def test_without_batches_nothing_is_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path, shipped(), Flood())
    with bench.history:
        bench.answer(lease(), answer())
        asyncio.run(bench.response_handler.close())
        assert not bench.job.fetching.leases.backlog
    assert "offer" not in bench.recorder.done
