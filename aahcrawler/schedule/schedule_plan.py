"""What a schedule will do: when each visit begins and ends, by how long visits take, and which do not fit.

How long a crawl takes is what its visits took so far; where the schedule has made none, the queues of its sites are
simulated with the paces in its log of changes (``crawl_time``), and where that says nothing, nobody knows.
"""

import heapq
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean, median
from typing import Final

from aahcrawler.revisits.change_log import visits
from aahcrawler.revisits.crawl_time import simulated_seconds, site_loads
from aahcrawler.schedule.rhythms import Adaptive, Past, PastVisit, Rhythm
from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.visit_log import Outcome, VisitLog
from aahcrawler.segments import DamageError
from aahcrawler.urls import queue_of

AROUND: Final = 5.0
"""Seconds that a crawl takes to start and to end, where nobody has measured them."""
_LAST: Final = 5


@dataclass(frozen=True, slots=True)
class PlannedVisit:
    """A visit to come. ``seconds`` is how long it is expected to take, None where nobody knows.

    ``next_at`` is when the crawl is due after it.
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


def expected_seconds(log: VisitLog, name: str, folder: Path | None = None) -> float | None:
    """Return how long a visit of a crawl takes, from its start to its end; None where nobody knows.

    The crawl's ``folder`` is looked at where the schedule has visited it never.
    """
    ended = [each for each in log.visits(name, 20) if each.outcome in (Outcome.ENDED, Outcome.ATTENTION)]
    # A first crawl learns what there is, and says little of those after it.
    told = [each for each in ended if each.found.crawl > 1][:_LAST] or ended[:1]
    if told:
        return median((each.ended_at - each.begun_at).total_seconds() for each in told if each.ended_at)
    return known_seconds(folder) if folder is not None else None


def known_seconds(folder: Path) -> float | None:
    """Return how long the next crawl of a folder takes by its log of changes; None where that has nothing."""
    try:
        loads = site_loads(visits(folder), queue_of)
    except (DamageError, OSError, sqlite3.Error):
        return None
    return AROUND + simulated_seconds(loads.values()) if loads else None


def planned(
    schedule: Schedule,
    log: VisitLog,
    seconds: Mapping[str, float | None],
    now: datetime,
    until: datetime,
    parallel: int | None = None,
    most: int = 100_000,
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
    rhythms = {name: _as_it_stays(schedule.crawls[name].rhythm, past) for name, past in pasts.items()}
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
        visit = PlannedVisit(name, newest, begins_at, takes, rhythm.due(pasts[name], begins_at).at)
        found.append(visit)
        ends_at = begins_at + timedelta(seconds=usual if takes is None else takes)
        heapq.heappush(free, ends_at)
        heapq.heappush(due, (max(visit.next_at, ends_at), name))
    return Plan(found, parallel, now, until)


def _as_it_stays(rhythm: Rhythm, past: Past) -> Rhythm:
    """Return a rhythm as visits to come leave it: nobody knows what they find."""
    if not isinstance(rhythm, Adaptive):
        return rhythm
    interval = rhythm.interval(past)
    return Adaptive(least=interval, greatest=interval, first=interval)
