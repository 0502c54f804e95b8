"""The law of the Kolmogorov-Smirnov statistic: of one sample, and of two."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, kolmogorov

# Number of rows of the smaller sample, and number of terms of the sum over paths, up to which the
# law of two samples is exact. Beyond it the asymptotic law is within 4% of a p-value of 0.05.
_MOST_STEPS = 2_000
_MOST_TERMS = 2_000_000
# Below this p-value the exact sum, one less a probability near one, would have few digits.
_SMALLEST = 1e-6
# Steps after which the sums are scaled; each step multiplies them by the rows of a sample at most.
_SCALED_EVERY = 16


def p_value(statistic: float, n_effective: float, n_fit: float | None = None) -> float:
    """Return the probability that the statistic of a calibrated forecast is at least this large.

    With a map that was fitted on n_fit rows it is that of the two-sample statistic: the PIT values
    are then ranks among the rows of the fit.
    """
    n = max(round(n_effective), 1)
    if n_fit is None:
        from scipy.stats import kstwo

        return float(kstwo.sf(statistic, n))
    return two_sample_p_value(statistic, n, max(round(n_fit), 1))


def two_sample_p_value(statistic: float, n: int, m: int) -> float:
    """Return the p-value of the two-sample statistic of n and m rows from one continuous law.

    Examples
    --------
    >>> import scipy.stats
    >>> from trueline.metrics._kolmogorov import two_sample_p_value
    >>> found = scipy.stats.ks_2samp([1, 2, 5, 6], [3, 4, 7, 8, 9, 10], method="exact")
    >>> print(f"{found.pvalue:.6f} {two_sample_p_value(found.statistic, 4, 6):.6f}")
    0.180952 0.180952
    """
    rows = n * m / (n + m)
    # The asymptotic law with the correction of Stephens (1970) for small samples.
    root = math.sqrt(rows)
    smooth = float(kolmogorov((root + 0.12 + 0.11 / root) * statistic))
    few, many = min(n, m), max(n, m)
    terms = few * min(2.0 * statistic, 1.0) * many
    if few > _MOST_STEPS or terms > _MOST_TERMS or smooth < _SMALLEST:
        return smooth
    # The statistic is a multiple of 1 / (n m), up to rounding.
    return 1.0 - _share_of_paths(math.ceil(statistic * n * m - 1e-6), few, many)


def _share_of_paths(reach: int, few: int, many: int) -> float:
    """Share of the lattice paths from (0, 0) to (few, many) with abs(j few - i many) < reach.

    A path steps along i for every row of one sample and along j for every row of the other. All
    paths are equally likely if both samples are from one law (Hodges, 1958,
    doi:10.1007/BF02589501).
    """
    paths = np.zeros(many + 1)
    paths[: _last(0, reach, few, many) + 1] = 1.0
    log_scale = 0.0
    for i in range(1, few + 1):
        first = max(0, (i * many - reach) // few + 1)
        # Paths to (i, j) come from (i - 1, j') with j' <= j.
        within = paths[first : _last(i, reach, few, many) + 1]
        if within.size == 0:
            return 0.0
        np.cumsum(within, out=within)
        if i % _SCALED_EVERY == 0 and within[-1] > 0.0:
            log_scale += math.log(within[-1])
            within /= within[-1]
    if not paths[many] > 0.0:
        return 0.0
    all_paths = gammaln(few + many + 1.0) - gammaln(few + 1.0) - gammaln(many + 1.0)
    return min(float(math.exp(math.log(paths[many]) + log_scale - all_paths)), 1.0)


def _last(i: int, reach: int, few: int, many: int) -> int:
    return min(many, -(-(i * many + reach) // few) - 1)
