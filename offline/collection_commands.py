"""``aah collection``: named sets of crawls and imports, with what describes them.

Each command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error
from aahcrawler.tallies import plural

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
