"""``aah collection``: named sets of crawls and imports, and definitions of collections about events.

Each command imports its modules when it runs, so that ``--help`` is fast.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from aahcrawler.exits import exit_on_error
from aahcrawler.tallies import plural

# ruff: noqa: PLC0415


collection_app = typer.Typer(help="Collections: named sets of crawls and imports.", no_args_is_help=True)

Named = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="Its name in the folder of crawls, such as crawls/floods.")
]
Crawls = Annotated[list[Path], typer.Argument(metavar="CRAWL...", help="Folders of crawls and imports.")]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def _several(name: str, what: str) -> object:
    return typer.Option(f"--{name}", metavar="TEXT", help=f"{what} May be given several times.")


@collection_app.command()
def create(
    collection: Named,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="What it is called.")],
    crawls: Annotated[list[Path] | None, typer.Argument(metavar="CRAWL...", help="What is in it at first.")] = None,
    description: Annotated[str, typer.Option("--description", metavar="TEXT", help="What is in it, and why.")] = "",
    creator: Annotated[list[str] | None, _several("creator", "Who made it.")] = None,
    contributor: Annotated[list[str] | None, _several("contributor", "Who helped.")] = None,
    publisher: Annotated[list[str] | None, _several("publisher", "Who makes it available.")] = None,
    subject: Annotated[list[str] | None, _several("subject", "What it is about.")] = None,
    language: Annotated[list[str] | None, _several("language", "A code such as de.")] = None,
    rights: Annotated[list[str] | None, _several("rights", "Who may do what with it.")] = None,
    coverage: Annotated[list[str] | None, _several("coverage", "Which place or time it is about.")] = None,
    date: Annotated[
        str, typer.Option("--date", metavar="DATE", help="When it came about: 2024, 2024-05, 2024-05-01/2024-06-30.")
    ] = "",
) -> None:
    """Make a collection, described in terms of Dublin Core; its file can be edited by hand."""
    from pydantic import ValidationError

    from aahcrawler.crawl_collections import Collection, CollectionError, CollectionFile, mistakes

    lists = {
        "creator": creator,
        "contributor": contributor,
        "publisher": publisher,
        "subject": subject,
        "language": language,
        "rights": rights,
        "coverage": coverage,
    }
    with exit_on_error(CollectionError):
        try:
            said = {name: tuple(values or ()) for name, values in lists.items()}
            made = Collection.model_validate({"title": title, "description": description, "date": date, **said})
        except ValidationError as error:
            raise CollectionError("\n".join(f"--{line}" for line in mistakes(error))) from None
        file = CollectionFile(collection)
        file.check(crawls or ())
        file.create(made)
        file.add(crawls or ())
    typer.echo(f"{file.path}: {plural(len(file.read().crawls), 'crawl')}")


@collection_app.command()
def add(collection: Named, crawls: Crawls) -> None:
    """Add crawls and imports to a collection."""
    from aahcrawler.crawl_collections import CollectionError, CollectionFile

    with exit_on_error(CollectionError):
        added = CollectionFile(collection).add(crawls)
    typer.echo(f"added: {', '.join(added) or 'none, all are in it'}")


@collection_app.command()
def remove(collection: Named, crawls: Crawls) -> None:
    """Take crawls and imports out of a collection; nothing happens to them."""
    from aahcrawler.crawl_collections import CollectionError, CollectionFile

    with exit_on_error(CollectionError):
        CollectionFile(collection).remove(crawls)


@collection_app.command("list")
def list_collections(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that holds crawls.")],
    as_json: AsJson = False,
) -> None:
    """List the collections in a folder of crawls."""
    from aahcrawler.crawl_collections import CollectionError, CollectionFile

    with exit_on_error(CollectionError):
        if not folder.is_dir():
            raise CollectionError(f"{folder}: is not a folder; name one that holds crawls")
        found = [(file, file.read()) for file in CollectionFile.all_in(folder)]
    if as_json:
        typer.echo(json.dumps([{"name": file.name, **each.model_dump(mode="json")} for file, each in found], indent=2))
        return
    for file, each in found:
        typer.echo(f"{file.name}\t{len(each.crawls)}\t{each.title}")


@collection_app.command()
def show(collection: Named, as_json: AsJson = False) -> None:
    """Show what a collection is described by, and its crawls."""
    from aahcrawler.crawl_collections import CollectionError, CollectionFile

    with exit_on_error(CollectionError):
        file = CollectionFile(collection)
        found = file.read()
    gone = frozenset(file.missing(found))
    crawls = [(name, None if name in gone else _counts(file.folder(name))) for name in found.crawls]
    if as_json:
        said = {"name": file.name, **found.model_dump(mode="json"), "missing": sorted(gone)}
        typer.echo(json.dumps(said, indent=2, ensure_ascii=False))
        return
    typer.echo("\n".join(_lines(found.title, tuple(found.terms()), crawls)))


@collection_app.command()
def delete(collection: Named) -> None:
    """Delete a collection; its crawls stay."""
    from aahcrawler.crawl_collections import CollectionError, CollectionFile

    with exit_on_error(CollectionError):
        CollectionFile(collection).delete()


def _lines(
    title: str, terms: Sequence[tuple[str, str]], crawls: Sequence[tuple[str, Mapping[str, int] | None]]
) -> Iterator[str]:
    yield f"title\t{title}"
    yield from (f"{name}\t{value}" for name, value in terms)
    for name, counts in crawls:
        told_of = "gone" if counts is None else ", ".join(plural(number, what) for what, number in counts.items())
        yield f"crawl\t{name}\t{told_of}"


def _counts(crawl: Path) -> Mapping[str, int]:
    """Return what ``crawl.json`` counts; nothing of a crawl that has none yet."""
    from aahcrawler.layout import SUMMARY

    try:
        said = json.loads((crawl / SUMMARY).read_bytes())
        return {what: int(said[f"{what}s"]) for what in ("page", "object") if said.get(f"{what}s") is not None}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


# ruff: noqa: PLC0415


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
    from offline.collections.event_definition import Sought, define
    from offline.collections.event_page import EventPageError
    from offline.collections.from_wikipedia import DefinitionExistsError, Given, materials_for, write_definition
    from offline.collections.reference_pages import FetchingError, HistoryError

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
