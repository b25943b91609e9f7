"""How leases end: what is written, in which order, and what an error means for a URL."""

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler import metadata as metadata_record
from aahcrawler.archive.history import Former, History
from aahcrawler.archive.records import UNIDENTIFIED, Identified, Original, Resource
from aahcrawler.archive.writer import WrittenCapture
from aahcrawler.crawl.capture.archiver import LARGE
from aahcrawler.crawl.capture.recrawl import UNCONDITIONAL, ConditionalRequest
from aahcrawler.crawl.core.stores import CrawlContext, Stores
from aahcrawler.crawl.directory.crawl_runs import FolderLock
from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.crawl.fetch.download_handler import Captured, CapturedResponse
from aahcrawler.crawl.fetch.ip_claims import IpAddressBusyError
from aahcrawler.crawl.fetch.sourced_captures import NotTakenError
from aahcrawler.crawl.lease.lease_source import CutError, StoppedError
from aahcrawler.crawl.response.handler import rest_asked
from aahcrawler.crawl.response.lease_ending import IN_TURN, RequisiteBudgetError
from aahcrawler.crawl.response.trap_detection import GivesWayError, TrapDetection
from aahcrawler.crawl.startup.job import assemble
from aahcrawler.exchange import Exchange, Truncation
from aahcrawler.frontier.protocol import (
    UNSCORED,
    Counts,
    FrontierUnavailableError,
    Lease,
    Offer,
    Outcome,
    Rescore,
    State,
)
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.metadata import Metadata, read_metadata, write_metadata
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.page.onward import MAX_REDIRECTS
from aahcrawler.scope import Scope
from aahcrawler.scores import Findings, Lessons
from aahcrawler.seeds import of_attempt, of_cut, of_reason
from aahcrawler.segments import SegmentError
from aahcrawler.sources.source import Resolution, Source
from aahcrawler.tallies import SOURCES_UNAVAILABLE
from aahcrawler.webobject import Container, WebObject
from aahcrawler.wire.errors import (
    ConnectError,
    DisconnectError,
    HeaderLimitError,
    ProtocolError,
    RefusedAddressError,
    ResolveError,
    TlsError,
    WireError,
    WireTimeoutError,
)
from aahcrawler.wire.politeness import AGAIN, MAX_REST
from aahcrawler.wire.robots_txt import RobotsDeniedError, RobotsUnreachableError
from knowledge_base.model import KnowledgeBase
from online_analysis.aggregation import OnlineAnalyser, Revision, Scores
from online_analysis.document import Document
from online_analysis.icd import Icd
from tests.shipped import shipped

DEFINITION = """
id: test
contact: test@example.org
seeds: [http://a.test/]
topic: {keywords: [flood]}
scope: {deny: [/denied], languages: [en]}
politeness: {delay: 2 s, retries: 2}
"""
PAGE = b'<html><body><p>flood</p><a href="/b">b</a><a href="/denied">d</a><img src="/i.png"><img src="/denied.png">'
CSS = b"@import 'more.css'; p { background: url(bg.png) }"


@dataclass
class Recorder:
    """The stores of a crawl, in which nothing is kept but the order of what was done."""

    done: list[str] = field(default_factory=list)
    finished: list[tuple[State, float, list[str], Outcome]] = field(default_factory=list)
    retried: list[Outcome] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    rested: list[float] = field(default_factory=list)
    rescored: list[Rescore] = field(default_factory=list)
    queued: list[Offer] = field(default_factory=list)
    learned: list[float | None] = field(default_factory=list)
    archived: list[bytes] = field(default_factory=list)
    originals: list[Original | None] = field(default_factory=list)
    told: list[Metadata | None] = field(default_factory=list)
    beside: list[bool] = field(default_factory=list)
    objects: list[int] = field(default_factory=list)
    described: list[CaptureDescription] = field(default_factory=list)
    counted: dict[str, float] = field(default_factory=dict)
    held: bool = True
    fails_at: Mapping[str, Exception] = field(default_factory=dict)

    def did(self, what: str) -> None:
        self.done.append(what)
        if what in self.fails_at:
            raise self.fails_at[what]

    # The frontier

    def finish(self, _: Lease, state: State, outcome: Outcome, links: Sequence[Offer]) -> bool:
        self.did("finish")
        self.learned.append(outcome.learned)
        self.finished.append((state, outcome.delay, [link.url for link in links], outcome))
        return self.held

    def retry(self, _: Lease, outcome: Outcome) -> State:
        self.did("retry")
        self.learned.append(outcome.learned)
        self.retried.append(outcome)
        return State.QUEUED

    def release(self, leases: Sequence[Lease], *, delay: float = 0.0) -> None:
        self.did("release")
        self.rested.append(delay)
        self.released += [lease.url for lease in leases]

    def rescore(self, scores: Sequence[Rescore]) -> tuple[bool, ...]:
        self.rescored += scores
        return (True,) * len(scores)

    def iterate(self, n: int) -> Sequence[Offer]:
        now = {each.url: each.score for each in self.rescored}
        found = (replace(each, score=now.get(each.url, each.score)) for each in self.queued)
        return sorted(found, key=lambda each: -each.score)[:n]

    def count(self, amounts: Mapping[str, float]) -> None:
        for name, amount in amounts.items():
            self.counted[name] = self.counted.get(name, 0) + amount

    def stats(self) -> Mapping[str, float]:
        return {}

    def counts(self) -> Counts:
        return Counts({}, {}, 0)


class Archive:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def write(
        self,
        exchange: Exchange,
        identified: Identified = UNIDENTIFIED,
        *,
        original: Original | None = None,
        metadata: bytes | None = None,
        resources: Sequence[Resource] = (),  # noqa: ARG002 - no browser makes any here
    ) -> WrittenCapture:
        assert identified.media_type is None or "/" in identified.media_type
        self.recorder.did("archive")
        self.recorder.beside.append(threading.current_thread() is not threading.main_thread())
        self.recorder.archived.append(exchange.response.read())
        self.recorder.originals.append(original)
        self.recorder.told.append(None if metadata is None else metadata_record.read_metadata(metadata))
        record = f"urn:uuid:00000000-0000-4000-8000-{len(self.recorder.archived):012}"
        return WrittenCapture(record, exchange.url, exchange.started_at, "a.warc.gz", 0)


class Objects:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def write(
        self, capture: CaptureDescription, objects: Iterable[WebObject] = (), containers: Iterable[Container] = ()
    ) -> None:
        self.recorder.did("objects")
        self.recorder.described.append(capture)
        self.recorder.objects.append(len([*objects]) + len([*containers]))


class Log:
    """A score log that keeps nothing but what was said of pages and how they ended."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.pages: list[Findings] = []
        self.ends: list[tuple[str, str, str]] = []
        self.rest: list[tuple[object, ...]] = []

    def judged(self, found: Findings) -> None:
        self.recorder.did("scores")
        self.pages.append(found)

    def ended(self, url: str, state: str, reason: str = "") -> None:
        self.ends.append((url, state, reason))

    def asked(self, n: int) -> None:
        self.rest.append(("asked", n))

    def rescored(self, revisions: Sequence[Revision]) -> None:
        self.rest.append(("rescored", [(each.url, each.score) for each in revisions]))


class Flood:
    """Gives every link the same score."""

    name = "text"

    def analyse(self, document: Document) -> Scores:
        return Scores("text", 0.5, tuple(0.25 for _ in document.outlinks))


class Broken(Flood):
    def analyse(self, document: Document) -> Scores:
        raise ZeroDivisionError(document.url)


class Bench:
    """The response handler of a job whose stores are recorders."""

    def __init__(
        self, tmp_path: Path, known: KnowledgeBase, analyser: OnlineAnalyser, ranker: Lessons | None = None
    ) -> None:
        self.recorder = Recorder()
        icd = Icd.parse(DEFINITION.encode())
        folder = CrawlFolder(tmp_path, FolderLock(tmp_path))
        frontier: Any = self.recorder
        archive: Any = Archive(self.recorder)
        objects: Any = Objects(self.recorder)
        self.history = History(tmp_path / "archive", tmp_path / "indexes")
        self.log = Log(self.recorder)
        scores: Any = self.log
        stores = Stores(folder, frontier, archive, self.history, objects, scores, ExitStack())
        helper = ApplicationAwareHelper(known)
        self.job = assemble(CrawlContext(icd, lambda: helper, (analyser,), Scope(icd), ranker=ranker), stores)
        self.response_handler = self.job.handler
        self.settled = 0
        self.job.fetching.leases.finished = self._settle  # type: ignore[method-assign]

    def _settle(self, lease: Lease) -> None:
        assert lease.url
        self.settled += 1

    def answer(self, lease: Lease, response: CapturedResponse, asked: ConditionalRequest = UNCONDITIONAL) -> None:
        asyncio.run(self.response_handler.on_response(lease, response, asked))
        assert response.exchange.response.closed
        assert self.settled

    def fail(self, lease: Lease, error: Exception) -> None:
        asyncio.run(self.response_handler.ending.on_error(lease, error))
        assert self.settled


@pytest.fixture(scope="module")
def known() -> KnowledgeBase:
    return shipped()


@pytest.fixture
def bench(tmp_path: Path, known: KnowledgeBase) -> Iterator[Bench]:
    made = Bench(tmp_path, known, Flood())
    with made.history:
        yield made


def lease(url: str = "http://a.test/", **changes: Any) -> Lease:
    fields: dict[str, Any] = {"queue": "a.test", "score": 0.5, "depth": 1, "kind": "page", "via": "", "attempt": 1}
    return Lease(url, **{**fields, "token": "1-1", **changes})


def answer(
    body: bytes = PAGE, status: int = 200, truncated: Truncation | None = None, **headers: str
) -> CapturedResponse:
    fields = {"Content-Type": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
    exchange = exchange_of(body, truncated)
    captured = Captured(exchange, "", tuple(fields.items()), truncated is None, 0.1, 0.1)
    return CapturedResponse("http://a.test/", captured=captured, status=status, body=body)


def exchange_of(body: bytes, truncated: Truncation | None = None) -> Exchange:
    now = datetime.now(UTC)
    return Exchange(
        "http://a.test/", "GET", b"GET / ", BytesIO(body), len(body), b"1" * 20, "127.0.0.1", now, truncated
    )


# Answers


def test_the_page_is_finished_after_everything_about_it_was_written(bench: Bench) -> None:
    bench.answer(lease(), answer())
    recorder = bench.recorder
    assert recorder.done == ["scores", "archive", "objects", "finish"]
    state, delay, links, outcome = recorder.finished[0]
    assert (state, delay) == (State.DONE, 2.0)
    assert links == ["http://a.test/b", "http://a.test/i.png"]
    assert outcome.stats["pages"] == outcome.stats["status:200"] == outcome.stats["answers"] == 1
    assert outcome.stats["refused:denied"] == 2
    assert outcome.stats["bytes"] == len(PAGE)
    assert bench.job.writer.stats["pages"] == 1


def test_a_lost_lease_counts_nothing(bench: Bench) -> None:
    bench.recorder.held = False
    bench.answer(lease(), answer())
    assert bench.job.writer.stats.counts == {}


def test_a_page_that_an_analyser_breaks_on_is_fetched_all_the_same(tmp_path: Path, known: KnowledgeBase) -> None:
    bench = Bench(tmp_path, known, Broken())
    with bench.history:
        bench.answer(lease(), answer())
    assert bench.recorder.done == ["scores", "archive", "objects", "finish"]
    state, _, links, outcome = bench.recorder.finished[0]
    assert (state, links) == (State.DONE, ["http://a.test/b", "http://a.test/i.png"])
    assert outcome.stats["failed:analyser text: raised"] == outcome.stats["failure:raised"] == 1
    assert outcome.stats["pages"] == outcome.stats["failed_actions"] == 1
    (told,) = bench.recorder.told
    assert told is not None
    (failure,) = told.failures
    assert failure.startswith("analyser text: raised (ZeroDivisionError: http://a.test/")


def test_what_fails_on_many_pages_alike_is_logged_once(
    tmp_path: Path, known: KnowledgeBase, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(tmp_path, known, Broken())
    with bench.history:
        for number in range(3):
            bench.answer(lease(f"http://a.test/{number}"), answer())
    assert sum("analyser text: raised" in line for line in caplog.text.splitlines()) == 1
    assert bench.job.writer.stats["failed:analyser text: raised"] == 3
    assert bench.job.lifecycle.failure is None


def test_whatever_else_goes_wrong_ends_the_url_and_not_the_crawl(bench: Bench) -> None:
    bench.recorder.fails_at = {"objects": RuntimeError("no such thing")}
    bench.answer(lease(), answer())
    state, _, _, outcome = bench.recorder.finished[0]
    assert (state, outcome.reason) == (State.FAILED, "RuntimeError")
    assert bench.job.lifecycle.failure is None


@pytest.mark.parametrize("where", ["scores", "archive", "objects", "finish"])
def test_a_store_that_fails_ends_the_crawl_and_not_the_url(bench: Bench, where: str) -> None:
    error = FrontierUnavailableError("gone") if where == "finish" else SegmentError("no room")
    bench.recorder.fails_at = {where: error}
    bench.answer(lease(), answer())
    assert bench.recorder.done[-1] == where
    assert bench.recorder.finished == []
    assert bench.job.lifecycle.failure is error
    assert bench.job.lifecycle.is_ending


def test_an_error_page_is_archived_and_not_followed(bench: Bench) -> None:
    bench.answer(lease(), answer(status=404))
    _, _, links, outcome = bench.recorder.finished[0]
    assert links == []
    assert "pages" not in outcome.stats
    assert bench.recorder.described[0].status == 404


def test_links_of_another_language_are_counted_and_its_requisites_fetched(bench: Bench) -> None:
    body = b'<html lang="de"><body><p>Die Flut kam in der Nacht, und der Deich brach an drei Stellen.</p>' + PAGE[12:]
    bench.answer(lease(), answer(body))
    _, _, links, outcome = bench.recorder.finished[0]
    assert links == ["http://a.test/i.png"]
    assert outcome.stats["refused:language"] == 2


def test_a_style_sheet_leads_to_what_it_shows_and_is_no_page(bench: Bench) -> None:
    bench.answer(lease("http://a.test/s/a.css", kind="requisite"), answer(CSS, Content_Type="text/css"))
    _, _, links, outcome = bench.recorder.finished[0]
    assert links == ["http://a.test/s/more.css", "http://a.test/s/bg.png"]
    assert outcome.stats["requisite_bytes"] == len(CSS)
    assert "pages" not in outcome.stats
    assert bench.recorder.done == ["archive", "finish"]


NOFOLLOW = b'<a href="/b" rel="Nofollow ugc">b</a><a href="/c" rel="next">c</a><img src="/i.png">'


@pytest.mark.parametrize(
    ("policy", "head", "field", "followed"),
    [
        ("ignore", b"<meta name=robots content=nofollow>", "nofollow", ["b", "c"]),
        ("obey", b"", "", ["c"]),
        ("obey", b"<meta name=Robots content='NOINDEX, NoFollow'>", "", []),
        ("obey", b"<meta name=robots content=none>", "", []),
        ("obey", b"<meta name=description content=nofollow>", "noindex, nofollows", ["c"]),
        ("obey", b"", "noarchive, nofollow", []),
        ("obey", b"", "otherbot: nofollow", ["c"]),
    ],
)
def test_links_that_are_not_to_be_followed(
    bench: Bench, policy: str, head: bytes, field: str, followed: list[str]
) -> None:
    now = bench.job.context.now
    politeness = now.icd.politeness.model_copy(update={"nofollow": policy})
    bench.job.context.use(replace(now, icd=now.icd.model_copy(update={"politeness": politeness})))
    bench.answer(lease(), answer(b"<html><head>%b</head><body>%b" % (head, NOFOLLOW), X_Robots_Tag=field))
    _, _, links, outcome = bench.recorder.finished[0]
    assert sorted(links) == sorted(f"http://a.test/{name}" for name in (*followed, "i.png"))
    assert outcome.stats.get("refused:nofollow", 0) == 2 - len(followed)
    told = bench.recorder.told[0]
    assert told is not None
    assert next(link for link in told.links if link.url.endswith("/b")).nofollow
    kept = {link.url for link in read_metadata(write_metadata(told)).links if link.nofollow}
    assert kept == {link.url for link in told.links if link.nofollow}


def test_what_a_style_sheet_names_is_bounded_and_what_is_left_out_counted(bench: Bench) -> None:
    css = b"".join(b"a { b: url(%d.png) }" % number for number in range(1600)) + b"@import 'more.css';"
    bench.answer(lease("http://a.test/s/a.css", kind="requisite"), answer(css, Content_Type="text/css"))
    _, _, links, outcome = bench.recorder.finished[0]
    assert links == ["http://a.test/s/more.css", *(f"http://a.test/s/{number}.png" for number in range(49))]
    assert outcome.stats["refused:requisites_per_style_sheet"] == 1551


def test_style_sheets_that_import_one_another_for_ever_come_to_an_end(bench: Bench) -> None:
    for path in ("LEEEE", "LEEEEE"):
        sheet = replace(lease("http://a.test/s/a.css", kind="requisite"), path=path)
        bench.answer(sheet, answer(CSS, Content_Type="text/css"))
    assert [len(links) for _, _, links, _ in bench.recorder.finished] == [2, 0]
    assert bench.recorder.finished[1][3].stats["refused:requisites_per_style_sheet"] == 2


def test_no_requisite_is_offered_when_their_bytes_are_used_up(bench: Bench) -> None:
    bench.job.writer.stats.add("requisite_bytes", bench.job.context.now.icd.limits.requisite_bytes)
    bench.answer(lease(), answer())
    assert bench.recorder.finished[0][2] == ["http://a.test/b"]


def test_a_large_answer_is_archived_beside_the_event_loop(bench: Bench) -> None:
    bench.answer(lease(), answer())
    bench.answer(lease(), answer(PAGE + bytes(LARGE), Content_Type="video/mp4"))
    assert bench.recorder.beside == [False, True]
    assert [len(kept) for kept in bench.recorder.archived] == [len(PAGE), len(PAGE) + LARGE]


# What has not changed


def test_a_304_that_stands_for_nothing_is_archived_and_asked_again_at_once(bench: Bench) -> None:
    values: dict[str, Any] = dict.fromkeys(each.name for each in fields(Former))
    former = Former(**{**values, "url": "http://a.test/", "file": "gone.warc.gz", "offset": 0, "crawl": 1})
    bench.answer(lease(attempt=3), answer(b"", 304), ConditionalRequest(former, conditional=True))
    recorder = bench.recorder
    assert (recorder.done, recorder.released) == (["archive", "release"], ["http://a.test/"])
    assert (recorder.originals, recorder.told) == ([None], [None])
    assert recorder.counted == {"requests": 1, "bytes": 0, "conditional": 1, "asked_again": 1}
    assert bench.job.writer.stats["asked_again"] == 1
    assert not bench.job.recrawl.asked("http://a.test/").conditional


def test_a_304_that_nobody_asked_for_is_an_error(bench: Bench) -> None:
    bench.answer(lease(attempt=3), answer(b"", 304))
    state, _, links, outcome = bench.recorder.finished[0]
    assert (state, links) == (State.DONE, [])
    assert "pages" not in outcome.stats
    assert outcome.stats["status:304"] == outcome.stats["answers"] == 1
    assert bench.recorder.originals == [None]
    (described,) = bench.recorder.described
    assert (described.status, described.unchanged, described.application) == (304, None, None)


# Redirects


@pytest.mark.parametrize(
    ("location", "offered"),
    [
        ("/b", ["http://a.test/b"]),
        ("", []),
        ("#top", []),
        ("http://a.test/#top", []),
        ("http://elsewhere.test/", []),
        ("javascript:alert(1)", []),
        ("file:///etc/passwd", []),
        ("/denied", []),
    ],
)
def test_a_redirect_is_archived_and_its_target_offered(bench: Bench, location: str, offered: list[str]) -> None:
    bench.answer(lease(), answer(b"", 301, Location=location))
    assert bench.recorder.done == ["scores", "archive", "objects", "finish"]
    state, _, links, outcome = bench.recorder.finished[0]
    assert (state, links) == (State.DONE, offered)
    assert outcome.stats["status:301"] == 1


def test_too_many_redirects_in_a_row_are_refused(bench: Bench) -> None:
    bench.answer(lease(path="L" + "R" * MAX_REDIRECTS), answer(b"", 302, Location="/b"))
    _, _, links, outcome = bench.recorder.finished[0]
    assert links == []
    assert outcome.stats["refused:redirects"] == 1


# Another try


def test_only_tries_of_seeds_are_noted(bench: Bench) -> None:
    bench.fail(lease("http://a.test/other"), ConnectError("refused"))
    assert bench.recorder.retried[0].stats == {"retries": 1}


@pytest.mark.parametrize("status", sorted(AGAIN))
def test_an_answer_that_may_be_another_one_later_is_archived_and_asked_for_again(bench: Bench, status: int) -> None:
    bench.answer(lease(attempt=2), answer(b"busy", status, Retry_After="30"))
    assert bench.recorder.archived == [b"busy"]
    outcome = bench.recorder.retried[0]
    assert (outcome.delay, outcome.reason) == (30.0, f"status {status}")
    tried = of_attempt("http://a.test/", of_reason(f"status {status}"))
    assert outcome.stats == {"retries": 1, tried: 1}
    assert bench.recorder.counted == {"requests": 1, "bytes": 4}
    assert bench.recorder.finished == []


def test_the_last_attempt_ends_the_url_and_leaves_the_site_in_peace(bench: Bench) -> None:
    bench.answer(lease(attempt=3), answer(b"busy", 503, Retry_After="30"))
    state, delay, _, outcome = bench.recorder.finished[0]
    assert (state, delay) == (State.DONE, 30.0)
    assert outcome.stats["status:503"] == 1


def test_what_a_site_needs_is_told_to_the_frontier_for_the_next_worker(bench: Bench) -> None:
    bench.answer(lease(), answer())
    bench.answer(lease(), answer(b"busy", 429))
    bench.answer(lease(attempt=3), answer())
    assert bench.recorder.learned == [0, 4, pytest.approx(3.2)]
    assert bench.recorder.retried[0].delay == 4


def test_a_body_that_was_broken_off_is_asked_for_again(bench: Bench) -> None:
    bench.answer(lease(), answer(truncated=Truncation.DISCONNECT))
    assert bench.recorder.retried[0].reason == "disconnect"
    bench.answer(lease(attempt=3), answer(truncated=Truncation.DISCONNECT))
    assert bench.recorder.finished[0][0] is State.DONE


@pytest.mark.parametrize("truncated", [Truncation.LENGTH, Truncation.TIME, Truncation.UNSPECIFIED])
def test_a_body_that_we_cut_is_not(bench: Bench, truncated: Truncation) -> None:
    bench.answer(lease(), answer(truncated=truncated))
    assert bench.recorder.finished[0][0] is State.DONE


def test_a_site_rests_longer_with_every_attempt(bench: Bench) -> None:
    for attempt in (1, 2, 3):
        bench.fail(lease(attempt=attempt), ConnectError("refused"))
    assert [outcome.delay for outcome in bench.recorder.retried] == [2.0, 2.0, 4.0]
    assert [outcome.stats for outcome in bench.recorder.retried][1:] == [
        {"retries": 1, "seed:tried:REFUSED http://a.test/": 1},
        {"error:connect": 1, "failed_url:connect": 1, "seed:REFUSED:http://a.test/": 1},
    ]


# Without an answer


@pytest.mark.parametrize(
    ("error", "state", "count"),
    [
        (RobotsDeniedError("no"), State.BLOCKED, "blocked:robots"),
        (RefusedAddressError("private"), State.BLOCKED, "blocked:address"),
        (RequisiteBudgetError(), State.BLOCKED, "blocked:requisite_bytes"),
        (TlsError("expired"), State.FAILED, "error:tls"),
        (ResolveError("no such host", retryable=False), State.FAILED, "error:resolve"),
        (ProtocolError("no HTTP"), State.FAILED, "error:protocol"),
        (HeaderLimitError("too long"), State.FAILED, "error:headers"),
        (KeyError("unforeseen"), State.FAILED, "error:KeyError"),
    ],
)
def test_some_errors_are_final(bench: Bench, error: Exception, state: State, count: str) -> None:
    bench.fail(lease(), error)
    ended, _, _, outcome = bench.recorder.finished[0]
    assert ended is state
    assert outcome.stats[count] == 1
    assert outcome.reason == count.partition(":")[2]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RobotsUnreachableError("503"), "robots.txt"),
        (ConnectError("refused"), "connect"),
        (DisconnectError("closed"), "disconnect"),
        (WireTimeoutError("silence"), "timeout"),
        (ResolveError("no server", retryable=True), "resolve"),
    ],
)
def test_other_errors_are_not(bench: Bench, error: Exception, reason: str) -> None:
    bench.fail(lease(), error)
    assert bench.recorder.retried == [
        Outcome(reason, {"retries": 1.0, of_attempt("http://a.test/", of_reason(reason)): 1}, 2.0, 0.0)
    ]


def test_what_had_to_be_let_go_at_the_end_goes_back(bench: Bench) -> None:
    bench.fail(lease(), StoppedError())
    assert bench.recorder.released == ["http://a.test/"]
    assert bench.recorder.done == ["release"]
    assert not bench.recorder.counted


def test_a_seed_whose_answer_was_under_way_at_the_end_goes_back_with_a_note(bench: Bench) -> None:
    bench.fail(lease(), CutError())
    assert bench.recorder.released == ["http://a.test/"]
    assert bench.recorder.counted == {of_cut("http://a.test/"): 1}


def test_what_finds_its_address_busy_goes_back_until_its_turn_comes(bench: Bench) -> None:
    bench.fail(lease(), IpAddressBusyError("192.0.2.1", 3.5))
    assert (bench.recorder.released, bench.recorder.rested) == (["http://a.test/"], [3.5])
    assert bench.recorder.counted == {"address_busy": 1}
    assert bench.recorder.retried == []


@pytest.mark.parametrize(
    ("given", "rested", "rescored"),
    [
        ({}, 0.0, [Rescore("http://a.test/", UNSCORED)]),
        ({"score": 0.0}, 0.0, [Rescore("http://a.test/", UNSCORED)]),
        ({"score": 0.0, "is_scored": False}, 1.0, [Rescore("http://a.test/", UNSCORED)]),
        ({"kind": "requisite"}, 1.0, []),
    ],
    ids=["a page", "one that is worth nothing", "one that is behind all others", "a requisite"],
)
def test_what_waits_for_a_slow_archive_lets_the_others_of_its_site_go_first(
    bench: Bench, given: Mapping[str, Any], rested: float, rescored: Sequence[Rescore]
) -> None:
    failed = Resolution(seconds=1.0, have_nothing=[cast("Source", object())])
    bench.fail(lease(**given), NotTakenError(SOURCES_UNAVAILABLE, failed))
    assert (bench.recorder.released, bench.recorder.rested) == (["http://a.test/"], [rested])
    assert bench.recorder.rescored == rescored
    assert bench.recorder.retried == []


def test_what_a_slow_archive_has_gets_its_score_back(bench: Bench) -> None:
    failed = Resolution(seconds=1.0, have_nothing=[cast("Source", object())])
    bench.fail(lease(score=0.7), NotTakenError(SOURCES_UNAVAILABLE, failed))
    for _ in range(2):
        asyncio.run(bench.job.handler.ending.on_late_answers(["http://a.test/", "http://never.test/"]))
    assert bench.recorder.rescored == [Rescore("http://a.test/", UNSCORED), Rescore("http://a.test/", 0.7)]


@pytest.mark.parametrize("error", [FrontierUnavailableError("gone"), SegmentError("no room")])
def test_a_store_that_failed_on_the_way_ends_the_crawl(bench: Bench, error: Exception) -> None:
    bench.fail(lease(), error)
    assert bench.job.lifecycle.failure is error
    assert bench.recorder.done == []


def test_the_remains_of_an_answer_are_archived_as_far_as_readers_take_them(bench: Bench) -> None:
    error: WireError = HeaderLimitError("too long")
    exchange = error.exchange = exchange_of(b"HTTP/1.1 200 OK\r\n" + b"x" * 100_000)
    bench.fail(lease(), error)
    assert exchange.response.closed
    assert [len(came) for came in bench.recorder.archived] == [16_000]
    assert bench.recorder.counted == {"requests": 1, "bytes": 16_000}


# Retry-After


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("0", 0, 0),
        ("120", 120, 120),
        (" 7 ", 7, 7),
        ("9" * 5000, MAX_REST, MAX_REST),
        ("7200", MAX_REST, MAX_REST),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MAX_REST, MAX_REST),
        ("Fri, 31 Dec 1999 23:59:59 +99999999999999999", 0, 0),
        ("Sat, 01 Jan 0001 00:00:00 GMT", 0, 0),
        ("-5", 0, 0),
        ("1.5", 0, 0),
        ("１２", 0, 0),
        ("soon", 0, 0),
        ("", 0, 0),
    ],
)
def test_retry_after(value: str, low: float, high: float) -> None:
    assert low <= rest_asked(answer(b"", 429, Retry_After=value)) <= high


@pytest.mark.parametrize(("seconds", "rest"), [(60, 60), (86_400, MAX_REST), (-60, 0)])
def test_retry_after_by_a_date(seconds: float, rest: float) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
    assert max(0, rest - 5) <= rest_asked(answer(b"", 429, Retry_After=date)) <= rest


@pytest.mark.parametrize("status", [200, 201, 301, 404, 410])
def test_retry_after_means_nothing_elsewhere(status: int) -> None:
    assert rest_asked(answer(b"", status, Retry_After="100")) == 0


@given(st.text() | st.from_regex(r"\w{3}, \d\d? \w{3} \d{1,6} \d\d:\d\d:\d\d [+-]\d{1,20}", fullmatch=True))
def test_no_retry_after_is_too_strange(value: str) -> None:
    assert 0 <= rest_asked(answer(b"", 503, Retry_After=value)) <= MAX_REST


def test_where_many_pages_give_way_the_best_of_the_queue_do_so_together(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    gave_way: set[str] = set()

    def worth(_: TrapDetection, page: Lease | Offer) -> float:
        is_worse = "/log/" in page.url and page.url not in gave_way
        gave_way.add(page.url)
        return 0.2 if is_worse else 1.0

    monkeypatch.setattr(TrapDetection, "worth", worth)
    recorder = bench.recorder
    recorder.queued = [Offer(f"http://a.test/log/{n}", "a.test", 0.5) for n in range(IN_TURN, 1_200)]
    others = [Offer("http://a.test/t/1", "a.test", 0.4), Offer("http://a.test/t/2", "a.test", UNSCORED)]
    recorder.queued += [*others, Offer("http://a.test/log/new", "a.test", UNSCORED)]
    for number in range(IN_TURN):
        assert len(recorder.rescored) == number
        bench.fail(lease(f"http://a.test/log/{number}"), GivesWayError(0.2))
    assert recorder.rescored[:IN_TURN] == [Rescore(f"http://a.test/log/{n}", 0.1) for n in range(IN_TURN)]
    assert {*recorder.rescored} == {Rescore(f"http://a.test/log/{n}", 0.1) for n in range(1_200)}
    assert len(recorder.rescored) == 1_200
