"""The vectors of web objects' texts, by which those are found that are about the same, in whichever words."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aahcrawler.derived_index import IndexFile
from aahcrawler.layout import INDEXES, VECTORS

Vectors = NDArray[np.float32]
"""Vectors of length 1, one a row."""
_AT_ONCE: Final = 4_096
"""Vectors that are read at once: 12 MiB where each has 512 dimensions."""


class KeptVector(NamedTuple):
    """The vector of an object's text, in half precision.

    ``thing`` is the number of the object among all that is searched, ``text`` a digest of the text and of what made the
    vector of it.
    """

    thing: int
    text: bytes
    vector: bytes


class Near(NamedTuple):
    """An object that is about the same as something: its number, and the cosine of both vectors."""

    thing: int
    likeness: float


class TextVectors(IndexFile):
    """The vectors of the objects in a crawl's folder, which the step ``related-texts`` of an enrichment makes.

    They can be made anew at any time, so a takedown deletes the file with the other indexes. Vectors of one file have
    the same number of dimensions. Without a folder they are kept as long as this is open. Methods raise
    ``sqlite3.Error``.
    """

    schema: ClassVar = ("CREATE TABLE vector (thing INTEGER PRIMARY KEY, text BLOB NOT NULL, vector BLOB NOT NULL)",)
    version: ClassVar = 1

    def __init__(self, crawl: Path | None) -> None:
        super().__init__(None if crawl is None else crawl / INDEXES / VECTORS)

    def texts(self) -> dict[int, bytes]:
        """Return the digests of the texts whose vectors are kept, by the numbers of their objects."""
        return dict(map(tuple, self.base.execute("SELECT thing, text FROM vector")))

    def keep(self, vectors: Iterable[KeptVector]) -> None:
        """Keep vectors, each in place of the one that its object had."""
        self.base.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", vectors)

    def forget(self, things: Iterable[int]) -> None:
        """Delete the vectors of objects."""
        self.base.executemany("DELETE FROM vector WHERE thing = ?", ((thing,) for thing in things))


def vectors_of(base: sqlite3.Connection, things: Sequence[int]) -> dict[int, Vectors]:
    """Return the vectors of objects by their numbers, of those that have one."""
    wanted = "SELECT thing, vector FROM vector WHERE thing IN (SELECT value FROM json_each(?))"
    rows = map(tuple, base.execute(wanted, (json.dumps(list(things)),)))
    return {thing: np.frombuffer(vector, np.float16).astype(np.float32) for thing, vector in rows}


def nearest(base: sqlite3.Connection, vector: Vectors, most: int, least: float) -> list[Near]:
    """Return the objects whose vectors have the greatest cosine with one, ``least`` or more; equal ones by number.

    All are compared: 100,000 of 512 dimensions take half a second of processor time.
    """
    best: list[Near] = []
    for numbers, vectors in _batches(base):
        likenesses = vectors @ vector
        places = np.flatnonzero(likenesses >= least)
        best += [Near(numbers[place], float(likenesses[place])) for place in places]
        best = sorted(best, key=lambda each: (-each.likeness, each.thing))[:most]
    return best


def _batches(base: sqlite3.Connection) -> Iterator[tuple[list[int], Vectors]]:
    rows = base.execute("SELECT thing, vector FROM vector ORDER BY thing")
    while batch := rows.fetchmany(_AT_ONCE):
        written = np.frombuffer(b"".join(row[1] for row in batch), np.float16)
        yield [row[0] for row in batch], written.reshape(len(batch), -1).astype(np.float32)
