"""What units tell, and a division of the schedule over them, as tables and JSON."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import TextIO

from aahcrawler.schedule.child_crawls import CrawlFolders
from aahcrawler.schedule.division import Division, Watched, divided
from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.schedule_plan import expected_seconds, planned
from aahcrawler.schedule.unit_client import HeldSite, UnitClient, UnitError, asked_together
from aahcrawler.schedule.unit_sharing import Heard, HeardUnit, clients_of
from aahcrawler.schedule.units_file import Units
from aahcrawler.schedule.visit_log import VisitLog
from aahcrawler.urls import canonicalize
from online_analysis.icd import IcdError

_MOST_SITES = 100_000
_WEEK = timedelta(days=7)
_ALL_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit: how it stands, how busy it is, and how many visits more a day it could make; None where not known."""

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
    """What a crawl of a unit holds of a site or a URL, and where its TimeMap is."""

    unit: str
    crawl: str = ""
    site: str = ""
    captures: int = 0
    since: datetime | None = None
    until: datetime | None = None
    time_map: str = ""
    problem: str = ""


Rows = Sequence[UnitRow] | Sequence[HeldRow]


def units(listed: Units, heard: Heard) -> Sequence[UnitRow]:
    """Return the units as they have told."""
    return [_unit(listed, name, heard.units.get(name, HeardUnit())) for name in listed.units]


def _unit(listed: Units, name: str, told: HeardUnit) -> UnitRow:
    unit = listed.units[name]
    if name == listed.name:
        return UnitRow(name, str(unit.url), unit.weight, "this one")
    state = "answers"
    if told.failing_since is not None:
        state = f"no answer since {told.failing_since:%Y-%m-%d %H:%M} UTC"
        state += ", others visit in its place" * told.is_silent(listed.silent_after)
    row = UnitRow(name, str(unit.url), unit.weight, state, problem=told.problem)
    capacity = told.capacity
    if capacity is None:
        return row
    visited = sum(each.is_visited for each in told.crawls.values())
    known = capacity.parallel, round(capacity.load, 4), capacity.more_visits, visited
    return UnitRow(name, row.url, row.weight, state, *known, told.problem)


def catalogue(listed: Units) -> Sequence[HeldRow]:
    """Ask the other units which sites they hold, since when; a unit that does not tell has a row with its problem."""

    def sites(client: UnitClient) -> list[HeldSite]:
        return list(islice(client.sites(), _MOST_SITES))

    answers = asked_together({name: partial(sites, client) for name, client in clients_of(listed).items()})
    rows: list[HeldRow] = []
    for name, answer in answers.items():
        if isinstance(answer, UnitError):
            rows.append(HeldRow(name, problem=str(answer)))
        else:
            rows += [HeldRow(name, each.crawl, each.site, each.captures, each.since, each.until) for each in answer]
    return rows


def versions(listed: Units, url: str) -> Sequence[HeldRow]:
    """Ask the other units who holds captures of a URL; a unit that does not tell has a row with its problem."""
    named = canonicalize(url) or url
    clients = clients_of(listed)
    answers = asked_together({name: partial(client.versions, named) for name, client in clients.items()})
    rows: list[HeldRow] = []
    for name, answer in answers.items():
        if isinstance(answer, UnitError):
            rows.append(HeldRow(name, problem=str(answer)))
            continue
        time_map = partial(clients[name].time_map, url=named)
        rows += [HeldRow(name, each.crawl, "", each.captures, each.first, each.last, time_map(each)) for each in answer]
    return rows


def proposed(
    schedule: Schedule, log: VisitLog, folders: CrawlFolders, listed: Units, heard: Heard, now: datetime
) -> Division:
    """Propose a division by the weights that units have by their capacity, or by the list where they told none.

    Visits are counted by the plan of a week as if one unit made all of them at once. How long they take is known by
    the log of this unit, or else by what the first of the others tells.
    """
    told = heard.units.values()
    seconds: dict[str, float | None] = {}
    for name in schedule.crawls:
        others = (each.crawls[name].seconds for each in told if name in each.crawls)
        known = expected_seconds(log, name)
        seconds[name] = known if known is not None else next((each for each in others if each is not None), None)
    week = planned(schedule, log, seconds, now, now + _WEEK, parallel=_ALL_AT_ONCE)
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
    return divided(crawls, {**listed.weights, **parallel}, parallel)


def write(rows: Rows, out: TextIO, *, as_json: bool) -> None:
    """Write rows a line each, with tabs between columns, or as JSON; times are in UTC."""
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
    """Write a division: each crawl, what each unit has to do, and the lines that the list of units is to have."""
    if as_json:
        placed = [
            {**each._asdict(), "held_by": sorted(each.held_by), "moves_to": each.moves_to} for each in proposal.placed
        ]
        loads = [{**each._asdict(), "busy": each.busy} for each in proposal.loads]
        _write_json({"crawls": placed, "units": loads, "stand_by": list(proposal.stand_by)}, out)
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
        out.write(f"{load.unit}: {load.crawls:,} crawls, {load.seconds / 3600:,.1f} hours a day, {busy}{too_much}\n")
    for name, told in heard.units.items():
        if told.problem:
            out.write(f"{name}: {told.problem}; its weight is that of the list\n")
    _write_lines(proposal, listed, out)


def _write_lines(proposal: Division, listed: Units, out: TextIO) -> None:
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
