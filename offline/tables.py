"""The web objects and pages of a crawl as tables, for people and for other programs."""

import csv
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TextIO

from aahcrawler.objects.capture_statements import ObjectRow, PageRow
from aahcrawler.objects.reader import statements
from aahcrawler.search.result_rows import ResultRow
from offline.collections.distinct_members import NearDuplicateRow
from offline.evaluation.judgement_table import JudgementRow
from offline.evaluation.membership_table import MemberRow

Row = ObjectRow | PageRow | ResultRow | JudgementRow | MemberRow | NearDuplicateRow

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ESCAPED = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))}
"""Characters that JSON allows, although many readers end lines at them, or a terminal obeys them: C1 controls,
direction marks.
"""
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def write_jsonl(rows: Iterable[Row], out: TextIO) -> None:
    """Write one JSON object per line, its keys in the order of the row's fields; missing values are null."""
    for row in rows:
        out.write(json.dumps(asdict(row), ensure_ascii=False).translate(_ESCAPED) + "\n")


def write_csv(
    rows: Iterable[Row],
    out: TextIO,
    kind: type[Row] | None = None,
    delimiter: str = ",",
) -> None:
    """Write a header and one line per row; a table without rows has a header only if ``kind`` is given.

    Lines end as in RFC 4180, so open ``out`` with ``newline=""``. Text that a spreadsheet would read as a formula gets
    an apostrophe in front. On a terminal, characters that it would obey are shown as codes; in a file they are
    unchanged.
    """
    # With another line terminator a carriage return in a body would not be quoted.
    writer = csv.writer(out, lineterminator="\r\n", delimiter=delimiter)
    to_terminal = out.isatty()
    header = () if kind is None else _names(kind)
    if header:
        writer.writerow(header)
    for row in rows:
        if not header:
            header = _names(type(row))
            writer.writerow(header)
        cells = [_cell(getattr(row, name)) for name in header]
        writer.writerow([_shown(cell) if isinstance(cell, str) else cell for cell in cells] if to_terminal else cells)


def write_nq(crawl: Path, out: TextIO) -> None:
    """Write every statement of a crawl as N-Quads. Raises ``ReadError``."""
    out.writelines(statements(crawl))


def _names(kind: type[Row]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _cell(value: str | float | bool | None) -> str | float | bool | None:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _shown(text: str) -> str:
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
