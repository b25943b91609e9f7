"""What a crawl is doing: state, counts, rates, limits, workers and disk, for a page that is looked at all the time."""

import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.frontier.protocol import Counts, State
from aahcrawler.frontier.registry import Worker
from aahcrawler.layout import SUMMARY
from aahcrawler.report.report_sections import Seed
from aahcrawler.revisits.time_left import TimeLeft
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.web.problems import ProblemError, Shown
from aahcrawler.tallies import CrawlCounts, counts_in_summary

_KEPT = 64


class Summary(BaseModel):
    """The parts of ``crawl.json`` that are shown; what is missing there is empty."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str = ""
    crawl: int = 0
    state: str = ""
    reason: str = ""
    begun_at: str = ""
    started_at: str = ""
    updated_at: str = ""
    seeds: tuple[Seed, ...] = ()
    frontier: Mapping[str, int] = {}
    time_left: TimeLeft = TimeLeft()

    def tallies(self) -> Mapping[str, float]:
        """Return its counts by the names that they have with the frontier: ``pages``, ``refused:login``."""
        return counts_in_summary({"state": self.state, **(self.model_extra or {})})


def read_summary(folder: Path | None) -> Summary | None:
    """Return what the crawl of a folder said last; None where it said nothing yet, or nothing that can be read."""
    if folder is None:
        return None
    try:
        stat = (folder / SUMMARY).stat()
    except OSError:
        return None
    return _read(folder / SUMMARY, stat.st_mtime_ns, stat.st_size)


@lru_cache(_KEPT)
def _read(path: Path, _changed: int, _size: int) -> Summary | None:
    try:
        return Summary.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


WINDOWS = (10.0, 60.0)
"""Seconds over which rates are taken."""
_RATED = ("pages", "relevant", "objects", "requests", "bytes")
_MIN_SECONDS = 0.5
"""Two looks that follow one another faster count as one."""

_SILENCE = 30.0
"""Seconds after which a crawl that should say again that it runs does not."""

CrawlState = Literal["running", "paused", "stopped", "finished", "waiting", "unknown"]


class RateView(Shown):
    """What came in each second over about the last ``seconds``: less where nobody has looked for so long."""

    seconds: float
    pages: float
    relevant: float
    objects: float
    requests: float
    bytes: float


class TimeLeftView(Shown):
    """The ``seconds`` that a crawl still takes, as it told some seconds ago, and their ``source`` in words.

    They are the least of ``limit``, when the first limit is reached at the present rate, and of ``known``, until what
    former crawls visited is fetched, or else ``waiting``, until the pages that wait by now are; null: nobody can tell.
    """

    seconds: float
    source: str
    waiting: float | None
    known: float | None
    limit: float | None


class LimitView(Shown):
    """A limit of the definition, how much of it is used, and the share of it, from 0 to 1 or a little more."""

    name: str
    bound: float
    used: float
    share: float


class WorkerView(Shown):
    """A process that fetches: where it is, for how many seconds it has been there, what it fetches or waits for."""

    name: str
    host: str
    pid: int
    up_seconds: float
    numbers: Mapping[str, float]
    sites: tuple[str, ...] = ()
    next_site: str = ""
    next_at: str = ""
    pause: str = ""


class DiskView(Shown):
    """The bytes of the file system that the crawl's folder is on."""

    free: int
    total: int


class CrawlStatus(Shown):
    """The state of a crawl.

    ``state``: ``running``; ``paused``, by itself or by an operator, for a ``reason``; ``stopped``, to go on when it is
    started; ``finished``; ``waiting``, created and never started, or submitted to
    workers none of which serves it; ``unknown``, where nothing tells.
    ``since`` is when it was last started or said what it says, ISO 8601. ``is_live``: the counts are those of this
    moment; else they are those that the crawl said last. ``objects`` is None where web objects are not yet counted,
    as they are at the end; until then ``objects_on_pages`` counts each for all pages that show it. ``harvest_ratio``
    is the share of relevant pages, None without pages, and where the crawl has no subject. Rates are empty where it
    does not run, or was not looked at before. ``time_left`` is null where it does not run, and where nothing can be
    said. ``is_import`` says that no crawl runs there: it holds imported archives.
    """

    id: str
    title: str
    crawl: int
    state: CrawlState
    reason: str
    is_live: bool
    paused_by_operator: bool = False
    begun_at: str = ""
    since: str = ""
    seconds: float = 0.0
    time_left: TimeLeftView | None = None
    pages: Mapping[State, int] = {}
    requisites: Mapping[State, int] = {}
    queues: int = 0
    fetched: int = 0
    relevant: int = 0
    objects: int | None = None
    objects_on_pages: int = 0
    bytes: int = 0
    requests: int = 0
    failures: int = 0
    refusals: int = 0
    harvest_ratio: float | None = None
    rates: tuple[RateView, ...] = ()
    limits: tuple[LimitView, ...] = ()
    workers: tuple[WorkerView, ...] = ()
    disk: DiskView | None = None
    is_import: bool = False


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """What is counted of a crawl at a moment, and whether that is the moment itself."""

    counts: Counts
    tallies: Mapping[str, float]
    is_live: bool
    is_paused: bool = False


@dataclass(slots=True)
class _Meter:
    """What was counted over the last minute, for the rates."""

    points: deque[tuple[float, Mapping[str, float]]] = field(default_factory=deque)

    def rates(self, now: float, tallies: Mapping[str, float]) -> Iterator[RateView]:
        """Note what is counted by now; yield the rates as far as there is something to compare with."""
        if self.points and tallies.get("requests", 0) < self.points[-1][1]["requests"]:
            self.points.clear()  # Another crawl.
        if not self.points or now - self.points[-1][0] >= _MIN_SECONDS:
            self.points.append((now, {name: tallies.get(name, 0.0) for name in _RATED}))
        while now - self.points[0][0] > WINDOWS[-1] + 1:
            self.points.popleft()
        latest, counted = self.points[-1]
        for window in WINDOWS:
            then, before = next(point for point in self.points if latest - point[0] <= window + _MIN_SECONDS)
            if latest > then:
                each = {name: round((counted[name] - before[name]) / (latest - then), 3) for name in _RATED}
                yield RateView(seconds=round(latest - then, 1), **each)


class CrawlStates:
    """Tells the state of crawls, and remembers the last minute of those that are asked for. For several threads."""

    def __init__(self, reach: CrawlRegistry, clock: Callable[[], float] = time.monotonic) -> None:
        self._reach, self._clock = reach, clock
        self._meters: dict[tuple[str, int], _Meter] = {}
        self._lock = threading.Lock()

    def status(self, crawl: Crawl) -> CrawlStatus:
        """Return the state of a crawl. One at rest is shown by what it said last: nothing is started for it."""
        return self.status_and_tallies(crawl)[0]

    def status_and_tallies(self, crawl: Crawl) -> tuple[CrawlStatus, Mapping[str, float]]:
        """Return the state of a crawl, and all that it counts, by name."""
        summary = read_summary(crawl.folder)
        look = self.look(crawl, summary)
        now = time.time()
        workers = [_worker(worker, crawl.id, now) for worker in self._reach.gateway.workers(crawl)]
        is_shared = self._reach.gateway.is_shared
        is_running = crawl.own_server() is not None or bool(workers) or (is_shared and _has_just_spoken(summary))
        state, reason = _state(crawl, summary, is_running=is_running, is_paused=look.is_paused)
        tallies = look.tallies
        told = CrawlCounts.of(tallies)
        status = CrawlStatus(
            id=crawl.id,
            title=crawl.icd.title,
            crawl=crawl.number,
            state=state,
            reason=reason,
            is_live=look.is_live,
            paused_by_operator=look.is_paused,
            begun_at=_begun(summary, tallies),
            since=(summary.started_at if state == "running" else summary.updated_at) if summary else "",
            seconds=round(tallies.get("seconds", 0.0), 1),
            time_left=_time_left(summary, tallies) if state in ("running", "paused") else None,
            pages=look.counts.pages,
            requisites=look.counts.requisites,
            queues=look.counts.queues,
            fetched=told.pages,
            relevant=told.relevant,
            objects=told.objects,
            objects_on_pages=told.objects_on_pages,
            bytes=int(tallies.get("bytes", 0)),
            requests=told.requests,
            failures=sum(told.failures.values()),
            refusals=sum(told.refusals.values()),
            harvest_ratio=(
                round(told.relevant / told.pages, 4) if told.pages and crawl.icd.relevant_at is not None else None
            ),
            rates=self._rates(crawl, tallies) if look.is_live and state in ("running", "paused") else (),
            limits=tuple(limits_of(crawl, tallies)),
            workers=tuple(workers),
            disk=_disk(crawl.folder),
            is_import=crawl.is_import,
        )
        return status, tallies

    def look(self, crawl: Crawl, summary: Summary | None = None) -> StateSnapshot:
        """Count now, or return what the crawl said last where its frontier does not run or does not answer."""
        if self._reach.gateway.is_shared or crawl.own_server() is not None:
            try:
                with self._reach.frontier(crawl) as frontier:
                    return StateSnapshot(
                        frontier.counts(), frontier.stats(), is_live=True, is_paused=frontier.is_paused()
                    )
            except ProblemError:
                pass  # What was said last is shown, and that it is not live.
        said = summary or read_summary(crawl.folder) or Summary()
        counts = {kind: {state: said.frontier.get(f"{kind}_{state}", 0) for state in State} for kind in _KINDS}
        return StateSnapshot(
            Counts(counts["pages"], counts["requisites"], said.frontier.get("queues", 0)), said.tallies(), False
        )

    def _rates(self, crawl: Crawl, tallies: Mapping[str, float]) -> tuple[RateView, ...]:
        with self._lock:
            meter = self._meters.setdefault((crawl.id, crawl.number), _Meter())
            return tuple(meter.rates(self._clock(), tallies))


_KINDS = ("pages", "requisites")


def _state(crawl: Crawl, summary: Summary | None, *, is_running: bool, is_paused: bool) -> tuple[CrawlState, str]:
    """Return the state of a crawl and why it is in it; ``is_paused`` by an operator."""
    ending = crawl.ending()
    said = summary.reason if summary is not None else ""
    if not is_running and ending:
        return ("finished" if summary is None or summary.state == "finished" else "stopped"), ending
    if is_running and is_paused:
        return "paused", "paused by an operator"
    if is_running:
        waits = summary is not None and summary.state == "paused"
        return ("paused" if waits else "running"), (said if waits else "")
    if crawl.registered is not None:
        return "waiting", "it was submitted, and no worker serves it"
    if not crawl.has_begun:
        return "waiting", "it was created, and has not been started yet"
    if summary is None:
        return "unknown", "it has begun, and said nothing yet"
    if summary.state in ("running", "paused"):
        return (
            "stopped",
            "its process ended without a word, and what it did last is not yet counted; start it again, and it goes on",
        )
    return ("finished" if summary.state == "finished" else "stopped"), said


def _time_left(summary: Summary | None, tallies: Mapping[str, float]) -> TimeLeftView | None:
    """Return what a crawl said last of the time that it still takes, less what has passed since."""
    if summary is None:
        return None
    left = summary.time_left.after(tallies.get("seconds", 0.0) - summary.tallies().get("seconds", 0.0))
    if left.seconds is None:
        return None
    told = {name: None if seconds is None else round(seconds, 1) for name, seconds in left}
    return TimeLeftView(seconds=left.seconds, source=left.source, **told)


def _has_just_spoken(summary: Summary | None) -> bool:
    """Say whether a crawl wrote a moment ago that it runs, as one does whose frontier is on a shared server."""
    if summary is None or summary.state not in ("running", "paused"):
        return False
    try:
        said = datetime.fromisoformat(summary.updated_at)
        return abs((datetime.now(UTC) - said).total_seconds()) < _SILENCE
    except (ValueError, TypeError):
        return False


def limits_of(crawl: Crawl, tallies: Mapping[str, float]) -> Iterator[LimitView]:
    """Yield the limits that a definition sets to the whole crawl, with what is used of them; none for an import."""
    if crawl.is_import:
        return
    limits = crawl.icd.limits
    bounds = {
        "pages": (float(limits.pages), tallies.get("pages", 0.0)),
        "bytes": (float(limits.bytes), tallies.get("bytes", 0.0)),
        "time": (limits.time.total_seconds(), tallies.get("seconds", 0.0)),
        "requisite_bytes": (float(limits.requisite_bytes), tallies.get("requisite_bytes", 0.0)),
    }
    for name, (bound, used) in bounds.items():
        if bound:
            yield LimitView(name=f"limits.{name}", bound=bound, used=used, share=round(used / bound, 4))


def _worker(worker: Worker, crawl: str, now: float) -> WorkerView:
    doing = worker.doing.get(crawl)
    at = doing.next_at if doing is not None else None
    return WorkerView(
        name=worker.name,
        host=worker.host,
        pid=worker.pid,
        up_seconds=round(max(0.0, now - worker.started_at), 1),
        numbers=dict(worker.crawls[crawl]),
        sites=tuple(doing.sites) if doing is not None else (),
        next_site=doing.next_site if doing is not None else "",
        next_at=datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at is not None else "",
        pause=doing.pause if doing is not None else "",
    )


def _begun(summary: Summary | None, tallies: Mapping[str, float]) -> str:
    if summary is not None and summary.begun_at:
        return summary.begun_at
    begun = tallies.get("begun")
    return datetime.fromtimestamp(begun, UTC).isoformat(timespec="seconds") if begun else ""


def _disk(folder: Path | None) -> DiskView | None:
    try:
        usage = shutil.disk_usage(folder) if folder is not None else None
    except OSError:
        return None
    return DiskView(free=usage.free, total=usage.total) if usage is not None else None
