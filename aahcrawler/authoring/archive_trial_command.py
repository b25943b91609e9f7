"""``aah kb try``: what a knowledge base would change on the archive of a crawl.

The command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.authoring.commands import CrawlFolders
from aahcrawler.exits import told

archive_trial_app = typer.Typer()


@archive_trial_app.command("try")
def try_on_archive(
    crawl: Annotated[
        Path,
        typer.Argument(metavar="CRAWL", help="The folder of a crawl.", exists=True, file_okay=False, readable=True),
    ],
    kb: CrawlFolders = "",
    application: Annotated[
        str,
        typer.Option(
            "--application",
            metavar="NAME",
            help="Compare with the knowledge base without the last file of this application, not with the crawl's own.",
        ),
    ] = "",
    host: Annotated[str, typer.Option("--host", metavar="NAME", help="Read pages of this host alone.")] = "",
    pages: Annotated[
        int,
        typer.Option("--pages", metavar="N", min=0, help="Read at most so many, of each sort some; 0 reads all."),
    ] = 1_000,
    as_json: Annotated[bool, typer.Option("--json", help="Write lines of JSON: progress, pages, a summary.")] = False,
) -> None:
    """Try a knowledge base on archived pages: objects and links that would be gained, lost or read differently.

    Ends with 0 where nothing would change, with 1 where something would.
    """
    import sys

    from rich.console import Console

    from aahcrawler.authoring.archive_trial import (
        ArchiveTrialError,
        Progress,
        Question,
        Summary,
        tried,
        without_changes,
    )
    from aahcrawler.authoring.archive_trial_lines import HeaviestPages, page_lines, summary_lines
    from aahcrawler.segments import DamageError
    from knowledge_base.file_selection import folders_for, named_folders
    from knowledge_base.loader import LoadError, load

    heaviest = HeaviestPages()
    summary: Summary | None = None
    with told(LoadError, ArchiveTrialError, DamageError), Console(stderr=True).status("") as status:
        folders = named_folders(kb) if kb else folders_for(crawl)
        after = load(*folders)
        question = Question(crawl, after, host=host, most=pages)
        if application:
            before, against = without_changes(folders, application)
            question = Question(crawl, after, before, host, pages, against)
        for result in tried(question):
            if as_json:
                typer.echo(result.model_dump_json())
                sys.stdout.flush()
            match result:
                case Progress():
                    status.update(f"{result.done:,} of {result.of:,} pages")
                case Summary():
                    summary = result
                case page:
                    heaviest.add(page)
    if summary is None:
        return
    for line in (*summary_lines(summary), *page_lines(heaviest.pages())) if not as_json else ():
        typer.echo(line)
    if summary.differing or summary.unreadable:
        raise typer.Exit(1)
