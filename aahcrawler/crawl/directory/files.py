"""Files of a folder that are replaced whole, watched for changes, or locked.

The lock of a folder is for one process alone, or for several, one of which writes the files there is one of.
"""

import fcntl
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from aahcrawler.layout import KEEPER, LOCK
from aahcrawler.segments import no_link

LOOK_EVERY = 1.5
"""Seconds between two looks at files."""

Stamps = Mapping[Path, tuple[int, int]]
"""When each file was changed last (nanoseconds), and its size."""


def write_whole(path: Path, content: str | bytes, opener: Callable[[str, int], int] = no_link) -> None:
    """Replace a file so that a reader, or a restart after a crash, sees the old content or the new, never half.

    Text is written in UTF-8. With ``private`` as ``opener`` nobody else may read it.
    """
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb", opener=opener) as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def stamps(files: Iterable[Path]) -> Stamps:
    """Return the stamps of files; those that are not there are left out."""
    found = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        found[file] = (status.st_mtime_ns, status.st_size)
    return found


class FolderLock:
    """Locks a folder for this process, alone or with others; a process that ends, however it does, releases it.

    States: outside -> alone -> together, or outside -> together. While anybody is inside, nobody else can be alone. At
    most one process keeps the folder, inside or outside.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock: int | None = None
        self._keeper: int | None = None

    @property
    def keeps(self) -> bool:
        """Whether this process writes what the folder has one of."""
        return self._keeper is not None

    def take_exclusive(self) -> bool:
        """Take the folder for this process alone; False where somebody is inside.

        Raise ``OSError`` where the folder cannot be written to.
        """
        self._lock = self._lock if self._lock is not None else _locked(self._root / LOCK, fcntl.LOCK_EX)
        return self._lock is not None

    def take_shared(self) -> bool:
        """Enter beside others, or let others in; False while somebody is alone inside."""
        if self._lock is None:
            self._lock = _locked(self._root / LOCK, fcntl.LOCK_SH)
        else:
            fcntl.flock(self._lock, fcntl.LOCK_SH)
        return self._lock is not None

    def unlock(self) -> None:
        """Leave the inside to others, and stay the one who keeps the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def become_keeper(self) -> bool:
        """Become the one who keeps the folder, or stay it; False while another process is."""
        if self._keeper is None:
            self._keeper = _locked(self._root / KEEPER, fcntl.LOCK_EX)
        return self._keeper is not None

    def release(self) -> None:
        """Go outside. Calling it twice does no harm."""
        for descriptor in filter(lambda held: held is not None, (self._keeper, self._lock)):
            os.close(descriptor)  # type: ignore[arg-type]
        self._keeper = self._lock = None


def _locked(path: Path, how: int) -> int | None:
    """Open and lock a file without waiting; None where another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
