"""Measure the pages of a crawl in one pass, in the order of capture, and write the measures."""

import hashlib
import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from aahcrawler import __version__, urls
from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.captures import ArchivedCaptures, Capture
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.assistance import FailedAction, RaisedTally, raised
from aahcrawler.helper.site_memory import site_of
from aahcrawler.jobs import Job, Made, Work
from aahcrawler.layout import DEFINITION, EVALUATION, INDEXES, NQUADS, OBJECTS, WARC
from aahcrawler.objects.reader import page_rows
from aahcrawler.segments import extent, segments
from knowledge_base.loader import load
from offline.evaluation.relevance_metrics import EvaluationError, Reference, RelevanceMetrics, TopicTerms
from online_analysis.document import Document
from online_analysis.terms import Lexicon

MAX_POINTS = 400
"""How many points of the course over time are kept at least, given as many pages; at most twice as many are."""


@dataclass(slots=True)
class Similarity:
    """The similarities of documents to one topic, accumulated (Welford's method).

    ``matching`` counts documents with any of the topic's terms; average, maximum and standard deviation are those of
    these documents, as in the paper. ``relevant`` counts documents that reach the threshold.
    """

    matching: int = 0
    relevant: int = 0
    average: float = 0.0
    maximum: float = 0.0
    _squares: float = 0.0

    def add(self, similarity: float, threshold: float) -> None:
        """Add a document."""
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
    """The number of relevant pages after each number of pages, at regular distances.

    The distances double when there are too many points.
    """

    points: list[tuple[int, int]] = field(default_factory=list)
    _stride: int = 1
    _last: tuple[int, int] = (0, 0)

    def add(self, *, relevant: bool) -> None:
        """Add a page."""
        self._last = (self._last[0] + 1, self._last[1] + relevant)
        if self._last[0] % self._stride == 0:
            self.points.append(self._last)
        if len(self.points) > 2 * MAX_POINTS:
            self._stride *= 2
            self.points = [point for point in self.points if point[0] % self._stride == 0]

    def whole(self) -> tuple[tuple[int, int], ...]:
        """Return the points, from zero to the last page."""
        last = () if self.points and self.points[-1] == self._last else (self._last,)
        return tuple(dict.fromkeys(((0, 0), *self.points, *last)))


@dataclass(slots=True)
class Measured:
    """The measures of a crawl. ``similarities`` are by topic; ``keywords`` counts the documents with each keyword."""

    crawl: str
    documents: int
    keywords: dict[str, int]
    similarities: dict[str, Similarity]
    course: Course = field(default_factory=Course)


@dataclass(frozen=True, slots=True)
class Likeness:
    """How similar a document is to each topic, which keywords it contains, and which stages of reading it failed.

    ``url`` is empty if there is no document: a response that is no HTML page, or has an error status.
    """

    url: str = ""
    similarities: Mapping[str, float] = field(default_factory=dict)
    held: tuple[bool, ...] = ()
    raised: tuple[FailedAction, ...] = ()


_NOTES: Final = TypeAdapter(Likeness)


@dataclass(frozen=True, slots=True)
class Measuring:
    """The job step that measures the documents of a crawl, read with a knowledge base."""

    crawl: Path
    folders: tuple[Path, ...]
    terms: TopicTerms
    knowledge: str

    @property
    def version(self) -> str:
        """The version of the software, the knowledge base and the topics."""
        said = repr((__version__, self.knowledge, self.terms))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()

    @contextmanager
    def open(self) -> Iterator[Work[Likeness]]:
        """Open the archive and the knowledge base. Raises ``LoadError`` and ``SegmentError``."""
        helper, metrics = ApplicationAwareHelper(load(*self.folders)), RelevanceMetrics(self.terms)
        with ArchivedCaptures(self.crawl) as source:

            def measured(_: str, captures: Sequence[str]) -> Made[Likeness]:
                helper.restart()
                return [(_likeness(source.of_record(each), helper, metrics), b"") for each in captures]

            yield measured


def _likeness(capture: Capture | None, helper: ApplicationAwareHelper, metrics: RelevanceMetrics) -> Likeness:
    found = None if capture is None else _read(capture, helper)
    if found is None:
        return Likeness()
    document = found.document
    return Likeness(document.url, metrics.similarities(document), metrics.held(document), raised(found))


def _read(capture: Capture, helper: ApplicationAwareHelper) -> Assistance | None:
    """Read a capture of a page with a successful status; None for others."""
    page = capture.page
    return helper.assist(page) if page is not None and 200 <= page.status < 300 and page.is_html else None


@contextmanager
def _documents(crawl: Path, number: int | None) -> Iterator[Iterator[Capture]]:
    """Yield the captures of a crawl that may be documents, in the order of time.

    Pages are those described in the crawl's RDF. A folder of WARC files of another crawler has none: there, each HTML
    response counts as a page. With ``number``, only pages of that crawl of the folder. A payload that was captured
    several times is one document, read from its first capture. Raises ``EvaluationError``, ``ReadError`` and
    ``SegmentError``.
    """
    if not segments(ArchiveFolder.of(crawl).files, WARC):
        raise EvaluationError(f"{crawl}: holds no WARC files (*.{WARC}). Name the folder of a crawl.")
    described = (crawl / OBJECTS).is_dir()
    if number is not None and not described:
        raise EvaluationError(f"{crawl}: is not of this crawler, so nobody can tell which pages are of crawl {number}.")
    with ArchivedCaptures(crawl) as source, closing(sqlite3.connect("")) as known:
        if described:
            _find_pages(crawl, number, source, known)
        is_known = "SELECT 1 FROM page WHERE id = ?"
        shown = (capture for capture in source.captures() if capture.shows_target)
        yield (each for each in shown if not described or known.execute(is_known, (each.record_id,)).fetchone())


def seed_documents(
    crawl: Path, reference: Reference, helper: ApplicationAwareHelper, number: int | None = None
) -> Iterator[Document]:
    """Yield the documents of the seeds, until all have been found. Raises as ``measure`` does."""
    wanted = {urls.canonicalize(seed) or seed for seed in reference.seeds}
    if not wanted:
        return
    with _documents(crawl, number) as captures:
        for capture in captures:
            url = urls.canonicalize(capture.target_uri)
            found = _read(capture, helper) if url in wanted else None
            if found is not None:
                wanted.discard(url)
                yield found.document
            if not wanted:
                return


def measure(
    name: str,
    step: Measuring,
    threshold: float,
    tally: RaisedTally,
    *,
    number: int | None = None,
    processes: int = 1,
    seen: Callable[[int], object] = abs,
) -> Measured:
    """Measure the documents of a crawl, or of crawl ``number`` of its folder, in bounded memory.

    Stages of reading that failed are added to ``tally``. Raises ``EvaluationError``, ``JobError``, ``LoadError``,
    ``ReadError`` and ``SegmentError``.
    """
    topics = step.terms.topics(Lexicon())
    measured = Measured(name, 0, dict.fromkeys(step.terms.words, 0), {topic: Similarity() for topic in topics})
    is_ours = (step.crawl / DEFINITION).exists()
    job = Job(step, _NOTES, step.crawl / INDEXES / EVALUATION if is_ours else None, processes=processes, seen=seen)
    files = ArchiveFolder.of(step.crawl).files
    with _documents(step.crawl, number) as captures:
        items = ((site_of(each.target_uri), each.record_id) for each in captures)
        with job.run(items, f"{number} {extent(files, WARC)} {extent(step.crawl / OBJECTS, NQUADS)}") as found:
            for _, likeness in found:
                if likeness.url:
                    _add(measured, likeness, threshold)
                    tally.add(likeness.url, likeness.raised)
    return measured


def _add(measured: Measured, likeness: Likeness, threshold: float) -> None:
    measured.documents += 1
    for topic, value in likeness.similarities.items():
        measured.similarities[topic].add(value, threshold)
    for word, held in zip(measured.keywords, likeness.held, strict=True):
        measured.keywords[word] += held
    measured.course.add(relevant=next(iter(likeness.similarities.values())) >= threshold)


def _find_pages(crawl: Path, number: int | None, source: ArchivedCaptures, known: sqlite3.Connection) -> None:
    """Store the captures of pages in a temporary table on disk, deleted with its connection."""
    known.execute("CREATE TABLE page (id TEXT PRIMARY KEY) WITHOUT ROWID")
    for row in page_rows(crawl, number):
        if row.is_page:
            holder = row.unchanged or row.capture
            original = source.original(holder)
            holders = (holder,) if original is None else (holder, original.record_id)
            known.executemany("INSERT OR IGNORE INTO page VALUES (?)", ((each,) for each in holders))


_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 720, 400, 64, 56, 48
_COLOURS = ("#1b5e9c", "#c2570c")
_HEADINGS = ("ground truth", "relevant", "matching", "average", "maximum", "deviation")

Json = dict[str, "Json | list[Json] | list[list[int]] | str | int | float"]


def as_json(crawls: Sequence[Measured], threshold: float, failed_stages: Mapping[str, int]) -> Json:
    """Return all measures; shares are of 1, the course has pairs of pages and relevant pages.

    ``failed_stages`` counts the pages of all crawls for which a stage of reading failed, by stage.
    """
    told: Json = {"relevant_at": threshold, "crawls": [_crawl(measured) for measured in crawls]}
    return {**told, "failed_stages": dict(failed_stages)}


def _crawl(measured: Measured) -> Json:
    count = measured.documents
    return {
        "crawl": measured.crawl,
        "documents": count,
        "keywords": {word: _share(number, count) for word, number in measured.keywords.items()},
        "similarity": {
            name: {
                "relevant": found.relevant,
                "relevant_share": _share(found.relevant, count),
                "matching": found.matching,
                "matching_share": _share(found.matching, count),
                "average": found.average,
                "maximum": found.maximum,
                "deviation": found.deviation,
            }
            for name, found in measured.similarities.items()
        },
        "course": [list(point) for point in measured.course.whole()],
    }


def as_text(crawls: Sequence[Measured], threshold: float) -> Iterator[str]:
    """Yield the lines of a report: keywords of all crawls side by side, then the similarities of each."""
    yield "Share of documents with a keyword"
    rows = [
        (word, *(f"{_share(each.keywords[word], each.documents):.2%}" for each in crawls))
        for word in crawls[0].keywords
    ]
    yield from _table(("keyword", *(each.crawl for each in crawls)), rows)
    for each in crawls:
        yield ""
        yield f"{each.crawl}: {each.documents:,} documents; relevant from {threshold:g} on"
        yield from _table(
            _HEADINGS,
            [
                (
                    name,
                    f"{_share(found.relevant, each.documents):.2%}",
                    f"{_share(found.matching, each.documents):.2%}",
                    f"{found.average:.4f}",
                    f"{found.maximum:.4f}",
                    f"{found.deviation:.4f}",
                )
                for name, found in each.similarities.items()
            ],
        )


def chart(crawls: Sequence[Measured]) -> str:
    """Return an SVG file: relevant pages (up) by pages fetched (to the right), a line for each crawl."""
    courses = [each.course.whole() for each in crawls]
    most = max(1, *(course[-1][0] for course in courses))
    top = max(1, *(course[-1][1] for course in courses))
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - 16
    drawn = "".join(
        f'<polyline fill="none" stroke-width="2" stroke="{colour}" points="{_points(course, most, top)}"/>'
        f'<text x="{_LEFT + 8}" y="{_TOP + 4 + 16 * row}" fill="{colour}">{escape(each.crawl)}: '
        f"{course[-1][1]:,} of {course[-1][0]:,}</text>"
        for row, (each, course, colour) in enumerate(zip(crawls, courses, _COLOURS, strict=False))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="13">'
        f'<title>Relevance over time</title><rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
        f'<text x="{_LEFT}" y="24" font-size="16">Relevant pages by pages fetched</text>'
        f'<path d="M{_LEFT} {_TOP - 12}V{bottom}H{right}" fill="none" stroke="#555"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">{top:,}</text>'
        f'<text x="{_LEFT - 6}" y="{bottom}" text-anchor="end">0</text>'
        f'<text x="{right}" y="{bottom + 20}" text-anchor="end">{most:,} pages</text>{drawn}</svg>\n'
    )


def _points(course: Sequence[tuple[int, int]], most: int, top: int) -> str:
    across, up = (_WIDTH - 16 - _LEFT) / most, (_HEIGHT - _BOTTOM - _TOP) / top
    return " ".join(f"{_LEFT + x * across:.1f},{_HEIGHT - _BOTTOM - y * up:.1f}" for x, y in course)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table whose first column is text and whose others are numbers."""
    widths = [max(len(row[column]) for row in (headings, *rows)) for column in range(len(headings))]
    for row in (headings, *rows):
        cells = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join((f"  {row[0].ljust(widths[0])}", *cells)).rstrip()


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
