"""Measures how the time and the memory that a page takes grow with its size, shape by shape."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import log

from benchmarks.hostile.mutations import Answer
from benchmarks.hostile.reading import Taken, apart
from benchmarks.hostile.shapes import page_of
from benchmarks.results import Row

SIZES = (100_000, 1_000_000, 10_000_000)
PATIENCE = 60.0
_FIELDS = (("Content-Type", "text/html; charset=utf-8"),)


def growth(shape: str, sizes: Sequence[int], read: Callable[[Answer], Taken]) -> Row:
    """Return the seconds and MiB of a shape at some sizes; ``exponent`` is that of the last step, 1 where linear.

    Where a page took too long, the larger ones are not tried.
    """
    row: dict[str, str | int | float | None] = {"shape": shape}
    took: list[float] = []
    failed: tuple[str, ...] = ()
    peak, ended = 0.0, False
    for size in sizes:
        name = f"s at {size / 1e6:g} MB"
        if ended:
            row[name] = None
            continue
        taken = apart(lambda size=size: read(_answer(shape, size)), PATIENCE)  # type: ignore[misc]
        row[name] = round(taken.seconds, 2)
        took.append(taken.seconds)
        peak, ended, failed = max(peak, taken.peak_mib), taken.ended, failed or taken.failed
    steps = [log(max(after, 0.01) / max(before, 0.01)) for before, after in pairwise(took)]
    grown = [log(after / before) for before, after in pairwise(sizes)]
    row["exponent"] = round(steps[-1] / grown[len(steps) - 1], 2) if steps else None
    row["MiB"] = round(peak)
    row["failed"] = "; ".join(failed)[:80]
    return row


def rows(shapes: Sequence[str], sizes: Sequence[int], read: Callable[[Answer], Taken]) -> Iterator[Row]:
    """Yield the row of each shape."""
    for shape in shapes:
        yield growth(shape, sizes, read)


def _answer(shape: str, size: int) -> Answer:
    return Answer("http://a.test/x/1.html", 200, _FIELDS, page_of(shape, size))
