"""People's judgements: how relevant captured pages are, which of them belong to the collection, and samples to judge.

The grades are those of Gossen, Risse and Demidova, "Towards Extracting Event-centric Collections from Web Archives"
(IJDL 2020), table 2. A judge has one judgement of a page: the last one. Its target is the page at a URL (``source``) in
the capture that the judge saw (``TimeState``); its scope is the sample in which the page was judged.

A decision on membership is an annotation of pages with a reason, one line of ``membership.jsonl``; the last decision on
a page counts.

A random sample takes equally many pages from each of ten bands of relevance (section 7.1 there), since few pages of a
crawl are near its subject and a uniform sample would miss them. The size of each band is kept, so that judgements can
be weighted by it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random
from typing import Final, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from aahcrawler.annotations.web_annotations import (
    Person,
    TextualBody,
    WebAnnotation,
    annotations_in,
    append,
    moment_now,
)
from aahcrawler.layout import JUDGEMENTS, MEMBERSHIP, SAMPLES
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.reader import page_rows

MAX_COMMENT: Final = 2_000
"""Characters of a comment."""


class Grade(StrEnum):
    """How relevant a page is to the subject of a crawl."""

    HIGHLY_RELEVANT = "highly-relevant"
    RELEVANT = "relevant"
    NOT_RELEVANT = "not-relevant"
    SPAM = "spam"
    UNKNOWN = "dont-know"

    @property
    def words(self) -> str:
        """The grade as people read it."""
        return _WORDS[self]

    @property
    def meaning(self) -> str:
        """The explanation of the grade that judges are shown."""
        return _MEANINGS[self]


_WORDS: Final = {
    Grade.HIGHLY_RELEVANT: "Highly relevant",
    Grade.RELEVANT: "Relevant",
    Grade.NOT_RELEVANT: "Not relevant",
    Grade.SPAM: "Junk or spam",
    Grade.UNKNOWN: "Don't know",
}
_MEANINGS: Final = {
    Grade.HIGHLY_RELEVANT: "the page is mainly about the subject",
    Grade.RELEVANT: "a part of it is about the subject",
    Grade.NOT_RELEVANT: "it is about something else",
    Grade.SPAM: "it is plainly spam, text that was generated for instance",
    Grade.UNKNOWN: "it cannot be told, since the page is not shown for instance",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """The page that is judged: its URL, the record id of the capture that was seen, and the time of that (ISO 8601).

    Record id and time are empty if unknown.
    """

    url: str
    record: str = ""
    captured: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judge's judgement of a page.

    ``at`` is ISO 8601 in UTC, ``samples`` the ids of the samples it was judged in.
    """

    page: Seen
    grade: Grade
    by: str
    at: str
    comment: str = ""
    samples: frozenset[str] = frozenset()
    id: str = ""


class _State(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: Literal["TimeState"] = "TimeState"
    sourceDate: str | None = None  # noqa: N815 (it is called so there)
    cached: str | None = None


class _Target(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: Literal["SpecificResource"] = "SpecificResource"
    source: str
    state: _State | None = None
    scope: str | None = None


class _JudgementAnnotation(WebAnnotation[tuple[TextualBody[str], ...], _Target]):
    pass


_WITHDRAWN: Final = "withdrawn"


@dataclass(frozen=True, slots=True)
class Said:
    """A new judgement of a page: a grade and a comment; None as the grade withdraws the former judgement.

    ``at`` is empty for now, ``sample`` is empty if the page was judged outside of a sample.
    """

    page: Seen
    grade: Grade | None
    comment: str = ""
    sample: str = ""
    at: str = ""


def judge(crawl: Path, by: str, *said: Said) -> None:
    """Append a judge's judgements of pages; they are on disk on return. Raise ``AnnotationFileError``."""
    note_judgements(crawl, {by: said})


def note_judgements(crawl: Path, said: Mapping[str, Iterable[Said]]) -> None:
    """Append judgements by judge, all or none of them. Raise ``AnnotationFileError``."""
    append(crawl / JUDGEMENTS, *(_annotation(each, by) for by, of_one in said.items() for each in of_one))


def _annotation(said: Said, by: str) -> _JudgementAnnotation:
    page, grade = said.page, said.grade or _WITHDRAWN
    body = [TextualBody[str](purpose="assessing", value=grade)]
    body += [TextualBody[str](purpose="commenting", value=said.comment)] if said.comment else []
    state = _State(sourceDate=page.captured or None, cached=page.record or None)
    is_known = bool(page.captured or page.record)
    target = _Target(source=page.url, state=state if is_known else None, scope=said.sample or None)
    return _JudgementAnnotation(
        creator=Person(name=by), created=said.at or moment_now(), body=tuple(body), target=target
    )


def judgements_of(crawl: Path) -> Sequence[Judgement]:
    """Return the current judgement of each judge and page, in the order in which each pair first occurred.

    Raise ``AnnotationFileError``.
    """
    found: dict[tuple[str, str], Judgement] = {}
    for made in annotations_in(crawl / JUDGEMENTS, _JudgementAnnotation):
        said = {each.purpose: each.value for each in made.body}
        key, grade = (made.creator.name, made.target.source), said.get("assessing")
        before = found.get(key)
        if grade not in list(Grade):
            found.pop(key, None)
            continue
        scope = frozenset(filter(None, (made.target.scope,)))
        state = made.target.state or _State()
        found[key] = Judgement(
            Seen(made.target.source, state.cached or "", state.sourceDate or ""),
            Grade(grade),
            made.creator.name,
            made.created,
            said.get("commenting", ""),
            scope if before is None else before.samples | scope,
            made.id,
        )
    return list(found.values())


def by_page(judgements: Iterable[Judgement]) -> Mapping[str, Sequence[Judgement]]:
    """Group judgements by the URL of their page."""
    found: dict[str, list[Judgement]] = {}
    for each in judgements:
        found.setdefault(each.page.url, []).append(each)
    return found


class MemberAnswer(StrEnum):
    """Whether a page is a member; ``undecided`` withdraws the decision, so that relevance decides."""

    MEMBER = "member"
    NOT_MEMBER = "not-member"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class MemberDecision:
    """The current decision on a page: who made it, when (ISO 8601, UTC), and why."""

    is_member: bool
    by: str
    at: str
    reason: str = ""


class _MembershipAnnotation(WebAnnotation[tuple[TextualBody[str], ...], tuple[str, ...]]):
    pass


def decide_membership(crawl: Path, urls: Iterable[str], answer: MemberAnswer, by: str, reason: str = "") -> int:
    """Append one decision on the membership of pages; return how many pages it is about. It is on disk on return.

    Raise ``AnnotationFileError``.
    """
    pages = tuple(dict.fromkeys(urls))
    if pages:
        said = [TextualBody[str](purpose="classifying", value=answer)]
        said += [TextualBody[str](purpose="commenting", value=reason)] if reason else []
        made = _MembershipAnnotation(motivation="classifying", creator=Person(name=by), body=tuple(said), target=pages)
        append(crawl / MEMBERSHIP, made)
    return len(pages)


@dataclass(frozen=True, slots=True)
class Decided:
    """An answer on the membership of a page, with the reason."""

    answer: MemberAnswer
    reason: str = ""


def decide_together(crawl: Path, decided: Mapping[str, Decided], by: str) -> None:
    """Append decisions on pages, by URL, as one act: all or none of them. Raise ``AnnotationFileError``."""
    decide_as(crawl, {(by, ""): decided})


def decide_as(crawl: Path, acts: Mapping[tuple[str, str], Mapping[str, Decided]]) -> None:
    """Append acts of several people: all or none of them. Raise ``AnnotationFileError``.

    An act's key is who made it and when (ISO 8601; empty: now); its value is the decisions by URL. Acts are appended in
    order of time.
    """
    # To the microsecond: by it acts are told apart.
    now = datetime.now(UTC).isoformat()
    made = []
    for (by, at), decided in sorted(acts.items(), key=lambda each: datetime.fromisoformat(each[0][1] or now)):
        alike: dict[Decided, list[str]] = {}
        for url, each in decided.items():
            alike.setdefault(each, []).append(url)
        for each, pages in alike.items():
            said = [TextualBody[str](purpose="classifying", value=each.answer)]
            said += [TextualBody[str](purpose="commenting", value=each.reason)] if each.reason else []
            creator = Person(name=by)
            made.append(
                _MembershipAnnotation(
                    motivation="classifying", creator=creator, created=at or now, body=tuple(said), target=tuple(pages)
                )
            )
    if made:
        append(crawl / MEMBERSHIP, *made)


def before_last_act(crawl: Path) -> tuple[Mapping[str, Decided], str]:
    """Return what held for the pages of the last act before that act, and who made it; empty if there was no act.

    An act is all decisions of one person at one time. Raise ``AnnotationFileError``.
    """
    known: dict[str, Decided] = {}
    before: dict[str, Decided] = {}
    act: tuple[str, str] | None = None
    for made in annotations_in(crawl / MEMBERSHIP, _MembershipAnnotation):
        if act != (made.creator.name, made.created):
            act, before = (made.creator.name, made.created), {}
        said = {each.purpose: each.value for each in made.body}
        now = Decided(MemberAnswer(said["classifying"]), said.get("commenting", ""))
        for url in made.target:
            before.setdefault(url, known.get(url, Decided(MemberAnswer.UNDECIDED)))
            known[url] = now
    return before, "" if act is None else act[0]


def membership_of(crawl: Path) -> Mapping[str, MemberDecision]:
    """Return the current decisions on membership, by URL. Raise ``AnnotationFileError``."""
    found: dict[str, MemberDecision | None] = {}
    for made in annotations_in(crawl / MEMBERSHIP, _MembershipAnnotation):
        said = {each.purpose: each.value for each in made.body}
        answer, reason = said.get("classifying", MemberAnswer.UNDECIDED), said.get("commenting", "")
        decision = MemberDecision(answer == MemberAnswer.MEMBER, made.creator.name, made.created, reason)
        found.update(dict.fromkeys(made.target, None if answer == MemberAnswer.UNDECIDED else decision))
    return {url: each for url, each in found.items() if each is not None}


def with_membership(rows: Iterable[PageRow], decided: Mapping[str, MemberDecision]) -> Iterator[PageRow]:
    """Yield captures with ``relevant`` of pages replaced by people's decisions."""
    for row in rows:
        decision = decided.get(row.url) if row.is_page else None
        yield row if decision is None else replace(row, relevant=decision.is_member)


BANDS: Final = 10
"""Bands of relevance, as wide as each other, from 0 to the highest score of the pages."""
USUAL: Final = 100
MAX_SAMPLE: Final = 1_000
"""Pages of a sample."""


class Order(StrEnum):
    """The order in which the pages of a sample are judged."""

    LOT = "lot"
    FETCHED = "fetched"


@dataclass(frozen=True, slots=True)
class FramePage:
    """A page that can be sampled; ``score`` is None if it was not scored, ``captured`` is ISO 8601."""

    url: str
    record: str
    captured: str
    score: float | None
    is_member: bool


class DrawnPage(BaseModel):
    """A sampled page and its band; ``score`` and ``is_member`` are as they were when it was sampled."""

    model_config = ConfigDict(frozen=True)

    url: str
    record: str = ""
    captured: str = ""
    score: float | None = None
    is_member: bool = False
    band: int = 0


class Sample(BaseModel):
    """Sampled pages in the order in which they are judged.

    They were sampled from ``pages`` pages of crawl number ``crawl``, only from members of the collection if
    ``members``. ``bands`` is the number of those pages in each band; a sample that was not random has one band.
    """

    model_config = ConfigDict(frozen=True)

    id: str = Field(default_factory=lambda: f"urn:uuid:{uuid4()}")
    created: str = Field(default_factory=moment_now)
    by: str
    order: Order
    seed: int = 0
    members: bool = False
    crawl: int
    pages: int
    bands: tuple[int, ...]
    drawn: tuple[DrawnPage, ...]

    def is_same_draw(self, other: "Sample") -> bool:
        """Return whether two samples have equal pages, order and settings, from the same state of a crawl."""
        when = ("id", "created", "by")
        return self.model_copy(update={name: getattr(other, name) for name in when}) == other


@dataclass(frozen=True, slots=True)
class Wanted:
    """The settings of a sample: order, maximal number of pages, seed, and whether to sample members only."""

    order: Order = Order.LOT
    most: int = USUAL
    seed: int = 0
    members: bool = False


def draw(frame: Iterable[FramePage], wanted: Wanted, crawl: int, by: str) -> Sample:
    """Sample pages from ``frame``, which is in the order of fetching; equal pages and seed give the same sample.

    A random sample visits the bands in rounds, each round in another random order. So judging only its first pages
    covers all bands alike, and a page's position tells judges nothing about its band.
    """
    pages = [each for each in frame if each.is_member or not wanted.members]
    is_lot, lot = wanted.order is Order.LOT, Random(wanted.seed)
    bands = _banded(pages) if is_lot else [pages]
    numbered = [[(each, number) for each in band] for number, band in enumerate(bands)]
    if is_lot:
        for band in numbered:
            band.sort(key=lambda each: each[0].url)
            lot.shuffle(band)
    turns = ([taken for taken in turn if taken is not None] for turn in zip_longest(*numbered))
    shuffled = (lot.sample(turn, len(turn)) if is_lot else turn for turn in turns)
    drawn = islice(chain.from_iterable(shuffled), wanted.most)
    return Sample(
        by=by,
        order=wanted.order,
        seed=wanted.seed,
        members=wanted.members,
        crawl=crawl,
        pages=len(pages),
        bands=tuple(map(len, bands)),
        drawn=tuple(DrawnPage(**asdict(page), band=band) for page, band in drawn),
    )


def _banded(pages: Sequence[FramePage]) -> list[list[FramePage]]:
    """Return the pages by band, the least relevant band first; it includes pages without a score."""
    top = max((each.score or 0.0 for each in pages), default=0.0)
    bands: list[list[FramePage]] = [[] for _ in range(BANDS)]
    for each in pages:
        bands[min(BANDS - 1, int(BANDS * (each.score or 0.0) / top)) if top > 0 else 0].append(each)
    return bands


def keep(crawl: Path, sample: Sample) -> None:
    """Append a sample to those of a crawl; it is on disk on return. Raise ``AnnotationFileError``."""
    append(crawl / SAMPLES, sample)


def samples_of(crawl: Path) -> Sequence[Sample]:
    """Return the samples of a crawl, the oldest first. Raise ``AnnotationFileError``."""
    return tuple(annotations_in(crawl / SAMPLES, Sample))


def frame_of(crawl: Path, decided: Mapping[str, MemberDecision]) -> tuple[Sequence[FramePage], int]:
    """Return the pages of a folder's last crawl, in the order of fetching, and the number of that crawl.

    ``decided`` are the decisions on membership. Raise ``ReadError``.
    """
    newest, found = 0, dict[str, PageRow]()
    for row in page_rows(crawl):
        if row.crawl > newest:
            newest, found = row.crawl, {}
        if row.crawl == newest:
            found.pop(row.url, None)
            found[row.url] = row
    rows = sorted(with_membership(found.values(), decided), key=lambda row: row.obtained_at or row.fetched_at)
    return [framed(row) for row in rows if row.is_page], newest


def framed(row: PageRow) -> FramePage:
    """Return the page of a capture as it can be sampled."""
    return FramePage(row.url, row.capture, row.fetched_at, row.score, bool(row.relevant))
