"""``aah explain-score``, ``aah off-topic`` and ``aah statements``: scores, and captures compared, one by one.

The command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from aahcrawler.exits import MISTAKE, NOT_WHOLE, exit_on_error, utc_time

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


@score_app.command("statements")
def statements(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a crawl, or one with WARC files.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="The URL of an RDF document.")],
    at: Annotated[
        str, typer.Option("--at", metavar="TIME", help="Write what it said at that time (UTC), as N-Quads.")
    ] = "",
) -> None:
    """Write what an RDF document said, as RDF Patch: the statements that each version adds and takes away."""
    from contextlib import closing

    from aahcrawler import urls
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.captures import ArchivedCaptures
    from aahcrawler.documents import DocumentReader
    from aahcrawler.segments import SegmentError
    from offline.statement_versions import n_quads, rdf_patch, statement_versions

    if not (canonical := urls.canonicalize(url)):
        raise typer.BadParameter(f"{url} is no URL of the web", param_hint="URL")
    with exit_on_error(ArchiveError):
        ArchiveFolder.at(folder)
    latest, number, unread, until = None, 0, 0, utc_time(at)
    with (
        exit_on_error(ArchiveError, SegmentError, OSError),
        closing(DocumentReader()) as reader,
        ArchivedCaptures(folder) as source,
    ):
        for version in statement_versions(source, canonical, reader):
            if until and f"{version.date:%Y-%m-%dT%H:%M:%S}" > until:
                break
            latest, number = version if version.statements is not None else latest, number + 1
            unread += version.statements is None
            for line in () if until else rdf_patch(version):
                typer.echo(line)
    for line in n_quads(latest) if until and latest is not None else ():
        typer.echo(line)
    if latest is None:
        when = f" until {until}" if until else ""
        typer.echo(f"{canonical} has no capture{when} in {folder} that is RDF and can be read", err=True)
        raise typer.Exit(MISTAKE)
    if unread:
        typer.echo(f"{unread} of {number} versions are broken, or too large to be compared", err=True)
        raise typer.Exit(NOT_WHOLE)
