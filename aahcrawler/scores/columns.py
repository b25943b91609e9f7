"""Columns of a score log: one value where all are the same, decimals no more than needed."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def packed(values: Sequence[T]) -> list[T] | T | None:
    """Return a column, as one value where all are the same; None where there are none.

    >>> packed([0.5, 0.5]), packed([0.5, None]), packed([])
    (0.5, [0.5, None], None)
    """
    if not values:
        return None
    first = values[0]
    return first if values.count(first) == len(values) else list(values)


def unpacked(column: list[T] | T, n: int) -> Sequence[T]:
    """Return the ``n`` values of a column."""
    return column if isinstance(column, list) else [column] * n


def rounded(values: Sequence[float | None], decimals: int) -> list[float | None]:
    """Round values; None becomes NaN, which is written as null.

    >>> rounded([0.12345, None, 1.0], 3)
    [0.123, nan, 1.0]
    """
    found: list[float | None] = np.array(values, np.float64).round(decimals).tolist()
    return found
