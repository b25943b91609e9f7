"""``aah schedule run``: the process that runs a schedule until it is told to end."""

import errno
import logging
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from aahcrawler.schedule.child_crawls import AAH, CrawlFolders, CrawlProcesses, is_locked
from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.schedule_plan import Beside
from aahcrawler.schedule.telling import Teller
from aahcrawler.schedule.unit_sharing import Heard, Sharing, UnitWatch
from aahcrawler.schedule.units_file import Units
from aahcrawler.schedule.visit_log import NoRoomError, Notice, Visit, VisitLog
from aahcrawler.schedule.visit_scheduler import Clock, Scheduler
from aahcrawler.tallies import plural
from online_analysis.icd import IcdError

logger = logging.getLogger(__name__)
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
LOOK_EVERY: Final = 5.0
"""Seconds between two looks at the file, at wishes, and at crawls that others started."""


class ScheduleBusyError(Exception):
    """Another process runs the schedule; the message says so."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        """See ``Clock``."""
        return datetime.now(UTC)

    def seconds_until(self, moment: datetime) -> float:
        """See ``Clock``."""
        return (moment - self.now()).total_seconds()


@dataclass(frozen=True, slots=True)
class Place:
    """The paths of a schedule: its file, and the files beside it."""

    file: Path

    @property
    def folder(self) -> Path:
        """The folder in which crawls are run."""
        return self.file.absolute().parent

    @property
    def log(self) -> Path:
        """The log of visits."""
        return self.file.with_suffix(".sqlite")

    @property
    def said(self) -> Path:
        """The folder with the latest output of each crawl."""
        return self.file.with_name(f"{self.file.stem}-logs")

    @property
    def lock(self) -> Path:
        """The file that the process running the schedule keeps locked."""
        return self.file.with_name(f".{self.file.name}.lock")

    @property
    def units(self) -> Path:
        """The list of units that share the schedule; without it, this installation visits everything."""
        return self.file.with_name(f"{self.file.stem}-units.yaml")

    @property
    def heard(self) -> Path:
        """The file with the latest reports of other units."""
        return self.units.with_suffix(".json")

    def listed_units(self) -> Units | None:
        """Read the list of units, None if there is no such file. Raise ``IcdError``."""
        return Units.load(self.units) if self.units.exists() else None

    def sharing(self, folders: CrawlFolders) -> Sharing | None:
        """Return this unit's share of the schedule, None if there are no other units. Raise ``IcdError``."""
        return self.shared(folders) if self.units.exists() else None

    def shared(self, folders: CrawlFolders) -> Sharing:
        """Return this unit's share of the schedule. Raise ``IcdError``, also if there are no other units."""
        return Sharing(Units.load(self.units), folders, Heard.load(self.heard))

    @staticmethod
    def beside(sharing: Sharing | None, log: VisitLog, schedule: Schedule | None) -> Beside:
        """Return the function that finds which other unit made a visit as well."""
        crawls = schedule.crawls if schedule is not None else {}

        def told(visit: Visit) -> str:
            entry = crawls.get(visit.entry)
            return "" if sharing is None or entry is None else sharing.beside(log, visit, entry)

        return told

    @property
    def is_looked_after(self) -> bool:
        """Whether a process runs the schedule."""
        return is_locked(self.lock)


@dataclass(slots=True)
class ScheduleRun:
    """Runs a schedule.

    ``look_every`` is the longest wait between two looks, in seconds of the machine's clock. With ``is_once``, the run
    ends when everything that is due by then has been visited. ``parallel`` overrides the file's number of crawls at
    once.
    """

    place: Place
    clock: Clock = field(default_factory=SystemClock)
    program: Sequence[str] = AAH
    look_every: float = LOOK_EVERY
    is_once: bool = False
    parallel: int | None = None
    _woken: threading.Event = field(default_factory=threading.Event)
    _stamps: Sequence[tuple[int, int] | None] = ()
    _waits_for_room: bool = False

    def run(self) -> Sequence[str]:
        """Run the schedule until SIGINT or SIGTERM; crawls then end in good order and are continued by the next run.

        While the disk is full, the run waits for room; with ``is_once`` it ends. Return the crawls that could not be
        visited because of mistakes in their definitions. Raise ``ScheduleBusyError``, ``IcdError`` for mistakes in the
        schedule's file, ``LogError`` and ``OSError``.
        """
        self._stamps = self._stamped()
        schedule = self._schedule()
        folders = CrawlFolders(self.place.folder)
        watch = UnitWatch(self.place.heard, folders, self._woken.set)
        watch.follow(self.place.listed_units())
        teller = Teller(schedule.tell, sent=self._woken.set)
        with self._alone(), _asked_by_signals(self._woken) as asked:
            watch.ask(self.clock.now())
            watch.wait()
            with teller.working():
                mistaken = self._look_on_with_room(schedule, folders, teller, watch, asked)
            with VisitLog.opened(self.place.log) as log:
                teller.note(log)
        return mistaken

    def _look_on_with_room(
        self, schedule: Schedule, folders: CrawlFolders, teller: Teller, watch: UnitWatch, asked: Sequence[int]
    ) -> Sequence[str]:
        """Run the schedule; once the disk is full, wait for room, and go on by the log as after a kill."""
        crawls = CrawlProcesses(self.place.folder, self.place.said.absolute(), self.program)
        is_resumed = False
        while True:
            scheduler: Scheduler | None = None
            try:
                with VisitLog.opened(self.place.log) as log:
                    if not is_resumed:
                        teller.resume(log)
                        is_resumed = True
                    if self._waits_for_room:
                        log.try_to_write()
                    tell = partial(_told, teller, log)
                    scheduler = Scheduler(
                        schedule, folders, log, crawls, self.clock, tell, self._woken.set, watch.rhythm
                    )
                    self._waits_for_room = False
                    logger.info("%s: %s", self.place.file, plural(len(schedule.crawls), "crawl"))
                    self._look_on(scheduler, teller, watch, asked)
                    return scheduler.mistaken
            except (NoRoomError, OSError) as error:
                if isinstance(error, OSError) and error.errno not in _NO_ROOM:
                    raise
                if self.is_once or (asked and (scheduler is None or scheduler.is_ending)):
                    raise NoRoomError(f"{error}; crawls that run go on, and the next run takes them up") from error
                schedule = schedule if scheduler is None else scheduler.schedule
                self._wait_for_room(error, teller)

    def _wait_for_room(self, error: Exception, teller: Teller) -> None:
        """Wait until the next try; notify people once as long as there is no room."""
        if not self._waits_for_room:
            self._waits_for_room = True
            text = f"the schedule waits until there is room: {error}"
            logger.warning("%s", text)
            teller(Notice(self.clock.now(), self.place.log.name, "attention", text))
        self._woken.clear()
        self._woken.wait(self.look_every)

    def _schedule(self) -> Schedule:
        schedule = Schedule.load(self.place.file)
        return schedule if self.parallel is None else schedule.model_copy(update={"parallel": self.parallel})

    def _look_on(self, scheduler: Scheduler, teller: Teller, watch: UnitWatch, asked: Sequence[int]) -> None:
        seen = 0
        while True:
            self._woken.clear()
            self._hear_units(scheduler, teller, watch)
            if len(asked) > seen:
                seen = len(asked)
                scheduler.end()
            next_at = scheduler.look()
            teller.note(scheduler.log)
            if not scheduler.running and (asked or (self.is_once and self._is_later(next_at))):
                return
            wait = self.look_every
            if next_at is not None:
                wait = min(wait, max(0.0, self.clock.seconds_until(next_at)))
            self._woken.wait(wait)
            if not asked:
                self._follow_files(scheduler, teller, watch)

    def _is_later(self, moment: datetime | None) -> bool:
        return moment is None or self.clock.seconds_until(moment) > 0

    def _stamped(self) -> Sequence[tuple[int, int] | None]:
        """Return the time and size of the schedule's file and of the list of units, None for a missing one.

        Changes are noticed by them.
        """
        return [_stamp(each) for each in (self.place.file, self.place.units)]

    def _hear_units(self, scheduler: Scheduler, teller: Teller, watch: UnitWatch) -> None:
        """Request reports of other units when that is due, and act on those that have arrived."""
        now = self.clock.now()
        watch.ask(now)
        news = watch.take(scheduler.schedule.crawls, scheduler.log, scheduler.paused)
        if news is None:
            return
        scheduler.follow(scheduler.schedule)
        for text in news:
            logger.warning("%s", text)
            _told(teller, scheduler.log, Notice(now, self.place.units.name, "attention", text))

    def _follow_files(self, scheduler: Scheduler, teller: Teller, watch: UnitWatch) -> None:
        """Load changed files. If one has mistakes, keep its former content and notify people once."""
        stamps = self._stamped()
        if stamps == self._stamps or stamps[0] is None:
            return
        self._stamps = stamps
        try:
            schedule, units = self._schedule(), self.place.listed_units()
        except IcdError as error:
            logger.warning("the schedule goes on as it was, as its file has mistakes: %s", error)
            text = f"the schedule goes on as it was, as its file has mistakes:\n{error}"
            _told(teller, scheduler.log, Notice(self.clock.now(), self.place.file.name, "attention", text))
            return
        watch.follow(units)
        scheduler.follow(schedule)
        teller.follow(schedule.tell)
        logger.info("%s: was changed, %s", self.place.file, plural(len(schedule.crawls), "crawl"))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        lock = FileLock(self.place.lock, timeout=0)
        try:
            with lock:
                yield
        except Timeout:
            raise ScheduleBusyError(
                f"{self.place.file}: another process looks after this schedule; it follows the file's changes by itself"
            ) from None


def _told(teller: Teller, log: VisitLog, notice: Notice) -> None:
    """Notify people; record in the log what they are notified of."""
    teller(notice)
    teller.note(log)


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


@contextmanager
def _asked_by_signals(woken: threading.Event) -> Iterator[Sequence[int]]:
    """Collect the signals that ask the process to end, while the context lasts."""
    asked: list[int] = []

    def take(number: int, _: object) -> None:
        asked.append(number)
        woken.set()

    before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
