"""A schedule as cockpit and service show it: what is due next and why then, what ran day by day, and what changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from aahcrawler.schedule.child_crawls import CrawlFolders
from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.schedule_plan import Plan, expected_seconds, planned
from aahcrawler.schedule.schedule_run import Place
from aahcrawler.schedule.schedule_tables import Upcoming, VisitRow, upcoming, visit_row
from aahcrawler.schedule.visit_log import ALL, LogError, Visit, VisitLog, Wish
from aahcrawler.service.web.problems import DAMAGED, NO_ENTRY, ProblemError, Shown
from online_analysis.icd import IcdError

DAYS: Final = 7
"""Days before today, and after it, that the calendar has."""
ROWS: Final = 25
MOST: Final = 200
"""Crawls, or visits, that one answer of the service has at most."""
_VISITS: Final = 10_000
"""Visits at most that are looked at of those that ended, and that are planned."""


@dataclass(slots=True)
class Day:
    """A day of the calendar, in UTC: visits that ended, by outcome, pages that were found new, changed or gone.

    ``to_come`` are the visits that are planned, ``too_long`` those of them that do not fit before they are due again.
    """

    date: date
    outcomes: Counter[str] = field(default_factory=Counter)
    changes: int = 0
    to_come: int = 0
    too_long: int = 0


@dataclass(frozen=True, slots=True)
class ShownSchedule:
    """A part of a schedule: crawls from one on, the calendar, the newest visits, and how busy it is."""

    rows: Sequence[Upcoming]
    total: int
    days: Sequence[Day]
    visits: Sequence[VisitRow]
    plan: Plan
    is_paused: bool


class FoundShown(Shown):
    """What the crawl of a visit found: its number, pages, how many of them changed for readers, and the cost."""

    crawl: int
    pages: int
    new: int
    changed: int
    unchanged: int
    gone: int
    bytes: int
    seconds: float


class VisitShown(Shown):
    """A visit of a scheduled crawl; ``due_at`` is None where somebody asked for it, ``failures`` are of attempts."""

    number: int
    name: str
    due_at: datetime | None
    moments: int
    begun_at: datetime
    ended_at: datetime | None
    outcome: str
    failures: int
    found: FoundShown
    said: str


class EntryShown(Shown):
    """A scheduled crawl: when its next visit is due and ``why``, and its newest visit.

    ``state`` is `under way`, `wanted now`, `paused`, `due`, `waits` or `has mistakes`; ``fault`` is the mistake because
    of which no visit begins, and ``due_at`` is None where it makes that unknown. One visit stands for all ``moments``
    that have passed. ``seconds`` is how long a visit takes, None where nobody knows.
    """

    name: str
    definition: str
    rhythm: str
    state: str
    due_at: datetime | None
    moments: int
    why: str
    seconds: float | None
    begun_at: datetime | None
    outcome: str | None
    found: FoundShown | None
    fault: str


class SchedulePage(Shown):
    """Some crawls of a schedule, and how it stands; ``next`` is what ``after`` the following page begins.

    ``parallel`` crawls run at once; ``is_looked_after`` says whether `aah schedule run` is at work.
    """

    crawls: tuple[EntryShown, ...]
    total: int
    parallel: int
    is_paused: bool
    is_looked_after: bool
    next: int | None = None


class VisitsPage(Shown):
    """Visits, the newest first."""

    visits: tuple[VisitShown, ...]


class Wished(Shown):
    """What was asked for. ``name`` is empty for all crawls; ``is_looked_after`` says whether anybody does it now."""

    name: str
    act: Wish
    is_looked_after: bool


@dataclass(frozen=True, slots=True)
class ScheduleDesk:
    """The schedule in a file, which another process looks after. It may be used by several threads at once."""

    file: Path
    folders: CrawlFolders = field(init=False)

    def __post_init__(self) -> None:
        """Find definitions beside the file."""
        object.__setattr__(self, "folders", CrawlFolders(self.file.absolute().parent))

    def shown(self, text: str = "", after: int = 0, now: datetime | None = None) -> ShownSchedule:
        """Return the crawls whose names hold a text, from one on. Raise ``ProblemError``."""
        at = now or datetime.now(UTC)
        schedule, faults = self._sound()
        with self._log() as log:
            rows = _named(upcoming(schedule, log, at, faults), text)
            seconds = {name: expected_seconds(log, name) for name in schedule.crawls}
            plan = planned(schedule, log, seconds, at, at + timedelta(days=DAYS), most=_VISITS)
            named = [each for each in log.visits(ALL, _VISITS) if text.lower() in each.entry.lower()]
            newest = [visit_row(log, each) for each in named[:ROWS]]
            is_paused = ALL in log.paused()
        days = _days(at.date(), named, plan, text)
        return ShownSchedule(rows[after : after + ROWS], len(rows), days, newest, plan, is_paused)

    def page(self, text: str = "", after: int = 0, most: int = 50) -> SchedulePage:
        """Return some crawls whose names hold a text, the next due first. Raise ``ProblemError``."""
        schedule, faults = self._sound()
        with self._log() as log:
            rows = _named(upcoming(schedule, log, datetime.now(UTC), faults), text)
            crawls = tuple(self._entry(schedule, log, each) for each in rows[after : after + most])
            is_paused = ALL in log.paused()
        return SchedulePage(
            crawls=crawls,
            total=len(rows),
            parallel=schedule.parallel,
            is_paused=is_paused,
            is_looked_after=Place(self.file).is_looked_after,
            next=after + most if after + most < len(rows) else None,
        )

    def entry(self, name: str) -> EntryShown:
        """Return a crawl. Raise ``ProblemError`` where the schedule has none of this name."""
        schedule, faults = self._sound()
        with self._log() as log:
            for each in upcoming(schedule, log, datetime.now(UTC), faults):
                if each.name == name:
                    return self._entry(schedule, log, each)
        raise _no_entry(name)

    def visits(self, name: str = ALL, most: int = 50) -> VisitsPage:
        """Return the newest visits, of one crawl or of all. Raise ``ProblemError`` for a crawl that nobody knows."""
        with self._log() as log:
            if name not in (ALL, *log.known_since()) and name not in self._sound()[0].crawls:
                raise _no_entry(name)
            rows = [visit_row(log, each) for each in log.visits(name, most)]
        return VisitsPage(visits=tuple(VisitShown.model_validate(asdict(each)) for each in rows))

    def wish(self, kind: Wish, name: str) -> Wished:
        """Have a crawl visited now, paused or resumed; without a name all are. Raise ``ProblemError``."""
        if (name or kind is Wish.NOW) and name not in self._sound()[0].crawls:
            raise _no_entry(name)
        with self._log() as log:
            log.wish(kind, name, datetime.now(UTC))
        return Wished(name=name, act=kind, is_looked_after=Place(self.file).is_looked_after)

    def _entry(self, schedule: Schedule, log: VisitLog, row: Upcoming) -> EntryShown:
        entry = schedule.crawls.get(row.name)
        fault = row.fault
        if entry is not None and not fault:
            fault = self.folders.faults({row.name: entry}).get(row.name, "")
        seconds = expected_seconds(log, row.name) if entry is not None else None
        told = {**asdict(row), "fault": fault, "why": row.why if fault == row.fault else f"no visit begins: {fault}"}
        return EntryShown.model_validate({**told, "definition": entry.definition if entry else "", "seconds": seconds})

    def _sound(self) -> tuple[Schedule, Mapping[str, str]]:
        try:
            return Schedule.sound(self.file)
        except (IcdError, OSError) as error:
            raise ProblemError(DAMAGED, f"the schedule has mistakes: {error}") from error

    @contextmanager
    def _log(self) -> Iterator[VisitLog]:
        try:
            with VisitLog.opened(self.file.with_suffix(".sqlite")) as log:
                yield log
        except LogError as error:
            raise ProblemError(DAMAGED, str(error)) from error


def _named(rows: Iterable[Upcoming], text: str) -> list[Upcoming]:
    return [each for each in rows if text.lower() in each.name.lower()]


def _no_entry(name: str) -> ProblemError:
    return ProblemError(NO_ENTRY, f"the schedule has no crawl {name or 'without a name'}")


def _days(today: date, visits: Iterable[Visit], plan: Plan, text: str) -> list[Day]:
    days = {day: Day(day) for day in (today + timedelta(days=n) for n in range(-DAYS, DAYS + 1))}
    for each in visits:
        day = days.get((each.ended_at or each.begun_at).date())
        if day is not None and each.outcome is not None:
            day.outcomes[each.outcome] += 1
            day.changes += each.found.changed + each.found.gone + (each.found.new if each.found.crawl > 1 else 0)
    for coming in plan.visits:
        day = days.get(coming.begins_at.date())
        if day is not None and text.lower() in coming.name.lower():
            day.to_come += 1
            day.too_long += not coming.fits
    return list(days.values())
