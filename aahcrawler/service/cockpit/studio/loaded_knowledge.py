"""The knowledge base as its files have it now, loaded once for all requests until one of the files changes."""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from knowledge_base.file_selection import files_of, filled
from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase

_Seen = tuple[tuple[Path, int, int, int], ...]
"""Files, with their inodes, sizes and the times of their last change."""


class LoadedKnowledge:
    """Keeps what was loaded last. It may be used by several threads at once, one of which loads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: tuple[_Seen, KnowledgeBase] | None = None

    def of(self, folders: Sequence[Path]) -> KnowledgeBase:
        """Return the knowledge base of some folders. Raise ``LoadError`` for mistakes in it."""
        with self._lock:
            seen = _seen(folders)
            if self._kept is None or self._kept[0] != seen:
                self._kept = None
                self._kept = seen, load(*filled(folders))
            return self._kept[1]


def _seen(folders: Sequence[Path]) -> _Seen:
    told = ((file, file.stat()) for file in files_of(folders) if file.is_file())
    return tuple((file, found.st_ino, found.st_size, found.st_mtime_ns) for file, found in told)
