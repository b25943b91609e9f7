"""The web objects and pages of a crawl as tables, for people and for other programs."""

import csv
import json
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
_LINE_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def write_jsonl(rows: Iterable[Row], out: TextIO) -> None:
    """Write a JSON object a line, its keys in the order of the row's fields; missing values are null."""
    for row in rows:
        # JSON lets these characters stand, but they end lines for many readers.
        out.write(json.dumps(asdict(row), ensure_ascii=False).translate(_LINE_BREAKS) + "\n")


def write_csv(
    rows: Iterable[Row],
    out: TextIO,
    kind: type[Row] | None = None,
    delimiter: str = ",",
) -> None:
    """Write a header and a line a row; a table without rows has a header where the ``kind`` of its rows is named.

    Lines end as RFC 4180 has it, so open ``out`` with ``newline=""``. Text that a spreadsheet would take for a formula
    gets an apostrophe in front.
    """
    # With another line terminator a carriage return in a body would not be quoted.
    writer = csv.writer(out, lineterminator="\r\n", delimiter=delimiter)
    header = () if kind is None else _names(kind)
    if header:
        writer.writerow(header)
    for row in rows:
        if not header:
            header = _names(type(row))
            writer.writerow(header)
        writer.writerow([_cell(getattr(row, name)) for name in header])


def write_nq(crawl: Path, out: TextIO) -> None:
    """Write every statement of a crawl as N-Quads. Raises ``ReadError``."""
    out.writelines(statements(crawl))


def _names(kind: type[Row]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _cell(value: str | float | bool | None) -> str | float | bool | None:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
