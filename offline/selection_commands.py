"""``aah select`` and ``aah evaluate``: select from a collection, and measure it.

Each command imports its modules when it runs, so that ``--help`` is fast.
"""
# ruff: noqa: PLC0415

from pathlib import Path
from typing import Annotated

import typer

from aahcrawler.exits import exit_on_error
from offline.selection.criteria import DateOf

selection_app = typer.Typer()

Crawl = Annotated[Path, typer.Argument(metavar="CRAWL", help="The folder of a crawl.")]


Processes = Annotated[
    int, typer.Option("--processes", metavar="N", min=1, help="The number of processes; the outcome is the same.")
]


ScoreOption = Annotated[list[str] | None, typer.Option("--score", metavar="'>=N'", help="Pages with such a score.")]
FromOption = Annotated[str, typer.Option("--from", metavar="DATE", help="From then on: 2026, 2026-01, 2026-01-31.")]
UntilOption = Annotated[str, typer.Option("--until", metavar="DATE", help="Up to then; the year, month or day counts.")]
DateOption = Annotated[DateOf, typer.Option("--date", help="The date of a page that is compared.")]
ApplicationOption = Annotated[
    list[str] | None, typer.Option("--application", metavar="NAME", help="Pages of one of these applications.")
]
LevelOption = Annotated[str, typer.Option("--level", metavar="NAME", help="Pages of a level, or of a role.")]
SiteOption = Annotated[
    list[str] | None, typer.Option("--site", metavar="HOST", help="Pages of one of these hosts, and of those below it.")
]
UrlsOption = Annotated[Path | None, typer.Option("--urls", metavar="FILE", help="Pages whose URL is listed.")]
ReviewOption = Annotated[
    Path | None,
    typer.Option("--review", metavar="FILE", help="Pages kept in a file of --propose, or in keep-decisions.jsonl."),
]
SparqlOption = Annotated[
    str, typer.Option("--sparql", metavar="QUERY", help="Pages that a query finds: SELECT ?page ...")
]
MembersOption = Annotated[
    bool, typer.Option("--members", help="Pages of the collection: relevant ones, unless people decided otherwise.")
]
NoRequisitesOption = Annotated[
    bool, typer.Option("--no-requisites", help="Leave out images, style sheets, scripts and fonts.")
]
SessionsOption = Annotated[
    bool, typer.Option("--with-sessions", help="Also what sites showed to the crawl alone: under a login or password.")
]


@selection_app.command()
def select(
    crawl: Crawl,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE.warc.gz", help="The file to write, which must not exist."),
    ] = None,
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
    no_requisites: NoRequisitesOption = False,
    with_sessions: SessionsOption = False,
    propose: Annotated[
        Path | None,
        typer.Option("--propose", metavar="FILE.yaml", help="Only write pages that are worth keeping, to be reviewed."),
    ] = None,
    most: Annotated[
        int, typer.Option("--propose-pages", metavar="N", min=1, help="The number of pages proposed, at most.")
    ] = 100,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the pages and write nothing.")] = False,
    processes: Processes = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Tell progress and outcome in lines of JSON.")] = False,
) -> None:
    """Write the pages of a crawl that meet all criteria, with the records they need, as a WARC file of its own."""
    import json
    from functools import partial

    from aahcrawler.annotations.web_annotations import AnnotationFileError
    from aahcrawler.captures import ArchivedCaptures
    from aahcrawler.jobs import JobError
    from aahcrawler.objects.reader import ReadError, page_rows
    from aahcrawler.segments import SegmentError
    from offline.counting import counting, telling
    from offline.selection.criteria import Criteria, CriteriaError
    from offline.selection.keep_proposals import reviewed
    from offline.selection.warc_selection import SelectedCaptures, SelectionError, chosen, refuse
    from offline.selection.warc_selection import select as select_pages
    from offline.store.loading import LoadError
    from offline.store.local import StoreError
    from offline.store.queries import QueryError

    mistakes = (AnnotationFileError, CriteriaError, JobError, SelectionError, LoadError, StoreError, QueryError)
    if propose is not None:
        _propose(crawl, propose, most, review)
        return
    progress = telling() if as_json else counting("captures found", "pages chosen")
    with exit_on_error(ReadError, SegmentError, *mistakes), progress as count:
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
        if criteria.are_none:
            raise CriteriaError(
                "say which pages: --score, --from, --until, --application, --level, --site, --urls, --review, "
                "--sparql, --members"
            )
        if to is None and not dry_run:
            raise CriteriaError("name the file to write, --to FILE.warc.gz, or --dry-run to see the list")
        if to is not None:
            refuse(to)
        next(page_rows(crawl), None)
        with (
            ArchivedCaptures(crawl, seen=lambda: count("captures found", 1)) as source,
            SelectedCaptures(source, with_sessions=with_sessions) as selected,
        ):
            if dry_run or to is None:
                left_out = 0
                for row in chosen(crawl, criteria, source):
                    if selected.leaves_aside(source.of_record(row.capture)):
                        left_out += 1
                    else:
                        typer.echo(f"{row.fetched_at}\t{'' if row.score is None else f'{row.score:.4f}'}\t{row.url}")
                _tell_left_out(left_out)
                return
            selection = select_pages(
                crawl,
                criteria,
                selected,
                to,
                with_requisites=not no_requisites,
                processes=processes,
                seen=partial(count, "pages chosen"),
            )
    if as_json:
        counts = {"pages": selection.pages, "captures": selection.responses, "bytes": selection.size}
        typer.echo(json.dumps({"warc": str(to), **counts, "left_out": selection.left_out}))
        return
    typer.echo(
        f"{to}: {selection.pages:,} pages, {selection.responses - selection.pages:,} more responses with them, "
        f"{selection.size:,} bytes"
    )
    for line in selection.raised.lines():
        typer.echo(f"note: {line}", err=True)
    _tell_left_out(selection.left_out)


def _propose(crawl: Path, file: Path, most: int, review: Path | None) -> None:
    import sqlite3

    from aahcrawler.annotations.keep_decisions import KeepAnswer, decisions_of
    from aahcrawler.annotations.web_annotations import AnnotationFileError
    from aahcrawler.objects.reader import ReadError
    from offline.selection.criteria import CriteriaError
    from offline.selection.keep_proposals import as_lines, keep_proposals, review_file

    if review is not None:
        raise typer.BadParameter("what was decided is heeded without it", param_hint="--review beside --propose")
    with exit_on_error(CriteriaError, AnnotationFileError, ReadError, OSError, sqlite3.Error):
        if file.exists():
            raise CriteriaError(f"{file}: exists, and may have been reviewed; remove it, or name another file")
        decided = decisions_of(crawl)
        found = keep_proposals(crawl, most, decided)
        rejected = {url for url, each in decided.items() if each.answer is KeepAnswer.REJECT}
        proposed = [each for each in found if each.url not in rejected]
        with file.open("x", encoding="utf-8") as text:
            text.write(as_lines(found) if file.suffix == ".jsonl" else review_file(proposed, crawl, file))
    if file.suffix == ".jsonl":
        typer.echo(f"{file}: {len(found):,} proposals for programs; `--propose FILE.yaml` writes a file to review")
        return
    typer.echo(
        f"{file}: {len(proposed):,} pages to review; then run `aah select {crawl} --review {file} --to FILE.warc.gz`"
    )


def _tell_left_out(pages: int) -> None:
    if pages:
        typer.echo(f"left out: {pages:,} pages that were fetched under a session; --with-sessions takes them", err=True)


@selection_app.command()
def evaluate(
    crawl: Crawl,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="CRAWL", help="A crawl, or a folder of WARC files, to compare with."),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--crawl", metavar="N", min=1, help="Measure crawl N alone, of several in the folder.")
    ] = None,
    against_number: Annotated[
        int | None, typer.Option("--against-crawl", metavar="N", min=1, help="The same for the other folder.")
    ] = None,
    icd: Annotated[
        Path | None,
        typer.Option("--icd", metavar="FILE", help="Measure by this definition. Default: the first crawl's."),
    ] = None,
    relevant: Annotated[
        float | None, typer.Option("--relevant", min=0, max=1, help="The similarity that makes a page relevant.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.svg", help="Draw relevant pages by pages fetched.")
    ] = None,
    judgements: Annotated[
        bool, typer.Option("--judgements", help="Measure the collection by what people judged, instead.")
    ] = False,
    grade: Annotated[
        str, typer.Option("--grade", metavar="GRADE", help="With --judgements: the least grade that is relevant.")
    ] = "relevant",
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", min=1, help="With --judgements: by the pages of sample N alone."),
    ] = None,
    processes: Processes = 1,
) -> None:
    """Measure the relevance of a crawl's pages by its definition, alone or beside another crawl, or by judgements."""
    if judgements:
        _evaluate_judgements(crawl, grade, sample, as_json=as_json)
        return

    import json
    from functools import partial

    from aahcrawler.fingerprint import files_digest
    from aahcrawler.helper import ApplicationAwareHelper
    from aahcrawler.helper.assistance import RaisedTally
    from aahcrawler.jobs import JobError
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.segments import SegmentError
    from knowledge_base.file_selection import folders_for
    from knowledge_base.loader import LoadError, load
    from offline.counting import counting
    from offline.evaluation import measurement
    from offline.evaluation.measurement import Measuring, measure, seed_documents
    from offline.evaluation.relevance_metrics import EvaluationError, TopicTerms, kept_reference, reference_of

    mistakes = (EvaluationError, JobError, ReadError, SegmentError, LoadError)
    with exit_on_error(*mistakes), counting("pages measured") as count:
        folders = folders_for(crawl)
        reference = reference_of(icd, crawl) if icd is not None else kept_reference(crawl)
        threshold = reference.relevant if relevant is None else relevant
        helper = ApplicationAwareHelper(load(*folders))
        terms = TopicTerms.of(reference, seed_documents(crawl, reference, helper, number))
        tally = RaisedTally()
        crawls = [
            measure(
                str(each) if which is None else f"{each}, crawl {which}",
                Measuring(each, folders, terms, files_digest(folders)),
                threshold,
                tally,
                number=which,
                processes=processes,
                seen=partial(count, "pages measured"),
            )
            for each, which in ((crawl, number), (against, against_number))
            if each is not None
        ]
        if plot is not None:
            _write(plot, measurement.chart(crawls))
    for name in reference.missing:
        typer.echo(f"note: the reference document {name} is not kept with the crawl; --icd FILE brings it in", err=True)
    for line in tally.lines():
        typer.echo(f"note: {line}", err=True)
    if as_json:
        typer.echo(json.dumps(measurement.as_json(crawls, threshold, tally.pages), ensure_ascii=False, indent=2))
    else:
        typer.echo("\n".join(measurement.as_text(crawls, threshold)))


def _evaluate_judgements(crawl: Path, grade: str, sample: int | None, *, as_json: bool) -> None:
    import json

    from aahcrawler.annotations.judgements import Grade, frame_of, judgements_of, membership_of, samples_of
    from aahcrawler.annotations.web_annotations import AnnotationFileError
    from aahcrawler.objects.reader import ReadError
    from aahcrawler.report import judged_collection
    from offline.evaluation.relevance_metrics import EvaluationError

    with exit_on_error(AnnotationFileError, EvaluationError, ReadError, judged_collection.NoSampleError):
        if grade not in (Grade.HIGHLY_RELEVANT, Grade.RELEVANT):
            raise EvaluationError(f"--grade {grade}: write {Grade.HIGHLY_RELEVANT} or {Grade.RELEVANT}")
        frame, _ = frame_of(crawl, membership_of(crawl))
        made = judgements_of(crawl)
        if not made:
            raise EvaluationError(
                f"{crawl}: nothing is judged so far; judge in the cockpit, or see aah judgements --help"
            )
        pages = judged_collection.in_frame(frame)
        found = judged_collection.evaluate(made, samples_of(crawl), pages, at_least=Grade(grade), sample=sample)
    if as_json:
        typer.echo(json.dumps(judged_collection.as_json(found), ensure_ascii=False, indent=2))
    else:
        typer.echo("\n".join((str(crawl), *judged_collection.as_text(found))))


def _write(file: Path, text: str) -> None:
    from offline.evaluation.relevance_metrics import EvaluationError

    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise EvaluationError(f"--plot {file}: cannot be written ({error.strerror}); name another file") from error
