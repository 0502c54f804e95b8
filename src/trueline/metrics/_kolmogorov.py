"""The law of the Kolmogorov-Smirnov statistic: of one sample, and of two."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, kolmogorov, smirnov

# Number of rows up to which the law of one sample is exact. Beyond it the error is below 1e-6.
_MOST_ROWS = 500
# Below this p-value a sample is not far above and far below the diagonal at once: the relative
# error of twice the law of one side is the cube of the p-value. That law is exact up to a number of
# rows; beyond it the relative error is 2% for a p-value of 1e-9, and grows as the p-value falls.
_ONE_SIDED = 1e-4
_MOST_ROWS_ONE_SIDED = 2_000
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
        return one_sample_p_value(statistic, n)
    return two_sample_p_value(statistic, n, max(round(n_fit), 1))


def one_sample_p_value(statistic: float, n: int) -> float:
    """Return the p-value of the statistic of n rows from a uniform law.

    It is exact up to 500 rows, and beyond the error is below 1e-6. Small p-values are exact up to
    2,000 rows; beyond, the argument of the asymptotic law is corrected as by Vrbik, "Small-sample
    corrections to Kolmogorov-Smirnov test statistic", Pioneer Journal of Theoretical and Applied
    Statistics 2018.

    Examples
    --------
    >>> import scipy.stats
    >>> from trueline.metrics._kolmogorov import one_sample_p_value
    >>> print(f"{scipy.stats.kstwo.sf(0.1, 100):.6f} {one_sample_p_value(0.1, 100):.6f}")
    0.252693 0.252693
    """
    root = math.sqrt(n)
    x = root * statistic
    smooth = float(kolmogorov(x + 1.0 / (6.0 * root) + (x - 1.0) / (4.0 * n)))
    if statistic >= 0.5 or smooth < _ONE_SIDED:
        few = n <= _MOST_ROWS_ONE_SIDED
        return 2.0 * float(smirnov(n, min(statistic, 1.0))) if few else smooth
    below = _probability_below if n <= _MOST_ROWS else _series
    return min(max(1.0 - below(statistic, n), 0.0), 1.0)


def _probability_below(statistic: float, n: int) -> float:
    """Probability that the statistic of n rows is below this one, by a power of a matrix.

    Marsaglia, Tsang and Wang, "Evaluating Kolmogorov's distribution", Journal of Statistical
    Software 2003, doi:10.18637/jss.v008.i18.
    """
    k = max(math.ceil(n * statistic), 1)
    h, m = k - n * statistic, 2 * k - 1
    reciprocal = np.cumprod(1.0 / np.maximum(np.arange(m + 1.0), 1.0))  # of the factorials
    lag = np.arange(1, m + 1)[:, None] - np.arange(m)
    step = np.where(lag >= 0, reciprocal[np.maximum(lag, 0)], 0.0)
    edge = h ** np.arange(1.0, m + 1.0) * reciprocal[1:]
    step[:, 0] -= edge
    step[-1] -= edge[::-1]
    step[-1, 0] += max(2.0 * h - 1.0, 0.0) ** m * reciprocal[m]
    # Divided by e it holds probabilities of Poisson counts, so that no power of it overflows.
    step /= math.e
    row = np.zeros(m)
    row[k - 1] = 1.0
    rest = n
    while rest:
        if rest % 2:
            row = row @ step
        rest //= 2
        if rest:
            step = step @ step
    # Divide by the Poisson probability of n rows; the product of its factors would underflow.
    return float(row[k - 1] * np.exp(np.log(np.arange(1.0, n + 1.0) * (math.e / n)).sum()))


def _series(statistic: float, n: int) -> float:
    """Probability that the statistic of n rows is below this one, by a series in 1 / sqrt(n).

    Pelz and Good, "Approximating the lower tail-areas of the Kolmogorov-Smirnov one-sample
    statistic", Journal of the Royal Statistical Society B 1976,
    doi:10.1111/j.2517-6161.1976.tb01579.x.
    """
    z = math.sqrt(n) * statistic
    if z < 0.15:  # the probability is below 1e-20, and zero would divide by zero
        return 0.0
    k = np.arange(20.0)  # the rest is below rounding for all z up to 3
    a, b = (math.pi * (k + 0.5)) ** 2, (math.pi * (k + 1.0)) ** 2
    odd, even = np.exp(-a / (2.0 * z**2)), np.exp(-b / (2.0 * z**2))
    terms = [
        2.0 * odd.sum(),
        (a - z**2) @ odd / (3.0 * z**3),
        (6.0 * z**6 + 2.0 * z**4 + a * (2.0 * z**4 - 5.0 * z**2) + a**2 * (1.0 - 2.0 * z**2))
        @ odd
        / (36.0 * z**6)
        - b @ even / (18.0 * z**2),
        (
            a**3 * (5.0 - 30.0 * z**2)
            + a**2 * (212.0 * z**4 - 60.0 * z**2)
            + a * (135.0 * z**4 - 96.0 * z**6)
            - 30.0 * z**6
            - 90.0 * z**8
        )
        @ odd
        / (3240.0 * z**9)
        + (3.0 * b * z**2 - b**2) @ even / (108.0 * z**5),
    ]
    total = sum(term / n ** (0.5 * power) for power, term in enumerate(terms))
    return float(math.sqrt(0.5 * math.pi) / z * total)


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
