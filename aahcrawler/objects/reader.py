"""Reads captures and web objects back from N-Quads segments."""

import gzip
import re
import zlib
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge
from io import BufferedReader, BytesIO, RawIOBase
from itertools import groupby, islice, pairwise
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, Literal, Self, cast
from urllib.parse import unquote

import pyoxigraph as ox

from aahcrawler.layout import OBJECTS
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.readings import Method, Reading, Readings, capture_of, first_segments, graph_of
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.segments import DamageError, Members, open_segment

_BATCH = 10_000
_BUFFER = 1 << 16
_PIECE = 1 << 20

_Seen = tuple[datetime, int, str]
"""The time at which an object was seen, the ordinal of that capture, and the capture's name."""
_TOLD = (
    *(v.DERIVED_FROM, v.GENERATED_AT, v.GENERATED_BY, v.REVISION_OF, v.UNCHANGED_SINCE),
    *(v.ADDED, v.EDITED, v.DELETED),
)
_PROVENANCE = re.compile(b" <(?:%s)> " % b"|".join(re.escape(predicate.encode()) for predicate in _TOLD))
_TIME = re.compile(
    rb'^<([^<> \n]*)> <%s> "([^"\n]*)"[^\n]* <\1> \.$' % re.escape(v.GENERATED_AT.encode()), re.MULTILINE
)
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_MOST_OPEN = 64
_NEVER: _Seen = (datetime.min.replace(tzinfo=UTC), -1, "")


class ReadError(Exception):
    """Raised for a folder without a crawl or a damaged segment; the message tells the segment and the remedy."""


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """A web object as its newest capture has it.

    ``url`` is its own URL, else that of the page it was found on. ``author`` is a name. ``date`` is ISO 8601 with
    the offset that the page names; a date that the application's rules could not read stands as the page has it. Of
    several values the first is given. ``part_of`` and ``iri`` are IRIs. ``deleted`` is the moment, ISO 8601 in UTC, at
    which a capture found the object gone, None while there is one that has it: posts move between the pages of a
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
    number of the crawl that fetched it, 1 where unknown. ``unchanged`` is the id of the former capture that holds the
    same payload, and so its objects; that of a page that answered 304 is a page as well. What was found on it is by its
    latest reading, ``method`` tells how it came to be read so. ``title`` is what the page calls itself. ``trap`` says
    that it repeats another page of the site (``near_duplicate``), or tells of an error with the status of a success
    (``soft_404``). The rest is as in ``CaptureDescription``, None where that is empty.
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

    @property
    def is_page(self) -> bool:
        """Return whether it counts as a page: no redirect, no error by status or by what it says, unless unchanged.

        A redirect that named no place was read as a page, and has a score.
        """
        is_content = self.status < 300 or (self.status < 400 and self.score is not None)
        return (is_content or self.unchanged is not None) and self.trap != v.SOFT_404


def object_rows(crawl: Path, number: int | None = None) -> Iterator[ObjectRow]:
    """Yield each web object of a crawl's folder once, from its newest capture, in the order of these captures.

    Deleted ones are among them. With ``number``, those that this crawl of the folder found: on a page that had not
    changed, those that the page had before. A crawl that is running is read as it was when the reading began. Raises
    ``ReadError``.
    """
    kept = Statements.of(crawl)
    past = _past(kept, None if number is None else _holders(kept, number))
    deleted = _deleted(kept, past) if past.deletions else {}
    newest = past.newest
    for group in kept.graphs(lambda stream: ox.parse(stream, ox.RdfFormat.N_QUADS, lenient=True)):
        for subject in group.objects():
            if newest.get(subject, _NEVER)[2] == group.name:
                del newest[subject]
                yield group.object_row(subject, deleted.get(subject))


def objects_of(crawl: Path, captures: frozenset[str]) -> Iterator[ObjectRow]:
    """Yield the web objects that some captures state, as these state them. Raises ``ReadError``.

    What comes after the last of the captures is not read.
    """
    missing = set(captures)
    for name, lines in groupby(Statements.of(crawl).lines(), graph_of):
        if name in missing:
            (group,) = _grouped(ox.parse(b"".join(lines), ox.RdfFormat.N_QUADS, lenient=True))
            yield from (group.object_row(subject, None) for subject in group.objects())
            missing.discard(name)
        if not missing:
            return


@dataclass(frozen=True, slots=True)
class ObjectChanges:
    """How many web objects a crawl found first, found to say something else than before, and found gone."""

    added: int
    edited: int
    deleted: int


def object_changes(crawl: Path, number: int) -> ObjectChanges:
    """Return what one crawl of a folder changed in its web objects, each counted once. Raises ``ReadError``.

    Of a page that was captured before, those are added that were not there by the reading of today: what a knowledge
    base finds since it was taught better was there at the former capture.
    """
    kept = Statements.of(crawl)
    past = _past(kept)
    first: dict[str, int] = {}
    edited: set[str] = set()
    numbers: dict[str, int] = {}
    for group in kept.graphs(_histories):
        own = group.statements.get(group.name, {})
        numbers[group.name] = made_by = number_of(group.first(group.name, v.GENERATED_BY))
        former = (*own.get(v.REVISION_OF, ()), *own.get(v.UNCHANGED_SINCE, ()))
        known_since = min((numbers.get(capture_of(each), made_by) for each in former), default=made_by)
        added = set(own.get(v.ADDED, ()))
        for subject in group.objects():
            since = made_by if subject in added else known_since
            first[subject] = min(since, first.get(subject, since))
        if made_by == number:
            edited.update(own.get(v.EDITED, ()))
    gone = _deleted(kept, past) if past.deletions else {}
    deleted = sum(number_of(past.deletions[subject].crawl) == number for subject in gone)
    return ObjectChanges(sum(made_by == number for made_by in first.values()), len(edited), deleted)


def page_rows(crawl: Path, number: int | None = None) -> Iterator[PageRow]:
    """Yield each capture of a page, redirect or error answer in the order of time; page requisites are left out.

    It does not matter which worker wrote what, and when. Captures of one time come in the order of writing.
    With ``number``, only those of that crawl among the ones of the folder. Raises ``ReadError``, also where the
    folder has captures and none of that crawl.
    """
    newest, found = 0, False
    for group in Statements.of(crawl).in_time(lambda text: _parsed(filter(_is_about_its_graph, BytesIO(text)))):
        if group.is_requisite:
            continue
        row = group.page_row()
        newest = max(newest, row.crawl)
        if number in {None, row.crawl}:
            found = True
            yield row
    if newest and not found:
        raise ReadError(f"{crawl}: has no pages of crawl {number}. Its newest crawl is number {newest}.")


def statements(crawl: Path) -> Iterator[str]:
    """Yield the statements of the latest reading of each capture as lines, line break included. Raises ``ReadError``.

    The graph of every one is named like its capture.
    """
    return (line.decode() for line in Statements.of(crawl).lines())


def texts(crawl: Path) -> Iterator[bytes]:
    """Yield the same in UTF-8, in pieces of whole lines. Raises ``ReadError``."""
    return Statements.of(crawl).texts()


@dataclass(frozen=True, slots=True)
class Stated:
    """What the latest reading of a capture states: its description, and all statements but on the reading itself.

    What was found to have changed since a former capture is not in the description.
    """

    capture: CaptureDescription
    row: PageRow
    has_objects: bool
    statements: frozenset[tuple[str, str, str]]

    @classmethod
    def of(cls, text: bytes) -> "Stated":
        """Return what the statements of one reading of a capture state."""
        (group,) = _grouped(ox.parse(text, ox.RdfFormat.N_QUADS, lenient=True))
        return group.stated()


def captures(crawl: Path) -> Iterator[Stated]:
    """Yield the latest reading of each capture but page requisites, in the order of time. Raises ``ReadError``."""
    for group in Statements.of(crawl).in_time(lambda text: ox.parse(text, ox.RdfFormat.N_QUADS, lenient=True)):
        if not group.is_requisite:
            yield group.stated()


@dataclass(frozen=True, slots=True)
class _Graph:
    """The statements of one capture: values by subject and predicate, in the order of writing."""

    name: str
    statements: dict[str, dict[str, list[str]]]

    def objects(self) -> Iterator[str]:
        derived = (subject for subject, values in self.statements.items() if v.DERIVED_FROM in values)
        return (subject for subject in derived if not subject.startswith(v.VERSION))

    @property
    def is_requisite(self) -> bool:
        return v.REQUISITE in self.statements.get(self.name, {}).get(v.RDF_TYPE, ())

    def first(self, subject: str, predicate: str) -> str | None:
        values = self.statements.get(subject, {}).get(predicate)
        return values[0] if values else None

    def seen(self, order: int) -> _Seen:
        return _time(self.first(self.name, v.GENERATED_AT)), order, self.name

    def object_row(self, subject: str, deleted: str | None) -> ObjectRow:
        author = self.first(subject, v.AUTHOR)
        return ObjectRow(
            url=self.first(subject, v.URL) or self.first(self.name, v.URL) or subject,
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
        statements = sorted(
            f"{unquote(name.removeprefix(v.INFERRED))} ({values[0]})"
            for name, values in self.statements.get(subject, {}).items()
            if name.startswith(v.INFERRED)
        )
        return ", ".join(statements) or None

    def stated(self) -> Stated:
        """Return all that is stated; who read it, and when, is no part of the statements."""
        told = frozenset(
            (subject, predicate, value)
            for subject, values in self.statements.items()
            if not subject.startswith(v.READING)
            for predicate, found in values.items()
            if predicate != v.READER
            for value in found
        )
        return Stated(self.description(), self.page_row(), any(True for _ in self.objects()), told)

    def description(self) -> CaptureDescription:
        """Return what is stated of the capture, without what changed in it."""
        row, own = self.page_row(), self.statements.get(self.name, {})
        return CaptureDescription(
            iri=self.name,
            url=row.url,
            status=row.status,
            fetched_at=_time(row.fetched_at),
            media_type=row.media_type or "",
            application=row.application,
            level=row.level_name,
            role=row.level,
            score=row.score,
            relevant=row.relevant,
            priority=row.priority,
            depth=row.depth,
            via=row.via or "",
            crawl=self.first(self.name, v.GENERATED_BY) or "",
            unchanged=row.unchanged,
            revision_of=next(iter(own.get(v.REVISION_OF, ())), None),
            trap=row.trap or "",
            session=self.first(self.name, v.SESSION) or "",
            reader=row.reader or "",
            reading=self._reading(),
            frames=tuple(own.get(v.HAS_FRAME, ())),
            frame_of=self.first(self.name, v.FRAME_OF) or "",
            rendered=self.first(self.name, v.READ_FROM) or "",
            title=row.title or "",
        )

    def _reading(self) -> Reading | None:
        """Return the reading that the statements are of, None for a first one."""
        for subject, statements in self.statements.items():
            if subject.startswith(v.READING):
                (method,), (read_at,) = statements[v.METHOD], statements[v.GENERATED_AT]
                return Reading(Method(method), _time(read_at), statements.get(v.REVISION_OF, [subject])[0])
        return None

    def page_row(self) -> PageRow:
        score, priority = self.first(self.name, v.SCORE), self.first(self.name, v.PRIORITY)
        relevant, depth = self.first(self.name, v.RELEVANT), self.first(self.name, v.DEPTH)
        role = self.first(self.name, v.ROLE)
        return PageRow(
            url=self.first(self.name, v.URL) or "",
            status=int(self.first(self.name, v.STATUS) or 0),
            application=self.first(self.name, v.APPLICATION),
            level=cast('Literal["intermediate", "terminal"] | None', role),
            score=None if score is None else float(score),
            fetched_at=self.first(self.name, v.GENERATED_AT) or "",
            relevant=None if relevant is None else relevant == "true",
            level_name=self.first(self.name, v.LEVEL),
            media_type=self.first(self.name, v.FORMAT),
            priority=None if priority is None else float(priority),
            depth=None if depth is None else int(depth),
            via=self.first(self.name, v.VIA),
            capture=self.name,
            crawl=number_of(self.first(self.name, v.GENERATED_BY)),
            unchanged=self.first(self.name, v.UNCHANGED_SINCE),
            trap=self.first(self.name, v.TRAP),
            reader=self.first(self.name, v.READER),
            method=Method.FIRST if (later := self._reading()) is None else later.method,
            title=self.first(self.name, v.TITLE),
        )


@dataclass(frozen=True, slots=True)
class Statements:
    """What the segments of a crawl state: the first readings of its captures, and the latest ones where these differ.

    They are as they were when this object was made, but for what is appended to open segments. All raise ``ReadError``.
    """

    files: tuple[Path, ...]
    readings: Readings

    @classmethod
    def of(cls, crawl: Path) -> Self:
        """Return those of a crawl's folder."""
        folder = crawl / OBJECTS
        if not folder.is_dir():
            what = "holds no crawl (it has no folder objects)" if crawl.is_dir() else "is not a folder"
            raise ReadError(f"{crawl}: {what}. Name the output folder of a crawl.")
        # A capture's later readings are written after its first one, and looked for before it.
        with _explained(folder):
            readings = Readings(folder)
        return cls(first_segments(folder), readings)

    def graphs(self, parsed: Callable[[BinaryIO], Iterable[ox.Quad]]) -> Iterator[_Graph]:
        """Yield the latest reading of each capture, in the order of writing.

        ``parsed`` gives the statements of a segment that are of interest; of later readings all are given.
        """
        waiting = set(self.readings)
        for path in self.files:
            with _decompressed(path) as stream:
                for group in _grouped(parsed(stream)):
                    if group.name not in self.readings:
                        yield group
                    elif group.name in waiting:
                        waiting.discard(group.name)
                        yield self._latest(group.name)
        # Their first readings are lost.
        for capture in sorted(waiting):
            yield self._latest(capture)

    def in_time(self, parsed: Callable[[bytes], Iterable[ox.Quad]]) -> Iterator[_Graph]:
        """Yield the same in the order of time; ``parsed`` gives the statements of interest of a text.

        Memory is needed for 16 bytes of each capture: the files are gone through once for the times of the captures,
        and then read in their order.
        """
        waiting = set(self.readings)
        runs = [self._run(number, waiting) for number in range(len(self.files))]
        with _OpenSegments(self.files) as opened:
            # Of those that are waiting now, the first readings are lost.
            lost = sorted((_moment(self._text(capture)), -1, capture) for capture in waiting)
            for _, number, place in merge(*runs, iter(lost)):
                if isinstance(place, str):
                    yield self._latest(place)
                    continue
                text = opened.member(number, place)
                with _explained(self.files[number]):
                    groups = tuple(_grouped(parsed(text)))
                for group in groups:
                    yield self._latest(group.name) if group.name in self.readings else group

    def _run(self, number: int, waiting: set[str]) -> Iterator[tuple[int, int, int | str]]:
        """Return the times and places of a segment's captures in the order of time."""
        times, begins = array("q"), array("q")
        for begin, text in self._members(number):
            begins.append(begin)
            times.append(_moment(text))
            waiting.discard(capture_of(graph_of(text)))
        if any(later < earlier for earlier, later in pairwise(times)):
            order = sorted(range(len(times)), key=times.__getitem__)
            times, begins = array("q", map(times.__getitem__, order)), array("q", map(begins.__getitem__, order))
        return ((time, number, begin) for time, begin in zip(times, begins, strict=True))

    def _members(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield where the statements of each capture begin in a segment, and their text."""
        path = self.files[number]
        with _explained(path), open_segment(path) as file:
            members = Members(file)
            while members.end < members.size:
                begin = members.end
                yield begin, members.member()

    def places(self) -> Iterator[tuple[str, int, int]]:
        """Yield each capture with the place of its first reading: the number of the segment, and a byte of it."""
        for number in range(len(self.files)):
            for begin, text in self._members(number):
                yield graph_of(text), number, begin

    def latest(self, capture: str, first: tuple[int, int] | None) -> bytes:
        """Return the statements of a capture's latest reading, given the place of its first; empty where none is."""
        if capture in self.readings:
            return self._text(capture)
        if first is None:
            return b""
        with _OpenSegments(self.files) as opened:
            return opened.member(*first)

    def texts(self) -> Iterator[bytes]:
        """Yield the statements of the latest reading of each capture in pieces of whole lines."""
        if self.readings:
            lines = self.lines()
            while piece := b"".join(islice(lines, _BATCH)):
                yield piece
            return
        for path in self.files:
            with _decompressed(path) as stream:
                while piece := stream.read(_PIECE):
                    yield piece + stream.readline()

    def lines(self) -> Iterator[bytes]:
        """Yield the statements of the latest reading of each capture as lines."""
        waiting, is_read_again = set(self.readings), bool(self.readings)
        for path in self.files:
            with _decompressed(path) as stream:
                if not is_read_again:
                    yield from stream
                    continue
                for line in stream:
                    name = graph_of(line)
                    if name not in self.readings:
                        yield line
                    elif name in waiting:
                        waiting.discard(name)
                        yield from self._text(name).splitlines(keepends=True)
        for capture in sorted(waiting):
            yield from self._text(capture).splitlines(keepends=True)

    def _latest(self, capture: str) -> _Graph:
        (group,) = _grouped(ox.parse(self._text(capture), ox.RdfFormat.N_QUADS, lenient=True))
        return group

    def _text(self, capture: str) -> bytes:
        with _explained(Path(capture)):
            return self.readings.statements(capture)


class _OpenSegments:
    """Segments that are read at many places, of which only so many are open as a process may have open."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._opened: dict[int, tuple[BinaryIO, Members]] = {}
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def member(self, number: int, begin: int) -> bytes:
        """Return the text of the member that begins at a byte of one of the segments. Raises ``ReadError``."""
        with _explained(self._paths[number]):
            if number not in self._opened:
                if len(self._opened) >= _MOST_OPEN:
                    self._closing.close()
                    self._opened.clear()
                file = self._closing.enter_context(open_segment(self._paths[number]))
                self._opened[number] = file, Members(file, begin)
            file, members = self._opened[number]
            if members.end != begin:
                members = Members(file, begin)
                self._opened[number] = file, members
            return members.member()


def _grouped(quads: Iterable[ox.Quad]) -> Iterator[_Graph]:
    """Yield the graphs in order; statements of one graph stand together in a segment."""
    for name, group in groupby(quads, attrgetter("graph_name")):
        statements: dict[str, dict[str, list[str]]] = {}
        for subject, predicate, value, _ in group:
            statements.setdefault(subject.value, {}).setdefault(predicate.value, []).append(value.value)
        yield _Graph(capture_of(name.value), statements)


@dataclass(frozen=True, slots=True)
class _Deletion:
    """A capture that found an object gone: when that was, in which crawl, and the capture that still had it."""

    time: datetime
    deleted_at: str
    capture: str
    crawl: str | None
    former: str | None


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A capture that has an object, or one whose payload is that of such a capture."""

    time: datetime
    capture: str
    crawl: str | None

    def refutes(self, deletion: _Deletion) -> bool:
        """Return whether an object that was found gone is elsewhere: it was seen later, or by the same crawl."""
        if self.capture == deletion.capture:
            return False
        by_the_same = self.crawl is not None and self.crawl == deletion.crawl and self.capture != deletion.former
        return self.time >= deletion.time or by_the_same


@dataclass(frozen=True, slots=True)
class _Past:
    """The newest capture of each object, the objects found gone, and the original of each unchanged payload."""

    newest: dict[str, _Seen]
    deletions: dict[str, _Deletion]
    unchanged: dict[str, list[_Sighting]]


def _holders(kept: Statements, number: int) -> frozenset[str]:
    """Return the captures that state what one crawl of a folder found, those of pages that it found unchanged too."""
    holders: set[str] = set()
    stating: dict[str, _Seen] = {}
    for order, group in enumerate(kept.graphs(_histories)):
        former = group.first(group.name, v.UNCHANGED_SINCE)
        if any(True for _ in group.objects()):
            payload = former or group.name
            stating[payload] = max(group.seen(order), stating.get(payload, _NEVER))
        if number_of(group.first(group.name, v.GENERATED_BY)) == number:
            holders.add(group.name if former is None else stating.get(former, _NEVER)[2])
    return frozenset(holders)


def _past(kept: Statements, holders: Container[str] | None = None) -> _Past:
    past = _Past({}, {}, {})
    for order, group in enumerate(kept.graphs(_histories)):
        seen = group.seen(order)
        for subject in group.objects() if holders is None or group.name in holders else ():
            past.newest[subject] = max(seen, past.newest.get(subject, _NEVER))
        own = group.statements.get(group.name, {})
        crawl = group.first(group.name, v.GENERATED_BY)
        for former in own.get(v.UNCHANGED_SINCE, ()):
            past.unchanged.setdefault(former, []).append(_Sighting(seen[0], group.name, crawl))
        for subject in own.get(v.DELETED, ()):
            deleted_at, former_one = group.first(group.name, v.GENERATED_AT), group.first(group.name, v.REVISION_OF)
            deletion = _Deletion(seen[0], deleted_at or "", group.name, crawl, former_one)
            known = past.deletions.get(subject)
            past.deletions[subject] = deletion if known is None or known.time <= deletion.time else known
    return past


def _deleted(kept: Statements, past: _Past) -> dict[str, str]:
    """Return the time at which each deleted object was found gone."""
    gone = dict(past.deletions)
    for group in kept.graphs(_histories):
        held = [subject for subject in group.objects() if subject in gone]
        if held:
            own = _Sighting(group.seen(0)[0], group.name, group.first(group.name, v.GENERATED_BY))
            original = group.first(group.name, v.UNCHANGED_SINCE) or group.name
            seen = (own, *past.unchanged.get(original, ()))
            for subject in held:
                if any(sighting.refutes(gone[subject]) for sighting in seen):
                    del gone[subject]
    return {subject: deletion.deleted_at for subject, deletion in gone.items()}


def _moment(text: bytes) -> int:
    """Return the time of the capture that statements are of, in microseconds since 1970; 0 where they tell none."""
    found = _TIME.search(text)
    return 0 if found is None else (_time(found[2].decode("utf-8", "replace")) - _EPOCH) // _MICROSECOND


def _histories(stream: BinaryIO) -> Iterator[ox.Quad]:
    """Parse the statements of a segment about the provenance of versions, and a few others."""
    return _parsed(line for line in stream if _PROVENANCE.search(line))


def _is_about_its_graph(line: bytes) -> bool:
    return line.endswith(line[: line.find(b" ")] + b" .\n")


def _parsed(lines: Iterator[bytes]) -> Iterator[ox.Quad]:
    """Parse some of a segment's lines: looking for them first is several times faster than parsing all."""
    while batch := b"".join(islice(lines, _BATCH)):
        yield from ox.parse(batch, ox.RdfFormat.N_QUADS, lenient=True)


def number_of(crawl: str | None) -> int:
    """Return the number of a crawl by its IRI, 1 where it has none."""
    number = (crawl or "").rpartition(":")[2]
    return int(number) if number.isascii() and number.isdecimal() else 1


def _time(value: str | None) -> datetime:
    moment = datetime.fromisoformat(value) if value else _NEVER[0]
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@contextmanager
def _decompressed(path: Path) -> Iterator[BinaryIO]:
    """Open a segment's text up to its last whole capture; trouble in reading it becomes a ``ReadError``."""
    with _explained(path), open_segment(path) as file, gzip.GzipFile(fileobj=file) as text:
        yield BufferedReader(cast("RawIOBase", text), _BUFFER)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Raise trouble in reading as a ``ReadError``."""
    try:
        yield
    except MemoryError as error:
        raise ReadError(f"{path}: has a line too long to be read. Shorten it with aah archive repair.") from error
    except (OSError, EOFError, ValueError, SyntaxError, zlib.error, DamageError) as error:
        raise ReadError(
            f"{path}: is damaged ({error}). Restore it from a copy, or take it out of the folder."
        ) from error
