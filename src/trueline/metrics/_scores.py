"""Scores of forecasts: CRPS, log score, pinball loss, coverage and score of intervals."""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray, level as check_level, levels as check_levels
from trueline.distributions import Distribution
from trueline.interop import ForecastLike
from trueline.metrics._rows import check_rows, mean, size, total

Weights = ArrayLike | None

# Number of elements of a table of rows and levels that is worked on at a time.
_BLOCK = 1 << 17
# A few units in the last place.
_ROUNDING = 1e-15


@overload
def crps(
    y: ArrayLike, dist: ForecastLike, *, sample_weight: Weights = None, reduce: Literal[True] = True
) -> float: ...
@overload
def crps(
    y: ArrayLike, dist: ForecastLike, *, sample_weight: Weights = None, reduce: Literal[False]
) -> FloatArray: ...
def crps(
    y: ArrayLike, dist: ForecastLike, *, sample_weight: Weights = None, reduce: bool = True
) -> float | FloatArray:
    """Mean continuous ranked probability score; lower is better.

    CRPS(F, y) = integral of (F(x) - 1{y <= x})^2 dx, in the unit of y (Gneiting and Raftery,
    2007, doi:10.1198/016214506000001437).

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    sample_weight : (n,) array-like, optional
        Weights of the rows in the mean.
    reduce : bool, default True
        False returns the unweighted score of each row.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal(loc=[1, 2, 3], scale=[0.1, 0.5, 1])
    >>> round(tl.crps([1.5, 3, 2], F), 6)
    0.590806
    >>> tl.crps([1.5, 3, 2], F, reduce=False).round(4)
    array([0.4436, 0.7264, 0.6024])
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    with np.errstate(over="ignore"):
        rows = dist._crps(y[:, None])[:, 0]
    return mean(rows, w) if reduce else rows


@overload
def log_score(
    y: ArrayLike, dist: ForecastLike, *, sample_weight: Weights = None, reduce: Literal[True] = True
) -> float: ...
@overload
def log_score(
    y: ArrayLike, dist: ForecastLike, *, sample_weight: Weights = None, reduce: Literal[False]
) -> FloatArray: ...
def log_score(
    y: ArrayLike, dist: ForecastLike, *, sample_weight: Weights = None, reduce: bool = True
) -> float | FloatArray:
    """Mean negative log density, which is the negative log likelihood per row; lower is better.

    If a distribution has atoms this is the density of its continuous part; see the class. A row
    without density at its outcome scores infinity and makes the mean infinite. A `Point` forecast
    scores infinity unless it is right in every row.

    Parameters
    ----------
    y, dist, sample_weight, reduce
        The same as in `crps`.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal(loc=[1, 2, 3], scale=[0.1, 0.5, 1])
    >>> round(tl.log_score([1.5, 3, 2], F), 6)
    4.920361
    >>> tl.log_score([1.0, 2.0], tl.Point([1.0, 1.0]))
    inf
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    with np.errstate(over="ignore"):
        rows = -dist._logpdf(y[:, None])[:, 0]
    return mean(rows, w) if reduce else rows


@overload
def pinball_loss(
    y: ArrayLike,
    dist: ForecastLike,
    level: float,
    *,
    sample_weight: Weights = None,
    reduce: Literal[True] = True,
) -> float: ...
@overload
def pinball_loss(
    y: ArrayLike,
    dist: ForecastLike,
    level: ArrayLike,
    *,
    sample_weight: Weights = None,
    reduce: bool = True,
) -> FloatArray: ...
def pinball_loss(
    y: ArrayLike,
    dist: ForecastLike,
    level: ArrayLike,
    *,
    sample_weight: Weights = None,
    reduce: bool = True,
) -> float | FloatArray:
    """Mean pinball (quantile) loss of the forecast's quantiles; lower is better.

    For the quantile q at level p it is p (y - q) above q and (1 - p) (q - y) below (Koenker and
    Bassett, 1978, doi:10.2307/1913643). Twice its average over all levels is the CRPS.

    Many levels cost little more than one if all rows share one law, as those of `Normal` do,
    recalibrated or not: the scores are sorted once, and each level needs two sums.

    Parameters
    ----------
    y, dist, sample_weight, reduce
        The same as in `crps`.
    level : scalar or (m,) array-like
        Levels in (0, 1).

    Returns
    -------
    float for one level, ndarray (m,) for m; with ``reduce=False`` (n,) or (n, m)

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0], 1.0)
    >>> round(tl.pinball_loss([-1.0, 1.0], F, 0.5), 4)
    0.5
    >>> tl.pinball_loss([-1.0, 1.0], F, [0.1, 0.5, 0.9]).round(4)
    array([0.1282, 0.5   , 0.1282])
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    p = check_levels(level, "level")
    if not reduce:
        return pinball_rows(y if p.ndim == 0 else y[:, None], dist.ppf(p), p)
    if p.ndim == 0:
        return mean(pinball_rows(y, dist.ppf(p), p), w)
    dist._take(np.zeros(1, dtype=np.intp)).ppf(p)  # warns where a level lacks support
    z = dist._common_scores(p[None, :])
    if z is not None:
        return _pinball_means(y, dist, p, z[0], w)
    return _pinball_means_in_blocks(y, dist, p, w)


def pinball_rows(y: FloatArray, quantile: FloatArray, p: FloatArray) -> FloatArray:
    """Pinball loss, elementwise."""
    excess = y - quantile
    return np.maximum(p * excess, (p - 1.0) * excess)


def _pinball_means(
    y: FloatArray, dist: Distribution, p: FloatArray, z: FloatArray, w: FloatArray | None
) -> FloatArray:
    """Mean loss at m levels whose quantiles are loc + scale * z.

    With scores t, the loss is the sum of scale (z - t) (1{t <= z} - p): sorted, its parts are
    sums over the scores at or below z, and over all.
    """
    t = dist._score(y[:, None])[:, 0]
    order = np.argsort(t)
    t = t[order]
    scale = dist._width()[order]
    if w is not None:
        scale *= w[order]
    count = np.searchsorted(t, z, side="right")
    mass, all_mass = _sum_up_to(count, scale)
    scale *= t
    moment, all_moment = _sum_up_to(count, scale)
    below = z * mass - moment
    above = (all_moment - moment) - z * (all_mass - mass)
    return np.asarray((1.0 - p) * below + p * above) / size(w, y.size)


def _sum_up_to(count: NDArray[np.intp], terms: FloatArray) -> tuple[FloatArray, float]:
    """Return the sums of the first ``count`` terms, and of all."""
    sums = np.cumsum(terms)
    return np.where(count > 0, sums[count - 1], 0.0), float(sums[-1])


def _pinball_means_in_blocks(
    y: FloatArray, dist: Distribution, p: FloatArray, w: FloatArray | None
) -> FloatArray:
    sums = np.zeros(p.size)
    step = max(1, _BLOCK // p.size)
    for start in range(0, y.size, step):
        rows = np.arange(start, min(start + step, y.size))
        losses = pinball_rows(y[rows, None], dist._take(rows)._ppf(p[None, :]), p)
        part = None if w is None else w[rows]
        sums += [total(loss, part) for loss in losses.T]
    return sums / size(w, y.size)


@overload
def coverage(
    y: ArrayLike,
    dist: ForecastLike,
    coverage: float | tuple[float, float] = 0.9,
    *,
    sample_weight: Weights = None,
    reduce: Literal[True] = True,
) -> float: ...
@overload
def coverage(
    y: ArrayLike,
    dist: ForecastLike,
    coverage: float | tuple[float, float] = 0.9,
    *,
    sample_weight: Weights = None,
    reduce: Literal[False],
) -> FloatArray: ...
def coverage(
    y: ArrayLike,
    dist: ForecastLike,
    coverage: float | tuple[float, float] = 0.9,
    *,
    sample_weight: Weights = None,
    reduce: bool = True,
) -> float | FloatArray:
    """Share of outcomes inside an interval of their forecast, ends included.

    The share of a calibrated forecast is the probability of the interval, up to chance: that of
    the central interval, or p2 - p1 for the interval between two levels (Eq. 5 of the paper).

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    coverage : float or tuple (p1, p2), default 0.9
        Probability of the central interval; or the levels of both ends of another interval, in
        [0, 1]. At the level 0 or 1 the interval has no end.
    sample_weight : (n,) array-like, optional
        Weights of the rows in the mean.
    reduce : bool, default True
        False returns 1.0 for each row inside and 0.0 for each row outside.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0, 0.0, 0.0], 1.0)
    >>> tl.coverage([-2.0, 0.5, 1.0, 1.5], F, 0.9)
    0.75
    >>> tl.coverage([-2.0, 0.5, 1.0, 1.5], F, (0.5, 1.0))
    0.75
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    miss = interval_misses(y, *_ends(dist, coverage))
    rows = (miss == 0.0).astype(np.float64)
    return mean(rows, w) if reduce else rows


def _ends(
    dist: Distribution, coverage: float | tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the central interval, or of that between two levels."""
    if not isinstance(coverage, tuple):
        return dist.interval(check_level(coverage, "coverage"))
    p = check_levels(coverage, "coverage", closed=True)
    if p.size != 2 or not p[0] < p[1]:
        raise ValueError(
            f"coverage is {coverage!r}; expected one number in (0, 1), or the two levels "
            f"(p1, p2) of the ends of an interval, the smaller one first."
        )
    n = len(dist)
    lower = np.full(n, -np.inf) if p[0] == 0.0 else dist.ppf(p[0])
    upper = np.full(n, np.inf) if p[1] == 1.0 else dist.ppf(p[1])
    return lower, upper


def interval_misses(y: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Distance by which each outcome misses its interval; 0 for those inside.

    Parameters
    ----------
    y, lower, upper : ndarray, (n,)
        Outcomes and ends of their intervals.

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
    dist: ForecastLike,
    coverage: float = 0.9,
    *,
    sample_weight: Weights = None,
    reduce: Literal[True] = True,
) -> float: ...
@overload
def interval_score(
    y: ArrayLike,
    dist: ForecastLike,
    coverage: float = 0.9,
    *,
    sample_weight: Weights = None,
    reduce: Literal[False],
) -> FloatArray: ...
def interval_score(
    y: ArrayLike,
    dist: ForecastLike,
    coverage: float = 0.9,
    *,
    sample_weight: Weights = None,
    reduce: bool = True,
) -> float | FloatArray:
    """Mean interval score of the central interval; lower is better.

    It is the width, plus 2 / (1 - coverage) times the distance by which the outcome misses the
    interval (Gneiting and Raftery, 2007, section 6.2, doi:10.1198/016214506000001437).

    Parameters
    ----------
    y, dist, coverage, sample_weight
        The same as in `coverage`.
    reduce : bool, default True
        False returns the unweighted score of each row.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0], 1.0)
    >>> tl.interval_score([0.0, 2.0], F, 0.9, reduce=False).round(4)
    array([ 3.2897, 10.3926])
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    c = check_level(coverage, "coverage")
    lower, upper = dist.interval(c)
    rows = upper - lower + interval_misses(y, lower, upper) * (2.0 / (1.0 - c))
    return mean(rows, w) if reduce else rows
