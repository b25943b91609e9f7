"""A capture as one value, and the protocol of whatever captures come from.

What is known of every capture stands in its fields. All else is read from the source when it is first asked for.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Final, Protocol, Self

from aahcrawler.exchange import Exchange
from aahcrawler.metadata import Metadata
from aahcrawler.objects.capture_statements import CaptureStatements, ObjectRow
from aahcrawler.page import Page
from aahcrawler.posted_forms import posted_by
from aahcrawler.scores.entries import Judged
from online_analysis.document import Document


class Origin(StrEnum):
    """The kinds of sources of captures."""

    CRAWL = "crawl"
    """A crawl of this crawler, in whose folder it lies."""
    FILE = "file"
    """A WARC file that is of no crawl's folder."""
    ARCHIVE = "archive"
    """The archive of others, asked over the network."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Whence a capture comes: ``name`` is that of the crawl's folder, of the file's folder, or of the archive.

    ``crawl`` is the number of the crawl among those of its folder, 0 where that is not known.
    """

    origin: Origin
    name: str
    crawl: int = 0


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The place of a capture: its file's final name, and the bytes of its records there.

    The record of the answer begins at ``offset``; ``end`` is the end of the last record that follows it and belongs to
    it (request, metadata, what a browser made of it).
    """

    file: str
    offset: int
    end: int


@dataclass(frozen=True, slots=True)
class Position:
    """How far an iteration in the order of time has come. Written as text, it outlasts the process.

    ``at`` are microseconds since 1970, and ``given`` the records of that very time that have been given. ``last`` is
    the last answer of each file that the iteration knows of, by the file's name; of the answers up to those of
    ``former`` all have been given, whatever their time, by the iterations before.
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
        """Return the position that a text says. Raises ``ValueError`` where it says none."""
        try:
            said = json.loads(text)
            files = (dict[str, str](said[name]) for name in ("last", "former"))
            return cls(int(said["at"]), frozenset(map(str, said["given"])), *files)
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"{text[:80]!r} is no position") from error


class CaptureContents(Protocol):
    """Reads what one capture of a source holds. None stands for what the source does not have, or not any more."""

    def exchange(self) -> Exchange | None:
        """Return what passed over the connection, as the record of the capture itself has it."""

    def page(self) -> Page | None:
        """Return the page as it was read."""

    def document(self, page: Page) -> Document | None:
        """Return its page as analysers see it."""

    def metadata(self) -> Metadata | None:
        """Return what was understood of the answer when it came."""

    def reading(self) -> CaptureStatements | None:
        """Return the latest reading."""

    def judged(self) -> Judged | None:
        """Return the scores that the page was given."""

    def neighbours(self) -> tuple["Capture | None", "Capture | None"]:
        """Return the captures of the same URL right before and right after."""


@dataclass(frozen=True)
class Capture:
    """An answer that was captured at a time. What it holds is read when it is first asked for, and kept.

    ``target_uri`` is as its record has it, ``date`` is when the request began, in UTC. ``status`` is 0 where the answer
    has none, ``method`` is ``GET`` where no request is kept. ``record_id`` is that of the response or revisit record,
    without angle brackets; ``refers_to`` is the id of the record that holds the payload of a revisit, as the revisit
    says. ``location`` is where a redirect leads, absolute, empty for other answers. ``session`` says how the site
    knew who asked, ``shown_on`` on which page a browser asked.

    ``position`` is that of the iteration in the order of time which gave it; None where it was looked up.
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
        """Whether it shows by itself what there was at its URL: what was got, or sent by a form.

        A revisit does so only where a browser has made something else of the page than of the payload before.
        """
        got = self.method == "GET" or posted_by(self.target_uri) is not None
        return got and (not self.is_revisit or self.has_document)

    def exchange(self) -> Exchange | None:
        """Return what passed over the connection: that of a revisit is without its payload. The caller closes it.

        The document that a browser made comes with it where one lies beside the answer. None where the record is gone
        or damaged. Responses of more than 1 MiB lie on disk.
        """
        return self.contents.exchange()

    @cached_property
    def page(self) -> Page | None:
        """The page as it was read: the document that a browser made of it, else what the server sent; parsed once.

        A revisit has the payload that it refers to, and the document which was last made of it at the URL. None where
        no readable answer is kept.
        """
        return self.contents.page()

    @cached_property
    def document(self) -> Document | None:
        """The page as analysers see it: parts, links, language, and what the knowledge base of today says it is.

        It is read by itself, whatever was read before. None where there is no page. Raises ``LoadError``.
        """
        return None if self.page is None else self.contents.document(self.page)

    @cached_property
    def metadata(self) -> Metadata | None:
        """What was understood of the answer when it came, None where that was not kept."""
        return self.contents.metadata()

    @cached_property
    def reading(self) -> CaptureStatements | None:
        """What the capture was found to hold by its latest reading; None where nothing is stated of it."""
        return self.contents.reading()

    @property
    def objects(self) -> tuple[ObjectRow, ...]:
        """The web objects that the latest reading found; none on a page that was unchanged."""
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
    """Whatever captures come from. What was taken down is given by none of its methods. Not for two threads at once."""

    def captures(self, after: Position = BEGINNING) -> Iterator[Capture]:
        """Yield the captures in the order of time, whoever wrote which when; memory use does not grow with them.

        Those of one time come in the order of writing. An iteration gives what the source knew when it began. After a
        position comes what that iteration had still to give, and then, again in the order of time, what has come in
        since it began; so a job that was killed goes on without losing or repeating a capture. Only where the last
        capture of a file has been taken down meanwhile, what is left of that file is given once more.
        """

    def of_url(self, url: str) -> Iterator[Capture]:
        """Yield the captures of a URL in the order of time."""

    def of_record(self, record_id: str) -> Capture | None:
        """Return the capture of a response or revisit record by its id without angle brackets, None for no such."""

    def refresh(self) -> None:
        """Take in what has been written since."""

    def close(self) -> None:
        """Let go of files and memory."""


def shown_pages(source: CaptureSource) -> Iterator[Page]:
    """Yield the pages that show what there was at their URLs, in the order of time, as they were read."""
    for capture in source.captures():
        if capture.shows_target and capture.page is not None:
            yield capture.page
