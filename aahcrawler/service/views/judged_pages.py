"""Shows which pages of a crawl are judged, how relevant people found them, and what that says of the collection."""

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aahcrawler.annotations.judgements import (
    DrawnPage,
    FramePage,
    Grade,
    Judgement,
    MemberDecision,
    Order,
    Sample,
    judgements_of,
    membership_of,
    samples_of,
)
from aahcrawler.annotations.web_annotations import AnnotationFileError
from aahcrawler.layout import JUDGEMENTS, REMOVING
from aahcrawler.report.judged_collection import Evaluation, NoSampleError, evaluate
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.capture_view import capture_row
from aahcrawler.service.views.page_indexes import NO_FOLDER, Asked
from aahcrawler.service.views.page_list import PageShown, decided_urls, page_shown
from aahcrawler.service.web.problems import CONFLICT, NO_SAMPLE, ProblemError, Shown
from aahcrawler.tombstones import TakenDown

_AT_ONCE: Final = 500
"""URLs that the index is asked about at once."""
_OF_LAST: Final = "crawl = (SELECT max(crawl) FROM tally WHERE topic = 'captures') AND is_page AND NOT is_requisite"
_COLUMNS: Final = "SELECT url, record, fetched_at, score, relevant, crawl, max(at) FROM capture"
_FRAME: Final = f"{_COLUMNS} WHERE {_OF_LAST} GROUP BY url ORDER BY id"
"""The last capture of each page of the last crawl: SQLite takes the other columns from the row with the maximum."""
OF_PAGE: Final = "SELECT * FROM capture WHERE url = ? AND is_page AND NOT is_requisite ORDER BY at DESC LIMIT 1"
"""Asks for the last capture of a page."""
_GAINED: Final = """
SELECT total(made - coalesce(relevant, 0)) FROM (
  SELECT value AS named, 1 AS made FROM json_each(?) UNION ALL SELECT value, 0 FROM json_each(?)
) CROSS JOIN capture ON url = named
WHERE crawl = ? AND is_page AND NOT is_requisite
"""
_PUBLISHED: Final = """
SELECT min(date) FROM object JOIN sighting ON sighting.object = object.id
WHERE sighting.capture = (SELECT id FROM capture WHERE record = ?) AND date GLOB '[0-9][0-9][0-9][0-9]*'
"""


class SampleView(Shown):
    """A sample: its number, from 1, who drew it and when, and how many of its pages each judge has judged.

    ``drawn`` counts its pages, ``pages`` those that they were drawn from.
    """

    number: int
    id: str
    order: Order
    seed: int
    members: bool
    by: str
    created: str
    drawn: int
    pages: int
    judged: Mapping[str, int]


class JudgementView(Shown):
    """What a judge says of a page; ``samples`` are the numbers of those that it was judged in."""

    url: str
    record: str
    captured: str
    grade: Grade
    by: str
    at: str
    comment: str
    samples: tuple[int, ...]


class MembershipView(Shown):
    """Whose word it is whether a page belongs to the collection, and why."""

    url: str
    is_member: bool
    by: str
    at: str
    reason: str


@dataclass(frozen=True, slots=True)
class PageToJudge:
    """A page of a sample as it is judged: its place, from 1, and its capture.

    ``published`` is the first date of the objects on it, empty where none is known. ``judgement`` is that of whoever
    looks, ``former`` one that they made apart from this sample; both are None where there is none.
    """

    place: int
    page: PageShown
    published: str
    judgement: Judgement | None
    former: Judgement | None
    decision: MemberDecision | None


@dataclass(frozen=True, slots=True)
class Judging:
    """What was drawn and judged of a crawl, without what was taken down."""

    folder: Path
    samples: Sequence[Sample]
    judgements: Sequence[Judgement]
    membership: Mapping[str, MemberDecision]

    def sample(self, number: int) -> Sample:
        """Return the sample of a number. Raise ``ProblemError``."""
        if not 1 <= number <= len(self.samples):
            raise ProblemError(NO_SAMPLE, f"{len(self.samples)} samples were drawn of this crawl")
        return self.samples[number - 1]

    def judged_in(self, sample: Sample, by: str) -> Mapping[str, Judgement]:
        """Return what a judge said of pages in a sample, by their URLs."""
        return {each.page.url: each for each in self.judgements if each.by == by and sample.id in each.samples}

    def next_place(self, sample: Sample, by: str, after: int = 0) -> int | None:
        """Return the place of the next page that a judge has not judged, behind one or from the beginning again."""
        judged = self.judged_in(sample, by)
        left = [place for place, each in enumerate(sample.drawn, 1) if each.url not in judged]
        return next((place for place in left if place > after), next(iter(left), None))

    def views(self) -> Sequence[SampleView]:
        """Return the samples, each with the progress of its judges."""
        found = []
        for number, each in enumerate(self.samples, 1):
            drawn = {page.url for page in each.drawn}
            counts: dict[str, int] = {}
            for said in self.judgements:
                if each.id in said.samples and said.page.url in drawn:
                    counts[said.by] = counts.get(said.by, 0) + 1
            told = {name: getattr(each, name) for name in ("id", "order", "seed", "members", "by", "created", "pages")}
            found.append(SampleView(number=number, drawn=len(drawn), judged=dict(sorted(counts.items())), **told))
        return found

    def judgement_views(self) -> Iterator[JudgementView]:
        """Yield all judgements."""
        numbers = {each.id: number for number, each in enumerate(self.samples, 1)}
        for each in self.judgements:
            named = tuple(sorted(numbers[name] for name in each.samples if name in numbers))
            told = {name: getattr(each, name) for name in ("grade", "by", "at", "comment")}
            page = each.page
            yield JudgementView(url=page.url, record=page.record, captured=page.captured, samples=named, **told)

    def membership_views(self) -> Sequence[MembershipView]:
        """Return the pages whose membership people decided, by their URLs."""
        return [
            MembershipView(url=url, is_member=each.is_member, by=each.by, at=each.at, reason=each.reason)
            for url, each in sorted(self.membership.items())
        ]


@contextmanager
def as_problems() -> Iterator[None]:
    """Raise what is wrong with files of judgements as a ``ProblemError``."""
    try:
        yield
    except AnnotationFileError as error:
        raise ProblemError(CONFLICT, str(error)) from error


def folder_to_judge(crawl: Crawl) -> Path:
    """Return the folder of a crawl. Raise ``ProblemError`` where it is elsewhere, or a takedown is under way."""
    if crawl.folder is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder; ask the service of one that has")
    if (crawl.folder / REMOVING).exists():
        raise ProblemError(CONFLICT, "pages are being taken out of this archive; ask again when that is done")
    return crawl.folder


def judging(crawl: Crawl) -> Judging:
    """Return what was drawn and judged of a crawl. Raise ``ProblemError`` where it cannot be told."""
    folder = folder_to_judge(crawl)
    taken = TakenDown.of(folder)
    with as_problems():
        samples = [
            each.model_copy(update={"drawn": tuple(page for page in each.drawn if not taken.covers(page.url))})
            for each in samples_of(folder)
        ]
        made = [each for each in judgements_of(folder) if not taken.covers(each.page.url)]
        decided = {url: each for url, each in membership_of(folder).items() if not taken.covers(url)}
    return Judging(folder, samples, made, decided)


def membership_in(crawl: Crawl) -> Mapping[str, MemberDecision]:
    """Return what people decided on the membership of a crawl's pages. Raise ``ProblemError`` where it is damaged."""
    with as_problems():
        return {} if crawl.folder is None else membership_of(crawl.folder)


def gained_members(asked: Asked, decided: Mapping[str, MemberDecision], number: int) -> int:
    """Return how many captures of a crawl people made members that are not relevant, less those that they took out."""
    return int(asked.base.execute(_GAINED, (*decided_urls(decided), number)).fetchone()[0])


def judgements_told(folder: Path) -> Iterator[bytes]:
    """Yield the annotations as they are kept, without those of pages that were taken down."""
    taken = TakenDown.of(folder)
    try:
        lines = (folder / JUDGEMENTS).read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return
    yield from (line for line in lines if not taken.covers(json.loads(line)["target"]["source"]))


def framed_pages(asked: Asked, decided: Mapping[str, MemberDecision]) -> tuple[Sequence[FramePage], int]:
    """Return the pages of the last crawl of a folder in the order of fetching, and its number; 0 where it has none."""
    rows = asked.base.execute(_FRAME).fetchall()
    return [_framed(row, decided) for row in rows], rows[0]["crawl"] if rows else 0


def evaluation(asked: Asked, known: Judging, at_least: Grade = Grade.RELEVANT, sample: int | None = None) -> Evaluation:
    """Return what judgements say of the collection. Raise ``ProblemError`` where there is no such sample."""

    def pages(urls: Collection[str]) -> Mapping[str, FramePage]:
        wanted, found = list(urls), dict[str, FramePage]()
        for begin in range(0, len(wanted), _AT_ONCE):
            some = wanted[begin : begin + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            rows = asked.base.execute(f"{_COLUMNS} WHERE url IN ({marks}) AND {_OF_LAST} GROUP BY url", some)
            found |= {row["url"]: _framed(row, known.membership) for row in rows}
        return found

    try:
        return evaluate(known.judgements, known.samples, pages, at_least=at_least, sample=sample)
    except NoSampleError as error:
        raise ProblemError(NO_SAMPLE, str(error)) from error


def page_to_judge(asked: Asked, known: Judging, sample: Sample, place: int, by: str) -> PageToJudge:
    """Return a page of a sample for whoever judges. Raise ``ProblemError`` where there is none at this place."""
    if not 1 <= place <= len(sample.drawn):
        raise ProblemError(NO_SAMPLE, f"the sample has {len(sample.drawn)} pages")
    drawn = sample.drawn[place - 1]
    row = _row_of(asked, drawn)
    own = next((each for each in known.judgements if each.by == by and each.page.url == drawn.url), None)
    is_of_sample = own is not None and sample.id in own.samples
    (published,) = asked.base.execute(_PUBLISHED, (row["unchanged"] or row["record"],)).fetchone()
    return PageToJudge(
        place,
        page_shown(row),
        published or "",
        own if is_of_sample else None,
        None if is_of_sample else own,
        known.membership.get(drawn.url),
    )


def _row_of(asked: Asked, drawn: DrawnPage) -> sqlite3.Row:
    """Return the capture of a page that was drawn, where that is gone the last one of the page."""
    try:
        return capture_row(asked, drawn.record)
    except ProblemError:
        row: sqlite3.Row | None = asked.base.execute(
            "SELECT * FROM capture WHERE url = ? AND is_page AND NOT is_requisite ORDER BY at DESC LIMIT 1",
            (drawn.url,),
        ).fetchone()
        if row is None:
            raise
        return row


def _framed(row: sqlite3.Row, decided: Mapping[str, MemberDecision]) -> FramePage:
    decision = decided.get(row["url"])
    is_member = bool(row["relevant"]) if decision is None else decision.is_member
    return FramePage(row["url"], row["record"], row["fetched_at"], row["score"], is_member)
