"""Readings of captures: what a capture was found to hold, by which reader, how, and which reading is the latest.

The first reading of a capture is the graph that is named like the capture. A later one has a graph of its own, in a
segment that holds later readings alone, and supersedes those before it. So nothing that was written is ever changed,
and whoever reads a crawl's objects asks ``Readings`` what its captures hold by now.
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
    """The ways in which a capture comes to be read."""

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
    """Return the capture that a graph is a reading of; records of other programs may have ids of other kinds.

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
    """Return the name of the graph that the statements of one reading stand in, empty where there are none."""
    begin = text.rfind(b" <")
    return text[begin + 2 : text.rfind(b"> .")].decode("utf-8", "replace") if begin >= 0 else ""


def renamed(text: bytes) -> bytes:
    """Return the statements of a later reading in the graph that is named like its capture."""
    graph = graph_of(text)
    return text.replace(f" <{graph}> .\n".encode(), f" <{capture_of(graph)}> .\n".encode())


@dataclass(frozen=True, slots=True)
class _Place:
    """A later reading in its segment."""

    read_at: datetime
    path: Path
    begin: int


class Readings:
    """The latest readings of those captures of a crawl that were read more than once.

    They are as they were when this object was made: what a running crawl appends since then is not among them. Memory
    use grows with the number of captures that were read again.
    """

    def __init__(self, folder: Path) -> None:
        """Find them in a folder of segments. Raises ``OSError``, and ``DamageError`` for a damaged segment."""
        self._latest: dict[str, _Place] = {}
        self._ends: dict[Path, int] = {}
        for path in segments(folder, READINGS):
            with suppress(FileNotFoundError):  # Its writer had died before its first reading was whole.
                self._take(path)

    @property
    def ends(self) -> Mapping[Path, int]:
        """Up to which byte the segments of later readings were looked at."""
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
        """Say whether the statements at a byte of a segment are a capture's latest reading."""
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
    """Return the segments of a folder that hold the first readings of captures, in the order of their beginning."""
    return tuple(path for path in segments(folder, NQUADS) if not is_later(path))


def is_later(path: Path) -> bool:
    """Say whether a segment holds later readings alone."""
    return path.name.removesuffix(OPEN).endswith(f".{READINGS}")


def _read_at(text: bytes) -> datetime:
    found = _READ_AT.match(text)
    if found is None:
        raise DamageError("a later reading does not begin with its time")
    return datetime.fromisoformat(found[1].decode())
