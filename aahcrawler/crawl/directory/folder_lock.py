"""Lock a crawl's folder: for one process alone, or for several, one of which writes the files there is one of."""

import fcntl
import os
from pathlib import Path

from aahcrawler.layout import KEEPER, LOCK


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
