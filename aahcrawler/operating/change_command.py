"""``aah changes``: the visits of a crawl's pages, and what each found.

The command imports its modules when it is called, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

import sys
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error, utc_time
from aahcrawler.revisits.visit_record import ChangeFormat, ChangeKind, ChangeState

change_app = typer.Typer()


@change_app.command()
def changes(
    crawl: Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.", exists=True)],
    url: Annotated[str | None, typer.Option("--url", help="The visits of this URL alone.")] = None,
    since: Annotated[str, typer.Option("--since", metavar="TIME", help="Visits from this time on, in UTC.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="TIME", help="Visits before this time, in UTC.")] = "",
    state: Annotated[
        list[ChangeState] | None, typer.Option("--state", help="What was found. Each may be given several times.")
    ] = None,
    kind: Annotated[
        list[ChangeKind] | None, typer.Option("--kind", help="What of a page changed. As often as is needed.")
    ] = None,
    telling: Annotated[
        bool, typer.Option("--telling", help="Only visits after which a page is another one for its readers.")
    ] = False,
    output_format: Annotated[
        ChangeFormat, typer.Option("--format", help="The format of the output.")
    ] = ChangeFormat.TSV,
) -> None:
    """Write the visits of a crawl's pages, the oldest first: what each found, when it changed, and what it cost.

    A feed has the newest first. The crawl may be running.
    """
    from sqlite3 import Error

    from aahcrawler.layout import ARCHIVE, DEFINITION
    from aahcrawler.revisits.change_feed import write_changes
    from aahcrawler.revisits.change_log import opened_changes
    from aahcrawler.revisits.visit_record import WantedVisits
    from aahcrawler.segments import DamageError
    from aahcrawler.urls import canonicalize

    named = None if url is None else canonicalize(url)
    if url is not None and named is None:
        raise typer.BadParameter(f"{url} is no URL of a page; write https://host/path")
    begin, end = _moment(since), _moment(until)
    if begin and end and begin >= end:
        raise typer.BadParameter(f"no time is between --since {since} and --until {until}; exchange the two")
    wanted = WantedVisits(
        named,
        begin,
        end,
        frozenset(state or ()),
        frozenset(kind or ()),
        telling=telling,
    )
    with exit_on_error(DamageError, OSError, Error):
        # A crawl that is just starting has put away the definition of the crawl before it.
        if not ((crawl / DEFINITION).exists() or (crawl / ARCHIVE).exists()):
            raise DamageError(f"{crawl}: is no folder of a crawl; name the folder that a definition calls `output`")
        with opened_changes(crawl) as index:
            found = index.newest(wanted) if output_format is ChangeFormat.ATOM else index.visits(wanted)
            sys.stdout.reconfigure(newline="")  # type: ignore[union-attr]
            first = next(found, None)
            is_known = first is not None or next(index.visits(WantedVisits(named)), None) is not None
            write_changes(
                found if first is None else chain([first], found), output_format, sys.stdout, crawl.resolve().name
            )
        if first is None:
            typer.echo(_none_found(crawl, named, is_known=is_known), err=True)


def _none_found(crawl: Path, url: str | None, *, is_known: bool) -> str:
    """Return a message that says why no visit was found."""
    from aahcrawler.tombstones import TakenDown

    if is_known:
        return f"{url or crawl}: no visit is as these options want it; leave some of them out"
    if url is None:
        return f"{crawl}: no visit is in its log of changes yet"
    if TakenDown.of(crawl).covers(url):
        return f"{url}: was taken out of the archive, and its visits with it"
    return f"{url}: no visit of it is in the log of changes; compare its spelling with `aah changes {crawl}`"


def _moment(text: str) -> datetime | None:
    written = utc_time(text)
    return datetime.fromisoformat(written).replace(tzinfo=UTC) if written else None
