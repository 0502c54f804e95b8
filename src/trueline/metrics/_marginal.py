"""Marginal calibration: the mean of the forecast CDFs against the distribution of the outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, vector
from trueline.interop import ForecastLike
from trueline.metrics._pit import Ecdf
from trueline.metrics._rows import check_rows, size, total

_PERCENTILES = np.arange(101) / 100
# Number of elements of a table of rows and thresholds that is worked on at a time.
_BLOCK = 1 << 17


@dataclass(frozen=True, eq=False)
class MarginalCalibration:
    """Result of `marginal_calibration`.

    Attributes
    ----------
    thresholds : ndarray, (m,)
        Values of the outcome, in its unit.
    predicted : ndarray, (m,)
        Mean over the rows of the predicted probability of an outcome at or below each threshold.
    observed : ndarray, (m,)
        Share of outcomes at or below each threshold.
    standard_error : ndarray, (m,)
        Standard deviation of `difference` if the outcomes are drawn from the forecasts.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0, 4.0, 4.0], 1.0)
    >>> result = tl.marginal_calibration([-1.0, 1.0, 3.0, 5.0], F, [0.0, 2.0, 4.0])
    >>> result.predicted.round(2), result.observed
    (array([0.25, 0.5 , 0.75]), array([0.25, 0.5 , 0.75]))
    """

    thresholds: FloatArray
    predicted: FloatArray
    observed: FloatArray
    standard_error: FloatArray

    @property
    def difference(self) -> FloatArray:
        """The predicted minus the observed share at each threshold; 0 is marginal calibration."""
        return self.predicted - self.observed


def marginal_calibration(
    y: ArrayLike,
    dist: ForecastLike,
    thresholds: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> MarginalCalibration:
    """Mean predicted CDF and empirical CDF of the outcomes, at each of m thresholds.

    Both agree, up to chance, if the forecasts as a whole predict how often each value occurs
    (Gneiting, Balabdaoui and Raftery, 2007, doi:10.1111/j.1467-9868.2007.00587.x). Forecasts can
    be marginally calibrated while their intervals have the wrong coverage, and the other way
    round: use this beside `calibration_curve`, not instead of it. The time is proportional to the
    number of rows times the number of thresholds.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    thresholds : (m,) array-like, optional
        Values of the outcome; the percentiles of `y` by default. They are sorted, without repeats.
    sample_weight : (n,) array-like, optional
        Weights of the rows in both means.

    Examples
    --------
    Forecasts with a width that is far too small for each row hide in the average:

    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> loc, y = rng.normal(size=(2, 2000))
    >>> F = tl.Normal(loc, 0.1)  # as spread out as the outcomes, but not near them
    >>> result = tl.marginal_calibration(y, F, [-1.0, 0.0, 1.0])
    >>> result.predicted.round(2), result.observed.round(2)
    (array([0.17, 0.51, 0.84]), array([0.16, 0.51, 0.84]))
    >>> tl.coverage(y, F, 0.9)
    0.0885
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    if thresholds is None:
        grid = np.unique(np.quantile(y, _PERCENTILES, method="inverted_cdf"))
    else:
        grid = np.unique(vector(thresholds, "thresholds"))
    mean, spread = np.zeros(grid.size), np.zeros(grid.size)
    step = max(1, _BLOCK // grid.size)
    for start in range(0, y.size, step):
        rows = np.arange(start, min(start + step, y.size))
        part = None if w is None else w[rows]
        cdf = dist._take(rows)._cdf(grid[None, :])
        mean += [total(column, part) for column in cdf.T]
        square = None if part is None else part**2
        spread += [total(column, square) for column in (cdf * (1.0 - cdf)).T]
    n = size(w, y.size)
    return MarginalCalibration(grid, mean / n, Ecdf(y.copy(), w).at(grid), np.sqrt(spread) / n)
