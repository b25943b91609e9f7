"""Read the archive files in a WACZ package, a ZIP file (WACZ 1.1.1), in place, without unpacking them to disk."""

import gzip
import io
import json
import os
import shutil
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, Final, cast
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from aahcrawler.layout import NQUADS

ZIP: Final = b"PK\x03\x04"
_DATA: Final = "archive/"
_ANNOTATIONS: Final = "annotations/"
_INDEXES: Final = "indexes/"
_PACKAGE: Final = "datapackage.json"
_MAX_PACKAGE_LENGTH: Final = 64 << 20
_MAX_LINE_LENGTH: Final = 1 << 20
_MAX_INDEX: Final = 4 << 30
_MAX_TOLD: Final = 100
_LOCAL_HEADER: Final = 30
_LARGE: Final = 256 << 20
_MAX_TIMES: Final = 200
"""An archive file of more bytes that is this many times as long as its compressed bytes is meant to fill disks.

WARC files are compressed to about a fifth; a package that has them in gzip members leaves them as they are.
"""
_SPARE: Final = 64 << 20
_PIECE: Final = 1 << 20
_ENCRYPTED: Final = 1

Tell = Callable[[str, str], object]
"""Called with the name of a file in a package, and what is wrong with it."""


class Window(io.RawIOBase):
    """A range of a file, as a file."""

    def __init__(self, file: BinaryIO, begin: int, size: int) -> None:
        """Open ``size`` bytes of a file from ``begin`` on; nobody else may move the file's position meanwhile."""
        self._file, self._begin, self._size, self._at = file, begin, size, 0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that its position can be changed."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to a position, and return it."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer from the current position on, and return how many bytes were read."""
        with memoryview(buffer) as view:
            self._file.seek(self._begin + self._at)
            piece = self._file.read(max(0, min(len(view), self._size - self._at)))
            view[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


@dataclass(slots=True)
class PackedArchive:
    """An archive file in a package: its name, its bytes as a file, and the offsets of records found in it, in order."""

    name: str
    file: BinaryIO
    size: int
    offsets: "array[int]" = field(default_factory=lambda: array("Q"))


class WaczPackage:
    """The archive files of a package. Faults are reported, and everything else is read.

    Raises ``BadZipFile`` if it is not a readable ZIP file, for example if it is cut off.
    """

    def __init__(self, file: BinaryIO, spool: Path, tell: Tell) -> None:
        self._file, self._spool, self._tell = file, spool, tell
        self._zip = ZipFile(file)
        self._offsets: dict[str, array[int]] = {}

    def archives(self) -> Iterator[PackedArchive]:
        """Yield the archive files, each open until the next one is requested. Raises ``OSError``."""
        for packed in self._in(_DATA):
            self._offsets[packed.name.removeprefix(_DATA)] = packed.offsets
            yield packed

    def annotations(self) -> Iterator[PackedArchive]:
        """Yield the files of annotations, as N-Quads in gzip members; otherwise as ``archives``."""
        yield from (packed for packed in self._in(_ANNOTATIONS) if packed.name.endswith(f".{NQUADS}"))

    def _in(self, folder: str) -> Iterator[PackedArchive]:
        seen: set[int] = set()
        for info in self._zip.infolist():
            if info.is_dir() or not self._is_in(folder, info):
                continue
            if info.header_offset in seen:
                self._tell(info.filename, "its bytes are those of another file of the package")
                continue
            seen.add(info.header_offset)
            packed = self._opened(info)
            if packed is None:
                continue
            with closing(packed.file):
                yield packed

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 digests that the package states for its files, in hexadecimal digits, by their names."""
        try:
            with self._zip.open(_PACKAGE) as file:
                said = json.loads(file.read(_MAX_PACKAGE_LENGTH))
            claimed = {str(each["path"]): str(each.get("hash", "")) for each in said["resources"]}
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError, *_UNREADABLE) as error:
            self._tell(_PACKAGE, f"it cannot be read ({type(error).__name__}), so no digest can be compared")
            return {}
        for name in claimed.keys() - set(self._zip.namelist()):
            self._tell(name, f"{_PACKAGE} names it, and it is not there")
        pairs = ((name, label.partition(":")) for name, label in claimed.items())
        return {name: digest.lower() for name, (algorithm, _, digest) in pairs if algorithm.lower() == "sha256"}

    def check_indexes(self) -> None:
        """Report the lines of the package's indexes that lead to no record.

        Call this after reading all archive files.
        """
        for info in self._zip.infolist():
            if not info.filename.startswith(_INDEXES) or info.is_dir() or info.filename.endswith(".idx"):
                continue
            wrong = 0
            try:
                for line in self._lines(info):
                    place = _place(line)
                    if place is None or self._has_record(*place):
                        continue
                    wrong += 1
                    if wrong <= _MAX_TOLD:
                        self._tell(info.filename, f"a line leads to byte {place[1]} of {place[0]}, where no record is")
            except _UNREADABLE as error:
                self._tell(info.filename, f"it cannot be read to its end ({error})")
            if wrong > _MAX_TOLD:
                self._tell(info.filename, f"{wrong} lines lead to places where no record is")

    def _is_in(self, folder: str, info: ZipInfo) -> bool:
        name = info.filename
        parts = name.replace("\\", "/").split("/")
        if ".." in parts or name.startswith(("/", "\\")):
            if folder == _DATA:  # It is told once.
                self._tell(name, "its name leads out of the package: it is passed over")
            return False
        return name.startswith(folder)

    def _opened(self, info: ZipInfo) -> PackedArchive | None:
        if info.flag_bits & _ENCRYPTED:
            self._tell(info.filename, "it is encrypted")
            return None
        if info.compress_type == ZIP_STORED:
            begin = self._data_of(info)
            if begin is not None:
                window = io.BufferedReader(Window(self._file, begin, info.file_size))
                return PackedArchive(info.filename, window, info.file_size)
            self._tell(info.filename, "its place in the package cannot be found")
            return None
        is_bomb = info.file_size > _LARGE and info.file_size > _MAX_TIMES * info.compress_size
        if is_bomb or info.file_size + _SPARE > shutil.disk_usage(self._spool).free:
            self._tell(info.filename, f"its {info.compress_size} bytes become {info.file_size}: it is passed over")
            return None
        return self._unpacked(info)

    def _unpacked(self, info: ZipInfo) -> PackedArchive:
        copy = cast("BinaryIO", TemporaryFile(dir=self._spool))  # noqa: SIM115 - whoever takes it closes it
        try:
            with self._zip.open(info) as packed:
                while piece := packed.read(_PIECE):
                    copy.write(piece)
        except _UNREADABLE as error:
            self._tell(info.filename, f"it is damaged ({error})")
        except BaseException:
            copy.close()
            raise
        return PackedArchive(info.filename, copy, copy.tell())

    def _data_of(self, info: ZipInfo) -> int | None:
        """Return the offset in the package of an uncompressed file's bytes; None for a compressed file."""
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or not header.startswith(ZIP):
            return None
        name, extra = struct.unpack("<HH", header[26:30])
        return info.header_offset + _LOCAL_HEADER + int(name) + int(extra)

    def _lines(self, info: ZipInfo) -> Iterator[bytes]:
        with self._zip.open(info) as packed:
            text = gzip.GzipFile(fileobj=packed) if info.filename.endswith(".gz") else packed
            left = _MAX_INDEX
            while left > 0 and (line := cast("IO[bytes]", text).readline(_MAX_LINE_LENGTH)):
                left -= len(line)
                yield line

    def _has_record(self, name: str, offset: int) -> bool:
        offsets = self._offsets.get(name)
        if offsets is None:
            return False
        at = bisect_left(offsets, offset)
        return at < len(offsets) and offsets[at] == offset


_UNREADABLE: Final = (OSError, EOFError, BadZipFile, zlib.error, NotImplementedError, RuntimeError)


def _place(line: bytes) -> tuple[str, int] | None:
    """Return the file and offset in an index line; None if it cannot be read."""
    with suppress(ValueError, KeyError, IndexError, TypeError, RecursionError):
        said = json.loads(line.split(b" ", 2)[2])
        return str(said["filename"]).removeprefix(_DATA), int(said["offset"])
    return None
