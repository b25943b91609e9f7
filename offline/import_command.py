"""``aah import``: archives of other programs as the folder of a crawl.

The command imports its modules when it runs, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import NOT_WHOLE, exit_on_error
from offline.selection_commands import Processes

import_app = typer.Typer()
_MAX_LINES = 100


@import_app.command("import")
def import_archives(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES... CRAWL", help="WARC, ARC, WACZ files, folders of them or of crawls; then the folder."
        ),
    ],
    reference: Annotated[
        bool, typer.Option("--reference", help="Leave the files where they are, and refer to them where that can be.")
    ] = False,
    icd: Annotated[
        Path | None, typer.Option("--icd", metavar="FILE", help="Score pages by the topic of this definition.")
    ] = None,
    read: Annotated[
        bool, typer.Option("--read/--no-read", help="Read pages; without it, the next import into the folder does.")
    ] = True,
    processes: Processes = 1,
) -> None:
    """Take archives of other programs as the folder of a crawl; the same command goes on where it stopped.

    Files are copied record by record and never written to. What is damaged is told with its place, and the rest is
    taken. Without files, pages that have not been read yet are read.
    """
    import sqlite3
    from collections import Counter
    from functools import partial

    from aahcrawler.archive.folders import ArchiveError
    from aahcrawler.imports.archive_import import ArchiveImport, ImportFault, ImportRefusedError, sources_in
    from aahcrawler.imports.imported_crawl import imported_folder, write_summary
    from aahcrawler.jobs import JobError
    from aahcrawler.layout import NQUADS, OBJECTS
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.segments import DamageError, SegmentError, recover
    from aahcrawler.tallies import plural
    from knowledge_base.file_selection import folders_for
    from knowledge_base.loader import LoadError
    from offline.counting import counting
    from offline.import_reading import FirstOutcome, first_reading, note_imported
    from offline.rereading import RereadError
    from online_analysis.icd import Icd, IcdError

    *files, crawl = paths
    lines: Counter[str] = Counter()

    def tell(each: ImportFault) -> None:
        lines[each.file] += 1
        if not each.is_kept or lines[each.file] <= _MAX_LINES:
            typer.echo(str(each), err=True)

    mistakes = (ArchiveError, DamageError, IcdError, ImportRefusedError, JobError, LoadError, ReadError, RereadError)
    with exit_on_error(*mistakes, SegmentError, OSError, sqlite3.Error):
        definition = None if icd is None else Icd.load(icd)
        if wrong := _wrong(files, crawl):
            raise ImportRefusedError(wrong)
        with imported_folder(crawl, definition) as defined, counting("records", "captures read") as count:
            looked_at = partial(count, "records")
            done = ArchiveImport(crawl, defined.id, tell, looked_at, reference, processes)
            counts = done.run(tuple(sources_in(files)))
            outcomes: Counter[FirstOutcome] = Counter()
            if read:
                recover(crawl / OBJECTS, NQUADS)
                seen = partial(count, "captures read")
                with first_reading(crawl, folders_for(crawl), icd, processes=processes, seen=seen) as reading:
                    outcomes.update(outcome for _, outcome in reading)
                note_imported(crawl, defined.id)
            write_summary(crawl, defined)
    for file in (file for file, told_of in lines.items() if told_of > _MAX_LINES):
        typer.echo(f"{file}: {lines[file]:,} notes; all of them are in imports.jsonl", err=True)
    for line in done.said():
        typer.echo(f"{crawl}: {line}")
    if read:
        typer.echo(
            f"{crawl}: {plural(outcomes[FirstOutcome.READ], 'page or redirect', 'pages and redirects')} read, "
            f"{outcomes[FirstOutcome.UNREADABLE]:,} that cannot be read"
        )
    if not counts.is_whole:
        raise typer.Exit(NOT_WHOLE)


def _wrong(files: Sequence[Path], crawl: Path) -> str:
    """Return what is wrong with the arguments; empty if nothing is."""
    if not files and not crawl.is_dir():
        return f"{crawl}: is no folder; name files, and behind them the folder for what they hold"
    if any(path.resolve() == crawl.resolve() for path in files):
        return f"{crawl}: cannot be imported into itself; name a new folder behind it"
    missing = next((path for path in files if not path.exists()), None)
    return "" if missing is None else f"{missing}: is not there"
