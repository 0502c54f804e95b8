"""Summaries of many rows, and of a fitted map, in a few hundred numbers, for pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from trueline._validation import FloatArray, RandomState, check_count, generator, level, weights
from trueline.distributions import Distribution
from trueline.laws import PiecewiseLaw, ScoreLaw, SplineLaw
from trueline.metrics._bands import central_counts, consistency_band, inside_band
from trueline.metrics._pit import Ecdf, uniform_rows
from trueline.metrics._rows import check_forecast, check_rows, effective_size, mean, size
from trueline.recalibration import Key, Recalibrator

_PERCENTILES = np.arange(101) / 100
# Relative differences below this are rounding errors.
_RESOLUTION = 1e-9
_FEWEST_BINS, _MOST_BINS = 8, 60
# Levels of a map are evenly spaced in their normal scores, from 0.001 to 0.999.
_REACH = 3.1
_GRID = 200
_MOST_KNOTS = 100


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

    @property
    def inside(self) -> bool:
        """Whether every bin lies inside the band."""
        return inside_band(self.density, self.lower, self.upper, self.n_effective)


def pit_histogram(
    y: ArrayLike,
    dist: Distribution,
    *,
    bins: int = 20,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> PITHistogram:
    """Histogram of the PIT values, with the band that chance explains.

    The histogram of a calibrated forecast is flat: the count in each bin is Binomial(n, 1 / bins).
    A hump in the middle means that the forecast is too wide, a U that it is too narrow, a slope
    that it is biased. The band joins central intervals of the binomial law at the level
    (1 - confidence) / bins (Bonferroni), so it holds for all bins together. If the forecast has
    steps the randomised PIT is used, see `pit`.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution
        The n forecasts.
    bins : int, default 20
        Number of bins of equal width.
    sample_weight : (n,) array-like, optional
        Weights of the rows. The band is then approximate, with Kish's effective number of rows.
    confidence : float, default 0.95
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
    n_effective = effective_size(w, y.size)
    rows = round(n_effective)
    share = np.full(bins, 1.0 / bins)
    if bins == 1:  # it holds all rows
        lower, upper = share * rows, share * rows
    else:
        lower, upper = central_counts(rows, share, (1.0 - c) / bins)
    return PITHistogram(
        edges=np.arange(bins + 1) / bins,
        density=counts * (bins / counts.sum()),
        # With few rows no count may be near the mean; the band includes it nevertheless.
        lower=np.minimum(lower * bins / rows, 1.0),
        upper=np.maximum(upper * bins / rows, 1.0),
        confidence=c,
        n=y.size,
        n_effective=n_effective,
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
    confidence, n, n_effective : float
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

    @property
    def inside(self) -> bool:
        """Whether the whole difference lies inside the band."""
        return inside_band(self.difference, self.lower, self.upper, self.n_effective)


def pit_difference(
    y: ArrayLike,
    dist: Distribution,
    *,
    points: int = 200,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> PITDifference:
    """Empirical CDF of the PIT values minus that of calibrated ones, with a simultaneous band.

    This is the calibration curve minus the diagonal, where small deviations are visible. The band
    is that of `calibration_curve`. If the forecast has steps the randomised PIT is used, see `pit`.

    Parameters
    ----------
    y, dist, sample_weight, confidence, random_state
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
    n_effective = effective_size(w, y.size)
    lower, upper = consistency_band(round(n_effective), p, c)
    observed = Ecdf(uniform_rows(y, dist, generator(random_state)), w).at(p)
    return PITDifference(p, observed - p, lower - p, upper - p, c, y.size, n_effective)


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
    dist: Distribution, coverage: float = 0.9, *, sample_weight: ArrayLike | None = None
) -> Widths:
    """Distribution of the widths of the central intervals.

    Parameters
    ----------
    dist : Distribution
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
    w = weights(sample_weight, len(check_forecast(dist)), "the forecast")
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
    bins = int(np.clip(round(2.0 * n_effective ** (1 / 3)), _FEWEST_BINS, _MOST_BINS))
    return np.linspace(low, high, bins + 1)


@dataclass(frozen=True, eq=False)
class RecalibrationMap:
    """Result of `recalibration_map`.

    Attributes
    ----------
    scores, probabilities : ndarray, (k,)
        Points of the curve s -> R(s), increasing; a jump of R is two points with one score.
    base_probabilities : ndarray, (k,), or None
        Probability F that the forecast itself gives to each score; a map that changes nothing has
        R = F. None if the forecast gives no probabilities, as a `Point`.
    knots, knot_probabilities : ndarray, (m,)
        Knots of the map in this range, at most 100 evenly chosen ones, and R there. Empty if the
        map has none.
    knot_base_probabilities : ndarray, (m,), or None
        Probabilities F at the knots.
    n_knots : int
        Number of knots of the map.
    supported : (float, float)
        Range of probabilities that calibration rows support; beyond it is extrapolated tail.
    kind : str
        Kind of the score: "standardised", "residual" or "normal score".
    n : float
        Number of rows, or their weight, that the map was fitted on.

    Examples
    --------
    >>> import trueline as tl
    >>> R = tl.Isotonic().fit([1.0, 2.0, 4.0], tl.Point([0.0, 0.0, 0.0]))
    >>> tl.recalibration_map(R).knots
    array([1., 2., 4.])
    """

    scores: FloatArray
    probabilities: FloatArray
    base_probabilities: FloatArray | None
    knots: FloatArray
    knot_probabilities: FloatArray
    knot_base_probabilities: FloatArray | None
    n_knots: int
    supported: tuple[float, float]
    kind: str
    n: float


def recalibration_map(
    recalibrator: Recalibrator, *, group: Key | None = None, dist: Distribution | None = None
) -> RecalibrationMap:
    """Return the fitted map R from scores to probabilities.

    A few hundred points run from R = 0.001 to R = 0.999, for any number of rows of the fit.

    Parameters
    ----------
    recalibrator : Recalibrator
        Fitted; any but `Conditional`, whose map differs from row to row.
    group : str or number, optional
        Group of a `Grouped` whose map to read; by default the pooled map.
    dist : Distribution, optional
        A forecast of the kind that R was fitted on; its first row gives the probabilities F. By
        default standardised scores are those of a `Normal`.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=100_000)
    >>> R = tl.Isotonic().fit(y, tl.Normal(np.zeros(100_000), 0.5))  # twice too sure
    >>> found = tl.recalibration_map(R)
    >>> print(f"{np.interp(0.9, found.base_probabilities, found.probabilities):.2f}")
    0.74
    """
    law, n, kind = _law_of(recalibrator, group)
    grid = ndtr(np.linspace(-_REACH, _REACH, _GRID))
    knots, left, right = _knots(law)
    kept = _thinned(knots, law.ppf(grid[[0, -1]]))
    levels = np.unique(np.concatenate([grid, left[kept], right[kept]]))
    levels = levels[(levels >= grid[0]) & (levels <= grid[-1])]
    # Evaluating from probability to score preserves jumps.
    scores = law.ppf(levels)
    return RecalibrationMap(
        scores=scores,
        probabilities=levels,
        base_probabilities=_base(recalibrator, kind, dist, scores),
        knots=knots[kept],
        knot_probabilities=right[kept],
        knot_base_probabilities=_base(recalibrator, kind, dist, knots[kept]),
        n_knots=knots.size,
        supported=law.supported,
        kind=kind,
        n=n,
    )


def _law_of(recalibrator: object, group: Key | None) -> tuple[ScoreLaw, float, str]:
    """Return the law of the score, the number of rows of the fit and the kind of the score."""
    if not isinstance(recalibrator, Recalibrator):
        raise TypeError(
            f"recalibrator is of type {type(recalibrator).__name__}; expected a fitted "
            f"Recalibrator. That of a CalibratedRegressor is its recalibrator_."
        )
    recalibrator._check_fitted()
    groups = recalibrator.groups_
    if group is not None and groups is None:
        raise ValueError(
            f"group is {group!r}, but {type(recalibrator).__name__} has one map for all rows; "
            f"expected None."
        )
    if not recalibrator.is_exportable:
        raise TypeError(
            f"a {type(recalibrator).__name__} has no single map: it differs from row to row. "
            f"Draw its forecasts instead, with CalibrationDisplay or PITDisplay."
        )
    if group is not None and group not in (groups or []):
        raise ValueError(f"group is {group!r}; expected one of {groups}.")
    return recalibrator.law(group), recalibrator.n_fit(group), recalibrator.score_kind_


def _knots(law: ScoreLaw) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the knots, and R just below and at each."""
    if isinstance(law, PiecewiseLaw):
        return law.knots, law.left, law.right
    if isinstance(law, SplineLaw):
        heights = ndtr(law.scores)
        return law.knots, heights, heights
    none = np.empty(0)
    return none, none, none


def _thinned(knots: FloatArray, ends: FloatArray) -> NDArray[np.intp]:
    """Return the indices of evenly chosen knots between the ends, with the first and last."""
    slack = 0.01 * (ends[1] - ends[0])  # a last knot with R = 1 lies just beyond the ends
    inside = np.flatnonzero((knots >= ends[0] - slack) & (knots <= ends[1] + slack))
    most = min(inside.size, _MOST_KNOTS)
    return inside[np.linspace(0, max(inside.size - 1, 0), most).astype(np.intp)]


def _base(
    recalibrator: Recalibrator, kind: str, dist: Distribution | None, scores: FloatArray
) -> FloatArray | None:
    if dist is not None:
        recalibrator.check_kind(dist)
    if kind == "residual":
        return None
    if dist is None or kind == "normal score":
        return ndtr(scores)
    first = dist._take(np.zeros(1, dtype=np.intp))
    return first._cdf(first._unscore(scores[None, :]))[0]
