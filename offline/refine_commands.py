"""``aah icd refine`` and ``aah icd merge``: a definition refined by what a reference crawl found.

Each command imports its modules when it runs: help has to answer at once.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import MISTAKE, exit_on_error

refine_app = typer.Typer()

IcdFile = Annotated[Path, typer.Argument(metavar="FILE", help="An Intelligent Crawl Definition in YAML.")]


@refine_app.command()
def refine(
    icd: IcdFile,
    crawl: Annotated[
        Path | None, typer.Argument(metavar="CRAWL", help="The folder of a crawl. Default: that of the definition.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write. Default: FILE.review.yaml.")
    ] = None,
    pages: Annotated[int, typer.Option("--pages", metavar="N", min=1, help="Read at most so many pages.")] = 5000,
) -> None:
    """Propose keywords, entities and seeds from a reference crawl, in a file to review; nothing is fetched."""
    from contextlib import closing
    from itertools import islice

    from aahcrawler.archive.folders import ArchiveError
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.segments import SegmentError
    from aahcrawler.urls import canonicalize
    from knowledge_base.file_selection import folders_for
    from knowledge_base.loader import LoadError
    from offline.refinement.proposals import RefinementError, propose, reference_pages, topic_of
    from offline.refinement.review_file import review_text
    from offline.rereading import Reader, RereadError
    from online_analysis.icd import Icd, IcdError

    with exit_on_error(ArchiveError, IcdError, LoadError, ReadError, RefinementError, RereadError, SegmentError):
        definition = Icd.load(icd)
        folder = crawl if crawl is not None else definition.output
        review = output or icd.with_name(f"{icd.name.removesuffix('.yaml').removesuffix('.yml')}.review.yaml")
        if review.exists():
            raise RefinementError(
                f"{review}: exists, and may have been reviewed; remove it, or name another with --output"
            )
        topic = topic_of(definition, folder)
        seeds = frozenset(canonicalize(seed) or seed for seed in definition.seeds)
        with closing(Reader.of(folder, folders_for(folder))) as reader:
            found = propose(definition, topic, seeds, islice(reference_pages(folder, topic, reader), pages))
    typer.echo(f"{folder}: {found.pages:,} pages read, {found.relevant:,} of them relevant")
    if found.are_none:
        typer.echo(f"nothing is proposed: {found.outcome.value}", err=True)
        raise typer.Exit(MISTAKE)
    review.write_text(review_text(found, icd, folder, review), "utf-8")
    typer.echo(
        f"{review}: {len(found.keywords)} keywords, {len(found.entities)} entities and {len(found.seeds)} seeds to "
        f"review; delete what does not fit, then run `aah icd merge {icd} {review}`"
    )


@refine_app.command()
def merge(
    icd: IcdFile,
    review: Annotated[Path, typer.Argument(metavar="REVIEW", help="A file that `aah icd refine` wrote.")],
) -> None:
    """Add what is left in a reviewed file to the definition; its comments, order and layout stay."""
    from offline.refinement.proposals import RefinementError
    from offline.refinement.review_file import merge as merged_with
    from offline.refinement.review_file import read_review, replace_file
    from online_analysis.icd import IcdError

    with exit_on_error(IcdError, RefinementError):
        merged = merged_with(icd, read_review(review))
        replace_file(icd, merged.content)
    for name, values in merged.added.items():
        typer.echo(f"{icd}: {name}: added {', '.join(values)}")
    if not merged.added:
        typer.echo(f"{icd}: has all of it already, and stays as it is")
