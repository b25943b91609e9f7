"""A schedule as the cockpit shows it: what is due next and why then, what ran day by day, and what changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.schedule_plan import Plan, expected_seconds, planned
from aahcrawler.schedule.schedule_tables import Upcoming, VisitRow, upcoming, visit_row
from aahcrawler.schedule.visit_log import ALL, LogError, Visit, VisitLog, Wish
from aahcrawler.service.web.problems import BAD_SEARCH, DAMAGED, ProblemError
from online_analysis.icd import IcdError

DAYS: Final = 7
"""Days before today, and after it, that the calendar has."""
ROWS: Final = 25
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


@dataclass(frozen=True, slots=True)
class ScheduleDesk:
    """The schedule in a file, which another process looks after. It may be used by several threads at once."""

    file: Path

    def shown(self, text: str = "", after: int = 0, now: datetime | None = None) -> ShownSchedule:
        """Return the crawls whose names hold a text, from one on. Raise ``ProblemError``."""
        at, schedule = now or datetime.now(UTC), self._schedule()
        with self._log() as log:
            rows = [each for each in upcoming(schedule, log, at) if text.lower() in each.name.lower()]
            seconds = {name: expected_seconds(log, name) for name in schedule.crawls}
            plan = planned(schedule, log, seconds, at, at + timedelta(days=DAYS), most=_VISITS)
            named = [each for each in log.visits(ALL, _VISITS) if text.lower() in each.entry.lower()]
            newest = [visit_row(log, each) for each in named[:ROWS]]
            is_paused = ALL in log.paused()
        days = _days(at.date(), named, plan, text)
        return ShownSchedule(rows[after : after + ROWS], len(rows), days, newest, plan, is_paused)

    def wish(self, kind: Wish, name: str) -> None:
        """Have a crawl visited now, paused or resumed; without a name all are. Raise ``ProblemError``."""
        if (name or kind is Wish.NOW) and name not in self._schedule().crawls:
            raise ProblemError(BAD_SEARCH, f"the schedule has no crawl {name or 'without a name'}")
        with self._log() as log:
            log.wish(kind, name, datetime.now(UTC))

    def _schedule(self) -> Schedule:
        try:
            return Schedule.load(self.file)
        except IcdError as error:
            raise ProblemError(DAMAGED, f"the schedule has mistakes: {error}") from error

    @contextmanager
    def _log(self) -> Iterator[VisitLog]:
        try:
            with VisitLog.opened(self.file.with_suffix(".sqlite")) as log:
                yield log
        except LogError as error:
            raise ProblemError(DAMAGED, str(error)) from error


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
