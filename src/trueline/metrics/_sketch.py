"""Cells that stand for many rows, for the diagnostics of `evaluate` that need sorted rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from trueline._validation import FloatArray
from trueline.metrics._pit import Ecdf
from trueline.metrics._spread import N_BINS, binned_error
from trueline.recalibration._cells import Cells

_BINS = 1 << 20


class PitHistogram:
    """Weight of the PIT values in 2^20 bins: the Kolmogorov-Smirnov statistic within 1e-6.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.metrics._sketch import PitHistogram
    >>> histogram = PitHistogram()
    >>> histogram.add(np.array([0.25, 0.75]), None)
    >>> histogram.distance()
    0.25
    """

    def __init__(self) -> None:
        self._weight = np.zeros(_BINS)

    def add(self, u: FloatArray, w: FloatArray | None) -> None:
        """Add values."""
        # Bin b holds the values above b / 2^20, up to (b + 1) / 2^20.
        at = np.ceil(u * _BINS)
        at -= 1.0
        bins = np.maximum(at, 0.0, out=at).astype(np.intp)
        np.add.at(self._weight, bins, 1.0 if w is None else w)

    def merge(self, other: PitHistogram) -> Self:
        """Return the histogram of both; neither changes."""
        merged = copy(self)
        merged._weight = self._weight + other._weight
        return merged

    def distance(self) -> float:
        """Largest distance from the uniform CDF, with each value at the upper end of its bin."""
        filled, weight = self.to_state()
        return Ecdf((filled + 1.0) / _BINS, weight).distance()

    def to_state(self) -> tuple[FloatArray, FloatArray]:
        """Return the positions of the bins that are not empty, and their weights."""
        filled = np.flatnonzero(self._weight)
        return filled.astype(np.float64), self._weight[filled]

    @classmethod
    def from_state(cls, state: Sequence[FloatArray]) -> Self:
        """Return the histogram that `to_state` described."""
        bins, weight = state
        made = cls()
        made._weight[bins.astype(np.intp)] = weight
        return made


class SpreadCells:
    """Mean variance and squared error of rows with nearly the same variance.

    Rows whose variances agree in 16 bits of mantissa share a cell, and therefore a bin of the ENCE.
    Means over all rows and over a bin are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.metrics._sketch import SpreadCells
    >>> cells = SpreadCells()
    >>> cells.add(np.array([1.0, 4.0]), np.array([4.0, 4.0]), None)
    >>> cells.means(), cells.ence()
    ((2.5, 4.0), 0.5)
    """

    def __init__(self) -> None:
        self._cells = Cells(3)

    def add(self, variance: FloatArray, squared_error: FloatArray, w: FloatArray | None) -> None:
        """Add rows."""
        if w is None:
            self._cells.add(variance, 1.0, variance, squared_error)
            return
        kept = w > 0  # 0 times infinity is NaN
        w, variance, squared_error = w[kept], variance[kept], squared_error[kept]
        self._cells.add(variance, w, w * variance, w * squared_error)

    def merge(self, other: SpreadCells) -> Self:
        """Return the cells of both; neither changes."""
        merged = copy(self)
        merged._cells = self._cells.merge(other._cells)
        return merged

    def means(self) -> tuple[float, float]:
        """Mean variance and mean squared error."""
        _, (weight, *sums) = self._cells.filled()
        variance, squared_error = (float(s.sum() / weight.sum()) for s in sums)
        return variance, squared_error

    def ence(self) -> float:
        """Expected normalised calibration error."""
        _, (weight, variance, squared_error) = self._cells.filled()
        return binned_error(variance / weight, squared_error / weight, N_BINS, weight)

    def to_state(self) -> tuple[FloatArray, ...]:
        """Return the variance and the sums of the cells that are not empty."""
        variance, sums = self._cells.filled()
        return variance, *sums

    @classmethod
    def from_state(cls, state: Sequence[FloatArray]) -> Self:
        """Return the cells that `to_state` described."""
        made = cls()
        made._cells.add(*state)
        return made
