"""A fitted map in a few hundred numbers, for pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.interop import ForecastLike
from trueline.laws import PiecewiseLaw, ScoreLaw, SplineLaw
from trueline.recalibration import Key, Recalibrator

# Levels of a map are evenly spaced in their normal scores, from 0.001 to 0.999.
_REACH = 3.1
_GRID = 200
_MOST_KNOTS = 100


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
    recalibrator: Recalibrator, *, group: Key | None = None, dist: ForecastLike | None = None
) -> RecalibrationMap:
    """Return the fitted map R from scores to probabilities.

    A few hundred points run from R = 0.001 to R = 0.999, for any number of rows of the fit.

    Parameters
    ----------
    recalibrator : Recalibrator
        Fitted; any but `Conditional`, whose map differs from row to row.
    group : str or number, optional
        Group of a `Grouped` whose map to read; by default the pooled map.
    dist : Distribution, or what `as_distribution` takes, optional
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
        dist = recalibrator.check_kind(dist)
    if kind == "residual":
        return None
    if dist is None or kind == "normal score":
        return ndtr(scores)
    first = dist._take(np.zeros(1, dtype=np.intp))
    return first._cdf(first._unscore(scores[None, :]))[0]
