"""The statements of a segment about one capture: its description, its web objects, and how it was read.

Lines are those of ``aahcrawler.objects.writer``, with one space between terms: splitting them takes a third of the time
of parsing N-Quads.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, Literal, cast
from urllib.parse import unquote

import pyoxigraph as ox

from aahcrawler.exchange import Memento
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.writer import CaptureDescription, Method, Reading, capture_of, graph_of

NEVER: Final = datetime.min.replace(tzinfo=UTC)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_MEANT: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """A web object as its newest capture has it.

    ``url`` is its own URL, else that of the page it was found on. ``author`` is a name. ``date`` is ISO 8601 with the
    offset that the page names; a date that the application's rules could not read is given as on the page. Of several
    values the first is given. ``part_of`` and ``iri`` are IRIs. ``deleted`` is the time, ISO 8601 in UTC, at which a
    capture found the object gone; None while another capture still has it, since posts move between the pages of a
    thread. ``inferred`` names the fields that no action of the knowledge base found, and what they were inferred from.
    """

    url: str
    type: str
    title: str | None
    author: str | None
    date: str | None
    body: str | None
    part_of: str | None
    iri: str
    deleted: str | None = None
    inferred: str | None = None


@dataclass(frozen=True, slots=True)
class PageRow:
    """A captured page. ``level`` is the role of its page level, ``level_name`` that level's name.

    ``fetched_at`` is ISO 8601 in UTC, ``capture`` the id of the WARC response or revisit record. ``crawl`` is the
    number of the crawl that fetched it, 1 where unknown. ``unchanged`` is the id of the former capture with the same
    payload, and so the same objects; a page that answered 304 counts as a page as well. The contents are those of its
    latest reading, and ``method`` says how that was made. ``title`` is the page's own. ``archive`` is the archive that
    it was taken from, ``memento`` what it was there (``exchange.Memento.uri``) and ``obtained_at``, ISO 8601 in UTC,
    when it was taken; None where its site was asked. ``trap`` says that it repeats another page of the site
    (``near_duplicate``), or is an error page sent with a status of success (``soft_404``). The rest is as in
    ``CaptureDescription``, None where that is empty.
    """

    url: str
    status: int
    application: str | None
    level: Literal["intermediate", "terminal"] | None
    score: float | None
    fetched_at: str
    relevant: bool | None
    level_name: str | None
    media_type: str | None
    priority: float | None
    depth: int | None
    via: str | None
    capture: str
    crawl: int = 1
    unchanged: str | None = None
    trap: str | None = None
    reader: str | None = None
    method: str = Method.FIRST
    title: str | None = None
    archive: str | None = None
    memento: str | None = None
    obtained_at: str | None = None

    @property
    def is_page(self) -> bool:
        """Return whether the row counts as a page: not a redirect, an error or a soft 404, unless unchanged.

        A redirect without a target was read as a page, and has a score.
        """
        is_content = self.status < 300 or (self.status < 400 and self.score is not None)
        return (is_content or self.unchanged is not None) and self.trap != v.SOFT_404


@dataclass(frozen=True)
class CaptureStatements:
    """The statements of one reading of a capture: values by subject and predicate, in the order of writing.

    Values are IRIs and the texts of literals. ``capture`` is the IRI of the capture; some of its statements may be
    given alone. Raises ``ValueError`` where a value is of the wrong kind.
    """

    capture: str
    values: Mapping[str, Mapping[str, Sequence[str]]]

    def first(self, subject: str, predicate: str) -> str | None:
        """Return the first value that a subject has of a predicate, None where it has none."""
        values = self.values.get(subject, {}).get(predicate)
        return values[0] if values else None

    def own(self, predicate: str) -> Sequence[str]:
        """Return the values that the capture itself has of a predicate."""
        return self.values.get(self.capture, {}).get(predicate, ())

    @property
    def subjects(self) -> Iterator[str]:
        """The IRIs of the objects."""
        derived = (subject for subject, stated in self.values.items() if v.DERIVED_FROM in stated)
        return (subject for subject in derived if not subject.startswith(v.VERSION))

    @property
    def is_requisite(self) -> bool:
        """Whether the capture is a page requisite."""
        return v.REQUISITE in self.own(v.RDF_TYPE)

    @property
    def edited(self) -> Sequence[str]:
        """The IRIs of the objects that were found edited since the capture ``former``."""
        return self.own(v.EDITED)

    @property
    def deleted(self) -> Sequence[str]:
        """The IRIs of the objects that were found gone since the capture ``former``."""
        return self.own(v.DELETED)

    @property
    def former(self) -> str | None:
        """The capture that the objects were compared with."""
        return self.first(self.capture, v.REVISION_OF)

    @property
    def crawl(self) -> str | None:
        """The IRI of the crawl."""
        return self.first(self.capture, v.GENERATED_BY)

    @property
    def read_at(self) -> str:
        """When the capture was read again, ISO 8601; empty for a first reading."""
        return self.first(self._later, v.GENERATED_AT) or ""

    @cached_property
    def _later(self) -> str:
        return next((subject for subject in self.values if subject.startswith(v.READING)), "")

    @cached_property
    def row(self) -> PageRow:
        """The capture as a page; ``url`` is empty where nothing is stated of the capture itself."""
        own = self.values.get(self.capture, {})

        def first(predicate: str) -> str | None:
            values = own.get(predicate)
            return values[0] if values else None

        score, priority = first(v.SCORE), first(v.PRIORITY)
        relevant, depth = first(v.RELEVANT), first(v.DEPTH)
        return PageRow(
            url=first(v.URL) or "",
            status=int(first(v.STATUS) or 0),
            application=first(v.APPLICATION),
            level=cast('Literal["intermediate", "terminal"] | None', first(v.ROLE)),
            score=None if score is None else float(score),
            fetched_at=first(v.GENERATED_AT) or "",
            relevant=None if relevant is None else relevant == "true",
            level_name=first(v.LEVEL),
            media_type=first(v.FORMAT),
            priority=None if priority is None else float(priority),
            depth=None if depth is None else int(depth),
            via=first(v.VIA),
            capture=self.capture,
            crawl=number_of(first(v.GENERATED_BY)),
            unchanged=first(v.UNCHANGED_SINCE),
            trap=first(v.TRAP),
            reader=first(v.READER),
            method=self.first(self._later, v.METHOD) or Method.FIRST,
            title=first(v.TITLE),
            archive=first(v.SOURCE_ARCHIVE),
            memento=first(v.PRIMARY_SOURCE),
            obtained_at=first(v.OBTAINED_AT),
        )

    @cached_property
    def objects(self) -> tuple[ObjectRow, ...]:
        """The web objects, as this capture has them."""
        return tuple(map(self.object_row, self.subjects))

    def object_row(self, subject: str, deleted: str | None = None) -> ObjectRow:
        """Return an object by its IRI; ``deleted`` is the time at which another capture found it gone."""
        author = self.first(subject, v.AUTHOR)
        return ObjectRow(
            url=self.first(subject, v.URL) or self.first(self.capture, v.URL) or subject,
            type=self.first(subject, v.OBJECT_TYPE) or "",
            title=self.first(subject, v.TITLE),
            author=None if author is None else self.first(author, v.NAME) or author,
            date=self.first(subject, v.DATE),
            body=self.first(subject, v.BODY),
            part_of=self.first(subject, v.PART_OF),
            iri=subject,
            deleted=deleted,
            inferred=self._inferred(subject),
        )

    def _inferred(self, subject: str) -> str | None:
        """Return an object's inferred fields with their sources: ``date (generic reading)``; None without any."""
        found = sorted(
            f"{unquote(name.removeprefix(v.INFERRED))} ({values[0]})"
            for name, values in self.values[subject].items()
            if name.startswith(v.INFERRED)
        )
        return ", ".join(found) or None

    @cached_property
    def description(self) -> CaptureDescription:
        """The description of the capture, without the changes found since a former one."""
        row = self.row
        return CaptureDescription(
            iri=self.capture,
            url=row.url,
            status=row.status,
            fetched_at=time_of(row.fetched_at),
            media_type=row.media_type or "",
            application=row.application,
            level=row.level_name,
            role=row.level,
            score=row.score,
            relevant=row.relevant,
            priority=row.priority,
            depth=row.depth,
            via=row.via or "",
            crawl=self.crawl or "",
            unchanged=row.unchanged,
            revision_of=self.former,
            trap=row.trap or "",
            session=self.first(self.capture, v.SESSION) or "",
            reader=row.reader or "",
            reading=self._reading(),
            frames=tuple(self.own(v.HAS_FRAME)),
            frame_of=self.first(self.capture, v.FRAME_OF) or "",
            rendered=self.first(self.capture, v.READ_FROM) or "",
            title=row.title or "",
            memento=self.memento,
        )

    @property
    def memento(self) -> Memento | None:
        """The archive that the capture was taken from; None where its site was asked for it."""
        uri, archive = self.first(self.capture, v.PRIMARY_SOURCE), self.first(self.capture, v.SOURCE_ARCHIVE) or ""
        if uri is None:
            return None
        obtained_at = time_of(self.first(self.capture, v.OBTAINED_AT) or "")
        return Memento(uri, archive, self.first(self.capture, v.SOURCE) or archive, obtained_at)

    def _reading(self) -> Reading | None:
        """Return the later reading that made the statements, None for a first reading."""
        if not self._later:
            return None
        superseded = self.first(self._later, v.REVISION_OF) or self._later
        return Reading(Method(self.row.method), time_of(self.read_at), superseded)

    @property
    def said(self) -> frozenset[tuple[str, str, str]]:
        """All statements except those on who read the capture, and when."""
        return frozenset(
            (subject, predicate, value)
            for subject, stated in self.values.items()
            if not subject.startswith(v.READING)
            for predicate, values in stated.items()
            if predicate != v.READER
            for value in values
        )


def read_statements(text: bytes) -> CaptureStatements:
    """Parse the statements of one reading of a capture."""
    found: dict[str, dict[str, list[str]]] = {}
    former, stated = "", dict[str, list[str]]()
    for line in text.decode("utf-8", "replace").split("\n"):
        parts = line.split("> ", 2)
        if len(parts) == 3:
            subject, predicate, value = parts
            if subject != former:  # Most lines are about the same as the line before.
                former, stated = subject, found.setdefault(subject[1:], {})
            name = predicate[1:]
            if name in stated:
                stated[name].append(_value(value))
            else:
                stated[name] = [_value(value)]
    return CaptureStatements(capture_of(graph_of(text)), found)


def of_quads(graph: str, quads: Iterable[ox.Quad]) -> CaptureStatements:
    """Return the statements of parsed quads, which are all of one graph."""
    found: dict[str, dict[str, list[str]]] = {}
    for subject, predicate, value, _ in quads:
        found.setdefault(subject.value, {}).setdefault(predicate.value, []).append(value.value)
    return CaptureStatements(capture_of(graph), found)


def number_of(crawl: str | None) -> int:
    """Return the number of a crawl, given its IRI; 1 without one."""
    number = (crawl or "").rpartition(":")[2]
    return int(number) if number.isascii() and number.isdecimal() else 1


def time_of(value: str | None) -> datetime:
    """Return a stated time, in UTC where it has no offset; ``NEVER`` where none is stated."""
    moment = datetime.fromisoformat(value) if value else NEVER
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _value(written: str) -> str:
    """Return the IRI or literal text that ends a line; names of graphs contain no quotation mark."""
    if written.startswith("<"):
        return written[1 : written.find(">")]
    text = written[1 : written.rfind('"')]
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if not code:
        return _MEANT.get(found[3], found[3])
    point = int(code, 16)
    return chr(point) if point <= sys.maxunicode and not 0xD800 <= point < 0xE000 else "\ufffd"
