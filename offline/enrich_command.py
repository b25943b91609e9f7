"""``aah enrich``: who, what and where the web objects of crawls speak of.

The command imports its modules when it runs, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

import json
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aahcrawler.exits import MISTAKE, NOT_WHOLE, exit_on_error
from aahcrawler.tallies import plural

if TYPE_CHECKING:
    from offline.enrichment.crawl_steering import Steered
    from offline.enrichment.enriching import StepResult

enrich_app = typer.Typer()


@enrich_app.command()
def enrich(
    crawls: Annotated[
        list[Path] | None, typer.Argument(metavar="CRAWL...", help="Folders of crawls or imports.", show_default=False)
    ] = None,
    steps: Annotated[
        str,
        typer.Option("--steps", metavar="NAME,...", help="Only these steps, such as sentences; --list names them all."),
    ] = "",
    processes: Annotated[
        int, typer.Option("--processes", metavar="N", min=1, help="The number of processes; the outcome is the same.")
    ] = 1,
    spark: Annotated[
        str,
        typer.Option(
            "--spark",
            metavar="MASTER",
            help="Have the machines of a Spark cluster read the objects, such as spark://host:7077; the outcome is the "
            "same.",
        ),
    ] = "",
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
    steering: Annotated[
        bool,
        typer.Option(
            "--steer",
            help="Then raise scores in the running crawl by what relevant pages speak of; noted in steered.jsonl.",
        ),
    ] = False,
    undoing: Annotated[
        bool, typer.Option("--undo-steering", help="Only put back the scores that --steer has raised.")
    ] = False,
    terms: Annotated[
        int, typer.Option("--steer-terms", metavar="N", min=1, help="The number of terms that steer, at most.")
    ] = 20,
    urls: Annotated[
        int, typer.Option("--steer-urls", metavar="N", min=1, help="The number of scores changed by a run, at most.")
    ] = 200,
    move: Annotated[
        float,
        typer.Option("--steer-by", metavar="X", min=0.01, max=1.0, help="How far a score rises by all runs, at most."),
    ] = 0.2,
    service: Annotated[
        str,
        typer.Option("--service", metavar="URL", envvar="AAH_SERVICE_URL", help="The service of the running crawl."),
    ] = "http://127.0.0.1:8380",
    as_json: Annotated[bool, typer.Option("--json", help="Write a line of JSON for each step.")] = False,
) -> None:
    """Find who and what the web objects of crawls speak of, also while they run; what is done is not repeated."""
    import sqlite3

    from aahcrawler.annotations.annotation import AnnotationsBusyError
    from aahcrawler.definitions import DefinitionError
    from aahcrawler.jobs import Job, JobError
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.segments import DamageError, SegmentError
    from aahcrawler.service_client import ServiceClient
    from offline.counting import counting
    from offline.enrichment.crawl_steering import RunningCrawl, SteeringBounds, SteeringError, steer, undo
    from offline.enrichment.enriching import enrich as enriched
    from offline.enrichment.spark_job import spark_jobs
    from offline.enrichment.steps import ASKED_FOR, EnrichError, all_steps, chosen_steps

    if listing:
        for step in all_steps():
            together = " (of all objects together)" if step.is_of_collection else ""
            asked_for = f", only where --steps names it: {ASKED_FOR[step.name]}" if step.name in ASKED_FOR else ""
            typer.echo(f"{step.name}{together}{step.source}{asked_for}")
        return
    if not crawls:
        typer.echo("name the folder of a crawl", err=True)
        raise typer.Exit(MISTAKE)
    mistakes = (AnnotationsBusyError, DamageError, DefinitionError, EnrichError, JobError, ReadError, SegmentError)
    with ExitStack() as stack, exit_on_error(*mistakes, SteeringError, OSError, sqlite3.Error):
        client = ServiceClient(service, os.environ.get("AAH_SERVICE_TOKEN", ""))
        named = [name.strip() for name in steps.split(",") if name.strip()]
        chosen = chosen_steps(named)
        is_short = False
        jobs = stack.enter_context(spark_jobs(spark)) if spark and not undoing else Job
        for crawl in crawls:
            if undoing:
                back = undo(RunningCrawl.of(crawl, client))
                _tell_scores(crawl, "put back", back, as_json=as_json)
                continue
            is_short |= not _is_wholly_read(crawl)
            with counting(*(step.name for step in chosen)) as count:
                made = enriched(
                    crawl,
                    chosen,
                    processes=processes,
                    seen=count,
                    leave_out=not named,
                    lexicons=lexicons,
                    jobs=jobs,
                )
                for each in made:
                    _tell(crawl, each, as_json=as_json)
                    is_short |= bool(each.done.failures) or each.is_left_out
            if steering:
                changed = steer(RunningCrawl.of(crawl, client), SteeringBounds(terms, urls, move))
                _tell_scores(crawl, "raised", changed, as_json=as_json)
    if is_short:
        raise typer.Exit(NOT_WHOLE)


def _is_wholly_read(crawl: Path) -> bool:
    """Return whether all pages of a crawl or import were read; print which were not, and which settings are ignored.

    Raises ``EnrichError`` if none was read.
    """
    from aahcrawler.annotations.annotation_settings import AnnotationSettings
    from aahcrawler.layout import NQUADS, OBJECTS
    from aahcrawler.segments import segments
    from offline.enrichment.steps import EnrichError
    from offline.import_reading import has_unread_captures

    if note := AnnotationSettings.of(crawl.resolve()).note:
        typer.echo(f"note: {note}", err=True)
    if not has_unread_captures(crawl):
        return True
    if not segments(crawl / OBJECTS, NQUADS):
        raise EnrichError(f"{crawl}: its pages were not read yet; aah import {crawl} reads them")
    typer.echo(
        f"{crawl}: some of its pages were not read yet, and nothing is said of them; aah import {crawl} reads them",
        err=True,
    )
    return False


def _tell(crawl: Path, result: "StepResult", *, as_json: bool) -> None:
    """Print what a step has done, as soon as it ends."""
    done = result.done
    if as_json:
        said = {"crawl": str(crawl), "step": result.step, "captures": result.captures, "objects": done.objects}
        said |= {"annotations": done.annotations, "failures": done.failures, "notes": list(result.notes)}
        typer.echo(json.dumps({**said, "languages": dict(sorted(done.languages.items()))}, ensure_ascii=False))
        return
    for note in result.notes:
        typer.echo(f"note: {result.step}: {note}", err=True)
    if done.failures:
        objects = plural(done.failures, "object")
        typer.echo(f"note: {result.step}: fails on {objects}, left as they are and told in the log", err=True)
    if not result.is_left_out:
        said_of = f"{plural(done.annotations, 'annotation')} at {plural(result.captures, 'capture')}"
        if result.standing is not None:
            before = f"{plural(result.standing, 'annotation')} of former runs" if result.standing else "none so far"
            said_of = f"nothing new ({before})"
        typer.echo(f"{crawl}: {result.step}: {said_of}")


def _tell_scores(crawl: Path, what: str, changed: "Sequence[Steered]", *, as_json: bool) -> None:
    if as_json:
        for each in changed:
            typer.echo(json.dumps({"crawl": str(crawl), "step": "steering", **each.model_dump()}, ensure_ascii=False))
        return
    typer.echo(f"{crawl}: steering: {what} {plural(len(changed), 'score')}{', see steered.jsonl' if changed else ''}")
