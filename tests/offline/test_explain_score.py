"""What ``aah explain-score`` tells of a URL."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from aahcrawler.frontier.control import Post, Wish
from aahcrawler.frontier.protocol import FrontierSettings, Offer, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontiers import NoCrawlError
from aahcrawler.scores import Findings, Leads, Lessons, ScoreLog, Source
from aahcrawler.segments import DamageError
from offline.explanation.report import write_json, write_tables
from offline.explanation.score_explanation import Explanation, Happened, UnknownUrlError, explain
from online_analysis.aggregation import Revision, ScoredLink, Scores
from online_analysis.document import Document, Outlink
from online_analysis.ranking import link_ranker
from tests.crawl.crawling import aah
from tests.scores.logs import BEGUN, Ticking, score_log, scoring_of

SEED, PAGE, DEEP = "http://a.test/", "http://a.test/page", "http://a.test/deep"

pytestmark = pytest.mark.starts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder in which a crawl has begun."""
    (tmp_path / "icd.json").write_text(json.dumps({"id": json.dumps("floods")}), "utf-8")
    (tmp_path / "frontier").mkdir()
    return tmp_path


@contextmanager
def frontier_of(folder: Path) -> Iterator[RedisFrontier]:
    with (
        EmbeddedServer(folder / "frontier") as server,
        closing(RedisFrontier(server.url, "floods", FrontierSettings())) as frontier,
    ):
        yield frontier


def links_to(page: str, url: str, score: float, *said: Scores, refused: str = "") -> Findings:
    """Return a page of three links, ``url`` being the second."""
    urls = (f"{page}?1", url, f"{page}?3")
    leads = Leads(urls, (0.9, score, 0.8), {refused: (1,)} if refused else {})
    return Findings(page, 1, 0.5, 0.4, said, leads)


def of_all(analyser: str, value: float | None, document: float | None = None) -> Scores:
    return Scores(analyser, document, (0.11, value, 0.12))


def log_of(folder: Path, crawl: int = 1, update: str = "max", hours: int = 0) -> ScoreLog:
    return score_log(folder / "scores", crawl, Ticking(BEGUN + timedelta(hours=hours)), update)


def told(folder: Path, url: str = PAGE) -> list[tuple[Any, ...]]:
    return [(event.what, event.score, event.queued) for event in explain(folder, url).events]


def shown(explained: Explanation) -> str:
    out = io.StringIO()
    write_tables(explained, out)
    return out.getvalue()


def test_everything_about_a_queued_url(folder: Path) -> None:
    with log_of(folder) as log:
        log.offered(Source.SEED, [(SEED, 1.0)])
        log.judged(links_to(SEED, PAGE, 0.35, of_all("text", 0.5, 0.4), of_all("url", None), of_all("ranker", 0.3)))
        log.rescored([Revision("http://a.test/other", 0.1), Revision(PAGE, 0.65)])
    with frontier_of(folder) as frontier:
        frontier.offer([Offer(PAGE, "a.test", 0.65, 2, via=SEED)])
    explained = explain(folder, "HTTP://a.test:80/page#top")
    assert (explained.url, explained.state, explained.score) == (PAGE, State.QUEUED, 0.65)
    assert [(part.analyser, part.weight, part.value) for part in explained.parts] == [
        ("text", 1.0, 0.5),
        ("ranker", 3.0, 0.3),
    ]
    assert [(event.what, event.source, event.queued) for event in explained.events] == [
        (Happened.LINKED, SEED, 0.35),
        (Happened.RESCORED, "", 0.65),
    ]
    table = shown(explained)
    for said in ("queued, score 0.6500, depth 2", f"first found on {SEED}", "0.1250", "0.2250", "re-scored"):
        assert said in table


def taught(log: ScoreLog) -> Lessons:
    """Let a ranker learn from pages, as a crawl does: those that are called good are worth something."""
    found = link_ranker(scoring_of("max"))
    assert found is not None
    ranker = Lessons(found)
    for number in range(12):
        page = f"http://a.test/{number}"
        outlinks = [Outlink(f"http://a.test/{to}", "good" if to % 2 else "poor") for to in (number + 1, number + 2)]
        outlinks.append(Outlink(PAGE, "good") if number % 2 else Outlink(DEEP, "poor"))
        document = Document(page, None, "", (), tuple(outlinks))
        given = [ScoredLink(link.url, 0.25, weight=1.0) for link in outlinks]
        said = ranker.follow(document, 0.9 if number % 2 else 0.1, given, 1)
        ranker.settled(page)
        scores = (Scores("text", None, (0.25,) * 3), said)
        leads = Leads([link.url for link in outlinks], [0.25] * 3)
        log.judged(Findings(page, 1, 0.5, 0.4, scores, leads, ranker.take()))
        revisions = ranker.revised(2)
        log.asked(2)
        log.rescored(revisions)
    return ranker


def test_the_rankers_reasons_are_those_that_it_has_now(folder: Path) -> None:
    with log_of(folder) as log:
        ranker = taught(log)
    explained = explain(folder, PAGE)
    assert explained.reasons == ranker.explain(PAGE) != ()
    assert explained.reasons != explain(folder, DEEP).reasons
    (text, prediction) = explained.parts
    assert (text.analyser, text.value) == ("text", 0.25)
    assert (prediction.analyser, prediction.weight) == ("ranker", 3.0)
    assert prediction.value == pytest.approx(sum(reason.effect for reason in explained.reasons))
    assert "Parts of the ranker's prediction" in shown(explained)
    assert explain(folder, PAGE, quick=True).reasons == ()


def test_of_a_fetched_page_they_are_those_of_the_moment_it_was_fetched(folder: Path) -> None:
    with log_of(folder) as log:
        before = taught(log).explain(PAGE)
        log.judged(Findings(PAGE, 2, 0.8, 0.7))
        log.judged(links_to("http://a.test/late", PAGE, 0.1))
    assert explain(folder, PAGE).reasons == before != ()


def test_what_a_page_was_worth(folder: Path) -> None:
    with log_of(folder) as log:
        log.judged(links_to(SEED, PAGE, 0.35, of_all("text", 0.35, 0.9), of_all("url", None, 0.1)))
        log.judged(Findings(PAGE, 2, 0.35, 0.25, (Scores("text", 0.25),)))
    with frontier_of(folder) as frontier:
        frontier.offer([Offer(PAGE, "a.test", 0.35)])
        frontier.finish(frontier.lease("worker", 1)[0], State.DONE)
    explained = explain(folder, PAGE)
    assert (explained.state, explained.score) == (State.DONE, 0.35)
    assert explained.fetched is not None
    assert explained.fetched.score == 0.25
    assert told(folder) == [(Happened.LINKED, 0.35, 0.35), (Happened.FETCHED, 0.25, None)]
    table = shown(explained)
    assert "worth 0.2500" in table
    assert "Scores of the page" in table


@pytest.mark.parametrize(
    ("update", "queued"),
    [
        ("first", [0.4, 0.4, 0.4, 0.9, 0.9]),
        ("last", [0.4, 0.8, 0.6, 0.9, 0.5]),
        ("max", [0.4, 0.8, 0.8, 0.9, 0.9]),
        ("sum", [0.4, 1.2, 1.8, 0.9, 1.4]),
        ("avg", [0.4, 0.6, 0.6, 0.9, 0.7]),
    ],
)
def test_the_history_tells_what_the_update_function_made_of_each_score(
    folder: Path, update: str, queued: list[float]
) -> None:
    with log_of(folder, update=update) as log:
        for number, score in enumerate((0.4, 0.8, 0.6)):
            log.judged(links_to(f"http://a.test/{number}", PAGE, score, of_all("text", score)))
        log.rescored([Revision(PAGE, 0.9)])
        log.judged(links_to("http://a.test/5", PAGE, 0.5, of_all("text", 0.5)))
    events = explain(folder, PAGE).events
    assert [event.queued for event in events] == pytest.approx(queued)
    with frontier_of(folder) as frontier:
        assert frontier.state(PAGE) is None


def test_the_parts_are_those_of_the_link_that_counts(folder: Path) -> None:
    with log_of(folder) as log:
        for number, score in enumerate((0.4, 0.8, 0.6)):
            log.judged(links_to(f"http://a.test/{number}", PAGE, score, of_all("text", score)))
    assert [part.value for part in explain(folder, PAGE).parts] == [0.8]


def test_equal_refusals_are_one_row_and_urls_stay_whole(folder: Path) -> None:
    pages = [f"http://a.test/{'a-long-name-' * 20}{number}" for number in range(30)]
    with log_of(folder) as log:
        for number, page in enumerate(pages):
            log.judged(links_to(page, PAGE, number / 100, refused="denied"))
        log.judged(links_to(SEED, PAGE, 0.2, refused="too_deep"))
    explained = explain(folder, PAGE)
    assert len(explained.events) == 31
    rows = [" ".join(line.split()) for line in shown(explained).splitlines() if "refused" in line]
    assert len(rows) == 2
    assert f"refused 30 times first {pages[0]}, last {pages[-1]} " in rows[0]
    assert rows[0].endswith("(denied)")
    assert rows[1].endswith(f"refused 0.2000 {SEED} (too_deep)")


def test_every_way_into_a_crawl_is_told(folder: Path) -> None:
    with log_of(folder) as log:
        log.offered(Source.POSTING, [(PAGE, 0.3)])
        log.judged(Findings(SEED, 0, 0.75, leads=Leads(redirect=PAGE)))
        log.judged(links_to("http://a.test/old", PAGE, 0.2))
        log.judged(links_to("http://a.test/other", PAGE, 0.9, of_all("text", 0.9), refused="denied"))
    at = (BEGUN + timedelta(minutes=5)).isoformat()
    posted = [
        {"at": at, "crawl": 1, "url": PAGE, "outcome": "rescored", "score": 0.8, "immediate": True, "source": "me"},
        {"at": at, "crawl": 1, "url": PAGE, "outcome": "blacklisted", "blacklist": True},
        {"at": at, "crawl": 1, "url": PAGE + "2", "outcome": "accepted", "score": 0.8, "source": PAGE},
    ]
    lines = [*map(json.dumps, posted), f'{{"url": "{PAGE}"', f'{{"url": "{PAGE}"}}']
    (folder / "posted.jsonl").write_text("\n".join(lines), "utf-8")
    explained = explain(folder, PAGE)
    assert [(e.what, e.source, e.score, e.queued, e.note) for e in explained.events] == [
        (Happened.OFFERED, "social posting", 0.3, 0.3, ""),
        (Happened.REDIRECTED, SEED, 0.75, 0.75, ""),
        (Happened.LINKED, "http://a.test/old", 0.2, 0.75, "the score of a former capture"),
        (Happened.REFUSED, "http://a.test/other", 0.9, 0.75, "denied"),
        (Happened.POSTED, "me", 0.8, 0.8, "rescored"),
        (Happened.POSTED, "", None, None, "blacklisted"),
    ]
    assert "to the front" in " ".join(shown(explained).split())


def test_what_stands_at_the_front_or_is_blocked(folder: Path) -> None:
    with frontier_of(folder) as frontier:
        for number, (url, wish) in enumerate(((PAGE, Wish.FRONT), (DEEP, Wish.BLOCK))):
            frontier.post([Post(Offer(url, "a.test", 0.5), b"%012d" % number, b"said", wish)])
    assert "at the front" in shown(explain(folder, PAGE))
    assert "blocked, blacklisted" in shown(explain(folder, DEEP))


def test_an_answer_that_is_no_page_is_told_by_its_status(folder: Path) -> None:
    with log_of(folder) as log:
        log.judged(Findings(PAGE, 2, 0.35, status=404))
    explained = explain(folder, PAGE, quick=True)
    assert [(event.score, event.note) for event in explained.events] == [(None, "status 404")]
    assert explained.state == "done"
    assert "status 404" in shown(explained)


def test_a_crawl_is_asked_while_it_runs(folder: Path) -> None:
    with frontier_of(folder) as frontier, FileLock(folder / ".lock"):
        frontier.offer([Offer(PAGE, "a.test", 0.5)])
        assert explain(folder, PAGE).score == 0.5
        frontier.offer([Offer(PAGE, "a.test", 0.75)])
        assert explain(folder, PAGE).score == 0.75


def test_former_crawls_are_told_and_do_not_count(folder: Path) -> None:
    former = folder / "former" / "1"
    former.mkdir(parents=True)
    (former / "crawl.json").write_text('{"crawl": 1}', "utf-8")
    with log_of(folder) as log:
        log.judged(links_to(SEED, PAGE, 0.9, of_all("text", 0.9)))
        log.judged(Findings(PAGE, 1, 0.9, 0.3, (Scores("text", 0.3),)))
    with log_of(folder, crawl=2, hours=1) as log:
        log.offered(Source.FORMER, [(PAGE, 0.4)])
    explained = explain(folder, PAGE)
    assert told(folder) == [
        (Happened.LINKED, 0.9, 0.9),
        (Happened.FETCHED, 0.3, None),
        (Happened.OFFERED, 0.4, 0.4),
    ]
    assert (explained.crawl.number, explained.fetched, explained.parts) == (2, None, ())
    assert "crawl 2" in shown(explained)


def gone(folder: Path) -> None:
    (folder / "frontier").rmdir()


def locked(folder: Path) -> None:
    FileLock(folder / ".lock").acquire()


@pytest.mark.parametrize(("trouble", "why"), [(gone, "is gone"), (locked, "starting or ending")])
def test_without_a_frontier_the_log_tells_what_it_can(
    folder: Path, trouble: Callable[[Path], None], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AAH_REDIS_URL", raising=False)
    lock = FileLock(folder / ".lock")
    if trouble is locked:
        lock.acquire()
    else:
        trouble(folder)
    with log_of(folder) as log:
        log.judged(links_to(SEED, PAGE, 0.35, of_all("text", 0.35)))
        log.ended(DEEP, "blocked", "robots")
    explained = explain(folder, PAGE)
    assert (explained.state, explained.score, explained.present) == ("queued", 0.35, None)
    assert why in explained.unasked
    assert "queued by the score log" in shown(explained)
    assert explain(folder, DEEP).state == "blocked"
    lock.release()


def test_what_is_unknown_is_told_so(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(UnknownUrlError, match="never met"):
        explain(folder, "http://b.test/")
    with pytest.raises(UnknownUrlError, match="no http or https URL"):
        explain(folder, "mailto:a@b.test")
    with pytest.raises(NoCrawlError, match="holds no crawl"):
        explain(tmp_path_factory.mktemp("none"), PAGE)
    (folder / "scores").mkdir()
    (folder / "scores" / "test-20260131120000-00000.scores.gz").write_bytes(b"no log")
    with pytest.raises(DamageError, match="is damaged"):
        explain(folder, PAGE)


def test_nothing_that_a_page_says_reaches_the_terminal_as_a_command(folder: Path) -> None:
    with log_of(folder) as log:
        log.judged(links_to(SEED, PAGE, 0.35, Scores("te\x1b[2Jxt", None, (0.1, 0.35, 0.1))))
        log.judged(Findings("http://a.test/[bold]\x07", 0, 0.5, leads=Leads(redirect=PAGE)))
    table = shown(explain(folder, PAGE))
    assert "\x1b[2J" not in table
    assert "\x07" not in table
    assert "[bol" in table


def test_the_json_has_it_all(folder: Path) -> None:
    with log_of(folder) as log:
        log.judged(links_to(SEED, PAGE, 0.35, of_all("text", 0.5), of_all("ranker", 0.3)))
        log.rescored([Revision(PAGE, 0.65)])
    out = io.StringIO()
    write_json(explain(folder, PAGE), out)
    said = json.loads(out.getvalue())
    assert (said["url"], said["crawl"], said["number"], said["score"]) == (PAGE, "floods", 1, 0.65)
    assert said["parts"][0] == {"analyser": "text", "weight": 1.0, "value": 0.5, "share": 0.125}
    assert [event["what"] for event in said["history"]] == ["linked", "re-scored"]
    assert said["history"][0]["at"].startswith("2026-01-31T12:00:0")
    assert (said["worth"], said["via"], said["immediate"]) == (None, None, False)


def test_the_command(folder: Path) -> None:
    with log_of(folder) as log:
        log.judged(links_to(SEED, PAGE, 0.35, of_all("text", 0.5)))
    ended = aah("explain-score", folder, PAGE)
    assert ended.code == 0, ended.err
    assert "Parts of the score" in ended.out
    ended = aah("explain-score", folder / "none", PAGE)
    assert (ended.code, ended.out) == (2, "")
    assert "holds no crawl" in ended.err
    assert "Traceback" not in ended.err
