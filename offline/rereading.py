"""Reads archived pages again with the knowledge base of today; later readings supersede those before.

Nothing is fetched. Scores, relevance and priorities stay, for these are what the crawl went by; what a page is and
holds is found anew.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from aahcrawler.adaptation.store.overlay import Overlay
from aahcrawler.adaptation.wiring import adaptation
from aahcrawler.captures import CaptureSource
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.fingerprint import files_digest, fingerprint
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.assistance import FailedAction
from aahcrawler.helper.raised_failures import raised
from aahcrawler.helper.site_memory.sites import site_of
from aahcrawler.layout import DEFINITION, LEARNED, TOPIC
from aahcrawler.metadata import Link, Metadata
from aahcrawler.objects.reader import PageRow, Stated, captures, page_rows
from aahcrawler.objects.readings import Method, Reading
from aahcrawler.objects.writer import CaptureDescription, ObjectWriter, statements
from aahcrawler.page import Page
from aahcrawler.pipeline.analysis import changes
from aahcrawler.webobject import Container, WebObject
from knowledge_base.loader import load
from knowledge_base.selectors import BadExpressionError
from online_analysis.topic_state import TopicState

logger = logging.getLogger(__name__)

_MEANING: Final = TypeAdapter(dict[str, str])
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_MOST_LESSONS: Final = 500
"""Pages of a site from which is learned what pages tell of their site, such as the order of day and month."""


class Outcome(StrEnum):
    """What becomes of a capture that is to be read again."""

    CHANGED = "changed"
    """It was found to hold something else: a later reading is written."""
    SAME = "same"
    """It was found to hold the same: nothing is written."""
    UNREADABLE = "unreadable"
    """The archive has its page no more, or it cannot be understood: its readings stay."""


class RereadError(Exception):
    """Raised where a crawl cannot be read again; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which captures are read again: those of some URLs, or of URLs that begin so, and of one crawl of the folder.

    What is empty or None is no condition. Unless ``every`` one is wanted, those that were last read by the reader at
    hand are left out.
    """

    urls: frozenset[str] = frozenset()
    prefix: str = ""
    crawl: int | None = None
    every: bool = False

    def admits(self, row: PageRow, reader: str) -> bool:
        """Say whether a capture is to be read again by a reader."""
        return (
            (row.is_page or row.status in _GONE)
            and (not self.urls or row.url in self.urls)
            and row.url.startswith(self.prefix)
            and self.crawl in {None, row.crawl}
            and (self.every or row.reader != reader)
        )


EVERYTHING: Final = Wanted()


@dataclass(frozen=True, slots=True)
class Reread:
    """What became of a capture that was to be read again, and the stages of reading that failed on it."""

    url: str
    outcome: Outcome
    raised: tuple[FailedAction, ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """What makes sense of the pages of a crawl today; ``crawl`` is the id of its definition, ``version`` its own."""

    helper: ApplicationAwareHelper
    crawl: str
    version: str
    reads_documents: bool = False
    documents: DocumentReader = field(default_factory=DocumentReader)

    @classmethod
    def of(cls, crawl: Path, folders: Sequence[Path]) -> "Reader":
        """Return the reader for a crawl: its definition, a knowledge base, and what the crawl has learned of sites.

        Raises ``RereadError`` and ``LoadError``.
        """
        knowledge_base = load(*folders)
        try:
            icd = read_definition(crawl / DEFINITION)
            meaning = _MEANING.validate_json((crawl / DEFINITION).read_bytes())
            topic = TopicState.parse((crawl / TOPIC).read_bytes()) if (crawl / TOPIC).exists() else TopicState()
        except (DefinitionError, OSError, ValueError, ValidationError) as error:
            raise RereadError(f"{crawl}: what it was defined as cannot be read ({error})") from error
        adapter = adaptation(knowledge_base)
        for learned in Overlay(crawl / LEARNED).learned(knowledge_base)[0]:
            try:
                adapter.adopt(learned)
            except BadExpressionError:
                continue  # The crawl said so when it met it.
        values = {"keywords": icd.topic.keywords, "entities": icd.topic.entities}
        helper = ApplicationAwareHelper(knowledge_base, values=values, adapter=adapter).comparing_drafts()
        version = fingerprint(icd, topic.meaning, files_digest(tuple(folders), crawl / LEARNED), meaning)
        return cls(helper, icd.id, version, icd.sources.documents)

    def close(self) -> None:
        """End the process that reads documents."""
        self.documents.close()

    def read(self, page: Page, former: Metadata | None) -> Assistance:
        """Return what a page holds; ``former`` is what an earlier crawl understood at the same URL."""
        if self.reads_documents and is_document(page):
            page = replace(page, transcript=self.documents.read(page.body))
        return self.helper.assist(page, former)


def reread(
    crawl: Path, reader: Reader, source: CaptureSource, writer: ObjectWriter, wanted: Wanted = EVERYTHING
) -> Iterator[Reread]:
    """Read captures of a crawl again, and write the readings that say something else than those before.

    What pages tell of their sites is learned before any is read. Objects of a page that a former capture had are
    compared with those of that capture, read by the same reader: an edit of the reader is no edit of the page. Raises
    ``ReadError`` and ``SegmentError``.
    """
    rereading = _Rereading(reader, source, writer)
    rereading.learn(crawl, {site_of(row.url) for row in page_rows(crawl) if wanted.admits(row, reader.version)})
    for stated in captures(crawl):
        if wanted.admits(stated.row, reader.version):
            yield rereading.read(stated)


@dataclass(frozen=True, slots=True)
class _Found:
    """What was understood of a page, as far as its next capture and its objects need it."""

    said: Metadata = field(default_factory=Metadata)
    containers: tuple[Container, ...] = ()
    complete: bool = True
    raised: tuple[FailedAction, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rereading:
    reader: Reader
    source: CaptureSource
    writer: ObjectWriter

    def learn(self, crawl: Path, sites: Collection[str]) -> None:
        """Learn what pages tell of some sites."""
        left = dict.fromkeys(sites, _MOST_LESSONS)
        for row in page_rows(crawl):
            site = site_of(row.url)
            if row.is_page and left.get(site):
                left[site] -= 1
                self._found(row.capture, None)

    def read(self, stated: Stated) -> Reread:
        """Read a capture again, and write what it holds where that is something else than was stated.

        The page's former capture is read before: what the same reader found there is what it remembers of the page.
        """
        capture = stated.capture
        before = self._found(capture.revision_of, None) if capture.revision_of else None
        found = self._found(capture.iri, before.said if before else None) if stated.row.is_page else _Found()
        if found is None:
            return Reread(stated.row.url, Outcome.UNREADABLE)
        outcome = self._written(stated, before, found)
        return Reread(stated.row.url, outcome, found.raised)

    def _written(self, stated: Stated, before: _Found | None, found: _Found) -> Outcome:
        compared = None if before is None else changes(before.said, found.said, complete=found.complete)
        described = replace(self._described(stated, found), changes=compared)
        objects, containers = _held(stated, found, self.source)
        if Stated.of(statements(described, objects, containers)).statements == stated.statements:
            return Outcome.SAME
        self.writer.write(described, objects, containers)
        return Outcome.CHANGED

    def _described(self, stated: Stated, found: _Found) -> CaptureDescription:
        later, said = Reading(Method.REREAD, self.writer.now(), stated.capture.graph), found.said
        known = replace(stated.capture, reader=self.reader.version, reading=later)
        if not stated.row.is_page:
            return known
        return replace(known, application=said.application, level=said.level, role=said.role)

    def _found(self, capture: str, former: Metadata | None) -> _Found | None:
        """Read a capture; None where its page cannot be had."""
        kept = self.source.of_record(capture)
        page = None if kept is None else kept.page
        if page is None:
            return None
        try:
            found = self.reader.read(page, former)
        except Exception:  # Whatever a page may provoke, the others are read.
            logger.exception("%s: not understood", page.url)
            return None
        level = found.match.level if found.match else None
        said = Metadata(
            url=page.url,
            application=found.match.application.name if found.match else None,
            level=level.name if level else None,
            role=level.role if level else None,
            variant=found.match.variant if found.match else "",
            links=tuple(Link(link.url, anchor=link.anchor, action=link.action) for link in found.document.outlinks),
            objects=found.objects,
            failures=tuple(map(str, found.failed_actions)),
        )
        return _Found(said, found.containers, page.complete, raised(found))


def _held(stated: Stated, found: _Found, source: CaptureSource) -> tuple[Sequence[WebObject], Sequence[Container]]:
    """Return what is to be stated of a page: what is no page of its own, or repeats a former one, states no objects."""
    if stated.row.is_page and (stated.has_objects or _states_objects(stated.capture, source)):
        return found.said.objects, found.containers
    return (), ()


def _states_objects(capture: CaptureDescription, source: CaptureSource) -> bool:
    kept = source.of_record(capture.iri)
    said = None if kept is None else kept.metadata
    return not capture.unchanged and not (said is not None and said.trap)
