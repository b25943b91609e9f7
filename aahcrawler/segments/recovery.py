"""Makes the segments of a writer that died whole again."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.segments.reader import complete_size
from aahcrawler.segments.series import MARK, OPEN, beside, sync_folder, typed


@dataclass(frozen=True, slots=True)
class Recovered:
    """The outcome of recovering a dead writer's segment: ``kept`` bytes stayed, ``cut`` bytes of a torn tail went.

    ``file`` is the final path. A segment of which nothing was left (``kept`` is 0) has been removed.
    """

    file: Path
    kept: int
    cut: int

    def __str__(self) -> str:
        if not self.kept:
            return f"{self.file.name}: removed, nothing in it was complete ({self.cut} bytes)"
        torn = f"a torn end of {self.cut} bytes was cut off" if self.cut else "it was complete"
        return f"{self.file.name}: {torn}, {self.kept} bytes are kept"


def recover(folder: Path, extension: str) -> tuple[Recovered, ...]:
    """Close the segments that a dead writer left open, cutting the torn member off their ends.

    Reads only the bytes after a segment's last checkpoint. Segments whose writer lives are left alone. Raises
    ``SegmentError`` where the folder cannot be written to.
    """
    if not folder.is_dir():
        return ()
    found = []
    for path in sorted(folder.glob(f"*.{extension}{OPEN}")):
        try:
            recovered = _recover(path)
        except OSError as error:
            raise typed(error, path) from error
        if recovered is not None:
            found.append(recovered)
    for stray in folder.glob(f"*.{extension}{OPEN}{MARK}"):
        if not stray.with_name(stray.name.removesuffix(MARK)).exists():
            stray.unlink(missing_ok=True)
    return tuple(found)


def _recover(path: Path) -> Recovered | None:
    final = path.with_name(path.name.removesuffix(OPEN))
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None  # another worker closed or mended it in the meantime
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        size = os.fstat(fd).st_size
        with path.open("rb") as file:
            kept = complete_size(path, file)
        os.ftruncate(fd, kept)
        os.fsync(fd)
        if kept:
            path.rename(final)
        else:
            path.unlink()
        beside(path, MARK).unlink(missing_ok=True)
        sync_folder(path.parent)
    finally:
        os.close(fd)
    return Recovered(final, kept, size - kept)
