"""Coverage and score of central intervals."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, level
from trueline.distributions import Distribution
from trueline.metrics._edge import check_rows
from trueline.metrics._mean import mean

# A few units in the last place.
_ROUNDING = 1e-15


@overload
def coverage(
    y: ArrayLike,
    dist: Distribution,
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
    reduce: Literal[True] = True,
) -> float: ...
@overload
def coverage(
    y: ArrayLike,
    dist: Distribution,
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
    reduce: Literal[False],
) -> FloatArray: ...
def coverage(
    y: ArrayLike,
    dist: Distribution,
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
    reduce: bool = True,
) -> float | FloatArray:
    """Share of outcomes inside their central interval, ends included.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution
        The n forecasts.
    coverage : float, default 0.9
        Probability of the interval.
    sample_weight : (n,) array-like, optional
        Weights of the rows in the mean.
    reduce : bool, default True
        False returns 1.0 for each row inside and 0.0 for each row outside.

    Returns
    -------
    float, or ndarray (n,)

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0, 0.0, 0.0], 1.0)
    >>> tl.coverage([-2.0, 0.5, 1.0, 1.5], F, 0.9)
    0.75
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    miss = interval_misses(y, *dist.interval(level(coverage, "coverage")))
    rows = (miss == 0.0).astype(np.float64)
    return mean(rows, w) if reduce else rows


def interval_misses(y: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Distance by which each outcome misses its interval; 0 for those inside.

    Parameters
    ----------
    y, lower, upper : ndarray, (n,)
        Outcomes and ends of their intervals.

    Returns
    -------
    ndarray, (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.metrics import interval_misses
    >>> interval_misses(np.array([0.0, 3.0]), np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    array([0., 2.])
    """
    miss = lower - y
    np.maximum(miss, y - upper, out=miss)
    # A bound at an outcome of the fit, such as a count, is equal to it up to rounding only.
    return np.where(miss <= _ROUNDING * np.abs(y), 0.0, miss)


@overload
def interval_score(
    y: ArrayLike,
    dist: Distribution,
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
    reduce: Literal[True] = True,
) -> float: ...
@overload
def interval_score(
    y: ArrayLike,
    dist: Distribution,
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
    reduce: Literal[False],
) -> FloatArray: ...
def interval_score(
    y: ArrayLike,
    dist: Distribution,
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
    reduce: bool = True,
) -> float | FloatArray:
    """Mean interval score of the central interval; lower is better.

    It is the width, plus 2 / (1 - coverage) times the distance by which the outcome misses the
    interval (Gneiting and Raftery, 2007, section 6.2, doi:10.1198/016214506000001437).

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution
        The n forecasts.
    coverage : float, default 0.9
        Probability of the interval.
    sample_weight : (n,) array-like, optional
        Weights of the rows in the mean.
    reduce : bool, default True
        False returns the unweighted score of each row.

    Returns
    -------
    float, or ndarray (n,)

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0], 1.0)
    >>> tl.interval_score([0.0, 2.0], F, 0.9, reduce=False).round(4)
    array([ 3.2897, 10.3926])
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    c = level(coverage, "coverage")
    lower, upper = dist.interval(c)
    rows = upper - lower + interval_misses(y, lower, upper) * penalty(c)
    return mean(rows, w) if reduce else rows


def penalty(coverage: float) -> float:
    """Return the weight of a miss in the interval score."""
    return 2.0 / (1.0 - coverage)
