"""Scores of rows whose outcome is an atom of its forecast: an interval of scores each.

Such a row says only that its score lies between those just below and at the outcome. It is spread
over the interval as a normal law of all scores is, so that a perfect forecast is mapped to itself:
for F itself in place of that law, the mean over rows of clip((u - F(y-)) / (F(y) - F(y-)), 0, 1)
has expectation u (Czado, Gneiting and Held, 2009, doi:10.1111/j.1541-0420.2009.01191.x).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from trueline._validation import FloatArray
from trueline.laws import LOG_SQRT_2PI
from trueline.scores._sorted import (
    Exact,
    Scores,
    collapse,
    fallback_scale,
    joint_squares,
    sum_of_squares,
)

# Points per interval: so many that all intervals together have the first number, but at least one
# and at most the second number.
_POINTS = 1 << 18
_MOST_POINTS = 16
# Multiples of the golden ratio, modulo 1, fill the range from 0 to 1 evenly.
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
# Rows from which the normal law is estimated, and steps of the estimation.
_ENOUGH = 20_000
_STEPS = 30
# The standard deviation of the normal law is kept above this share of that of the middles.
_LEAST_SHARE = 1e-3
# Scores beyond this multiple of the median distance from the median do not count for it.
_USUAL = 12.0


@dataclass(eq=False, repr=False)
class Intervals(Scores):
    """Intervals of scores, one per row, sorted; an end may be infinite.

    Everything but merging works on `spread`, the intervals as weighted points.
    """

    kind: str
    lower: FloatArray
    upper: FloatArray
    weights: FloatArray | None
    squares: float | None = None
    error: float = field(default=0.0, init=False)
    rounded: bool = field(default=False, init=False)

    @classmethod
    def of_rows(
        cls,
        kind: str,
        lower: FloatArray,
        upper: FloatArray,
        w: FloatArray | None,
        squares: float | None = None,
    ) -> Intervals:
        """Sort rows; `squares` is needed if some of them stand for several rows that tied."""
        order = np.lexsort([upper, lower] if w is None else [w, upper, lower])
        if squares is None:
            squares = sum_of_squares(w)
        return cls(kind, lower[order], upper[order], None if w is None else w[order], squares)

    @cached_property
    def spread(self) -> Exact:
        """The intervals as points, by the normal law that is most likely given all of them."""
        return self.spread_by(self.normal_law())

    def spread_by(self, normal: tuple[float, float] | None) -> Exact:
        """Return points of equal weight, at quantiles of the normal law in each interval.

        Levels differ between intervals that are neighbours, so that together they are as close as
        if each interval had many points.
        """
        if normal is None:
            return self.spread
        wide = np.flatnonzero(self.lower < self.upper)
        narrow = np.flatnonzero(self.lower == self.upper)
        w = np.ones(len(self.lower)) if self.weights is None else self.weights
        k = int(np.clip(_POINTS // max(len(wide), 1), 1, _MOST_POINTS))
        k = 1 << (k.bit_length() - 1)  # a power of two, so that masses add up without rounding
        start = np.mod(0.5 + _GOLDEN * np.arange(len(wide)), 1.0)
        levels = (np.arange(k) + start[:, None]) / k
        points = _within(self.lower[wide], self.upper[wide], *normal, levels)
        values = np.concatenate([self.lower[narrow], points.ravel()])
        mass = np.concatenate([w[narrow], np.repeat(w[wide] / k, k)])
        order = np.argsort(values, kind="stable")
        parts = collapse(values[order], mass[order])
        return Exact(self.kind, *parts, squares=self.squares)

    def normal_law(self) -> tuple[float, float]:
        """Mean and standard deviation of the normal law that is most likely given the intervals."""
        rows = slice(None, None, max(len(self.lower) // _ENOUGH, 1))
        lower, upper = self.lower[rows], self.upper[rows]
        w = np.ones(len(lower)) if self.weights is None else self.weights[rows]
        ends = (
            np.where(np.isfinite(lower), lower, upper),
            np.where(np.isfinite(upper), upper, lower),
        )
        with np.errstate(invalid="ignore"):  # an interval may be the whole line
            middle = 0.5 * ends[0] + 0.5 * ends[1]
        known = np.isfinite(middle)
        if not known.any():
            return 0.0, 1.0
        centre = float(np.median(middle[known]))
        # A few extreme scores must not decide how all others are spread.
        reach = _USUAL * float(np.median(np.abs(middle[known] - centre)))
        if reach > 0:
            known &= np.abs(middle - centre) <= reach
        lower, upper, middle, w = lower[known], upper[known], middle[known], w[known]
        w = w / w.sum()
        # Relative to the median, so that equal middles have a deviation of exactly zero.
        mean = centre + float(w @ (middle - centre))
        width = np.where(np.isfinite(upper - lower), upper - lower, 0.0)
        start = std = float(
            np.sqrt(w @ ((middle - mean) ** 2 + width**2 / 12.0))
        ) or fallback_scale(centre, self.kind)
        for _ in range(_STEPS):  # of expectation and maximisation
            first, second = _moments((lower - mean) / std, (upper - mean) / std)
            shift = float(w @ first)
            spread = float(w @ second) - shift**2
            mean, std = mean + std * shift, std * float(np.sqrt(max(spread, 0.0)))
            std = max(std, _LEAST_SHARE * start)
        return mean, std

    @property
    def values(self) -> FloatArray:  # type: ignore[override]  # those of the points
        return self.spread.values

    def __len__(self) -> int:
        """Return the number of intervals."""
        return len(self.lower)

    @property
    def distinct(self) -> int:
        # Equal intervals are spread, so that their rows do not tie.
        narrow = self.lower == self.upper
        return len(np.unique(self.lower[narrow])) + int(np.count_nonzero(~narrow))

    @property
    def total(self) -> float:
        return float(len(self.lower)) if self.weights is None else float(self.weights.sum())

    def cumulative(self) -> tuple[FloatArray, FloatArray]:
        return self.spread.cumulative()

    def slack(self) -> FloatArray | float:
        return self.spread.slack()

    def round(self) -> Scores:
        return self.spread.round()

    def compress(self, max_knots: int) -> Scores:
        """Keep at most `max_knots` rows, all of them or points that stand for them."""
        return self if len(self) <= max_knots else self.spread.compress(max_knots)

    def points(self) -> tuple[FloatArray, FloatArray]:
        return self.spread.points()

    def rows(self) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        return self.lower, self.upper, self.weights

    def join(self, other: Scores) -> Scores | None:
        theirs = other.rows()
        if theirs is None:
            return None
        parts = [self.rows(), theirs]
        lower, upper = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        w = None
        if any(part[2] is not None for part in parts):
            ones = (np.ones(len(part[0])) if part[2] is None else part[2] for part in parts)
            w = np.concatenate(list(ones))
        return Intervals.of_rows(self.kind, lower, upper, w, joint_squares([self, other]))


def _moments(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second moment of a standard normal between a and b; the nearest point if a = b."""
    # The interval is mirrored to the side where probabilities keep their digits.
    mirrored = a > -b
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    with np.errstate(all="ignore"):
        log_mass = log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))
        density = [np.exp(-0.5 * z * z - LOG_SQRT_2PI - log_mass) for z in (low, high)]
        first = density[0] - density[1]
        edges = [np.where(np.isfinite(z), z, 0.0) for z in (low, high)]
        second = 1.0 + edges[0] * density[0] - edges[1] * density[1]
    nearest = np.clip(0.0, low, high)
    good = np.isfinite(first) & np.isfinite(second) & (first >= low) & (first <= high)
    good &= second >= first**2
    first = np.where(good, first, nearest)
    return np.where(mirrored, -first, first), np.where(good, second, nearest**2)


def _within(
    lower: FloatArray, upper: FloatArray, mean: float, std: float, share: FloatArray
) -> FloatArray:
    """Return quantiles of the normal law between `lower` and `upper` at levels `share`, (n, k)."""
    a, b = (lower - mean) / std, (upper - mean) / std
    mirrored = a > -b
    low, high = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    share = np.where(mirrored[:, None], 1.0 - share, share)
    probability = ndtr(low)[:, None] + (ndtr(high) - ndtr(low))[:, None] * share
    z = np.asarray(ndtri(probability))
    # Far out nothing is left of the law: there the points lie close to the nearer end.
    far = ~np.isfinite(z) | (ndtr(high) <= ndtr(low))[:, None]
    if far.any():
        near = high[:, None] - np.minimum(1.0, (high - low)[:, None]) * (1.0 - share)
        z = np.where(far, near, z)
    z = np.clip(z, low[:, None], high[:, None])
    z = np.where(mirrored[:, None], -z, z)
    return np.clip(mean + std * z, lower[:, None], upper[:, None])


def expected_distances(lower: FloatArray, upper: FloatArray, w: FloatArray | None) -> FloatArray:
    """Return the mean distance from 0 of the score in each interval, by the normal law of all."""
    mean, std = Intervals.of_rows("", lower, upper, w).normal_law()
    levels = (np.arange(_MOST_POINTS) + 0.5)[None, :] / _MOST_POINTS
    return np.abs(_within(lower, upper, mean, std, levels)).mean(axis=1)


def draw_within(lower: FloatArray, upper: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a standard normal number between `lower` and `upper` in every row."""
    return _within(lower, upper, 0.0, 1.0, rng.random((len(lower), 1)))[:, 0]
