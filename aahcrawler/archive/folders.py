"""Find the WARC files, the index and the lock of a crawl, given a crawl's folder or any other folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock

from aahcrawler.archive.records import page_of_resource
from aahcrawler.layout import ARCHIVE, DEFINITION, FRONTIER, INDEXES, LOCK, WARC
from aahcrawler.lending import take_back, try_acquire
from aahcrawler.segments import DamageError, segments
from aahcrawler.tombstones import TakenDown
from aahcrawler.urls import canonicalize


class ArchiveError(Exception):
    """Raised when nothing can be done with an archive; the message gives the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class ArchiveFolder:
    """A folder ``files`` with WARC files, and the folder ``indexes`` with their indexes.

    ``crawl`` is the folder of their crawl; None for files that belong to no crawl.
    """

    files: Path
    indexes: Path
    crawl: Path | None

    @classmethod
    def at(cls, path: Path) -> "ArchiveFolder":
        """Find the archive at a path: a crawl's folder, its folder of WARC files, or any folder with WARC files.

        If the files belong to no crawl, their index is in the same folder. Raises ``ArchiveError`` if there are no WARC
        files.
        """
        found = cls.of(path)
        if not segments(found.files, WARC):
            raise ArchiveError(f"{found.files}: holds no *.{WARC} files; name a crawl's folder, or one that does")
        return found

    @classmethod
    def of(cls, path: Path) -> "ArchiveFolder":
        """Find the archive at a path as ``at`` does, but do not require WARC files."""
        path = path.absolute() if path == Path() else path
        if (path / ARCHIVE).is_dir():
            return cls(path / ARCHIVE, path / INDEXES, path)
        if path.name == ARCHIVE and (path.parent / DEFINITION).exists():
            return cls(path, path.parent / INDEXES, path.parent)
        return cls(path, path, None)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder against crawls within the context; raise ``ArchiveError`` if one is running in it."""
        if self.crawl is None:
            yield
            return
        lock = FileLock(self.crawl / LOCK, timeout=0)
        if not take_back(self.crawl / FRONTIER, partial(try_acquire, lock)):
            raise ArchiveError(f"{self.crawl}: a crawl is running in this folder; stop it or wait for it")
        try:
            yield
        finally:
            lock.release()


def is_referred(path: Path) -> bool:
    """Return whether a WARC file of an archive is a link to a file of others (a referred file)."""
    return path.is_symlink()


def hidden_in(path: Path) -> Callable[[str], bool]:
    """Return a test of whether a URL in a WARC file was taken down although its records are still there.

    Raises ``OSError`` if the list of takedowns cannot be read.
    """
    if not is_referred(path):
        return lambda _: False
    try:
        taken_down = TakenDown.of(path.parent.parent)
    except DamageError as error:
        raise OSError(str(error)) from error

    def is_hidden(url: str) -> bool:
        page = page_of_resource(url) or url
        return taken_down.covers(canonicalize(page) or page)

    return is_hidden
