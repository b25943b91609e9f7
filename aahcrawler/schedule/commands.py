"""``aah schedule``: recurring crawls.

Each command imports its modules when it is called, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

import sys
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aahcrawler.exits import MISTAKE, exit_on_error

if TYPE_CHECKING:
    from aahcrawler.schedule.schedule_file import Entry
    from aahcrawler.schedule.schedule_plan import Upcoming

schedule_app = typer.Typer(
    name="schedule",
    help="Crawl again and again: at set times, or as often as sites change.",
    no_args_is_help=True,
)

ScheduleFile = Annotated[
    Path,
    typer.Option("--file", "-f", metavar="FILE", help="The schedule; crawls run in its folder, with its log."),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a crawl in the schedule.")]
Parallel = Annotated[
    int | None,
    typer.Option("--parallel", metavar="N", min=1, max=1000, help="N crawls run at once, whatever the schedule says."),
]
_DEFAULT = Path("schedule.yaml")


@schedule_app.command()
def check(file: ScheduleFile = _DEFAULT) -> None:
    """Check a schedule, its list of units and the definitions it names: a line for each mistake, and what to write."""
    from aahcrawler.schedule.schedule_check import check_schedule
    from aahcrawler.schedule.schedule_file import Schedule
    from aahcrawler.schedule.schedule_run import Place
    from online_analysis.icd import IcdError

    with exit_on_error(IcdError):
        mistakes = check_schedule(file, Place(file).units)
        for mistake in mistakes:
            typer.echo(mistake, err=True)
        if mistakes:
            raise typer.Exit(MISTAKE)
        typer.echo(f"{file}: no mistakes; crawls: {len(Schedule.load(file).crawls):,}")


@schedule_app.command("list")
def list_crawls(
    file: ScheduleFile = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """List crawls with their rhythm, their last visit, and when and why the next one is due; the next one first.

    Crawls whose entry or definition has mistakes are listed with the first of them, and so is a file that cannot be
    used; the exit code is 2 then.
    """
    from aahcrawler.schedule.schedule_plan import write_json, write_upcoming
    from aahcrawler.schedule.schedule_run import Place

    found = _upcoming(file)
    write = write_json if as_json else write_upcoming
    write(found, sys.stdout)
    if not Place(file).is_looked_after:
        typer.echo(f"{file}: nobody looks after this schedule: aah schedule run --file {file}", err=True)
    if any(each.fault for each in found):
        raise typer.Exit(MISTAKE)


def _upcoming(file: Path) -> "list[Upcoming]":
    """Return the crawls of a schedule.

    If the file cannot be used, the first row says why, and others come from the log.
    """
    from contextlib import ExitStack, suppress
    from dataclasses import replace
    from datetime import UTC, datetime

    from aahcrawler.schedule.child_crawls import CrawlFolders
    from aahcrawler.schedule.schedule_file import Schedule
    from aahcrawler.schedule.schedule_plan import UNUSABLE, broken, upcoming, whole_rhythm
    from aahcrawler.schedule.schedule_run import Place
    from aahcrawler.schedule.visit_log import LogError, VisitLog
    from online_analysis.icd import IcdError

    place = Place(file)
    with ExitStack() as opened:
        log: VisitLog | None = None
        known: Iterable[str] = ()
        try:
            if file.exists() or place.log.exists():
                log = opened.enter_context(VisitLog.opened(place.log))
            schedule, mistaken = Schedule.sound(file)
        except LogError as error:
            with suppress(IcdError):
                known = Schedule.sound(file)[0].crawls
            return broken(place.log, str(error), None, known, UNUSABLE)
        except IcdError as error:
            return broken(file, str(error), log)
        folders = CrawlFolders(place.folder)
        faults = {**mistaken, **folders.faults(schedule.crawls)}
        try:
            sharing = place.sharing(folders)
        except IcdError as error:
            return broken(place.units, str(error), log, schedule.crawls)
        assert log is not None  # noqa: S101 (there is a file)
        rhythm_of = whole_rhythm if sharing is None else sharing.rhythm
        rows = upcoming(schedule, log, datetime.now(UTC), faults, rhythm_of, place.beside(sharing, log, schedule))
        if sharing is None:
            return rows
        parts = {name: sharing.in_words(name, each) for name, each in schedule.crawls.items()}
        return [replace(each, part=parts.get(each.name, "")) for each in rows]


@schedule_app.command()
def run(
    file: ScheduleFile = _DEFAULT,
    once: Annotated[
        bool, typer.Option("--once", help="End when what is due by now has been crawled; for cron.")
    ] = False,
    parallel: Parallel = None,
) -> None:
    """Start what is due, see it through, and tell people, until Ctrl-C; then crawls end, and go on next time.

    The file is followed while this runs. A visit that was missed is made up for once. A full disk is waited for. With
    --once the exit code is 2 where definitions have mistakes or the disk is full.
    """
    import logging

    from aahcrawler.schedule.schedule_run import Place, ScheduleBusyError, ScheduleRun
    from aahcrawler.schedule.visit_log import LogError
    from online_analysis.icd import IcdError

    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, stream=sys.stderr)
    with exit_on_error(IcdError, LogError, ScheduleBusyError, OSError):
        mistaken = ScheduleRun(Place(file), is_once=once, parallel=parallel).run()
    if once and mistaken:
        raise typer.Exit(MISTAKE)


@schedule_app.command()
def now(name: Name, file: ScheduleFile = _DEFAULT) -> None:
    """Have a crawl visited now, beside its rhythm, even where it is paused; a running `aah schedule run` does it.

    Of a crawl with `pages` that are its seeds, pages that nobody knows, and the known pages that are due.
    """
    from aahcrawler.schedule.visit_log import Wish

    typer.echo(_wished(file, Wish.NOW, name))


@schedule_app.command()
def pause(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The name of a crawl; without one, all of them.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="End the pause.")] = False,
    file: ScheduleFile = _DEFAULT,
) -> None:
    """Begin no visits any more, of one crawl or all, until --resume; crawls that run go on."""
    from aahcrawler.schedule.visit_log import Wish

    typer.echo(_wished(file, Wish.RESUME if resume else Wish.PAUSE, name))


def _wished(file: Path, kind: str, name: str) -> str:
    """Append a wish to the log; return what was wished, in words.

    If the schedule's file has mistakes, the name is looked up in the log, since running crawls follow the former file.
    """
    from datetime import UTC, datetime

    from aahcrawler.schedule.schedule_file import Schedule
    from aahcrawler.schedule.visit_log import ALL, LogError, VisitLog, Wish
    from online_analysis.icd import IcdError

    with exit_on_error(IcdError, LogError):
        crawls: Mapping[str, Entry] | None = None
        try:
            crawls = Schedule.load(file).crawls
        except IcdError as error:
            if not (file.exists() and file.with_suffix(".sqlite").exists()):
                raise
            typer.echo(f"{error}\nwhat is asked for is noted all the same", err=True)
        with VisitLog.opened(file.with_suffix(".sqlite")) as log:
            _check_name(file, name, log.known_since() if crawls is None else crawls)
            is_open = kind == Wish.NOW and name in {each.entry for each in log.open_visits()}
            log.wish(Wish(kind), name, datetime.now(UTC))
            paused = log.paused() - {name}
    if kind == Wish.RESUME and name and ALL in paused:
        return f"{name} goes on when all do, which are paused: aah schedule pause --resume --file {file}"
    if kind == Wish.RESUME and paused:
        return f"{name or file} goes on; paused still: {', '.join(sorted(paused))}"
    entry = crawls.get(name) if crawls is not None else None
    due = ": seeds, unknown pages, and the known pages that are due" if entry is not None and entry.pages else ""
    said = {Wish.NOW: f"is visited as soon as may be{due}", Wish.PAUSE: "is paused", Wish.RESUME: "goes on"}[Wish(kind)]
    return f"{name or file} {said}{'; a visit of it has not ended yet' if is_open else ''}"


def _check_name(file: Path, name: str, crawls: Container[str]) -> None:
    from aahcrawler.schedule.visit_log import LogError

    if name and name not in crawls:
        raise LogError(f"{file}: has no crawl {name}; aah schedule list names all")


@schedule_app.command("log")
def show_log(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="The name of a crawl; without one, all of them.")] = "",
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=1_000_000, help="Visits at most.")] = 50,
    file: ScheduleFile = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """List visits, the newest first: when each was due, began and ended, how, and what it found."""
    from contextlib import suppress

    from aahcrawler.schedule.child_crawls import CrawlFolders
    from aahcrawler.schedule.schedule_file import Schedule
    from aahcrawler.schedule.schedule_plan import visit_rows, write_json, write_visits
    from aahcrawler.schedule.schedule_run import Place
    from aahcrawler.schedule.visit_log import LogError, VisitLog
    from online_analysis.icd import IcdError

    with exit_on_error(LogError), VisitLog.opened(file.with_suffix(".sqlite")) as log:
        schedule, sharing, place = None, None, Place(file)
        with suppress(IcdError):  # Visits that were made are told whatever the files say now.
            schedule = Schedule.sound(file)[0]
            sharing = place.sharing(CrawlFolders(place.folder))
        _check_name(file, name, {*log.known_since(), *(schedule.crawls if schedule is not None else ())})
        found = visit_rows(log, name, number, place.beside(sharing, log, schedule))
    write = write_json if as_json else write_visits
    write(found, sys.stdout)


@schedule_app.command()
def plan(
    parallel: Parallel = None,
    days: Annotated[float, typer.Option("--days", min=0.01, max=3660, help="Days to look ahead.")] = 1.0,
    file: ScheduleFile = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Say when visits begin and end by how long they took before, and which do not fit before they are due again.

    Of those it says how many known pages fit, which is what `aah schedule run` visits of them. Crawls whose entry or
    definition has mistakes are left out and named; the exit code is 2 then.
    """
    from datetime import UTC, datetime, timedelta

    from aahcrawler.schedule.child_crawls import CrawlFolders
    from aahcrawler.schedule.schedule_file import Schedule
    from aahcrawler.schedule.schedule_plan import (
        expected_seconds,
        fitting_pages,
        planned,
        whole_rhythm,
        write_plan,
        write_plan_json,
    )
    from aahcrawler.schedule.schedule_run import Place
    from aahcrawler.schedule.visit_log import LogError, VisitLog
    from online_analysis.icd import IcdError

    at = datetime.now(UTC)
    with exit_on_error(IcdError, LogError):
        schedule, mistaken = Schedule.sound(file)
        folders = CrawlFolders(file.absolute().parent)
        faults = {**mistaken, **folders.faults(schedule.crawls)}
        crawls = {name: each for name, each in schedule.crawls.items() if name not in faults}
        schedule, sharing = schedule.model_copy(update={"crawls": crawls}), Place(file).sharing(folders)
        rhythm_of = whole_rhythm if sharing is None else sharing.rhythm
        with VisitLog.opened(file.with_suffix(".sqlite")) as log:
            seconds = {name: expected_seconds(log, name, folders.of(each)) for name, each in crawls.items()}
            until = at + timedelta(days=days)
            found = planned(schedule, log, seconds, at, until, parallel, rhythm_of=rhythm_of)
        fitting = fitting_pages(found, crawls, folders, at)
    write = write_plan_json if as_json else write_plan
    write(found, fitting, sys.stdout)
    for name, fault in faults.items():
        typer.echo(f"{name}: no visit begins: {fault}", err=True)
    if faults:
        raise typer.Exit(MISTAKE)


@schedule_app.command()
def units(
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Say which units hold captures of this URL.")] = "",
    catalogue: Annotated[
        bool, typer.Option("--catalogue", help="List the sites that each unit holds captures of, and since when.")
    ] = False,
    file: ScheduleFile = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Ask the units that visit the schedule together what they could still visit, or what they hold.

    The exit code is 2 where one does not answer.
    """
    from dataclasses import replace
    from datetime import UTC, datetime

    from aahcrawler.schedule import unit_tables
    from aahcrawler.schedule.child_crawls import CrawlFolders
    from aahcrawler.schedule.schedule_file import Schedule
    from aahcrawler.schedule.schedule_run import Place
    from aahcrawler.schedule.unit_sharing import heard_from
    from aahcrawler.schedule.visit_log import LogError, VisitLog
    from online_analysis.icd import IcdError

    with exit_on_error(IcdError, LogError):
        at, folders = datetime.now(UTC), CrawlFolders(file.absolute().parent)
        schedule, sharing = Schedule.sound(file)[0], Place(file).shared(folders)
        rows: unit_tables.Rows
        if url:
            faulty = folders.faults(schedule.crawls)
            own = [folders.of(each) for name, each in schedule.crawls.items() if name not in faulty]
            rows = unit_tables.versions(sharing.units, url, own)
        elif catalogue:
            rows = unit_tables.catalogue(sharing.units)
        else:
            sharing = replace(sharing, heard=heard_from(sharing.units, sharing.heard, at))
            with VisitLog.opened(file.with_suffix(".sqlite")) as log:
                own_row = unit_tables.own_figures(schedule, log, sharing, at)
            rows = unit_tables.units(sharing.units, sharing.heard, own_row)
    unit_tables.write(rows, sys.stdout, as_json=as_json)
    if any(each.problem for each in rows):
        raise typer.Exit(MISTAKE)


@schedule_app.command()
def divide(
    file: ScheduleFile = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Propose how units share the schedule: each site is visited by two of them in turn, so that one may fail.

    It asks the units how many crawls they run at once, and says which lines the list of units is to have. Nothing is
    changed. Where a unit has never told, the division stays as it is, and the exit code is 2.
    """
    from datetime import UTC, datetime

    from aahcrawler.schedule import unit_tables
    from aahcrawler.schedule.child_crawls import CrawlFolders
    from aahcrawler.schedule.schedule_file import Schedule
    from aahcrawler.schedule.schedule_run import Place
    from aahcrawler.schedule.unit_sharing import heard_from
    from aahcrawler.schedule.visit_log import LogError, VisitLog
    from online_analysis.icd import IcdError

    at, folders = datetime.now(UTC), CrawlFolders(file.absolute().parent)
    with exit_on_error(IcdError, LogError):
        schedule, sharing = Schedule.load(file), Place(file).shared(folders)
        heard = heard_from(sharing.units, sharing.heard, at)
        with VisitLog.opened(file.with_suffix(".sqlite")) as log:
            proposal = unit_tables.proposed(schedule, log, folders, sharing.units, heard, at)
    unit_tables.write_division(proposal, sharing.units, heard, sys.stdout, as_json=as_json)
    if proposal.unknown:
        raise typer.Exit(MISTAKE)
