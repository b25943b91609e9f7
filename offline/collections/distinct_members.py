"""Members of a collection that repeat an earlier member: mirrors, copies, the same page under two URLs.

Two pages are near duplicates if the simhashes of their contents differ in at most three bits (Manku, Jain and Das
Sarma, "Detecting near-duplicates for Web crawling", WWW 2007).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aahcrawler.captures import ArchivedCaptures
from aahcrawler.objects.capture_statements import PageRow
from aahcrawler.report.event_collection import archive_of, got_at
from aahcrawler.tallies import plural
from aahcrawler.traps.sketch import distance, sketch

MAX_BITS: Final = 3
"""The most bits in which the fingerprints of near duplicates differ."""
MIN_CONTENT_SHINGLES: Final = 20
"""The fewest shingles of content that is compared: shorter content says too little to be a copy of anything."""
_BLOCKS: Final = MAX_BITS + 1
_WIDTH: Final = 64 // _BLOCKS


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """A member that repeats an earlier one: its row, and the URL of the earlier one."""

    row: PageRow
    like: str


@dataclass(frozen=True, slots=True)
class NearDuplicateRow:
    """A near duplicate as a row of a table: ``captured`` is ISO 8601."""

    url: str
    like: str
    captured: str
    archive: str
    score: float


@dataclass(frozen=True, slots=True)
class Distinctness:
    """A collection with and without the near duplicates among its members.

    ``relevance`` is the sum of the members' scores, ``precision`` the share of members among pages, None if there is no
    page; ``distinct_relevance`` and ``distinct_precision`` leave out members that are near duplicates of an earlier
    one. ``unread`` counts members with too little content to compare.
    """

    pages: int
    members: int
    relevance: float
    duplicates: Sequence[NearDuplicate]
    unread: int

    @property
    def rows(self) -> Iterator[NearDuplicateRow]:
        """The near duplicates as rows of a table, in the order in which they were fetched."""
        for each in self.duplicates:
            row = each.row
            yield NearDuplicateRow(row.url, each.like, row.fetched_at, archive_of(row), row.score or 0.0)

    @property
    def told(self) -> Iterator[str]:
        """Lines with all figures in words."""
        few = f"; {self.unread:,} have too little text to be compared" if self.unread else ""
        yield f"{len(self.duplicates):,} of {plural(self.members, 'member')} say what an earlier one says{few}"
        yield f"relevance gathered: {self.relevance:.2f}, without them {self.distinct_relevance:.2f}"
        if self.precision is not None and self.distinct_precision is not None:
            yield f"share of members among pages: {self.precision:.3f}, without them {self.distinct_precision:.3f}"

    @property
    def distinct_relevance(self) -> float:
        """The sum of the scores of distinct members."""
        return self.relevance - sum(each.row.score or 0.0 for each in self.duplicates)

    @property
    def precision(self) -> float | None:
        """The share of members among all pages."""
        return self.members / self.pages if self.pages else None

    @property
    def distinct_precision(self) -> float | None:
        """The share of distinct members among all pages without their near duplicates."""
        pages = self.pages - len(self.duplicates)
        return (self.members - len(self.duplicates)) / pages if pages else None


def distinctness(crawl: Path, rows: Iterable[PageRow]) -> Distinctness:
    """Compare the members among the pages of a crawl, each with those fetched before it.

    Time is linear in the members, except for those that share a quarter of their fingerprint. Raises ``ArchiveError``
    and ``SegmentError``.
    """
    pages = sorted((row for row in rows if row.is_page), key=lambda row: (got_at(row), row.url))
    members = [row for row in pages if row.relevant]
    known = _fingerprints(crawl, {row.capture for row in members})
    duplicates: list[NearDuplicate] = []
    by_block: dict[tuple[int, int], dict[int, str]] = {}
    for row in members:
        own = known.get(row.capture)
        if own is None:
            continue
        like = next((url for url in _near(own, by_block) if url != row.url), None)
        if like is not None:
            duplicates.append(NearDuplicate(row, like))
            continue
        for block in _blocks(own):
            by_block.setdefault(block, {}).setdefault(own, row.url)
    relevance = sum(row.score or 0.0 for row in members)
    unread = sum(row.capture not in known for row in members)
    return Distinctness(len(pages), len(members), relevance, duplicates, unread)


def _fingerprints(crawl: Path, wanted: Collection[str]) -> Mapping[str, int]:
    """Return the fingerprint of the content of each capture with enough content, by the id of its record."""
    found: dict[str, int] = {}
    with ArchivedCaptures(crawl) as captures:
        for capture in captures.captures():
            document = capture.document if capture.record_id in wanted else None
            if document is not None:
                content = " ".join(part.text for part in document.parts if part.role == "content") or document.text
                drawn = sketch(content)
                if drawn.size >= MIN_CONTENT_SHINGLES:
                    found[capture.record_id] = drawn.fingerprint
    return found


def _blocks(fingerprint: int) -> Iterator[tuple[int, int]]:
    """Yield the quarters of a fingerprint: two fingerprints that differ in three bits have an equal quarter."""
    for place in range(_BLOCKS):
        yield place, fingerprint >> (place * _WIDTH) & (1 << _WIDTH) - 1


def _near(fingerprint: int, by_block: Mapping[tuple[int, int], Mapping[int, str]]) -> Iterator[str]:
    for block in _blocks(fingerprint):
        for other, url in by_block.get(block, {}).items():
            if distance(fingerprint, other) <= MAX_BITS:
                yield url
