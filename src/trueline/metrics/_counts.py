"""The law of the number of outcomes at or below a level, for a calibrated forecast.

Of n rows it is Binomial(n, p) at level p. If a map was fitted on n_fit rows, the probability at
level p is itself random: by the law of order statistics it is Beta((n_fit + 1) p, (n_fit + 1)
(1 - p)), and the number is beta-binomial. At several levels the numbers are multinomial or, with a
map, Dirichlet-multinomial (Pólya). The binomial law is the limit of many rows of the fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import (
    bdtr,
    bdtrc,
    bdtrik,
    betainc,
    betaincinv,
    betaln,
    gammaln,
    ndtr,
    ndtri,
    xlogy,
)

from trueline._validation import FloatArray

# Beyond this number of rows, of the test and of the fit, the law is the normal one: a significant
# gap is then too small to matter.
_EXACT_UP_TO = 100_000
# Nodes of the trapezoidal rule on the normal scale, where it converges exponentially: to 1e-11, or
# 1e-6 for a fit on fewer than ten rows.
_NODES = np.linspace(-7.0, 7.0, 29)
_MASS = np.exp(-0.5 * _NODES**2)
_MASS /= _MASS.sum()


class CountLaw(ABC):
    """The law of counts of ``n`` rows, or of several numbers of rows at once."""

    n: Any

    def central(self, p: ArrayLike, gamma: float) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest count at levels p whose own tail is above gamma / 2."""
        p = np.asarray(p, dtype=np.float64)
        return self.lower(p, 0.5 * gamma), self.n - self.lower(1.0 - p, 0.5 * gamma)

    @abstractmethod
    def lower(self, p: FloatArray, tail: float) -> FloatArray:
        """Smallest count k at level p with P(K <= k) > tail."""

    @abstractmethod
    def tails(self, p: float, k: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """P(K <= k) and P(K >= k) at level p."""

    @abstractmethod
    def log_step(self, share: float, k: ArrayLike) -> FloatArray:
        """Log probability of k rows between two levels whose distance is this share.

        These counts are independent between different pairs of levels: the counts of n rows
        have the same law given that they add up to n.
        """


def law_of_counts(n: int | NDArray[np.int64], n_fit: float | None) -> CountLaw:
    """Return the law of counts of n rows, for a map that was fitted on n_fit rows or for none."""
    return _Binomial(n) if n_fit is None else _BetaBinomial(n, n_fit)


class _Binomial(CountLaw):
    """Counts of uniform PIT values. Given their total, Poisson counts are multinomial."""

    def __init__(self, n: int | NDArray[np.int64]) -> None:
        self.n = n

    def lower(self, p: FloatArray, tail: float) -> FloatArray:
        n = self.n
        start = np.asarray(bdtrik(tail, n, p))
        k = np.clip(np.where(np.isfinite(start), np.floor(start), 0.0), 0, n)
        # The continuous inverse may be off by a rounding error, not by more than one count.
        for candidate in (k + 1, k, k - 1):
            valid = (candidate >= 0) & (candidate <= n)
            passes = valid & (bdtr(np.where(valid, candidate, 0), n, p) > tail)
            k = np.where(passes, candidate, k)
        return k

    def tails(self, p: float, k: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        above = np.where(k > 0, bdtrc(np.maximum(k - 1, 0), self.n, p), 1.0)
        return np.asarray(bdtr(k, self.n, p)), above

    def log_step(self, share: float, k: ArrayLike) -> FloatArray:
        k, rate = np.asarray(k, dtype=np.float64), self.n * share
        return np.asarray(xlogy(k, rate) - rate - gammaln(k + 1.0))


class _BetaBinomial(CountLaw):
    """Counts under a fitted map. Given their total, negative binomial counts have Pólya's law."""

    def __init__(self, n: int | NDArray[np.int64], n_fit: float) -> None:
        self.n = n
        self.weight = n_fit + 1.0

    def lower(self, p: FloatArray, tail: float) -> FloatArray:
        n, a, b = np.broadcast_arrays(
            np.asarray(self.n, dtype=np.float64), self.weight * p, self.weight * (1.0 - p)
        )
        # The beta law with the mean and the variance of K / n is close.
        weight = np.maximum(n * (self.weight + 1.0) / (n + self.weight) - 1.0, 1e-3)
        share = betaincinv(weight * a / self.weight, weight * b / self.weight, tail)
        k = np.clip(np.floor(n * share), 0.0, np.maximum(n - 1.0, 0.0))
        if min(n.min(), self.weight) > _EXACT_UP_TO:
            return k
        slope = np.sqrt(a * b * n * (n + self.weight) / (self.weight + 1.0)) / self.weight
        return _solve(k, slope, n, a, b, tail)

    def tails(self, p: float, k: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        a, b = self.weight * p, self.weight * (1.0 - p)
        count = np.arange(self.n + 1.0)
        rest = self.n - count
        # log of (n choose count), from the beta function
        ways = -betaln(count + 1.0, rest + 1.0) - np.log(self.n + 1.0)
        mass = np.exp(ways + betaln(count + a, rest + b) - betaln(a, b))
        return np.cumsum(mass)[k], np.cumsum(mass[::-1])[::-1][k]

    def log_step(self, share: float, k: ArrayLike) -> FloatArray:
        k, size = np.asarray(k, dtype=np.float64), self.weight * share
        odds = self.n / self.weight  # so that the mean is n times the share
        ways = gammaln(k + size) - gammaln(size) - gammaln(k + 1.0)
        return np.asarray(ways + k * np.log(odds) - (k + size) * np.log1p(odds))


def _solve(
    k: FloatArray, slope: FloatArray, n: FloatArray, a: FloatArray, b: FloatArray, tail: float
) -> FloatArray:
    """Return the smallest k with P(K <= k) > tail, from a first guess.

    On the normal scale the probability is nearly linear in k, so that secants need few steps;
    `slope` is that of the first. A bracket keeps the steps from going astray.
    """
    goal, shape = ndtri(tail), k.shape
    none = np.full(shape, np.nan)
    columns = (k, slope, n, a, b, np.full(shape, -1.0), n, none, none)
    table = np.stack([np.broadcast_to(x, shape).ravel() for x in columns])
    found, rows = table[2].copy(), np.arange(k.size)
    while rows.size:
        k, slope, n, a, b, below, above, last_k, last_z = table
        z = ndtri(np.clip(_probability(k, n, a, b), 1e-300, 1.0 - 1e-16))
        below, above = np.where(z > goal, below, k), np.where(z > goal, k, above)
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = (k - last_k) / (z - last_z)
        slope = np.where(np.isfinite(secant) & (secant > 0.0), secant, slope)
        step = np.floor(k + slope * (goal - z))
        inner = (step > below) & (step < above)
        following = np.where(inner, step, np.floor(0.5 * (below + above)))
        following = np.clip(following, 0.0, np.maximum(n - 1.0, 0.0))
        found[rows] = above
        open_ = above - below > 1.0
        table = np.stack([following, slope, n, a, b, below, above, k, z])[:, open_]
        rows = rows[open_]
    return found.reshape(shape)


def _probability(k: FloatArray, n: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return P(K <= k) for the beta-binomial K of n rows, k < n.

    It is P(Q < U) for Q ~ Beta(a, b) and the order statistic U ~ Beta(k + 1, n - k): the integral
    of the distribution function of the wider one over the quantiles of the narrower one.
    """
    narrow = a + b > n
    first = np.where(narrow, a, k + 1.0)[..., None], np.where(narrow, b, n - k)[..., None]
    second = np.where(narrow, k + 1.0, a)[..., None], np.where(narrow, n - k, b)[..., None]
    p = betainc(*second, betaincinv(*first, ndtr(_NODES))) @ _MASS
    return np.where(narrow, 1.0 - p, p)
