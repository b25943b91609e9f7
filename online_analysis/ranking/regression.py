"""Ridge regression on sparse rows, by conjugate gradients (Hestenes and Stiefel 1952)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_STEPS = 15
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Row:
    """The known values of one page, in some columns, zero in all others. A column may come twice."""

    columns: NDArray[np.int32]
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Rows:
    """Concatenated rows: ``owners`` gives the row of each entry."""

    n: int
    columns: NDArray[np.integer]
    values: NDArray[np.floating]
    owners: Integers

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Rows":
        """Put rows together, at least one."""
        columns = [row.columns for row in rows]
        owners = np.arange(len(rows)).repeat(list(map(len, columns)))
        return cls(len(rows), np.concatenate(columns), np.concatenate([row.values for row in rows]), owners)

    def times(self, weights: Floats) -> Floats:
        """Return the product of each row with the weights of all columns."""
        return _sums(self.owners, self.values * weights.take(self.columns), self.n)


class Weights:
    """The weight of each of many columns; zero before training."""

    def __init__(self, columns: int) -> None:
        self.all: Floats = np.zeros(columns)
        self._set: NDArray[np.integer] = np.zeros(0, np.int64)

    def replace(self, columns: NDArray[np.integer], values: Floats) -> None:
        """Give some columns these values, and all others zero."""
        self.all[self._set] = 0.0
        self.all[columns] = values
        self._set = columns


class Ridge:
    """Fits weights for the columns of rows, repeatedly for the same rows with different targets."""

    def __init__(self, rows: Rows, penalty: float) -> None:
        self._columns, places = np.unique(rows.columns, return_inverse=True)
        self._rows = Rows(rows.n, places, rows.values.astype(np.float64), rows.owners)
        self._penalty = penalty

    def fit(self, targets: Floats, weights: Weights) -> None:
        """Set the weights that minimise ``|rows * w - targets|^2 + penalty * |w|^2``.

        The search starts from the present weights. It ends after fifteen steps, so the result may be short of the
        minimum where there are many rows; the next call continues from there.
        """
        weights.replace(self._columns, self._descend(targets, weights.all[self._columns]))

    def _descend(self, targets: Floats, start: Floats) -> Floats:
        found = start
        residual = self._back(targets - self._rows.times(found)) - self._penalty * found
        direction, size = residual, float(residual @ residual)
        enough = _TOLERANCE * max(size, 1e-12)
        for _ in range(_STEPS):
            if size <= enough:
                break
            image = self._back(self._rows.times(direction)) + self._penalty * direction
            step = size / float(direction @ image)
            found = found + step * direction
            residual = residual - step * image
            former, size = size, float(residual @ residual)
            direction = residual + size / former * direction
        return found

    def _back(self, values: Floats) -> Floats:
        rows = self._rows
        return _sums(rows.columns, rows.values * values.take(rows.owners), len(self._columns))


def _sums(places: NDArray[np.integer], values: Floats, n: int) -> Floats:
    return np.bincount(places, values, n).astype(np.float64, copy=False)
