"""Simultaneous bands for the calibration curve of a calibrated forecast.

At one level the number of PIT values at or below it has a known law, see `law_of_counts`. A central
interval of that law, with the same local level gamma for every p, is widened until the whole
curve stays inside with the stated probability (Säilynoja, Bürkner and Vehtari, 2022,
doi:10.1007/s11222-022-10090-6).
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.metrics._counts import CountLaw, law_of_counts

# Beyond this number of rows the local level has settled at that of the Brownian bridge, while the
# cost of the recursion grows as n.
EXACT_UP_TO = 5_000
# Less likely steps of the count are left out of the recursion.
_NEGLIGIBLE = 1e-20
# Mirrored counts have the same tail up to rounding, and must be in or out together.
_UP = 1.0 + 1e-9


def consistency_band(
    n: int, levels: FloatArray, confidence: float, n_fit: float | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper ends at each level, as shares of n.

    ``n_fit`` is the number of rows that the map of the forecast was fitted on, if it has one.
    """
    lower, upper = _counts(n, levels.tobytes(), confidence, n_fit)
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
def _counts(
    n: int, levels: bytes, confidence: float, n_fit: float | None
) -> tuple[FloatArray, FloatArray]:
    p = np.frombuffer(levels)
    # At levels 0 and 1 the counts are certain.
    lower, upper = n * p, n * p
    open_ = (p > 0) & (p < 1)
    if open_.any():
        gamma = local_level(n, p[open_], confidence, n_fit)
        lower[open_], upper[open_] = law_of_counts(n, n_fit).central(p[open_], gamma)
    return lower, upper


def local_level(n: int, levels: FloatArray, confidence: float, n_fit: float | None = None) -> float:
    """Return the largest local level with which all counts stay inside with this confidence.

    It is exact up to `EXACT_UP_TO` rows; with a map, as long as the spread of the counts is not
    larger than that of these rows without one.
    """
    rows = min(n, _most_rows(n_fit))
    law = law_of_counts(rows, n_fit)
    chain = _Chain(law, levels, (1.0 - confidence) / levels.size)
    gamma = chain.largest_level(confidence)
    if n <= rows:
        return gamma
    # Counts are coarse, so the intervals leave out a little less than gamma. A fine count needs
    # the level that they do leave out.
    lower, upper = law.central(levels, gamma)
    beyond = np.stack([lower - 1, upper + 1], axis=1).astype(int)
    left_out = float(np.mean([_outside(law, *ends) for ends in zip(levels, beyond, strict=True)]))
    return left_out * (1.0 - confidence) / (1.0 - chain.coverage(gamma))


def _most_rows(n_fit: float | None) -> int:
    """Return the number of rows whose counts spread as those of `EXACT_UP_TO` without a map."""
    if n_fit is None:
        return EXACT_UP_TO
    # The variance of a count is n p (1 - p), with a map about (1 + n / n_fit) times that.
    return int(0.5 * n_fit * (sqrt(1.0 + 4.0 * EXACT_UP_TO / n_fit) - 1.0))


def _outside(law: CountLaw, p: float, beyond: NDArray[np.intp]) -> float:
    """Probability of a count at or beyond two ends."""
    below, above = law.tails(p, np.clip(beyond, 0, law.n))
    return float((below[0] if beyond[0] >= 0 else 0.0) + (above[1] if beyond[1] <= law.n else 0.0))


class _Step(NamedTuple):
    """One level: its counts, their two-sided tails, and the law of the step to it."""

    first: int
    tails: FloatArray
    least: int
    law: FloatArray


class _Chain:
    """Counts at increasing levels in (0, 1), as a Markov chain.

    The chain walks in independent steps, and the last one must lead to n; see
    `CountLaw.log_step`. `gamma` is the smallest local level that will be used.
    """

    def __init__(self, law: CountLaw, levels: FloatArray, gamma: float) -> None:
        self.gamma = gamma
        lower, upper = (counts.astype(int) for counts in law.central(levels, gamma))
        shares = np.diff(levels, prepend=0.0)
        steps = []
        previous = (0, 0)
        for p, share, low, high in zip(levels, shares, lower, upper, strict=True):
            least, chances = _likely(law, share, max(low - previous[1], 0), high - previous[0])
            tails = 2.0 * np.minimum(*law.tails(p, np.arange(low, high + 1)))
            steps.append(_Step(low, tails, least, chances))
            previous = (low, high)
        self.steps = steps
        rest = law.n - np.arange(previous[0], previous[1] + 1)
        self.last = np.exp(law.log_step(1.0 - levels[-1], rest) - law.log_step(1.0, law.n))

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


def _likely(law: CountLaw, share: float, least: int, most: int) -> tuple[int, FloatArray]:
    """Probabilities of steps from least to most, without negligible ones at either end."""
    chances = np.exp(law.log_step(share, np.arange(least, most + 1)))
    kept = np.flatnonzero(chances > _NEGLIGIBLE)
    return least + int(kept[0]), chances[kept[0] : kept[-1] + 1]
