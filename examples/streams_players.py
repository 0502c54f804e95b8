"""Methods that forecast intervals for a stream, each for many streams at once.

A player is shown the scores (y - loc) / scale of some first rows, and then, row by row, gives
the ends of central intervals of the next score before it learns that score. The intervals of 15
coverages approximate the CRPS.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtri

import trueline as tl

#: Miscoverages of the intervals: the midpoints of 15 equal parts of (0, 1). The second is 0.1.
ALPHAS = (2.0 * np.arange(15) + 1.0) / 30.0
NINETY = 1
#: Levels of the ends: lower ends in the order of ALPHAS, then upper ends.
LEVELS = np.concatenate([ALPHAS / 2.0, 1.0 - ALPHAS / 2.0])

#: The published settings of DtACI: rates of its experts, and the length of the stretches in which
#: it competes with the best of them.
EXPERTS = np.array([0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128])
STRETCH = 500


class Player(ABC):
    """A method that plays S streams at once."""

    @abstractmethod
    def ends(self, scale: np.ndarray) -> np.ndarray:
        """Return the ends of the next intervals, in scores: an array (S, 30) in the order LEVELS.

        `scale` is the standard deviation of the next scores, which only the oracle may use.
        """

    def ninety(self, scale: np.ndarray) -> np.ndarray:
        """Return the ends of the next 90% intervals, an array (S, 2)."""
        return self.ends(scale)[:, [NINETY, NINETY + len(ALPHAS)]]

    @property
    def infinite(self) -> np.ndarray | bool:
        """Whether the 90% intervals last given are infinite."""
        return False

    def learn(self, s: np.ndarray) -> None:  # noqa: B027  # some learn nothing
        """Learn the S scores of the row."""


class Oracle(Player):
    """The forecast that knows the standard deviation of every row."""

    def __init__(self, first: np.ndarray) -> None:
        self.quantiles = ndtri(LEVELS)

    def ends(self, scale: np.ndarray) -> np.ndarray:
        return scale[:, None] * self.quantiles


class Fixed(Player):
    """A map of the first rows that never changes."""

    def __init__(self, first: np.ndarray) -> None:
        maps = [tl.Isotonic().fit(s, tl.Normal(np.zeros(len(s)), 1.0)) for s in first]
        standard = tl.Normal(0.0, 1.0)
        self.fixed = np.concatenate([m.transform(standard).ppf(LEVELS) for m in maps])

    def ends(self, scale: np.ndarray) -> np.ndarray:
        return self.fixed


class Streaming(Player):
    """An `Online` per stream, updated after every row."""

    def __init__(self, make: Callable[[], tl.Online], first: np.ndarray) -> None:
        self.maps = [make().update(s, tl.Normal(np.zeros(len(s)), 1.0)) for s in first]
        self.standard = tl.Normal(0.0, 1.0)

    def ends(self, scale: np.ndarray) -> np.ndarray:
        return np.concatenate([m.transform(self.standard).ppf(LEVELS) for m in self.maps])

    def ninety(self, scale: np.ndarray) -> np.ndarray:
        ends = [m.transform(self.standard).interval(0.9) for m in self.maps]
        return np.array(ends)[:, :, 0]

    def learn(self, s: np.ndarray) -> None:
        for m, score in zip(self.maps, s.tolist(), strict=True):
            m.update(score, self.standard)


class DtACI(Player):
    """Dynamically tuned adaptive conformal inference, one for each of the 15 coverages.

    Gibbs and Candes, "Conformal inference for online prediction with arbitrary distribution
    shifts", JMLR 2024. Every expert runs adaptive conformal inference with its own rate; weights
    by exponential losses, mixed with uniform ones, average their levels. With one rate this is
    adaptive conformal inference itself (Gibbs and Candes, NeurIPS 2021).

    The conformity score is the absolute score, and its quantiles are those of as many last rows as
    there were first rows. Infinite intervals are cut at the largest absolute score so far, which
    counts as infinite.
    """

    def __init__(self, rates: Sequence[float], first: np.ndarray) -> None:
        self.rates = np.asarray(rates)
        streams, self.rows = first.shape
        self.window = np.abs(first)
        self.oldest = 0
        self.largest = self.window.max(axis=1)
        k = len(self.rates)
        self.levels = np.tile(ALPHAS[:, None], (streams, 1, k))
        self.weights = np.full((streams, len(ALPHAS), k), 1.0 / k)
        tail = ALPHAS * (1.0 - ALPHAS)
        squares = tail * tail  # (1 - a)^2 a^3 + a^2 (1 - a)^3
        self.eta = np.sqrt(3.0 / STRETCH * (math.log(2 * k * STRETCH) + 1.0) / squares)[:, None]
        self.mixed = 0.5 / STRETCH
        self.unbounded = np.zeros((streams, len(ALPHAS)), dtype=bool)

    @property
    def infinite(self) -> np.ndarray:
        return self.unbounded[:, NINETY]

    def ends(self, scale: np.ndarray) -> np.ndarray:
        level = (self.weights * self.levels).sum(axis=2)
        # The interval is bounded by the k-th smallest score of the window.
        k = np.ceil((1.0 - level) * (self.rows + 1) - 1e-9).astype(int)
        ordered = np.sort(self.window, axis=1)
        radius = np.take_along_axis(ordered, np.clip(k - 1, 0, self.rows - 1), axis=1)
        radius[k < 1] = 0.0
        self.unbounded = k > self.rows
        radius = np.where(self.unbounded, self.largest[:, None], radius)
        return np.concatenate([-radius, radius], axis=1)

    def learn(self, s: np.ndarray) -> None:
        s = np.abs(s)
        below = (self.window < s[:, None]).sum(axis=1)
        # The largest level whose interval would have held the score.
        beta = (1.0 - below / (self.rows + 1.0))[:, None, None]
        short = beta - self.levels
        loss = ALPHAS[:, None] * short - np.minimum(short, 0.0)
        self.levels += self.rates * (ALPHAS[:, None] - (short <= 0.0))
        if len(self.rates) > 1:
            w = self.weights * np.exp(-self.eta * loss)
            w /= w.sum(axis=2, keepdims=True)
            self.weights = (1.0 - self.mixed) * w + self.mixed / len(self.rates)
        self.window[:, self.oldest] = s
        self.oldest = (self.oldest + 1) % self.rows
        self.largest = np.maximum(self.largest, s)


def interval_scores(ends: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the interval scores of all coverages: (..., 30) and (...) to (..., 15)."""
    lower, upper = ends[..., : len(ALPHAS)], ends[..., len(ALPHAS) :]
    y = y[..., None]
    miss = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return upper - lower + 2.0 / ALPHAS * miss


def crps(scores: np.ndarray) -> np.ndarray:
    """Return the CRPS by the midpoint rule: the integral of alpha / 2 times the interval score."""
    return (0.5 * ALPHAS * scores).mean(axis=-1)
