"""Hostile responses: mutants of real pages, and pages that grow.

``python -m benchmarks.hostile --minutes 60 --to FOLDER`` reads mutants and keeps each input on which a stage of reading
raised, or that took over a second of processor time or 300 MiB. ``--growth`` grows pages of each shape to 10 MB.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.hostile.fuzzing import Taken, apart, findings, kept, kept_response, reader, sources
from benchmarks.hostile.shapes import SHAPES, SIZES, rows
from benchmarks.results import Row, report


def main(
    minutes: Annotated[float, typer.Option(help="How long mutants are read.")] = 1.0,
    mutants: Annotated[int, typer.Option(help="Read so many mutants instead, however long that takes.")] = 0,
    seed: Annotated[int, typer.Option(help="The seed of the mutants.")] = 0,
    to: Annotated[Path, typer.Option(help="The folder for what is found.")] = Path(".cache/hostile"),
    growth: Annotated[bool, typer.Option("--growth", help="Measure how pages of each shape grow.")] = False,
    shape: Annotated[list[str] | None, typer.Option(help="Of these shapes alone.")] = None,
    again: Annotated[Path | None, typer.Option(help="Read a finding again.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the rows as JSON.")] = None,
) -> None:
    """Read hostile responses; end with 1 where one of them was found to harm."""
    read = reader()
    if again is not None:
        response = kept_response(again)
        print(apart(lambda: read(response), 600.0))
        return
    if growth:
        report(list(rows(shape or SHAPES, SIZES, read)), json_file)
        return
    found: list[Row] = []
    number = 0

    def told(last: int, _: Taken) -> None:
        nonlocal number
        number = last + 1

    for each in findings(sources(), read, seed, minutes=minutes, most=mutants, told=told):
        taken = each.taken
        cells: Row = {"kind": each.kind, "seconds": round(taken.seconds, 2), "MiB": round(taken.peak_mib)}
        found.append({**cells, "failed": "; ".join(taken.failed)[:200], "kept": str(kept(each, to, seed))})
        print(found[-1], file=sys.stderr, flush=True)
    report(
        [*found, {"kind": "mutants read", "seconds": None, "MiB": None, "failed": str(number), "kept": ""}], json_file
    )
    if found:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
