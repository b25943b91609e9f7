"""What a schedule did, and what it will do, as tables and JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, TextIO

from aahcrawler.revisits.rate_priors import Ground
from aahcrawler.schedule.division import NEVER
from aahcrawler.schedule.page_intervals import Demand
from aahcrawler.schedule.page_rhythms import DuePages
from aahcrawler.schedule.rhythms import Due, Past, in_words
from aahcrawler.schedule.schedule_file import Entry, Schedule
from aahcrawler.schedule.schedule_plan import Plan, RhythmOf, whole_rhythm
from aahcrawler.schedule.visit_log import ALL, Found, Outcome, Visit, VisitLog

FAULTY: Final = "has mistakes"
"""The state of a crawl whose entry or definition cannot be used."""


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A crawl of a schedule: when it is due next, and its newest visit.

    ``state`` is what keeps it from its next visit, or what it waits for. Where it is due for several moments that
    passed, one visit makes up for all ``moments``. ``grounds`` say what tells its adaptive rhythm, or those of its
    pages as its newest crawl began; they are empty where the schedule itself gives the times. ``fault`` is what is
    wrong with its entry or definition, because of which no visit begins; ``due_at`` is None where nobody knows when it
    is due, or others visit it.
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

    @property
    def why(self) -> str:
        """Why its next visit is at that moment, in words."""
        if self.fault:
            return f"no visit begins: {self.fault}"
        reasons = {
            "under way": "a visit has not ended yet",
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


def upcoming(
    schedule: Schedule,
    log: VisitLog,
    now: datetime,
    faults: Mapping[str, str] = MappingProxyType({}),
    rhythm_of: RhythmOf = whole_rhythm,
) -> list[Upcoming]:
    """Return the crawls of a schedule, those that run first, then as they are due.

    ``faults`` are those of crawls, some of which it may not have for their mistakes.
    """
    added, paused, wanted = log.known_since(), log.paused(), log.wanted()
    under_way = {each.entry: each for each in log.open_visits()}
    found = []
    for name, entry in schedule.crawls.items():
        past = log.past(name, added.get(name, now))
        due = rhythm_of(name, entry).due(past, now)
        visit = under_way.get(name) or next(iter(log.visits(name, 1)), None)
        state = _state(name, due, now, under_way, wanted, paused)
        fault = faults.get(name, "")
        if fault and state != "under way":
            state = FAULTY
        due_at = None if due.at == NEVER else due.at
        grounds = _grounds(entry, past, visit)
        row = Upcoming(name, in_words(entry), state, due_at, due.moments, grounds=grounds, fault=fault)
        if visit is not None:
            ended = visit.found if visit.outcome else None
            row = replace(row, begun_at=visit.begun_at, outcome=visit.outcome, found=ended)
        found.append(row)
    found += [
        Upcoming(name, "-", FAULTY, None, 0, fault=faults[name]) for name in faults if name not in schedule.crawls
    ]
    return sorted(found, key=lambda each: (each.state != "under way", each.due_at or NEVER, each.name))


def _grounds(entry: Entry, past: Past, visit: Visit | None) -> str:
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
    if due.at == NEVER:
        return "elsewhere"
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
    """Write crawls a line each, with tabs between columns, and below them what is wrong with some."""
    out.write("crawl\tstate\tnext (UTC)\trhythm\tlast (UTC)\tended\tpages\tchanged\twhy then\n")
    for each in rows:
        counts = (f"{each.found.pages}", f"{each.found.changed + each.found.new}") if each.found else ("-", "-")
        columns = (each.name, each.state, _minute(each.due_at), each.rhythm, _minute(each.begun_at))
        out.write("\t".join((*columns, each.outcome or "-", *counts, each.grounds or "-")) + "\n")
    for each in rows:
        if each.fault:
            out.write(f"{each.name}: no visit begins: {each.fault}\n")


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


def write_plan(plan: Plan, fitting: Mapping[str, DuePages], out: TextIO) -> None:
    """Write the visits of a plan a line each, with tabs between columns, and how busy the schedule is.

    ``fitting`` is how many pages fit of crawls that do not fit as a whole.
    """
    out.write("crawl\tdue (UTC)\tbegins\tends\tminutes\tfits\n")
    for each in plan.visits:
        ends, takes = ("?", "?") if each.seconds is None else (_minute(each.ends_at), f"{each.seconds / 60:.1f}")
        fits = "?" if each.seconds is None else "yes" if each.fits else f"no: due again at {_minute(each.next_at)}"
        out.write(f"{each.name}\t{_minute(each.due_at)}\t{_minute(each.begins_at)}\t{ends}\t{takes}\t{fits}\n")
    for name, pages in fitting.items():
        all_of_them = pages.due + pages.left_over
        out.write(f"{name}: {pages.due:,} of {all_of_them:,} known pages fit, those that waited longest first\n")
    late = sum(each.begins_at > each.due_at and each.due_at >= plan.now for each in plan.visits)
    missed = sum(not each.fits for each in plan.visits)
    unknown = sum(each.seconds is None for each in plan.visits)
    said = f"visits: {len(plan.visits):,}; too long for their rhythm: {missed:,}; begun late: {late:,}"
    busy = f"{plan.parallel} crawls at once, busy {plan.load:.0%} of the time"
    out.write(f"{said}; {busy}{f'; of {unknown:,} nobody knows how long they take' if unknown else ''}\n")


def write_plan_json(plan: Plan, fitting: Mapping[str, DuePages], out: TextIO) -> None:
    """Write the visits of a plan as JSON."""
    rows = [{**asdict(each), "ends_at": each.ends_at, "fits": each.fits} for each in plan.visits]
    fit = {name: {"fit": pages.due, "known": pages.due + pages.left_over} for name, pages in fitting.items()}
    load = round(plan.load, 4)
    content = {"parallel": plan.parallel, "load": load, "until": plan.until, "visits": rows, "fitting": fit}
    json.dump(content, out, indent=1, default=datetime.isoformat, ensure_ascii=False)
    out.write("\n")
