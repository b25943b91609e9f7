"""``aah export``: what crawls hold as a package that other programs show.

The command imports its modules when it runs, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error
from offline.selection.criteria import DateOf
from offline.selection_commands import (
    ApplicationOption,
    DateOption,
    FromOption,
    LevelOption,
    MembersOption,
    NoRequisitesOption,
    Processes,
    ReviewOption,
    ScoreOption,
    SessionsOption,
    SiteOption,
    SparqlOption,
    UntilOption,
    UrlsOption,
)

export_app = typer.Typer()


@export_app.command()
def export(
    crawls: Annotated[
        list[Path], typer.Argument(metavar="CRAWL...", help="Folders of crawls and imports, or collections.")
    ],
    wacz: Annotated[Path, typer.Option("--wacz", metavar="FILE.wacz", help="The file to write, which must not exist.")],
    score: ScoreOption = None,
    begin: FromOption = "",
    until: UntilOption = "",
    date: DateOption = DateOf.CAPTURED,
    application: ApplicationOption = None,
    level: LevelOption = "",
    site: SiteOption = None,
    urls: UrlsOption = None,
    review: ReviewOption = None,
    sparql: SparqlOption = "",
    members: MembersOption = False,
    records: Annotated[
        Path | None,
        typer.Option("--records", metavar="FILE", help="Pages whose record ids are listed, one a line; - reads them."),
    ] = None,
    no_requisites: NoRequisitesOption = False,
    with_sessions: SessionsOption = False,
    no_annotations: Annotated[
        bool, typer.Option("--no-annotations", help="Leave out what enrichment says of the captures.")
    ] = False,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Leave out the texts of pages, by which they are found.")
    ] = False,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="What the package is called.")] = "",
    description: Annotated[str, typer.Option("--description", metavar="TEXT", help="What is in it, in Markdown.")] = "",
    sign: Annotated[
        Path | None, typer.Option("--sign", metavar="KEY.pem", help="Sign it by a private key: ECDSA, curve P-384.")
    ] = None,
    processes: Processes = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Tell progress and outcome in lines of JSON.")] = False,
) -> None:
    """Write crawls, imports and collections as one WACZ file: all of them, or the pages that meet all criteria."""
    from dataclasses import replace

    from aahcrawler.annotations.web_annotations import AnnotationFileError
    from aahcrawler.crawl_collections import CollectionError
    from aahcrawler.jobs import JobError
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.segments import SegmentError
    from aahcrawler.tallies import plural
    from offline.counting import counting, telling
    from offline.export.collected_crawls import described_crawls
    from offline.export.wacz_export import COUNTED, WantedPages
    from offline.export.wacz_export import export as write
    from offline.export.wacz_file import ExportError, refuse
    from offline.selection.criteria import Criteria, CriteriaError
    from offline.selection.keep_proposals import reviewed
    from offline.store.loading import LoadError
    from offline.store.local import StoreError
    from offline.store.queries import QueryError

    of_files = (AnnotationFileError, CollectionError, CriteriaError, ExportError, ReadError, SegmentError)
    mistakes = (*of_files, JobError, LoadError, StoreError, QueryError)
    with exit_on_error(*mistakes), telling() if as_json else counting(*COUNTED) as count:
        refuse(wacz)
        key = None
        if sign is not None:
            try:
                from offline.export.wacz_file import EcdsaKey
            except ModuleNotFoundError:
                raise ExportError("--sign needs a package: pip install 'aahcrawler[signing]'") from None
            key = EcdsaKey.read(sign)
        read = Criteria.read(
            scores=score or (),
            begin=begin,
            until=until,
            date_of=date,
            applications=application or (),
            level=level,
            sites=site or (),
            urls=urls,
            sparql=sparql,
            members=members,
        )
        criteria = reviewed(read, review)
        named = None if records is None else _records(records)
        wanted = WantedPages(criteria, named, not no_requisites, with_sessions, not no_text, not no_annotations)
        folders, described, missing = described_crawls(crawls)
        for line in missing:
            typer.echo(f"note: {line}", err=True)
        described = replace(described, title=title or described.title, description=description or described.description)
        done = write(folders, wanted, wacz, described=described, key=key, processes=processes, seen=count)
    if as_json:
        counts = {"pages": done.pages, "captures": done.captures, "bytes": done.package.size, "left_out": done.left_out}
        typer.echo(json.dumps({"wacz": str(wacz), **counts, "missing": list(missing)}))
        return
    typer.echo(f"{wacz}: {plural(done.pages, 'page')}, {plural(done.captures, 'capture')}, {done.package.size:,} bytes")
    for line in done.raised.lines():
        typer.echo(f"note: {line}", err=True)
    for folder in done.empty:
        typer.echo(f"note: {folder}: nothing of it is in the package", err=True)
    if done.left_out:
        left = plural(done.left_out, "capture" if wanted.is_all else "page")
        typer.echo(f"left out: {left} made under a session; --with-sessions takes them", err=True)


def _records(file: Path) -> tuple[str, ...]:
    """Read the ids of records, one per line, as in the column ``capture`` of ``aah pages``."""
    from offline.selection.criteria import CriteriaError

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CriteriaError(
            f"--records {file}: cannot be read ({error}); name a text file with an id a line"
        ) from error
    return tuple(name for line in text.splitlines() if (name := line.strip().strip("<>")))
