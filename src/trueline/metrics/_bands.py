"""Simultaneous bands for the calibration curve of a calibrated forecast.

At one level p the number of n uniform PIT values at or below p is Binomial(n, p). A central
interval of that law, with the same local level gamma for every p, is widened until the whole
curve stays inside with the stated probability (Säilynoja, Bürkner and Vehtari, 2022,
doi:10.1007/s11222-022-10090-6).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc, bdtrik, gammaln, xlogy

from trueline._validation import FloatArray

# Beyond this number of rows the local level has settled at that of the Brownian bridge, while the
# cost of the recursion grows as n.
EXACT_UP_TO = 5_000
# Less likely steps of the count are left out of the recursion.
_NEGLIGIBLE = 1e-20
# Mirrored counts have the same tail up to rounding, and must be in or out together.
_UP = 1.0 + 1e-9

Count = int | NDArray[np.int64]


def consistency_band(
    n: int, levels: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper ends at each level, as shares of n."""
    lower, upper = _counts(n, levels.tobytes(), confidence)
    # With few rows no count may be near n p. Extending the band to the diagonal lets no further
    # count in.
    return np.minimum(lower / n, levels), np.maximum(upper / n, levels)


def inside_band(
    values: FloatArray, lower: FloatArray, upper: FloatArray, n_effective: float
) -> bool:
    """Whether all values lie inside a band."""
    # Weighted shares carry a rounding error, which is far smaller than a row.
    slack = 1e-9 / n_effective
    return bool(((values >= lower - slack) & (values <= upper + slack)).all())


@lru_cache(maxsize=256)
def _counts(n: int, levels: bytes, confidence: float) -> tuple[FloatArray, FloatArray]:
    p = np.frombuffer(levels)
    # At levels 0 and 1 the counts are certain.
    lower, upper = n * p, n * p
    open_ = (p > 0) & (p < 1)
    if open_.any():
        gamma = local_level(n, p[open_], confidence)
        lower[open_], upper[open_] = central_counts(n, p[open_], gamma)
    return lower, upper


def local_level(n: int, levels: FloatArray, confidence: float) -> float:
    """Return the largest local level with which all counts stay inside with this confidence.

    It is exact up to `EXACT_UP_TO` rows.
    """
    rows = min(n, EXACT_UP_TO)
    chain = _Chain(rows, levels, (1.0 - confidence) / levels.size)
    gamma = chain.largest_level(confidence)
    if n <= EXACT_UP_TO:
        return gamma
    # Counts are coarse, so the intervals leave out a little less than gamma. A fine count needs
    # the level that they do leave out.
    lower, upper = central_counts(rows, levels, gamma)
    below = np.where(lower > 0, bdtr(np.maximum(lower - 1, 0), rows, levels), 0.0)
    left_out = float(np.mean(below + bdtrc(upper, rows, levels)))
    return left_out * (1.0 - confidence) / (1.0 - chain.coverage(gamma))


def central_counts(n: Count, p: FloatArray, gamma: float) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest count whose tail, on its own side, is above gamma / 2."""
    return _lower_count(n, p, 0.5 * gamma), n - _lower_count(n, 1.0 - p, 0.5 * gamma)


def _lower_count(n: Count, p: FloatArray, tail: float) -> FloatArray:
    """Smallest k with P(Binomial(n, p) <= k) > tail."""
    start = np.asarray(bdtrik(tail, n, p))
    k = np.clip(np.where(np.isfinite(start), np.floor(start), 0.0), 0, n)
    # The continuous inverse may be off by a rounding error, not by more than one count.
    for candidate in (k + 1, k, k - 1):
        valid = (candidate >= 0) & (candidate <= n)
        passes = valid & (bdtr(np.where(valid, candidate, 0), n, p) > tail)
        k = np.where(passes, candidate, k)
    return k


class _Step(NamedTuple):
    """One level: its counts, their two-sided tails, and the law of the step to it."""

    first: int
    tails: FloatArray
    least: int
    law: FloatArray


class _Chain:
    """Counts at increasing levels in (0, 1), as a Markov chain.

    Given their total, Poisson counts are multinomial. So the chain walks in independent Poisson
    steps, and the last one must lead to n. `gamma` is the smallest local level that will be used.
    """

    def __init__(self, n: int, levels: FloatArray, gamma: float) -> None:
        self.gamma = gamma
        lower, upper = (counts.astype(int) for counts in central_counts(n, levels, gamma))
        rates = n * np.diff(levels, prepend=0.0)
        steps = []
        previous = (0, 0)
        for p, rate, low, high in zip(levels, rates, lower, upper, strict=True):
            least, law = _poisson(rate, max(low - previous[1], 0), high - previous[0])
            steps.append(_Step(low, _tails(n, p, low, high), least, law))
            previous = (low, high)
        self.steps = steps
        rest = n - np.arange(previous[0], previous[1] + 1)
        self.last = np.exp(_log_poisson(n * (1.0 - levels[-1]), rest) - _log_poisson(n, n))

    def coverage(self, gamma: float) -> float:
        """Probability that every count has a tail above gamma."""
        chance, at = np.ones(1), 0
        for first, tails, least, law in self.steps:
            walked = np.convolve(chance, law)
            chance = np.zeros_like(tails)
            # `walked` starts at count at + least, `chance` at count first.
            shift = at + least - first
            start, stop = max(shift, 0), min(shift + walked.size, tails.size)
            chance[start:stop] = walked[start - shift : stop - shift]
            chance[tails <= gamma] = 0.0
            at = first
        return float(chance @ self.last)

    def largest_level(self, confidence: float) -> float:
        """Largest local level with which the coverage is at least the confidence."""
        # The coverage changes only where gamma passes the tail of a count.
        tails = np.concatenate([step.tails for step in self.steps])
        candidates = np.unique(np.append(tails[tails > self.gamma], self.gamma)) * _UP
        holds, fails = 0, candidates.size
        while fails - holds > 1:
            middle = (holds + fails) // 2
            if self.coverage(candidates[middle]) >= confidence:
                holds = middle
            else:
                fails = middle
        return float(candidates[holds])


def _tails(n: int, p: float, low: int, high: int) -> FloatArray:
    """Twice the smaller tail of each count."""
    k = np.arange(low, high + 1)
    above = np.where(k > 0, bdtrc(np.maximum(k - 1, 0), n, p), 1.0)
    return 2.0 * np.minimum(bdtr(k, n, p), above)


def _log_poisson(rate: float, k: ArrayLike) -> FloatArray:
    k = np.asarray(k, dtype=np.float64)
    return np.asarray(xlogy(k, rate) - rate - gammaln(k + 1.0))


def _poisson(rate: float, least: int, most: int) -> tuple[int, FloatArray]:
    """Probabilities of the counts from least to most, without negligible ones at either end."""
    law = np.exp(_log_poisson(rate, np.arange(least, most + 1)))
    kept = np.flatnonzero(law > _NEGLIGIBLE)
    return least + int(kept[0]), law[kept[0] : kept[-1] + 1]
