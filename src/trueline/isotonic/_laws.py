"""The laws of y given a number x, isotonic in distribution, fitted on rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.isotonic._pool import pool

# Up to this number of rows every outcome is a threshold; beyond, so many of them are.
_MOST_ROWS = 5000
_MOST_THRESHOLDS = 1000
# Number of elements of the sequences that are pooled together.
_BLOCK = 1 << 17


@dataclass(frozen=True, eq=False)
class IsotonicLaws:
    """Laws of y at increasing x whose CDFs fall in x, so that quantiles rise (Henzi et al., 2021).

    At every threshold the CDF is the isotonic regression of the event that y is at or below it,
    which is the solution of isotonic distributional regression for every proper score of the
    threshold family, the CRPS among them (doi:10.1111/rssb.12450). It is constant on blocks of x,
    of which there are few, so that only these are stored.

    Attributes
    ----------
    x : (m,) array
        Different covariates, increasing.
    thresholds : (K,) array
        Values of y at which the CDFs may jump, increasing.
    keys : (b,) array of int
        For a block that begins at x[i], at threshold k: k * m + i, increasing.
    levels : (b,) array
        Value of the CDF on each block.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.isotonic import IsotonicLaws
    >>> laws = IsotonicLaws.fit(np.array([1.0, 2.0, 3.0]), np.array([5.0, 4.0, 6.0]))
    >>> laws.cdf(np.arange(3)[:, None], np.arange(3))
    array([[0.5, 1. , 1. ],
           [0.5, 1. , 1. ],
           [0. , 0. , 1. ]])
    """

    x: FloatArray
    thresholds: FloatArray
    keys: NDArray[np.intp]
    levels: FloatArray

    @classmethod
    def fit(cls, x: FloatArray, y: FloatArray, w: FloatArray | None = None) -> IsotonicLaws:
        """Fit the laws on rows with weights above 0."""
        different, place = np.unique(x, return_inverse=True)
        z = thresholds(y, w)
        m, cell = len(different), np.searchsorted(z, y)
        weight = np.bincount(place, w, m).astype(np.float64)
        order = np.argsort(cell, kind="stable")
        place, cell = place[order], cell[order]
        mass = np.ones(len(y)) if w is None else w[order]
        keys, levels, below = [], [], np.zeros(m)
        size = max(1, _BLOCK // m)
        weights = np.tile(weight, min(size, len(z)))
        for first in range(0, len(z), size):
            last = min(first + size, len(z))
            rows = slice(*np.searchsorted(cell, [first, last]))
            at = (cell[rows] - first) * m + place[rows]
            added = np.bincount(at, mass[rows], (last - first) * m)
            total = np.asarray(added, dtype=np.float64).reshape(-1, m)
            total[0] += below
            for k in range(1, last - first):
                total[k] += total[k - 1]
            below = total[-1].copy()
            if last == len(z):
                total[-1] = weight  # sums of weights may be rounded
            starts, means = pool(total.ravel(), weights[: total.size], m)
            keys.append(starts + first * m)
            levels.append(means)
        return cls(different, z, np.concatenate(keys), np.concatenate(levels))

    def cdf(self, place: NDArray[np.intp], k: NDArray[np.intp]) -> FloatArray:
        """Return the CDF at x[place] and thresholds[k]; 0 if k is -1."""
        block = np.searchsorted(self.keys, k * len(self.x) + place, side="right") - 1
        return np.where(k < 0, 0.0, self.levels[np.maximum(block, 0)])

    def cdfs(self, places: NDArray[np.intp]) -> FloatArray:
        """Return the CDFs at increasing places and all thresholds, (K, places)."""
        m, k = len(self.x), len(self.thresholds)
        first = np.searchsorted(places, self.keys % m)
        ends = self.keys // m * len(places) + first
        counts = np.diff(ends, append=k * len(places))
        return np.repeat(self.levels, counts).reshape(k, len(places))

    def locate(self, x: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """Return the place of the last covariate at or below each x, and the share of the next.

        CDFs between two covariates are interpolated, and those outside are those of the outermost.
        """
        last = len(self.x) - 1
        place = np.clip(np.searchsorted(self.x, x, side="right") - 1, 0, last)
        after = np.minimum(place + 1, last)
        gap = self.x[after] - self.x[place]
        share = (x - self.x[place]) / np.where(gap > 0, gap, 1.0)
        return place, np.where(gap > 0, np.clip(share, 0.0, 1.0), 0.0)


def thresholds(y: FloatArray, w: FloatArray | None = None) -> FloatArray:
    """Return the different outcomes; of those of more than 5,000 rows, up to 1,000 quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.isotonic import thresholds
    >>> thresholds(np.array([2.0, 1.0, 2.0])), len(thresholds(np.arange(6000.0)))
    (array([1., 2.]), 1000)
    """
    values, place = np.unique(y, return_inverse=True)
    if len(y) <= _MOST_ROWS or len(values) <= _MOST_THRESHOLDS:
        return values
    below = np.cumsum(np.bincount(place, w))
    wanted = np.arange(1, _MOST_THRESHOLDS) / _MOST_THRESHOLDS * below[-1]
    chosen = np.append(np.searchsorted(below, wanted), len(values) - 1)
    return values[np.unique(chosen)]
