"""Start due visits and complete them: missed ones are made up for once, and none is made twice, even after a kill.

A visit is recorded before its crawl is started, with the mark of the crawl that is in the folder then. It is complete
when the folder holds a finished crawl with another mark; until then the crawl is started again and resumes. Exit codes
and the memory of this process are not relied on. ``look`` does everything that is to be done at its time, and may be
called at any time.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from aahcrawler.exits import MISTAKE
from aahcrawler.schedule.child_crawls import Child, ChildCrawls, CrawlFolders, CrawlTold, found_in
from aahcrawler.schedule.division import turn_of
from aahcrawler.schedule.rhythms import Due, in_words
from aahcrawler.schedule.schedule_file import Occasion, Schedule
from aahcrawler.schedule.schedule_plan import RhythmOf, expected_seconds, fitting_rhythm, whole_rhythm, with_budget
from aahcrawler.schedule.visit_log import ALL, Found, Notice, Outcome, Visit, VisitLog
from online_analysis.icd import IcdError

logger = logging.getLogger(__name__)
SEED_GAVE_NOTHING: Final = 3
"""The exit code of a crawl that ended, but on which somebody has to act."""
MAX_RETRY_WAIT: Final = timedelta(hours=1)
SECOND: Final = timedelta(seconds=1)
MINUTE: Final = timedelta(minutes=1)
IN_USE: Final = timedelta(seconds=30)
"""How long to wait before looking again at a folder in which somebody else's crawl runs."""
MISTAKEN: Final = timedelta(minutes=5)
"""How long to wait before reading a definition with mistakes again although its file has not changed."""
_IN_TURN: Final = (
    "known pages are visited in turn, those that waited longest first, as many as fit; give it a longer rhythm, "
    "`pages`, or limits"
)
_OCCASIONS: Final[Mapping[Outcome, Occasion]] = {
    Outcome.ENDED: "ended",
    Outcome.STOPPED: "ended",
    Outcome.ATTENTION: "attention",
    Outcome.FAILED: "failed",
}


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        ...

    def seconds_until(self, moment: datetime) -> float:
        """Return the seconds to wait until a time; negative if it has passed."""
        ...


@dataclass(slots=True)
class _Open:
    """A visit that has not ended: its process while it runs, else the time of the next attempt."""

    visit: Visit
    child: Child | None = None
    again_at: datetime | None = None
    said: str = ""
    told_of_pause: str = ""


class Scheduler:
    """Makes the visits of a schedule. Only one thread may use it."""

    def __init__(
        self,
        schedule: Schedule,
        folders: CrawlFolders,
        log: VisitLog,
        crawls: ChildCrawls,
        clock: Clock,
        tell: Callable[[Notice], None],
        woken: Callable[[], None] = lambda: None,
        rhythm_of: RhythmOf = whole_rhythm,
    ) -> None:
        """Take the schedule and its surroundings.

        ``tell`` must not block. Another thread calls ``woken`` when ``look`` has something to do. ``rhythm_of`` returns
        when an entry is due at this unit, in case other units visit it, too.
        """
        self._folders = folders
        self.log = log
        """The log of its visits."""
        self._crawls = crawls
        self._clock = clock
        self._tell = tell
        self._woken = woken
        self._rhythm_of = rhythm_of
        self._open: dict[str, _Open] = {}
        self._due: dict[str, Due] = {}
        self._not_before: dict[str, datetime] = {}
        self._mistaken: dict[str, str] = {}
        self._mistaken_stamps: dict[str, tuple[int, int] | None] = {}
        self._too_long: set[str] = set()
        self._ending = False
        self.schedule = schedule
        """The schedule that it goes by."""
        self._added: Mapping[str, datetime] = {}
        self.follow(schedule)
        self._take_up()

    def follow(self, schedule: Schedule) -> None:
        """Use this schedule from now on; running crawls are not affected."""
        now = self._clock.now()
        self.schedule = schedule
        self._added = self.log.added_at(schedule.crawls, now)
        self.log.has_rhythms({name: in_words(entry) for name, entry in schedule.crawls.items()}, now)
        self._due = {name: self._next(name, now) for name in schedule.crawls}

    def _next(self, name: str, now: datetime) -> Due:
        rhythm = self._rhythm_of(name, self.schedule.crawls[name])
        return rhythm.due(self.log.past(name, self._added[name]), now)

    def _take_up(self) -> None:
        """Resume the visits that were in progress when the former scheduler ended."""
        now = self._clock.now()
        for visit in self.log.open_visits():
            child = self._crawls.running(visit.entry, visit.folder)
            self._open[visit.entry] = _Open(visit, child, now)
            logger.info("%s: visit %d is taken up%s", visit.entry, visit.number, ", its crawl still runs" * bool(child))

    @property
    def running(self) -> list[str]:
        """The names of the entries whose crawls run."""
        return [name for name, each in self._open.items() if each.child is not None]

    @property
    def mistaken(self) -> Sequence[str]:
        """The entries that are not visited because of mistakes in their definitions."""
        return list(self._mistaken)

    @property
    def paused(self) -> frozenset[str]:
        """The paused entries; ``ALL`` is among them if the whole schedule is paused."""
        return self.log.paused()

    @property
    def is_ending(self) -> bool:
        """Whether it was asked to ``end``."""
        return self._ending

    def end(self) -> None:
        """Begin no more visits, and ask all crawls to end in good order; if called again, at once."""
        self._ending = True
        for each in self._open.values():
            if each.child is not None:
                each.child.end()

    def look(self) -> datetime | None:
        """Do everything that is to be done now; return when something is due next, None if nothing is."""
        now = self._clock.now()
        for name, each in list(self._open.items()):
            self._look_at(name, each, now)
        if self._ending:
            return None
        self._forget_mended()
        paused, wanted = self.log.paused(), self.log.wanted()
        for name in self._to_begin(now, paused, wanted):
            if len(self.running) >= self.schedule.parallel:
                return None  # The end of one of them wakes whoever calls.
            self._visit(name, now)
        return min(self._moments(paused), default=None)

    def _moments(self, paused: frozenset[str]) -> Iterable[datetime]:
        if ALL in paused:
            return
        for name, due in self._due.items():
            if name in paused:
                continue
            found = self._open.get(name)
            if found is None:
                yield max(due.at, self._not_before.get(name, due.at))
            elif found.child is None and found.again_at is not None:
                yield found.again_at

    def _to_begin(self, now: datetime, paused: frozenset[str], wanted: frozenset[str]) -> list[str]:
        """Return the entries to visit now: those wished for, then those due, by due moment."""
        found = []
        for name, due in self._due.items():
            each = self._open.get(name)
            at = due.at if each is None else each.again_at
            is_free = each is None or each.child is None
            is_paused = (ALL in paused or name in paused) and name not in wanted
            is_time = name in wanted or (at is not None and at <= now)
            if is_free and is_time and not is_paused and self._not_before.get(name, now) <= now:
                found.append((name not in wanted, at or now, name))
        return [name for *_, name in sorted(found)]

    def _visit(self, name: str, now: datetime) -> None:
        """Begin a visit, or retry one that failed."""
        entry = self.schedule.crawls[name]
        known = self._open.get(name)
        # The crawl may have come to its end while nobody looked, and its definition may be gone since.
        if known is not None and self._is_made(known.visit) and not self._crawls.is_used(known.visit.folder):
            self._conclude(name, known, now, self._crawls.told(known.visit.folder))
            return
        stamp = self._folders.stamp(entry)
        try:
            folder = self._folders.of(entry)
        except IcdError as error:
            self._mistaken_stamps[name] = stamp
            self._postpone_mistaken(name, now, str(error))
            return
        self._mistaken.pop(name, None)
        self._mistaken_stamps.pop(name, None)
        if self._crawls.is_used(folder):
            logger.info("%s: waits for a crawl in %s that somebody else has started", name, folder)
            self._not_before[name] = now + IN_USE
            return
        if known is None:
            known = self._open[name] = _Open(self._begun(name, now, folder, self._crawls.told(folder).mark))
        else:
            self.log.grant(name, now)
        try:
            # Another unit that visits it in turn is to find the site free.
            rhythm, past = self._rhythm_of(name, entry), self.log.past(name, self._added[name])
            units = turn_of(rhythm).of
            within, interval = max(MINUTE, (rhythm.due(past, now).at - now) / units), rhythm.interval(past) / units
            pages = fitting_rhythm(self.log, name, entry, folder, within, interval)
            self._tell_of_length(name, now, max(within, interval), keeps_to_it=pages is not None)
            fitting = (
                with_budget(self.schedule, self._folders, name)
                if pages is None
                else entry.model_copy(update={"pages": pages})
            )
            known.child = self._crawls.begin(name, fitting, within, self._woken)
        except OSError as error:
            self._failed(name, known, now, MISTAKE, f"its process cannot be started: {error}")

    def _forget_mended(self) -> None:
        """Retry entries whose definitions had mistakes and have since been changed."""
        for name, stamp in list(self._mistaken_stamps.items()):
            entry = self.schedule.crawls.get(name)
            if entry is None or self._folders.stamp(entry) != stamp:
                del self._mistaken_stamps[name]
                self._not_before.pop(name, None)

    def _postpone_mistaken(self, name: str, now: datetime, mistakes: str) -> None:
        """Retry an entry whose definition has mistakes later; notify people once of each mistake. It stays due."""
        self._not_before[name] = now + MISTAKEN
        if self._mistaken.get(name) != mistakes:
            self._mistaken[name] = mistakes
            logger.warning("%s: its definition has mistakes: %s", name, mistakes)
            self._tell(Notice(now, name, "attention", f"its definition has mistakes, and no visit begins:\n{mistakes}"))

    def _begun(self, name: str, now: datetime, folder: Path, mark: str) -> Visit:
        due = self._next(name, now)
        visit = self.log.begin(name, due if due.at <= now else None, now, folder, mark)
        late = f", for {due.moments} due moments" if visit.moments > 1 else ""
        logger.info("%s: visit %d begins%s", name, visit.number, late)
        return visit

    def _tell_of_length(self, name: str, now: datetime, interval: timedelta, *, keeps_to_it: bool) -> None:
        """Log how long a visit takes; notify people once if that exceeds its rhythm, until it fits again.

        A visit that begins late and is due again soon is no reason to change a rhythm that has the time.
        """
        if keeps_to_it:
            self._tell_once_of_length(name, now, "all of it does not fit before it is due again", _IN_TURN)
            return
        expected = expected_seconds(self.log, name)
        if expected is None:
            return
        takes = timedelta(seconds=round(expected))
        logger.info("%s: takes about %s, and is due every %s", name, takes, interval - interval % SECOND)
        if takes <= interval:
            self._too_long.discard(name)
        else:
            text = f"a visit takes about {takes}, and is due every {interval - interval % SECOND}"
            advice = "visits then stand for several due moments; give it a longer rhythm, `pages`, or limits"
            self._tell_once_of_length(name, now, text, advice)

    def _tell_once_of_length(self, name: str, now: datetime, text: str, advice: str) -> None:
        if name not in self._too_long:
            self._too_long.add(name)
            self._tell(Notice(now, name, "attention", f"{text}: {advice}"))

    def _is_made(self, visit: Visit) -> bool:
        told = self._crawls.told(visit.folder)
        return told.is_over and told.mark != visit.was

    def _conclude(self, name: str, each: _Open, now: datetime, told: CrawlTold, code: int = 0) -> None:
        """Record the end of a completed visit."""
        lacks = code == SEED_GAVE_NOTHING or told.lacks_a_seed
        outcome = Outcome.ATTENTION if lacks else Outcome.ENDED
        said = (told.seeds_in_words or each.said) if lacks else ""
        self._end(name, each, now, outcome, told, said)

    def _look_at(self, name: str, each: _Open, now: datetime) -> None:
        """Check an open visit and do what its state requires."""
        if name not in self.schedule.crawls and each.child is None:
            self._end(name, each, now, Outcome.DROPPED, CrawlTold())
            return
        if each.child is None:
            return
        code = each.child.poll()
        told = self._crawls.told(each.visit.folder)
        if code is None:
            self._tell_of_pause(name, each, now, told)
            return
        each.said, each.child = each.child.said, None
        if self._is_made(each.visit):
            self._conclude(name, each, now, told, code)
        elif self._ending:
            logger.info("%s: visit %d goes on next time", name, each.visit.number)
        elif code == 0 and told.mark != each.visit.was and told.state == "stopped":
            self._end(name, each, now, Outcome.STOPPED, told, "it was stopped by somebody; the next visit goes on")
        elif self._crawls.is_used(each.visit.folder):
            each.again_at = now + IN_USE
        else:
            self._failed(name, each, now, code, each.said)

    def _tell_of_pause(self, name: str, each: _Open, now: datetime, told: CrawlTold) -> None:
        if told.state == "paused" and told.mark != each.visit.was and told.reason != each.told_of_pause:
            each.told_of_pause = told.reason
            self._tell(Notice(now, name, "attention", f"its crawl waits: {told.reason}"))

    def _failed(self, name: str, each: _Open, now: datetime, code: int, said: str) -> None:
        """Try again, after a longer wait each time; give the visit up after ``attempts`` failures.

        If the crawl's last visit was given up, one failure is enough.
        """
        self.log.attempted(each.visit.number, now, code, said)
        failures = len(self.log.attempts(each.visit.number))
        before = next((past for past in self.log.visits(name, 2) if past.number != each.visit.number), None)
        most = 1 if before is not None and before.outcome is Outcome.FAILED else self.schedule.attempts
        words = f"exit code {code}" if code > 0 else f"killed by signal {-code}" if code else "its process is gone"
        logger.warning("%s: visit %d failed (%s): %s", name, each.visit.number, words, said.rpartition("\n")[2])
        if failures >= most:
            times = f"{failures} times in a row" if failures > 1 else "again"
            advice = "it is tried once at each due moment"
            told = self._crawls.told(each.visit.folder)
            self._end(name, each, now, Outcome.FAILED, told, f"failed {times} ({words}); {advice}:\n{said}")
            return
        each.again_at = now + min(self.schedule.retry * 2 ** min(failures - 1, 30), MAX_RETRY_WAIT)

    def _end(self, name: str, each: _Open, now: datetime, outcome: Outcome, told: CrawlTold, said: str = "") -> None:
        before = next((past for past in self.log.visits(name, 2) if past.number != each.visit.number), None)
        was_failing = before is not None and before.outcome is Outcome.FAILED
        found = found_in(each.visit.folder, told) if told.mark != each.visit.was else Found()
        visit = self.log.end(each.visit.number, now, outcome, said, found)
        self._open.pop(name, None)
        logger.info("%s: visit %d %s, %d pages", name, visit.number, outcome, found.pages)
        if name in self.schedule.crawls:
            self._due[name] = self._next(name, now)
            self._tell_of_end(visit, now, was_failing=was_failing)

    def _tell_of_end(self, visit: Visit, now: datetime, *, was_failing: bool) -> None:
        """Notify people of the end of a visit, but not of repeated failures."""
        outcome, found = visit.outcome, visit.found
        if outcome is None or (outcome is Outcome.FAILED and was_failing):
            return
        counts = f"{found.pages:,} pages, {found.new:,} new, {found.changed:,} changed, {found.gone:,} gone"
        text = visit.said if outcome is Outcome.FAILED else "\n".join(filter(None, (counts, visit.said)))
        occasion: Occasion = "failed" if was_failing else _OCCASIONS.get(outcome, "ended")
        again = "it does not fail any more: " if was_failing else ""
        self._tell(Notice(now, visit.entry, occasion, f"{again}{text}", outcome, found))
