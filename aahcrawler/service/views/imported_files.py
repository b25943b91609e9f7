"""Shows which files were imported into a folder, and what was told of their records."""

from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from aahcrawler.imports.import_notes import ImportCounts, ImportedFile, PlaceNote, entries
from aahcrawler.layout import IMPORTS
from aahcrawler.service.web.problems import Shown

_KEPT: Final = 16
_MAX_READ: Final = 1 << 24
"""Bytes of notes that one look goes through."""


class ImportedView(Shown):
    """A file, or all of them together, and what became of the records.

    ``kept`` are in the folder, ``already`` were when the file was imported last, ``removed`` are of pages that were
    taken down, ``lost`` could not be read, ``noted`` are kept although something about them is wrong, and ``passed``
    counts places that hold no record. ``size`` is in bytes, ``at`` is when it was imported last, ISO 8601.
    """

    name: str
    sha256: str
    how: str
    at: str
    size: int
    kept: int = 0
    already: int = 0
    removed: int = 0
    lost: int = 0
    noted: int = 0
    passed: int = 0


class ImportView(Shown):
    """All that was imported into a folder: the files in the order in which they first came, and their sum."""

    files: tuple[ImportedView, ...]
    total: ImportedView


class NoteView(Shown):
    """What was told of a place in a file, whose byte it is; ``what`` names the record where anybody can."""

    file: str
    place: str
    what: str
    why: str
    is_kept: bool


class NotesView(Shown):
    """Some of the notes, and the byte of ``imports.jsonl`` at which the next ones begin, None at the end."""

    notes: tuple[NoteView, ...]
    next: int | None


def imported(folder: Path) -> ImportView:
    """Return what was imported into a folder. Raise ``OSError``."""
    stat = (folder / IMPORTS).stat()
    return _imported(folder, stat.st_mtime_ns, stat.st_size)


@lru_cache(_KEPT)
def _imported(folder: Path, _changed: int, _size: int) -> ImportView:
    found: dict[str, ImportedFile] = {}
    for entry, _ in entries(folder):
        if isinstance(entry, ImportedFile):
            # A file that is imported again meets what it has already brought, and the same damage.
            before = found.get(entry.sha256)
            kept = entry.counts.kept + (before.counts.kept if before is not None else 0)
            found[entry.sha256] = replace(entry, counts=replace(entry.counts, kept=kept))
    files = tuple(map(_shown, found.values()))
    sums = ImportCounts()
    for each in found.values():
        sums.add(each.counts)
    last = max((each.at for each in files), default="")
    # What a package holds is counted with its files.
    size = sum(each.size for each in found.values() if "/" not in each.name)
    return ImportView(files=files, total=_shown(ImportedFile("", "", last, "", size, sums)))


def _shown(file: ImportedFile) -> ImportedView:
    return ImportedView(
        name=file.name, sha256=file.sha256, how=file.how, at=file.at, size=file.size, **asdict(file.counts)
    )


def notes_of(folder: Path, begin: int, most: int, *, lost_only: bool) -> NotesView:
    """Return some notes from the line on that begins at a byte; one look goes through 16 MiB. Raise ``OSError``."""
    names = {each.sha256: each.name for each in imported(folder).files}
    notes: list[NoteView] = []
    for entry, end in entries(folder, begin):
        if isinstance(entry, PlaceNote) and not (lost_only and entry.kept):
            name = names.get(entry.sha256, entry.sha256)
            notes.append(
                NoteView(file=name, place=str(entry.place), what=entry.what, why=entry.why, is_kept=entry.kept)
            )
        if len(notes) == most or end - begin > _MAX_READ:
            is_more = end < (folder / IMPORTS).stat().st_size
            return NotesView(notes=tuple(notes), next=end if is_more else None)
    return NotesView(notes=tuple(notes), next=None)
