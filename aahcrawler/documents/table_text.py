"""Reads tables of text, CSV and TSV, in the reader's child process: text, links, and rows that can be compared.

CSV is as RFC 4180 has it, with the delimiters that programs write in its place; TSV is separated by tabs. A row is read
at a time. A table has no title and no date: what its columns state is of its rows.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from json.encoder import encode_basestring as _quoted
from typing import Final

from aahcrawler.documents.content import About, CutError, Piece, SentFile, TextMark, sheets
from aahcrawler.documents.formats import TSV
from aahcrawler.page.transcript import Sheet

MAX_COLUMNS: Final = 10_000
MAX_CELLS: Final = 20_000_000
"""Cells of one table that are read, those of the first rows."""
MAX_CELL: Final = 1_000_000
"""Characters of a cell; one that is longer is mostly a quote that never ends."""
_DELIMITERS: Final = ("\t", ";", "|", ",")
"""Where several divide a table equally well, the first counts: commas stand within numbers, the others do not."""
_SAMPLE: Final = 64_000
_NAMED: Final = re.compile(r"sep=(.)\r?\n")
_HEADER: Final = re.compile(r';\s*header\s*=\s*"?(present|absent)', re.IGNORECASE)
_NO_NAME: Final = re.compile(r"[-+]?[\d.,:/\s%€$£-]+(?:T[\d:.]+Z?)?|(?:https?://|www\.)\S+", re.IGNORECASE)


def contents(file: SentFile) -> tuple[About, Iterator[Sheet]]:
    """Return the number of rows, and sheets with the first of them, the names of the columns before all.

    Each is a line of its cells. URLs in them are links, around which the row stands.
    """
    try:
        entries = sum(1 for _ in _rows(file)) - _has_header(file)
    except (CutError, csv.Error):
        return About(), sheets(row_pieces(_rows(file)))
    return About(entries=max(0, entries)), sheets(row_pieces(_rows(file)))


def parts(file: SentFile) -> Iterator[str]:
    """Yield the rows of a table (``row_parts``). Raise ``CutError`` where it is larger than what is read."""
    return row_parts(_rows(file), has_header=_has_header(file))


def columns(file: SentFile) -> Mapping[str, Sequence[str]]:
    """Return the columns that the header of a table names, in their order there; nothing where it has none."""
    return {"": column_names(next(_rows(file), ()))} if _has_header(file) else {}


def row_parts(rows: Iterator[Sequence[str]], *, has_header: bool) -> Iterator[str]:
    """Yield rows, each as a JSON object of its cells by column, in the order of the columns' names.

    So neither the order of rows nor that of named columns counts. Columns are named by the header, and by their number,
    counted from 1, where there is none or it names fewer. Names that stand again get a number. Where nothing but a
    header is there, it is the only part.
    """
    columns = column_names(next(rows, ())) if has_header else []
    layout: list[tuple[str, int]] = []
    first = next(rows, None)
    if first is None and columns:
        yield f"[{', '.join(sorted(map(_quoted, columns)))}]"
    last, part = first, ""
    for row in chain(() if first is None else (first,), rows):
        if len(row) != len(layout):
            columns += [str(number) for number in range(len(columns) + 1, len(row) + 1)]
            layout = [(f"{_quoted(columns[at])}: ", at) for at in sorted(range(len(row)), key=columns.__getitem__)]
        if row is not last or not part:  # A file that repeats a row, perhaps a million times, gives one and the same.
            last, part = row, "{" + ", ".join([name + _quoted(row[at]) for name, at in layout]) + "}"
        yield part


def _rows(file: SentFile) -> Iterator[Sequence[str]]:
    """Yield the rows that are not blank."""
    text = io.TextIOWrapper(io.BytesIO(file.body), file.encoding, errors="replace", newline="")
    sample = text.read(_SAMPLE).removeprefix("\ufeff")
    named = _NAMED.match(sample)
    delimiter = "\t" if file.media_type == TSV else named[1] if named else _delimiter(sample)
    beginning = io.StringIO(sample[named.end() :] if named else sample, newline="")
    cells = 0
    before = csv.field_size_limit(MAX_CELL)  # Of the whole process.
    try:
        for row in csv.reader(_lines(beginning, text), delimiter=delimiter):
            cells += len(row)
            if len(row) > MAX_COLUMNS or cells > MAX_CELLS:
                message = (
                    f"more than {MAX_COLUMNS:,} columns" if len(row) > MAX_COLUMNS else f"more than {MAX_CELLS:,} cells"
                )
                raise CutError(message)
            if any(row):
                yield row
    finally:
        csv.field_size_limit(before)


def _lines(beginning: io.StringIO, rest: io.TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a text of which the beginning was read already, and may end within a line."""
    last = ""
    for line in beginning:
        if last:
            yield last
        last = line
    if last.endswith("\n"):
        yield last
    else:
        yield last + rest.readline()
    yield from rest


def _delimiter(sample: str) -> str:
    """Return the delimiter that divides most rows of a beginning into equally many cells, more than one."""
    whole = sample if len(sample) < _SAMPLE else sample[: sample.rfind("\n") + 1] or sample
    best, most = ",", 0.0
    for each in _DELIMITERS:
        try:
            widths = Counter(len(row) for row in csv.reader(io.StringIO(whole, newline=""), delimiter=each) if any(row))
        except csv.Error:
            continue
        equal = max((number for width, number in widths.items() if width > 1), default=0)
        if equal and equal / widths.total() > most:
            best, most = each, equal / widths.total()
    return best


def _has_header(file: SentFile) -> bool:
    """Return whether the first row names the columns.

    That is what the type says (``header``, RFC 4180), else what the row looks like.
    """
    if said := _HEADER.search(file.content_type):
        return said[1].lower() == "present"
    return names_columns(next(_rows(file), ()))


def names_columns(first: Sequence[str]) -> bool:
    """Return whether a first row looks like a header: its cells are filled, different, no numbers, dates or URLs."""
    filled = [cell.strip() for cell in first]
    return bool(filled) and all(filled) and len(set(filled)) == len(filled) and not any(map(_NO_NAME.fullmatch, filled))


def column_names(header: Sequence[str]) -> list[str]:
    """Return the names of columns by a header: those without one have their number, those that stand again get one."""
    names: dict[str, None] = {}
    numbers: Counter[str] = Counter()
    for place, cell in enumerate(header, 1):
        name = wanted = " ".join(cell.split()) or str(place)
        while name in names:
            numbers[wanted] += 1
            name = f"{wanted} ({numbers[wanted] + 1})"
        names[name] = None
    return list(names)


def row_pieces(rows: Iterable[Sequence[str]]) -> Iterator[Piece]:
    """Yield the text of rows, a line of cells for each."""
    for row in rows:
        yield " \N{MIDDLE DOT} ".join(cell.strip() for cell in row if cell.strip())
        yield TextMark.PARAGRAPH_END
