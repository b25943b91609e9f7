"""``aah load`` and ``aah query``: the RDF of a crawl in a store that answers SPARQL.

Each command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

import sys
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import MISTAKE, exit_on_error
from offline.store.formats import ResultFormat

store_app = typer.Typer()

_PATIENCE = 10.0
"""The seconds that another command may use the store before this one gives up."""

Crawl = Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")]
Store = Annotated[
    Path | None, typer.Option("--store", metavar="FOLDER", help="The store's folder. Default: store, in the crawl's.")
]


@store_app.command()
def load(
    crawl: Crawl,
    store: Store = None,
    endpoint: Annotated[
        str,
        typer.Option(
            "--endpoint",
            metavar="URL",
            envvar="AAH_ENDPOINT",
            help="The URL at which a SPARQL 1.1 store takes updates, in place of a folder: http://localhost:7878/update",
        ),
    ] = "",
    query_endpoint: Annotated[
        str,
        typer.Option(
            "--query-endpoint",
            metavar="URL",
            envvar="AAH_QUERY_ENDPOINT",
            help="The URL at which that store takes queries, if it is another.",
        ),
    ] = "",
) -> None:
    """Load the new part of a crawl's RDF into a store, also while it runs; earlier statements stay."""
    from offline.store.endpoint import Endpoint, HttpError
    from offline.store.loading import LoadError
    from offline.store.loading import load as load_into
    from offline.store.local import FOLDER, LocalStore, StoreError

    if store is not None and endpoint:
        typer.echo("name a folder with --store or a URL with --endpoint, not both", err=True)
        raise typer.Exit(MISTAKE)
    with exit_on_error(HttpError, LoadError, StoreError):
        if endpoint:
            with Endpoint(endpoint, query_endpoint) as service:
                typer.echo(load_into(crawl, service))
        else:
            folder = _crawl_folder(crawl) / FOLDER if store is None else store
            with LocalStore(folder, _PATIENCE) as local:
                typer.echo(load_into(crawl, local))


@store_app.command()
def query(
    crawl: Crawl,
    sparql: Annotated[str, typer.Argument(metavar="[SPARQL]", help="A query in SPARQL 1.1.")] = "",
    output_format: Annotated[
        ResultFormat, typer.Option("--format", help="The format of the answer; ttl is for CONSTRUCT and DESCRIBE.")
    ] = ResultFormat.TABLE,
    ready: Annotated[str, typer.Option("--ready", metavar="NAME", help="The name of a ready-made query.")] = "",
    arg: Annotated[
        list[str] | None, typer.Option("--arg", metavar="NAME=VALUE", help="An argument of a ready-made query.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the ready-made queries and their arguments.")] = False,
    store: Store = None,
) -> None:
    """Load the new part of a crawl, then answer a query: in SPARQL, or a ready-made one."""
    from offline.store.answer_writer import write
    from offline.store.loading import LoadError
    from offline.store.loading import load as load_into
    from offline.store.local import FOLDER, LocalStore, StoreError
    from offline.store.queries import QueryError, arguments, ask, ready_query

    _one_of(sparql, ready, listing=listing)
    if listing:
        _list()
        return
    with exit_on_error(LoadError, StoreError, QueryError):
        given, chosen = arguments(arg or ()), ready_query(ready) if ready else None
        if given and chosen is None:
            raise QueryError("--arg is for --ready; write values into the query")
        folder = _crawl_folder(crawl) / FOLDER if store is None else store
        with LocalStore(folder, _PATIENCE) as local:
            load_into(crawl, local)
            answer = chosen.answer(local.rdf, given) if chosen else ask(local.rdf, sparql)
            rows = write(answer, output_format, sys.stdout)
            del answer
    if not rows and "GRAPH" not in sparql.upper() and not ready:
        typer.echo("nothing found: each capture is a graph of its own, so write GRAPH ?capture { ... }", err=True)


def _one_of(sparql: str, ready: str, *, listing: bool) -> None:
    if sum(map(bool, (sparql, ready, listing))) != 1:
        typer.echo("write a query in SPARQL, or --ready NAME, or --list", err=True)
        raise typer.Exit(MISTAKE)


def _crawl_folder(crawl: Path) -> Path:
    """Return a crawl's folder, and exit where the folder is not a crawl's: nothing is created there."""
    from offline.store.loading import objects_folder

    return objects_folder(crawl).parent


def _list() -> None:
    from offline.store.queries import ready_queries

    for ready in ready_queries():
        typer.echo(f"{ready.name}\n  {ready.summary}")
        for argument in ready.arguments:
            default = "" if argument.default is None else f" (default: {argument.default})"
            typer.echo(f"    --arg {argument.name}=...  {argument.meaning}{default}")
