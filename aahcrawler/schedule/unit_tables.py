"""Reports of units, and a division of the schedule over them, as tables and JSON."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO

from aahcrawler.page_index import PageIndex
from aahcrawler.schedule.child_crawls import CrawlFolders
from aahcrawler.schedule.division import Division, Watched, divided
from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.schedule_plan import Capacity, expected_seconds, planned, upcoming
from aahcrawler.schedule.unit_client import (
    NOT_VISITED,
    CapacityTold,
    HeardCrawl,
    HeldSite,
    HeldVersions,
    UnitClient,
    UnitError,
    asked_together,
)
from aahcrawler.schedule.unit_sharing import Heard, HeardUnit, Sharing, clients_of
from aahcrawler.schedule.units_file import Units
from aahcrawler.schedule.visit_log import VisitLog
from aahcrawler.segments import DamageError
from aahcrawler.tallies import plural
from aahcrawler.urls import canonicalize
from online_analysis.icd import IcdError

_MAX_SITES = 100_000
_MAX_VISITS = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WEEK = timedelta(days=7)
_ALL_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit: its state, its load, and how many more visits a day it could make; None if unknown."""

    unit: str
    url: str
    weight: float
    state: str
    parallel: int | None = None
    load: float | None = None
    more_visits: int | None = None
    crawls: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class HeldRow:
    """The captures that a crawl of a unit holds of a site or URL, and the address of their TimeMap."""

    unit: str
    crawl: str = ""
    site: str = ""
    captures: int = 0
    since: datetime | None = None
    until: datetime | None = None
    time_map: str = ""
    problem: str = ""


Rows = Sequence[UnitRow] | Sequence[HeldRow]


def units(listed: Units, heard: Heard, own: HeardUnit) -> Sequence[UnitRow]:
    """Return the units by their latest reports; ``own`` is the report of this unit (``own_figures``)."""
    return [_unit(listed, name, heard.units.get(name, HeardUnit()), own) for name in listed.units]


def own_figures(schedule: Schedule, log: VisitLog, sharing: Sharing, now: datetime) -> HeardUnit:
    """Return the report of this unit: its free capacity by a plan for a week, and its crawls.

    Crawls that are paused here, or that other units visit, count as not visited.
    """
    seconds = {name: expected_seconds(log, name) for name in schedule.crawls}
    plan = planned(schedule, log, seconds, now, now + _WEEK, most=_MAX_VISITS, rhythm_of=sharing.rhythm)
    rows = upcoming(schedule, log, now, rhythm_of=sharing.rhythm)
    crawls = {each.name: HeardCrawl(is_visited=each.state not in NOT_VISITED) for each in rows}
    capacity = CapacityTold.model_validate(asdict(Capacity.of(plan, seconds)))
    return HeardUnit(asked_at=now, capacity=capacity, crawls=crawls)


def _unit(listed: Units, name: str, told: HeardUnit, own: HeardUnit) -> UnitRow:
    unit = listed.units[name]
    state = "answers"
    if name == listed.name:
        told, state = own, "this one"
    elif told.failing_since is not None:
        state = f"no answer since {told.failing_since:%Y-%m-%d %H:%M} UTC"
        state += ", others visit in its place" * told.is_silent(listed.silent_after)
    elif told.unattended_since is not None:
        state = f"nobody runs aah schedule run there since {told.unattended_since:%Y-%m-%d %H:%M} UTC"
        state += ", others visit in its place" * told.is_unattended(listed.silent_after)
    row = UnitRow(name, str(unit.url), unit.weight, state, problem=told.problem)
    capacity = told.capacity
    if capacity is None:
        return row
    visited = sum(each.is_visited for each in told.crawls.values())
    known = capacity.parallel, round(capacity.load, 4), capacity.more_visits, visited
    return UnitRow(name, row.url, row.weight, state, *known, told.problem)


def catalogue(listed: Units) -> Sequence[HeldRow]:
    """Ask the other units for the sites that they hold; a unit that does not respond gets a row with its problem."""

    def sites(client: UnitClient) -> list[HeldSite]:
        return list(islice(client.sites(), _MAX_SITES))

    results = asked_together({name: partial(sites, client) for name, client in clients_of(listed).items()})
    rows: list[HeldRow] = []
    for name, result in results.items():
        if isinstance(result, UnitError):
            rows.append(HeldRow(name, problem=str(result)))
        else:
            rows += [HeldRow(name, each.crawl, each.site, each.captures, each.since, each.until) for each in result]
    return rows


def versions(listed: Units, url: str, own: Iterable[Path]) -> Sequence[HeldRow]:
    """Return which crawls hold captures of a URL: those in this unit's folders ``own``, and those of other units.

    A unit that does not respond, and a folder that cannot be read, gets a row with its problem.
    """
    named = canonicalize(url) or url
    clients = clients_of(listed)
    results = asked_together({name: partial(client.versions, named) for name, client in clients.items()})
    rows = [row for folder in sorted(set(own)) for row in _own_versions(listed, named, folder)]
    for name, result in results.items():
        if isinstance(result, UnitError):
            rows.append(HeldRow(name, problem=str(result)))
            continue
        time_map = partial(clients[name].time_map, url=named)
        rows += [HeldRow(name, each.crawl, "", each.captures, each.first, each.last, time_map(each)) for each in result]
    return rows


def _own_versions(listed: Units, url: str, folder: Path) -> Iterator[HeldRow]:
    if not folder.is_dir():
        return  # It was never visited here.
    try:
        with PageIndex(folder) as index:
            while index.step():
                pass
            with index.asked() as base:
                statement = "SELECT count(*), min(at), max(at) FROM capture WHERE url = ?"
                captures, first, last = base.execute(statement, (url,)).fetchone()
    except (DamageError, OSError, sqlite3.Error) as error:
        yield HeldRow(listed.name, folder.name, problem=f"{folder}: {error}")
        return
    if captures:
        since, until = (_EPOCH + timedelta(microseconds=each) for each in (first, last))
        replay = listed.units[listed.name]
        held = HeldVersions(crawl=folder.name, captures=captures, first=since, last=until)
        yield HeldRow(listed.name, folder.name, "", captures, since, until, UnitClient(replay).time_map(held, url))


def proposed(
    schedule: Schedule, log: VisitLog, folders: CrawlFolders, listed: Units, heard: Heard, now: datetime
) -> Division:
    """Propose a division in which a unit's weight is the number of crawls that it runs at once.

    If some unit never reported that number, the weights in the list are used for all units, since the two scales cannot
    be mixed. Visits are counted by a plan for a week in which one unit makes all of them at once. Their durations come
    from this unit's log, or else from the first other unit that reports one.
    """
    told = heard.units.values()
    seconds: dict[str, float | None] = {}
    for name in schedule.crawls:
        others = (each.crawls[name].seconds for each in told if name in each.crawls)
        known = expected_seconds(log, name)
        seconds[name] = known if known is not None else next((each for each in others if each is not None), None)
    # A pause will end, and a division is to last.
    week = planned(schedule, log, seconds, now, now + _WEEK, parallel=_ALL_AT_ONCE, resting=frozenset())
    counts = Counter(each.name for each in week.visits)
    days = (week.until - now) / timedelta(days=1)
    added = log.known_since()
    crawls = []
    for name, entry in schedule.crawls.items():
        try:
            site = folders.site(entry)
        except IcdError:
            site = ""
        interval = entry.rhythm.interval(log.past(name, added.get(name, now)))
        held = [unit for unit, each in heard.units.items() if name in each.crawls and each.crawls[name].begun_at]
        own = [listed.name] * bool(log.visits(name, 1))
        visits = counts[name] / days if days else 0.0
        crawls.append(Watched(name, site, frozenset((*held, *own)), interval, seconds[name], visits))
    parallel = {name: each.capacity.parallel for name, each in heard.units.items() if each.capacity is not None}
    parallel[listed.name] = schedule.parallel
    unknown = [name for name in listed.units if name not in parallel]
    return replace(divided(crawls, listed.weights if unknown else parallel, parallel), unknown=unknown)


def write(rows: Rows, out: TextIO, *, as_json: bool) -> None:
    """Write rows as tab-separated lines or as JSON; times are in UTC."""
    if as_json:
        _write_json([asdict(each) for each in rows], out)
        return
    if not rows:
        out.write("nothing\n")
        return
    titles = list(asdict(rows[0]))
    out.write("\t".join(titles) + "\n")
    for row in rows:
        out.write("\t".join(map(_cell, asdict(row).values())) + "\n")


def write_division(proposal: Division, listed: Units, heard: Heard, out: TextIO, *, as_json: bool) -> None:
    """Write a division: the units of each crawl, the load of each unit, and the lines to put into the list of units."""
    if as_json:
        placed = [
            {**each._asdict(), "held_by": sorted(each.held_by), "moves_to": each.moves_to} for each in proposal.placed
        ]
        loads = [{**each._asdict(), "busy": each.busy} for each in proposal.loads]
        _write_json(
            {"crawls": placed, "units": loads, "stand_by": list(proposal.stand_by), "unknown": list(proposal.unknown)},
            out,
        )
        return
    out.write("crawl\tsite\tfirst\tsecond\thow\theld by\tbegins at\n")
    for each in proposal.placed:
        first, second = (*each.units, "-", "-")[:2]
        how = "alone" if second == "-" else "second stands by" if each.stands_by else "in turn"
        held, begins = ", ".join(sorted(each.held_by)) or "-", ", ".join(each.moves_to) or "-"
        out.write(f"{each.name}\t{each.site or '-'}\t{first}\t{second}\t{how}\t{held}\t{begins}\n")
    for load in proposal.loads:
        busy = "nobody knows how busy" if load.busy is None else f"busy {load.busy:.0%}"
        too_much = ": more than it can do" if (load.busy or 0.0) > 1 else ""
        out.write(
            f"{load.unit}: {plural(load.crawls, 'crawl')}, {load.seconds / 3600:,.1f} hours a day, {busy}{too_much}\n"
        )
    for name, told in heard.units.items():
        if told.problem:
            out.write(f"{name}: {told.problem}\n")
    _write_lines(proposal, listed, out)


def _write_lines(proposal: Division, listed: Units, out: TextIO) -> None:
    if proposal.unknown:
        names = ", ".join(proposal.unknown)
        out.write(f"nobody knows how many crawls run at once at {names}: the division stays as it is\n")
        return
    weights = {each.unit: each.weight for each in proposal.loads}
    if weights == dict(listed.weights) and set(proposal.stand_by) == set(listed.stand_by):
        out.write("the list of units says so already\n")
        return
    out.write("write in the list of units, on all machines:\n")
    for name, weight in weights.items():
        out.write(f"  units.{name}.weight: {weight:g}\n")
    out.write(f"  stand_by: [{', '.join(proposal.stand_by)}]\n")


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    text = "-" if value is None or value == "" else f"{value:g}" if isinstance(value, float) else str(value)
    return "".join(each if each.isprintable() else " " for each in text)


def _write_json(content: Mapping[str, object] | Sequence[object], out: TextIO) -> None:
    json.dump(content, out, indent=1, default=datetime.isoformat, ensure_ascii=False)
    out.write("\n")
