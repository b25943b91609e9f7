"""Makes a large crawl without crawling: what the cockpit and its benchmarks look at.

    python -m benchmarks.cockpit_crawl [--pages N] [--queued N] [FOLDER]

- ``crawl_folder(shape)`` returns the folder of such a crawl in ``.cache/cockpit``, made where it is not there yet;
  ``Shape()`` is the large one.
- ``write_crawl(folder, shape)`` writes all but the frontier: definition, WARC files with index and history, objects,
  scores, refusals, log and ``crawl.json``. Called again with another ``Shape.crawl``, it adds a later crawl.
- ``fill_frontier(frontier, shape)`` brings a frontier to the state at the end of it.
- ``running(folder)`` serves the frontier that lies in such a folder as the process of a crawl does; it yields the
  frontier.
- ``benchmarks.cockpit_pages.Shape`` says how large it is; ``invented(shape, number)`` is what a capture was made of.

Everything is written by the writers of the crawler itself, so that files are as large as those of a crawl.
"""

import argparse
import hashlib
import json
import random
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from uuid import UUID

from aahcrawler import __version__, metadata
from aahcrawler.archive.history import History, HistoryRecord
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.records import CrawlInfo, Identified
from aahcrawler.archive.writer import Identity, WarcWriter, WrittenCapture
from aahcrawler.crawl.reporting.summary import summary
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.crawls import frontier_name, frontier_settings, number
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.protocol import Counts, Offer, Outcome, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.file_mending import Damage
from aahcrawler.layout import ARCHIVE, DEFINITION, FORMER, FRONTIER, INDEXES, LOG, OBJECTS, REFUSED, SCORES, SUMMARY
from aahcrawler.metadata import Link, Metadata
from aahcrawler.objects import vocabulary
from aahcrawler.objects.versions import Changes
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter
from aahcrawler.refusals import RefusalLog
from aahcrawler.revisits.time_left import TimeLeft
from aahcrawler.scores import Findings, Leads, ScoreLog, Source, Terms
from aahcrawler.urls import queue_of
from benchmarks.cockpit_pages import (
    BEGUN,
    RELEVANT_AT,
    TOPIC,
    UNCHANGED,
    InventedPage,
    Shape,
    invented,
    page_url,
    queued_url,
)
from online_analysis.icd import Icd

CACHE = Path(__file__).parent.parent / ".cache" / "cockpit"
READER = "037513f94f2a0a10664d4558d2569a8e"
_DONE = "made.json"
_AT_ONCE = 5_000
_SEGMENT = 64 << 20
_IMAGE = 20
"""One page in so many has an image, which is captured after it."""
CRAWL = "varhaven"
_DEFINITION = {
    "id": CRAWL,
    "title": "The flood of Varhaven",
    "contact": "archive@varhaven-archive.example",
    "seeds": ["http://thread0.varhaven0.example/viewtopic.php?t=0"],
    "topic": {"keywords": list(TOPIC)},
    "scope": {"sites": "anywhere"},
    "scoring": {"relevant": RELEVANT_AT},
}


@dataclass(slots=True)
class _Clock:
    """The clock of all writers: it shows the time of the capture that is being written."""

    now: datetime = BEGUN

    def __call__(self) -> datetime:
        return self.now


@dataclass(slots=True)
class _Job:
    """A crawl in the form in which its summary is written."""

    icd: Icd
    number: int
    begun_at: datetime
    started_at: datetime
    counts: Counts
    stats: Stats = field(default_factory=Stats)
    reason: str = "limits.pages reached"
    time_left: TimeLeft = field(default_factory=TimeLeft)
    pause: str = ""
    peer_export: None = None
    delivery: None = None
    frontier_damage: Sequence[Damage] = ()
    source_damage: Mapping[str, int] = field(default_factory=dict)
    knowledge: None = None


@dataclass(frozen=True, slots=True)
class _Writers:
    """The writers of a crawl."""

    warc: WarcWriter
    history: History
    objects: ObjectWriter
    scores: ScoreLog
    refusals: RefusalLog


def main() -> None:
    """Make a crawl, and say how long it took and how large it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--pages", type=int, default=Shape().pages)
    parser.add_argument("--queued", type=int, default=Shape().queued)
    given = parser.parse_args()
    began, shape = time.monotonic(), Shape(given.pages, given.queued)
    folder = crawl_folder(shape) if given.folder is None else given.folder
    if given.folder is not None:
        make(folder, shape)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size >> 20} MiB after {time.monotonic() - began:.0f} s")


def crawl_folder(shape: Shape) -> Path:
    """Return the folder of a crawl in the cache; the crawl is made if it is missing or incomplete."""
    folder = CACHE / f"{shape.pages}-{shape.queued}"
    if not (folder / _DONE).exists():
        shutil.rmtree(folder, ignore_errors=True)
        make(folder, shape)
        (folder / _DONE).write_text(json.dumps({"pages": shape.pages, "queued": shape.queued}), "utf-8")
    return folder


def make(folder: Path, shape: Shape) -> None:
    """Make a crawl with its frontier."""
    write_crawl(folder, shape)
    with running(folder) as frontier:
        fill_frontier(frontier, shape)


def definition() -> Icd:
    """Return the definition of the crawl."""
    return Icd.parse("".join(f"{name}: {json.dumps(value)}\n" for name, value in _DEFINITION.items()).encode())


@contextmanager
def running(folder: Path) -> Iterator[RedisFrontier]:
    """Serve the frontier of a generated crawl from this process, as the process of a running crawl does."""
    icd = definition()
    with EmbeddedServer(folder / FRONTIER) as server:
        frontier = RedisFrontier(server.url, frontier_name(icd.id, number(folder)), frontier_settings(icd))
        yield frontier
        frontier.close()


def write_crawl(folder: Path, shape: Shape) -> None:
    """Write the files of a crawl; an earlier crawl in the folder becomes its former crawl."""
    icd = definition()
    folder.mkdir(parents=True, exist_ok=True)
    _put_aside(folder, shape.crawl - 1)
    (folder / DEFINITION).write_text(json.dumps(icd.meaning()), "utf-8")
    clock = _Clock(invented(shape, 0).fetched_at)
    counts = Counts({State.DONE: shape.pages, State.QUEUED: shape.queued}, {}, 0)
    job = _Job(icd, shape.crawl, clock.now, clock.now, counts)
    with _writing(folder, icd, shape, clock) as writers, (folder / LOG).open("w", encoding="utf-8") as log:
        writers.scores.offered(Source.SEED, [(page_url(0), 1.0)])
        log.write(f"{_written(clock.now)} INFO crawl.startup.factory crawl {shape.crawl} begun, in {folder}\n")
        for at in range(shape.pages):
            page = invented(shape, at)
            clock.now = page.fetched_at
            log.write(_take(writers, page, job.stats))
    told = summary(job, "stopped") | {"updated_at": clock.now.isoformat(timespec="seconds")}
    (folder / SUMMARY).write_text(json.dumps(told, indent=2), "utf-8")


def fill_frontier(frontier: RedisFrontier, shape: Shape) -> None:
    """Set the captured pages to done, failed or blocked, and queue the others."""
    frontier.go_by(replace(frontier_settings(definition()), balance=_AT_ONCE))
    for first in range(0, shape.pages, _AT_ONCE):
        pages = [invented(shape, at) for at in range(first, min(first + _AT_ONCE, shape.pages))]
        frontier.offer([_offer(page.url, page.priority, 1 + page.number % 6) for page in pages if not page.again])
        status = {page.url: page.status for page in pages}
        while leases := frontier.lease("made", _AT_ONCE):
            for lease in leases:
                is_failed = status[lease.url] == 503
                state = State.FAILED if is_failed else State.DONE
                frontier.finish(lease, state, Outcome("status 503" if is_failed else ""))
    rng = random.Random(shape.seed)
    for first in range(0, shape.queued, _AT_ONCE):
        urls = [queued_url(at) for at in range(first, min(first + _AT_ONCE, shape.queued))]
        frontier.offer([_offer(url, round(rng.betavariate(2, 5), 6), rng.randint(1, 7)) for url in urls])
    frontier.go_by(frontier_settings(definition()))


def _offer(url: str, score: float, depth: int) -> Offer:
    return Offer(
        url, queue_of(url), score, depth, via="http://thread0.varhaven0.example/viewtopic.php?t=0", path="L" * depth
    )


@contextmanager
def _writing(folder: Path, icd: Icd, shape: Shape, clock: _Clock) -> Iterator[_Writers]:
    """Open the writers of a crawl."""
    info = CrawlInfo(icd.id, f"AAHCrawler/{__version__}", crawl_number=shape.crawl)
    ids = random.Random(f"{shape.seed} {shape.crawl}")
    identity = Identity(lambda: UUID(int=ids.getrandbits(128), version=4).urn, clock)
    with ExitStack() as stack:
        index = IndexWriter(folder / ARCHIVE, folder / INDEXES)
        stack.callback(index.close)
        warc = stack.enter_context(WarcWriter(folder / ARCHIVE, info, size=_SEGMENT, identity=identity, index=index))
        history = History(folder / ARCHIVE, folder / INDEXES)
        stack.callback(history.close)
        yield _Writers(
            warc,
            history,
            stack.enter_context(ObjectWriter(folder / OBJECTS, icd.id, clock, size=_SEGMENT)),
            stack.enter_context(
                ScoreLog(folder / SCORES, icd.id, Terms(shape.crawl, icd.scoring), clock, size=_SEGMENT)
            ),
            stack.enter_context(RefusalLog(folder / REFUSED, icd.id, shape.crawl, clock, size=_SEGMENT)),
        )


def _take(writers: _Writers, page: InventedPage, stats: Stats) -> str:
    """Write all that a crawl keeps of a page; return the line of the log."""
    former = writers.history.former(page.url) if page.again else None
    original = former.original if former is not None and page.again == UNCHANGED else None
    told = _metadata(page)
    with BytesIO(_response(page)) as response:
        exchange = _exchange(page, response)
        capture = writers.warc.write(
            exchange, Identified("text/html", "en"), original=original, metadata=metadata.write_metadata(told)
        )
        writers.history.add(HistoryRecord.of(capture, exchange, page.shape.crawl, original=original, metadata=told))
    described = _description(page, capture, None if former is None else former.record_id)
    writers.objects.write(described, () if described.unchanged else page.objects, page.containers)
    writers.scores.judged(_findings(page))
    _refuse(writers, page)
    if page.number % _IMAGE == 0 and page.status == 200:
        _write_image(writers, page)
    became = "unchanged" if described.unchanged else "changed" if former else "new" if page.status == 200 else "page"
    stats.merge(_counted(page, became))
    return f"{_written(page.fetched_at)} INFO crawl.response.handler {page.url} {page.status} {became}\n"


def _description(page: InventedPage, capture: WrittenCapture, former: str | None) -> CaptureDescription:
    """Return the description of a capture; ``former`` is the id of the page's capture before, if there is one."""
    application, level, role = page.described
    is_changed = former is not None and not capture.revisit
    edited = tuple(each.iri for each in page.objects[:1]) if is_changed else ()
    return CaptureDescription(
        iri=capture.record_id,
        url=page.url,
        status=page.status,
        fetched_at=page.fetched_at,
        media_type="text/html",
        application=application,
        level=level,
        role=role,
        score=page.score,
        relevant=page.is_relevant,
        priority=page.priority,
        depth=1 + page.number % 6,
        via="" if page.number == 0 else page_url(page.number // 2),
        crawl=vocabulary.crawl(CRAWL, page.shape.crawl),
        unchanged=former if capture.revisit else None,
        revision_of=former if is_changed else None,
        changes=Changes(edited=edited) if edited else None,
        trap=page.trap,
        reader=READER,
        title=page.title,
    )


def _metadata(page: InventedPage) -> Metadata:
    application, level, role = page.described
    return Metadata(
        url=page.url,
        understood_by=READER,
        media_type="text/html",
        application=application,
        level=level,
        role=role,
        title=page.title,
        score=page.score,
        relevant=page.is_relevant,
        priority=page.priority,
        depth=1 + page.number % 6,
        links=tuple(Link(url, score=score) for url, score in zip(page.links, page.link_scores, strict=True)),
        objects=page.objects,
        trap=page.trap,
    )


def _findings(page: InventedPage) -> Findings:
    leads = Leads(page.links, page.link_scores, page.refused)
    if page.status == 301:
        leads = Leads(redirect=page_url(page.number + 1))
    return Findings(page.url, 1 + page.number % 6, page.priority, page.score, page.scores, leads, status=page.status)


def _refuse(writers: _Writers, page: InventedPage) -> None:
    if page.status >= 400:
        writers.refusals.failed(page.url, f"status {page.status}", "page", page_url(page.number // 2))
    offers = {reason: [_offer(page.links[at], 0.1, 2) for at in places] for reason, places in page.refused.items()}
    if offers:
        writers.refusals.refused(page.url, "en", offers)


def _write_image(writers: _Writers, page: InventedPage) -> None:
    """Write an image of a page: a capture that is no page."""
    body = random.Random(page.text_seed).randbytes(2_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    url = f"{page.url.partition('.example/')[0]}.example/images/{page.number}.png"
    with BytesIO(head + body) as response:
        exchange = replace(
            _exchange(page, response), url=url, payload_digest=_sha1(body), response_size=len(head + body)
        )
        capture = writers.warc.write(exchange, Identified("image/png"))
        writers.history.add(HistoryRecord.of(capture, exchange, page.shape.crawl))
    crawl = vocabulary.crawl(CRAWL, page.shape.crawl)
    at = page.fetched_at + timedelta(milliseconds=20)
    writers.objects.write(
        CaptureDescription(capture.record_id, url, 200, at, "image/png", via=page.url, crawl=crawl, is_requisite=True)
    )


def _exchange(page: InventedPage, response: BytesIO) -> Exchange:
    host, _, path = page.url.removeprefix("http://").partition("/")
    request = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: AAHCrawler\r\n\r\n".encode()
    return Exchange(
        url=page.url,
        method="GET",
        request=request,
        response=response,
        response_size=len(response.getbuffer()),
        payload_digest=_sha1(page.body if page.status == 200 else b""),
        ip_address="127.0.0.1",
        started_at=page.fetched_at,
    )


def _response(page: InventedPage) -> bytes:
    body = page.body if page.status == 200 else b""
    moved = f"Location: {page_url(page.number + 1)}\r\n" if page.status == 301 else ""
    kind = "Content-Type: text/html; charset=utf-8\r\nServer: Apache\r\n"
    return f"HTTP/1.1 {page.status} Said\r\n{kind}{moved}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _sha1(body: bytes) -> bytes:
    return hashlib.sha1(body, usedforsecurity=False).digest()


def _counted(page: InventedPage, became: str) -> dict[str, float]:
    """Return what a page adds to the counts of a crawl."""
    application, _, role = page.described
    counts: dict[str, float] = {"requests": 1, "answers": 1, f"status:{page.status}": 1, "seconds": 0.1}
    if page.trap:
        counts[f"trap:{page.trap}"] = 1
    if page.status >= 300 or page.trap == "soft_404":
        return counts
    counts |= {"pages": 1, "relevant": int(bool(page.is_relevant)), "bytes": len(page.body), "type:text/html": 1}
    counts |= {f"application:{application or 'unknown'}": 1, f"level:{role or 'none'}": 1}
    counts[became] = 1
    for each in () if became == "unchanged" else page.objects:
        counts["objects"] = counts.get("objects", 0) + 1
        counts[f"object:{each.type}"] = counts.get(f"object:{each.type}", 0) + 1
    counts |= {f"refused:{reason}": len(places) for reason, places in page.refused.items()}
    return counts


def _put_aside(folder: Path, former: int) -> None:
    """Move the summary of a former crawl to where the next crawl keeps it."""
    if former and (folder / SUMMARY).exists():
        target = folder / FORMER / str(former)
        target.mkdir(parents=True)
        for name in (SUMMARY, LOG, DEFINITION):
            (folder / name).replace(target / name)


def _written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


if __name__ == "__main__":
    main()
