"""A test of calibration."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from trueline._validation import RandomState, generator
from trueline.distributions import Distribution
from trueline.metrics._edge import check_rows
from trueline.metrics._mean import effective_size
from trueline.metrics._pit import Ecdf, uniform_rows


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

    Returns
    -------
    CalibrationTest

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
    rng = generator(random_state)
    u = uniform_rows(y, dist, rng)
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
