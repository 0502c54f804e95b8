"""Probability integral transforms, their empirical distribution, and a test of calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, RandomState, generator
from trueline.distributions import Distribution
from trueline.metrics._rows import check_rows, effective_size

_SMALLEST = np.nextafter(0.0, 1.0)


def pit(
    y: ArrayLike, dist: Distribution, *, randomized: bool = False, random_state: RandomState = None
) -> FloatArray:
    """Probability integral transform F(y): where each outcome fell in its forecast.

    The values of a calibrated forecast are uniform on (0, 1).

    Parameters
    ----------
    y : (n,) array-like
        Outcomes.
    dist : Distribution
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

    def distance(self) -> float:
        """Largest distance from the uniform CDF: the Kolmogorov-Smirnov statistic."""
        # The CDF steps up at each value, so the distance is largest at one or just before it.
        gap = self._shares()
        gap -= self.values
        above = gap.max()
        mass = 1.0 / self.values.size if self._mass is None else self._mass
        below = np.subtract(mass, gap, out=gap).max()
        return float(max(above, below))


@dataclass(frozen=True)
class CalibrationTest:
    """Result of `calibration_test`.

    Attributes
    ----------
    statistic : float
        Largest distance of the calibration curve from the diagonal.
    p_value : float
        Probability of at least this distance if the forecast is calibrated.
    n_effective : float
        Number of rows; with weights Kish's effective number.
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
    method: str


def calibration_test(
    y: ArrayLike,
    dist: Distribution,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
) -> CalibrationTest:
    """Test whether the forecast is calibrated: Kolmogorov-Smirnov on the PIT.

    The PIT values of a calibrated forecast are uniform. The p-value is that of the exact law of
    the statistic. If the forecast has steps the randomised PIT is used, see `pit`, so that the
    test keeps its size for `Samples` and for discrete outcomes.

    Parameters
    ----------
    y : (n,) array-like
        Independent outcomes that neither the model nor a recalibrator has seen.
    dist : Distribution
        The n forecasts.
    sample_weight : (n,) array-like, optional
        Weights of the rows. The p-value is then approximate, with Kish's effective number of
        rows, (sum w)^2 / sum w^2, rounded. A row of weight 2 is one observation that counts
        twice, not two rows.
    random_state : None, int or numpy.random.Generator
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
    """
    y, dist, w = check_rows(y, dist, sample_weight)
    u = uniform_rows(y, dist, generator(random_state))
    method = "Kolmogorov-Smirnov"
    if dist._may_have_atoms:
        method += " on the randomised PIT"
    if w is not None:
        method += ", effective number of rows"
    statistic = Ecdf(u, w).distance()
    n_effective = effective_size(w, y.size)
    return CalibrationTest(statistic, p_value(statistic, n_effective), n_effective, method)


def p_value(statistic: float, n_effective: float) -> float:
    """Return the probability that the statistic of uniform values is at least this large."""
    from scipy.stats import kstwo

    return float(kstwo.sf(statistic, round(n_effective)))
