"""A capture as one value, and the protocol of sources of captures.

The fields of a capture hold what is known of every capture. All else is read from the source on first use.
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
    """A crawl of this crawler, in whose folder the capture is."""
    FILE = "file"
    """A WARC file that belongs to no crawl's folder."""
    ARCHIVE = "archive"
    """An archive of others, queried over the network."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a capture comes from: ``name`` is that of the crawl's folder, of the file's folder, or of the archive.

    ``crawl`` is the number of the crawl run in its folder; 0 if unknown.
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
    """How far an iteration in the order of time has come. As text, it can be stored and the iteration resumed later.

    ``at`` is in microseconds since 1970; ``given`` has the ids of the records of exactly that time that were yielded.
    ``last`` maps each file's name to the last response that the iteration knows in it. ``former`` does the same for
    earlier iterations, which have yielded everything up to these responses, whatever its time.
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
        """Parse a position from its text. Raises ``ValueError`` if the text is invalid."""
        try:
            said = json.loads(text)
            files = (dict[str, str](said[name]) for name in ("last", "former"))
            return cls(int(said["at"]), frozenset(map(str, said["given"])), *files)
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{text[:80]!r} is no position") from error


class CaptureContents(Protocol):
    """Reads the contents of one capture. Methods return None if the source does not have them, or no longer."""

    def exchange(self) -> Exchange | None:
        """Return the request and response as they were sent."""

    def page(self) -> Page | None:
        """Return the page as the crawl read it."""

    def understood(self, page: Page) -> Assistance:
        """Return what the current knowledge base finds on the page. Raises ``LoadError``."""

    def metadata(self) -> Metadata | None:
        """Return what the crawl understood of the response when it came."""

    def reading(self) -> CaptureStatements | None:
        """Return the latest reading."""

    def judged(self) -> Judged | None:
        """Return the scores that the page was given."""

    def neighbours(self) -> tuple["Capture | None", "Capture | None"]:
        """Return the previous and the next capture of the same URL."""


@dataclass(frozen=True)
class Capture:
    """A response that was captured at a time. Its contents are read on first use, and kept.

    ``target_uri`` is spelled as in its record; ``date`` is when the request began, in UTC. ``status`` is 0 if the
    response has none; ``method`` is ``GET`` if no request is archived. ``record_id`` is that of the response or revisit
    record, without angle brackets; ``refers_to`` is the id of the record to which a revisit refers for its payload.
    ``location`` is the absolute URL to which a redirect leads, empty for other responses. ``session`` says with which
    cookies or login the request was sent; ``shown_on`` is the URL of the page that a browser showed when it made the
    request.

    ``position`` is that of the iteration that yielded the capture; None if it was looked up.
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
    """Whether a document that a browser rendered from the page is archived beside the response."""
    position: Position | None = field(default=None, repr=False, compare=False)

    @property
    def shows_target(self) -> bool:
        """Whether the capture is a version of its own of what was at the URL, requested by GET or by sending a form.

        A revisit is one only if a browser rendered the page differently from the earlier capture of the same payload.
        """
        got = self.method == "GET" or posted_by(self.target_uri) is not None
        return got and (not self.is_revisit or self.has_document)

    def exchange(self) -> Exchange | None:
        """Return the request and response as they were sent; for a revisit, without its payload. The caller closes it.

        It includes the rendered document if one is archived beside the response. None if the record is gone or damaged.
        Responses of more than 1 MiB are kept on disk.
        """
        return self.contents.exchange()

    @cached_property
    def page(self) -> Page | None:
        """The page as the crawl read it, parsed once: the rendered document, or else what the server sent.

        A revisit has the payload to which it refers, and the document last rendered from it at the URL. None if no
        readable response is archived.
        """
        return self.contents.page()

    @cached_property
    def understood(self) -> Assistance | None:
        """What the current knowledge base finds on the page, read independently of other pages.

        None if there is no page. Raises ``LoadError``.
        """
        return None if self.page is None else self.contents.understood(self.page)

    @property
    def document(self) -> Document | None:
        """The page as analysers see it: parts, links, language, and its application by the current knowledge base.

        None if there is no page. Raises ``LoadError``.
        """
        return None if self.understood is None else self.understood.document

    @cached_property
    def metadata(self) -> Metadata | None:
        """What the crawl understood of the response when it came; None if that was not kept."""
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
        """The previous capture of the same URL."""
        return self._neighbours[0]

    @property
    def after(self) -> "Capture | None":
        """The next capture of the same URL."""
        return self._neighbours[1]


BEGINNING: Final = Position(-(1 << 62))


class CaptureSource(Protocol):
    """A source of captures. No method returns captures that were taken down. Not thread-safe."""

    def captures(self, after: Position = BEGINNING) -> Iterator[Capture]:
        """Yield the captures in the order of time, whichever file they are in.

        Memory use does not grow with their number.

        Captures of the same time come in the order of writing. An iteration yields what the source knew when the
        iteration began. With ``after``, it resumes an interrupted iteration: it yields first the captures that were
        left, then those added since, each in the order of time. So a killed job neither loses nor repeats a capture,
        with one exception: if the last capture of a file was taken down meanwhile, the rest of that file is yielded
        again.
        """

    def of_url(self, url: str) -> Iterator[Capture]:
        """Yield the captures of a URL in the order of time."""

    def of_record(self, record_id: str) -> Capture | None:
        """Return the capture of a response or revisit record, given its id without angle brackets.

        None if there is none.
        """

    def refresh(self) -> None:
        """Add the captures written since the source was opened or last refreshed."""

    def close(self) -> None:
        """Release files and memory."""


def shown_pages(source: CaptureSource) -> Iterator[Page]:
    """Yield the pages of the captures whose ``shows_target`` is True, in the order of time."""
    for capture in source.captures():
        if capture.shows_target and capture.page is not None:
            yield capture.page
