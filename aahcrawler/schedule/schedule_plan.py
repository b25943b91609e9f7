"""What a schedule did and will do: the beginning and end of each visit, as tables and JSON.

A visit is expected to take as long as earlier visits of the crawl took. If there were none, the queues of its sites are
simulated with the paces in its log of changes (``crawl_time``); without such a log, the duration is unknown.
"""

import heapq
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from types import MappingProxyType
from typing import Final, TextIO

from aahcrawler.crawls import running_process
from aahcrawler.revisits.change_log import TimedVisit, timed_visits
from aahcrawler.revisits.crawl_time import KnownCrawl
from aahcrawler.revisits.rate_priors import Ground
from aahcrawler.revisits.visit_budget import shared
from aahcrawler.schedule.child_crawls import CrawlFolders, CrawlTold
from aahcrawler.schedule.division import NEVER, AlternatingAdaptive, turn_of
from aahcrawler.schedule.page_rhythms import Demand, DuePages, PageRhythm, due_pages
from aahcrawler.schedule.rhythms import MIN_INTERVAL, Adaptive, Due, Past, PastVisit, Rhythm, in_words
from aahcrawler.schedule.schedule_file import Entry, Schedule
from aahcrawler.schedule.visit_log import ALL, Found, Outcome, Visit, VisitLog
from aahcrawler.segments import DamageError
from aahcrawler.tallies import plural
from aahcrawler.urls import queue_of
from online_analysis.icd import IcdError

PROCESS: Final = 2.0
"""Seconds that a crawl's process takes to start and to end, as long as the schedule has made no visit."""
_LAST: Final = 5
_BEGINS: Final = timedelta(minutes=2)
"""How long a crawl may take to open its folder, from which it is seen that it runs."""
_GONE: Final = frozenset({404, 410})
_DAY: Final = 86_400.0
RhythmOf = Callable[[str, Entry], Rhythm]
"""Returns the rhythm of an entry, given the entry's name as well."""


def whole_rhythm(_name: str, entry: Entry) -> Rhythm:
    """Return the rhythm of an entry that this unit visits alone: the entry's own."""
    return entry.rhythm


@dataclass(frozen=True, slots=True)
class PlannedVisit:
    """A future visit. ``seconds`` is its expected duration, None if unknown.

    ``next_at`` is when the crawl is due after it, whichever unit then visits it. ``why`` says in words why it begins
    then.
    """

    name: str
    due_at: datetime
    begins_at: datetime
    seconds: float | None
    next_at: datetime
    why: str = ""

    @property
    def ends_at(self) -> datetime:
        """When it ends; its beginning if the duration is unknown."""
        return self.begins_at + timedelta(seconds=self.seconds or 0.0)

    @property
    def fits(self) -> bool:
        """Whether it ends before the crawl is due again."""
        return self.ends_at <= self.next_at


@dataclass(frozen=True, slots=True)
class Plan:
    """The visits until a moment, in the order in which they begin, with ``parallel`` crawls at once.

    ``paused`` are the crawls that have none because they are paused.
    """

    visits: Sequence[PlannedVisit]
    parallel: int
    now: datetime
    until: datetime
    paused: Sequence[str] = ()

    @property
    def load(self) -> float:
        """The share of the possible crawling time that is used: 1 if all parallel crawls run all the time."""
        span = (self.until - self.now).total_seconds() * self.parallel
        spent = ((min(each.ends_at, self.until) - each.begins_at).total_seconds() for each in self.visits)
        return sum(spent) / span if span else 0.0


@dataclass(frozen=True, slots=True)
class Capacity:
    """How many more visits a plan would allow a day.

    ``parallel`` crawls run at once, and ``load`` is the share of their time that is used. ``usual_seconds`` is the mean
    duration of a visit; ``more_visits`` of that duration fit into the ``free_seconds`` of a day. Both are None if no
    duration is known.
    """

    parallel: int
    load: float
    crawls: int
    usual_seconds: float | None
    free_seconds: float
    more_visits: int | None

    @classmethod
    def of(cls, plan: Plan, seconds: Mapping[str, float | None]) -> "Capacity":
        """Return what a plan for a day or more leaves free, given the duration of each crawl's visits."""
        known = [each for each in seconds.values() if each is not None]
        usual = fmean(known) if known else None
        free = max(0.0, 1 - plan.load) * plan.parallel * _DAY
        more = int(free / usual) if usual else None
        return cls(plan.parallel, plan.load, len(seconds), usual, free, more)


def expected_seconds(log: VisitLog, name: str, folder: Path | None = None) -> float | None:
    """Return the expected duration of a crawl's visit; None if unknown.

    If the schedule has made no visit of it, the log of changes in ``folder`` is used.
    """
    ended = [each for each in log.visits(name, 20) if each.outcome in (Outcome.ENDED, Outcome.ATTENTION)]
    # A first crawl learns what there is, and says little of those after it.
    told = [each for each in ended if each.found.crawl > 1][:_LAST] or ended[:1]
    if told:
        return median((each.ended_at - each.begun_at).total_seconds() for each in told if each.ended_at)
    return known_seconds(log, folder) if folder is not None else None


def known_seconds(log: VisitLog, folder: Path) -> float | None:
    """Return the duration of the next crawl of a folder by its log of changes; None if the log has no visits."""
    seen = _seen(folder)
    return _seconds(log, folder, seen) if seen else None


def fitting_rhythm(
    log: VisitLog, name: str, entry: Entry, folder: Path, within: timedelta, interval: timedelta
) -> PageRhythm | None:
    """Return settings that limit a visit to its time; None if the whole crawl fits, or its duration is unknown.

    ``within`` is the time until the crawl is due again, ``interval`` the usual time between due moments. A crawl that
    fits into the interval is visited completely, also if it begins late or between due moments; any other crawl gets at
    least half of the interval. Then as many known pages are visited as fit, those that have waited longest first.
    Crawls by several processes are not limited.
    """
    expected, room = expected_seconds(log, name), max(within, interval).total_seconds()
    if entry.pages is not None or entry.workers > 1 or expected is None or expected < room / 4:
        return None
    # A visit that kept to its time took about that: the log of changes says how long all pages would take.
    whole = whole_seconds(log, folder)
    if whole is None or whole <= room:
        return None
    return _every_page(max(within, interval / 2))


def with_budget(schedule: Schedule, folders: CrawlFolders, name: str) -> Entry:
    """Return an entry with its share of the schedule's budget, by the last known demands of all crawls."""
    total, entry = schedule.budget, schedule.crawls[name]
    if total is None or entry.pages is None or entry.pages.budget is not None:
        return entry
    demands: dict[str, Sequence[float]] = {}
    for other, each in schedule.crawls.items():
        if each.pages is not None and each.pages.budget is None:
            with suppress(IcdError):
                told = Demand.of(folders.of(each))
                if told is not None and told.objective is schedule.objective:
                    demands[other] = told.downloads
    update: dict[str, object] = {"objective": schedule.objective}
    if name in demands:
        update["budget"] = shared(demands, total)[name]
    return entry.model_copy(update={"pages": entry.pages.model_copy(update=update)})


def fitting_pages(
    plan: Plan, crawls: Mapping[str, Entry], folders: CrawlFolders, now: datetime
) -> Mapping[str, DuePages]:
    """Return, for each crawl that does not fit completely, how many known pages its first too long visit takes.

    Crawls with ``pages``, crawls by several processes, and those without visits in their log of changes are left out.
    """
    found: dict[str, DuePages] = {}
    for visit in plan.visits:
        entry = crawls[visit.name]
        if visit.fits or visit.name in found or entry.pages is not None or entry.workers > 1:
            continue
        within = max(timedelta(minutes=1), visit.next_at - visit.begins_at)
        pages = due_pages(folders.of(entry), 0, _every_page(within), now)
        if pages.due:
            found[visit.name] = pages
    return found


def _every_page(within: timedelta) -> PageRhythm:
    """Return settings by which all known pages are due, and as many are visited as fit, the longest due first."""
    return PageRhythm(least=MIN_INTERVAL, greatest=MIN_INTERVAL, first=MIN_INTERVAL, within=within)


def whole_seconds(log: VisitLog, folder: Path) -> float | None:
    """Return the duration of a crawl of all pages known in its folder; None if its log of changes has no visits."""
    seen = _seen(folder)
    newest = {each.url: each for each in seen}
    wanted = Counter(queue_of(url) for url, each in newest.items() if each.status not in _GONE)
    return _seconds(log, folder, seen, wanted) if wanted else None


def _seen(folder: Path) -> Sequence[TimedVisit]:
    """Return the visits in a folder's log of changes, the oldest first; none where it cannot be read."""
    try:
        return timed_visits(folder)
    except (DamageError, OSError, sqlite3.Error):
        return ()


def _seconds(log: VisitLog, folder: Path, seen: Sequence[TimedVisit], wanted: Mapping[str, int] | None = None) -> float:
    """Return the expected seconds of a crawl: its visits, the overhead of its last crawl, and that of its process.

    The overhead of a process is measured on the schedule's latest visits, of any crawls.
    """
    last = CrawlTold.of(folder)
    ended = [each for each in log.visits(most=20) if each.outcome in (Outcome.ENDED, Outcome.ATTENTION)]
    took = [((each.ended_at - each.begun_at).total_seconds(), each.found.seconds) for each in ended if each.ended_at]
    process = median(max(0.0, whole - crawl) for whole, crawl in took) if took else PROCESS
    return process + KnownCrawl.of(seen, queue_of, (last.crawl, last.seconds), wanted).seconds


def planned(
    schedule: Schedule,
    log: VisitLog,
    seconds: Mapping[str, float | None],
    now: datetime,
    until: datetime,
    parallel: int | None = None,
    most: int = 100_000,
    rhythm_of: RhythmOf = whole_rhythm,
    resting: frozenset[str] | None = None,
) -> Plan:
    """Plan the visits that begin before ``until`` as the scheduler would make them.

    Crawls that are paused (by the log, or ``resting``) have none. A crawl of unknown duration is taken to last as long
    as the average. The plan ends after ``most`` visits, at the moment when the next would begin.
    """
    parallel = parallel or schedule.parallel
    known = [each for each in seconds.values() if each is not None]
    usual = fmean(known) if known else 0.0
    added = log.known_since()
    resting = log.paused() if resting is None else resting
    paused = [name for name in schedule.crawls if name in resting or ALL in resting]
    pasts = {name: log.past(name, added.get(name, now)) for name in schedule.crawls if name not in paused}
    rhythms = {name: _as_it_stays(rhythm_of(name, schedule.crawls[name]), past) for name, past in pasts.items()}
    free = [now] * parallel
    heapq.heapify(free)
    due = [(rhythms[name].due(past, now).at, name) for name, past in pasts.items()]
    heapq.heapify(due)
    found: list[PlannedVisit] = []

    @cache
    def reason(name: str) -> str:
        entry = schedule.crawls[name]
        told = log.past(name, added.get(name, now)), next(iter(log.visits(name, 1)), None)
        return "; ".join(filter(None, (in_words(entry), _grounds(entry, *told))))

    while due:
        at, name = heapq.heappop(due)
        free_at = heapq.heappop(free)
        begins_at = max(at, free_at, now)
        if begins_at > until:
            break
        if len(found) >= most:
            return Plan(found, parallel, now, begins_at, paused)
        rhythm = rhythms[name]
        passed = rhythm.due(pasts[name], begins_at) if begins_at > at else Due(at)
        newest = max(at, passed.at)
        pasts[name] = replace(pasts[name], last=newest, visits=[PastVisit(begins_at, None)])
        takes = seconds.get(name)
        own_next = rhythm.due(pasts[name], begins_at).at
        next_at = begins_at + (own_next - begins_at) / turn_of(rhythm).of
        waits = f"as soon as another crawl ends: at most {parallel:,} at once" if free_at > max(at, now) else ""
        moments = f"for {passed.moments:,} due moments that have passed" if passed.moments > 1 else ""
        why = "; ".join(filter(None, (reason(name), moments, waits)))
        found.append(PlannedVisit(name, newest, begins_at, takes, next_at, why))
        ends_at = begins_at + timedelta(seconds=usual if takes is None else takes)
        heapq.heappush(free, ends_at)
        heapq.heappush(due, (max(own_next, ends_at), name))
    return Plan(found, parallel, now, until, paused)


def _as_it_stays(rhythm: Rhythm, past: Past) -> Rhythm:
    """Return a rhythm for planning: an adaptive one keeps its present interval, since future findings are unknown."""
    if not isinstance(rhythm, Adaptive | AlternatingAdaptive):
        return rhythm
    interval = rhythm.interval(past)
    return Adaptive(least=interval, greatest=interval, first=interval)


UNKNOWN: Final = "unknown"
"""The state of a crawl while the schedule's file, or another file that it needs, cannot be used."""
INTERRUPTED: Final = "interrupted"
"""The state of a crawl whose visit has not ended, and whose process does not run: it was killed, or is tried again."""
UNUSABLE: Final = "cannot be used"
"""What is said of the log of a schedule that cannot be read or written: its disk is full, say."""
FAULTY: Final = "has mistakes"
"""The state of a crawl with mistakes in its entry or definition."""


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A crawl of a schedule: when it is due next, and its newest visit.

    ``state`` is what keeps it from its next visit, or what it waits for. ``due_at`` is None if it is unknown when it is
    due, it is paused, or other units visit it. If it was due at several moments that passed, one visit makes up for all
    ``moments``. ``grounds`` say on what evidence its adaptive rhythm, or that of its pages when its newest crawl began,
    rests; empty if the schedule itself gives the times. ``fault`` is the mistake in its entry or definition that keeps
    visits from beginning. ``part`` is what this unit visits of it, empty if there are no other units. ``left`` is how
    long a running visit still takes, in words, empty if unknown. ``beside`` says which other unit made its newest visit
    as well, empty if none did. With ``is_dense``, it is due more often than once an hour.
    """

    name: str
    rhythm: str
    state: str
    due_at: datetime | None
    moments: int
    begun_at: datetime | None = None
    outcome: Outcome | None = None
    found: Found | None = None
    grounds: str = ""
    fault: str = ""
    part: str = ""
    left: str = ""
    beside: str = ""
    is_dense: bool = False

    @property
    def why(self) -> str:
        """Why its next visit is at that moment, in words."""
        if self.fault:
            return f"no visit begins: {self.fault}"
        reasons = {
            "under way": f"a visit has not ended yet{f': {self.left}' if self.left else ''}",
            INTERRUPTED: "a visit has not ended, and its crawl does not run; `aah schedule run` goes on with it",
            "wanted now": "somebody asked for it",
            "paused": "it is paused",
            "elsewhere": "other units visit it",
        }
        passed = f"{self.moments:,} due moments have passed" if self.moments > 1 else "its moment has come"
        reason = passed if self.state == "due" else reasons.get(self.state, "")
        first = "" if self.begun_at else "it was never visited"
        return "; ".join(filter(None, (self.rhythm, self.grounds, reason, first)))


@dataclass(frozen=True, slots=True)
class VisitRow:
    """A visit, and the number of failed attempts at it; ``beside`` says which other unit made it as well."""

    number: int
    name: str
    due_at: datetime | None
    moments: int
    begun_at: datetime
    ended_at: datetime | None
    outcome: str
    failures: int
    found: Found
    said: str
    beside: str = ""


Beside = Callable[[Visit], str]
"""Returns which other unit made a visit as well, in words; empty if none did."""


def _alone(_visit: Visit) -> str:
    """Return "": no other unit made the visit."""
    return ""


def upcoming(
    schedule: Schedule,
    log: VisitLog,
    now: datetime,
    faults: Mapping[str, str] = MappingProxyType({}),
    rhythm_of: RhythmOf = whole_rhythm,
    beside: Beside = _alone,
) -> list[Upcoming]:
    """Return the crawls of a schedule: running ones first, then by due moment.

    ``faults`` are the mistakes of crawls, by name; they may include crawls that the schedule leaves out for them.
    """
    added, paused, wanted = log.known_since(), log.paused(), log.wanted()
    under_way = {each.entry: each for each in log.open_visits()}
    found = []
    for name, entry in schedule.crawls.items():
        past = log.past(name, added.get(name, now))
        due = rhythm_of(name, entry).due(past, now)
        visit = under_way.get(name) or next(iter(log.visits(name, 1)), None)
        state = _state(name, due, now, under_way, wanted, paused)
        if visit is not None and state == "under way" and not _runs(visit, now):
            state = INTERRUPTED
        fault = faults.get(name, "")
        if fault and state != "under way":
            state = FAULTY
        due_at = None if due.at == NEVER or state == "paused" else due.at
        grounds = _grounds(entry, past, visit)
        row = Upcoming(name, in_words(entry), state, due_at, due.moments, grounds=grounds, fault=fault)
        row = replace(row, is_dense=entry.rhythm.interval(past) < timedelta(hours=1))
        if visit is not None:
            ended = visit.found if visit.outcome else None
            left = "" if visit.outcome else _left(visit)
            row = replace(
                row, begun_at=visit.begun_at, outcome=visit.outcome, found=ended, left=left, beside=beside(visit)
            )
        found.append(row)
    found += [
        Upcoming(name, "-", FAULTY, None, 0, fault=faults[name]) for name in faults if name not in schedule.crawls
    ]
    return sorted(
        found, key=lambda each: (each.state not in ("under way", INTERRUPTED), each.due_at or NEVER, each.name)
    )


def _runs(visit: Visit, now: datetime) -> bool:
    """Return whether a visit's crawl runs, or has had little time to begin: its folder does not tell before."""
    return now - visit.begun_at < _BEGINS or running_process(visit.folder) is not None


def _left(visit: Visit) -> str:
    """Return how long a running visit still takes, in words, by its crawl's last report; empty if that is unknown."""
    told = CrawlTold.of(visit.folder)
    is_of_it = told.mark != visit.was and told.state in ("running", "paused")
    return str(told.time_left) if is_of_it and told.time_left.seconds is not None else ""


def _grounds(entry: Entry, past: Past, visit: Visit | None) -> str:
    """Return on what evidence an entry's rhythm and the intervals of its pages rest."""
    told = []
    if entry.adaptive is not None:
        visits = sum(each.changed is not None for each in past.visits)
        told.append(f"its own visits ({visits:,})" if visits else str(Ground.NOTHING))
    demand = Demand.of(visit.folder) if entry.pages is not None and visit is not None else None
    if demand is not None:
        told.append(f"pages by {demand}")
    return "; ".join(told)


def _state(
    name: str, due: Due, now: datetime, under_way: dict[str, Visit], wanted: frozenset[str], paused: frozenset[str]
) -> str:
    if name in under_way:
        return "under way"
    if name in wanted:
        return "wanted now"
    if name in paused or ALL in paused:
        return "paused"
    if due.at == NEVER:
        return "elsewhere"
    return "due" if due.at <= now else "waits"


def visit_rows(log: VisitLog, name: str, most: int, beside: Beside = _alone) -> list[VisitRow]:
    """Return the newest visits, of one crawl or of all, the newest first."""
    return [visit_row(log, each, beside) for each in log.visits(name, most)]


def visit_row(log: VisitLog, visit: Visit, beside: Beside = _alone) -> VisitRow:
    """Return a visit with its failed attempts."""
    return VisitRow(
        visit.number, visit.entry, visit.due_at, visit.moments, visit.begun_at, visit.ended_at,
        visit.outcome or "under way", len(log.attempts(visit.number)), visit.found, visit.said, beside(visit),
    )  # fmt: skip


def broken(
    file: Path, mistakes: str, log: VisitLog | None, crawls: Iterable[str] = (), state: str = FAULTY
) -> list[Upcoming]:
    """Return a row for a file that cannot be used, and rows for the crawls that the log or the schedule knows."""
    rows = [Upcoming(file.name, "-", state, None, 0, fault=mistakes)]
    for name in sorted({*crawls, *(log.known_since() if log is not None else ())}):
        visit = next(iter(log.visits(name, 1)), None) if log is not None else None
        row = Upcoming(name, "-", UNKNOWN, None, 0)
        if visit is not None:
            found = visit.found if visit.outcome else None
            row = replace(row, begun_at=visit.begun_at, outcome=visit.outcome, found=found)
        rows.append(row)
    return rows


def write_json(rows: Sequence[Upcoming] | Sequence[VisitRow], out: TextIO) -> None:
    """Write rows as JSON; times are ISO 8601 in UTC."""
    json.dump([asdict(each) for each in rows], out, indent=1, default=datetime.isoformat, ensure_ascii=False)
    out.write("\n")


def write_upcoming(rows: Sequence[Upcoming], out: TextIO) -> None:
    """Write a line for each crawl, with tab-separated columns, then a line for each mistake."""
    shared = any(each.part for each in rows)
    moment = _moment_by(any(each.is_dense for each in rows))
    out.write(
        "crawl\tstate\tnext (UTC)\trhythm\tlast (UTC)\tended\tpages\tchanged\twhy then" + "\tpart" * shared + "\n"
    )
    for each in rows:
        counts = (f"{each.found.pages}", f"{each.found.changed}") if each.found else ("-", "-")
        columns = (each.name, each.state, moment(each.due_at), each.rhythm, moment(each.begun_at))
        out.write(
            "\t".join((*columns, each.outcome or "-", *counts, each.grounds or "-", *[each.part or "-"] * shared))
            + "\n"
        )
    for each in rows:
        if each.fault:
            out.write(f"{each.name}: no visit begins: {each.fault}\n")
        if each.beside:
            out.write(f"{each.name}: its last visit: {each.beside}\n")


def write_visits(rows: Sequence[VisitRow], out: TextIO) -> None:
    """Write a line for each visit, with tab-separated columns."""
    out.write("visit\tcrawl\tdue (UTC)\tfor\tbegan\tended\thow\tfailures\tpages\tnew\tchanged\tgone\tseconds\n")
    begun: dict[str, list[datetime]] = {}
    for each in rows:
        begun.setdefault(each.name, []).append(each.begun_at)
    apart = (later - earlier for found in begun.values() for later, earlier in pairwise(found))
    moment = _moment_by(any(each < timedelta(hours=1) for each in apart))
    for each in rows:
        found = each.found
        counts = (each.failures, found.pages, found.new, found.changed, found.gone, round(found.seconds))
        due = moment(each.due_at) if each.due_at else "asked for"
        columns = (each.number, each.name, due, each.moments or "-", moment(each.begun_at), moment(each.ended_at))
        out.write("\t".join(map(str, (*columns, each.outcome, *counts))) + "\n")
    for each in rows:
        if each.beside:
            out.write(f"visit {each.number} of {each.name}: {each.beside}\n")


def _moment_by(seconds: bool) -> Callable[[datetime | None], str]:
    """Return a function that writes moments to the minute, or to the second if visits are less than an hour apart."""
    form = "%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M"
    return lambda moment: moment.strftime(form) if moment else "-"


_MAX_LISTED: Final = 24


def write_plan(plan: Plan, fitting: Mapping[str, DuePages], out: TextIO) -> None:
    """Write a line for each planned visit, with tab-separated columns, and the load of the schedule.

    ``fitting`` says how many pages fit, for crawls that do not fit completely. Times include seconds if a crawl is due
    more often than hourly. Of each crawl a day's visits of an hourly rhythm are listed; below the table, a line counts
    the others, and one names each crawl that is paused or of unknown duration.
    """
    is_dense = any(each.next_at - each.due_at < timedelta(hours=1) for each in plan.visits)
    moment = _moment_by(is_dense)
    out.write("crawl\tdue (UTC)\tbegins\tends\tminutes\tfits\twhy then\n")
    unknown: dict[str, list[PlannedVisit]] = {}
    others: dict[str, list[PlannedVisit]] = {}
    listed = Counter[str]()
    for each in plan.visits:
        if each.seconds is None:
            unknown.setdefault(each.name, []).append(each)
            continue
        if listed[each.name] == _MAX_LISTED:
            others.setdefault(each.name, []).append(each)
            continue
        listed[each.name] += 1
        fits = "yes" if each.fits else f"no: due again at {moment(each.next_at)}"
        times = "\t".join(map(moment, (each.due_at, each.begins_at, each.ends_at)))
        out.write(f"{each.name}\t{times}\t{each.seconds / 60:.1f}\t{fits}\t{each.why}\n")
    for name, more in others.items():
        too_long = f"too long for their rhythm: {sum(not each.fits for each in more):,}"
        last = f"the last begins at {moment(more[-1].begins_at)}"
        out.write(f"{name}: {plural(len(more), 'more visit')}, which --json lists; {last}; {too_long}\n")
    for name, coming in unknown.items():
        first = f"the first is due at {moment(coming[0].due_at)} ({coming[0].why})"
        out.write(f"{name}: {plural(len(coming), 'visit')}; {first}; nobody knows how long they take\n")
    for name in plan.paused:
        out.write(f"{name}: is paused, no visit begins\n")
    for name, pages in fitting.items():
        all_of_them = pages.due + pages.left_over
        out.write(f"{name}: {pages.due:,} of {all_of_them:,} known pages fit, those that waited longest first\n")
    late = sum(each.begins_at > each.due_at and each.due_at >= plan.now for each in plan.visits)
    missed = sum(not each.fits for each in plan.visits)
    number = sum(map(len, unknown.values()))
    said = f"visits: {len(plan.visits):,}; too long for their rhythm: {missed:,}; begun late: {late:,}"
    is_known = number < len(plan.visits) or not plan.visits
    busy = f"{plural(plan.parallel, 'crawl')} at once, busy {f'{plan.load:.0%} of the time' if is_known else '?'}"
    out.write(f"{said}; {busy}{f'; of {number:,} nobody knows how long they take' if number else ''}\n")


def write_plan_json(plan: Plan, fitting: Mapping[str, DuePages], out: TextIO) -> None:
    """Write the visits of a plan as JSON."""
    rows = [{**asdict(each), "ends_at": each.ends_at, "fits": each.fits} for each in plan.visits]
    fit = {name: {"fit": pages.due, "known": pages.due + pages.left_over} for name, pages in fitting.items()}
    load = round(plan.load, 4)
    content = {
        "parallel": plan.parallel,
        "load": load,
        "until": plan.until,
        "visits": rows,
        "fitting": fit,
        "paused": list(plan.paused),
    }
    json.dump(content, out, indent=1, default=datetime.isoformat, ensure_ascii=False)
    out.write("\n")
