"""The calibration curve, its error, and the error of a perfect forecaster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import (
    FloatArray,
    RandomState,
    check_row_count,
    generator,
    increasing_levels,
    level,
    same_length,
    vector,
)
from trueline.interop import ForecastLike
from trueline.metrics._bands import consistency_band, inside_band
from trueline.metrics._pit import Ecdf, uniform_rows
from trueline.metrics._rows import check_rows, effective_size, rows_of_fit

LevelWeights = Literal["uniform", "counts"] | ArrayLike


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Result of `calibration_curve`.

    Attributes
    ----------
    levels : ndarray, (m,)
        Predicted probabilities p_j.
    observed : ndarray, (m,)
        Shares of outcomes at or below their quantile at p_j.
    lower, upper : ndarray, (m,)
        Band in which the whole curve of a calibrated forecast lies with probability
        `confidence`.
    confidence : float
    n_effective : float
        Number of rows; with weights Kish's effective number.
    n_fit : float or None
        Number of rows that a recalibrator was fitted on.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0, 0.0, 0.0], 1.0)
    >>> tl.calibration_curve([-1.0, -0.2, 0.3, 0.8], F, levels=[0.25, 0.5, 0.75]).inside
    True
    """

    levels: FloatArray
    observed: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    n_effective: float
    n_fit: float | None = None

    @property
    def inside(self) -> bool:
        """Whether the whole curve lies inside the band."""
        return inside_band(self.observed, self.lower, self.upper, self.n_effective)

    @property
    def error(self) -> float:
        """Its calibration error, Eq. 9 of the paper with equal weights of the levels."""
        return error_of(self.levels, self.observed, np.ones_like(self.levels))

    def floor(self, n_fit: float | None = None) -> float:
        """Return the error that a perfect forecaster would have; see `calibration_floor`.

        ``n_fit`` takes the place of that of the curve.
        """
        rows = self.n_fit if n_fit is None else n_fit
        return floor_of(self.levels, np.ones_like(self.levels), self.n_effective, rows)


def calibration_curve(
    y: ArrayLike,
    dist: ForecastLike,
    levels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    n_fit: float | None = None,
    random_state: RandomState = 0,
) -> CalibrationCurve:
    """Observed against predicted probabilities, Eq. 8 of the paper, with a simultaneous band.

    The curve of a calibrated forecast follows the diagonal, up to chance. With probability
    `confidence`, or a little more because counts are coarse, the whole curve of a calibrated
    forecast lies inside the band. It joins central binomial intervals with the same local level at
    every p_j, the largest that holds for all levels together by the exact law of the counts
    (Säilynoja, Bürkner and Vehtari, 2022, doi:10.1007/s11222-022-10090-6). Beyond 5,000 rows the
    local level of 5,000 rows is used, and the probability is within 0.01 of the default 0.95; with
    a lower confidence and levels near 0 or 1 the band is wider than necessary.

    The band of a recalibrated forecast is wider by what the rows of its fit could not tell: the
    counts are then beta-binomial, and at all levels together have Pólya's law.

    A forecast with steps is read by the randomised PIT, see `pit`.

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    levels : (m,) array-like, optional
        Strictly increasing, in [0, 1]; 0, 0.1, ..., 1 by default.
    sample_weight : (n,) array-like, optional
        Weights of the rows. The band is then approximate, with Kish's effective number of rows,
        (sum w)^2 / sum w^2, rounded.
    confidence : float, default 0.95
    n_fit : float, optional
        Number of rows that a recalibrator was fitted on; by default as `dist` knows it.
    random_state : None, int or numpy.random.Generator, default 0
        Used if the forecast has steps.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> curve = tl.calibration_curve(y, tl.Normal(np.zeros(1000), 0.5), [0.1, 0.5, 0.9])
    >>> curve.observed
    array([0.269, 0.534, 0.759])
    >>> curve.lower.round(3), curve.upper.round(3)
    (array([0.078, 0.463, 0.877]), array([0.123, 0.537, 0.922]))
    >>> curve.inside
    False
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    p = check_levels(levels)
    c = level(confidence, "confidence")
    n_fit = rows_of_fit(n_fit, dist)
    n_effective = effective_size(w, y.size)
    lower, upper = consistency_band(round(n_effective), p, c, n_fit)
    observed = Ecdf(uniform_rows(y, dist, generator(random_state)), w).at(p)
    return CalibrationCurve(p, observed, lower, upper, c, n_effective, n_fit)


@overload
def calibration_error(
    y: ArrayLike,
    dist: ForecastLike,
    levels: ArrayLike | None = None,
    weights: LevelWeights = "uniform",
    *,
    sample_weight: ArrayLike | None = None,
    n_fit: float | None = None,
    random_state: RandomState = 0,
    return_floor: Literal[False] = False,
) -> float: ...
@overload
def calibration_error(
    y: ArrayLike,
    dist: ForecastLike,
    levels: ArrayLike | None = None,
    weights: LevelWeights = "uniform",
    *,
    sample_weight: ArrayLike | None = None,
    n_fit: float | None = None,
    random_state: RandomState = 0,
    return_floor: Literal[True],
) -> tuple[float, float]: ...
def calibration_error(
    y: ArrayLike,
    dist: ForecastLike,
    levels: ArrayLike | None = None,
    weights: LevelWeights = "uniform",
    *,
    sample_weight: ArrayLike | None = None,
    n_fit: float | None = None,
    random_state: RandomState = 0,
    return_floor: bool = False,
) -> float | tuple[float, float]:
    """Weighted sum of squared distances of the curve from the diagonal, Eq. 9 of the paper.

    It is the sum over levels of w_j (p_j - observed_j)^2. Lower is better, but chance alone makes
    it as large as `calibration_floor`.

    Parameters
    ----------
    y, dist, levels
        The same as in `calibration_curve`.
    weights : {"uniform", "counts"} or (m,) array-like, default "uniform"
        Weights w_j of the levels: all 1, or in proportion to the number of outcomes at or below
        their quantile at p_j with sum m, or the given ones.
    sample_weight : (n,) array-like, optional
        Weights of the rows.
    n_fit : float, optional
        Number of rows that a recalibrator was fitted on, which raises the floor; by default as
        `dist` knows it.
    random_state : None, int or numpy.random.Generator, default 0
        Used if the forecast has steps, see `pit`.
    return_floor : bool, default False
        Whether to return the floor for these rows as well.

    Returns
    -------
    float
        The error.
    float
        The floor, with ``return_floor=True``.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> round(tl.calibration_error(y, tl.Normal(np.zeros(1000), 0.5)), 5)
    0.11303
    >>> error, floor = tl.calibration_error(y, tl.Normal(np.zeros(1000), 1.0), return_floor=True)
    >>> round(error, 5), round(floor, 5)
    (0.00325, 0.00165)
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    p = check_levels(levels)
    importance = check_level_weights(weights, p)
    n_fit = rows_of_fit(n_fit, dist)
    curve = Ecdf(uniform_rows(y, dist, generator(random_state)), w).at(p)
    error = error_of(p, curve, importance)
    if not return_floor:
        return error
    return error, floor_of(p, importance, effective_size(w, y.size), n_fit)


def calibration_floor(
    n_test: float,
    n_fit: float | None = None,
    levels: ArrayLike | None = None,
    weights: LevelWeights = "uniform",
) -> float:
    """Expected calibration error of a perfect forecaster.

    On T test rows it is the sum over levels of w_j p_j (1 - p_j) / T, which is 1.65 / T for the
    default levels. A recalibrator fitted on n rows adds the same with 1 / n. An error below about
    twice the floor cannot be improved; compare forecasts by CRPS then.

    Parameters
    ----------
    n_test : float
        Number of test rows; with weights their effective number.
    n_fit : float, optional
        Number of rows that a recalibrator was fitted on.
    levels, weights
        The same as in `calibration_error`; "counts" are replaced by their expected values.

    Examples
    --------
    >>> import trueline as tl
    >>> round(tl.calibration_floor(1000), 5)
    0.00165
    >>> round(tl.calibration_floor(1000, n_fit=500), 5)
    0.00495
    """
    check_row_count(n_test, "n_test")
    if n_fit is not None:
        check_row_count(n_fit, "n_fit")
    p = check_levels(levels)
    return floor_of(p, check_level_weights(weights, p), n_test, n_fit)


def error_of(p: FloatArray, observed: FloatArray, importance: FloatArray | None) -> float:
    """Return Eq. 9 of a curve."""
    return float(_importance(importance, observed) @ (p - observed) ** 2)


def floor_of(
    p: FloatArray, importance: FloatArray | None, n_test: float, n_fit: float | None = None
) -> float:
    """Return the expected value of Eq. 9 for a perfect forecaster."""
    variance = 1.0 / n_test + (0.0 if n_fit is None else 1.0 / n_fit)
    return float(_importance(importance, p) @ (p * (1.0 - p))) * variance


def _importance(importance: FloatArray | None, shares: FloatArray) -> FloatArray:
    """Return the weights of the levels, for None in proportion to the shares with mean 1."""
    if importance is not None:
        return importance
    whole = shares.sum()
    return shares * (shares.size / whole) if whole > 0 else np.ones_like(shares)


def check_levels(levels: ArrayLike | None) -> FloatArray:
    """Check levels; None stands for the default."""
    if levels is None:
        return np.arange(11) / 10  # not linspace, whose 0.3 is not the 0.3 of 3 out of 10
    return increasing_levels(levels, "levels", closed=True).copy()


def check_level_weights(weights: LevelWeights, p: FloatArray) -> FloatArray | None:
    """Check the weights of the levels; None stands for "counts"."""
    if isinstance(weights, str):
        if weights == "uniform":
            return np.ones_like(p)
        if weights == "counts":
            return None
        raise ValueError(
            f'weights is {weights!r}; expected "uniform", "counts" or an array with one weight '
            f"per level."
        )
    a = vector(weights, "weights")
    same_length(p.size, a, "weights", "levels")
    if a.min() < 0:
        raise ValueError(f"weights holds {a.min()}; expected weights of 0 or more.")
    return a
