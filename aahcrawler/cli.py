"""The command line, ``aah``. Each command imports what it needs when it is called, so that ``--help`` is fast."""

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Never

import typer

from aahcrawler.archive.commands import Folder, archive_app
from aahcrawler.crawl.cluster.worker_commands import worker_app
from aahcrawler.crawl.startup.dry_run_command import dry_run_app
from aahcrawler.editor.commands import kb_app
from aahcrawler.editor.entry_commands import entry_app
from aahcrawler.exits import MISTAKE, UNREAD, exit_on_error, is_unread, utc_time
from aahcrawler.layout import REMOVING, SERVICE_LOG
from aahcrawler.operating.change_command import change_app
from aahcrawler.operating.commands import frontier_app
from aahcrawler.operating.definition_commands import definition_app
from aahcrawler.operating.takedown_command import takedown_app
from aahcrawler.schedule.commands import schedule_app
from offline.collection_commands import collection_app, event_collection_app
from offline.commands import refine_app, reread_app, score_app, simulation_app, store_app
from offline.enrich_command import enrich_app
from offline.export_command import export_app
from offline.import_command import import_app
from offline.judgement_commands import judgement_app
from offline.search_command import search_app
from offline.selection_commands import selection_app

app = typer.Typer(
    help="AAHCrawler: an application-aware, focused, archiving web crawler.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
icd_app = typer.Typer(help="Intelligent Crawl Definitions.", no_args_is_help=True)
icd_app.add_typer(definition_app)
icd_app.add_typer(dry_run_app)
icd_app.add_typer(refine_app)
app.add_typer(icd_app, name="icd")
kb_app.add_typer(entry_app)
app.add_typer(kb_app, name="kb")
app.add_typer(archive_app, name="archive")
app.add_typer(frontier_app)
app.add_typer(schedule_app)
app.add_typer(takedown_app)
app.add_typer(change_app)
app.add_typer(store_app)
app.add_typer(selection_app)
app.add_typer(judgement_app)
app.add_typer(simulation_app)
app.add_typer(score_app)
app.add_typer(reread_app)
app.add_typer(enrich_app)
app.add_typer(import_app)
app.add_typer(export_app)
collection_app.add_typer(event_collection_app)
app.add_typer(collection_app, name="collection")
app.add_typer(search_app)
app.add_typer(worker_app)

IcdFile = Annotated[Path, typer.Argument(metavar="FILE", help="An Intelligent Crawl Definition in YAML.")]
CrawlFolder = Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")]


class ObjectFormat(StrEnum):
    """Output formats of ``aah objects``."""

    JSONL = "jsonl"
    CSV = "csv"
    NQ = "nq"


class PageFormat(StrEnum):
    """Output formats of ``aah pages``."""

    JSONL = "jsonl"
    CSV = "csv"


@app.callback(invoke_without_command=True)
def about(
    *, show_version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False
) -> None:
    """AAHCrawler: an application-aware, focused, archiving web crawler."""
    if show_version:
        version()
        raise typer.Exit


@app.command()
def version() -> None:
    """Print the version."""
    from aahcrawler import __version__

    typer.echo(__version__)


@app.command()
def crawl(
    icd: IcdFile,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on with a crawl although its definition was changed.")
    ] = False,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, max=100, help="The number of processes that fetch.")
    ] = 1,
    revisits: Annotated[
        str,
        typer.Option(
            "--revisits",
            metavar="RHYTHM",
            help="Visit known pages only where they are due: {least: 1 h, greatest: 365 days}. One process alone.",
        ),
    ] = "",
) -> None:
    """Crawl what a definition asks for; the same command goes on where a crawl stopped."""
    from aahcrawler.schedule.schedule_file import page_rhythm
    from online_analysis.icd import IcdError

    if revisits and workers > 1:
        raise typer.BadParameter("with --revisits one process crawls; leave out --workers")
    with exit_on_error(IcdError):
        rhythm = page_rhythm(revisits) if revisits else None
    from aahcrawler.crawl.health.disk_space import uncollected

    with uncollected():
        from aahcrawler.crawl.scrapy.run import project_settings, run

    if workers > 1:
        from aahcrawler.crawl.cluster.supervisor import run_supervised

        raise typer.Exit(run_supervised(icd, project_settings(), workers, accept_changes=accept_changes))
    raise typer.Exit(run(icd, project_settings(), accept_changes=accept_changes, revisits=rhythm))


@icd_app.command("check")
def check_icd(
    icd: IcdFile,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not fetch reference documents that are given by URL.")
    ] = False,
) -> None:
    """Check a definition: one line for each mistake, with file, line, field and what to write instead.

    Secrets, certificates and archives that this machine has not, or cannot use, are named as well; a definition may be
    meant for another one.
    """
    from aahcrawler.crawl.startup.reference_documents import check

    found = check(icd, fetch=not offline)
    for each in (*found.mistakes, *found.missing, *found.doubts):
        typer.echo(str(each), err=True)
    if found.mistakes:
        raise typer.Exit(MISTAKE)
    lacks = "; a crawl on this machine needs what is named above" if found.missing else ""
    typer.echo(f"{icd}: no mistakes{lacks}")


@app.command()
def objects(
    crawl: CrawlFolder,
    output_format: Annotated[
        ObjectFormat, typer.Option("--format", help="The format of the output.")
    ] = ObjectFormat.JSONL,
    number: Annotated[
        int | None,
        typer.Option("--crawl", metavar="N", min=1, help="Those that crawl N of the folder found."),
    ] = None,
) -> None:
    """Write the web objects of a crawl to standard output, each once."""
    from aahcrawler.objects.reader import ReadError, object_rows
    from offline import tables

    with exit_on_error(ReadError):
        match output_format:
            case ObjectFormat.JSONL:
                tables.write_jsonl(object_rows(crawl, number), sys.stdout)
            case ObjectFormat.CSV:
                tables.write_csv(object_rows(crawl, number), sys.stdout)
            case ObjectFormat.NQ if number is not None:
                raise ReadError("--format nq has the statements of all crawls of a folder; leave out --crawl")
            case ObjectFormat.NQ:
                tables.write_nq(crawl, sys.stdout)


@app.command()
def pages(
    crawl: CrawlFolder,
    output_format: Annotated[PageFormat, typer.Option("--format", help="The format of the output.")] = PageFormat.JSONL,
    number: Annotated[
        int | None,
        typer.Option("--crawl", metavar="N", min=1, help="Pages of crawl N of the folder alone."),
    ] = None,
) -> None:
    """Write the fetched pages of a crawl, in the order of fetching, to standard output.

    Redirects and answers with errors are among them; the column `status` tells which they are.
    """
    from aahcrawler.objects.reader import ReadError, page_rows
    from offline import tables

    with exit_on_error(ReadError):
        write = tables.write_jsonl if output_format is PageFormat.JSONL else tables.write_csv
        write(page_rows(crawl, number), sys.stdout)


@app.command()
def missing(crawl: CrawlFolder) -> None:
    """Write the pages that no source of a crawl has, neither an archive nor a site, one URL a line.

    They can be the seeds of another crawl: aah icd new --seeds FILE. Those that could not be looked up are among them.
    """
    from aahcrawler.crawls import number
    from aahcrawler.report import ReportError, read_missing

    with exit_on_error(ReportError):
        for url in read_missing(crawl, number(crawl)):
            typer.echo(url)


@archive_app.command("repair")
def repair_archive(path: Folder) -> None:
    """Mend the files of a crawl, or of a folder of WARC files, and make their index anew.

    Torn ends are moved beside them, files left open are closed, and statements that are too long to be read
    are shortened.
    """
    from aahcrawler.archive.checking import repair
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.objects.nquads import mend
    from aahcrawler.segments import SegmentError

    mended = 0
    with exit_on_error(ArchiveError, SegmentError, OSError):
        for repaired in repair(path):
            typer.echo(str(repaired))
            mended += 1
        archive = ArchiveFolder.at(path)
        with archive.alone():
            for done in mend(archive.crawl / "objects") if archive.crawl else ():
                typer.echo(done)
                mended += 1
    typer.echo("the index was made anew" if mended else "no file had to be mended; the index was made anew")


@app.command()
def report(
    crawls: Annotated[
        list[Path], typer.Argument(metavar="CRAWL_FOLDER...", help="The folder of a crawl; of several with --archive.")
    ],
    seeds: Annotated[
        bool, typer.Option("--seeds", help="Print what became of each seed, with tabs between columns, instead.")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Print each URL that failed and why, with tabs between columns, instead.")
    ] = False,
    archive: Annotated[
        bool,
        typer.Option("--archive", help="Write archive.html instead: what crawls and imports hold, over time, by site."),
    ] = False,
    graph: Annotated[
        Path | None,
        typer.Option("--graph", metavar="FILE", help="With that, write links between sites as .graphml or .gexf."),
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Write archive.html to this file.")] = None,
    curated: Annotated[
        Path | None,
        typer.Option("--curated", metavar="FILE", help="Compare what was collected with a list of seeds of people."),
    ] = None,
) -> None:
    """Write report.html anew from what a crawl has kept; or, of any number of archives, what they hold together."""
    import sqlite3

    from aahcrawler.overview.overview_report import OverviewError, report_archives
    from aahcrawler.report import ReportError, failed_lines, read_failed, read_seeds, seed_lines, write_report
    from online_analysis.icd.seed_list import read_seed_list

    with exit_on_error(ReportError, OverviewError, OSError, sqlite3.Error):
        if archive or graph is not None or to is not None:
            done = report_archives(crawls, to, graph)
            for fault in done.faults:
                typer.echo(fault, err=True)
            if done.graph is not None:
                typer.echo(f"{graph}: sites: {done.graph[0]:,}, links between them: {done.graph[1]:,}")
            typer.echo(done.page)
            return
        if len(crawls) > 1:
            raise ReportError(f"{crawls[1]}: a report is of one crawl; --archive tells what several hold together")
        crawl = crawls[0]
        if failed:
            typer.echo("\n".join(failed_lines(read_failed(crawl))))
        elif seeds:
            typer.echo("\n".join(seed_lines(read_seeds(crawl))))
        else:
            chosen = read_seed_list(curated.read_text("utf-8", "replace")).seeds if curated is not None else ()
            if curated is not None and not chosen:
                raise ReportError(f"{curated}: names no URL to compare with; write one a line")
            typer.echo(write_report(crawl, chosen))


ServedFolders = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[CRAWL_FOLDER]...", help="Folders of crawls, or folders that hold some."),
]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")]
ActLog = Annotated[
    Path | None,
    typer.Option("--log", metavar="FILE", help=f"Where acts are noted. Default: {SERVICE_LOG} beside the crawls."),
]

ShownSchedule = Annotated[
    Path | None,
    typer.Option("--schedule", metavar="FILE", help="Show this schedule, which `aah schedule run` looks after."),
]


@app.command()
def cockpit(
    crawls: ServedFolders = None,
    host: Annotated[str, typer.Option("--host", help="The IP address to listen on.")] = "127.0.0.1",
    port: Port = 8390,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="A file with tokens and roles; without it AAH_SERVICE_TOKEN is read."),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="Where browsers find the cockpit, behind a proxy: https://cockpit.example.org")
    ] = "",
    replay_name: Annotated[
        str, typer.Option("--replay-name", help="Another host name, for archived pages: https://replay.example.org")
    ] = "",
    log: ActLog = None,
    schedule: ShownSchedule = None,
    count_unfound: Annotated[
        bool,
        typer.Option("--count-unfound", help="Count what several readers search for in vain, without who they are."),
    ] = False,
) -> None:
    """Watch, steer and look at crawls in a browser, until Ctrl-C. The terminal shows a code to sign in with."""
    from aahcrawler.crawl.health.disk_space import uncollected

    with uncollected():
        from aahcrawler.service.cockpit_server import Published, serve_cockpit
        from aahcrawler.service.server import Listening, RefusedToServeError

    with exit_on_error(RefusedToServeError):
        serve_cockpit(
            crawls or [],
            Listening(host, port, token_file, log=log),
            Published(name, replay_name),
            typer.echo,
            counts_unfound=count_unfound,
            schedule=schedule,
        )


@app.command()
def serve(
    crawls: ServedFolders = None,
    host: Annotated[
        str, typer.Option("--host", help="The host or IP address to listen on; any but this machine's needs a token.")
    ] = ("127.0.0.1"),
    port: Port = 8380,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="A file with bearer tokens; without it AAH_SERVICE_TOKEN is read."),
    ] = None,
    rate: Annotated[
        float,
        typer.Option("--rate", min=0, max=1e6, help="Requests a second that each caller may make; 0: any number."),
    ] = 50.0,
    log: ActLog = None,
    schedule: ShownSchedule = None,
) -> None:
    """Serve the JSON web service that takes scored URLs for crawls, until Ctrl-C."""
    from aahcrawler.crawl.health.disk_space import uncollected

    with uncollected():
        from aahcrawler.service.server import Listening, RefusedToServeError
        from aahcrawler.service.server import serve as run

    with exit_on_error(RefusedToServeError):
        run(crawls or [], Listening(host, port, token_file, rate, log), schedule)


@app.command("service-log")
def service_log(
    place: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="The folder that holds the crawls, or the file of the log.")
    ] = Path("crawls"),
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="From then on, in UTC: 2026-01-31.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Before then, in UTC.")] = "",
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="What was done by the token of this name.")] = "",
    as_text: Annotated[bool, typer.Option("--text", help="An act a line, in words, in place of JSON.")] = False,
) -> None:
    """Write who did what through cockpit and service to standard output, the oldest first."""
    import json

    from aahcrawler.service.web.noted_acts import Damage, details_of, read_entries

    begin, end = utc_time(since), utc_time(until)
    with exit_on_error(OSError):
        for entry in read_entries(place):
            if isinstance(entry, Damage):
                typer.echo(f"{entry.path}, line {entry.line}: no entry; passed over", err=True)
            elif begin <= str(entry["at"]) and (not end or str(entry["at"]) < end) and by in ("", entry.get("by")):
                typer.echo(details_of(entry) if as_text else json.dumps(entry, ensure_ascii=False))


@app.command()
def replay(
    crawls: Annotated[
        list[Path], typer.Argument(metavar="CRAWL...", help="Folders of crawls, or folders that hold some.")
    ],
    host: Annotated[
        str, typer.Option("--host", help="The name or IP address to listen on: one of this machine's own.")
    ] = "127.0.0.1",
    port: Port = 8381,
) -> None:
    """Show the captures of crawls in a browser on this machine, from the archive alone, until Ctrl-C."""
    from aahcrawler.replay.replay_server import RefusedToReplayError
    from aahcrawler.replay.replay_server import serve as run

    with exit_on_error(RefusedToReplayError):
        run(crawls, host, port, typer.echo)


def _finish_takedowns(arguments: Sequence[str]) -> None:
    """Complete interrupted takedowns in the folders among a command's arguments, and in those right below them."""
    for argument in arguments:
        folder = Path(argument)
        try:
            if argument.startswith("-") or not folder.exists():
                continue
        except OSError:
            continue  # It is longer than a path can be: words, not a folder.
        begun = (folder / REMOVING, folder.parent / REMOVING, *folder.glob(f"*/{REMOVING}"))
        for path in (path for path in begun if path.exists()):
            from aahcrawler.archive.folders import ArchiveError
            from aahcrawler.segments import DamageError
            from aahcrawler.takedown.removal import TakedownError, finish_begun

            try:
                if finish_begun(path.parent):
                    typer.echo(f"{path.parent}: a takedown that was cut short has been finished", err=True)
            except (ArchiveError, DamageError, TakedownError, OSError) as error:
                typer.echo(f"a takedown cannot be finished: {error}", err=True)
                sys.exit(MISTAKE)


def main() -> None:
    """Run the command line. If the reader of its output leaves (``aah pages ... | head``), end without a message."""
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # That a page has no text is no message to anybody.
    try:
        _finish_takedowns(sys.argv[1:])
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _end_unread()
    except SystemExit as ended:
        if ended.code == 1 and is_unread():  # Typer has met the broken pipe.
            _end_unread()
        raise


def _end_unread() -> Never:
    """Exit with `UNREAD`, as the reader of standard output has left."""
    with suppress(OSError, ValueError):  # What is still to be written would fail once more when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(UNREAD)


if __name__ == "__main__":
    main()
