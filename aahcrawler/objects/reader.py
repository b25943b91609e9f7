"""Reads captures and web objects back from N-Quads segments."""

import re
import zlib
from array import array
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Self

import pyoxigraph as ox

from aahcrawler.layout import OBJECTS
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import (
    NEVER,
    CaptureStatements,
    ObjectRow,
    PageRow,
    number_of,
    of_quads,
    read_statements,
    time_of,
)
from aahcrawler.objects.writer import Readings, capture_of, first_segments, graph_of
from aahcrawler.segments import DamageError, Members, open_segment

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
_MAX_OPEN = 64
_UNSEEN: _Seen = (NEVER, -1, "")


class ReadError(Exception):
    """Raised for a folder without a crawl, or a damaged segment; the message names the segment and the remedy."""


def object_rows(crawl: Path, number: int | None = None) -> Iterator[ObjectRow]:
    """Yield each web object of a crawl's folder once, from its newest capture, in the order of these captures.

    Deleted objects are included. With ``number``, only those that this crawl of the folder found, including the known
    objects of pages that it found unchanged. A running crawl is read as it was when the reading began. Raises
    ``ReadError``.
    """
    kept = Statements.of(crawl)
    past = _past(kept, None if number is None else _holders(kept, number))
    deleted = _deleted(kept, past) if past.deletions else {}
    newest = past.newest
    for group in kept.each(_parsed):
        for subject in group.subjects:
            if newest.get(subject, _UNSEEN)[2] == group.capture:
                del newest[subject]
                yield group.object_row(subject, deleted.get(subject))


def objects_of(crawl: Path, captures: frozenset[str]) -> Iterator[ObjectRow]:
    """Yield the web objects of given captures, as these state them. Raises ``ReadError``.

    Statements after the last of the captures are not read.
    """
    missing = set(captures)
    for text in Statements.of(crawl).texts():
        if (name := graph_of(text)) in missing:
            yield from read_statements(text).objects
            missing.discard(name)
        if not missing:
            return


@dataclass(frozen=True, slots=True)
class ObjectChanges:
    """The numbers of objects that a crawl found for the first time, found edited, and found gone."""

    added: int
    edited: int
    deleted: int


def object_changes(crawl: Path, number: int) -> ObjectChanges:
    """Return what one crawl of a folder changed in its web objects, each counted once. Raises ``ReadError``.

    An object of a page captured before counts as added only if today's reading of the former capture lacks it: what
    only an improved knowledge base finds was there before.
    """
    kept = Statements.of(crawl)
    past = _past(kept)
    first: dict[str, int] = {}
    edited: set[str] = set()
    numbers: dict[str, int] = {}
    for group in kept.each(_history):
        numbers[group.capture] = made_by = number_of(group.crawl)
        former = (*group.own(v.REVISION_OF), *group.own(v.UNCHANGED_SINCE))
        known_since = min((numbers.get(capture_of(each), made_by) for each in former), default=made_by)
        added = set(group.own(v.ADDED))
        for subject in group.subjects:
            since = made_by if subject in added else known_since
            first[subject] = min(since, first.get(subject, since))
        if made_by == number:
            edited.update(group.edited)
    gone = _deleted(kept, past) if past.deletions else {}
    deleted = sum(number_of(past.deletions[subject].crawl) == number for subject in gone)
    return ObjectChanges(sum(made_by == number for made_by in first.values()), len(edited), deleted)


def page_rows(crawl: Path, number: int | None = None) -> Iterator[PageRow]:
    """Yield each capture of a page, redirect or error response in the order of time; page requisites are left out.

    The order does not depend on which worker wrote what. Captures of the same time come in the order of writing. With
    ``number``, only those of that crawl of the folder. Raises ``ReadError``, also where the folder has captures but
    none of that crawl.
    """
    newest, found = 0, False
    for stated in Statements.of(crawl).in_time():
        if stated.is_requisite:
            continue
        row = stated.row
        newest = max(newest, row.crawl)
        if number in {None, row.crawl}:
            found = True
            yield row
    if newest and not found:
        raise ReadError(f"{crawl}: has no pages of crawl {number}. Its newest crawl is number {newest}.")


def statements(crawl: Path) -> Iterator[str]:
    """Yield the statements of the latest reading of each capture as lines, line break included. Raises ``ReadError``.

    The graph of each reading is named like its capture.
    """
    return (line.decode() for text in texts(crawl) for line in BytesIO(text))


def texts(crawl: Path) -> Iterator[bytes]:
    """Yield the statements of the latest reading of each capture in UTF-8, one text a capture. Raises ``ReadError``."""
    return Statements.of(crawl).texts()


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements in a crawl's segments: the first readings of captures, and the latest ones where these differ.

    They are as of the creation of this object, except for what is appended to open segments. All methods raise
    ``ReadError``.
    """

    files: tuple[Path, ...]
    readings: Readings

    @classmethod
    def of(cls, crawl: Path) -> Self:
        """Return the statements of a crawl's folder."""
        folder = crawl / OBJECTS
        if not folder.is_dir():
            what = "holds no crawl (it has no folder objects)" if crawl.is_dir() else "is not a folder"
            raise ReadError(f"{crawl}: {what}. Name the output folder of a crawl.")
        # A capture's later readings are written after its first one, but looked up before it.
        with _explained(folder):
            readings = Readings(folder)
        return cls(first_segments(folder), readings)

    def texts(self) -> Iterator[bytes]:
        """Yield the statements of the latest reading of each capture, in the order of writing."""
        return (text for _, text in self._texts())

    def each(self, read: Callable[[bytes], CaptureStatements]) -> Iterator[CaptureStatements]:
        """Yield what ``read`` makes of the latest reading of each capture."""
        for path, text in self._texts():
            with _explained(path):
                stated = read(text)
            yield stated

    def _texts(self) -> Iterator[tuple[Path, bytes]]:
        """Yield the latest reading of each capture, with the segment in which the capture was described first."""
        waiting = set(self.readings)
        for number, path in enumerate(self.files):
            for _, text in self._members(number):
                name = graph_of(text)
                if name not in self.readings:
                    yield path, text
                elif name in waiting:
                    waiting.discard(name)
                    yield path, self._text(name)
        # Their first readings are lost.
        yield from ((Path(name), self._text(name)) for name in sorted(waiting))

    def in_time(self) -> Iterator[CaptureStatements]:
        """Yield the statements about each capture itself by its latest reading, in the order of time.

        Takes 16 bytes of memory for each capture: the files are scanned once for the times of the captures, then read
        in their order.
        """
        waiting = set(self.readings)
        runs = [self._run(number, waiting) for number in range(len(self.files))]
        with _OpenSegments(self.files) as opened:
            # Of those that are waiting now, the first readings are lost.
            lost = sorted((_moment(self._text(capture)), -1, capture) for capture in waiting)
            for _, number, place in merge(*runs, iter(lost)):
                if isinstance(place, str):
                    yield read_statements(self._text(place))
                    continue
                text = opened.member(number, place)
                with _explained(self.files[number]):
                    # A capture is the subject and the graph of what is stated of itself.
                    own = (line for line in BytesIO(text) if line.endswith(line[: line.find(b" ")] + b" .\n"))
                    stated = _parsed(b"".join(own))
                is_read_again = stated.capture in self.readings
                yield read_statements(self._text(stated.capture)) if is_read_again else stated

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
        """Yield the offset of each capture's statements in a segment, and their text."""
        path = self.files[number]
        with _explained(path), open_segment(path) as file:
            members = Members(file)
            while members.end < members.size:
                begin = members.end
                yield begin, members.member()

    def places(self) -> Iterator[tuple[str, int, int]]:
        """Yield each capture with the place of its first reading: the number of the segment, and an offset."""
        for number in range(len(self.files)):
            for begin, text in self._members(number):
                yield graph_of(text), number, begin

    def latest(self, capture: str, first: tuple[int, int] | None) -> bytes:
        """Return the statements of a capture's latest reading, given the place of its first; empty if there is none."""
        if capture in self.readings:
            return self._text(capture)
        if first is None:
            return b""
        with _OpenSegments(self.files) as opened:
            return opened.member(*first)

    def _text(self, capture: str) -> bytes:
        with _explained(Path(capture)):
            return self.readings.statements(capture)


class _OpenSegments:
    """Segments that are read at many places; no more are open than a process may have open."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._opened: dict[int, tuple[BinaryIO, Members]] = {}
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def member(self, number: int, begin: int) -> bytes:
        """Return the text of the gzip member at an offset of a segment. Raises ``ReadError``."""
        with _explained(self._paths[number]):
            if number not in self._opened:
                if len(self._opened) >= _MAX_OPEN:
                    self._closing.close()
                    self._opened.clear()
                file = self._closing.enter_context(open_segment(self._paths[number]))
                self._opened[number] = file, Members(file, begin)
            file, members = self._opened[number]
            if members.end != begin:
                members = Members(file, begin)
                self._opened[number] = file, members
            return members.member()


def _seen(group: CaptureStatements, order: int) -> _Seen:
    return time_of(group.first(group.capture, v.GENERATED_AT)), order, group.capture


@dataclass(frozen=True, slots=True)
class _Deletion:
    """A capture that found an object gone: its time, its crawl, and the capture that still had the object."""

    time: datetime
    deleted_at: str
    capture: str
    crawl: str | None
    former: str | None


@dataclass(frozen=True, slots=True)
class _Sighting:
    """A capture that has an object, or one with the same payload."""

    time: datetime
    capture: str
    crawl: str | None

    def refutes(self, deletion: _Deletion) -> bool:
        """Return whether a deleted object exists elsewhere, because it was seen later or by the same crawl."""
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
    """Return the captures that state what one crawl found; for its unchanged pages, the former captures."""
    holders: set[str] = set()
    stating: dict[str, _Seen] = {}
    for order, group in enumerate(kept.each(_history)):
        former = group.first(group.capture, v.UNCHANGED_SINCE)
        if any(True for _ in group.subjects):
            payload = former or group.capture
            stating[payload] = max(_seen(group, order), stating.get(payload, _UNSEEN))
        if number_of(group.crawl) == number:
            holders.add(group.capture if former is None else stating.get(former, _UNSEEN)[2])
    return frozenset(holders)


def _past(kept: Statements, holders: Container[str] | None = None) -> _Past:
    past = _Past({}, {}, {})
    for order, group in enumerate(kept.each(_history)):
        seen = _seen(group, order)
        for subject in group.subjects if holders is None or group.capture in holders else ():
            past.newest[subject] = max(seen, past.newest.get(subject, _UNSEEN))
        for former in group.own(v.UNCHANGED_SINCE):
            past.unchanged.setdefault(former, []).append(_Sighting(seen[0], group.capture, group.crawl))
        for subject in group.deleted:
            deleted_at = group.first(group.capture, v.GENERATED_AT) or ""
            deletion = _Deletion(seen[0], deleted_at, group.capture, group.crawl, group.former)
            known = past.deletions.get(subject)
            past.deletions[subject] = deletion if known is None or known.time <= deletion.time else known
    return past


def _deleted(kept: Statements, past: _Past) -> dict[str, str]:
    """Return the time at which each deleted object was found gone."""
    gone = dict(past.deletions)
    for group in kept.each(_history):
        held = [subject for subject in group.subjects if subject in gone]
        if held:
            own = _Sighting(_seen(group, 0)[0], group.capture, group.crawl)
            original = group.first(group.capture, v.UNCHANGED_SINCE) or group.capture
            seen = (own, *past.unchanged.get(original, ()))
            for subject in held:
                if any(sighting.refutes(gone[subject]) for sighting in seen):
                    del gone[subject]
    return {subject: deletion.deleted_at for subject, deletion in gone.items()}


def _moment(text: bytes) -> int:
    """Return the time of a capture, given its statements, in microseconds since 1970; 0 where they have none."""
    found = _TIME.search(text)
    return 0 if found is None else (time_of(found[2].decode("utf-8", "replace")) - _EPOCH) // _MICROSECOND


def _history(text: bytes) -> CaptureStatements:
    """Parse only the statements on the provenance of versions, and a few others."""
    return read_statements(b"".join(line for line in BytesIO(text) if _PROVENANCE.search(line)))


def _parsed(text: bytes) -> CaptureStatements:
    """Parse statements. Raises ``SyntaxError`` where they are not N-Quads."""
    return of_quads(graph_of(text), ox.parse(text, ox.RdfFormat.N_QUADS, lenient=True))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Raise errors in reading as a ``ReadError``."""
    try:
        yield
    except MemoryError as error:
        raise ReadError(f"{path}: has a line too long to be read. Shorten it with aah archive repair.") from error
    except (OSError, EOFError, ValueError, SyntaxError, zlib.error, DamageError) as error:
        raise ReadError(
            f"{path}: is damaged ({error}). Restore it from a copy, or take it out of the folder."
        ) from error
