"""``aah judgements``: what people judged of a crawl, as tables that go out, come in, and are filled in.

The command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error

judgement_app = typer.Typer()


class JudgementFormat(StrEnum):
    """Formats of judgements."""

    TSV = "tsv"
    CSV = "csv"
    JSONL = "jsonl"
    NQ = "nq"


class JudgingOrder(StrEnum):
    """In which order pages are judged."""

    LOT = "lot"
    FETCHED = "fetched"


@judgement_app.command()
def judgements(
    crawl: Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")],
    output_format: Annotated[
        JudgementFormat, typer.Option("--format", help="The format of the output; nq is RDF.")
    ] = JudgementFormat.TSV,
    table: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE", help="Take in a table of judgements, with columns url and grade."),
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Who judged, where the table does not say; who draws.")
    ] = "",
    pages: Annotated[
        int | None,
        typer.Option("--draw", metavar="N", min=1, max=1_000, help="Draw pages to judge, and write them as a table."),
    ] = None,
    order: Annotated[
        JudgingOrder, typer.Option("--order", help="By lot from bands of relevance, or in the order of fetching.")
    ] = JudgingOrder.LOT,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The seed of the lot.")] = 0,
    members: Annotated[bool, typer.Option("--members", help="Draw members of the collection alone.")] = False,
) -> None:
    """Write what people judged of a crawl's pages; take in what they judged elsewhere; draw pages to judge."""
    from aahcrawler.annotations.judgements import judgements_of
    from aahcrawler.annotations.judging_samples import Order, Wanted, samples_of
    from aahcrawler.annotations.web_annotations import AnnotationFileError
    from aahcrawler.layout import OBJECTS
    from aahcrawler.objects.reader import ReadError
    from offline import tables
    from offline.evaluation import judgement_table as judged
    from offline.evaluation.relevance_metrics import EvaluationError

    with exit_on_error(AnnotationFileError, EvaluationError, ReadError):
        if not (crawl / OBJECTS).is_dir():
            raise ReadError(f"{crawl}: holds no crawl (it has no folder {OBJECTS}). Name the output folder of a crawl.")
        if table is not None:
            typer.echo(judged.take_in(crawl, table, by))
            return
        if output_format is JudgementFormat.NQ:
            if pages is not None:
                raise EvaluationError("--draw writes a table to fill in; leave out --format nq")
            sys.stdout.writelines(each.decode() for each in judged.judgement_quads(judgements_of(crawl)))
            return
        if pages is not None:
            drawn = judged.draw_rows(crawl, Wanted(Order(order), pages, seed, members), by)
            if not drawn.is_new:
                typer.echo(f"these pages are drawn already: they are sample {drawn.number}", err=True)
            rows: Iterable[judged.JudgementRow] = drawn.rows
        else:
            rows = judged.judgement_rows(judgements_of(crawl), samples_of(crawl))
        if output_format is JudgementFormat.JSONL:
            tables.write_jsonl(rows, sys.stdout)
        else:
            delimiter = "\t" if output_format is JudgementFormat.TSV else ","
            tables.write_csv(rows, sys.stdout, judged.JudgementRow, delimiter)
