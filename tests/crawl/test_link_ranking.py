"""What a ranker is told in a crawl, what becomes of what it says, and what of it is logged."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.crawl.directory.crawl_runs import FolderLock
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.crawl.startup.store_opening import replayed_ranker
from aahcrawler.frontier.protocol import FrontierUnavailableError, Rescore, State
from aahcrawler.pipeline.analysis import AT_ONCE
from aahcrawler.scores import Findings, Leads, Lessons
from aahcrawler.segments import DiskFullError, SegmentError
from aahcrawler.wire.errors import ProtocolError
from online_analysis.aggregation import UNSPENT, Revision, ScoredLink
from online_analysis.document import Document, Outlink
from tests import skipping
from tests.crawl.test_response_handler import PAGE, Bench, Broken, Flood, answer, lease
from tests.scores.logs import BEGUN, HostRanker, Ticking, score_log
from tests.shipped import shipped


class RankedBench(Bench):
    """A response handler with a ranker, and a frontier that takes scores of what is queued."""

    def __init__(self, tmp_path: Path, analyser: Flood | None = None) -> None:
        self.ranker = HostRanker()
        super().__init__(tmp_path, shipped(), analyser or Flood(), Lessons(self.ranker))
        self.asked: list[list[Rescore]] = []
        self.refused: frozenset[str] = frozenset()
        frontier: Any = self.recorder
        frontier.rescore = self._rescore

    def _rescore(self, scores: Sequence[Rescore]) -> tuple[bool, ...]:
        self.recorder.did("rescore")
        self.asked.append([*scores])
        return tuple(each.url not in self.refused for each in scores)

    def ends(self) -> list[str]:
        return [str(url) for what, url, *_ in self.ranker.calls if what == "settled"]

    @property
    def taken(self) -> bool:
        """Whether the log says that any score was set."""
        return any(what == "rescored" and scores for what, scores in self.log.rest)

    def beside(self, *, turns: int = 1, run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run) -> None:
        """Let the re-scoring run until it has been asked so often, or has nothing to do for 50 seconds."""

        async def crawl() -> None:
            task = asyncio.create_task(self.job.background[0]())
            for _ in range(10_000):
                await asyncio.sleep(0.005)
                # What was set is counted after it is logged.
                if task.done() or (len(self.log.rest) >= 2 * turns and (self.recorder.counted or not self.taken)):
                    break
            task.cancel()
            await asyncio.wait([task])

        run(crawl())


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[RankedBench]:
    made = RankedBench(tmp_path)
    with made.history:
        yield made


def followed(bench: RankedBench) -> list[tuple[object, ...]]:
    return [call for call in bench.ranker.calls if call[0] == "follow"]


def test_the_ranker_hears_what_a_page_was_worth_and_joins_the_score_of_its_links(bench: RankedBench) -> None:
    bench.answer(lease(depth=2), answer())
    (call,) = followed(bench)
    assert (call[1], call[5:7]) == ("http://a.test/", (0.5, 2))
    (page,) = bench.log.pages
    assert [scores.analyser for scores in page.scores] == ["text", "ranker"]
    weights = bench.job.context.now.icd.scoring.weights
    expected = (weights["text"] * 0.25 + weights["ranker"] * 0.5) / (weights["text"] + weights["ranker"])
    assert list(page.leads.scores) == pytest.approx([expected] * 2)
    assert page.lesson is not None
    assert (page.lesson.worth, page.lesson.score) == (0.5, [0.25, 0.25])


def test_what_is_fetched_or_never_wanted_is_settled_after_the_lesson(bench: RankedBench) -> None:
    bench.answer(lease(), answer())
    assert [call[0] for call in bench.ranker.calls] == ["follow", "settled", "settled"]
    assert bench.ends() == ["http://a.test/denied", "http://a.test/"]
    assert bench.log.pages[0].leads.refused == {"denied": [1]}


def test_links_that_another_page_may_have_led_to_are_not_settled(bench: RankedBench) -> None:
    body = b'<html lang="de"><body><p>Die Flut kam in der Nacht, und der Deich brach an drei Stellen.</p>' + PAGE[12:]
    bench.answer(lease(), answer(body))
    assert bench.ends() == ["http://a.test/"]
    assert bench.log.pages[0].leads.refused == {"language": [0, 1]}


def test_an_error_was_worth_nothing_and_leads_nowhere(bench: RankedBench) -> None:
    bench.answer(lease("http://a.test/gone", depth=3), answer(status=404))
    assert followed(bench) == [("follow", "http://a.test/gone", "", "", "", 0.0, 3, UNSPENT, ())]
    assert bench.ends() == ["http://a.test/gone"]
    (page,) = bench.log.pages
    assert (page.score, page.leads.urls, page.status) == (None, [], 404)
    assert page.lesson is not None


def test_redirects_and_requisites_are_not_the_rankers(bench: RankedBench) -> None:
    bench.answer(lease(score=0.75), answer(b"", 301, Location="/b"))
    bench.answer(lease("http://a.test/i.png", kind="requisite"), answer(b"\x89PNG", Content_Type="image/png"))
    bench.fail(lease("http://a.test/j.png", kind="requisite"), ProtocolError("no HTTP"))
    assert bench.ranker.calls == [("settled", "http://a.test/")]
    (page,) = bench.log.pages
    assert (page.leads.redirect, page.priority, page.lesson) == ("http://a.test/b", 0.75, None)
    assert bench.log.ends == []


def test_whatever_ends_a_page_settles_it_and_a_retry_does_not(bench: RankedBench) -> None:
    bench.fail(lease("http://a.test/1"), ProtocolError("no HTTP"))
    assert bench.ends() == ["http://a.test/1"]
    assert [(url, state) for url, state, _ in bench.log.ends] == [("http://a.test/1", "failed")]
    bench.answer(lease("http://a.test/2"), answer(b"busy", 503))
    assert len(bench.ends()) == 1
    bench.recorder.retry = lambda *_args, **_more: State.FAILED  # type: ignore[method-assign]
    bench.answer(lease("http://a.test/2"), answer(b"busy", 503))
    assert bench.ends()[1:] == ["http://a.test/2"]
    assert bench.log.ends[1:] == [("http://a.test/2", "failed", "status 503")]


def test_a_lost_lease_does_not_end_a_page(bench: RankedBench) -> None:
    bench.recorder.held = False
    bench.fail(lease(), ProtocolError("no HTTP"))
    assert (bench.ends(), bench.log.ends) == ([], [])


def test_a_page_that_an_analyser_fails_on_is_followed_and_settled(tmp_path: Path) -> None:
    bench = RankedBench(tmp_path, Broken())
    with bench.history:
        bench.answer(lease(), answer())
    assert bench.ranker.calls[-1] == ("settled", "http://a.test/")
    assert bench.log.pages[0].scores[0].document is None


def test_what_the_ranker_has_changed_its_mind_about_is_set_beside_the_crawl(bench: RankedBench) -> None:
    bench.answer(lease(), answer())
    bench.ranker.told = {"http://a.test/b": 0.1, "http://a.test/c": 0.2, "http://a.test/d": 0.3}
    bench.ranker.queued = dict.fromkeys(bench.ranker.told, 0.25)
    bench.refused = frozenset({"http://a.test/c"})
    bench.beside()
    expected = (0.25 + 3 * 0.5) / 4
    assert bench.asked == [[Rescore(f"http://a.test/{name}", expected) for name in "bcd"]]
    assert bench.log.rest[0] == ("asked", AT_ONCE)
    assert bench.log.rest[1] == ("rescored", [("http://a.test/b", expected), ("http://a.test/d", expected)])
    assert bench.recorder.counted == {"rescored": 2}


def test_nothing_is_asked_while_nothing_was_learned(bench: RankedBench) -> None:
    bench.ranker.told = {"http://a.test/b": 0.1}
    bench.ranker.queued = {"http://a.test/b": 0.25}
    bench.beside(run=skipping.run)
    assert (bench.asked, bench.log.rest) == ([], [])


def test_as_much_as_the_ranker_says_is_set_piece_by_piece(bench: RankedBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aahcrawler.crawl.response.link_ranking.PAUSE", 0.0)
    bench.answer(lease(), answer())
    bench.ranker.told = {f"http://a.test/{i}": 0.1 for i in range(AT_ONCE + 1)}
    bench.ranker.queued = dict.fromkeys(bench.ranker.told, 0.25)
    bench.beside(turns=2)
    assert [len(scores) for scores in bench.asked] == [AT_ONCE, 1]


@pytest.mark.parametrize("error", [FrontierUnavailableError("gone"), SegmentError("no disk")])
def test_a_store_that_fails_ends_the_crawl(bench: RankedBench, error: Exception) -> None:
    bench.recorder.fails_at = {"rescore": error}
    bench.answer(lease(), answer())
    bench.ranker.told, bench.ranker.queued = {"http://a.test/b": 0.1}, {"http://a.test/b": 0.25}
    bench.beside()
    assert bench.job.lifecycle.failure is error


def test_a_ranker_that_fails_ends_re_scoring_and_not_the_crawl(
    bench: RankedBench, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(n: int) -> Sequence[Revision]:
        raise ZeroDivisionError(n)

    bench.ranker.revised = broken  # type: ignore[method-assign]
    bench.answer(lease(), answer())
    with caplog.at_level(logging.ERROR):
        bench.beside()
    assert bench.job.lifecycle.failure is None
    assert "nothing is re-scored any more" in caplog.text


def test_without_a_ranker_scores_are_logged_all_the_same(tmp_path: Path) -> None:
    bench = Bench(tmp_path, shipped(), Flood())
    with bench.history:
        bench.answer(lease(), answer())
        bench.fail(lease("http://a.test/1"), ProtocolError("no HTTP"))
    (page,) = bench.log.pages
    assert ([scores.analyser for scores in page.scores], page.lesson) == (["text"], None)
    assert list(page.leads.scores) == [0.25, 0.25]
    assert bench.log.ends == [("http://a.test/1", "failed", "protocol")]


def test_a_full_disk_makes_the_crawl_wait_with_the_entry_of_a_page(bench: RankedBench) -> None:
    refusals: list[Exception] = [DiskFullError("no space")] * 2
    judged = bench.log.judged

    def refusing(found: Findings) -> None:
        if refusals:
            raise refusals.pop()
        judged(found)

    bench.log.judged = refusing  # type: ignore[method-assign]
    bench.answer(lease(), answer())
    assert (len(bench.log.pages), len(followed(bench))) == (1, 1)
    assert bench.recorder.finished[0][0] is State.DONE


# A crawl that goes on


class Shelf:
    """A frontier in which one URL is queued."""

    def __init__(self) -> None:
        self.scores: list[Rescore] = []

    def rescore(self, scores: Sequence[Rescore]) -> tuple[bool, ...]:
        self.scores += scores
        return tuple(each.url == "http://a.test/1" for each in scores)


def test_a_crawl_that_goes_on_knows_what_it_knew_and_says_what_it_did_not_get_to_say(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path, FolderLock(tmp_path))
    ranker, frontier = HostRanker(), Shelf()
    taught = Lessons(ranker)
    urls = ["http://a.test/1", "http://a.test/2"]
    document = Document("http://a.test/", None, "", (), tuple(Outlink(url, "") for url in urls))
    with score_log(folder.scores) as log:
        for worth in (0.25, 0.75):
            taught.follow(document, worth, [ScoredLink(url, 0.5, weight=1.0) for url in urls], 1)
            ranker.settled(document.url)
            log.judged(Findings(document.url, 1, 1.0, worth, (), Leads(urls, (0.5, 0.5)), taught.take()))
        revisions = ranker.revised(AT_ONCE)
        log.asked(AT_ONCE)
    again = HostRanker()
    later = Ticking(BEGUN + timedelta(hours=1))
    with score_log(folder.scores, clock=later) as log:
        going_on = replayed_ranker(again, folder, frontier, log)  # type: ignore[arg-type]
    assert again.calls == ranker.calls
    assert frontier.scores == [Rescore(each.url, each.score) for each in revisions]
    assert going_on.explain("http://a.test/1") == ranker.explain("http://a.test/1")
    third, silent = HostRanker(), Shelf()
    with score_log(folder.scores, clock=later) as log:
        replayed_ranker(third, folder, silent, log)  # type: ignore[arg-type]
    assert (third.calls, silent.scores) == (ranker.calls, [])


def test_a_damaged_log_costs_what_it_held_and_not_the_crawl(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = CrawlFolder(tmp_path, FolderLock(tmp_path))
    folder.scores.mkdir()
    (folder.scores / "test-20260131120000-00000.scores.gz").write_bytes(b"none of ours")
    with score_log(folder.scores) as log, caplog.at_level(logging.ERROR):
        replayed_ranker(HostRanker(), folder, Shelf(), log)  # type: ignore[arg-type]
    assert "is damaged" in caplog.text
