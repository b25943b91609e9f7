"""What a schedule will do: when each visit begins and ends, by how long visits take, and which do not fit.

How long a crawl takes is what its visits took so far; where the schedule has made none, the queues of its sites are
simulated with the paces in its log of changes (``crawl_time``), and where that says nothing, nobody knows.
"""

import heapq
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean, median
from typing import Final

from aahcrawler.revisits.change_log import Visit as ChangeVisit
from aahcrawler.revisits.change_log import visits
from aahcrawler.revisits.crawl_time import SiteLoad, around_seconds, simulated_seconds, site_loads, warm_up_seconds
from aahcrawler.schedule.child_crawls import CrawlFolders, CrawlTold
from aahcrawler.schedule.division import AlternatingAdaptive, turn_of
from aahcrawler.schedule.page_rhythms import DuePages, PageRhythm, due_pages
from aahcrawler.schedule.rhythms import LEAST, Adaptive, Past, PastVisit, Rhythm
from aahcrawler.schedule.schedule_file import Entry, Schedule
from aahcrawler.schedule.visit_log import Outcome, VisitLog
from aahcrawler.segments import DamageError
from aahcrawler.urls import queue_of

AROUND: Final = 3.0
"""Seconds of a crawl before its first visit and after its last, where nobody has measured them."""
PROCESS: Final = 2.0
"""Seconds that its process takes to start and to end, where the schedule has made no visit."""
_LAST: Final = 5
_GONE: Final = frozenset({404, 410})
_DAY: Final = 86_400.0
RhythmOf = Callable[[str, Entry], Rhythm]
"""Says when an entry of this name is due."""


def whole_rhythm(_name: str, entry: Entry) -> Rhythm:
    """Return the rhythm of an entry that no other unit visits."""
    return entry.rhythm


@dataclass(frozen=True, slots=True)
class PlannedVisit:
    """A visit to come. ``seconds`` is how long it is expected to take, None where nobody knows.

    ``next_at`` is when the crawl is due after it, at this unit or at the other one that visits it in turn.
    """

    name: str
    due_at: datetime
    begins_at: datetime
    seconds: float | None
    next_at: datetime

    @property
    def ends_at(self) -> datetime:
        """When it ends; at once where nobody knows."""
        return self.begins_at + timedelta(seconds=self.seconds or 0.0)

    @property
    def fits(self) -> bool:
        """Whether it ends before its crawl is due again."""
        return self.ends_at <= self.next_at


@dataclass(frozen=True, slots=True)
class Plan:
    """The visits until a moment, in the order in which they begin, for so many crawls at once."""

    visits: Sequence[PlannedVisit]
    parallel: int
    now: datetime
    until: datetime

    @property
    def load(self) -> float:
        """How busy the schedule is, 1 where all of its crawls at once run all the time."""
        span = (self.until - self.now).total_seconds() * self.parallel
        spent = ((min(each.ends_at, self.until) - each.begins_at).total_seconds() for each in self.visits)
        return sum(spent) / span if span else 0.0


@dataclass(frozen=True, slots=True)
class Capacity:
    """What could still be visited a day by a plan.

    ``parallel`` crawls run at once, ``load`` is how busy they are, ``usual_seconds`` how long a visit takes on the
    average; ``more_visits`` of that length would fit into the ``free_seconds`` of a day. Both are None where nobody
    knows how long visits take.
    """

    parallel: int
    load: float
    crawls: int
    usual_seconds: float | None
    free_seconds: float
    more_visits: int | None

    @classmethod
    def of(cls, plan: Plan, seconds: Mapping[str, float | None]) -> "Capacity":
        """Return what a plan of a day or more leaves, where visits take so many ``seconds``."""
        known = [each for each in seconds.values() if each is not None]
        usual = fmean(known) if known else None
        free = max(0.0, 1 - plan.load) * plan.parallel * _DAY
        more = int(free / usual) if usual else None
        return cls(plan.parallel, plan.load, len(seconds), usual, free, more)


def expected_seconds(log: VisitLog, name: str, folder: Path | None = None) -> float | None:
    """Return how long a visit of a crawl takes, from its start to its end; None where nobody knows.

    The crawl's ``folder`` is looked at where the schedule has visited it never.
    """
    ended = [each for each in log.visits(name, 20) if each.outcome in (Outcome.ENDED, Outcome.ATTENTION)]
    # A first crawl learns what there is, and says little of those after it.
    told = [each for each in ended if each.found.crawl > 1][:_LAST] or ended[:1]
    if told:
        return median((each.ended_at - each.begun_at).total_seconds() for each in told if each.ended_at)
    return known_seconds(log, folder) if folder is not None else None


def known_seconds(log: VisitLog, folder: Path) -> float | None:
    """Return how long the next crawl of a folder takes by its log of changes; None where that has nothing."""
    seen = _seen(folder)
    return _seconds(log, folder, seen, site_loads(seen, queue_of)) if seen else None


def fitting_rhythm(
    log: VisitLog, name: str, entry: Entry, folder: Path, within: timedelta, interval: timedelta
) -> PageRhythm | None:
    """Return the rhythm by which a visit keeps to its time; None where the whole crawl fits, or nobody can tell.

    ``within`` is the time until it is due again, ``interval`` what there is from one due moment to the next: a crawl
    that fits into it is whole also where it begins late or in between, and any other has half of it at least. Known
    pages are then visited in turn, the one that waited longest first, as many as fit. Crawls by several processes are
    left whole.
    """
    expected, room = expected_seconds(log, name), max(within, interval).total_seconds()
    if entry.pages is not None or entry.workers > 1 or expected is None or expected < room / 4:
        return None
    # A visit that kept to its time took about that: the log of changes says how long all pages would take.
    whole = whole_seconds(log, folder)
    if whole is None or whole <= room:
        return None
    return _every_page(max(within, interval / 2))


def fitting_pages(
    plan: Plan, crawls: Mapping[str, Entry], folders: CrawlFolders, now: datetime
) -> Mapping[str, DuePages]:
    """Return how many known pages fit of each crawl that does not fit as a whole, by its first visit that is too long.

    Crawls with rhythms of pages, or by several processes, and those whose log of changes has nothing are left out.
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
    """Return the rhythm of pages that are all due, of which as many are visited as fit, the longest due first."""
    return PageRhythm(least=LEAST, greatest=LEAST, first=LEAST, within=within)


def whole_seconds(log: VisitLog, folder: Path) -> float | None:
    """Return how long a crawl of all pages that its folder knows would take; None where its log has none."""
    seen = _seen(folder)
    newest = {each.url: each for each in seen}
    wanted = Counter(queue_of(url) for url, each in newest.items() if each.status not in _GONE)
    return _seconds(log, folder, seen, site_loads(seen, queue_of, wanted)) if wanted else None


def _seen(folder: Path) -> Sequence[ChangeVisit]:
    """Return the visits in a folder's log of changes, the oldest first; none where it cannot be read."""
    try:
        return list(visits(folder))
    except (DamageError, OSError, sqlite3.Error):
        return ()


def _seconds(log: VisitLog, folder: Path, seen: Sequence[ChangeVisit], loads: Mapping[str, SiteLoad]) -> float:
    """Return how long a crawl takes with all around its visits, as that was in the last one, and its process beside.

    How long processes take beside their crawls is told by the last visits of the schedule, of whatever crawls.
    """
    last = CrawlTold.of(folder)
    around = around_seconds(seen, last.crawl, last.seconds)
    ended = [each for each in log.visits(most=20) if each.outcome in (Outcome.ENDED, Outcome.ATTENTION)]
    took = [((each.ended_at - each.begun_at).total_seconds(), each.found.seconds) for each in ended if each.ended_at]
    process = median(max(0.0, whole - crawl) for whole, crawl in took) if took else PROCESS
    beside_queues = warm_up_seconds(seen, queue_of) + (AROUND if around is None else around)
    return process + beside_queues + simulated_seconds(loads.values())


def planned(
    schedule: Schedule,
    log: VisitLog,
    seconds: Mapping[str, float | None],
    now: datetime,
    until: datetime,
    parallel: int | None = None,
    most: int = 100_000,
    rhythm_of: RhythmOf = whole_rhythm,
) -> Plan:
    """Plan the visits that begin until a moment, as the scheduler would; pauses are left out of account.

    What nobody knows takes as long as crawls do on the average. After ``most`` visits the plan ends, at the moment at
    which the next one begins.
    """
    parallel = parallel or schedule.parallel
    known = [each for each in seconds.values() if each is not None]
    usual = fmean(known) if known else 0.0
    added = log.known_since()
    pasts = {name: log.past(name, added.get(name, now)) for name in schedule.crawls}
    rhythms = {name: _as_it_stays(rhythm_of(name, schedule.crawls[name]), past) for name, past in pasts.items()}
    free = [now] * parallel
    heapq.heapify(free)
    due = [(rhythms[name].due(past, now).at, name) for name, past in pasts.items()]
    heapq.heapify(due)
    found: list[PlannedVisit] = []
    while due:
        at, name = heapq.heappop(due)
        begins_at = max(at, heapq.heappop(free), now)
        if begins_at > until:
            break
        if len(found) >= most:
            return Plan(found, parallel, now, begins_at)
        rhythm = rhythms[name]
        newest = max(at, rhythm.due(pasts[name], begins_at).at if begins_at > at else at)
        pasts[name] = Past(pasts[name].added_at, newest, [PastVisit(begins_at, None)])
        takes = seconds.get(name)
        own_next = rhythm.due(pasts[name], begins_at).at
        next_at = begins_at + (own_next - begins_at) / turn_of(rhythm).of
        found.append(PlannedVisit(name, newest, begins_at, takes, next_at))
        ends_at = begins_at + timedelta(seconds=usual if takes is None else takes)
        heapq.heappush(free, ends_at)
        heapq.heappush(due, (max(own_next, ends_at), name))
    return Plan(found, parallel, now, until)


def _as_it_stays(rhythm: Rhythm, past: Past) -> Rhythm:
    """Return a rhythm as visits to come leave it: nobody knows what they find."""
    if not isinstance(rhythm, Adaptive | AlternatingAdaptive):
        return rhythm
    interval = rhythm.interval(past)
    return Adaptive(least=interval, greatest=interval, first=interval)
