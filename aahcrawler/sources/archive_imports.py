"""The imports of archive files that captures come from: where they are, and what could not be read of the files."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from aahcrawler.imports.import_notes import ImportedFile, entries
from aahcrawler.layout import IMPORTS, SOURCES
from online_analysis.icd import Icd


def import_folder(path: Path, crawl: Path) -> Path:
    """Return the folder that a crawl imports a file, or the files of a folder, of no crawl into."""
    label = hashlib.sha256(str(path.resolve()).encode("utf-8", "replace")).hexdigest()[:16]
    return crawl / SOURCES / label


def damaged(icd: Icd, crawl: Path) -> Mapping[str, int]:
    """Return how many places could not be read in each of the files that a crawl imported of its definition's archives.

    A file that is cut off has one such place. Files that are whole are left out.
    """
    found: dict[str, int] = {}
    for path in (path for each in icd.captures.sources for path in each.archive):
        notes = import_folder(Path(path), crawl) / IMPORTS
        with suppress(FileNotFoundError):
            state = notes.stat()
            found |= _damaged(notes.parent, state.st_mtime_ns, state.st_size)
    return {name: places for name, places in sorted(found.items()) if places}


@lru_cache(64)
def _damaged(root: Path, _changed: int, _size: int) -> Mapping[str, int]:
    """Return the places of each file that the notes of an import, as they are now, say to be no whole records."""
    last = {each.name: each.counts for each, _ in entries(root) if isinstance(each, ImportedFile)}
    return {name: counts.lost + counts.passed for name, counts in last.items()}
