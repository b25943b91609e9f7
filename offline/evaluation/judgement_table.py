"""Judgements as tables: written for spreadsheets and other programs, and read from those that people filled in.

Tables may be separated by tabs, commas or semicolons, with columns in any order under the names of several tools. Those
of Gossen, Risse and Demidova (columns ``url``, ``timestamp``, ``vote``, ``comment``) are among them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from aahcrawler import urls
from aahcrawler.annotations.judgements import (
    MAX_COMMENT,
    Grade,
    Judgement,
    Said,
    Sample,
    Seen,
    Wanted,
    draw,
    frame_of,
    judgements_of,
    keep,
    membership_of,
    note_judgements,
    samples_of,
)
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.nquads import iri, quads, text, typed
from aahcrawler.objects.reader import page_rows
from aahcrawler.tallies import mistakes_told, plural
from offline.evaluation.given_table import GivenTable, Row
from offline.evaluation.relevance_metrics import EvaluationError

_MAX_NAME_LENGTH: Final = 100
_COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "url": ("url", "uri", "urir", "target"),
    "grade": ("grade", "vote", "label", "judgement", "judgment", "rating", "relevance"),
    "judge": ("judge", "annotator", "assessor", "by"),
    "at": ("at", "judgedat"),
    "comment": ("comment", "comments", "note"),
    "captured": ("captured", "timestamp", "mementodatetime"),
    "record": ("record", "capture"),
    "sample": ("sample",),
}
"""Names of columns, only letters and digits; the first one in a table counts."""
_GRADES: Final[Mapping[str, Grade]] = {
    **{re.sub("[^a-z]", "", each): each for each in Grade},
    "irrelevant": Grade.NOT_RELEVANT,
    "junk": Grade.SPAM,
    "junkorspam": Grade.SPAM,
    "unknown": Grade.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """A judgement as a row of a table. Times are ISO 8601; ``sample`` is the number of the sample, empty for none.

    ``grade`` is empty for a page not yet judged.
    """

    url: str
    grade: str
    judge: str = ""
    at: str = ""
    comment: str = ""
    captured: str = ""
    record: str = ""
    sample: str = ""


def judgement_rows(judgements: Iterable[Judgement], samples: Sequence[Sample]) -> Iterator[JudgementRow]:
    """Yield judgements as rows; a page judged in several samples has the last one's number."""
    numbers = {each.id: number for number, each in enumerate(samples, 1)}
    for each in judgements:
        sample = max((numbers[name] for name in each.samples if name in numbers), default="")
        page = each.page
        yield JudgementRow(
            page.url, each.grade, each.by, each.at, each.comment, page.captured, page.record, str(sample)
        )


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """The pages of a sample as rows without a grade, the number of the sample, and whether it is new."""

    rows: Sequence[JudgementRow]
    number: int
    is_new: bool


def draw_rows(crawl: Path, wanted: Wanted, by: str) -> DrawnRows:
    """Draw pages of the last crawl of a folder, and store the sample, unless an equal one was drawn before.

    Raises ``AnnotationFileError``, ``EvaluationError`` and ``ReadError``.
    """
    if not by:
        raise EvaluationError("say who draws: --by NAME")
    frame, last = frame_of(crawl, membership_of(crawl))
    sample, before = draw(frame, wanted, last, by), samples_of(crawl)
    if not sample.drawn:
        raise EvaluationError(f"{crawl}: has no page to judge{' among its members' if wanted.members else ''}")
    known = next((number for number, each in enumerate(before, 1) if each.is_same_draw(sample)), None)
    number = known or len(before) + 1
    if known is None:
        keep(crawl, sample)
    rows = [
        JudgementRow(each.url, "", captured=each.captured, record=each.record, sample=str(number))
        for each in sample.drawn
    ]
    return DrawnRows(rows, number, known is None)


def take_in(crawl: Path, table: Path, by: str) -> str:
    """Add the judgements in a table to those of a crawl, all or none; return a text that says how many were added.

    It also says how many rows are of pages that the crawl never had. Raises ``AnnotationFileError``,
    ``EvaluationError`` and ``ReadError``.
    """
    labels = read_labels(table, by, samples_of(crawl))
    new = new_among(labels, judgements_of(crawl))
    note_judgements(crawl, new)
    number, read = sum(map(len, new.values())), sum(map(len, labels.said.values()))
    left = f", {plural(labels.empty, 'row')} without a grade" if labels.empty else ""
    captured = {row.url for row in page_rows(crawl) if row.is_page}
    unknown = sum(each.page.url not in captured for of_one in labels.said.values() for each in of_one)
    strange = f", {plural(unknown, 'row')} of pages that this crawl does not have" if unknown else ""
    return f"{crawl}: {plural(number, 'judgement')} added, {read - number:,} known already{left}{strange}"


@dataclass(frozen=True, slots=True)
class ReadLabels:
    """The judgements in a table, by judge, and how many of its rows have no grade."""

    said: Mapping[str, Sequence[Said]]
    empty: int


def read_labels(file: Path, by: str, samples: Sequence[Sample]) -> ReadLabels:
    """Read a table of judgements; rows that name no judge are by ``by``. Raises ``EvaluationError``.

    The message names the lines with mistakes; none of the table may be used then.
    """
    found: dict[str, list[Said]] = {}
    first: dict[tuple[str, str], tuple[Grade | None, str]] = {}
    mistakes: list[str] = []
    empty = 0
    for place, row in _rows(file):
        if not row["grade"]:
            empty += 1
            continue
        try:
            who, said = _judge(place, row, by), _said(place, row, samples)
        except EvaluationError as error:
            mistakes.append(str(error))
            continue
        grade, before = first.setdefault((who, said.page.url), (said.grade, place))
        if grade != said.grade:
            mistakes.append(f"{place}: {who} gives {said.page.url[:200]} another grade than at {before}; keep one")
        found.setdefault(who, []).append(said)
    if mistakes:
        raise EvaluationError(mistakes_told(mistakes))
    return ReadLabels(found, empty)


def _judge(place: str, row: Mapping[str, str], by: str) -> str:
    who = row["judge"] or by
    if not who:
        raise EvaluationError(f"{place}: says not who judged; name them with --by NAME")
    if not who.isprintable() or len(who) > _MAX_NAME_LENGTH:
        raise EvaluationError(f"{place}: {who[:80]!r} is no name of a judge")
    return who


def _rows(file: Path) -> Iterator[Row]:
    table = GivenTable.read(file, _COLUMNS, "table of judgements")
    if not {"url", "grade"} <= table.columns.keys():
        named = ", ".join(table.names) or "none"
        raise EvaluationError(f"{file}: has no columns url and grade; its first line names {named}")
    return table.rows()


def _said(place: str, row: Mapping[str, str], samples: Sequence[Sample]) -> Said:
    url, grade = urls.canonicalize(row["url"]), _GRADES.get(re.sub("[^a-z]", "", row["grade"].casefold()))
    if url is None:
        raise EvaluationError(f"{place}: {row['url'][:200]!r} is no http(s) URL")
    if grade is None:
        raise EvaluationError(f"{place}: {row['grade'][:80]!r} is no grade; write one of {', '.join(Grade)}")
    if row["sample"] and not (row["sample"].isascii() and row["sample"].isdigit()):
        raise EvaluationError(f"{place}: {row['sample'][:80]!r} is no number of a sample")
    number = int(row["sample"][:9] or 0)
    if number > len(samples):
        raise EvaluationError(f"{place}: there is no sample {number}; {len(samples)} were drawn of this crawl")
    sample = samples[number - 1].id if number else ""
    seen = Seen(url, row["record"], _moment(place, row["captured"]))
    at = _moment(place, row["at"])
    if at and datetime.fromisoformat(at) > datetime.now(UTC):
        raise EvaluationError(f"{place}: {row['at'][:80]!r} is in the future; without a zone it is read as UTC")
    return Said(seen, grade, row["comment"][:MAX_COMMENT], sample, at)


def _moment(place: str, text: str) -> str:
    if not text:
        return ""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise EvaluationError(f"{place}: {text[:80]!r} is no time; write it as 2013-06-05T10:00:00Z") from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).isoformat(timespec="seconds")


def new_among(labels: ReadLabels, known: Iterable[Judgement]) -> Mapping[str, Sequence[Said]]:
    """Return the judgements of a table that are not known yet, by judge."""
    there = {(each.by, each.page.url): each for each in known}

    def is_new(who: str, said: Said) -> bool:
        before = there.get((who, said.page.url))
        if before is None:
            return True
        is_of_sample = not said.sample or said.sample in before.samples
        return (before.grade, before.comment) != (said.grade, said.comment) or not is_of_sample

    return {who: [each for each in said if is_new(who, each)] for who, said in labels.said.items()}


def judgement_quads(judgements: Iterable[Judgement]) -> Iterator[bytes]:
    """Yield judgements as N-Quads in the Web Annotation vocabulary, each as the graph of its annotation.

    There are no blank nodes, so the same judgements may be loaded twice.
    """
    for each in judgements:
        yield quads(list(_triples(each)), iri(each.id))


_FOAF: Final = "http://xmlns.com/foaf/0.1/"


def _triples(said: Judgement) -> Iterator[str]:
    itself = iri(said.id)
    creator, target, state = (iri(f"{said.id}#{name}") for name in ("creator", "target", "state"))
    yield f"{itself} <{v.RDF_TYPE}> <{v.OA}Annotation>"
    yield f"{itself} <{v.OA}motivatedBy> <{v.OA}assessing>"
    yield f"{itself} <{v.DCTERMS}created> {typed(said.at, v.XSD_DATE_TIME)}"
    yield f"{itself} <{v.DCTERMS}creator> {creator}"
    yield f"{creator} <{v.RDF_TYPE}> <{_FOAF}Person>"
    yield f"{creator} <{_FOAF}name> {text(said.by)}"
    for purpose, value in (("assessing", said.grade), ("commenting", said.comment)):
        if value:
            body = iri(f"{said.id}#{purpose}")
            yield f"{itself} <{v.OA}hasBody> {body}"
            yield f"{body} <{v.RDF_TYPE}> <{v.OA}TextualBody>"
            yield f"{body} <{v.OA}hasPurpose> <{v.OA}{purpose}>"
            yield f"{body} <{v.RDF}value> {text(value)}"
    yield f"{itself} <{v.OA}hasTarget> {target}"
    yield f"{target} <{v.RDF_TYPE}> <{v.OA}SpecificResource>"
    yield f"{target} <{v.OA}hasSource> {iri(said.page.url)}"
    yield from (f"{target} <{v.OA}hasScope> {iri(name)}" for name in sorted(said.samples))
    if said.page.captured or said.page.record:
        yield f"{target} <{v.OA}hasState> {state}"
        yield f"{state} <{v.RDF_TYPE}> <{v.OA}TimeState>"
    if said.page.captured:
        yield f"{state} <{v.OA}sourceDate> {typed(said.page.captured, v.XSD_DATE_TIME)}"
    if said.page.record:
        yield f"{state} <{v.OA}cachedSource> {iri(said.page.record)}"
