"""The test of Klotz: whether two samples are equally wide."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import gammainc, ndtr, ndtri

from trueline._validation import FloatArray

# A larger sample counts as one of this many rows, which makes the test a little cautious.
_MOST_ROWS = 100_000
# Below this skewness the law is normal up to rounding, and a gamma law would lose digits.
_LEAST_SKEWNESS = 1e-3


def klotz_p_value(cdf: Callable[[FloatArray], FloatArray], n: float, n_fit: float) -> float:
    """Return the p-value of the test that n PIT values are as wide as the n_fit rows of a map.

    The k-th row of the fit is at the level k / (n_fit + 1) of the map, so that the empirical CDF of
    the PIT values, `cdf`, tells its rank among all rows. The statistic is the sum of the squared
    normal scores of these ranks. It is free of assumptions, and for normal errors as powerful as
    the test of variances. Its law, with all orders of the rows equally likely, is approximated by a
    gamma law of the same mean, variance and skewness.

    References
    ----------
    Klotz, "Nonparametric tests for scale", Annals of Mathematical Statistics 1962,
    doi:10.1214/aoms/1177704576.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.metrics._klotz import klotz_p_value
    >>> same, wider = lambda level: level, lambda level: 0.5 + 0.9 * (level - 0.5)
    >>> print(f"{klotz_p_value(same, 1000, 100):.2f} {klotz_p_value(wider, 1000, 100):.4f}")
    0.62 0.0018
    """
    rows, fit = (int(np.clip(round(size), 1, _MOST_ROWS)) for size in (n, n_fit))
    scores, mean, deviation, skewness = _law(rows, fit)
    k = np.arange(1, fit + 1)
    below = np.round(rows * cdf(k / (fit + 1.0))).astype(np.intp)
    z = (float(scores[k + below - 1].sum()) - mean) / deviation
    lower = _gamma_cdf(z, skewness)
    return min(2.0 * min(lower, 1.0 - lower), 1.0)


@lru_cache(maxsize=8)
def _law(n: int, m: int) -> tuple[FloatArray, float, float, float]:
    """Return the scores of n + m ranks; mean, deviation and skewness of the sum of m of them."""
    total = n + m
    scores = ndtri(np.arange(1.0, total + 1.0) / (total + 1.0)) ** 2
    mean = float(scores.mean())
    off = scores - mean
    variance = n * m / (total * (total - 1.0)) * float(off @ off)
    third = (
        n * m * (n - m) / (total * (total - 1.0) * max(total - 2.0, 1.0)) * float((off**3).sum())
    )
    scores.setflags(write=False)
    return scores, m * mean, float(np.sqrt(variance)) or 1.0, third / (variance**1.5 or 1.0)


def _gamma_cdf(z: float, skewness: float) -> float:
    """Return the CDF at z of a gamma law, mirrored if the skewness is negative, of variance 1."""
    if abs(skewness) < _LEAST_SKEWNESS:
        return float(ndtr(z))
    shape = 4.0 / skewness**2
    share = float(gammainc(shape, max(shape + z * np.sqrt(shape) * np.sign(skewness), 0.0)))
    return share if skewness > 0.0 else 1.0 - share
