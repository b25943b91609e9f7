"""``imports.jsonl``: the files imported into a crawl's folder and the faults found in each, one line an entry."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Final, cast

from aahcrawler.imports.import_writer import SourceFile
from aahcrawler.imports.source_text import FilePlace
from aahcrawler.layout import IMPORTS
from aahcrawler.segments import append_line

_IN_MEMORY: Final = 1 << 20
_AT_ONCE: Final = 1 << 20
_LINES_AT_ONCE: Final = 1_000


@dataclass(slots=True)
class ImportCounts:
    """What happened to the records of a file.

    ``already`` were in the folder, ``removed`` belong to pages taken down there, ``lost`` could not be read, and
    ``noted`` are kept although they have faults. ``passed`` counts places that hold no record.
    """

    kept: int = 0
    already: int = 0
    removed: int = 0
    lost: int = 0
    noted: int = 0
    passed: int = 0

    @property
    def records(self) -> int:
        """The number of all records found."""
        return self.kept + self.already + self.removed + self.lost

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the file was lost."""
        return not (self.lost or self.passed)

    def add(self, other: "ImportCounts") -> None:
        """Add the counts of another file."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file that was imported: its name, its SHA-256, when it was imported (ISO 8601), and its counts.

    ``how`` is ``copy`` or ``reference``, or ``package`` for a WACZ file, whose archive files have entries of their own.
    """

    name: str
    sha256: str
    at: str
    how: str
    size: int
    counts: ImportCounts


@dataclass(frozen=True, slots=True)
class PlaceNote:
    """A note on a place in the file with that digest: on a record, or on bytes that are no record."""

    sha256: str
    place: FilePlace
    what: str
    why: str
    kept: bool = True

    def line(self) -> str:
        """Return the note as a line of ``imports.jsonl``, without its line break."""
        told = {
            "entry": "told",
            "sha256": self.sha256,
            "offset": self.place.offset,
            "within": self.place.within,
            "kept": self.kept,
            "what": self.what,
            "why": self.why,
        }
        return json.dumps(told, ensure_ascii=False)


@dataclass(slots=True)
class ImportNotes:
    """The notes on one file: kept in a temporary file until they are written, all at once, when the file is done."""

    source: SourceFile
    _spool: IO[bytes] = field(
        default_factory=lambda: cast("IO[bytes]", SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - closed by `close`
    )

    def tell(self, place: FilePlace, what: str, why: str, *, kept: bool) -> None:
        """Add a note on a record, or on bytes that are no record."""
        self._spool.write(
            PlaceNote(self.source.sha256, place, what, why, kept).line().encode("utf-8", "replace") + b"\n"
        )

    def write(self, root: Path, counts: ImportCounts, how: str) -> None:
        """Append the notes on the file, and its counts. Raises ``OSError``."""
        file = root / IMPORTS
        self._spool.seek(0)
        while piece := self._spool.read(_AT_ONCE):
            piece += self._spool.readline()
            append_line(file, piece.decode().removesuffix("\n"))
        said = {
            "entry": "file",
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "name": self.source.label,
            "bytes": self.source.size,
            "sha256": self.source.sha256,
            "how": how,
            **asdict(counts),
        }
        append_line(file, json.dumps(said, ensure_ascii=False))

    def close(self) -> None:
        """Discard the notes."""
        self._spool.close()


def note_all(root: Path, notes: Iterable[PlaceNote]) -> None:
    """Append notes on files whose entries are already written. Raises ``OSError``."""
    lines = (note.line().encode("utf-8", "replace").decode() for note in notes)
    while some := tuple(islice(lines, _LINES_AT_ONCE)):
        append_line(root / IMPORTS, "\n".join(some))


def entries(root: Path, begin: int = 0) -> Iterator[tuple[ImportedFile | PlaceNote | None, int]]:
    """Yield the entries of ``imports.jsonl`` from the beginning of a line on, each with the offset after it.

    None stands for a line that cannot be read. Yields nothing without the file.
    """
    path = root / IMPORTS
    if not path.exists():
        return
    with path.open("rb") as lines:
        lines.seek(begin)
        end = begin
        for line in lines:
            end += len(line)
            yield _entry(line), end


def _entry(line: bytes) -> ImportedFile | PlaceNote | None:
    try:
        said = json.loads(line)
        if said["entry"] == "file":
            counts = ImportCounts(**{each.name: int(said.get(each.name, 0)) for each in fields(ImportCounts)})
            name, sha256, at, how = (str(said.get(key, "")) for key in ("name", "sha256", "at", "how"))
            return ImportedFile(name, sha256, at, how, int(said.get("bytes", 0)), counts)
        if said["entry"] == "told":
            place = FilePlace(int(said.get("offset", 0)), int(said.get("within", 0)))
            sha256, what, why = (str(said.get(key, "")) for key in ("sha256", "what", "why"))
            return PlaceNote(sha256, place, what, why, said.get("kept") is True)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return None
