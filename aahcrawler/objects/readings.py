"""Readings of captures: what was found in a capture, by which reader and method, and which reading is the latest.

The first reading of a capture is the graph that is named like the capture. A later one has a graph of its own, in a
segment that holds later readings alone, and supersedes those before it. So nothing written is ever changed, and readers
of a crawl's objects ask ``Readings`` for the latest contents of a capture.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from aahcrawler.derived_index import opened_segment
from aahcrawler.layout import NQUADS, READINGS
from aahcrawler.objects.vocabulary import GENERATED_AT, READING
from aahcrawler.segments import OPEN, DamageError, Members, open_segment, segments

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
