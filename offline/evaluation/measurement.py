"""Measures the pages of a crawl in one pass, in the order of capture."""

import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from aahcrawler import urls
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.raised_failures import RaisedTally, raised
from aahcrawler.layout import ARCHIVE, OBJECTS, WARC
from aahcrawler.objects.reader import page_rows
from aahcrawler.segments import segments
from offline.evaluation.relevance_metrics import EvaluationError, Reference, RelevanceMetrics
from online_analysis.document import Document

MOST_POINTS = 400
"""The least number of points kept of the course over time, given as many pages; at most twice as many are kept."""


@dataclass(slots=True)
class Similarity:
    """Similarities to one topic, added up as they come (Welford's method).

    ``matching`` counts documents with any of the topic's terms, of which the average, the maximum and the standard
    deviation are, as in the paper. ``relevant`` counts those that reach the threshold.
    """

    matching: int = 0
    relevant: int = 0
    average: float = 0.0
    maximum: float = 0.0
    _squares: float = 0.0

    def add(self, similarity: float, threshold: float) -> None:
        """Take in a document."""
        self.relevant += similarity >= threshold
        if similarity > 0:
            self.matching += 1
            step = similarity - self.average
            self.average += step / self.matching
            self._squares += step * (similarity - self.average)
            self.maximum = max(self.maximum, similarity)

    @property
    def deviation(self) -> float:
        """The standard deviation of the matching documents' similarities."""
        return math.sqrt(self._squares / self.matching) if self.matching else 0.0


@dataclass(slots=True)
class Course:
    """The number of relevant pages after each number of pages, at regular distances that double when too many."""

    points: list[tuple[int, int]] = field(default_factory=list)
    _stride: int = 1
    _last: tuple[int, int] = (0, 0)

    def add(self, *, relevant: bool) -> None:
        """Take in a page."""
        self._last = (self._last[0] + 1, self._last[1] + relevant)
        if self._last[0] % self._stride == 0:
            self.points.append(self._last)
        if len(self.points) > 2 * MOST_POINTS:
            self._stride *= 2
            self.points = [point for point in self.points if point[0] % self._stride == 0]

    def whole(self) -> tuple[tuple[int, int], ...]:
        """Return the points, from nothing to the last page."""
        last = () if self.points and self.points[-1] == self._last else (self._last,)
        return tuple(dict.fromkeys(((0, 0), *self.points, *last)))


@dataclass(slots=True)
class Measured:
    """The measures of a crawl. ``similarities`` are by topic, ``keywords`` count the documents with each."""

    crawl: str
    documents: int
    keywords: dict[str, int]
    similarities: dict[str, Similarity]
    course: Course = field(default_factory=Course)


def documents(
    crawl: Path, helper: ApplicationAwareHelper, number: int | None = None, tally: RaisedTally | None = None
) -> Iterator[Document]:
    """Yield the document of each page of a crawl that was answered well, in the order of time.

    Pages are those that the crawl's RDF calls so. A folder of WARC files of another crawler has none: there, each HTML
    answer is a page. With ``number``, the pages are those of that crawl among the ones of the folder. A payload that
    was captured several times is one document, read where it was captured first. ``tally`` is told of stages of reading
    that failed. Raises ``EvaluationError``, ``ReadError`` and ``SegmentError``.
    """
    archive = crawl / ARCHIVE if (crawl / ARCHIVE).is_dir() else crawl
    if not segments(archive, WARC):
        raise EvaluationError(f"{crawl}: holds no WARC files (*.{WARC}). Name the folder of a crawl.")
    described = (crawl / OBJECTS).is_dir()
    if number is not None and not described:
        raise EvaluationError(f"{crawl}: is not of this crawler, so nobody can tell which pages are of crawl {number}.")
    with ArchivedCaptures(crawl) as source, closing(sqlite3.connect("")) as known:
        if described:
            _find_pages(crawl, number, source, known)
        for capture in source.captures():
            if not capture.shows_target or (described and not _is_known(known, capture.record_id)):
                continue
            page = capture.page
            if page is not None and 200 <= page.status < 300 and page.is_html:
                found = helper.assist(page)
                if tally is not None:
                    tally.add(page.url, raised(found))
                yield found.document


def seed_documents(
    crawl: Path, reference: Reference, helper: ApplicationAwareHelper, number: int | None = None
) -> Iterator[Document]:
    """Yield the documents of the seeds, until all have been found. Raises as ``documents`` does."""
    wanted = {urls.canonicalize(seed) or seed for seed in reference.seeds}
    for document in documents(crawl, helper, number) if wanted else ():
        if document.url in wanted:
            wanted.discard(document.url)
            yield document
        if not wanted:
            return


def measure(
    crawl: str, found: Iterator[Document], metrics: RelevanceMetrics, threshold: float, seen: Callable[[], object]
) -> Measured:
    """Measure documents in one pass; memory use does not depend on how many there are."""
    measured = Measured(crawl, 0, dict.fromkeys(metrics.words, 0), {name: Similarity() for name in metrics.topics})
    for document in found:
        measured.documents += 1
        similarities = metrics.similarities(document)
        for similarity, value in zip(measured.similarities.values(), similarities, strict=True):
            similarity.add(value, threshold)
        for word, held in zip(metrics.words, metrics.held(document), strict=True):
            measured.keywords[word] += held
        measured.course.add(relevant=similarities[0] >= threshold)
        seen()
    return measured


def _find_pages(crawl: Path, number: int | None, source: ArchivedCaptures, known: sqlite3.Connection) -> None:
    """Put the captures that hold the pages in a table on disk that goes with its connection."""
    known.execute("CREATE TABLE page (id TEXT PRIMARY KEY) WITHOUT ROWID")
    for row in page_rows(crawl, number):
        if row.is_page:
            holder = row.unchanged or row.capture
            original = source.original(holder)
            holders = (holder,) if original is None else (holder, original.record_id)
            known.executemany("INSERT OR IGNORE INTO page VALUES (?)", ((each,) for each in holders))


def _is_known(known: sqlite3.Connection, capture: str) -> bool:
    return known.execute("SELECT 1 FROM page WHERE id = ?", (capture,)).fetchone() is not None
