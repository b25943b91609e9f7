"""Which part of a schedule this unit visits, by the list of units and by what the other units report.

Reports are trusted little: no report keeps this unit from visiting its own part. A unit counts as silent when requests
to it have failed in a row for long enough, not by the time since its last response: a machine that slept made no
requests.
"""

import logging
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import AwareDatetime, Field, ValidationError

from aahcrawler.schedule.child_crawls import CrawlFolders
from aahcrawler.schedule.division import rhythm_of_part, units_of
from aahcrawler.schedule.rhythms import WHOLE, Rhythm, Turn
from aahcrawler.schedule.schedule_file import Entry
from aahcrawler.schedule.unit_client import (
    RESPONSE_SECONDS,
    CapacityTold,
    HeardCrawl,
    HeardSchedule,
    HeardVisit,
    Told,
    UnitClient,
    UnitError,
    asked_together,
)
from aahcrawler.schedule.units_file import Units
from aahcrawler.schedule.visit_log import ALL, Visit, VisitLog
from aahcrawler.segments import private
from aahcrawler.tallies import plural
from online_analysis.icd import IcdError

logger = logging.getLogger(__name__)
MAX_UNHEARD: Final = 1_000
"""The most visits that are kept of those that one unit made while it was silent; older ones are dropped."""


class HeardUnit(Told):
    """The last report of another unit.

    ``asked_at`` is the time of the last request. ``failing_since`` is the time of the first request that failed since
    the last response, None if the last request succeeded; ``problem`` says why it failed. ``unattended_since`` is the
    time of the first response since which no process runs its schedule, None if one does. ``unheard`` are visits that
    the unit made while others visited in its place, as it reported afterwards.
    """

    asked_at: AwareDatetime | None = None
    failing_since: AwareDatetime | None = None
    unattended_since: AwareDatetime | None = None
    problem: str = ""
    capacity: CapacityTold | None = None
    crawls: Mapping[str, HeardCrawl] = Field(default_factory=dict)
    unheard: tuple[HeardVisit, ...] = Field(default=(), max_length=MAX_UNHEARD)

    def is_silent(self, after: timedelta) -> bool:
        """Return whether the unit has been silent for so long that another visits in its place."""
        return (
            self.asked_at is not None and self.failing_since is not None and self.asked_at - self.failing_since >= after
        )

    def is_unattended(self, after: timedelta) -> bool:
        """Return whether the unit responds, but no process has run its schedule for so long."""
        since = self.unattended_since
        return self.asked_at is not None and since is not None and self.asked_at - since >= after


class Heard(Told):
    """The last reports of all other units, kept in a file beside the schedule."""

    units: Mapping[str, HeardUnit] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "Heard":
        """Read the file; return no reports if it is missing or cannot be read."""
        try:
            return cls.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return cls()

    def save(self, path: Path) -> None:
        """Replace the file by these reports, or leave it unchanged if that fails."""
        part = path.with_name(f".{path.name}.part")
        with open(part, "w", encoding="utf-8", opener=private) as file:
            file.write(self.model_dump_json())
        part.replace(path)


def clients_of(units: Units) -> Mapping[str, UnitClient]:
    """Return the clients of all units but this one."""
    return {name: UnitClient(unit, units.allow_private) for name, unit in units.others.items()}


UnitReport = tuple[CapacityTold, HeardSchedule, tuple[HeardVisit, ...]]


def heard_from(units: Units, before: Heard, now: datetime) -> Heard:
    """Request reports of all other units; return them, with the former report of a unit that does not respond.

    A unit that responds again after others visited in its place reports what it visited meanwhile.
    """

    def asked(name: str, client: UnitClient) -> Callable[[], UnitReport]:
        known = before.units.get(name, HeardUnit())
        since = known.failing_since if known.is_silent(units.silent_after) else None

        def ask() -> UnitReport:
            told = client.capacity(), client.schedule(now, units.silent_after)
            return *told, () if since is None else client.visits(since, now)

        return ask

    results = asked_together({name: asked(name, client) for name, client in clients_of(units).items()})
    found: dict[str, HeardUnit] = {}
    for name, result in results.items():
        known = before.units.get(name, HeardUnit())
        if isinstance(result, UnitError):
            failing = {"asked_at": now, "failing_since": known.failing_since or now, "problem": str(result)}
            found[name] = known.model_copy(update=failing)
        else:
            capacity, schedule, visits = result
            since = None if schedule.is_looked_after else known.unattended_since or now
            unheard = (*known.unheard, *sorted(visits, key=lambda each: each.begun_at))[-MAX_UNHEARD:]
            found[name] = HeardUnit(
                asked_at=now, unattended_since=since, capacity=capacity, crawls=schedule.crawls, unheard=unheard
            )
    return Heard(units=found)


class Part(NamedTuple):
    """The part of a crawl that this unit visits: its ``turn``, None for nothing.

    ``other`` is the other unit that visits it, empty if there is none. ``instead`` says why this unit visits in the
    other's place, empty if it does not.
    """

    turn: Turn | None
    other: str = ""
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Which part of a schedule this unit visits, by the list of units and the last reports of the others."""

    units: Units
    folders: CrawlFolders
    heard: Heard = field(default_factory=Heard)

    def part(self, name: str, entry: Entry) -> Part:
        """Return the part of a crawl; it includes the other unit's if that one is silent, or does not visit it."""
        try:
            site = self.folders.site(entry)
        except IcdError:
            site = ""
        pair = units_of(site or name, self.units.weights)
        if self.units.name not in pair:
            return Part(None)
        other = next((each for each in pair if each != self.units.name), "")
        if not other:
            return Part(WHOLE)
        instead = self._lacking(other, name)
        if instead:
            return Part(WHOLE, other, instead)
        if name in self.units.stand_by:
            return Part(WHOLE if pair[0] == self.units.name else None, other)
        return Part(Turn(pair.index(self.units.name), 2), other)

    def in_words(self, name: str, entry: Entry) -> str:
        """Return in words what this unit visits of a crawl."""
        part = self.part(name, entry)
        if part.turn is None:
            return f"{part.other} visits it, {self.units.name} stands by" if part.other else "other units visit it"
        if part.instead:
            return f"all of it: {part.instead}"
        return f"in turn with {part.other}" if part.turn.of > 1 else f"all of it; {part.other or 'nobody'} stands by"

    def rhythm(self, name: str, entry: Entry) -> Rhythm:
        """Return when a crawl is due at this unit."""
        part = self.part(name, entry)
        told = self.heard.units.get(part.other, HeardUnit()).crawls.get(name)
        return rhythm_of_part(entry.rhythm, name, part.turn, told.begun_at if told is not None else None)

    def beside(self, log: VisitLog, visit: Visit, entry: Entry) -> str:
        """Return which other unit made a visit as well while it was silent, and when; empty if none did.

        It did if it began a visit within half an interval of this one.
        """
        reach = entry.rhythm.interval(log.past(visit.entry, visit.begun_at)) / 2
        found = [
            (abs(each.begun_at - visit.begun_at), name, each.begun_at)
            for name, heard in self.heard.units.items()
            for each in heard.unheard
            if each.name == visit.entry and abs(each.begun_at - visit.begun_at) < reach
        ]
        if not found:
            return ""
        _, name, at = min(found)
        return f"{name} made it as well, at {at:%Y-%m-%d %H:%M:%S} UTC, while it could not be heard"

    def made_twice(self, log: VisitLog, crawls: Mapping[str, Entry]) -> Mapping[str, int]:
        """Return how many of each crawl's last visits another unit made as well."""
        heard = {each.name for unit in self.heard.units.values() for each in unit.unheard}
        names = [name for name in crawls if name in heard]
        found = {name: sum(bool(self.beside(log, each, crawls[name])) for each in log.visits(name)) for name in names}
        return {name: number for name, number in found.items() if number}

    def taken_over(self, crawls: Iterable[tuple[str, Entry]]) -> Mapping[str, list[str]]:
        """Return the crawls that this unit visits in place of others, by the reason."""
        found: dict[str, list[str]] = {}
        for name, entry in crawls:
            instead = self.part(name, entry).instead
            if instead:
                found.setdefault(instead, []).append(name)
        return found

    def _lacking(self, other: str, name: str) -> str:
        """Return why the other unit does not visit a crawl; empty if it does, or that is unknown."""
        heard = self.heard.units.get(other)
        if heard is None or heard.asked_at is None:
            return ""
        if heard.is_silent(self.units.silent_after):
            return f"{other} has not answered since {heard.failing_since:%Y-%m-%d %H:%M} UTC"
        if heard.failing_since is not None and heard.capacity is None:
            return ""  # It has never answered, and still may.
        if heard.is_unattended(self.units.silent_after):
            return f"nobody runs aah schedule run at {other} since {heard.unattended_since:%Y-%m-%d %H:%M} UTC"
        told = heard.crawls.get(name)
        return "" if told is not None and told.is_visited else f"{other} does not visit it, as it tells"


def summary(names: Sequence[str], most: int = 5) -> str:
    """Return names in words; of many, the first ones and the number of the others.

    >>> summary("abcdefg")
    'a, b, c, d, e and 2 others'
    """
    return ", ".join(names[:most]) + (f" and {plural(len(names) - most, 'other')}" if len(names) > most else "")


@dataclass(slots=True)
class UnitWatch:
    """Requests reports of other units from time to time, in a thread of its own, and reports changes.

    That thread calls ``woken`` when reports have arrived.
    """

    kept: Path
    folders: CrawlFolders
    woken: Callable[[], None] = lambda: None
    sharing: Sharing | None = None
    _told: Mapping[str, list[str]] = field(default_factory=dict)
    _heard: Heard | None = None
    _thread: threading.Thread | None = None

    def follow(self, units: Units | None) -> None:
        """Use another list of units from now on; with None, there are no others, and this unit visits everything."""
        heard = self.sharing.heard if self.sharing is not None else Heard.load(self.kept)
        self.sharing = None if units is None else Sharing(units, self.folders, heard)

    def rhythm(self, name: str, entry: Entry) -> Rhythm:
        """Return when a crawl is due at this unit."""
        return entry.rhythm if self.sharing is None else self.sharing.rhythm(name, entry)

    def ask(self, now: datetime) -> None:
        """Begin to request reports if that is due and no request is under way; do not wait for responses."""
        if self.sharing is None or not self.sharing.units.others or (self._thread and self._thread.is_alive()):
            return
        units, heard = self.sharing.units, self.sharing.heard
        last = max((each.asked_at for each in heard.units.values() if each.asked_at), default=None)
        every = min(timedelta(minutes=10), units.silent_after / 4)
        if last is not None and last <= now < last + every and set(heard.units) == set(units.others):
            return

        def run() -> None:
            self._heard = heard_from(units, heard, now)
            self.woken()

        self._thread = threading.Thread(target=run, daemon=True, name="units")
        self._thread.start()

    def wait(self) -> None:
        """Wait until the requests that are under way have ended; they are bounded in time."""
        if self._thread is not None:
            self._thread.join(2 * RESPONSE_SECONDS)

    def take(self, crawls: Mapping[str, Entry], log: VisitLog, paused: Container[str] = ()) -> Iterator[str] | None:
        """Take over reports that have arrived, and yield what people are to be told of them; None if none have arrived.

        For crawls that are ``paused`` here (with ``ALL`` among them: all crawls), this unit steps in for nobody.
        ``log`` has this unit's visits, which are compared with those that others report.
        """
        heard, self._heard = self._heard, None
        if heard is None or self.sharing is None:
            return None
        twice = self.sharing.made_twice(log, crawls)
        self.sharing = Sharing(self.sharing.units, self.folders, heard)
        try:
            heard.save(self.kept)
        except OSError as error:
            logger.warning("%s: what other units told cannot be kept: %s", self.kept, error)
        before, self._told = self._told, self.sharing.taken_over(crawls.items())
        more = {name: number - twice.get(name, 0) for name, number in self.sharing.made_twice(log, crawls).items()}
        return chain(self._news(before, self._told, paused), _doubled(more))

    @staticmethod
    def _news(before: Mapping[str, list[str]], after: Mapping[str, list[str]], paused: Container[str]) -> Iterator[str]:
        for why, names in after.items():
            if set(names) - set(before.get(why, ())):
                visited = [each for each in names if each not in paused and ALL not in paused]
                here = f"{_are(len(visited))} visited here in its place" + f" ({summary(visited)})" * bool(visited)
                rest = len(names) - len(visited)
                yield f"{why}: {here}" + (f"; {_are(rest)} paused here" if rest else "")
        taken = {name for names in after.values() for name in names}
        for why, names in before.items():
            back = [each for each in names if each not in taken]
            if why not in after and back:
                yield f"no longer: {why}; {_are(len(back))} visited in turn again"


def _doubled(more: Mapping[str, int]) -> Iterator[str]:
    names = [f"{name} ({number:,})" for name, number in more.items() if number > 0]
    if names:
        yield f"visits that another unit made as well while it could not be heard: {summary(names)}; aah schedule log"


def _are(crawls: int) -> str:
    return f"{plural(crawls, 'crawl')} {'is' if crawls == 1 else 'are'}"
