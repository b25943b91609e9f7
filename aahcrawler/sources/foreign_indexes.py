"""WARC indexes made by other programs: sorted CDX and CDXJ files, and ZipNum clusters of them.

A ZipNum cluster stores its lines in gzip members of some thousand lines; ``cluster.idx`` lists the first line of each
(https://pywb.readthedocs.io/en/latest/manual/indexing.html#zipnum-sharded-index).
"""

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, NamedTuple

from aahcrawler.archive.surt import surt
from aahcrawler.layout import ARCHIVE, INDEX, WARC
from aahcrawler.replay.capture_lookup import MAX_LINE_LENGTH, Lines, SortedLines
from aahcrawler.sources.cdx_columns import fields_of, legend
from aahcrawler.sources.source import ArchiveFolderError

CDX: Final = (".cdx", ".cdxj")
CLUSTER: Final = ".idx"
PACKED: Final = (".cdx.gz", ".cdxj.gz")
LOCATIONS: Final = ".loc"
"""The ending of the file beside a cluster that says where its parts are, where they are not beside it."""
MAX_BLOCK: Final = 1 << 24
"""Bytes of a block of a cluster, packed and unpacked."""
_SAMPLES: Final = 256
_REMEDY: Final = "sort it by its bytes: LC_ALL=C sort -u"


@dataclass(frozen=True, slots=True)
class ForeignIndex:
    """The lines of a foreign index, converted to the form of our own index, with SURT keys.

    ``named`` are the columns of plain lines, if known. With ``has_urls``, the index's keys are URLs without scheme, as
    in old CDX files, instead of SURT.
    """

    lines: Lines
    named: Sequence[str] = ()
    has_urls: bool = False

    def ascending(self, key: bytes) -> Iterator[bytes]:
        """See ``Lines.ascending``."""
        return self._made(self.lines.ascending(self._asked(key)))

    def descending(self, key: bytes) -> Iterator[bytes]:
        """See ``Lines.descending``."""
        return self._made(self.lines.descending(self._asked(key)))

    def _asked(self, key: bytes) -> bytes:
        host, parenthesis, rest = key.partition(b")")
        if not self.has_urls or not parenthesis:
            return key
        name, colon, port = host.partition(b":")
        return b".".join(reversed(name.split(b","))) + colon + port + rest

    def _made(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        for line in lines:
            fields = dict(fields_of(line.decode("utf-8", "replace"), self.named))
            url, moment = str(fields.get("url", "")), str(fields.pop("timestamp", ""))
            if url and moment and fields.get("filename"):
                key = surt(url) if self.has_urls else line.partition(b" ")[0].decode("utf-8", "replace")
                # Files are looked for in one folder, wherever they were when the index was made.
                fields |= {"filename": PurePosixPath(str(fields["filename"])).name, "length": fields.get("length", 0)}
                yield f"{key} {moment} {json.dumps(fields)}\n".encode()


class _Pointer(NamedTuple):
    """The place of a block of a cluster: file, offset and length."""

    part: str
    offset: int
    length: int


class ClusterLines:
    """The lines of a ZipNum cluster. A block that cannot be read raises ``OSError``."""

    def __init__(self, path: Path) -> None:
        self._index = SortedLines(path)
        self._parts = _locations(path)
        self._block = lru_cache(4)(self._read)

    def ascending(self, key: bytes) -> Iterator[bytes]:
        """See ``Lines.ascending``."""
        # A block is listed by its first line: what is looked for may begin in the one before.
        pointers = chain(islice(self._index.descending(key), 1), self._index.ascending(key))
        for line in pointers:
            yield from (each for each in self._block(_pointer(line)) if each >= key)

    def descending(self, key: bytes) -> Iterator[bytes]:
        """See ``Lines.descending``."""
        for line in self._index.descending(key):
            yield from (each for each in reversed(self._block(_pointer(line))) if each < key)

    def _read(self, pointer: _Pointer) -> Sequence[bytes]:
        path = self._parts.get(pointer.part) or self._parts[""] / pointer.part
        if not path.exists() and path.with_name(f"{path.name}.gz").exists():
            path = path.with_name(f"{path.name}.gz")
        try:
            with path.open("rb") as file:
                file.seek(pointer.offset)
                packed = file.read(min(pointer.length, MAX_BLOCK))
        except FileNotFoundError as error:
            # Of our own indexes, files that are gone were merged into others.
            raise OSError(f"{path}: this part of the cluster is not there") from error
        inflating = zlib.decompressobj(wbits=31)
        try:
            text = inflating.decompress(packed, MAX_BLOCK)
        except zlib.error as error:
            raise OSError(f"{path}: the block at {pointer.offset} is damaged ({error})") from error
        if not inflating.eof:
            raise OSError(f"{path}: the block at {pointer.offset} is cut off, or has more than {MAX_BLOCK} bytes")
        return text.splitlines(keepends=True)


def _pointer(line: bytes) -> _Pointer:
    columns = line.rstrip(b"\n").split(b"\t")
    try:
        return _Pointer(columns[1].decode("utf-8", "replace"), int(columns[2]), int(columns[3]))
    except (IndexError, ValueError) as error:
        raise OSError(f"a line of the cluster's index names no block: {line[:200]!r}") from error


def _locations(cluster: Path) -> dict[str, Path]:
    """Return the paths of a cluster's parts from its ``.loc`` file; the empty name stands for the folder."""
    found = {"": cluster.parent}
    names = cluster.with_suffix(LOCATIONS)
    if names.exists():
        for line in names.read_text("utf-8", "replace").splitlines():
            name, _, places = line.partition("\t")
            local = [place for place in places.split("\t") if place and "://" not in place]
            if name and local:
                found[name] = cluster.parent / local[0]
    return found


def is_index(path: Path) -> bool:
    """Return whether a path has the name of an index."""
    return path.name.lower().endswith((*CDX, CLUSTER, *PACKED))


def indexes_in(folder: Path) -> Sequence[Path]:
    """Return the foreign indexes in a folder's ``indexes``, without our own."""
    if not folder.is_dir():
        return ()
    own = (INDEX, f".{WARC}.cdxj")
    return sorted(
        path for path in folder.iterdir() if is_index(path) and not path.name.endswith(own) and path.stat().st_size
    )


def files_of(index: Path) -> Path:
    """Return the folder of an index's WARC files: its own, or ``archive`` beside it, as pywb has them."""
    beside = index.parent.parent / ARCHIVE
    return beside if beside.is_dir() else index.parent


def open_index(path: Path) -> ForeignIndex:
    """Open a foreign index. Raise ``ArchiveFolderError`` if it cannot be searched."""
    if path.name.lower().endswith(PACKED):
        problem = "is packed as a whole, so that nothing can be looked up in it"
        raise ArchiveFolderError(f"{path}: {problem}; unpack it, or name the cluster.idx of a ZipNum cluster")
    try:
        with path.open("rb") as file:
            first = file.readline(MAX_LINE_LENGTH).decode("utf-8", "replace")
            if not _is_sorted(file):
                raise ArchiveFolderError(f"{path}: is not sorted; {_REMEDY} {path.name}")
        lines: Lines = ClusterLines(path) if path.suffix.lower() == CLUSTER else SortedLines(path)
        named = legend(first)
        line = next((each for each in lines.ascending(b"") if legend(each.decode("utf-8", "replace")) is None), b"")
        index = ForeignIndex(lines, named or (), _has_urls(line, named or ()))
        if line and not any(index.ascending(b"")):
            raise ArchiveFolderError(f"{path}: its lines name no captures in files; make it anew with cdxj-indexer")
    except OSError as error:
        raise ArchiveFolderError(f"{path}: cannot be read ({error})") from error
    return index


def _has_urls(line: bytes, named: Sequence[str]) -> bool:
    key = line.partition(b" ")[0]
    return b")" not in key and bool(fields_of(line.decode("utf-8", "replace"), named).get("url"))


def _is_sorted(file: BinaryIO) -> bool:
    """Return whether a sample of lines from all over a file is in byte order."""
    size = file.seek(0, 2)
    last = b""
    for place in range(0, size, max(1, size // _SAMPLES)):
        file.seek(place)
        if place:
            file.readline(MAX_LINE_LENGTH)
        line = file.readline(MAX_LINE_LENGTH)
        if line and re.match(rb"\s*CDX ", line) is None:
            if line < last:
                return False
            last = line
    return True
