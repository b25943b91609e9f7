"""Reads tables and lists that people filled in, whatever separates their columns and however these are called."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from offline.evaluation.relevance_metrics import EvaluationError

_MAX_BYTES: Final = 50_000_000
_FORMULA: Final = re.compile(r"'[=+\-@\t\r]")
Row = tuple[str, Mapping[str, str]]
"""The place of a row, ``file:line``, and its cells by the names that their columns have in this program."""


@dataclass(frozen=True, slots=True)
class GivenTable:
    """A table in UTF-8, separated by tabs, commas or semicolons; its first line names the columns, in any order.

    ``names`` are the names of its columns, as letters and digits only; ``columns`` maps the names of this program to
    those of the table, as far as it has them.
    """

    file: Path
    lines: Sequence[str]
    names: Sequence[str]
    columns: Mapping[str, str]
    _known: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, file: Path, known: Mapping[str, Sequence[str]], kind: str) -> Self:
        """Read the head of a table; ``known`` has the names that each column may have, the preferred one first.

        ``kind`` is what the file should be, in words. Raises ``EvaluationError``.
        """
        try:
            if file.stat().st_size > _MAX_BYTES:
                raise EvaluationError(f"{file}: is larger than {_MAX_BYTES:,} bytes; it is no {kind}")
            lines = file.read_text("utf-8-sig").splitlines(keepends=True)
        except (OSError, UnicodeDecodeError) as error:
            raise EvaluationError(f"{file}: cannot be read ({error}); name a {kind} in UTF-8") from error
        try:
            head = _reader(lines).fieldnames or ()
        except csv.Error as error:
            raise EvaluationError(f"{file}:1: is no row of a table ({error})") from error
        named = {re.sub("[^a-z0-9]", "", name.casefold()): name for name in head if name}
        columns = {ours: named[name] for ours, names in known.items() for name in reversed(names) if name in named}
        return cls(file, lines, [*named], columns, known)

    def rows(self) -> Iterator[Row]:
        """Yield the rows; cells that are missing are empty. Raises ``EvaluationError``."""
        read = _reader(self.lines)
        try:
            for row in read:
                cells = {ours: _text(row.get(self.columns.get(ours, ""))) for ours in self._known}
                yield f"{self.file}:{read.line_num}", cells
        except csv.Error as error:
            raise EvaluationError(f"{self.file}:{read.line_num}: is no row of a table ({error})") from error

    def listed(self) -> Iterator[Row]:
        """Yield the URLs of a list, one per line, as rows of which all other cells are empty; skip comments (``#``)."""
        for number, line in enumerate(self.lines, 1):
            if (url := line.strip()) and not url.startswith("#"):
                yield f"{self.file}:{number}", {**dict.fromkeys(self._known, ""), "url": url}


def _reader(lines: Sequence[str]) -> "csv.DictReader[str]":
    head = lines[0] if lines else ""
    return csv.DictReader(lines, delimiter=max("\t;,", key=head.count))


def _text(cell: str | None) -> str:
    """Return the text of a cell, without the apostrophe that keeps a spreadsheet from reading it as a formula."""
    text = (cell or "").strip()
    return text[1:] if _FORMULA.match(text) else text
