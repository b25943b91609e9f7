"""``aah reread``: archived pages read again.

The command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error
from offline.selection_commands import Processes

reread_app = typer.Typer()


@reread_app.command()
def reread(
    crawl: Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")],
    url: Annotated[list[str] | None, typer.Option("--url", metavar="URL", help="Only captures of this URL.")] = None,
    prefix: Annotated[str, typer.Option("--prefix", metavar="URL", help="Only captures of URLs that begin so.")] = "",
    number: Annotated[
        int | None, typer.Option("--crawl", metavar="N", min=1, help="Only those of crawl N of the folder.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also those that were last read with this very knowledge base.")
    ] = False,
    processes: Processes = 1,
) -> None:
    """Read archived pages again, with the present knowledge base and what the crawl has learned; nothing is fetched."""
    from functools import partial

    from aahcrawler import urls
    from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
    from aahcrawler.helper.assistance import RaisedTally
    from aahcrawler.jobs import JobError
    from aahcrawler.layout import NQUADS, OBJECTS
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.segments import SegmentError, recover
    from knowledge_base.file_selection import folders_for
    from knowledge_base.loader import LoadError
    from offline.counting import counting
    from offline.rereading import RereadError, RereadOutcome, WantedCaptures
    from offline.rereading import reread as read_again

    with exit_on_error(ArchiveError, JobError, LoadError, ReadError, RereadError, SegmentError):
        folder = ArchiveFolder.at(crawl)
        if folder.crawl is None:
            raise RereadError(f"{crawl}: is not of this crawler; name the output folder of a crawl")
        wanted = WantedCaptures(frozenset(urls.canonicalize(each) or each for each in url or ()), prefix, number, every)
        counts: Counter[RereadOutcome] = Counter()
        tally = RaisedTally()
        with folder.alone(), counting("captures read") as count:
            recover(crawl / OBJECTS, NQUADS)
            seen = partial(count, "captures read")
            with read_again(crawl, folders_for(crawl), wanted, processes=processes, seen=seen) as rereads:
                for each in rereads:
                    counts[each.outcome] += 1
                    tally.add(each.url, each.raised)
                    if each.outcome is RereadOutcome.UNREADABLE:
                        typer.echo(f"{each.url}: cannot be read again; its former reading stays", err=True)
    for line in tally.lines():
        typer.echo(f"note: {line}", err=True)
    typer.echo(
        f"{crawl}: {counts.total():,} captures read again, {counts[RereadOutcome.CHANGED]:,} with another result, "
        f"{counts[RereadOutcome.SAME]:,} with the same, {counts[RereadOutcome.UNREADABLE]:,} that cannot be read"
    )
