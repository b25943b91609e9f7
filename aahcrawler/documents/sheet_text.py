"""Reads spreadsheets in the reader's child process: XLSX (ECMA-376, part 1, section 18) and ODS (OpenDocument, part 3).

Cells have the values that the file holds, whatever they are shown as: a date of XLSX is a number of days.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from json.encoder import encode_basestring as _quoted
from typing import Final

from lxml.etree import _Element as Element

from aahcrawler.documents.content import About, CutError, EncryptedError, SentFile, sheets
from aahcrawler.documents.table_text import MAX_CELLS, MAX_COLUMNS, column_names, names_columns, row_parts, row_pieces
from aahcrawler.documents.zip_package import Package, is_encrypted, tag_of, value_of
from aahcrawler.page.transcript import Sheet

_LETTERS: Final = re.compile(r"[A-Z]{1,3}")
_VALUES: Final = {
    **dict.fromkeys(("float", "percentage", "currency"), "value"),
    **{kind: f"{kind}-value" for kind in ("date", "time", "boolean")},
}
"""The attributes of ODS that hold values of a type; all others are texts."""

Row = Sequence[str]


def contents(file: SentFile) -> tuple[About, Iterator[Sheet]]:
    """Return sheets with the first rows of all tables, each a line of its cells; URLs in them are links.

    Raise ``EncryptedError`` for a file that needs a password; ``CutError`` after the last sheet says that there is
    more.
    """
    package = _package(file.body)
    tables = _tables(package)
    pieces = chain.from_iterable(row_pieces(rows) for _, rows in tables)

    def told() -> Iterator[Sheet]:
        yield from sheets(pieces)
        if package.is_cut:
            raise CutError

    return About(), told()


def parts(file: SentFile) -> Iterator[str]:
    """Yield the rows of each table with its name, as the rows of other tables are (``table_text.row_parts``).

    Raise ``CutError`` where the file is larger than what is read, or damaged.
    """
    package = _package(file.body)
    for name, rows in _tables(package):
        first = next(rows, ())
        whole = chain((first,) if first else (), rows)
        yield from (f"[{_quoted(name)}, {part}]" for part in row_parts(whole, has_header=names_columns(first)))
    if package.is_cut:
        message = "it is larger than what is unpacked, or damaged"
        raise CutError(message)


def columns(file: SentFile) -> Mapping[str, Sequence[str]]:
    """Return the columns that the header of each table names, by the table's name."""
    firsts = ((name, next(rows, ())) for name, rows in _tables(_package(file.body)))
    return {name: column_names(first) for name, first in firsts if names_columns(first)}


def _package(body: bytes) -> Package:
    if is_encrypted(body):
        raise EncryptedError
    return Package(body)


def _tables(package: Package) -> Iterator[tuple[str, Iterator[Row]]]:
    """Yield the name and the rows of each table, in the order of the file; rows without a value are left out."""
    if "xl/workbook.xml" in package:
        yield from _of_xlsx(package)
        return
    root = package.xml("content.xml")
    for table in root.iter("{*}table") if root is not None else ():
        yield value_of(table, "name"), _bounded(_rows_of_ods(table))


def _of_xlsx(package: Package) -> Iterator[tuple[str, Iterator[Row]]]:
    workbook, relations = package.xml("xl/workbook.xml"), package.xml("xl/_rels/workbook.xml.rels")
    strings = package.xml("xl/sharedStrings.xml")
    shared = [] if strings is None else [_words(each) for each in strings.iter("{*}si")]
    targets = {value_of(each, "Id"): value_of(each, "Target") for each in (relations if relations is not None else ())}
    for sheet in workbook.iter("{*}sheet") if workbook is not None else ():
        target = targets.get(value_of(sheet, "id"), "")
        root = package.xml(target[1:] if target.startswith("/") else f"xl/{target}")
        if root is not None:
            yield value_of(sheet, "name"), _bounded(_rows_of_xlsx(root, shared))


def _rows_of_xlsx(root: Element, shared: Sequence[str]) -> Iterator[Row]:
    for row in root.iter("{*}row"):
        cells: list[str] = []
        for cell in row.iter("{*}c"):
            letters = _LETTERS.match(cell.get("r") or "")
            at = len(cells) if letters is None else _column(letters[0])
            _check(at)
            cells += repeat("", max(0, at - len(cells)))
            cells.append(_value_of_xlsx(cell, shared))
        yield cells


def _value_of_xlsx(cell: Element, shared: Sequence[str]) -> str:
    kind = cell.get("t") or "n"
    if kind == "inlineStr":
        return _words(cell)
    value = next((each.text or "" for each in cell.iter("{*}v")), "")
    if kind == "s":
        return shared[int(value)] if value.isdecimal() and int(value) < len(shared) else ""
    return {"0": "false", "1": "true"}.get(value, value) if kind == "b" else value


def _rows_of_ods(table: Element) -> Iterator[Row]:
    for row in table.iter("{*}table-row"):
        cells: list[str] = []
        for cell in row:
            if tag_of(cell) in {"table-cell", "covered-table-cell"}:
                value, number = _value_of_ods(cell), _repeated(cell, "number-columns-repeated")
                if value or number < MAX_COLUMNS:  # Empty cells fill a row up to the end of the sheet.
                    _check(len(cells) + number - 1)
                    cells += repeat(value, number)
        if any(cells):
            yield from repeat(cells, _repeated(row, "number-rows-repeated"))


def _value_of_ods(cell: Element) -> str:
    kind = value_of(cell, "value-type")
    held = _VALUES.get(kind)
    value = value_of(cell, held) if held else ""
    return value or "\n".join("".join(map(str, each.itertext())) for each in cell if tag_of(each) == "p")


def _bounded(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows without empty cells at their end, as far as they are not too many."""
    cells = 0
    for row in rows:
        end = next((at for at in range(len(row), 0, -1) if row[at - 1]), 0)
        cells += max(1, len(row))
        if cells > MAX_CELLS:
            message = f"more than {MAX_CELLS:,} cells"
            raise CutError(message)
        if end:
            yield row if end == len(row) else row[:end]


def _repeated(element: Element, attribute: str) -> int:
    written = value_of(element, attribute)
    return max(1, int(written)) if written.isdecimal() and len(written) < len("1000000000") else 1


def _words(element: Element) -> str:
    """Return the text of a string, without how it is pronounced."""
    texts = (each for each in element.iter("{*}t") if (above := each.getparent()) is None or tag_of(above) != "rPh")
    return "".join(each.text or "" for each in texts)


def _column(letters: str) -> int:
    """Return the place of a column, counted from 0.

    >>> _column("A"), _column("Z"), _column("AA")
    (0, 25, 26)
    """
    place = 0
    for letter in letters:
        place = 26 * place + ord(letter) - ord("A") + 1
    return place - 1


def _check(at: int) -> None:
    if at >= MAX_COLUMNS:
        message = f"more than {MAX_COLUMNS:,} columns"
        raise CutError(message)
