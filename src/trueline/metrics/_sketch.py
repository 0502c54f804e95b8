"""What `evaluate` sorts for, in constant memory: cells that stand for many rows, and that merge."""

from __future__ import annotations

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
        """Count more values."""
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
        filled = np.flatnonzero(self._weight)
        return Ecdf((filled + 1.0) / _BINS, self._weight[filled]).distance()


class SpreadCells:
    """Mean variance and squared error of rows with nearly the same variance.

    Those whose variance is the same once rounded to 16 bits of mantissa share a cell, and so a bin
    of the ENCE. Means over all rows are exact, and those of a bin as well.

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
        """Take more rows."""
        if w is None:
            self._cells.add(variance, 1.0, variance, squared_error)
            return
        kept = w > 0  # nothing times infinity is no number
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
