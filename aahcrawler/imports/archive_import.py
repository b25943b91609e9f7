"""Import WARC, ARC and WACZ files into a crawl's folder: each record once, despite interruptions and repetitions."""

import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final
from zipfile import BadZipFile

from aahcrawler.annotations import AnnotationIndex, CaptureAnnotations
from aahcrawler.annotations.annotation import AnnotationsBusyError, annotating, read_annotations
from aahcrawler.archive.folders import is_referred
from aahcrawler.archive.index import index_file
from aahcrawler.archive.scanning import Member, MemberError, members
from aahcrawler.imports.foreign_records import ForeignRecord, ForeignRecords, Loss
from aahcrawler.imports.import_writer import (
    ImportCounts,
    ImportedFile,
    ImportLedger,
    ImportNotes,
    ImportWriter,
    PlaceNote,
    SourceFile,
    entries,
    note_all,
)
from aahcrawler.imports.kept_records import KeptRecord, Prepared, UnusableError, kept_record, prepared, read_ahead
from aahcrawler.imports.source_text import FilePlace
from aahcrawler.imports.wacz_package import ZIP, PackedArchive, WaczPackage
from aahcrawler.jobs import own_processes
from aahcrawler.layout import ARCHIVE, DEFINITION, IMPORTED, INDEXES, NQUADS, WARC
from aahcrawler.segments import SegmentWriter, Series, recover, segments
from aahcrawler.tallies import plural
from aahcrawler.tombstones import TakenDown
from aahcrawler.urls import canonicalize

_PIECE: Final = 1 << 20
_MAX_DROPPED: Final = 100_000
_WORTH_A_PROCESS: Final = 1 << 20
"""A file of at least this many bytes is read by another process: starting one takes as long as some hundred records."""
_ORIGINAL_AWAY: Final = "what it shows again is in no file that was imported so far"


class ImportRefusedError(Exception):
    """Raised when nothing can be imported; the message gives the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class ImportFault:
    """A fault found in a file: in a record that is kept nevertheless, or in one that is not.

    ``what`` identifies the record; empty if unknown.
    """

    file: str
    place: FilePlace
    what: str
    why: str
    is_kept: bool

    def __str__(self) -> str:
        what = f"{self.what}: " if self.what else ""
        return f"{self.file}, {self.place}: {what}{self.why}" + ("; it is kept" if self.is_kept else "")


@dataclass(slots=True)
class ArchiveImport:
    """An import into the folder ``root``, whose crawl is called ``name``; nobody else may be working there.

    ``told`` is called with each fault, ``seen`` with the number of records read since its last call. With
    ``by_reference``, files that can be read as they are stay where they are, and links lead to them. With several
    ``processes`` one reads ahead of the one that writes, and all of them index the files that are referred to; the
    result is the same. Records that are ``hidden`` are not kept. After a kill the next import of the same files resumes
    where this one stopped, because it finds what was written.
    """

    root: Path
    name: str
    told: Callable[[ImportFault], object]
    seen: Callable[[int], object] = abs
    by_reference: bool = False
    processes: int = 1
    hidden: TakenDown = field(default_factory=TakenDown)
    counts: ImportCounts = field(default_factory=ImportCounts)
    _referred: list[Path] = field(default_factory=list)
    _noted: set[str] = field(default_factory=set)

    def run(self, paths: Sequence[Path]) -> ImportCounts:
        """Import files, and return the counts of what happened to their records.

        Raises ``SegmentError``, ``DamageError`` if the list of takedowns cannot be read, and ``OSError``.
        """
        archive = self.root / ARCHIVE
        archive.mkdir(parents=True, exist_ok=True)
        recover(archive, WARC)
        self._noted = {each.sha256 for each, _ in entries(self.root) if isinstance(each, ImportedFile)}
        with (
            ImportLedger(self.root / INDEXES / IMPORTED, archive, self.root) as ledger,
            ImportWriter(self.root, self.name) as writer,
        ):
            taken_down = TakenDown.of(self.root) | self.hidden
            for path in paths:
                # A crawl's folder may refer to a file which still holds what was taken down there.
                hidden = taken_down | TakenDown.of(path.parent.parent) if is_referred(path) else taken_down
                with path.open("rb") as file:
                    self._import(path, file, _Importing(writer, ledger, hidden))
            self._index_referred()
            missing = ledger.missing_originals()
            note_all(
                self.root,
                (PlaceNote(each.sha256, each.place, f"revisit {each.url}", _ORIGINAL_AWAY) for each in missing),
            )
            ledger.forget_revisits()
            for each in missing:
                self.told(ImportFault(each.file, each.place, f"revisit {each.url}", _ORIGINAL_AWAY, is_kept=True))
        return self.counts

    def said(self) -> Iterator[str]:
        """Yield the lines to be printed at the end."""
        counts = self.counts
        line = f"kept {counts.kept:,} of {plural(counts.records, 'record')}"
        others = (
            (counts.already, "already there"),
            (counts.removed, "of pages that were taken down"),
            (counts.lost, "that cannot be read"),
        )
        if told := [f"{number:,} {what}" for number, what in others if number]:
            line += f"; {counts.records - counts.kept:,} not: {', '.join(told)}"
        yield line
        if counts.noted:
            yield f"{plural(counts.noted, 'record is', 'records are')} kept although something is wrong there"
        if counts.passed:
            yield f"{plural(counts.passed, 'place holds', 'places hold')} something else than records"

    def _import(self, path: Path, file: BinaryIO, importing: "_Importing") -> None:
        if file.read(len(ZIP)) == ZIP:
            with suppress(BadZipFile):
                self._import_package(path, file, importing)
                return
            self.counts.passed += 1
            self._tell(path.name, "the package cannot be opened, as if it were cut off: its records are looked for")
        source = SourceFile(path.name, path.stat().st_size, digest_of(file))
        if not (self.by_reference and self._refer(path, source, file, importing)):
            is_shared = self.processes > 1 and source.size >= _WORTH_A_PROCESS
            self._copy(source, file, importing, array("Q"), path if is_shared else None)

    def _refer(self, path: Path, source: SourceFile, file: BinaryIO, importing: "_Importing") -> bool:
        """Link to a file if it can be read as it is and none of its records is known; return whether that was done."""
        records = 0
        for found in ForeignRecords(file, source.size, self.root):
            if not (isinstance(found, ForeignRecord) and found.is_standard and importing.takes_as_it_is(found)):
                return False
            records += 1
        if not records:
            return False
        link = self.root / ARCHIVE / path.name
        if not path.name.endswith(f".{WARC}") or link.is_symlink() or link.exists():
            link = link.with_name(f"{path.name.removesuffix(f'.{WARC}')}-{source.sha256[:16]}.{WARC}")
        link.symlink_to(path.resolve())
        importing.ledger.catch_up()
        self.seen(records)
        self._referred.append(link)
        counts = ImportCounts(kept=records)
        with closing(ImportNotes(source)) as notes:
            notes.write(self.root, counts, "reference")
            self._noted.add(source.sha256)
        self.counts.add(counts)
        return True

    def _index_referred(self) -> None:
        """Index the files that are referred to, dividing them among several processes."""
        if len(self._referred) < 2 or self.processes < 2:
            return
        with own_processes(self.processes) as pool:
            list(pool.map(partial(index_file, folder=self.root / INDEXES), self._referred))

    def _import_package(self, path: Path, file: BinaryIO, importing: "_Importing") -> None:
        """Copy the content of a package. Raises ``BadZipFile`` if it cannot be opened."""
        whole = SourceFile(path.name, path.stat().st_size, digest_of(file))
        counts = ImportCounts()
        with closing(ImportNotes(whole)) as notes:

            def tell(inner: str, why: str) -> None:
                counts.passed += 1
                notes.tell(FilePlace(0), inner, why, kept=False)
                self._tell(f"{path.name}/{inner}", why)

            package = WaczPackage(file, self.root, tell)
            digests = package.digests()
            for packed in package.archives():
                source = SourceFile(packed.name, packed.size, digest_of(packed.file), path.name)
                claimed = digests.get(packed.name, source.sha256)
                if claimed != source.sha256:
                    tell(packed.name, f"its digest is sha256:{source.sha256}, and the package says {claimed[:80]}")
                self._copy(source, packed.file, importing, packed.offsets)
            package.check_indexes()
            importing.ledger.commit()
            for packed in package.annotations():
                self._take_annotations(packed, importing, tell)
            if whole.sha256 not in self._noted:
                notes.write(self.root, counts, "package")
                self._noted.add(whole.sha256)
        self.counts.add(counts)

    def _take_annotations(
        self, packed: PackedArchive, importing: "_Importing", tell: Callable[[str, str], object]
    ) -> None:
        def has(capture: str) -> bool:
            return importing.ledger.identity(capture) is not None

        try:
            for why in take_annotations(self.root, self.name, packed.file, has):
                tell(packed.name, why)
        except AnnotationsBusyError as error:
            tell(packed.name, f"its annotations are not taken: {error}")

    def _tell(self, file: str, why: str) -> None:
        self.told(ImportFault(file, FilePlace(0), "", why, is_kept=False))

    def _copy(
        self,
        source: SourceFile,
        file: BinaryIO,
        importing: "_Importing",
        offsets: "array[int]",
        path: Path | None = None,
    ) -> None:
        """Copy the records of a file, and add their beginnings to ``offsets``; another process may read ``path``."""
        importing.writer.begin(source)
        with closing(ImportNotes(source)) as notes:
            copying = _Copying(source, importing, notes, self.told)
            read = prepared(file, source.size, self.root) if path is None else read_ahead(path, source.size, self.root)
            for each in read:
                if not each.found.place.within:
                    offsets.append(each.found.place.offset)
                copying.take(each)
                self.seen(1)
            if not source.size:
                copying.tell(FilePlace(0), "", "the file is empty", is_kept=False)
                copying.counts.passed += 1
            importing.ledger.commit()
            if copying.counts.kept or source.sha256 not in self._noted:
                notes.write(self.root, copying.counts, "copy")
                self._noted.add(source.sha256)
            self.counts.add(copying.counts)


@dataclass(frozen=True, slots=True)
class _Importing:
    """Where records are written, which records are known, and which must not be kept."""

    writer: ImportWriter
    ledger: ImportLedger
    taken_down: TakenDown

    def takes_as_it_is(self, found: ForeignRecord) -> bool:
        """Return whether a record needs no repair, its id is unknown, and its URL was not taken down."""
        try:
            kept = kept_record(found)
        except UnusableError:
            return False
        url = found.header.get("WARC-Target-URI").strip("<>")
        is_same = kept.record_id == found.header.record_id and not kept.notes and not found.notes
        is_new = self.ledger.identity(kept.record_id) is None
        return is_same and is_new and not self.taken_down.covers(canonicalize(url) or url)


@dataclass(slots=True)
class _Copying:
    """Copies the records of one file."""

    source: SourceFile
    importing: _Importing
    notes: ImportNotes
    told: Callable[[ImportFault], object]
    counts: ImportCounts = field(default_factory=ImportCounts)
    _renamed: dict[str, str] = field(default_factory=dict)
    _dropped: set[str] = field(default_factory=set)

    def take(self, each: Prepared) -> None:
        found, kept = each.found, each.kept
        if isinstance(found, Loss):
            self._lose(found)
            return
        if not isinstance(kept, KeptRecord):
            self.counts.lost += 1
            self.tell(found.place, _named(found), str(kept), is_kept=False)
            return
        if self._is_taken_down(kept):
            self.counts.removed += 1
            return
        kept, is_known = self._placed(kept)
        if is_known:
            self.counts.already += 1
            return
        written = kept.naming(lambda name: self._renamed.get(name, name))
        if written is each.kept:
            span = self.importing.writer.write(written, found, each.member)
        else:
            span = self.importing.writer.write(written, each.unpacked())
        self.importing.ledger.add(kept, span.file, span.offset + span.size)
        if found.header.get("WARC-Type").lower() == "revisit":
            self.importing.ledger.await_original(kept, self.source, found.place)
        self.counts.kept += 1
        notes = (*found.notes, *kept.notes)
        self.counts.noted += bool(notes)
        for note in notes:
            self.tell(found.place, _named(found), note, is_kept=True)

    def tell(self, place: FilePlace, what: str, why: str, *, is_kept: bool) -> None:
        self.notes.tell(place, what, why, kept=is_kept)
        self.told(ImportFault(self.source.label, place, what, why, is_kept))

    def _lose(self, loss: Loss) -> None:
        if loss.is_record:
            self.counts.lost += 1
        else:
            self.counts.passed += 1
        self.tell(loss.place, loss.what, f"{loss.reason}; passed over up to {loss.end}", is_kept=False)

    def _placed(self, kept: KeptRecord) -> tuple[KeptRecord, bool]:
        """Return a record with the id under which it is kept, and whether the folder already has it."""
        known = self.importing.ledger.identity(kept.record_id)
        if known is None or known == kept.identity:
            return kept, known is not None
        renamed = kept.renamed()
        if len(self._renamed) < _MAX_DROPPED:
            self._renamed[kept.record_id] = renamed.record_id
        return renamed, self.importing.ledger.identity(renamed.record_id) == renamed.identity

    def _is_taken_down(self, kept: KeptRecord) -> bool:
        if not (self.importing.taken_down.urls or self.importing.taken_down.prefixes):
            return False
        header = kept.header
        url = header.get("WARC-Target-URI").strip("<>")
        named = {*header.concurrent_to, header.get("WARC-Refers-To").strip("<>")}
        is_about = header.get("WARC-Type").lower() in {"request", "metadata", "resource"}
        if self.importing.taken_down.covers(canonicalize(url) or url) or (is_about and self._dropped & named):
            if len(self._dropped) < _MAX_DROPPED:
                self._dropped.add(kept.record_id)
            return True
        return False


def digest_of(file: BinaryIO) -> str:
    """Return the SHA-256 of a file, reading it to its end."""
    digest = hashlib.sha256()
    file.seek(0)
    while piece := file.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()


def _named(record: ForeignRecord) -> str:
    header = record.header
    return " ".join(filter(None, (header.get("WARC-Type"), header.get("WARC-Target-URI").strip("<>")[:200])))


def sources_in(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield files, and those in folders, in the order of their names; for crawls' folders the WARC files."""
    for path in paths:
        if (path / DEFINITION).is_file() and (path / ARCHIVE).is_dir():
            yield from segments(path / ARCHIVE, WARC)
        elif path.is_dir():
            inner = sorted(path.iterdir())
            yield from sources_in([each for each in inner if each.is_file() or not each.is_symlink()])
        elif path.is_file():
            yield path


_MAX_GRAPH: Final = 64 << 20
"""The most bytes of the statements of one graph that are imported."""
_HAS: Final = "SELECT 1 FROM unit WHERE annotator = ? AND capture = ? AND run = ?"
_BEGINNING: Final = b"<"


def take_annotations(root: Path, crawl: str, file: BinaryIO, has: Callable[[str], bool]) -> list[str]:
    """Import the annotations in a file, and return what is wrong with those that cannot be imported.

    ``has`` says whether the folder has a capture. Annotations that the folder already has stay: a capture is annotated
    once by an annotator, and annotations of many captures together are imported only if the folder has none of that
    kind. Raises ``AnnotationsBusyError``, ``SegmentError``, ``OSError`` and ``sqlite3.Error``.
    """
    wrong: list[str] = []
    with (
        annotating(root) as folder,
        AnnotationIndex(root) as index,
        closing(SegmentWriter(Series(folder, crawl, NQUADS), lambda: datetime.now(UTC))) as writer,
    ):
        recover(folder, NQUADS)
        index.catch_up()
        own_runs = {name for (name,) in index.base.execute("SELECT annotator FROM run")}
        for member in members(file, beginning=_BEGINNING):
            try:
                unit = _annotations(member)
            except (KeyError, ValueError, MemberError) as error:
                wrong.append(f"at byte {member.offset}: no annotations ({error})")
                continue
            is_known = index.base.execute(_HAS, (unit.annotator, unit.capture, unit.run)).fetchone() is not None
            is_wanted = unit.annotator not in own_runs if unit.run else not is_known
            if is_wanted and (has(unit.capture) if unit.capture else unit.run):
                writer.append((bytes(unit),))
        writer.sync()
    return wrong


def _annotations(member: Member) -> CaptureAnnotations:
    """Return the annotations in a member. Raises ``KeyError``, ``ValueError`` or ``MemberError`` if it has none."""
    unit = read_annotations(_whole(member))
    if not unit.annotator:
        raise ValueError("nothing says what made them")
    if not all(0.0 <= each.confidence <= 1.0 for each in unit.annotations):
        raise ValueError("a confidence that is not between 0 and 1")
    return unit


def _whole(member: Member) -> bytes:
    text = bytearray()
    while piece := member.read():
        text += piece
        if len(text) > _MAX_GRAPH:
            raise ValueError(f"more than {_MAX_GRAPH:,} bytes")
    return bytes(text)
