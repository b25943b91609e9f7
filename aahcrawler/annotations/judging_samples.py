"""Which pages of a crawl are judged: by lot, or in the order of fetching, in lines of ``judging-samples.jsonl``.

By lot as many pages are drawn from each of ten bands of relevance, as Gossen, Risse and Demidova do (IJDL 2020, section
7.1): few pages of a crawl are near its subject, and a lot over all pages would miss them. How many pages each band has
is kept, so that what is judged of it can be weighted by them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import chain, islice, zip_longest
from pathlib import Path
from random import Random
from typing import Final
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from aahcrawler.annotations.membership import MemberDecision, with_membership
from aahcrawler.annotations.web_annotations import annotations_in, append, moment_now
from aahcrawler.layout import SAMPLES
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.objects.reader import page_rows

BANDS: Final = 10
"""Bands of relevance, as wide as each other, from 0 to the highest score of the pages."""
USUAL: Final = 100
MOST: Final = 1_000
"""Pages of a sample."""


class Order(StrEnum):
    """In which order pages are judged."""

    LOT = "lot"
    FETCHED = "fetched"


@dataclass(frozen=True, slots=True)
class FramePage:
    """A page that may be drawn; ``score`` is None for one that was not scored, ``captured`` is ISO 8601."""

    url: str
    record: str
    captured: str
    score: float | None
    is_member: bool


class DrawnPage(BaseModel):
    """A page that was drawn, from which band; ``score`` and ``is_member`` are as they were then."""

    model_config = ConfigDict(frozen=True)

    url: str
    record: str = ""
    captured: str = ""
    score: float | None = None
    is_member: bool = False
    band: int = 0


class Sample(BaseModel):
    """Pages that were drawn, in the order in which they are judged.

    ``pages`` counts those that they were drawn from, of the crawl of a number, ``bands`` how many of them were in each
    band: all of them in one, unless they were drawn by lot. ``members`` says that only members of the collection were.
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
        """Return whether both have the same pages in the same order, drawn in one way from a crawl in one state."""
        when = ("id", "created", "by")
        return self.model_copy(update={name: getattr(other, name) for name in when}) == other


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be drawn: up to so many pages, in which order, with which seed, of members alone or of all."""

    order: Order = Order.LOT
    most: int = USUAL
    seed: int = 0
    members: bool = False


def draw(frame: Iterable[FramePage], wanted: Wanted, crawl: int, by: str) -> Sample:
    """Draw a sample of pages that come in the order of fetching; the same pages and seed give the same sample.

    However few of a lot are judged, they are of all bands alike: the bands take turns, each time in another order, so
    that the place of a page tells judges nothing.
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
    """Return the pages of each band, the least relevant one first; those without a score are in that."""
    top = max((each.score or 0.0 for each in pages), default=0.0)
    bands: list[list[FramePage]] = [[] for _ in range(BANDS)]
    for each in pages:
        bands[min(BANDS - 1, int(BANDS * (each.score or 0.0) / top)) if top > 0 else 0].append(each)
    return bands


def keep(crawl: Path, sample: Sample) -> None:
    """Add a sample to those of a crawl, on disk when this returns. Raise ``AnnotationFileError``."""
    append(crawl / SAMPLES, sample)


def samples_of(crawl: Path) -> Sequence[Sample]:
    """Return the samples that were drawn of a crawl, in that order. Raise ``AnnotationFileError``."""
    return tuple(annotations_in(crawl / SAMPLES, Sample))


def frame_of(crawl: Path, decided: Mapping[str, MemberDecision]) -> tuple[Sequence[FramePage], int]:
    """Return the pages of the last crawl of a folder, in the order of fetching, and the number of that crawl.

    ``decided`` says whom people made members. Raise ``ReadError``.
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
    """Return a page as it may be drawn."""
    return FramePage(row.url, row.capture, row.fetched_at, row.score, bool(row.relevant))
