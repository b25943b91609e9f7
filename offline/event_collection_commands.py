"""``aah collection from-wikipedia``, ``kinds`` and ``bigrams``: help to define collections about events.

Each command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from aahcrawler.exits import exit_on_error
from aahcrawler.tallies import plural

event_collection_app = typer.Typer()


@event_collection_app.command()
def kinds() -> None:
    """List how long before and after events of several kinds they are talked about, to choose `lead` and `cool_down`.

    What is planned is talked about before; what happens unexpectedly has no lead.
    """
    from online_analysis.icd.field_words import EVENT_KINDS

    for row in EVENT_KINDS:
        typer.echo("\t".join(row))


@event_collection_app.command()
def bigrams(
    archives: Annotated[
        list[Path], typer.Argument(metavar="CRAWL...", help="Folders of crawls and imports, or of WARC files.")
    ],
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="The file to write.")],
    pages: Annotated[int, typer.Option("--pages", metavar="N", min=1, help="How many pages are counted.")] = 100_000,
) -> None:
    """Count in how many pages of archives pairs of words are, for `scoring.relevance.bigrams`.

    Of each URL the first capture counts. The same archives give the same file.
    """
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.segments import SegmentError
    from aahcrawler.tombstones import replace_durably
    from knowledge_base.loader import LoadError
    from offline.collections.pair_counting import count_pairs
    from offline.counting import counting

    with exit_on_error(ArchiveError):
        for each in archives:
            ArchiveFolder.at(each)
    with exit_on_error(SegmentError, LoadError, OSError), counting("pages") as count:
        frequencies, counted = count_pairs(archives, pages, lambda: count("pages", 1))
        replace_durably(output, "".join(f"{line}\n" for line in frequencies.lines()).encode())
    kept = sum(len(each.holding) for each in frequencies.by_language.values())
    typer.echo(f"{output}: {plural(kept, 'pair')} from {plural(counted, 'page')}")


@event_collection_app.command("from-wikipedia")
def from_wikipedia(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="The event's page: HTML or an answer of action=parse; or its URL.")
    ],
    revisions: Annotated[
        list[Path] | None,
        typer.Argument(metavar="REVISIONS...", help="Its history: answers of action=query&prop=revisions in JSON."),
    ] = None,
    contact: Annotated[
        str, typer.Option("--contact", envvar="AAH_CONTACT", metavar="TEXT", help="An e-mail address or URL of yours.")
    ] = "",
    output: Annotated[Path, typer.Option("--output", metavar="FOLDER", help="Where the definition goes.")] = Path(),
    archive: Annotated[
        Path | None, typer.Option("--archive", metavar="CRAWL", help="A crawl or import that may hold references.")
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch what is missing: page, history, references; politely.")
    ] = False,
    all_references: Annotated[
        bool, typer.Option("--all-references", help="Take references in other languages and formats as well.")
    ] = False,
    dates: Annotated[
        Literal["klein", "gossen"], typer.Option("--dates", help="Whose method: `scoring.relevance.dates`.")
    ] = "klein",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed of the random splits.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite files of the same name.")] = False,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Allow to fetch from private networks.")
    ] = False,
) -> None:
    """Define a collection about an event by its page in Wikipedia: time, subject, seeds and thresholds.

    Works on saved files; nothing is fetched without --fetch. What could not be found is told, and left open in the
    definition.
    """
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.segments import SegmentError
    from knowledge_base.loader import LoadError
    from offline.collections.edit_history import HistoryError
    from offline.collections.event_definition import Sought, define
    from offline.collections.event_page import EventPageError
    from offline.collections.from_wikipedia import DefinitionExistsError, Given, materials_for, write_definition
    from offline.collections.reference_pages import FetchingError

    if not contact.strip():
        raise typer.BadParameter(
            "give an e-mail address or a web page; sites that are asked are told it", param_hint="--contact"
        )
    mistakes = (
        ArchiveError,
        DefinitionExistsError,
        EventPageError,
        FetchingError,
        HistoryError,
        LoadError,
        SegmentError,
        OSError,
    )
    with exit_on_error(*mistakes):
        if archive is not None:
            ArchiveFolder.at(archive)
        given = Given(page, tuple(revisions or ()), archive, fetch, allow_private)
        sought = Sought(contact.strip(), dates, all_references, seed)
        materials = materials_for(given, sought, lambda line: typer.echo(line, err=True))
        if archive is not None:
            # Paths in a definition are those from its own folder.
            materials = replace(materials, archive=os.path.relpath(archive, output))
        definition = define(materials, sought)
        path = write_definition(definition, output, overwrite=overwrite)
    typer.echo(f"{path}: {plural(len(definition.texts), 'text')}")
    for each in definition.missing:
        typer.echo(f"not found: {each}", err=True)
