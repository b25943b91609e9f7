"""A regression tree: it parts rows of features where that lowers the variance of their values the most."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_LEAST_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Split:
    """Parts rows by one column: those above the threshold leave the leaf for a new one, numbered ``above``."""

    leaf: int
    column: int
    threshold: float
    above: int


@dataclass(frozen=True, slots=True)
class RegressionTree:
    """Splits in the order in which they were made. Without any, all rows are in leaf 0."""

    splits: tuple[Split, ...] = ()

    def __len__(self) -> int:
        """Return the number of leaves."""
        return len(self.splits) + 1

    def leaves(self, rows: Floats) -> Integers:
        """Return the number of the leaf that each row is in."""
        found = np.zeros(len(rows), np.int64)
        for split in self.splits:
            found[(found == split.leaf) & (rows[:, split.column] > split.threshold)] = split.above
        return found


def grown(rows: Floats, values: Floats, least: int) -> RegressionTree:
    """Return a tree that is split as long as that lowers the variance and leaves ``least`` rows on both sides."""
    splits: list[Split] = []
    open_leaves = [(0, np.arange(len(rows)))]
    while open_leaves:
        leaf, members = open_leaves.pop()
        best = _best_split(rows[members], values[members], least)
        if best is None:
            continue
        column, threshold = best
        splits.append(Split(leaf, column, threshold, len(splits) + 1))
        is_above = rows[members, column] > threshold
        open_leaves += [(leaf, members[~is_above]), (len(splits), members[is_above])]
    return RegressionTree(tuple(splits))


def _best_split(rows: Floats, values: Floats, least: int) -> tuple[int, float] | None:
    """Return the column and the threshold that lower the variance the most, None where nothing does."""
    if len(rows) < 2 * least:
        return None
    order = rows.argsort(axis=0, kind="stable")
    ordered = np.take_along_axis(rows, order, 0)
    below = np.cumsum(values[order] - values.mean(), axis=0)[least - 1 : len(rows) - least]
    counts = np.arange(least, len(rows) - least + 1, dtype=np.float64)[:, None]
    gains = below**2 * (1 / counts + 1 / (len(rows) - counts))
    before, after = ordered[least - 1 : len(rows) - least], ordered[least : len(rows) - least + 1]
    gains[before >= after] = 0.0
    place, column = np.unravel_index(int(gains.argmax()), gains.shape)
    if gains[place, column] <= _LEAST_GAIN:
        return None
    return int(column), float((before[place, column] + after[place, column]) / 2)
