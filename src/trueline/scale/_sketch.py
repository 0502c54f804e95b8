"""What `evaluate` sorts for, in constant memory: cells that stand for many rows."""

from __future__ import annotations

import numpy as np

from trueline._validation import FloatArray
from trueline.metrics._pit import Ecdf
from trueline.metrics._spread import N_BINS, binned_error

_BINS = 1 << 20
_CELLS = 1 << 16


class PitHistogram:
    """Weight of the PIT values in 2^20 bins: the Kolmogorov-Smirnov statistic within 1e-6."""

    def __init__(self) -> None:
        self._weight = np.zeros(_BINS)

    def add(self, u: FloatArray, w: FloatArray | None) -> None:
        """Count more values."""
        # Bin b holds the values above b / 2^20, up to (b + 1) / 2^20.
        bins = np.maximum(np.ceil(u * _BINS) - 1.0, 0.0).astype(np.intp)
        self._weight += np.bincount(bins, w, minlength=_BINS)

    def distance(self) -> float:
        """Largest distance from the uniform CDF, with each value at the upper end of its bin."""
        filled = np.flatnonzero(self._weight)
        return Ecdf((filled + 1.0) / _BINS, self._weight[filled]).distance()


class SpreadCells:
    """Mean variance and squared error of rows with nearly the same variance.

    Up to 2^16 cells of equal weight, made anew whenever as many rows have come again. Rows with
    the same variance stay together. Means over all rows are exact; at an edge between the bins of
    the ENCE, a share of at most 2^-16 of the rows for each time may be on the other side.
    """

    def __init__(self) -> None:
        self._variance = np.empty(0)
        self._squared_error = np.empty(0)
        self._weight = np.empty(0)

    def add(self, variance: FloatArray, squared_error: FloatArray, w: FloatArray | None) -> None:
        """Take more rows."""
        weight = np.ones_like(variance) if w is None else w
        self._variance = np.concatenate([self._variance, variance])
        self._squared_error = np.concatenate([self._squared_error, squared_error])
        self._weight = np.concatenate([self._weight, weight])
        if self._variance.size > 8 * _CELLS:
            self._join()

    def _join(self) -> None:
        """Join neighbours to at most 2^16 cells of equal weight, those of equal variance first."""
        order = np.argsort(self._variance, kind="stable")
        variance, weight = self._variance[order], self._weight[order]
        reached = np.cumsum(weight)
        # The cell of a variance is that of its first row: ties stay together.
        first = np.searchsorted(variance, variance)
        cell = np.floor((reached - weight)[first] / reached[-1] * _CELLS)
        starts = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
        total = np.add.reduceat(weight, starts)
        filled = total > 0
        with np.errstate(invalid="ignore"):
            means = [
                np.add.reduceat(weight * a, starts)[filled] / total[filled]
                for a in (variance, self._squared_error[order])
            ]
        self._variance, self._squared_error = means
        self._weight = total[filled]

    def means(self) -> tuple[float, float]:
        """Mean variance and mean squared error."""
        whole = self._weight.sum()
        return (
            float(self._weight @ self._variance / whole),
            float(self._weight @ self._squared_error / whole),
        )

    def ence(self) -> float:
        """Expected normalised calibration error."""
        return binned_error(self._variance, self._squared_error, N_BINS, self._weight)
