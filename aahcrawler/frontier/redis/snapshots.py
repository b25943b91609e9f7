"""Snapshot files with the whole state of a crawl's frontier. A file that is not whole is rejected.

The first line is JSON and describes the file. Compressed parts follow, each preceded by its length in four bytes; a
part of length 0 ends them, and the SHA-256 of all bytes before it ends the file. A part is a list of entries, each a
name with values.
"""

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from aahcrawler.frontier.control import SnapshotError

VERSION = 1
ENTRIES = 500
"""Entries in a part, which is restored in one step."""

_LENGTH = struct.Struct(">I")
_DIGEST_BYTES = 32
_MAX_HEAD_LENGTH = 4096
_MAX_PART = 64 << 20

Entry = tuple[bytes, ...]
"""``u``: a URL's fingerprint, its record, and when and why it is blocked. ``q``: a queue's id and its record. Other
names are those of hashes, followed by a field and its value. The last value of each entry is the number of the
partition.
"""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a snapshot: its crawl, and the format of its frontier."""

    crawl: str
    format: int
    partitions: int = 1
    snapshot: int = VERSION


def write(path: Path, head: Head, entries: Iterable[Entry]) -> int:
    """Write a snapshot, either whole or not at all; return how many URLs it holds."""
    urls = 0
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("wb") as file:
            digest = hashlib.sha256()

            def put(data: bytes) -> None:
                digest.update(data)
                file.write(data)

            put(json.dumps(asdict(head)).encode() + b"\n")
            for part in _parts(entries):
                urls += sum(entry[0] == b"u" for entry in part)
                packed = zlib.compress(b"".join(map(_pack, part)))
                put(_LENGTH.pack(len(packed)) + packed)
            put(_LENGTH.pack(0))
            file.write(digest.digest())
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return urls


def read_snapshot(path: Path, format_: int, partitions: int) -> Iterator[tuple[Entry, ...]]:
    """Yield the parts of a snapshot.

    Raises ``SnapshotError`` before the first one unless the file is whole and fits.
    """
    with path.open("rb") as file:
        head = _head(path, file)
        if (head.snapshot, head.format) != (VERSION, format_):
            raise SnapshotError(
                f"{path}: is a snapshot in format {head.snapshot}.{head.format}, this version reads "
                f"{VERSION}.{format_}; restore it with the version that wrote it"
            )
        if head.partitions != partitions:
            raise SnapshotError(
                f"{path}: was taken of {head.partitions} partitions; restore it on a server that has so many, not "
                f"{partitions}"
            )
        begin = file.tell()
        _check(path, file)
        file.seek(begin)
        while length := _LENGTH.unpack(file.read(_LENGTH.size))[0]:
            yield tuple(_unpack(zlib.decompress(file.read(length))))


def _head(path: Path, file: BinaryIO) -> Head:
    try:
        head = json.loads(file.readline(_MAX_HEAD_LENGTH))
        return Head(str(head["crawl"]), *(int(head[name]) for name in ("format", "partitions", "snapshot")))
    except (ValueError, KeyError, TypeError) as error:
        raise SnapshotError(f"{path}: is no snapshot of a frontier") from error


def _check(path: Path, file: BinaryIO) -> None:
    """Verify the checksum of the file by reading it to the end."""
    size = path.stat().st_size
    file.seek(0)
    digest = hashlib.sha256()
    left = size - _DIGEST_BYTES
    while left > 0 and (data := file.read(min(left, 1 << 20))):
        digest.update(data)
        left -= len(data)
    if left < 0 or file.read() != digest.digest():
        raise SnapshotError(f"{path}: is torn or damaged; take another snapshot, or one that was taken before")


def _parts(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    part: list[Entry] = []
    size = 0
    for entry in entries:
        part.append(entry)
        size += sum(map(len, entry))
        if len(part) == ENTRIES or size > _MAX_PART // 64:
            yield part
            part, size = [], 0
    if part:
        yield part


def _pack(entry: Entry) -> bytes:
    return b"".join((bytes((len(entry),)), *(_LENGTH.pack(len(value)) + value for value in entry)))


def _unpack(part: bytes) -> Iterator[Entry]:
    at = 0
    while at < len(part):
        values = []
        number, at = part[at], at + 1
        for _ in range(number):
            (length,) = _LENGTH.unpack_from(part, at)
            at += _LENGTH.size
            values.append(part[at : at + length])
            at += length
        yield tuple(values)
