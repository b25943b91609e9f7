"""A schedule as cockpit and service show it: what is due next and why then, what ran day by day, and what changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from aahcrawler.revisits.visit_budget import Objective
from aahcrawler.schedule.child_crawls import CrawlFolders
from aahcrawler.schedule.schedule_file import Entry, Schedule
from aahcrawler.schedule.schedule_plan import (
    FAULTY,
    Capacity,
    Plan,
    PlannedVisit,
    RhythmOf,
    Upcoming,
    VisitRow,
    expected_seconds,
    planned,
    upcoming,
    visit_row,
    visit_rows,
    whole_rhythm,
    with_budget,
)
from aahcrawler.schedule.schedule_run import Place
from aahcrawler.schedule.unit_client import HeldVersions, UnitClient, UnitError, asked_together
from aahcrawler.schedule.unit_sharing import HeardUnit, Sharing, clients_of
from aahcrawler.schedule.units_file import Units
from aahcrawler.schedule.visit_log import ALL, LogError, Noticed, Visit, VisitLog, Wish
from aahcrawler.service.web.problems import DAMAGED, NO_ENTRY, ProblemError, Shown
from online_analysis.icd import IcdError

DAYS: Final = 7
"""Days before today, and after it, that the calendar has."""
ROWS: Final = 25
TO_COME: Final = 10
"""Visits to come that the page of a crawl has."""
GONE: Final = "no longer in the schedule"
"""The state of a crawl that the log alone knows."""
MAX_ROWS: Final = 200
"""Crawls, or visits, that one response of the service has at most."""
_VISITS: Final = 10_000
"""Visits at most that are looked at of those that ended, and that are planned."""


@dataclass(slots=True)
class Day:
    """A day of the calendar, in UTC: visits that ended, by outcome, and pages that they found new, changed and gone.

    ``to_come`` are the visits that are planned, ``too_long`` those of them that
    do not fit before they are due again.
    """

    date: date
    outcomes: Counter[str] = field(default_factory=Counter)
    new: int = 0
    changed: int = 0
    gone: int = 0
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
    parts: Mapping[str, str]
    """What this unit visits of each crawl, in words; nothing where there are no others."""


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """A scheduled crawl: when it is due and why, its visits, those to come, its budget, and what people were told.

    ``seconds`` is how long a visit takes, None where nobody knows; ``budget`` is in words, empty without one.
    """

    row: Upcoming
    definition: str
    part: str
    seconds: float | None
    budget: str
    visits: Sequence[VisitRow]
    to_come: Sequence[PlannedVisit]
    notices: Sequence[Noticed]


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


class ScheduledVisitShown(Shown):
    """A visit of a scheduled crawl; ``due_at`` is None where somebody asked for it, ``failures`` are of attempts.

    ``beside`` says which other unit made it as well while it could not be heard.
    """

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
    beside: str = ""


class EntryShown(Shown):
    """A scheduled crawl: when its next visit is due and ``why``, and its newest visit.

    ``state`` is `under way`, `interrupted` (a visit has not ended, and its crawl does not run), `wanted now`, `paused`,
    `due`, `waits`, `elsewhere` (other units visit it) or `has mistakes`; ``fault`` is the mistake because of which no
    visit begins. ``due_at`` is None where it is not due here, or nobody knows. One visit stands for all ``moments``
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


class CapacityShown(Shown):
    """What could still be visited a day, by the plan of a week: see the fields of ``Capacity``.

    ``parallel`` crawls run at once and are busy for ``load`` of the time. ``usual_seconds`` is how long a visit takes;
    ``more_visits`` of that length fit into ``free_seconds``, the seconds of crawling that are left of a day.
    """

    parallel: int
    load: float
    crawls: int
    usual_seconds: float | None
    free_seconds: float
    more_visits: int | None


class UnitShown(Shown):
    """A unit: its service, its weight, and what it told last.

    ``is_silent`` says whether others visit in its place by now, ``failing_since`` since when it does not answer,
    ``unattended_since`` since when nobody runs `aah schedule run` there.
    """

    name: str
    url: str
    weight: float
    asked_at: datetime | None = None
    failing_since: datetime | None = None
    unattended_since: datetime | None = None
    is_silent: bool = False
    problem: str = ""
    capacity: CapacityShown | None = None
    crawls: int = 0


class UnitsShown(Shown):
    """The units that visit a schedule together, and which of them this one is; none where it has no list of them."""

    name: str = ""
    units: tuple[UnitShown, ...] = ()


class CrawlVersions(Shown):
    """How many captures of a URL a crawl holds, the first and last of them, and its TimeMap where that is known."""

    crawl: str
    captures: int
    first: datetime
    last: datetime
    time_map: str = ""


class UnitVersions(Shown):
    """The crawls of a unit that hold captures of a URL; ``problem`` says why it did not tell."""

    unit: str
    held: tuple[CrawlVersions, ...] = ()
    problem: str = ""


class VisitsPage(Shown):
    """Visits, the newest first."""

    visits: tuple[ScheduledVisitShown, ...]


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
        sharing, rhythm_of = self._shared()
        with self._log() as log:
            rows = _named(upcoming(schedule, log, at, faults, rhythm_of), text)
            seconds = {name: expected_seconds(log, name) for name in schedule.crawls}
            until = at + timedelta(days=DAYS)
            plan = planned(schedule, log, seconds, at, until, most=_VISITS, rhythm_of=rhythm_of)
            named = [each for each in log.visits(ALL, _VISITS) if text.lower() in each.entry.lower()]
            beside = Place.beside(sharing, log, schedule)
            newest = [visit_row(log, each, beside) for each in named[:ROWS]]
            is_paused = ALL in log.paused()
        days = _days(at.date(), named, plan, text)
        some = [self._with_fault(schedule, each) for each in rows[after : after + ROWS]]
        crawls = {} if sharing is None else {each.name: schedule.crawls.get(each.name) for each in some}
        parts = {name: sharing.in_words(name, each) for name, each in crawls.items() if sharing and each}
        return ShownSchedule(some, len(rows), days, newest, plan, is_paused, parts)

    def page(self, text: str = "", after: int = 0, most: int = 50) -> SchedulePage:
        """Return some crawls whose names hold a text, the next due first. Raise ``ProblemError``."""
        schedule, faults = self._sound()
        rhythm_of = self._shared()[1]
        with self._log() as log:
            rows = _named(upcoming(schedule, log, datetime.now(UTC), faults, rhythm_of), text)
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
            for each in upcoming(schedule, log, datetime.now(UTC), faults, self._shared()[1]):
                if each.name == name:
                    return self._entry(schedule, log, each)
        raise _no_entry(name)

    def shown_entry(self, name: str, now: datetime | None = None) -> ShownEntry:
        """Return all of a crawl. Raise ``ProblemError`` where neither the schedule nor its log knows the name."""
        at = now or datetime.now(UTC)
        schedule, faults = self._sound()
        sharing, rhythm_of = self._shared()
        with self._log() as log:
            if name not in (*schedule.crawls, *faults, *log.known_since()):
                raise _no_entry(name)
            entry = schedule.crawls.get(name)
            only = {name: entry} if entry is not None else {}
            known = {name: faults[name]} if name in faults else {}
            beside = Place.beside(sharing, log, schedule)
            own = schedule.model_copy(update={"crawls": only})
            rows = upcoming(own, log, at, known, rhythm_of)
            row = self._with_fault(schedule, rows[0]) if rows else Upcoming(name, "-", GONE, None, 0)
            seconds = expected_seconds(log, name)
            to_come: Sequence[PlannedVisit] = ()
            if entry is not None and row.state not in ("paused", FAULTY):
                plan = planned(
                    own, log, {name: seconds}, at, at + timedelta(days=366), most=TO_COME, rhythm_of=rhythm_of
                )
                to_come = plan.visits
            visits, notices = visit_rows(log, name, ROWS, beside), log.notices(name, ROWS)
        part = sharing.in_words(name, entry) if sharing is not None and entry is not None else ""
        budget = "" if entry is None else _budget(with_budget(schedule, self.folders, name))
        definition = "" if entry is None else entry.definition
        return ShownEntry(row, definition, part, seconds, budget, visits, to_come, notices)

    def capacity(self) -> CapacityShown:
        """Return what could still be visited a day by the plan of a week. Raise ``ProblemError``."""
        at, schedule = datetime.now(UTC), self._sound()[0]
        rhythm_of = self._shared()[1]
        with self._log() as log:
            seconds = {name: expected_seconds(log, name) for name in schedule.crawls}
            until = at + timedelta(days=DAYS)
            plan = planned(schedule, log, seconds, at, until, most=_VISITS, rhythm_of=rhythm_of)
        return CapacityShown.model_validate(asdict(Capacity.of(plan, seconds)))

    def units(self) -> UnitsShown:
        """Return the units that visit the schedule together, as they told last; none where it has no list of them."""
        sharing = self._shared()[0]
        if sharing is None:
            return UnitsShown()
        heard, units = sharing.heard.units, sharing.units
        return UnitsShown(
            name=units.name,
            units=tuple(_unit(name, units, heard.get(name, HeardUnit())) for name in units.units),
        )

    def versions_elsewhere(self, url: str) -> tuple[UnitVersions, ...]:
        """Ask the other units which of their crawls hold captures of a URL; wait for no more than 20 seconds."""
        sharing = self._shared()[0]
        if sharing is None:
            return ()
        clients = clients_of(sharing.units)
        results = asked_together({name: partial(client.versions, url) for name, client in clients.items()})
        return tuple(_versions(name, clients[name], url, result) for name, result in results.items())

    def visits(self, name: str = ALL, most: int = 50) -> VisitsPage:
        """Return the newest visits, of one crawl or of all. Raise ``ProblemError`` for a crawl that nobody knows."""
        with self._log() as log:
            if name not in (ALL, *log.known_since()) and name not in self._sound()[0].crawls:
                raise _no_entry(name)
            beside = Place.beside(self._shared()[0], log, self._sound()[0])
            rows = [visit_row(log, each, beside) for each in log.visits(name, most)]
        return VisitsPage(visits=tuple(ScheduledVisitShown.model_validate(asdict(each)) for each in rows))

    def wish(self, kind: Wish, name: str) -> Wished:
        """Have a crawl visited now, paused or resumed; without a name all are. Raise ``ProblemError``."""
        if (name or kind is Wish.NOW) and name not in self._sound()[0].crawls:
            raise _no_entry(name)
        with self._log() as log:
            log.wish(kind, name, datetime.now(UTC))
        return Wished(name=name, act=kind, is_looked_after=Place(self.file).is_looked_after)

    def _entry(self, schedule: Schedule, log: VisitLog, row: Upcoming) -> EntryShown:
        entry = schedule.crawls.get(row.name)
        shown = self._with_fault(schedule, row)
        seconds = expected_seconds(log, row.name) if entry is not None else None
        told = {**asdict(shown), "why": shown.why}
        return EntryShown.model_validate({**told, "definition": entry.definition if entry else "", "seconds": seconds})

    def _with_fault(self, schedule: Schedule, row: Upcoming) -> Upcoming:
        """Return a crawl with what is wrong with its definition: only of those that are shown it is read."""
        entry = schedule.crawls.get(row.name)
        fault = "" if entry is None or row.fault else self.folders.faults({row.name: entry}).get(row.name, "")
        if not fault:
            return row
        return replace(row, fault=fault, state=row.state if row.state in ("under way", "wanted now") else FAULTY)

    def _shared(self) -> tuple[Sharing | None, RhythmOf]:
        """Return which part of the schedule this unit visits, None for all of it, and when crawls are due here."""
        try:
            sharing = Place(self.file).sharing(self.folders)
        except IcdError as error:
            raise ProblemError(DAMAGED, f"the list of units has mistakes: {error}") from error
        return sharing, whole_rhythm if sharing is None else sharing.rhythm

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


def _unit(name: str, units: Units, heard: HeardUnit) -> UnitShown:
    capacity = None if heard.capacity is None else CapacityShown.model_validate(heard.capacity.model_dump())
    unit = units.units[name]
    return UnitShown(
        name=name,
        url=str(unit.url),
        weight=unit.weight,
        asked_at=heard.asked_at,
        failing_since=heard.failing_since,
        unattended_since=heard.unattended_since,
        is_silent=heard.is_silent(units.silent_after) or heard.is_unattended(units.silent_after),
        problem=heard.problem,
        capacity=capacity,
        crawls=sum(each.is_visited for each in heard.crawls.values()),
    )


def _versions(name: str, client: UnitClient, url: str, result: tuple[HeldVersions, ...] | UnitError) -> UnitVersions:
    if isinstance(result, UnitError):
        return UnitVersions(unit=name, problem=str(result))
    held = [{**each.model_dump(), "time_map": client.time_map(each, url)} for each in result]
    return UnitVersions(unit=name, held=tuple(map(CrawlVersions.model_validate, held)))


def _budget(entry: Entry) -> str:
    """Return the budget of an entry in words; empty where it has none."""
    pages = entry.pages
    if pages is None or pages.budget is None:
        return ""
    aim = "the most changes found" if pages.objective is Objective.CHANGES else "freshness"
    return f"{pages.budget:,.1f} downloads of known pages a day, for {aim}"


def _no_entry(name: str) -> ProblemError:
    return ProblemError(NO_ENTRY, f"the schedule has no crawl {name or 'without a name'}")


def _days(today: date, visits: Iterable[Visit], plan: Plan, text: str) -> list[Day]:
    days = {day: Day(day) for day in (today + timedelta(days=n) for n in range(-DAYS, DAYS + 1))}
    for each in visits:
        day = days.get((each.ended_at or each.begun_at).date())
        if day is not None and each.outcome is not None:
            day.outcomes[each.outcome] += 1
            day.new += each.found.new
            day.changed += each.found.changed
            day.gone += each.found.gone
    for coming in plan.visits:
        day = days.get(coming.begins_at.date())
        if day is not None and text.lower() in coming.name.lower():
            day.to_come += 1
            day.too_long += not coming.fits
    return list(days.values())
