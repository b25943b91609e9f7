"""The output of every benchmark: ``{"date", "machine", "rows": [...]}``, and a table for people."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.box import HEAVY_HEAD, Box
from rich.console import Console
from rich.table import Table

Cell = str | int | float | None
Row = Mapping[str, Cell]
_WIDEST = 10_000
"""The width of a table, in columns, if it is not for a terminal."""


def machine() -> str:
    """Return a description of the machine: cores, memory, Python."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {gib:.0f} GiB, {platform.machine()}, Python {platform.python_version()}"


def report(rows: Sequence[Row], target: Path | None, lines: Box = HEAVY_HEAD) -> None:
    """Print rows as a table; with ``target``, also write them as JSON. Only a terminal's width truncates cells."""
    table = Table(*rows[0].keys(), box=lines) if rows else Table()
    for row in rows:
        table.add_row(*(f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()))
    console = Console()
    if not console.is_terminal:
        console.width = max(
            console.width, console.measure(table, options=console.options.update(max_width=_WIDEST)).maximum
        )
    console.print(table)
    if target:
        document = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine(), "rows": list(rows)}
        target.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
