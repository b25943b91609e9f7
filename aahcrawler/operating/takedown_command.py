"""``aah remove``: take pages out of a crawl's archive, and never fetch them again.

The command imports its modules when it is called, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

import getpass
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import NOT_WHOLE, exit_on_error

takedown_app = typer.Typer()


@takedown_app.command()
def remove(
    crawl: Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.", exists=True)],
    url: Annotated[list[str] | None, typer.Option("--url", help="A URL. Each may be given several times.")] = None,
    prefix: Annotated[list[str] | None, typer.Option("--prefix", help="All URLs that begin with this text.")] = None,
    web_object: Annotated[
        list[str] | None, typer.Option("--object", metavar="IRI", help="All pages that hold this web object.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept, and listed.")] = "",
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who; the user's name unless given.")] = "",
    requisites: Annotated[
        bool, typer.Option("--requisites", help="With the images and other files that no other page is shown with.")
    ] = False,
    damaged: Annotated[
        bool, typer.Option("--damaged", help="With all damaged places of which nobody can say of which page they are.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List all takedowns of the crawl.")] = False,
    lift: Annotated[
        str, typer.Option("--lift", metavar="ID|URL", help="Let be fetched again what was removed; it stays removed.")
    ] = "",
) -> None:
    """Take pages out of a crawl: archive, index, objects, scores; they are not fetched again.

    Files are rewritten whole or not at all. A crawl that runs in the folder has to be stopped first. Exits with 4 where
    damaged places stay of which nobody can say of which page they are.
    """
    from aahcrawler.archive.folders import ArchiveError
    from aahcrawler.segments import DamageError, SegmentError
    from aahcrawler.takedown import answers
    from aahcrawler.takedown.removal import TakedownError, WantedRemoval

    wanted = WantedRemoval(tuple(url or ()), tuple(prefix or ()), tuple(web_object or ()), requisites, damaged)
    named = bool(wanted.urls or wanted.prefixes or wanted.objects)
    with exit_on_error(ArchiveError, DamageError, SegmentError, TakedownError, OSError):
        if sum((named, list_all, bool(lift))) != 1 or not all((*wanted.urls, *wanted.prefixes, *wanted.objects)):
            raise TakedownError("name what to remove by --url, --prefix or --object, or give --list or --lift")
        if any("//" not in each.strip() for each in wanted.prefixes):
            raise TakedownError("a prefix is the beginning of a URL, with http:// or https:// and the host")
        if not (list_all or dry_run or reason.strip()):
            raise TakedownError("say why: --reason TEXT")
        who = by or getpass.getuser()
        is_whole = True
        if list_all:
            lines = answers.listed(crawl)
        elif lift:
            lines = answers.lifted(crawl, lift, who, reason.strip())
        elif dry_run:
            lines, is_whole = answers.planned(crawl, wanted)
        else:
            lines, is_whole = answers.removed(crawl, wanted, who, reason.strip())
        for line in lines:
            typer.echo(line)
    if not is_whole:
        raise typer.Exit(NOT_WHOLE)
