"""``imports.jsonl``: which files were imported into a crawl's folder, and what of them was told, a line for each."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Final, cast

from aahcrawler.imports.import_writer import SourceFile
from aahcrawler.imports.source_text import FilePlace
from aahcrawler.layout import IMPORTS
from aahcrawler.segments import append_line

_IN_MEMORY: Final = 1 << 20
_AT_ONCE: Final = 1 << 20


@dataclass(slots=True)
class ImportCounts:
    """What became of the records of a file.

    ``already`` were in the folder, ``removed`` are of pages that were taken down there, ``lost`` could not be taken,
    and ``noted`` are kept although something about them is wrong. ``passed`` counts places that hold no record.
    """

    kept: int = 0
    already: int = 0
    removed: int = 0
    lost: int = 0
    noted: int = 0
    passed: int = 0

    @property
    def records(self) -> int:
        """All records that were met."""
        return self.kept + self.already + self.removed + self.lost

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the file was left."""
        return not (self.lost or self.passed)

    def add(self, other: "ImportCounts") -> None:
        """Add the counts of another file."""
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


@dataclass(slots=True)
class ImportNotes:
    """What is told of one file: kept on disk until it is written, all at once, when the file is done."""

    source: SourceFile
    _spool: IO[bytes] = field(
        default_factory=lambda: cast("IO[bytes]", SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - closed by `close`
    )

    def tell(self, place: FilePlace, what: str, why: str, *, kept: bool) -> None:
        """Take a note on a record, or on bytes that are none."""
        told = {
            "entry": "told",
            "sha256": self.source.sha256,
            "offset": place.offset,
            "within": place.within,
            "kept": kept,
            "what": what,
            "why": why,
        }
        self._spool.write(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def write(self, root: Path, counts: ImportCounts, how: str) -> None:
        """Append what was told of the file, and what became of it. Raises ``OSError``."""
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
        """Let go of what was told."""
        self._spool.close()


def imported_files(root: Path) -> Iterator[str]:
    """Yield the SHA-256 of each file that was imported into a folder; lines that cannot be read say nothing."""
    path = root / IMPORTS
    if not path.exists():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict) and said.get("entry") == "file":
                yield str(said.get("sha256", ""))
