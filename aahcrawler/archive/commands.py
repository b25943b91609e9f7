"""The commands of ``aah archive``, for curators of WARC files.

Each command imports its modules when it runs, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error

archive_app = typer.Typer(help="The WARC files of a crawl, and their index.", no_args_is_help=True)

FAULTY = 1
"""The exit code of a check that has found faults."""

Folder = Annotated[
    Path, typer.Argument(metavar="CRAWL|FOLDER", help="The folder of a crawl, or one with WARC files.", exists=True)
]


@archive_app.command("check")
def check_archive(
    path: Annotated[
        Path,
        typer.Argument(metavar="CRAWL|FOLDER|FILE", help="A crawl, a folder of WARC files, or one file.", exists=True),
    ],
) -> None:
    """Check WARC files and their index: a line for each fault, with file, offset, record and remedy."""
    from aahcrawler.archive.checking import Tally, check
    from aahcrawler.archive.folders import ArchiveError

    tally = Tally()
    with exit_on_error(ArchiveError):
        for finding in check(path, tally):
            typer.echo(f"note: {finding}" if finding.is_note else str(finding))
    typer.echo(str(tally))
    if tally.faults:
        raise typer.Exit(FAULTY)


@archive_app.command("deliver")
def deliver_archive(
    path: Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.", exists=True)],
    target: Annotated[
        str, typer.Option(metavar="TARGET", help="Where to: a URL or a folder; without it, archive.target.")
    ] = "",
    digests: Annotated[
        bool, typer.Option("--digests", help="Read all that is at the target, and compare it byte for byte.")
    ] = False,
) -> None:
    """Copy the files that are not yet at a crawl's target, and compare the sizes of the others."""
    from aahcrawler.archive.delivery import DeliveryError, deliver
    from aahcrawler.archive.folders import ArchiveError

    with exit_on_error(ArchiveError, DeliveryError, OSError):
        for line in deliver(path, target, compare_digests=digests):
            typer.echo(line)


@archive_app.command("index")
def index_archive(path: Folder) -> None:
    """Make the CDXJ index of WARC files anew, as pywb and OpenWayback read it."""
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.archive.index import rebuild

    with exit_on_error(ArchiveError, OSError):
        archive = ArchiveFolder.at(path)
        with archive.alone():
            typer.echo(rebuild(archive.files, archive.indexes))
