"""Work that takes longer than a request: run in the background, with progress, and cancelled when nobody wants it."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from pydantic import BaseModel, SerializeAsAny

from aahcrawler.service.web.problems import BUSY, NO_JOB, ProblemError, Shown

THREADS: Final = 2
MAX_JOBS: Final = 50
KEPT_SECONDS: Final = 600.0
"""Seconds after its end for which the result of a job is kept."""
_logger = logging.getLogger(__name__)


class CancelledError(Exception):
    """Raised inside a job that was cancelled."""


class JobState(StrEnum):
    """The states of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


UNDER_WAY: Final = frozenset({JobState.WAITING, JobState.RUNNING})


class JobView(Shown):
    """A job, with the number of URLs processed, and their estimated total (None if unknown).

    ``result`` is set once it is done; ``detail`` says why it failed.
    """

    id: str
    kind: str
    crawl: str
    by: str
    begun_at: datetime
    state: JobState
    done: int
    total: int | None
    detail: str = ""
    result: SerializeAsAny[BaseModel] | None = None


class Progress:
    """The progress of a job, by which the job also learns that it was cancelled."""

    def __init__(self) -> None:
        self.done = 0
        self.total: int | None = None
        self._cancelled = threading.Event()
        self._ends: Callable[[], None] | None = None

    def advance(self, number: int = 1) -> None:
        """Count processed URLs. Raise ``CancelledError`` if the job was cancelled."""
        self.done += number
        if self._cancelled.is_set():
            raise CancelledError

    def cancel(self) -> None:
        """Cancel the job at its next ``advance``, and end what it waits for."""
        self._cancelled.set()
        ends = self._ends
        if ends is not None:
            ends()

    def waits_for(self, ends: Callable[[], None]) -> None:
        """Register a function that ends what the job waits for, called if the job is cancelled.

        Raise ``CancelledError`` if it was cancelled already.
        """
        self._ends = ends
        if self._cancelled.is_set():
            ends()
            raise CancelledError

    @property
    def is_cancelled(self) -> bool:
        """Whether it is given up."""
        return self._cancelled.is_set()


Work = Callable[[Progress], BaseModel]


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of work, on a crawl, on behalf of a caller."""

    kind: str
    crawl: str
    by: str


@dataclass(slots=True)
class _Job:
    id: str
    task: Task
    future: Future[BaseModel]
    progress: Progress
    begun_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended_at: float | None = None


class Jobs:
    """Runs two jobs at a time; up to 50 jobs are waiting, running or kept, and the oldest results make room.

    Thread-safe.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="job")
        self._jobs: dict[str, _Job] = {}
        self._lock = threading.Lock()
        self._clock = clock

    def begin(self, task: Task, work: Work) -> JobView:
        """Start or queue a job. Raise ``ProblemError`` if too many are waiting or running."""
        progress = Progress()
        with self._lock:
            self._forget_old()
            self._make_room()
            if len(self._jobs) >= MAX_JOBS:
                raise ProblemError(
                    BUSY, f"{MAX_JOBS} jobs are under way; cancel some, or wait", headers={"Retry-After": "10"}
                )
            job = _Job(secrets.token_urlsafe(9), task, self._threads.submit(_done, work, progress), progress)
            self._jobs[job.id] = job
        job.future.add_done_callback(lambda _: self._ended(job))
        return _shown(job)

    def job(self, crawl: str, name: str) -> JobView:
        """Return a job of a crawl. Raise ``ProblemError`` where there is none."""
        return _shown(self._found(crawl, name))

    def under_way(self, crawl: str, kind: str) -> JobView | None:
        """Return the oldest waiting or running job of a kind for a crawl; None if there is none."""
        with self._lock:
            jobs = [each for each in self._jobs.values() if (each.task.crawl, each.task.kind) == (crawl, kind)]
        return next((shown for shown in map(_shown, jobs) if shown.state in UNDER_WAY), None)

    def cancel(self, crawl: str, name: str) -> JobView:
        """Cancel a job, or delete its result. Raise ``ProblemError`` if there is none."""
        job = self._found(crawl, name)
        job.progress.cancel()
        job.future.cancel()
        with self._lock:
            if job.future.done():
                self._jobs.pop(name, None)
        return _shown(job)

    def wait(self, crawl: str, name: str, seconds: float) -> JobView:
        """Return a job once it has ended, or when so many seconds have passed."""
        job = self._found(crawl, name)
        ended = threading.Event()
        job.future.add_done_callback(lambda _: ended.set())
        ended.wait(seconds)
        return _shown(job)

    def close(self) -> None:
        """Cancel all jobs, and wait until they have ended."""
        with self._lock:
            for job in self._jobs.values():
                job.progress.cancel()
        self._threads.shutdown(cancel_futures=True)

    def _found(self, crawl: str, name: str) -> _Job:
        with self._lock:
            self._forget_old()
            job = self._jobs.get(name)
        if job is None or job.task.crawl != crawl:
            raise ProblemError(NO_JOB, f"no such job; results are kept for {KEPT_SECONDS / 60:g} minutes")
        return job

    def _ended(self, job: _Job) -> None:
        job.ended_at = self._clock()

    def _forget_old(self) -> None:
        now = self._clock()
        for job in list(self._jobs.values()):
            if job.ended_at is not None and now - job.ended_at > KEPT_SECONDS:
                del self._jobs[job.id]

    def _make_room(self) -> None:
        ended = [(job.ended_at, job.id) for job in self._jobs.values() if job.ended_at is not None]
        for _, name in sorted(ended)[: max(0, len(self._jobs) + 1 - MAX_JOBS)]:
            del self._jobs[name]


def _done(work: Work, progress: Progress) -> BaseModel:
    progress.advance(0)
    return work(progress)


def _shown(job: _Job) -> JobView:
    state, detail, result = _state(job)
    done, total = job.progress.done, job.progress.total
    return JobView(
        id=job.id,
        kind=job.task.kind,
        crawl=job.task.crawl,
        by=job.task.by,
        begun_at=job.begun_at,
        state=state,
        done=done,
        total=None if total is None else max(done, total),
        detail=detail,
        result=result,
    )


def _state(job: _Job) -> tuple[JobState, str, BaseModel | None]:
    if job.future.cancelled():
        return JobState.CANCELLED, "", None
    if not job.future.done():
        is_given_up = job.progress.is_cancelled
        state = JobState.CANCELLED if is_given_up else JobState.RUNNING if job.future.running() else JobState.WAITING
        return state, "", None
    error = job.future.exception()
    if error is None:
        return JobState.DONE, "", job.future.result()
    if isinstance(error, CancelledError):
        return JobState.CANCELLED, "", None
    if isinstance(error, ProblemError):
        return JobState.FAILED, error.detail, None
    _logger.error("the job %s of %s failed", job.task.kind, job.task.crawl, exc_info=error)
    return JobState.FAILED, "a defect; the service's log says more", None
