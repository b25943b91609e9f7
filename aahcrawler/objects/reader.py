"""Reading back from N-Quads segments what was captured and which web objects were found."""

import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BufferedReader, RawIOBase
from itertools import count, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, Literal, cast

import pyoxigraph as ox

from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.writer import EXTENSION
from aahcrawler.segments import open_segment, segments

_BATCH = 10_000
_BUFFER = 1 << 16

_Seen = tuple[datetime, int, str]
"""When an object was seen, the how-manieth capture that was, and its name."""
_NEVER: _Seen = (datetime.min.replace(tzinfo=UTC), -1, "")


class ReadError(Exception):
    """A folder is no crawl's or one of its segments is damaged; the message says which and what to do."""


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """A web object as its newest capture has it.

    ``url`` is its own address, else that of the page it was found on. ``author`` is a name. ``date`` is ISO 8601 in
    UTC; a date that the application's rules could not read stands as the page has it. Of several values the first
    is given. ``part_of`` and ``iri`` are IRIs.
    """

    url: str
    type: str
    title: str | None
    author: str | None
    date: str | None
    body: str | None
    part_of: str | None
    iri: str


@dataclass(frozen=True, slots=True)
class PageRow:
    """A captured page. ``level`` is the role of its page level, ``level_name`` that level's name.

    ``fetched_at`` is ISO 8601 in UTC, ``capture`` the id of the WARC response record. The rest is as in
    ``CaptureDescription``, None where that had nothing.
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


def object_rows(crawl: Path) -> Iterator[ObjectRow]:
    """Yield each web object of a crawl once, from its newest capture, in the order of these captures.

    A crawl that is running is read as it was when the reading began. Raises ``ReadError``.
    """
    files = _files(crawl)
    newest = _newest(files)
    for path in files:
        with _decompressed(path) as stream:
            for group in _grouped(ox.parse(stream, ox.RdfFormat.N_QUADS, lenient=True)):
                for subject in group.objects():
                    if newest.get(subject, _NEVER)[2] == group.name:
                        del newest[subject]
                        yield group.object_row(subject)


def page_rows(crawl: Path) -> Iterator[PageRow]:
    """Yield each capture of a page, redirect or error answer, in the order of capture; page requisites are left out.

    Raises ``ReadError``.
    """
    for path in _files(crawl):
        with _decompressed(path) as stream:
            for group in _grouped(_parsed(line for line in stream if _is_about_its_graph(line))):
                yield group.page_row()


def statements(crawl: Path) -> Iterator[str]:
    """Yield the lines of a crawl's segments as they are, line break included. Raises ``ReadError``."""
    for path in _files(crawl):
        with _decompressed(path) as stream:
            for line in stream:
                yield line.decode()


@dataclass(frozen=True, slots=True)
class _Graph:
    """What one capture says: values by subject and predicate, in the order of writing."""

    name: str
    said: dict[str, dict[str, list[str]]]

    def objects(self) -> Iterator[str]:
        derived = (subject for subject, values in self.said.items() if v.DERIVED_FROM in values)
        return (subject for subject in derived if not subject.startswith(v.VERSION))

    def first(self, subject: str, predicate: str) -> str | None:
        values = self.said.get(subject, {}).get(predicate)
        return values[0] if values else None

    def object_row(self, subject: str) -> ObjectRow:
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
        )

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
        )


def _files(crawl: Path) -> tuple[Path, ...]:
    folder = crawl / "objects"
    if not folder.is_dir():
        what = "holds no crawl (it has no folder objects)" if crawl.is_dir() else "is not a folder"
        raise ReadError(f"{crawl}: {what}. Name the output folder of a crawl.")
    return segments(folder, EXTENSION)


def _grouped(quads: Iterable[ox.Quad]) -> Iterator[_Graph]:
    """Yield the graphs in order; statements of one graph stand together in a segment."""
    for name, group in groupby(quads, attrgetter("graph_name")):
        said: dict[str, dict[str, list[str]]] = {}
        for subject, predicate, value, _ in group:
            said.setdefault(subject.value, {}).setdefault(predicate.value, []).append(value.value)
        yield _Graph(name.value, said)


def _newest(files: Sequence[Path]) -> dict[str, _Seen]:
    """Return which capture of each object is the newest."""
    newest: dict[str, _Seen] = {}
    order = count()
    for path in files:
        with _decompressed(path) as stream:
            for group in _grouped(_parsed(_provenance(stream))):
                seen = (_time(group.first(group.name, v.GENERATED_AT)), next(order), group.name)
                for subject in group.objects():
                    newest[subject] = max(seen, newest.get(subject, _NEVER))
    return newest


def _provenance(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines about provenance; a few others may slip through."""
    derived, generated = (f" <{predicate}> ".encode() for predicate in (v.DERIVED_FROM, v.GENERATED_AT))
    return (line for line in stream if derived in line or generated in line)


def _is_about_its_graph(line: bytes) -> bool:
    return line.endswith(line[: line.find(b" ")] + b" .\n")


def _parsed(lines: Iterator[bytes]) -> Iterator[ox.Quad]:
    """Parse some of a segment's lines: looking for them first is several times faster than parsing all."""
    while batch := b"".join(islice(lines, _BATCH)):
        yield from ox.parse(batch, ox.RdfFormat.N_QUADS, lenient=True)


def _time(value: str | None) -> datetime:
    moment = datetime.fromisoformat(value) if value else _NEVER[0]
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@contextmanager
def _decompressed(path: Path) -> Iterator[BinaryIO]:
    """Open a segment's text up to its last whole capture; trouble in reading it becomes a ``ReadError``."""
    try:
        with open_segment(path) as file, gzip.GzipFile(fileobj=file) as text:
            yield BufferedReader(cast("RawIOBase", text), _BUFFER)
    except (OSError, EOFError, ValueError, SyntaxError, zlib.error) as error:
        raise ReadError(
            f"{path}: is damaged ({error}). Restore it from a copy, or take it out of the folder."
        ) from error
