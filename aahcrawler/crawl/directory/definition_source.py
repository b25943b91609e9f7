"""Read the definition of a crawl, and read it again while the crawl runs."""

from pathlib import Path
from typing import Protocol

from aahcrawler.crawl.directory.files import Stamps, stamps
from online_analysis.icd import Icd


class DefinitionSource(Protocol):
    """A place that holds the definition of one crawl. It blocks while it looks."""

    def load(self) -> Icd:
        """Return the definition. Raise ``IcdError`` with every mistake in it."""
        ...

    def newer(self) -> Icd | None:
        """Return the definition if it has changed since it was last looked at, None where it has not.

        Raise ``IcdError`` for one with mistakes, once for each that there is.
        """
        ...


class DefinitionFile:
    """The file of an ICD, and the files that it names.

    A change counts when two looks in a row see the same files: one that is being written is left in peace.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: tuple[Path, ...] = (path,)
        self._read: Stamps = {}
        self._last: Stamps = {}

    def load(self) -> Icd:
        """See ``DefinitionSource.load``."""
        before = stamps((self._path,))
        self._read = self._last = stamps(self._files)
        icd = Icd.load(self._path)
        self._files = (self._path, *(self._path.parent / name for name in icd.file_names))
        self._read = self._last = {**stamps(self._files), **before}
        return icd

    def newer(self) -> Icd | None:
        """See ``DefinitionSource.newer``."""
        now, before = stamps(self._files), self._last
        self._last = now
        if now == self._read or now != before or self._path not in now:
            return None
        return self.load()
