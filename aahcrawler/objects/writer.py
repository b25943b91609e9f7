"""Writes captures and their web objects as N-Quads, one graph a reading (ARCOMEM, sections 3.1 and 4.1).

The first reading of a capture is the graph that is named like the capture. A later one has a graph of its own, in a
segment that holds later readings alone, and supersedes those before it. So nothing written is ever changed, and readers
of a crawl's objects ask ``Readings`` for the latest contents of a capture.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, unquote

from aahcrawler.derived_index import opened_segment
from aahcrawler.exchange import Memento
from aahcrawler.layout import NQUADS, READINGS
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.nquads import boolean, double, integer, iri, moment, quads, site_of, term, text, typed
from aahcrawler.objects.versions import Changes, version
from aahcrawler.objects.vocabulary import GENERATED_AT, READING
from aahcrawler.segments import (
    OPEN,
    Clock,
    DamageError,
    Members,
    SegmentedOutput,
    SegmentWriter,
    Series,
    open_segment,
    segments,
)
from aahcrawler.webobject import Container, Person, Reference, Value, WebObject

_RECORD: Final = "urn:uuid:"
_READ_AT: Final = re.compile(rb"<[^<> ]*> <%s> \"([^\"]*)\"" % re.escape(GENERATED_AT.encode()))


class Method(StrEnum):
    """The ways in which a capture is read."""

    FIRST = "first"
    """When it was captured."""
    REPAIR = "repair"
    """Again, since an action that failed on it has been repaired."""
    REREAD = "reread"
    """Again, by another knowledge base or other software, or with what was learned of its site since."""
    RENDERED = "rendered"
    """As a browser shows it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A later reading of a capture, and ``revision_of``, the IRI of the reading that it supersedes."""

    method: Method
    read_at: datetime
    revision_of: str


def reading(capture: str, reader: str, method: Method) -> str:
    """Return the IRI of a reading: the capture's own for the first one.

    ``capture`` is the id of its WARC response record, ``reader`` identifies the reader (``aahcrawler.fingerprint``).

    >>> reading("urn:uuid:7f1c", "ab", Method.REREAD), reading("urn:uuid:7f1c", "ab", Method.FIRST)
    ('urn:aahcrawler:reading:7f1c:ab:reread', 'urn:uuid:7f1c')
    """
    if method is Method.FIRST:
        return capture
    return f"{READING}{quote(capture.removeprefix(_RECORD), safe='')}:{quote(reader, safe='')}:{method}"


def capture_of(graph: str) -> str:
    """Return the id of the capture that a graph is a reading of; ids of other programs may have any form.

    >>> capture_of("urn:aahcrawler:reading:7f1c:ab:reread"), capture_of("urn:uuid:7f1c")
    ('urn:uuid:7f1c', 'urn:uuid:7f1c')
    >>> capture_of(reading("http://a.test/7", "ab", Method.REREAD))
    'http://a.test/7'
    """
    if not graph.startswith(READING):
        return graph
    name = unquote(graph.removeprefix(READING).partition(":")[0])
    return name if ":" in name else _RECORD + name


def graph_of(text: bytes) -> str:
    """Return the name of the graph of a reading's statements, empty where there are none."""
    begin = text.rfind(b" <")
    return text[begin + 2 : text.rfind(b"> .")].decode("utf-8", "replace") if begin >= 0 else ""


def renamed(text: bytes) -> bytes:
    """Return the statements of a later reading with their graph renamed to that of the capture."""
    graph = graph_of(text)
    return text.replace(f" <{graph}> .\n".encode(), f" <{capture_of(graph)}> .\n".encode())


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a later reading in its segment."""

    read_at: datetime
    path: Path
    begin: int


class Readings:
    """The latest readings of those captures of a crawl that were read more than once.

    They are as of the creation of this object: what a running crawl appends later is not included. Memory use grows
    with the number of captures that were read again.
    """

    def __init__(self, folder: Path) -> None:
        """Find the readings in a folder of segments. Raises ``OSError``, and ``DamageError`` for a damaged segment."""
        self._latest: dict[str, _Place] = {}
        self._ends: dict[Path, int] = {}
        for path in segments(folder, READINGS):
            with suppress(FileNotFoundError):  # Its writer had died before its first reading was whole.
                self._take(path)

    @property
    def ends(self) -> Mapping[Path, int]:
        """The offset up to which each segment of later readings was scanned."""
        return self._ends

    def __len__(self) -> int:
        return len(self._latest)

    def __contains__(self, capture: str) -> bool:
        return capture in self._latest

    def __iter__(self) -> Iterator[str]:
        return iter(self._latest)

    def statements(self, capture: str) -> bytes:
        """Return the statements of a capture's latest reading, in the graph that is named like the capture.

        Raises ``KeyError`` for a capture that was read once only, and the errors of reading its segment.
        """
        place = self._latest[capture]
        with opened_segment(place.path) as file:
            return renamed(Members(file, place.begin).member())

    def is_latest(self, path: Path, begin: int, text: bytes) -> bool:
        """Return whether the statements at an offset of a segment are a capture's latest reading."""
        if not self._latest:
            return True
        place = self._latest.get(capture_of(graph_of(text)))
        return place is None or (place.path, place.begin) == (path, begin)

    def _take(self, path: Path) -> None:
        with open_segment(path) as file:
            members = Members(file)
            while members.end < members.size:
                begin, text = members.end, members.member()
                place = _Place(_read_at(text), path, begin)
                capture = capture_of(graph_of(text))
                known = self._latest.get(capture)
                if known is None or known.read_at <= place.read_at:
                    self._latest[capture] = place
            self._ends[path] = members.end


def first_segments(folder: Path) -> tuple[Path, ...]:
    """Return the segments of a folder that hold first readings, in the order in which they were begun."""
    return tuple(path for path in segments(folder, NQUADS) if not is_later(path))


def is_later(path: Path) -> bool:
    """Return whether a segment holds later readings only."""
    return path.name.removesuffix(OPEN).endswith(f".{READINGS}")


def _read_at(text: bytes) -> datetime:
    found = _READ_AT.match(text)
    if found is None:
        raise DamageError("a later reading does not begin with its time")
    return datetime.fromisoformat(found[1].decode())


Terms = tuple[tuple[str, str], ...]
"""Terms of Dublin Core by their names, each with a value."""


@dataclass(frozen=True, slots=True)
class CaptureDescription:
    """The description of a capture itself.

    ``iri`` is the id of its WARC response record (``urn:uuid:...``). ``application`` and ``level`` are names of the
    knowledge base, None where none was recognised. ``score`` is the page's relevance in [0, 1], None where it was not
    scored, ``relevant`` whether it reached the crawl's threshold. ``priority`` is the score it was leased with, ``via``
    the URL that linked to it, empty for a seed. ``crawl`` is the IRI of the crawl that made it (``vocabulary.crawl``),
    empty where unknown.

    ``unchanged`` is the id of the former capture with the same payload, None where there is none: its objects are those
    of that capture, and are not stated again. ``revision_of`` is the id of the former capture whose objects this one's
    were compared with, ``changes`` the result. ``trap`` is as in ``Metadata``, ``session`` as in ``Exchange``.

    ``reader`` identifies the reader (``aahcrawler.fingerprint``), empty where unknown. ``reading`` is None for a first
    reading. ``title`` is the page's own, empty where it has none. ``is_requisite`` says that the capture is a page
    requisite. ``frames`` are the URLs of documents that the page shows in frames; ``frame_of`` is the URL of the page
    that shows this one in a frame and led to it, empty where none did. ``rendered`` is the id of the record with the
    rendered document from which all of this was read; empty where the response itself was read. ``memento`` says which
    archive it was taken from, None where its site was asked.
    """

    iri: str
    url: str
    status: int
    fetched_at: datetime
    media_type: str = ""
    application: str | None = None
    level: str | None = None
    role: Literal["intermediate", "terminal"] | None = None
    score: float | None = None
    relevant: bool | None = None
    priority: float | None = None
    depth: int | None = None
    via: str = ""
    crawl: str = ""
    unchanged: str | None = None
    revision_of: str | None = None
    changes: Changes | None = None
    trap: str = ""
    session: str = ""
    reader: str = ""
    reading: Reading | None = None
    is_requisite: bool = False
    frames: tuple[str, ...] = ()
    frame_of: str = ""
    rendered: str = ""
    title: str = ""
    memento: Memento | None = None

    @property
    def graph(self) -> str:
        """The IRI of the reading, which is the name of its graph."""
        return reading(self.iri, self.reader, Method.FIRST if self.reading is None else self.reading.method)


class ObjectWriter(SegmentedOutput):
    """Writes N-Quads segments beside a crawl's WARC files.

    Each ``write`` is one gzip member, so that a reader of an open segment sees whole captures only. When ``write``
    returns, its statements have reached the operating system: see ``aahcrawler.segments`` for their durability. Writing
    the same capture twice adds no statement. The first capture of each segment carries the statements about its crawl
    in ``described``: names of ``dcterms`` with their values. Not thread-safe.
    """

    def __init__(self, folder: Path, crawl: str, clock: Clock, *, size: int = 1 << 30, described: Terms = ()) -> None:
        super().__init__(SegmentWriter(Series(folder, crawl, NQUADS, limit=size), clock))
        self._later = SegmentWriter(Series(folder, crawl, READINGS, limit=size), clock)
        self.now = clock
        self._terms, self._described_in = described, ""

    def write(
        self, capture: CaptureDescription, objects: Iterable[WebObject] = (), containers: Iterable[Container] = ()
    ) -> None:
        """Append all statements about a capture, the objects found in it and their containers; either all or none.

        Raises ``DiskFullError`` when there is no room, and ``SegmentError`` for other faults of the disk; the segment
        is then as before.
        """
        stated = statements(capture, objects, containers)
        if capture.reading is not None:
            self._later.append((stated,))
            return
        segment = self._segments.ready()
        if self._terms and segment != self._described_in and capture.crawl:
            told = [f"{iri(capture.crawl)} <{v.DCTERMS}{name}> {text(value)}" for name, value in self._terms]
            stated += quads(told, iri(capture.graph))
        self._segments.append((stated,))
        self._described_in = segment

    def append_reading(self, text: bytes) -> None:
        """Append the ``statements`` of a later reading. Raises as ``write`` does."""
        self._later.append((text,))

    def sync(self) -> None:
        """Force written statements to disk; may be called from any thread."""
        super().sync()
        self._later.sync()

    def close(self) -> None:
        """Force the current segments to disk and give them their final names. May be called twice."""
        try:
            super().close()
        finally:
            self._later.close()


def statements(
    capture: CaptureDescription, objects: Iterable[WebObject] = (), containers: Iterable[Container] = ()
) -> bytes:
    """Return the N-Quads of a reading of a capture, in UTF-8; the graph's name is the reading's IRI.

    A URL shared by people of several names, such as a list of members, is nobody's profile. Names of which the shortest
    is a part of the others (``Ann``, ``Ann Boyd``) count as one person's.
    """
    graph = iri(capture.iri)
    objects = list(objects)
    shared = _shared_profiles(objects)
    statements = [] if capture.reading is None else list(_of_reading(capture, capture.reading))
    statements += [f"{graph} <{predicate}> {value}" for predicate, value in _of_capture(capture) if value is not None]
    people: dict[str, Person] = {}
    if capture.changes is not None:
        statements += _of_changes(capture, capture.changes, graph)
    for web_object in objects:
        statements += _of_object(web_object, graph, people, shared)
    for container in containers:
        statements += _of_container(container)
    for subject, somebody in people.items():
        statements += _of_person(subject, somebody)
    return quads(statements, iri(capture.graph))


def _of_reading(capture: CaptureDescription, later: Reading) -> Iterator[str]:
    """Yield the statements about a later reading; its time comes first, where ``Readings`` looks for it."""
    subject, former = iri(capture.graph), later.revision_of
    yield f"{subject} <{v.GENERATED_AT}> {moment(later.read_at.astimezone(UTC))}"
    yield f"{subject} <{v.RDF_TYPE}> <{v.READING_TYPE}>"
    yield f"{subject} <{v.PRIMARY_SOURCE}> {iri(capture.iri)}"
    yield f"{subject} <{v.METHOD}> {text(later.method)}"
    if former != capture.graph:
        yield f"{subject} <{v.REVISION_OF}> {iri(former)}"


def _of_capture(capture: CaptureDescription) -> tuple[tuple[str, str | None], ...]:
    return (
        (v.RDF_TYPE, f"<{v.CAPTURE}>"),
        (v.RDF_TYPE, f"<{v.REQUISITE}>" if capture.is_requisite else None),
        (v.URL, typed(capture.url, v.XSD_ANY_URI)),
        (v.STATUS, integer(capture.status)),
        (v.GENERATED_AT, moment(capture.fetched_at.astimezone(UTC))),
        (v.TITLE, text(capture.title) if capture.title else None),
        (v.FORMAT, text(capture.media_type) if capture.media_type else None),
        (v.APPLICATION, text(capture.application) if capture.application else None),
        (v.LEVEL, text(capture.level) if capture.level else None),
        (v.ROLE, text(capture.role) if capture.role else None),
        (v.SCORE, double(capture.score) if capture.score is not None else None),
        (v.RELEVANT, boolean(capture.relevant) if capture.relevant is not None else None),
        (v.PRIORITY, double(capture.priority) if capture.priority is not None else None),
        (v.DEPTH, integer(capture.depth) if capture.depth is not None else None),
        (v.VIA, typed(capture.via, v.XSD_ANY_URI) if capture.via else None),
        (v.GENERATED_BY, iri(capture.crawl) if capture.crawl else None),
        (v.UNCHANGED_SINCE, iri(capture.unchanged) if capture.unchanged else None),
        (v.REVISION_OF, iri(capture.revision_of) if capture.revision_of else None),
        *((v.HAS_FRAME, iri(url)) for url in capture.frames),
        (v.FRAME_OF, iri(capture.frame_of) if capture.frame_of else None),
        (v.TRAP, text(capture.trap) if capture.trap else None),
        (v.READ_FROM, iri(capture.rendered) if capture.rendered else None),
        *(() if capture.memento is None else _of_memento(capture.memento)),
        (v.SESSION, text(capture.session) if capture.session else None),
        (v.READER, text(capture.reader) if capture.reader else None),
    )


def _of_memento(memento: Memento) -> tuple[tuple[str, str | None], ...]:
    return (
        (v.PRIMARY_SOURCE, iri(memento.uri)),
        (v.SOURCE_ARCHIVE, text(memento.archive)),
        (v.SOURCE, text(memento.source)),
        (v.OBTAINED_AT, moment(memento.obtained_at.astimezone(UTC))),
    )


def _of_changes(capture: CaptureDescription, changes: Changes, graph: str) -> Iterator[str]:
    """Yield the statements about changed objects, and the two versions of each edited one, one from each capture."""
    for predicate, names in ((v.ADDED, changes.added), (v.EDITED, changes.edited), (v.DELETED, changes.deleted)):
        for name in names:
            yield f"{graph} <{predicate}> {iri(name)}"
    for name in changes.edited:
        newer = f"<{version(capture.iri, name)}>"
        yield from _of_version(newer, name, graph)
        if capture.revision_of:
            older = f"<{version(capture.revision_of, name)}>"
            yield f"{newer} <{v.REVISION_OF}> {older}"
            yield from _of_version(older, name, iri(capture.revision_of))


def _of_version(subject: str, name: str, capture: str) -> Iterator[str]:
    yield f"{subject} <{v.SPECIALIZATION_OF}> {iri(name)}"
    yield f"{subject} <{v.DERIVED_FROM}> {capture}"


def _shared_profiles(objects: Iterable[WebObject]) -> Set[str]:
    names: dict[str, set[str]] = defaultdict(set)
    for value in chain.from_iterable(chain.from_iterable(each.properties.values()) for each in objects):
        if isinstance(value, Person) and value.url:
            names[value.url].add(" ".join(value.name.split()).casefold())
    return {url for url, called in names.items() if any(min(called, key=len) not in each for each in called)}


def _of_object(web_object: WebObject, capture: str, people: dict[str, Person], shared: Set[str]) -> list[str]:
    subject = iri(web_object.iri)
    site = site_of(web_object.source_url)
    statements = [f"{subject} <{v.RDF_TYPE}> <{name}>" for name in v.classes(web_object.type)]
    statements.append(f"{subject} <{v.OBJECT_TYPE}> {text(web_object.type)}")
    statements.append(f"{subject} <{v.DERIVED_FROM}> {capture}")
    if web_object.part_of is not None:
        statements.append(f"{subject} <{v.PART_OF}> {iri(web_object.part_of)}")
    for name, source in web_object.inferred.items():
        statements.append(f"{subject} <{v.inferred(name)}> {text(source)}")
    for name, values in web_object.properties.items():
        predicate = v.predicate(name)
        for value in values:
            said = Person(value.name) if isinstance(value, Person) and value.url in shared else value
            stated = _address(said, site) if predicate == v.URL else term(said, site)
            statements.append(f"{subject} <{predicate}> {stated}")
            if isinstance(said, Person):
                people.setdefault(stated, said)
    return statements


def _of_container(container: Container) -> Iterator[str]:
    subject = iri(container.iri)
    for name in v.classes(container.type):
        yield f"{subject} <{v.RDF_TYPE}> <{name}>"
    if container.title:
        yield f"{subject} <{v.TITLE}> {text(container.title)}"
    if container.part_of is not None:
        yield f"{subject} <{v.HAS_CONTAINER}> {iri(container.part_of)}"


def _of_person(subject: str, somebody: Person) -> list[str]:
    statements = [f"{subject} <{v.RDF_TYPE}> <{v.PERSON}>"]
    statements.append(f"{subject} <{v.NAME}> {text(' '.join(somebody.name.split()))}")
    if somebody.url:
        statements.append(f"{subject} <{v.URL}> {typed(somebody.url, v.XSD_ANY_URI)}")
    return statements


def _address(value: Value, site: str) -> str:
    """Return an object's own URL as a literal, since its IRI may have been escaped."""
    match value:
        case Reference(address) | str(address):
            return typed(address, v.XSD_ANY_URI)
        case _:
            return term(value, site)
