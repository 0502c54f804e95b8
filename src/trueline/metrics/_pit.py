"""Probability integral transforms, their empirical distribution, and a test of calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, RandomState, generator
from trueline.distributions import Distribution
from trueline.interop import ForecastLike
from trueline.metrics._klotz import klotz_p_value
from trueline.metrics._kolmogorov import p_value
from trueline.metrics._rows import check_rows, effective_size, rows_of_fit

_SMALLEST = np.nextafter(0.0, 1.0)


def pit(
    y: ArrayLike, dist: ForecastLike, *, randomized: bool = False, random_state: RandomState = None
) -> FloatArray:
    """Probability integral transform F(y): where each outcome fell in its forecast.

    The values of a calibrated forecast are uniform on (0, 1).

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    randomized : bool, default False
        Whether to draw the value uniformly from P(Y < y) to P(Y <= y) if the outcome has a
        probability of its own, so that values are uniform for discrete outcomes too (Czado,
        Gneiting and Held, 2009, doi:10.1111/j.1541-0420.2009.01191.x). For k `Samples`, which
        represent the distribution that they were drawn from, the rank of the outcome among the
        k + 1 values is used instead: from a / (k + 1) to (b + 1) / (k + 1), with a draws below y
        and b draws at or below it.
    random_state : None, int or numpy.random.Generator
        Used if `randomized`.

    Returns
    -------
    ndarray, (n,)
        A value is 0 only if F(y) is 0, not if it is too small for floating point.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.pit([0.0, 1.0], tl.Normal([0.0, 0.0], 1.0)).round(4)
    array([0.5   , 0.8413])
    >>> dice = tl.Samples([[1, 2, 3, 4, 5, 6]] * 3)
    >>> tl.pit([1, 3, 6], dice).round(4)
    array([0.1667, 0.5   , 1.    ])
    >>> tl.pit([1, 3, 6], dice, randomized=True, random_state=0).round(4)
    array([0.182 , 0.3628, 0.726 ])
    """
    y, dist, _ = check_rows(y, dist)
    rng = generator(random_state)
    return uniform_rows(y, dist, rng) if randomized else pit_rows(y, dist)


def pit_rows(y: FloatArray, dist: Distribution) -> FloatArray:
    """Return F(y), above 0 wherever its logarithm is finite."""
    with np.errstate(over="ignore"):
        return above_zero(dist._cdf(y[:, None])[:, 0], y, dist)


def uniform_rows(y: FloatArray, dist: Distribution, rng: np.random.Generator) -> FloatArray:
    """PIT values that are uniform if the forecast is calibrated, with steps or without."""
    u = pit_rows(y, dist)
    return randomised(y, dist, u, rng) if dist._may_have_atoms else u


def above_zero(u: FloatArray, y: FloatArray, dist: Distribution) -> FloatArray:
    """Replace F(y), in place, by the smallest number where it underflows to 0."""
    if u.min() == 0.0:
        zero = np.flatnonzero(u == 0.0)
        underflow = dist._take(zero)._logcdf(y[zero, None])[:, 0] > -np.inf
        u[zero[underflow]] = _SMALLEST
    return u


def randomised(
    y: FloatArray, dist: Distribution, u: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw uniformly from the step of F at each outcome, where u is F(y)."""
    lower, upper = (ends[:, 0] for ends in dist._pit_bounds(y[:, None], u[:, None]))
    return lower + (upper - lower) * rng.random(lower.size)


class Ecdf:
    """Empirical distribution of PIT values, which are sorted in place."""

    def __init__(self, u: FloatArray, w: FloatArray | None) -> None:
        self.values = u
        self._mass: FloatArray | None = None
        if w is None:
            u.sort()
        else:
            order = np.argsort(u)
            u[:] = u[order]
            self._mass = w[order]
            self._mass /= w.sum()

    def _shares(self) -> FloatArray:
        """Share of values up to each one."""
        if self._mass is not None:
            return np.cumsum(self._mass)
        shares = np.arange(1.0, self.values.size + 1.0)
        shares /= self.values.size
        return shares

    def at(self, levels: FloatArray) -> FloatArray:
        """Share of values at or below each level."""
        count = np.searchsorted(self.values, levels, side="right")
        if self._mass is None:
            return count / self.values.size
        return np.where(count > 0, self._shares()[count - 1], 0.0)

    def distance(self, n_fit: float | None = None) -> float:
        """Largest distance from the uniform CDF: the Kolmogorov-Smirnov statistic.

        If a map was fitted on n_fit rows, a value u has a rank among them, the integer part of
        (n_fit + 1) u, and this is the largest distance from the empirical CDF of the ranks.
        """
        # The CDF steps up at each value, so the distance is largest at one or just before it.
        gap = self._shares()
        if n_fit is None:
            gap -= self.values
        else:
            rows = max(round(n_fit), 1)
            gap -= np.minimum(np.floor(self.values * (rows + 1.0)) / rows, 1.0)
        above = gap.max()
        mass = 1.0 / self.values.size if self._mass is None else self._mass
        below = np.subtract(mass, gap, out=gap).max()
        return float(max(above, below))

    def test(self, n_effective: float, n_fit: float | None = None) -> tuple[float, float]:
        """Return the statistic and the p-value of `calibration_test`."""
        statistic = self.distance(n_fit)
        p = p_value(statistic, n_effective, n_fit)
        if n_fit is not None:
            p = min(2.0 * min(p, klotz_p_value(self.at, n_effective, n_fit)), 1.0)
        return statistic, p


@dataclass(frozen=True)
class CalibrationTest:
    """Result of `calibration_test`.

    Attributes
    ----------
    statistic : float
        Largest distance of the calibration curve from the diagonal; with the rows of a fit, from
        the empirical CDF of the ranks among them.
    p_value : float
        Probability of at least this distance if the forecast is calibrated; with the rows of a fit
        twice the smaller of this and of the p-value of the test of Klotz, at most 1.
    n_effective : float
        Number of rows; with weights Kish's effective number.
    n_fit : float or None
        Number of rows that a recalibrator was fitted on.
    method : str
        Name of the test.

    Examples
    --------
    >>> import trueline as tl
    >>> result = tl.calibration_test([0.0, 0.1, -0.1], tl.Normal([0.0, 0.0, 0.0], 1.0))
    >>> result.n_effective
    3.0
    """

    statistic: float
    p_value: float
    n_effective: float
    n_fit: float | None
    method: str


def calibration_test(
    y: ArrayLike,
    dist: ForecastLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_fit: float | None = None,
    random_state: RandomState = 0,
) -> CalibrationTest:
    """Test whether the forecast is calibrated: Kolmogorov-Smirnov on the PIT.

    The PIT values of a calibrated forecast are uniform. The p-value is that of the exact law of
    the statistic up to 500 rows; beyond, its error is below 1e-6. If the forecast has steps the
    randomised PIT is used, see `pit`, so that the test keeps its size for `Samples` and for
    discrete outcomes.

    A map that was fitted on n rows has a sampling error of its own, which is no fault of it. Under
    an isotonic map the PIT values are ranks among these n rows, so the test compares two samples,
    the n rows and the rows of `y`, whose law is exact without assumptions on the model (by the sum
    over lattice paths; beyond 2,000 rows in both samples the asymptotic law is used). Few rows of a
    fit hide forecasts that are too narrow or too wide from this test, and so it is combined with
    the test of Klotz (1962, doi:10.1214/aoms/1177704576), which compares the widths of the samples
    by normal scores of their ranks. Other maps are tested in the same way.

    Parameters
    ----------
    y : (n,) array-like
        Independent outcomes that neither the model nor a recalibrator has seen.
    dist : Distribution, or what `as_distribution` takes
        The n forecasts.
    sample_weight : (n,) array-like, optional
        Weights of the rows. The p-value is then approximate, with Kish's effective number of
        rows, (sum w)^2 / sum w^2, rounded. A row of weight 2 is one observation that counts
        twice, not two rows.
    n_fit : float, optional
        Number of rows that a recalibrator was fitted on; by default as `dist` knows it.
    random_state : None, int or numpy.random.Generator, default 0
        Used if the forecast has steps.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=500)
    >>> print(f"{tl.calibration_test(y, tl.Normal(np.zeros(500), 1.0)).p_value:.2f}")
    0.63
    >>> print(f"{tl.calibration_test(y, tl.Normal(np.zeros(500), 0.5)).p_value:.2f}")
    0.00

    A map of 100 rows is as good as 100 rows can tell:

    >>> F = tl.Normal(np.zeros(500), 0.5)
    >>> G = tl.Isotonic().fit(y[:100], F[:100]).transform(F[100:])
    >>> test = tl.calibration_test(y[100:], G)
    >>> print(f"{test.p_value:.2f}", test.n_fit)
    1.00 100.0
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    n_fit = rows_of_fit(n_fit, dist)
    u = uniform_rows(y, dist, generator(random_state))
    method = "Kolmogorov-Smirnov" if n_fit is None else "two-sample Kolmogorov-Smirnov and Klotz"
    if dist._may_have_atoms:
        method += " on the randomised PIT"
    if w is not None:
        method += ", effective number of rows"
    n_effective = effective_size(w, y.size)
    statistic, p = Ecdf(u, w).test(n_effective, n_fit)
    return CalibrationTest(statistic, p, n_effective, n_fit, method)
