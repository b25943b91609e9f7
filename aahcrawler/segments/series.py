"""The names of segments, and their errors."""

import errno
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

OPEN = ".open"
"""The suffix of a segment while it is being written."""
MARK = ".mark"
"""The suffix, after that, of the file with the length of the segment when it was last forced to disk."""
CHECKPOINT = 64 << 20
CHUNK = 1 << 16

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class SegmentError(Exception):
    """Raised where a segment cannot be written or read; the message tells the file and the remedy."""


class DamageError(Exception):
    """Raised for a segment that holds what it should not; the message tells the file and the remedy."""


class DiskFullError(SegmentError):
    """Raised where the disk is full. Nothing written before is lost, and the same write may be tried again."""


@dataclass(frozen=True, slots=True)
class Series:
    """A series of segments: their folder, the crawl they are named after, and their extension.

    A new segment is begun once the last one holds ``limit`` bytes or more. ``checkpoint`` is after how many
    bytes a segment is forced to disk.
    """

    folder: Path
    crawl: str
    extension: str
    limit: int = 1 << 30
    checkpoint: int = CHECKPOINT

    def name(self, opened: datetime, serial: int) -> str:
        """Return the final name of a segment; characters that file names do not bear become ``_``.

        >>> Series(Path("archive"), "my crawl", "warc.gz").name(datetime(2026, 1, 2, tzinfo=UTC), 7)
        'my_crawl-20260102000000-00007.warc.gz'
        """
        return f"{self._prefix}-{opened.astimezone(UTC):%Y%m%d%H%M%S}-{serial:05d}.{self.extension}"

    def next_serial(self) -> int:
        """Return one more than the highest serial number in the folder, finished or not."""
        pattern = re.compile(
            rf"{re.escape(self._prefix)}-\d{{14}}-(\d+)\.{re.escape(self.extension)}(?:{re.escape(OPEN)})?"
        )
        matches = (pattern.fullmatch(path.name) for path in self.folder.iterdir())
        return max((int(match[1]) + 1 for match in matches if match), default=0)

    @property
    def _prefix(self) -> str:
        return re.sub(r"[^\w.-]|^\.", "_", self.crawl, flags=re.ASCII)


def no_link(path: str, flags: int) -> int:
    """Open a file as ``open`` does (its ``opener``), and raise ``OSError`` where the name is a symbolic link.

    Whoever may write to a folder must not have us write elsewhere by a link.
    """
    return os.open(path, flags | os.O_NOFOLLOW, 0o644)


def private(path: str, flags: int) -> int:
    """Open a file as ``no_link`` does, so that its owner alone may read it: it may hold secrets."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o600)
    with suppress(OSError):  # Another one's file, which was let be read.
        os.fchmod(descriptor, 0o600)
    return descriptor


def beside(path: Path, suffix: str) -> Path:
    """Return the path whose name has ``suffix`` appended."""
    return path.with_name(path.name + suffix)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def typed(error: OSError, path: Path) -> SegmentError:
    """Return the error to raise when the operating system refuses to write to ``path``."""
    if error.errno in _FULL:
        return DiskFullError(
            f"{path.parent}: no space is left for {path.name} ({error.strerror}). Make room and go on; "
            "everything written before is complete."
        )
    return SegmentError(f"{path}: cannot be written ({error.strerror or error}). Check the disk and its permissions.")


def append_line(path: Path, line: str) -> int:
    """Add a line to a file and force it to the disk; return the size of the file then, in bytes.

    After a line that was torn a new one begins. Callers take care that only one of them writes.
    """
    with open(path, "ab+", opener=no_link) as file:
        torn = b""
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            torn = b"" if file.read(1) == b"\n" else b"\n"
        file.write(torn + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
        return file.tell()
