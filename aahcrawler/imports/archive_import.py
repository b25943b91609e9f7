"""Imports WARC, ARC and WACZ files into a crawl's folder: each record once, whatever was interrupted or repeated."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from aahcrawler.imports.foreign_records import ForeignRecord, ForeignRecords, Loss
from aahcrawler.imports.import_ledger import ImportLedger
from aahcrawler.imports.import_notes import ImportCounts, ImportNotes, imported_files
from aahcrawler.imports.import_writer import ImportWriter, SourceFile
from aahcrawler.imports.kept_records import KeptRecord, UnusableError, kept_record
from aahcrawler.imports.source_text import FilePlace
from aahcrawler.layout import ARCHIVE, IMPORTED, INDEXES, WARC
from aahcrawler.segments import recover
from aahcrawler.tombstones import TakenDown
from aahcrawler.urls import canonicalize

_PIECE: Final = 1 << 20
_MOST_DROPPED: Final = 100_000


class ImportRefusedError(Exception):
    """Raised where nothing can be imported; the message tells cause and remedy."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something that is told of a file: of a record that is kept although it is wrong somewhere, or of one that is not.

    ``what`` says which record, empty where nobody can say.
    """

    file: str
    place: FilePlace
    what: str
    why: str
    is_kept: bool

    def __str__(self) -> str:
        what = f"{self.what}: " if self.what else ""
        return f"{self.file}, {self.place}: {what}{self.why}" + ("; it is kept" if self.is_kept else "")


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A file to take records from, open, with its ``size``; ``file`` is read at any place."""

    source: SourceFile
    file: BinaryIO


@dataclass(slots=True)
class ArchiveImport:
    """An import into the folder ``root``, whose crawl is called ``name``; nobody else may be working there.

    ``told`` is called with whatever is wrong, ``seen`` with the number of records that have been looked at since. After
    a kill the next import of the same files goes on where this one stopped: what was written is found there.
    """

    root: Path
    name: str
    told: Callable[[Told], object]
    seen: Callable[[int], object] = abs
    counts: ImportCounts = field(default_factory=ImportCounts)

    def run(self, paths: Sequence[Path]) -> ImportCounts:
        """Import files, and return what became of all their records.

        Raises ``SegmentError``, ``DamageError`` where nobody knows what was taken down, and ``OSError``.
        """
        archive = self.root / ARCHIVE
        archive.mkdir(parents=True, exist_ok=True)
        recover(archive, WARC)
        taken_down = TakenDown.of(self.root)
        with (
            ImportLedger(self.root / INDEXES / IMPORTED, archive, self.root) as ledger,
            ImportWriter(self.root, self.name) as writer,
        ):
            for path in paths:
                with path.open("rb") as file:
                    source = SourceFile(path.name, path.stat().st_size, digest_of(file))
                    self._import(OpenedSource(source, file), writer, ledger, taken_down)
        return self.counts

    def said(self) -> Iterator[str]:
        """Yield what is to be said at the end, a line for each matter."""
        counts = self.counts
        line = f"kept {counts.kept:,} of {counts.records:,} records"
        others = (
            (counts.already, "already there"),
            (counts.removed, "of pages that were taken down"),
            (counts.lost, "that cannot be read"),
        )
        if told := [f"{number:,} {what}" for number, what in others if number]:
            line += f"; {counts.records - counts.kept:,} not: {', '.join(told)}"
        yield line
        if counts.noted:
            yield f"{counts.noted:,} records are kept although something about them is wrong"
        if counts.passed:
            yield f"{counts.passed:,} places hold something else than records"

    def _import(self, opened: OpenedSource, writer: ImportWriter, ledger: ImportLedger, taken_down: TakenDown) -> None:
        writer.begin(opened.source)
        with closing(ImportNotes(opened.source)) as notes:
            copying = _Copying(opened.source, writer, ledger, taken_down, notes, self.told)
            for found in ForeignRecords(opened.file, opened.source.size, self.root):
                copying.take(found)
                self.seen(1)
            if not opened.source.size:
                copying.tell(FilePlace(0), "", "the file is empty", is_kept=False)
                copying.counts.passed += 1
            ledger.commit()
            if copying.counts.kept or opened.source.sha256 not in imported_files(self.root):
                notes.write(self.root, copying.counts, "copy")
            self.counts.add(copying.counts)


@dataclass(slots=True)
class _Copying:
    """Copies the records of one file."""

    source: SourceFile
    writer: ImportWriter
    ledger: ImportLedger
    taken_down: TakenDown
    notes: ImportNotes
    told: Callable[[Told], object]
    counts: ImportCounts = field(default_factory=ImportCounts)
    _renamed: dict[str, str] = field(default_factory=dict)
    _dropped: set[str] = field(default_factory=set)
    _info: str = ""

    def take(self, found: ForeignRecord | Loss) -> None:
        if isinstance(found, Loss):
            self._lose(found)
            return
        try:
            kept = kept_record(found)
        except UnusableError as error:
            self.counts.lost += 1
            self.tell(found.place, _named(found), str(error), is_kept=False)
            return
        if self._is_taken_down(kept):
            self.counts.removed += 1
            return
        kept, is_known = self._placed(kept)
        if is_known:
            self.counts.already += 1
            return
        span = self.writer.write(kept.naming(lambda name: self._renamed.get(name, name)), found)
        self.ledger.add(kept, span.file, span.offset + span.size)
        self.counts.kept += 1
        notes = (*found.notes, *kept.notes)
        self.counts.noted += bool(notes)
        for note in notes:
            self.tell(found.place, _named(found), note, is_kept=True)

    def tell(self, place: FilePlace, what: str, why: str, *, is_kept: bool) -> None:
        self.notes.tell(place, what, why, kept=is_kept)
        self.told(Told(self.source.label, place, what, why, is_kept))

    def _lose(self, loss: Loss) -> None:
        if loss.is_record:
            self.counts.lost += 1
        else:
            self.counts.passed += 1
        self.tell(loss.place, loss.what, f"{loss.reason}; passed over up to {loss.end}", is_kept=False)

    def _placed(self, kept: KeptRecord) -> tuple[KeptRecord, bool]:
        """Return a record under the id that it is kept by, and whether the folder has it."""
        known = self.ledger.identity(kept.record_id)
        if known is None or known == kept.identity:
            return kept, known is not None
        renamed = kept.renamed()
        if len(self._renamed) < _MOST_DROPPED:
            self._renamed[kept.record_id] = renamed.record_id
        return renamed, self.ledger.identity(renamed.record_id) == renamed.identity

    def _is_taken_down(self, kept: KeptRecord) -> bool:
        if not (self.taken_down.urls or self.taken_down.prefixes):
            return False
        header = kept.header
        url = header.get("WARC-Target-URI").strip("<>")
        named = {*header.concurrent_to, header.get("WARC-Refers-To").strip("<>")}
        is_about = header.get("WARC-Type").lower() in {"request", "metadata", "resource"}
        if self.taken_down.covers(canonicalize(url) or url) or (is_about and self._dropped & named):
            if len(self._dropped) < _MOST_DROPPED:
                self._dropped.add(kept.record_id)
            return True
        return False


def digest_of(file: BinaryIO) -> str:
    """Return the SHA-256 of a file, which is read to its end."""
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()


def _named(record: ForeignRecord) -> str:
    header = record.header
    return " ".join(filter(None, (header.get("WARC-Type"), header.get("WARC-Target-URI").strip("<>")[:200])))


def sources_in(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield files, and those in folders among them, in the order of their names."""
    for path in paths:
        if path.is_dir():
            yield from (each for each in sorted(path.rglob("*")) if each.is_file())
        else:
            yield path
