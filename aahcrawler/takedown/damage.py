"""Finds the places of a file that are damaged, cut where members begin, with what can still be unpacked of each."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict

from aahcrawler.archive.gzip_members import Member, MemberError, magic_places, members, salvaged
from aahcrawler.archive.scanning import LONGEST_HEADER

_PIECE = 1 << 20


class Place(BaseModel):
    """Bytes of a file of a crawl, from ``begin`` to before ``end``; ``digest`` is the SHA-256 of them.

    ``file`` is its path within the crawl's folder.
    """

    model_config = ConfigDict(frozen=True)

    file: str
    begin: int
    end: int
    digest: str

    def __str__(self) -> str:
        return f"{self.file}, bytes {self.begin} to {self.end}"


@dataclass(frozen=True, slots=True)
class Damaged:
    """A damaged place, and what could be unpacked from its beginning on; nobody has checked that ``text``."""

    place: Place
    text: bytes


@dataclass(frozen=True, slots=True)
class Gap:
    """The bytes of a file between two whole members, or at its ends, that belong to no whole member."""

    path: Path
    begin: int
    end: int


def walk(path: Path, beginning: bytes, take: Callable[[Member], None]) -> Iterator[Gap]:
    """Give each member of a file to ``take``, and yield the gaps between whole ones, each before what follows.

    ``take`` raises ``MemberError`` for a member that is not whole. Raise ``OSError``.
    """
    with path.open("rb") as file:
        begin: int | None = None
        for member in members(file, 0, beginning):
            if begin is not None:
                yield Gap(path, begin, member.offset)
                begin = None
            try:
                take(member)
            except MemberError:
                begin = member.offset
        if begin is not None:
            yield Gap(path, begin, file.seek(0, 2))


def damaged(crawl: Path, gap: Gap, beginning: bytes, starts: Iterable[int] = ()) -> Iterator[Damaged]:
    """Yield the members in a gap: they begin where ``starts`` say so, or where one can be unpacked."""
    with gap.path.open("rb") as file:
        known = {gap.begin, *(start for start in starts if gap.begin < start < gap.end)}
        for start in magic_places(file, gap.begin + 1):
            if start >= gap.end:
                break
            if salvaged(file, start, gap.end, len(beginning)).startswith(beginning):
                known.add(start)
        for begin, end in pairwise((*sorted(known), gap.end)):
            place = Place(
                file=str(gap.path.relative_to(crawl)), begin=begin, end=end, digest=digest_of(file, begin, end)
            )
            yield Damaged(place, salvaged(file, begin, end, LONGEST_HEADER))


def digest_of(file: BinaryIO, begin: int, end: int) -> str:
    """Return the SHA-256 of bytes of a file, of as many as there are."""
    digest = hashlib.sha256()
    file.seek(begin)
    while begin < end and (piece := file.read(min(_PIECE, end - begin))):
        digest.update(piece)
        begin += len(piece)
    return digest.hexdigest()
