"""``aah enrich``: who, what and where the web objects of crawls speak of.

The command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aahcrawler.exits import MISTAKE, exit_on_error

if TYPE_CHECKING:
    from offline.enrichment.enriching import StepResult

enrich_app = typer.Typer()


@enrich_app.command()
def enrich(
    crawls: Annotated[
        list[Path] | None, typer.Argument(metavar="CRAWL...", help="Folders of crawls or imports.", show_default=False)
    ] = None,
    steps: Annotated[
        str, typer.Option("--steps", metavar="NAME,...", help="Only these steps; --list names them all.")
    ] = "",
    processes: Annotated[
        int, typer.Option("--processes", metavar="N", min=1, help="The number of processes; the outcome is the same.")
    ] = 1,
    listing: Annotated[
        bool, typer.Option("--list", help="List the steps, in the order in which they are done.")
    ] = False,
    lexicons: Annotated[
        Path | None,
        typer.Option(
            "--lexicons",
            metavar="FOLDER",
            envvar="AAH_LEXICONS",
            help="Words of opinions by language, such as de.tsv. Without one, only English texts are judged.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write a line of JSON for each step.")] = False,
) -> None:
    """Find who and what the web objects of crawls speak of, also while they run; what is done is not repeated."""
    import sqlite3

    from aahcrawler.annotations.annotation_lock import AnnotationsBusyError
    from aahcrawler.definitions import DefinitionError
    from aahcrawler.jobs import JobError
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.segments import DamageError, SegmentError
    from offline.counting import counting
    from offline.enrichment.enriching import enrich as enriched
    from offline.enrichment.steps import EnrichError, all_steps, chosen_steps

    if listing:
        for step in all_steps():
            typer.echo(f"{step.name}{' (of all objects together)' if step.is_of_collection else ''}{step.source}")
        return
    if not crawls:
        typer.echo("name the folder of a crawl", err=True)
        raise typer.Exit(MISTAKE)
    mistakes = (AnnotationsBusyError, DamageError, DefinitionError, EnrichError, JobError, ReadError, SegmentError)
    with exit_on_error(*mistakes, OSError, sqlite3.Error):
        named = [name.strip() for name in steps.split(",") if name.strip()]
        chosen = chosen_steps(named)
        for crawl in crawls:
            with counting(*(step.name for step in chosen)) as count:
                made = enriched(crawl, chosen, processes=processes, seen=count, leave_out=not named, lexicons=lexicons)
                results = list(made)
            _tell(crawl, results, as_json=as_json)


def _tell(crawl: Path, results: "Iterable[StepResult]", *, as_json: bool) -> None:
    for each in results:
        done = each.done
        if as_json:
            said = {"crawl": str(crawl), "step": each.step, "captures": each.captures, "objects": done.objects}
            said |= {"annotations": done.annotations, "failures": done.failures, "notes": list(each.notes)}
            typer.echo(json.dumps({**said, "languages": dict(sorted(done.languages.items()))}, ensure_ascii=False))
            continue
        for note in each.notes:
            typer.echo(f"note: {each.step}: {note}", err=True)
        if done.failures:
            typer.echo(f"note: {each.step}: fails on {done.failures:,} objects, which are left as they are", err=True)
        if each.is_left_out:
            continue
        what = f"{done.annotations:,} annotations at {each.captures:,} captures" if each.captures else "nothing new"
        typer.echo(f"{crawl}: {each.step}: {what}")
