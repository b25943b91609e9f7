"""Read archived pages again with the current knowledge base; later readings supersede earlier ones.

Nothing is fetched. Scores, relevance and priorities are kept, because they guided the crawl; level and objects of a
page are determined again.
"""

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from aahcrawler.adaptation.adapter import adaptation
from aahcrawler.adaptation.learned import Learned
from aahcrawler.adaptation.overlay import Overlay
from aahcrawler.captures import ArchivedCaptures, CaptureSource
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.fingerprint import files_digest, fingerprint
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.assistance import FailedAction, raised
from aahcrawler.helper.site_memory import SiteLesson, site_of
from aahcrawler.jobs import Job, Made, Work
from aahcrawler.layout import ARCHIVE, DEFINITION, INDEXES, LEARNED, OBJECTS, REREADING, TOPIC, WARC
from aahcrawler.metadata import Link, Metadata
from aahcrawler.objects.capture_statements import CaptureStatements, PageRow, read_statements
from aahcrawler.objects.reader import page_rows
from aahcrawler.objects.writer import CaptureDescription, Method, ObjectWriter, Reading, statements
from aahcrawler.page import Page
from aahcrawler.pipeline.analysis import changes
from aahcrawler.segments import extent
from aahcrawler.webobject import Container
from knowledge_base.loader import load
from knowledge_base.selectors import BadExpressionError
from online_analysis.icd import Icd
from online_analysis.topic_learning import TopicState

logger = logging.getLogger(__name__)

_MEANING: Final = TypeAdapter(dict[str, str])
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_MAX_TEACHING: Final = 500
"""From how many pages of a site facts about the site are learned, such as the order of day and month."""
_MAX_LESSONS: Final = 50_000
"""How many of these lessons are kept; further ones are learned again for each unit of the site."""


class RereadOutcome(StrEnum):
    """What became of reading a capture again."""

    CHANGED = "changed"
    """Something else was found: a later reading is written."""
    SAME = "same"
    """The same was found: nothing is written."""
    UNREADABLE = "unreadable"
    """The archive no longer has its page, or it cannot be understood: its readings stay."""


class RereadError(Exception):
    """Raised when a crawl cannot be read again; the message gives the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class WantedCaptures:
    """Selects the captures to read again: by URL, by a prefix of the URL, and by the crawl of the folder.

    Empty values and None mean no condition. Unless ``every`` is True, captures last read by the current reader are left
    out.
    """

    urls: frozenset[str] = frozenset()
    prefix: str = ""
    crawl: int | None = None
    every: bool = False

    def __str__(self) -> str:
        return f"{sorted(self.urls)} {self.prefix!r} {self.crawl} {self.every}"

    def admits(self, row: PageRow, reader: str) -> bool:
        """Return whether a reader should read a capture again."""
        return (
            (row.is_page or row.status in _GONE)
            and (not self.urls or row.url in self.urls)
            and row.url.startswith(self.prefix)
            and self.crawl in {None, row.crawl}
            and (self.every or row.reader != reader)
        )


EVERYTHING: Final = WantedCaptures()


@dataclass(frozen=True, slots=True)
class Reread:
    """The outcome for a capture that was to be read again, and the stages of reading that failed on it."""

    url: str
    outcome: RereadOutcome
    raised: tuple[FailedAction, ...] = ()


_NOTES: Final = TypeAdapter(Reread)


@dataclass(slots=True)
class Known:
    """What was learned from the pages of a site."""

    lessons: list[SiteLesson] = field(default_factory=list)
    learned: list[Learned] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the pages of a crawl with the current knowledge base; ``crawl`` is the id of its definition.

    ``version`` identifies the reader.
    """

    helper: ApplicationAwareHelper
    crawl: str
    version: str
    learned: tuple[Learned, ...] = ()
    reads_documents: bool = False
    documents: DocumentReader = field(default_factory=DocumentReader)

    @classmethod
    def of(cls, crawl: Path, folders: Sequence[Path]) -> "Reader":
        """Return the reader for a crawl: its definition, a knowledge base, and what the crawl has learned about sites.

        Raises ``RereadError`` and ``LoadError``.
        """
        knowledge_base, (icd, version) = load(*folders), version_of(crawl, folders)
        values = {"keywords": icd.topic.keywords, "entities": icd.topic.entities}
        helper = ApplicationAwareHelper(knowledge_base, values=values).comparing_drafts()
        learned = Overlay(crawl / LEARNED).learned(knowledge_base)[0]
        return cls(helper, icd.id, version, tuple(learned), icd.sources.documents).restart()

    def restart(self, known: Known | None = None, told: Callable[[Learned], None] | None = None) -> "Reader":
        """Forget what was learned about sites, except by the crawl itself and what is ``known``; return the reader.

        ``told`` is called with each action, sign and link that it learns.
        """
        known, adapter = known or Known(), adaptation(self.helper.knowledge_base, told, told)
        for learned in (*self.learned, *known.learned):
            try:
                adapter.adopt(learned)
            except BadExpressionError:
                continue  # The crawl said so when it met it.
        self.helper.restart(adapter).learn(known.lessons)
        return self

    def close(self) -> None:
        """End the process that reads documents."""
        self.documents.close()

    def read(self, page: Page, former: Metadata | None) -> Assistance:
        """Read a page; ``former`` is the metadata of an earlier capture of the same URL."""
        if self.reads_documents and is_document(page):
            page = replace(page, transcript=self.documents.read(page))
        return self.helper.assist(page, former)


def version_of(crawl: Path, folders: Sequence[Path]) -> tuple[Icd, str]:
    """Return the definition of a crawl, and the version of its reader with the current knowledge base.

    Raises ``RereadError``.
    """
    try:
        icd = read_definition(crawl / DEFINITION)
        meaning = _MEANING.validate_json((crawl / DEFINITION).read_bytes())
        topic = TopicState.parse((crawl / TOPIC).read_bytes()) if (crawl / TOPIC).exists() else TopicState()
    except (DefinitionError, OSError, ValueError, ValidationError) as error:
        raise RereadError(f"{crawl}: what it was defined as cannot be read ({error})") from error
    return icd, fingerprint(icd, topic.meaning, files_digest(tuple(folders), crawl / LEARNED), meaning)


@contextmanager
def reread(
    crawl: Path,
    folders: tuple[Path, ...],
    wanted: WantedCaptures = EVERYTHING,
    *,
    processes: int = 1,
    seen: Callable[[int], object] = abs,
) -> Iterator[Iterator[Reread]]:
    """Read captures of a crawl again, and write the readings that differ from those before.

    ``folders`` are those of the knowledge base. Lessons from the pages of a site are learned before any of them is
    read. The objects of a page are compared with those of its former capture, read by the same reader, because a change
    of the reader is no edit of the page. Yields the outcomes of the captures in the order of time. Raises ``JobError``,
    ``LoadError``, ``ReadError``, ``RereadError`` and ``SegmentError``.
    """
    icd, version = version_of(crawl, folders)
    with ObjectWriter(crawl / OBJECTS, icd.id, lambda: datetime.now(UTC)) as writer:

        def write(readings: Sequence[bytes]) -> None:
            for text in filter(None, readings):
                writer.append_reading(text)
            writer.sync()

        job = Job(Rereading(crawl, folders, version), _NOTES, crawl / INDEXES / REREADING, write, processes, seen)
        items = ((site_of(row.url), row.capture) for row in page_rows(crawl) if wanted.admits(row, version))
        with job.run(items, f"{wanted} {extent(crawl / ARCHIVE, WARC)}") as done:
            yield (each for _, each in done)


@dataclass(frozen=True, slots=True)
class _Found:
    """What was understood of a page, as far as its next capture and its objects need it."""

    said: Metadata = field(default_factory=Metadata)
    containers: tuple[Container, ...] = ()
    complete: bool = True
    raised: tuple[FailedAction, ...] = ()


@dataclass(frozen=True, slots=True)
class Rereading:
    """The job step that reads captures of a crawl again, site by site."""

    crawl: Path
    folders: tuple[Path, ...]
    version: str

    @contextmanager
    def open(self) -> Iterator[Work[Reread]]:
        """Open the archive and the knowledge base. Raises as ``reread`` does."""
        with (
            closing(Reader.of(self.crawl, self.folders)) as reader,
            ArchivedCaptures(self.crawl) as source,
            closing(sqlite3.connect("")) as lessons,
        ):
            if reader.version != self.version:
                raise RereadError(f"{self.crawl}: the knowledge base was changed meanwhile; run aah reread again")
            yield _Sites(reader, source, _teaching(self.crawl, lessons)).reread


def _teaching(crawl: Path, base: sqlite3.Connection) -> sqlite3.Connection:
    """Store the first pages of each site in a table."""
    base.execute(
        "CREATE TABLE page (site TEXT, number INTEGER, capture TEXT, PRIMARY KEY (site, number)) WITHOUT ROWID"
    )
    found: Counter[str] = Counter()
    for row in page_rows(crawl):
        site = site_of(row.url)
        if row.is_page and found[site] < _MAX_TEACHING:
            found[site] += 1
            base.execute("INSERT INTO page VALUES (?, ?, ?)", (site, found[site], row.capture))
    return base


@dataclass(slots=True)
class _Sites:
    """Rereads units of sites, keeping what was learned about the last site for its next unit."""

    reader: Reader
    source: ArchivedCaptures
    pages: sqlite3.Connection
    _site: str = ""
    _known: Known = field(default_factory=Known)

    def reread(self, site: str, captures: Sequence[str]) -> Made[Reread]:
        if site != self._site:
            self._known, self._site = self._learned(site), site
        rereading = _Rereading(self.reader.restart(self._known), self.source)
        return [rereading.read(capture) for capture in captures]

    def _learned(self, site: str) -> Known:
        """Return what is learned from the first pages of a site."""
        known = Known()
        reader = self.reader.restart(told=known.learned.append)
        taught = _Rereading(reader, self.source)
        for (capture,) in self.pages.execute("SELECT capture FROM page WHERE site = ? ORDER BY number", (site,)):
            if taught.found(capture, None) is not None:
                known.lessons += reader.helper.lessons[: _MAX_LESSONS - len(known.lessons)]
        return known


@dataclass(frozen=True, slots=True)
class _Rereading:
    reader: Reader
    source: ArchivedCaptures

    def read(self, record: str) -> tuple[Reread, bytes]:
        """Read a capture again; return its new statements if they differ from the current ones.

        The page's former capture is read first, for comparison with what the same reader finds there.
        """
        stated = self.source.statements.reading(record)
        if stated is None:
            return Reread(record, RereadOutcome.UNREADABLE), b""
        before = self.found(stated.former, None) if stated.former else None
        found = self.found(record, before.said if before else None) if stated.row.is_page else _Found()
        if found is None:
            return Reread(stated.row.url, RereadOutcome.UNREADABLE), b""
        later = self._later(stated, before, found)
        return Reread(stated.row.url, RereadOutcome.CHANGED if later else RereadOutcome.SAME, found.raised), later

    def _later(self, stated: CaptureStatements, before: _Found | None, found: _Found) -> bytes:
        """Return the statements of the later reading; empty if they equal those of the one before."""
        compared = None if before is None else changes(before.said, found.said, complete=found.complete)
        described = replace(self._described(stated, found), changes=compared)
        holds = _states_objects(stated, self.source)
        later = statements(described, found.said.objects if holds else (), found.containers if holds else ())
        return b"" if read_statements(later).said == stated.said else later

    def _described(self, stated: CaptureStatements, found: _Found) -> CaptureDescription:
        later, said = Reading(Method.REREAD, datetime.now(UTC), stated.description.graph), found.said
        known = replace(stated.description, reader=self.reader.version, reading=later)
        if not stated.row.is_page:
            return known
        return replace(known, application=said.application, level=said.level, role=said.role)

    def found(self, capture: str, former: Metadata | None) -> _Found | None:
        """Read a capture; None if its page is not available."""
        kept = self.source.of_record(capture)
        page = None if kept is None else kept.page
        if page is None:
            return None
        try:
            found = self.reader.read(page, former)
        except Exception:  # Whatever a page may provoke, the others are read.
            logger.exception("%s: not understood", page.url)
            return None
        return _Found(metadata_of(page, found), found.containers, page.complete, raised(found))


def metadata_of(page: Page, found: Assistance) -> Metadata:
    """Return the metadata of a page from its reading, without scores."""
    level = found.match.level if found.match else None
    return Metadata(
        url=page.url,
        application=found.match.application.name if found.match else None,
        level=level.name if level else None,
        role=level.role if level else None,
        variant=found.match.variant if found.match else "",
        links=tuple(Link(link.url, anchor=link.anchor, action=link.action) for link in found.document.outlinks),
        objects=found.objects,
        failures=tuple(map(str, found.failed_actions)),
    )


def _states_objects(stated: CaptureStatements, source: CaptureSource) -> bool:
    """Return whether to state objects for a capture: not if it is no page, or repeats a former one."""
    if not stated.row.is_page or stated.objects:
        return stated.row.is_page
    kept = source.of_record(stated.capture)
    is_trap = kept is not None and kept.metadata is not None and bool(kept.metadata.trap)
    return not stated.row.unchanged and not is_trap
