"""Load the new part of a crawl's segments into a store. May be repeated any number of times, while the crawl runs.

The store itself records how many bytes of each segment were loaded, and only after the statements up to there were
added. After a kill in between, a part is loaded a second time, which changes nothing, because statements are a set
without blank nodes. People's decisions are few and may be withdrawn: those in force are loaded again whenever they have
changed.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Protocol

from aahcrawler.annotations import AnnotationIndex
from aahcrawler.annotations.annotation import annotated_capture
from aahcrawler.annotations.keep_decisions import decision_statements
from aahcrawler.annotations.web_annotations import AnnotationFileError
from aahcrawler.layout import ANNOTATIONS, CHANGE_LOG, CHANGES, DECISIONS, NQUADS, OBJECTS
from aahcrawler.objects.nquads import quads
from aahcrawler.objects.vocabulary import AAH, RDF_TYPE, VISITS, VISITS_TYPE
from aahcrawler.objects.writer import Readings, first_segments, graph_of, is_later
from aahcrawler.revisits.change_feed import visit_iri, visit_statements
from aahcrawler.revisits.change_log import Visit, visits
from aahcrawler.segments import OPEN, DamageError, Members, identity, open_segment, segments
from aahcrawler.tombstones import TakenDown

SEGMENT = "urn:aahcrawler:segment:"
"""The prefix of a segment's IRI in the store's records; its identity follows."""
LOADED_BYTES = f"{AAH}loadedBytes"
"""The property that says up to which byte a segment was loaded."""
AT_ONCE = 1_000
"""How many visits are stored in one graph."""


class LoadError(Exception):
    """Raised when a crawl cannot be loaded; the message gives the fault, the place and the remedy."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many segments and statements a run has loaded; some statements may have been there already."""

    segments: int
    statements: int

    def __str__(self) -> str:
        if not self.segments:
            return "nothing new"
        return f"{self.statements} statements from {self.segments} segment{'s' * (self.segments > 1)}"


class Destination(Protocol):
    """A store into which statements are loaded."""

    def loaded(self) -> Mapping[str, int]:
        """Return up to which byte each segment was loaded, by its identity."""

    def add(self, segment: str, members: Members) -> None:
        """Add the statements of one or more further members, then record that ``segment`` is loaded up to their end.

        When this returns, both survive the end of this process. Raises ``LoadError`` if the store rejects them,
        ``SyntaxError`` if the text is no N-Quads, and the errors of reading ``members``.
        """

    def replace(self, segment: str, members: Members) -> None:
        """Replace the graph of a capture by the next member, a later reading or annotations.

        Gives the same guarantees, and raises the same errors, as ``add``.
        """

    def put(self, segment: str, text: bytes, mark: int) -> None:
        """Replace the content of a graph by statements, then record ``mark`` for ``segment``.

        Gives the same guarantees, and raises the same errors, as ``add``.
        """


def load(crawl: Path, destination: Destination) -> Loaded:
    """Load the statements written since the last time, up to the last whole capture of segments still open.

    For captures that were read again, the latest reading is loaded and replaces earlier ones: despite interruptions and
    repetitions in any order, the graph of a capture has one reading. Raises ``LoadError``; everything before the fault
    is then loaded and recorded.

    Annotations come after that: the current ones of each capture and annotator replace earlier ones. Then come the
    visits of the change log, as its whole content describes them now, and people's decisions in force; those on pages
    that were taken down are left out.
    """
    folder = objects_folder(crawl)
    known = destination.loaded()
    with _explained(folder):
        readings = Readings(folder)
    paths = (*first_segments(folder), *readings.ends)
    counts = [count for path in paths if (count := _load(path, known, destination, readings)) is not None]
    counts += _load_annotations(crawl, known, destination)
    counts += _load_visits(crawl, known, destination)
    counts += _load_decisions(crawl, known, destination)
    return Loaded(len(counts), sum(counts))


def objects_folder(crawl: Path) -> Path:
    """Return the folder of a crawl's segments. Raises ``LoadError`` if there is none."""
    folder = crawl / OBJECTS
    if not folder.is_dir():
        what = "holds no crawl (it has no folder objects)" if crawl.is_dir() else "is not a folder"
        raise LoadError(f"{crawl}: {what}. Name the output folder of a crawl.")
    return folder


def _load(path: Path, known: Mapping[str, int], destination: Destination, readings: Readings) -> int | None:
    """Load the new part of a segment; return the number of statements, None if nothing is new."""
    try:
        with _explained(path), open_segment(path) as file:
            name = identity(path, file)
            members = Members(file, known.get(name, 0), partial(readings.is_latest, path) if readings else None)
            members.size = readings.ends.get(path, members.size)
            if members.end >= members.size:
                return None
            bring = destination.replace if is_later(path) else destination.add
            while members.end < members.size:
                bring(name, members)
            return members.statements
    except FileNotFoundError:
        return None  # its writer had died before its first capture was whole, and another worker removed it


def _load_annotations(crawl: Path, known: Mapping[str, int], destination: Destination) -> Iterator[int]:
    """Load the new part of each segment of annotations, up to where all is settled; yield counts of statements."""
    paths = segments(crawl / ANNOTATIONS, NQUADS)
    if not paths:
        return
    with _explained(crawl / ANNOTATIONS), AnnotationIndex(crawl) as index:
        index.catch_up()
        for path in paths:
            source = f"{ANNOTATIONS}/{path.name.removesuffix(OPEN)}"
            with open_segment(path) as file:
                name = identity(path, file)
                members = Members(file, known.get(name, 0), partial(_counts, index, source))
                members.size = index.settled(source)
                if members.end < members.size:
                    while members.end < members.size:
                        destination.replace(name, members)
                    yield members.statements


def _counts(index: AnnotationIndex, source: str, begin: int, text: bytes) -> bool:
    """Return whether annotations are current, or mark the end of a run, which removes those of earlier runs."""
    return not annotated_capture(graph_of(text)) or index.is_shown(source, begin)


def _load_decisions(crawl: Path, known: Mapping[str, int], destination: Destination) -> Iterator[int]:
    """Load the decisions in force if the store has others; yield the number of statements.

    Their mark is not a number of bytes but a digest of their content, which a takedown changes without changing the
    file.
    """
    try:
        with _explained(crawl / DECISIONS):
            text = decision_statements(crawl)
    except AnnotationFileError as error:
        raise LoadError(str(error)) from error
    if not text:
        return
    name, mark = f"{DECISIONS}:{graph_of(text)}", _digest(text)
    if known.get(name) != mark:
        destination.put(name, text, mark)
        yield text.count(b"\n")


def _load_visits(crawl: Path, known: Mapping[str, int], destination: Destination) -> Iterator[int]:
    """Load the visits of the log that the store does not describe in the same way; yield the numbers of statements.

    ``AT_ONCE`` of them are a graph, in the order of time, named after the first visit of the folder. Later entries of
    the log may change what it says about a visit, so graphs are identified by digests of their content.
    """
    if not segments(crawl / CHANGES, CHANGE_LOG):
        return
    with _explained(crawl / CHANGES):
        taken, name, number = TakenDown.of(crawl), "", 0
        told = visits(crawl)
        while batch := list(islice(told, AT_ONCE)):
            name = name or VISITS + visit_iri(batch[0].url, batch[0].at).removeprefix("urn:uuid:")
            kept = (each for each in batch if not taken.covers(each.url))
            yield from _put_visits(f"{name}:{number}", kept, known, destination)
            number += 1
        while f"{CHANGES}:{name}:{number}" in known:
            yield from _put_visits(f"{name}:{number}", (), known, destination)
            number += 1


def _put_visits(graph: str, kept: Iterable[Visit], known: Mapping[str, int], destination: Destination) -> Iterator[int]:
    text = quads([f"<{graph}> <{RDF_TYPE}> <{VISITS_TYPE}>"], f"<{graph}>")
    text += b"".join(visit_statements(each, graph) for each in kept)
    segment, mark = f"{CHANGES}:{graph}", _digest(text)
    if known.get(segment) != mark:
        destination.put(segment, text, mark)
        yield text.count(b"\n")


def _digest(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=6).digest())


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Raise errors in reading as a ``LoadError``."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, sqlite3.Error) as error:
        raise LoadError(
            f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}). Check the disk and its permissions."
        ) from error
    except MemoryError as error:
        raise LoadError(f"{path}: has a line too long to be read. Shorten it with aah archive repair.") from error
    except (DamageError, SyntaxError) as error:
        raise LoadError(
            f"{path}: is damaged ({error}). Restore it from a copy, or take it out of the folder."
        ) from error
