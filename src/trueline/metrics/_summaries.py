"""Summaries of many rows in a few hundred numbers, for pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, RandomState, check_count, generator, level, weights
from trueline.interop import ForecastLike, check_forecast
from trueline.metrics._bands import consistency_band, inside_band
from trueline.metrics._counts import law_of_counts
from trueline.metrics._pit import Ecdf, uniform_rows
from trueline.metrics._rows import (
    check_rows,
    effective_size,
    mean,
    rows_of_fit,
    size,
)

_PERCENTILES = np.arange(101) / 100
# Relative differences below this are rounding errors.
_RESOLUTION = 1e-9
_FEWEST_BINS, _MOST_BINS = 8, 60


@dataclass(frozen=True, eq=False)
class PITHistogram:
    """Result of `pit_histogram`.

    Attributes
    ----------
    edges : ndarray, (bins + 1,)
        Ends of the bins, 0 to 1.
    density : ndarray, (bins,)
        Share of PIT values in each bin, divided by its width: 1 is uniform.
    lower, upper : ndarray, (bins,)
        Band in which all bins of a calibrated forecast lie with probability `confidence`.
    confidence : float
    n : int
        Number of rows.
    n_effective : float
        The same; with weights Kish's effective number.
    n_fit : float or None
        Number of rows that a recalibrator was fitted on.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0, 0.0, 0.0], 1.0)
    >>> tl.pit_histogram([-1.0, -0.2, 0.3, 0.8], F, bins=2).inside
    True
    """

    edges: FloatArray
    density: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    n: int
    n_effective: float
    n_fit: float | None = None

    @property
    def inside(self) -> bool:
        """Whether every bin lies inside the band."""
        return inside_band(self.density, self.lower, self.upper, self.n_effective)


def pit_histogram(
    y: ArrayLike,
    dist: ForecastLike,
    *,
    bins: int = 20,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    n_fit: float | None = None,
    random_state: RandomState = 0,
) -> PITHistogram:
    """Histogram of the PIT values, with the band that chance explains.

    The histogram of a calibrated forecast is flat: the count in each bin is Binomial(n, 1 / bins).
    A hump in the middle means that the forecast is too wide, a U that it is too narrow, a slope
    that it is biased. The band joins central intervals of the binomial law at the level
    (1 - confidence) / bins (Bonferroni), so it holds for all bins together. For a recalibrated
    forecast the law is the beta-binomial one, which knows the rows of the fit. If the forecast has
    steps the randomised PIT is used, see `pit`.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    bins : int, default 20
        Number of bins of equal width.
    sample_weight : (n,) array-like, optional
        Weights of the rows. The band is then approximate, with Kish's effective number of rows.
    confidence : float, default 0.95
    n_fit : float, optional
        Number of rows that a recalibrator was fitted on; by default as `dist` knows it.
    random_state : None, int or numpy.random.Generator, default 0
        Used if the forecast has steps.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=10_000)
    >>> histogram = tl.pit_histogram(y, tl.Normal(np.zeros(10_000), 0.5), bins=5)
    >>> histogram.density.round(1)  # a U: too narrow
    array([1.7, 0.6, 0.5, 0.6, 1.7])
    >>> histogram.lower.round(2), histogram.upper.round(2)
    (array([0.95, 0.95, 0.95, 0.95, 0.95]), array([1.05, 1.05, 1.05, 1.05, 1.05]))
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    check_count(bins, "bins")
    c = level(confidence, "confidence")
    u = uniform_rows(y, dist, generator(random_state))
    counts, _ = np.histogram(u, bins, (0.0, 1.0), weights=w)
    n_fit = rows_of_fit(n_fit, dist)
    n_effective = effective_size(w, y.size)
    rows = round(n_effective)
    if bins == 1:  # it holds all rows
        lower = upper = np.asarray(float(rows))
    else:
        lower, upper = law_of_counts(rows, n_fit).central(1.0 / bins, (1.0 - c) / bins)
    return PITHistogram(
        edges=np.arange(bins + 1) / bins,
        density=counts * (bins / counts.sum()),
        # With few rows no count may be near the mean; the band includes it nevertheless.
        lower=np.full(bins, np.minimum(lower * bins / rows, 1.0)),
        upper=np.full(bins, np.maximum(upper * bins / rows, 1.0)),
        confidence=c,
        n=y.size,
        n_effective=n_effective,
        n_fit=n_fit,
    )


@dataclass(frozen=True, eq=False)
class PITDifference:
    """Result of `pit_difference`.

    Attributes
    ----------
    levels : ndarray, (points + 1,)
        Probabilities from 0 to 1.
    difference : ndarray, (points + 1,)
        Share of PIT values at or below each level, minus the level: 0 is calibrated.
    lower, upper : ndarray, (points + 1,)
        Band in which the whole difference of a calibrated forecast lies with probability
        `confidence`.
    confidence, n, n_effective, n_fit
        The same as in `PITHistogram`.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0, 0.0, 0.0], 1.0)
    >>> tl.pit_difference([-1.0, -0.2, 0.3, 0.8], F).inside
    True
    """

    levels: FloatArray
    difference: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    n: int
    n_effective: float
    n_fit: float | None = None

    @property
    def inside(self) -> bool:
        """Whether the whole difference lies inside the band."""
        return inside_band(self.difference, self.lower, self.upper, self.n_effective)


def pit_difference(
    y: ArrayLike,
    dist: ForecastLike,
    *,
    points: int = 200,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    n_fit: float | None = None,
    random_state: RandomState = 0,
) -> PITDifference:
    """Empirical CDF of the PIT values minus that of calibrated ones, with a simultaneous band.

    This is the calibration curve minus the diagonal, where small deviations are visible. The band
    is that of `calibration_curve`. If the forecast has steps the randomised PIT is used, see `pit`.

    Parameters
    ----------
    y, dist, sample_weight, confidence, n_fit, random_state
        The same as in `pit_histogram`.
    points : int, default 200
        Number of steps from level 0 to level 1.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=10_000)
    >>> found = tl.pit_difference(y, tl.Normal(np.zeros(10_000), 0.9), points=4)
    >>> found.difference.round(3)
    array([ 0.   ,  0.021,  0.003, -0.028,  0.   ])
    >>> found.inside
    False
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    check_count(points, "points")
    c = level(confidence, "confidence")
    p = np.arange(points + 1) / points
    n_fit = rows_of_fit(n_fit, dist)
    n_effective = effective_size(w, y.size)
    lower, upper = consistency_band(round(n_effective), p, c, n_fit)
    observed = Ecdf(uniform_rows(y, dist, generator(random_state)), w).at(p)
    return PITDifference(p, observed - p, lower - p, upper - p, c, y.size, n_effective, n_fit)


@dataclass(frozen=True, eq=False)
class Widths:
    """Result of `interval_widths`.

    Attributes
    ----------
    mean, median : float
    levels, quantiles : ndarray, (101,)
        Widths at the percentiles 0, 0.01, ..., 1: the smallest, ..., the largest.
    edges, density : ndarray, (k + 1,) and (k,)
        Histogram of the widths. Widths far beyond the bulk lie outside the edges: the density
        integrates to the share of rows inside.
    coverage : float
        Probability of the intervals.
    n : int
        Number of rows.

    Examples
    --------
    >>> import trueline as tl
    >>> widths = tl.interval_widths(tl.Normal([0.0, 5.0, 9.0], [1.0, 2.0, 6.0]), 0.9)
    >>> round(widths.median, 2), round(widths.mean, 2)
    (6.58, 9.87)
    """

    mean: float
    median: float
    levels: FloatArray
    quantiles: FloatArray
    edges: FloatArray
    density: FloatArray
    coverage: float
    n: int


def interval_widths(
    dist: ForecastLike, coverage: float = 0.9, *, sample_weight: ArrayLike | None = None
) -> Widths:
    """Distribution of the widths of the central intervals.

    Parameters
    ----------
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    coverage : float, default 0.9
        Probability of the intervals.
    sample_weight : (n,) array-like, optional
        Weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> F = tl.Normal(np.zeros(1000), np.linspace(1.0, 2.0, 1000))
    >>> widths = tl.interval_widths(F, 0.5)
    >>> widths.quantiles[[0, 50, 100]].round(2)
    array([1.35, 2.02, 2.7 ])
    """
    dist = check_forecast(dist)
    w = weights(sample_weight, len(dist), "the forecast")
    c = level(coverage, "coverage")
    lower, upper = dist.interval(c)
    with np.errstate(over="ignore"):
        widths = upper - lower
    average = mean(widths, w)
    if w is None:
        widths.sort()
    else:
        kept = np.argsort(widths)
        kept = kept[w[kept] > 0]
        widths, w = widths[kept], w[kept]
    quantiles = _percentiles(widths, w)
    edges = _bin_edges(quantiles, effective_size(w, widths.size))
    counts, _ = np.histogram(widths, edges, weights=w)
    return Widths(
        mean=average,
        median=float(quantiles[50]),
        levels=_PERCENTILES.copy(),
        quantiles=quantiles,
        edges=edges,
        density=counts / (size(w, widths.size) * np.diff(edges)),
        coverage=c,
        n=len(dist),
    )


def _percentiles(values: FloatArray, w: FloatArray | None) -> FloatArray:
    """Return the smallest sorted values that at least a share p of the weight does not exceed."""
    if w is None:
        reached = -(-np.arange(101) * values.size // 100) - 1
    else:
        mass = np.cumsum(w)
        reached = np.searchsorted(mass, _PERCENTILES * mass[-1])
    return values[np.clip(reached, 0, values.size - 1)]


def _bin_edges(quantiles: FloatArray, n_effective: float) -> FloatArray:
    """Return edges that cover the bulk of the values."""
    finite = quantiles[np.isfinite(quantiles)]
    if finite.size == 0:
        return np.array([0.0, 1.0])
    low, high = finite[1:-1][[0, -1]] if finite.size == quantiles.size else finite[[0, -1]]
    # Extend the edges to the ends of the values, but by half the bulk at most.
    reach = 0.5 * (high - low)
    low, high = max(finite[0], low - reach), min(finite[-1], high + reach)
    if high - low <= _RESOLUTION * high:
        # If all widths are equal, draw one bar around them.
        return np.array([0.95, 1.05]) * high if high > 0 else np.array([0.0, 1.0])
    gap = float(np.diff(np.unique(finite)).min())
    if (high - low) / gap < _MOST_BINS and np.allclose(finite / gap, np.rint(finite / gap)):
        # Widths of intervals of counts are whole numbers of steps: one bin for each.
        return gap * (np.arange(round(low / gap), round(high / gap) + 2) - 0.5)
    bins = int(np.clip(round(2.0 * n_effective ** (1 / 3)), _FEWEST_BINS, _MOST_BINS))
    return np.linspace(low, high, bins + 1)
