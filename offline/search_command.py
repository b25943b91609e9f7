"""``aah search``: what archives hold, found by its words.

The command imports its modules when it runs, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import MISTAKE, exit_on_error

search_app = typer.Typer()


class ResultFormat(StrEnum):
    """Formats of results."""

    TABLE = "table"
    JSONL = "jsonl"
    CSV = "csv"


class FoundKind(StrEnum):
    """Kinds of results."""

    PAGE = "page"
    OBJECT = "object"
    MEDIA = "media"


class ResultOrder(StrEnum):
    """Orders of results."""

    RELEVANCE = "relevance"
    NEWEST = "newest"
    OLDEST = "oldest"
    CAPTURED = "captured"


class DatedBy(StrEnum):
    """Dates that a search can be narrowed by."""

    PUBLISHED = "published"
    CAPTURED = "captured"


Values = list[str] | None


@search_app.command()
def search(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="CRAWL... QUERY", help="Crawls, imports, folders of them or collections; then words."),
    ],
    kind: Annotated[list[FoundKind] | None, typer.Option("--kind", help="Only pages, objects or media.")] = None,
    object_type: Annotated[Values, typer.Option("--type", help="Only this type: post, article, document.")] = None,
    site: Annotated[Values, typer.Option("--site", help="Only this site or host.")] = None,
    author: Annotated[Values, typer.Option("--author", help="Only what this author wrote.")] = None,
    language: Annotated[Values, typer.Option("--language", help="Only this language, by its code: en.")] = None,
    begin: Annotated[str, typer.Option("--from", metavar="DATE", help="From then on: 2026, 2026-01, 2026-01-31.")] = "",
    end: Annotated[str, typer.Option("--to", metavar="DATE", help="Up to then; the year, month or day counts.")] = "",
    by: Annotated[DatedBy, typer.Option("--by", help="The date that --from and --to mean.")] = DatedBy.PUBLISHED,
    as_of: Annotated[str, typer.Option("--as-of", metavar="DATE", help="What was there at the end of that day.")] = "",
    every_version: Annotated[
        bool, typer.Option("--versions", help="Every version, not the last one of each page and object alone.")
    ] = False,
    unfolded: Annotated[bool, typer.Option("--unfolded", help="Near duplicates as results of their own.")] = False,
    like: Annotated[
        str,
        typer.Option("--like", metavar="URL", help="Like the page or object with this address; give no words then."),
    ] = "",
    order: Annotated[ResultOrder, typer.Option("--order", help="The order of the results.")] = ResultOrder.RELEVANCE,
    facets: Annotated[bool, typer.Option("--facets", help="Count the values of what was found, too.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000, help="The most results.")] = 10,
    output_format: Annotated[
        ResultFormat, typer.Option("--format", help="The format of the results.")
    ] = ResultFormat.TABLE,
    save: Annotated[str, typer.Option("--save", metavar="NAME", help="Keep the search under this name.")] = "",
    new: Annotated[
        str, typer.Option("--new", metavar="NAME", help="What a kept search finds that was not there at the last look.")
    ] = "",
    run: Annotated[
        str,
        typer.Option(
            "--run", metavar="COMMAND", help="With --new: run a program, with what is new on its standard input."
        ),
    ] = "",
    feed: Annotated[
        Path | None, typer.Option("--feed", metavar="FILE", help="Write the results as a feed, too.")
    ] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="FILE", help="Write the results as Apache Parquet, too.")
    ] = None,
    warc: Annotated[
        Path | None,
        typer.Option("--warc", metavar="FILE.warc.gz", help="Copy the records of the results to this new file."),
    ] = None,
) -> None:
    """Search the pages and objects of archives; their indexes are brought up to date first.

    Words all have to be there; "a phrase", OR, -without, (a OR b), begin*, mispelt~, author:jo, site:example.org,
    published:2012..2014. A word that nobody wrote is taken for a misspelt one.
    """
    import sqlite3
    import sys

    from aahcrawler.crawl_collections import CollectionError
    from aahcrawler.search import (
        NotIndexedError,
        QueryError,
        Question,
        SavedSearch,
        SavedSearchError,
        looked_at,
        moment,
        news,
        read_saved,
        saved_path,
        write_saved,
    )
    from aahcrawler.search import search as find
    from aahcrawler.segments import DamageError
    from offline.search_output import OutputError, ResultFiles, tell, up_to_date, write

    filters = {"kind": kind, "type": object_type, "site": site, "author": author, "language": language}
    with exit_on_error(
        CollectionError, OutputError, NotIndexedError, QueryError, SavedSearchError, DamageError, OSError, sqlite3.Error
    ):
        files = ResultFiles(feed, parquet, warc, run)
        files.check(is_new=bool(new))
        if like and (save or new):
            raise SavedSearchError("--like: what is like something cannot be kept; leave out --save and --new")
        places, home, query = _divided(arguments, has_query=not (new or like))
        since, until = moment(begin)[0] if begin else None, moment(end)[1] if end else None
        if since is not None and until is not None and since >= until:
            typer.echo(f"--from {begin} is later than --to {end}", err=True)
            raise typer.Exit(MISTAKE)
        question = Question(
            query=query,
            like=like,
            filters={name: values for name, values in filters.items() if values},
            since=since,
            until=until,
            timed=by.value,
            as_of=moment(as_of)[1] - 1 if as_of else None,
            scope="all" if every_version else "last",
            order=order.value,
            limit=limit,
            is_folded=not unfolded,
            counts_facets=facets,
        )
        if save:
            saved_path(home, save)
        searched = up_to_date(places)
        folders = [each.opened() for each in searched]
        for line in (f"{each.crawl}: {damage}" for each in folders for damage in each.reach.damaged):
            typer.echo(line, err=True)
        looked = None
        if new:
            looked = news(folders, read_saved(home, new), limit)
            found, hits = looked.found, looked.hits
        else:
            found = find(folders, question)
            hits = found.hits
        if save:
            write_saved(home, save, looked_at(folders, SavedSearch.of(question)))
        write(hits, output_format.value, sys.stdout)
        for line in tell(found, hits, new=looked.number if looked else None, facets=facets):
            typer.echo(line, err=True)
        for line in files.write(hits, searched, new or save or query or like):
            typer.echo(line, err=True)
        if looked:  # What could not be handed over is new at the next look as well.
            write_saved(home, new, looked.saved)


def _divided(arguments: Sequence[str], *, has_query: bool) -> tuple[list[Path], Path, str]:
    """Return the folders to search, the folder for saved searches, and the query.

    That is the first folder; for a collection, the folder with its crawls. Prints a note if the query begins with a
    hyphen, or a folder is given in its place.
    """
    from aahcrawler.crawl_collections import CollectionFile

    *names, query = arguments if has_query else (*arguments, "")
    if not names:
        typer.echo(f'{query}: name a folder, and behind it what to look for: aah search {query} "high water"', err=True)
        raise typer.Exit(MISTAKE)
    places: list[Path] = []
    homes: list[Path] = []
    for place in map(Path, names):
        if (file := CollectionFile.named(place)) is not None:
            collection = file.read()
            gone = file.missing(collection)
            for name in gone:
                typer.echo(f"note: {file.name}: {name} is in the collection, and gone", err=True)
            places += [file.folder(name) for name in collection.crawls if name not in gone]
            homes.append(file.place)
        elif place.is_dir():
            places.append(place)
            homes.append(place)
        else:
            typer.echo(f"{place}: is no folder and no collection; a query of several words is put in quotes", err=True)
            raise typer.Exit(MISTAKE)
    return places, homes[0], query
