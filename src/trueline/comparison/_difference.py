"""The difference of the scores of two forecasts, and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from trueline._validation import FloatArray
from trueline.metrics import effective_size
from trueline.metrics._rows import mean

# Relative differences of mean scores below this are rounding errors.
_ROUNDING = 1e-12
# Number of standard errors that make a single difference clear, for many rows.
_CLEAR = 2.0


@dataclass(frozen=True)
class Difference:
    """Mean difference between two forecasts, second minus first, with its standard error.

    Attributes
    ----------
    mean : float
        It is infinite if one of the means is, and NaN if both are.
    error : float
        Its standard error; NaN if `mean` is not finite or there is a single row.
    limit : float
        Number of standard errors beyond which the difference is clear.

    Examples
    --------
    >>> from trueline.comparison import Difference
    >>> Difference(-0.3, 0.1).clear
    True
    """

    mean: float
    error: float
    limit: float = _CLEAR

    @property
    def clear(self) -> bool:
        """Whether chance does not explain it: it is more than `limit` standard errors from 0."""
        return math.isinf(self.mean) or abs(self.mean) > self.limit * self.error


def score_difference(
    first: FloatArray,
    second: FloatArray,
    w: FloatArray | None,
    *,
    groups: NDArray[np.intp] | None = None,
    pairs: int = 1,
) -> Difference:
    """Return the mean difference of the scores of the same rows, with its standard error.

    Parameters
    ----------
    first, second : (n,) array
        Scores per row.
    w : (n,) array or None
        Weights of the rows; the error counts rows by Kish's effective number.
    groups : (n,) array of int, optional
        Index of each row's group. Rows of a group may then depend on each other: the error is that
        of sums over groups.
    pairs : int, default 1
        Number of differences that are looked at, which raises the limit (Bonferroni).

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.comparison import score_difference
    >>> score_difference(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 7.0]), None)
    Difference(mean=2.0, error=1.0, limit=4.526...)
    """
    if w is not None:
        kept = w > 0  # because a row of weight 0 may have an infinite score
        first, second, w = first[kept], second[kept], w[kept]
        groups = None if groups is None else groups[kept]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        means = mean(first, w), mean(second, w)
        centre = float(np.subtract(means[1], means[0]))
        if abs(centre) <= _ROUNDING * min(map(abs, means)):
            centre = 0.0
        rows = second - first - centre
        if groups is None:
            free = effective_size(w, rows.size) - 1.0
            variance = np.average(np.square(rows), weights=w) / np.float64(free)
        else:
            ones = np.ones(rows.size) if w is None else w
            sums = np.bincount(groups, ones * rows)
            free = np.unique(groups).size - 1.0
            variance = np.square(sums / ones.sum()).sum() * (free + 1.0) / np.float64(free)
        error = np.sqrt(variance) if np.isfinite(centre) else math.nan
    limit = -stdtrit(free, float(ndtr(-_CLEAR)) / pairs) if free > 0.0 else math.inf
    return Difference(centre, float(error), float(limit))
