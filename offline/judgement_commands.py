"""``aah judgements``: what people judged of a crawl, as tables that go out, come in, and are filled in.

The command imports its modules when it runs, so that ``--help`` is fast.
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
    """The order in which pages are judged."""

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
    from aahcrawler.annotations.judgements import Order, Wanted, judgements_of, samples_of
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


@judgement_app.command()
def membership(
    crawl: Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")],
    table: Annotated[
        Path | None,
        typer.Option(
            "--import", metavar="FILE", help="Take in a table with columns url and member, or a list of URLs."
        ),
    ] = None,
    members: Annotated[
        bool | None,
        typer.Option("--members/--not-members", help="What the URLs of a list are.", show_default=False),
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Who decides, where the column by of a table does not say.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, where the table does not say.")] = "",
    undo: Annotated[
        bool, typer.Option("--undo", help="Take the last act of decisions back; again: take that back.")
    ] = False,
    near_duplicates: Annotated[
        bool, typer.Option("--near-duplicates", help="List members that say what an earlier member says.")
    ] = False,
    keep_one: Annotated[
        bool, typer.Option("--keep-one", help="With --near-duplicates, take these out of the collection.")
    ] = False,
) -> None:
    """Write what people decided on members of a collection; take decisions in, or back; find near duplicates."""
    from aahcrawler.annotations.judgements import MemberAnswer, membership_of, with_membership
    from aahcrawler.annotations.web_annotations import AnnotationFileError
    from aahcrawler.archive.folders import ArchiveError
    from aahcrawler.layout import OBJECTS
    from aahcrawler.objects.reader import ReadError, page_rows
    from aahcrawler.segments import SegmentError
    from offline import tables
    from offline.collections.distinct_members import NearDuplicateRow, distinctness
    from offline.evaluation import membership_table as decided
    from offline.evaluation.relevance_metrics import EvaluationError

    with exit_on_error(AnnotationFileError, ArchiveError, EvaluationError, ReadError, SegmentError):
        if not (crawl / OBJECTS).is_dir():
            raise ReadError(f"{crawl}: holds no crawl (it has no folder {OBJECTS}). Name the output folder of a crawl.")
        if (table is not None) + undo + near_duplicates > 1:
            raise EvaluationError("give one of --import, --undo and --near-duplicates")
        if keep_one and not near_duplicates:
            raise EvaluationError("--keep-one goes with --near-duplicates")
        if keep_one:
            decided.checked_name(by)
        if table is not None:
            of_list = None if members is None else MemberAnswer.MEMBER if members else MemberAnswer.NOT_MEMBER
            typer.echo(decided.take_in(crawl, table, by, of_list, reason))
        elif undo:
            typer.echo(decided.undo(crawl, by))
        elif near_duplicates:
            found = distinctness(crawl, with_membership(page_rows(crawl), membership_of(crawl)))
            tables.write_csv(found.rows, sys.stdout, NearDuplicateRow, "\t")
            for line in found.told:
                typer.echo(line, err=True)
            if keep_one:
                typer.echo(decided.keep_one(crawl, found.duplicates, by), err=True)
        else:
            tables.write_csv(decided.member_rows(crawl), sys.stdout, decided.MemberRow, "\t")
