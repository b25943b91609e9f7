"""A capture as one value, and the protocol of the sources that captures come from.

The fields hold what is known of every capture. All else is read from the source on first use.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, Protocol, Self

from aahcrawler.exchange import Exchange
from aahcrawler.helper import Assistance
from aahcrawler.metadata import Metadata
from aahcrawler.objects.capture_statements import CaptureStatements, ObjectRow
from aahcrawler.page import Page
from aahcrawler.scores.entries import Judged
from aahcrawler.urls import posted_by
from online_analysis.document import Document


class Origin(StrEnum):
    """The kinds of capture sources."""

    CRAWL = "crawl"
    """A crawl of this crawler, in whose folder it lies."""
    FILE = "file"
    """A WARC file that is of no crawl's folder."""
    ARCHIVE = "archive"
    """The archive of others, asked over the network."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a capture comes from: ``name`` is that of the crawl's folder, of the file's folder, or of the archive.

    ``crawl`` is the number of the crawl among those of its folder, 0 where that is not known.
    """

    origin: Origin
    name: str
    crawl: int = 0


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The place of a capture: its file's final name, and the byte range of its records there.

    The response record begins at ``offset``; ``end`` is the end of the last record that belongs to the response
    (request, metadata, rendered document).
    """

    file: str
    offset: int
    end: int


@dataclass(frozen=True, slots=True)
class Position:
    """How far an iteration in the order of time has come. Written as text, it can be stored and resumed later.

    ``at`` is in microseconds since 1970, ``given`` counts the records of that very time that have been yielded.
    ``last`` maps each file's name to the last response in it that the iteration knows of. Everything up to the
    responses in ``former`` was yielded by earlier iterations, whatever its time.
    """

    at: int
    given: frozenset[str] = frozenset()
    last: Mapping[str, str] = field(default_factory=dict)
    former: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        said = {"at": self.at, "given": sorted(self.given), "last": dict(self.last), "former": dict(self.former)}
        return json.dumps(said)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a position from its text. Raises ``ValueError`` where the text is none."""
        try:
            said = json.loads(text)
            files = (dict[str, str](said[name]) for name in ("last", "former"))
            return cls(int(said["at"]), frozenset(map(str, said["given"])), *files)
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{text[:80]!r} is no position") from error


class CaptureContents(Protocol):
    """Reads the contents of one capture of a source; None where the source does not have them, or no longer."""

    def exchange(self) -> Exchange | None:
        """Return what passed over the connection, as the capture's own record has it."""

    def page(self) -> Page | None:
        """Return the page as it was read."""

    def understood(self, page: Page) -> Assistance:
        """Return what today's knowledge base makes of its page. Raises ``LoadError``."""

    def metadata(self) -> Metadata | None:
        """Return what was understood of the response when it came."""

    def reading(self) -> CaptureStatements | None:
        """Return the latest reading."""

    def judged(self) -> Judged | None:
        """Return the scores that the page was given."""

    def neighbours(self) -> tuple["Capture | None", "Capture | None"]:
        """Return the captures of the same URL right before and right after."""


@dataclass(frozen=True)
class Capture:
    """A response that was captured at a time. Its contents are read on first use, and kept.

    ``target_uri`` is as its record has it, ``date`` is when the request began, in UTC. ``status`` is 0 where the
    response has none, ``method`` is ``GET`` where no request is kept. ``record_id`` is that of the response or revisit
    record, without angle brackets; ``refers_to`` is the id of the record that holds the payload of a revisit, as the
    revisit says. ``location`` is the absolute URL that a redirect leads to, empty for other responses. ``session`` says
    with which cookies or login the request was sent, ``shown_on`` names the page that a browser showed when it made the
    request.

    ``position`` is that of the iteration in the order of time which yielded it; None where it was looked up.
    """

    target_uri: str
    date: datetime
    method: str
    status: int
    record_id: str
    is_revisit: bool
    place: RecordPlace
    provenance: Provenance
    contents: CaptureContents = field(repr=False, compare=False)
    refers_to: str = ""
    location: str = ""
    session: str = ""
    shown_on: str = ""
    has_document: bool = False
    """Whether a document that a browser made of the page lies beside the answer."""
    position: Position | None = field(default=None, repr=False, compare=False)

    @property
    def shows_target(self) -> bool:
        """Whether the capture is itself a version of what was at its URL, requested by GET or by sending a form.

        A revisit is one only where a browser rendered the page differently from the earlier capture of the same
        payload.
        """
        got = self.method == "GET" or posted_by(self.target_uri) is not None
        return got and (not self.is_revisit or self.has_document)

    def exchange(self) -> Exchange | None:
        """Return what passed over the connection; of a revisit, without its payload. The caller closes it.

        The rendered document comes with it where one is archived beside the response. None where the record is gone or
        damaged. Responses of more than 1 MiB are kept on disk.
        """
        return self.contents.exchange()

    @cached_property
    def page(self) -> Page | None:
        """The page as it was read, parsed once: the rendered document, else what the server sent.

        A revisit has the payload that it refers to, and the document last rendered from it at the URL. None where no
        readable response is kept.
        """
        return self.contents.page()

    @cached_property
    def understood(self) -> Assistance | None:
        """What today's knowledge base makes of the page.

        The page is read on its own, independently of pages read before. None where there is no page. Raises
        ``LoadError``.
        """
        return None if self.page is None else self.contents.understood(self.page)

    @property
    def document(self) -> Document | None:
        """The page as analysers see it: parts, links, language, and what today's knowledge base says it is.

        None where there is no page. Raises ``LoadError``.
        """
        return None if self.understood is None else self.understood.document

    @cached_property
    def metadata(self) -> Metadata | None:
        """What was understood of the response when it came, None where that was not kept."""
        return self.contents.metadata()

    @cached_property
    def reading(self) -> CaptureStatements | None:
        """What the latest reading found in the capture; None where no reading is stored."""
        return self.contents.reading()

    @property
    def objects(self) -> tuple[ObjectRow, ...]:
        """The web objects that the latest reading found; empty for an unchanged page."""
        return () if self.reading is None else self.reading.objects

    @cached_property
    def judged(self) -> Judged | None:
        """The scores that the page and its links were given after this capture, None where there are none."""
        return self.contents.judged()

    @cached_property
    def _neighbours(self) -> "tuple[Capture | None, Capture | None]":
        return self.contents.neighbours()

    @property
    def before(self) -> "Capture | None":
        """The capture of the same URL right before this one."""
        return self._neighbours[0]

    @property
    def after(self) -> "Capture | None":
        """The capture of the same URL right after this one."""
        return self._neighbours[1]


BEGINNING: Final = Position(-(1 << 62))


class CaptureSource(Protocol):
    """A source of captures. No method gives what was taken down. Not thread-safe."""

    def captures(self, after: Position = BEGINNING) -> Iterator[Capture]:
        """Yield the captures in the order of time, whichever file they are in.

        Memory use does not grow with their number.

        Captures of the same time come in the order of writing. An iteration yields what the source knew when the
        iteration began. With ``after``, it resumes: first the captures that the interrupted iteration had left, then,
        in the order of time, those added since; so a job that was killed neither loses nor repeats a capture. One
        exception: where the last capture of a file was taken down meanwhile, the rest of that file is yielded once
        more.
        """

    def of_url(self, url: str) -> Iterator[Capture]:
        """Yield the captures of a URL in the order of time."""

    def of_record(self, record_id: str) -> Capture | None:
        """Return the capture of a response or revisit record, given its id without angle brackets.

        None if there is none.
        """

    def refresh(self) -> None:
        """Take in captures written since."""

    def close(self) -> None:
        """Release files and memory."""


def shown_pages(source: CaptureSource) -> Iterator[Page]:
    """Yield the pages of the captures whose ``shows_target`` is True, in the order of time."""
    for capture in source.captures():
        if capture.shows_target and capture.page is not None:
            yield capture.page
