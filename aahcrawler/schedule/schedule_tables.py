"""What a schedule did, and what it will do, as tables and JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TextIO

from aahcrawler.revisits.rate_priors import Ground
from aahcrawler.schedule.page_intervals import Demand
from aahcrawler.schedule.rhythms import Due, Past, in_words
from aahcrawler.schedule.schedule_file import Entry, Schedule
from aahcrawler.schedule.schedule_plan import Plan
from aahcrawler.schedule.visit_log import ALL, Found, Outcome, Visit, VisitLog


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A crawl of a schedule: when it is due next, and its newest visit.

    ``state`` is what keeps it from its next visit, or what it waits for. Where it is due for several moments that
    passed, one visit makes up for all ``moments``. ``why`` says what tells its adaptive rhythm, or those of its pages
    as its newest crawl began; it is empty where the schedule itself gives the times.
    """

    name: str
    rhythm: str
    state: str
    due_at: datetime | None
    moments: int
    begun_at: datetime | None = None
    outcome: Outcome | None = None
    found: Found | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class VisitRow:
    """A visit, and how many attempts at it failed."""

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


def upcoming(schedule: Schedule, log: VisitLog, now: datetime) -> list[Upcoming]:
    """Return the crawls of a schedule, those that run first, then as they are due."""
    added, paused, wanted = log.known_since(), log.paused(), log.wanted()
    under_way = {each.entry: each for each in log.open_visits()}
    found = []
    for name, entry in schedule.crawls.items():
        past = log.past(name, added.get(name, now))
        due = entry.rhythm.due(past, now)
        visit = under_way.get(name) or next(iter(log.visits(name, 1)), None)
        state = _state(name, due, now, under_way, wanted, paused)
        row = Upcoming(name, in_words(entry), state, due.at, due.moments, why=_why(entry, past, visit))
        if visit is not None:
            seen = visit.found if visit.outcome else None
            row = replace(row, begun_at=visit.begun_at, outcome=visit.outcome, found=seen)
        found.append(row)
    return sorted(found, key=lambda each: (each.state != "under way", each.due_at or now, each.name))


def _why(entry: Entry, past: Past, visit: Visit | None) -> str:
    """Return what tells when an entry is due, and when its pages are."""
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
    return "due" if due.at <= now else "waits"


def visit_rows(log: VisitLog, name: str, most: int) -> list[VisitRow]:
    """Return the newest visits, of one crawl or of all, the newest first."""
    return [visit_row(log, each) for each in log.visits(name, most)]


def visit_row(log: VisitLog, visit: Visit) -> VisitRow:
    """Return a visit with its failed attempts."""
    return VisitRow(
        visit.number, visit.entry, visit.due_at, visit.moments, visit.begun_at, visit.ended_at,
        visit.outcome or "under way", len(log.attempts(visit.number)), visit.found, visit.said,
    )  # fmt: skip


def write_json(rows: Sequence[Upcoming] | Sequence[VisitRow], out: TextIO) -> None:
    """Write rows as JSON; times are ISO 8601 in UTC."""
    json.dump([asdict(each) for each in rows], out, indent=1, default=datetime.isoformat, ensure_ascii=False)
    out.write("\n")


def write_upcoming(rows: Sequence[Upcoming], out: TextIO) -> None:
    """Write crawls a line each, with tabs between columns."""
    out.write("crawl\tstate\tnext (UTC)\trhythm\tlast (UTC)\tended\tpages\tchanged\twhy then\n")
    for each in rows:
        counts = (f"{each.found.pages}", f"{each.found.changed + each.found.new}") if each.found else ("-", "-")
        columns = (each.name, each.state, _minute(each.due_at), each.rhythm, _minute(each.begun_at))
        out.write("\t".join((*columns, each.outcome or "-", *counts, each.why or "-")) + "\n")


def write_visits(rows: Sequence[VisitRow], out: TextIO) -> None:
    """Write visits a line each, with tabs between columns."""
    out.write("visit\tcrawl\tdue (UTC)\tfor\tbegan\tended\thow\tfailures\tpages\tnew\tchanged\tgone\tseconds\n")
    for each in rows:
        found = each.found
        counts = (each.failures, found.pages, found.new, found.changed, found.gone, round(found.seconds))
        due = _minute(each.due_at) if each.due_at else "asked for"
        columns = (each.number, each.name, due, each.moments or "-", _minute(each.begun_at), _minute(each.ended_at))
        out.write("\t".join(map(str, (*columns, each.outcome, *counts))) + "\n")


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "-"


def write_plan(plan: Plan, out: TextIO) -> None:
    """Write the visits of a plan a line each, with tabs between columns, and how busy the schedule is."""
    out.write("crawl\tdue (UTC)\tbegins\tends\tminutes\tfits\n")
    for each in plan.visits:
        ends, takes = ("?", "?") if each.seconds is None else (_minute(each.ends_at), f"{each.seconds / 60:.1f}")
        fits = "?" if each.seconds is None else "yes" if each.fits else f"no: due again at {_minute(each.next_at)}"
        out.write(f"{each.name}\t{_minute(each.due_at)}\t{_minute(each.begins_at)}\t{ends}\t{takes}\t{fits}\n")
    late = sum(each.begins_at > each.due_at and each.due_at >= plan.now for each in plan.visits)
    missed = sum(not each.fits for each in plan.visits)
    unknown = sum(each.seconds is None for each in plan.visits)
    said = f"visits: {len(plan.visits):,}; too long for their rhythm: {missed:,}; begun late: {late:,}"
    busy = f"{plan.parallel} crawls at once, busy {plan.load:.0%} of the time"
    out.write(f"{said}; {busy}{f'; of {unknown:,} nobody knows how long they take' if unknown else ''}\n")


def write_plan_json(plan: Plan, out: TextIO) -> None:
    """Write the visits of a plan as JSON."""
    rows = [{**asdict(each), "ends_at": each.ends_at, "fits": each.fits} for each in plan.visits]
    content = {"parallel": plan.parallel, "load": round(plan.load, 4), "until": plan.until, "visits": rows}
    json.dump(content, out, indent=1, default=datetime.isoformat, ensure_ascii=False)
    out.write("\n")
