"""Sharpness, and whether the predicted spread matches the errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, check_count, weights
from trueline.distributions import Distribution
from trueline.interop import ForecastLike, check_forecast
from trueline.metrics._rows import check_rows, levels_below, mean

N_BINS = 10


def sharpness(dist: ForecastLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean variance of the forecasts, Eq. 10 of the paper; lower is sharper.

    Sharper forecasts are better only if they are calibrated. The unit is that of y squared; the
    root is the root mean squared predicted standard deviation.

    Parameters
    ----------
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    sample_weight : (n,) array-like, optional
        Weights of the rows in the mean.

    Returns
    -------
    float
        Infinite if a forecast has no finite variance.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal(loc=[1, 2, 3], scale=[0.1, 0.5, 1])
    >>> round(tl.sharpness(F), 4), round(tl.sharpness(F) ** 0.5, 6)
    (0.42, 0.648074)
    """
    dist = check_forecast(dist)
    w = weights(sample_weight, len(dist), "the forecast")
    return mean(variance_rows(dist), w)


def variance_rows(dist: Distribution) -> FloatArray:
    """Return the variance of each row, infinite if it is not defined."""
    with np.errstate(over="ignore"):
        var = dist._var()
    return np.where(np.isnan(var), np.inf, var) if np.isnan(var.sum()) else var


def squared_error_rows(y: FloatArray, dist: Distribution) -> FloatArray:
    """Return the squared error of each predicted mean."""
    with np.errstate(over="ignore"):
        return np.square(y - dist._mean())


def ence(
    y: ArrayLike,
    dist: ForecastLike,
    n_bins: int = N_BINS,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Expected normalised calibration error: whether errors grow with the predicted spread.

    Rows are put into bins of equal count by predicted standard deviation. In each bin the root
    mean predicted variance (rmv) is compared with the root mean squared error (rmse) of the
    predicted mean; the result is the mean of abs(rmv - rmse) / rmv over the bins (Levi et al.,
    2022, doi:10.3390/s22155540). For a perfect forecaster it is of the order of
    sqrt(n_bins / n), not 0.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    n_bins : int, default 10
        Number of bins. Rows with the same standard deviation share a bin, and empty bins are left
        out of the mean.
    sample_weight : (n,) array-like, optional
        Weights of the rows; bins are then of equal weight.

    Returns
    -------
    float
        A bin with rmv 0 counts 0 if its rmse is 0 and infinity otherwise; a bin with infinite
        rmv counts 1, the limit.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> scale = np.array([1.0, 1.0, 3.0, 3.0])
    >>> y = np.array([1.0, -1.0, 6.0, -6.0])  # the wide forecasts are too narrow by half
    >>> tl.ence(y, tl.Normal(np.zeros(4), scale), n_bins=2)
    0.5
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    check_count(n_bins, "n_bins")
    return binned_error(variance_rows(dist), squared_error_rows(y, dist), n_bins, w)


def binned_error(
    variance: FloatArray, squared_error: FloatArray, n_bins: int, w: FloatArray | None
) -> float:
    """Return the ENCE from the variance and the squared error of each row."""
    if w is not None and not w.min() > 0:
        kept = w > 0
        variance, squared_error, w = variance[kept], squared_error[kept], w[kept]
    spread = _without_last_bits(variance)
    bins = levels_below(_edges(spread, n_bins, w), spread)
    weight = np.bincount(bins, w)
    filled = weight > 0
    rmv, rmse = (
        np.sqrt(np.bincount(bins, a if w is None else w * a)[filled] / weight[filled])
        for a in (variance, squared_error)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.abs(rmv - rmse) / rmv
    errors[np.isinf(rmv)] = 1.0
    errors[(rmv == 0) & (rmse == 0)] = 0.0
    return float(errors.mean())


def _without_last_bits(values: FloatArray) -> FloatArray:
    """Return the values to 12 digits, so that those that are equal but for rounding are equal."""
    part, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(part * 2.0**40), exponent - 40))


def _edges(values: FloatArray, n_bins: int, w: FloatArray | None) -> FloatArray:
    """Return the distinct upper ends of all bins but the last.

    A value belongs to bin b if at least a share b / n_bins of the weight lies strictly below
    it: equal values stay together, and a row of weight 2 counts as two rows.
    """
    b = np.arange(1, n_bins)
    if w is None:
        ranks = -(-b * values.size // n_bins) - 1
        return np.unique(np.sort(values)[ranks])
    order = np.argsort(values)
    weight = w[order]
    np.cumsum(weight, out=weight)
    return np.unique(values[order[np.searchsorted(weight, b * weight[-1] / n_bins)]])
