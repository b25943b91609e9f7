"""``aah explain-score`` explains the score of a URL in a crawl, ``aah off-topic`` finds captures that have drifted.

The command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from aahcrawler.exits import exit_on_error

score_app = typer.Typer()


@score_app.command("explain-score")
def explain_score(
    crawl: Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="A URL that the crawl has met.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out the ranker's reasons, for which it learns the log again.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one object of JSON.")] = False,
) -> None:
    """Explain a URL's score: its parts, its history, and the state of the URL, also while the crawl runs."""
    from rich.console import Console

    from aahcrawler.frontiers import NoCrawlError
    from aahcrawler.segments import DamageError
    from offline.explanation.report import write_json, write_tables
    from offline.explanation.score_explanation import UnknownUrlError, explain

    waiting = Console(stderr=True).status("asking the crawl, and its ranker")
    with exit_on_error(NoCrawlError, UnknownUrlError, DamageError), waiting:
        explained = explain(crawl, url, quick=quick)
    write = write_json if as_json else write_tables
    write(explained, sys.stdout)


@score_app.command("off-topic")
def off_topic(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a crawl, or one with WARC files.")],
    compare_with: Annotated[
        Literal["auto", "first", "event"],
        typer.Option("--compare-with", help="The first page at a URL, or that nearest to the event of the definition."),
    ] = "auto",
) -> None:
    """List captures that show something else than their URL once did, with tabs between columns.

    They are off topic by their terms, or no pages at all: errors in disguise, parked domains, walls. With `auto` they
    are compared with the page nearest to the event where the crawl's definition has one, else with the first page.
    """
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.captures import ArchivedCaptures
    from aahcrawler.segments import SegmentError
    from offline.off_topic import NoEventError, OffTopicSearch, event_of

    with exit_on_error(ArchiveError):
        ArchiveFolder.at(folder)
    mistakes = (ArchiveError, NoEventError, SegmentError, OSError)
    with exit_on_error(*mistakes), ArchivedCaptures(folder) as source:
        event = None if compare_with == "first" else event_of(folder)
        if event is None and compare_with == "event":
            raise NoEventError(f"{folder}: its definition has no event; compare with the first page")
        typer.echo("url\tcaptured\twhy\tcosine\twords\tjaccard")
        for each in OffTopicSearch(source, event).found():
            measures = ("-" if value is None else f"{value:.2f}" for value in (each.cosine, each.words, each.jaccard))
            typer.echo("\t".join((each.url, f"{each.date:%Y-%m-%dT%H:%M:%SZ}", ", ".join(each.why), *measures)))
