"""Levels that adapt to a stream, so that intervals have their coverage whatever the stream does.

The claim. Let p be a level and a_1 = p. Before row t, Q_t is the present quantile function: an
increasing function of every real level, made from earlier rows. The score s_t of the row is held if
s_t <= Q_t(a_t), and then

    a_{t+1} = a_t + rate * (p - held_t)

(Gibbs and Candes, "Adaptive conformal inference under distribution shift", 2021, for one side).
Q_t is the map's own quantile function up to a level 1 - e_t, with value U_t there; beyond, the
distance from the median m_t doubles with each further `rate` of level. Below it is the mirror
image, from L_t at level e_t on. Suppose that the scores and medians stay within B of zero, and U_t
- m_t and m_t - L_t above d, and let K = max(0, log2(2 B / d)); B and d need not be known. Then for
any T rows, even if they are chosen to make the bound fail,

    |share held - p| <= (1 + rate * (K + 1)) / (rate * T).

The proof. Beyond 1 - e_t + rate * K the quantile is at least m_t + d 2^K >= -B + 2 B = B, so that
the row is held and the level falls. A level that is not beyond rises by no more than rate * p in a
row, so a_t <= 1 + rate * (K + p) for all t; likewise a_t >= -rate * (K + 1 - p). Summing the
updates, a_{T+1} - a_1 = rate * T * (p - share held), and both ends differ by less than 1 + rate *
(K + 1).

For an interval of coverage c from the levels p = (1 - c) / 2 and 1 - p, started at a_1 = p and 1 -
p, the same two bounds on the levels give more: above, a_{T+1} - a_1 <= p + rate * (K + 1 - p), as
much below, and hence

    share missed <= (1 - c) + ((1 - c) / rate + 2 K + 1 + c) / T.

Scores are taken to lie within 2^1021 of zero, as all but the largest float64 do,
so that K is below 2100 for every sequence. The lower level counts scores *below* its
quantile, so that ends belong to the interval. Should the two levels cross, which takes a long run
of rows inside a narrow interval, the interval between both quantiles is used; it covers at least as
often as the levels assume, so the bound on the share missed holds.
"""

from __future__ import annotations

import math
import sys
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from trueline._validation import FloatArray
from trueline.laws import ExponentialTail, PiecewiseLaw, ScoreLaw, Tail
from trueline.streams._law import DelayedLaw

#: An upper bound on K: the number of doublings from the smallest to the largest float64, and more.
MOST_DOUBLINGS = 2200
# Largest probability at each end of a map where doubling quantiles replace its own.
_EDGE = 1e-3
# Quantiles and scores are clipped to this, so that their differences are finite.
_LARGEST = 2.0**1021
# Levels closer than this are compared by their quantiles, so that rounding does not decide.
_NEAR = 1e-9
# Levels of the knots that replace a map which is not piecewise linear, even in normal scores.
_GRID = np.asarray(ndtr(np.linspace(-4.75, 4.75, 513)))


class ExtendedQuantiles:
    """Quantiles of a law at any real level; beyond its ends they double with each `rate`.

    The quantiles of the law extend beyond `tail`, the lower of the two levels that adapt.
    """

    def __init__(self, law: ScoreLaw, rate: float, tail: float) -> None:
        self.rate = rate
        low, high = law.supported
        edge = min(_EDGE, 0.5 * tail)
        # A law with tails is used beyond its outermost score, where a tie may have much weight.
        self.low = min(edge, 0.5 * low) if low > 0 else edge
        self.high = 1.0 - (min(edge, 0.5 * (1.0 - high)) if high < 1 else edge)
        self.n_fit = law.n_fit
        self._given = law
        self._pairs: dict[tuple[float, float], tuple[float, float]] = {}

    @cached_property
    def law(self) -> ScoreLaw:
        """The law, or one with the spread of a single row if all scores tie."""
        bottom, middle, top = self._ends_of(self._given)
        if bottom < middle < top:
            return self._given
        spread = ExponentialTail(abs(middle) or 1.0)
        half = np.array([0.5])
        return PiecewiseLaw(np.array([middle]), half, half, (spread, spread))

    def _ends_of(self, law: ScoreLaw) -> list[float]:
        ends = law.ppf(np.array([self.low, 0.5, self.high]))
        return np.clip(ends, -_LARGEST, _LARGEST).tolist()

    @cached_property
    def _ends(self) -> list[float]:
        return self._ends_of(self.law)

    @property
    def bottom(self) -> float:
        """The quantile below which distances from the median double."""
        return self._ends[0]

    @property
    def middle(self) -> float:
        """The median."""
        return self._ends[1]

    @property
    def top(self) -> float:
        """The quantile above which distances from the median double."""
        return self._ends[2]

    @property
    def down(self) -> float:
        """The distance of the bottom from the median, which doubles."""
        return max(min(self.middle - self.bottom, _LARGEST), sys.float_info.min)

    @property
    def up(self) -> float:
        """The distance of the top from the median, which doubles."""
        return max(min(self.top - self.middle, _LARGEST), sys.float_info.min)

    def pair(self, low: float, high: float) -> tuple[float, float]:
        """Return the quantiles at two levels."""
        if (low, high) not in self._pairs:
            self._pairs = {(low, high): self._pair(low, high)}
        return self._pairs[low, high]

    def _pair(self, low: float, high: float) -> tuple[float, float]:
        least, most = self._given.supported
        if least <= low < 0.5 < high <= most:
            # Quantiles between the ends, which then differ from the median, need not be known.
            below, middle, above = self._given.ppf(np.array([low, 0.5, high])).tolist()
            if -_LARGEST <= below < middle < above <= _LARGEST:
                return below, above
        return self.quantile(low), self.quantile(high)

    def quantile(self, level: float) -> float:
        """Return the quantile at a level, finite for every level."""
        if level > self.high:
            far = self._doubled(self.up, level - self.high)
            return min(max(self.middle + far, self.top), _LARGEST)
        if level < self.low:
            far = self._doubled(self.down, self.low - level)
            return max(min(self.middle - far, self.bottom), -_LARGEST)
        return float(np.clip(self.law.ppf(np.array(level)), self.bottom, self.top))

    def _doubled(self, unit: float, beyond: float) -> float:
        # Linear between the doublings, so that a piecewise linear law can represent it.
        times, part = divmod(beyond / self.rate, 1.0)
        try:
            return math.ldexp(unit * (1.0 + part), int(times))
        except OverflowError:
            return math.inf

    def levels(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the least level with a quantile of at least s, and the largest of at most s."""
        law = self.law
        last = np.clip(law.cdf(s), self.low, self.high)
        first = np.clip(law.cdf_left(s), self.low, self.high) if law.has_atoms else last.copy()
        above, below = s > self.top, s < self.bottom
        for beyond, sign, edge, unit in (
            (above, 1.0, self.high, self.up),
            (below, -1.0, self.low, self.down),
        ):
            if beyond.any():
                far = sign * (0.5 * s[beyond] - 0.5 * self.middle)
                level = edge + sign * self.rate * _doublings(far, 0.5 * unit)
                first[beyond] = last[beyond] = level
        return first, last

    @cached_property
    def _knots(self) -> tuple[FloatArray, FloatArray, FloatArray, tuple[Tail, Tail]]:
        """The knots of the law, R just below and at each, and its tails."""
        law = self.law.whole if isinstance(self.law, DelayedLaw) else self.law
        if isinstance(law, PiecewiseLaw):
            return law.knots, law.left, law.right, law.tails
        # An exponential tail falls to a share of 1 / e in one mean excess.
        mass = _GRID[0] / math.e
        ends = law.ppf(np.array([mass, _GRID[0], _GRID[-1], 1.0 - mass]))
        below, above = (max(float(x), sys.float_info.min) for x in np.diff(ends)[[0, 2]])
        return law.ppf(_GRID), _GRID, _GRID, (ExponentialTail(below), ExponentialTail(above))

    def warped(self, levels: tuple[float, float], at: tuple[float, float]) -> ScoreLaw:
        """Return the law whose quantiles at `levels` are the quantiles of this one `at` others.

        Other levels are warped in proportion: from 0 to the lower of the two, between them, and
        from the upper to 1. Levels beyond the law use its doubling quantiles.
        """
        if at == levels:
            return self.law
        low, high = min(at), max(at)
        high = max(high, math.nextafter(low, math.inf))
        pins = self.pins(levels, at)
        x, left, right, (below, above) = self._knots
        corners = self._corners(levels, at)

        def warp(level: FloatArray) -> FloatArray:
            return np.interp(level, *corners)

        # Doubling quantiles replace the outermost knots of the law.
        doubling = self._doubling_knots(low, high)
        own = slice(
            0 if low > self.low else int(np.searchsorted(x, self.bottom)),
            None if high < self.high else int(np.searchsorted(x, self.top, side="right")),
        )
        added = np.append(warp(doubling[1]), levels)
        knots, lefts, rights = _in_order(
            np.concatenate([x[own], doubling[0], list(pins.values())]),
            np.append(warp(left[own]), added),
            np.append(warp(right[own]), added),
        )
        inside = slice(
            0 if low > self.low else int(np.searchsorted(knots, pins[levels[0]])),
            None if high < self.high else int(np.searchsorted(knots, pins[levels[1]], "right")),
        )
        tails = (
            below if low > self.low else self._stretched(below, pins[levels[0]] - self.middle),
            above if high < self.high else self._stretched(above, pins[levels[1]] - self.middle),
        )
        knots, lefts, rights = knots[inside], lefts[inside], rights[inside]
        if (lefts == rights).all():  # one array for both means that there are no jumps
            lefts = rights
        law = PiecewiseLaw(knots, lefts, rights, tails, pins)
        law.supported = self.supported(levels, at)
        return law

    def pins(self, levels: tuple[float, float], at: tuple[float, float]) -> dict[float, float]:
        """Return the quantiles of the warped law at `levels`."""
        return dict(zip(levels, self.pair(min(at), max(at)), strict=True))

    def supported(
        self, levels: tuple[float, float], at: tuple[float, float]
    ) -> tuple[float, float]:
        """Return the levels that rows support after warping."""
        least, most = np.interp(self._given.supported, *self._corners(levels, at)).tolist()
        return min(least, levels[0]), max(most, levels[1])

    def _corners(
        self, levels: tuple[float, float], at: tuple[float, float]
    ) -> tuple[list[float], list[float]]:
        """Return levels of this law, and those that they are warped to."""
        low, high = min(at), max(at)
        high = max(high, math.nextafter(low, math.inf))
        # The warped levels begin and end at the ends of the law, or at a level beyond them.
        begin, end = (0.0 if low > self.low else low), (1.0 if high < self.high else high)
        return [begin, low, high, end], [0.0, *levels, 1.0]

    def _doubling_knots(self, low: float, high: float) -> tuple[FloatArray, FloatArray]:
        """Return quantiles at every doubling up to the levels, and their own levels."""
        steps = [
            *np.arange(self.low, low, -self.rate)[::-1].tolist(),
            *np.arange(self.high, high, self.rate).tolist(),
        ]
        return np.array([self.quantile(step) for step in steps]), np.array(steps)

    def _stretched(self, tail: Tail, distance: float) -> Tail:
        unit = self.up if distance > 0 else self.down
        return type(tail)(min(tail.excess * max(abs(distance) / unit, 1.0), 1e300))


class WarpedLaw(DelayedLaw):
    """The law whose quantiles at `levels` are those of another law `at` other levels."""

    def __init__(
        self, quantiles: ExtendedQuantiles, levels: tuple[float, float], at: tuple[float, float]
    ) -> None:
        self.quantiles, self.levels, self.at = quantiles, levels, at
        self.pins = quantiles.pins(levels, at)
        self.supported = quantiles.supported(levels, at)
        self.n_fit = quantiles.n_fit

    def _known(self, q: FloatArray) -> FloatArray | None:
        levels = q.ravel().tolist()
        if not all(level in self.pins for level in levels):
            return None
        return np.array([self.pins[level] for level in levels]).reshape(q.shape)

    def _make(self) -> ScoreLaw:
        return self.quantiles.warped(self.levels, self.at)


def _doublings(far: FloatArray, unit: float) -> FloatArray:
    """Return how often a unit doubles to reach a distance; linear in between, without overflow."""
    (share, power), (share_of_one, power_of_one) = np.frexp(far), math.frexp(unit)
    ratio, more = np.frexp(share / share_of_one)
    return (power - power_of_one + more - 1.0) + (2.0 * ratio - 1.0)


def _in_order(
    x: FloatArray, left: FloatArray, right: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sort knots; knots at the same place become one, with a jump from the first to the last."""
    order = np.argsort(x, kind="stable")
    x, left, right = x[order], left[order], right[order]
    # Quantiles and levels invert each other up to rounding, which must not make R decrease.
    rising = np.maximum.accumulate(np.stack([left, right], axis=1).ravel())
    left, right = rising[::2], rising[1::2]
    first = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    last = np.append(first[1:] - 1, len(x) - 1)
    return x[first], left[first], right[last]


def adapt_levels(
    quantiles: ExtendedQuantiles,
    levels: tuple[float, float],
    at: tuple[float, float],
    s: FloatArray,
) -> tuple[float, float]:
    """Return both levels after some rows, each of which is judged by the levels before it."""
    (p_low, p_high), (low, high) = levels, at
    rate = quantiles.rate
    s = np.clip(s, -_LARGEST, _LARGEST)
    # The first row is judged by the quantiles of the forecast that was issued, to the last bit.
    score = float(s[0])
    below, above = quantiles.pair(low, high)
    held, missed = score <= above, score < below
    high += rate * (p_high - held)
    low += rate * (p_low - missed)
    if len(s) == 1:
        return low, high
    # The other rows are judged by the levels of their scores, which are computed for all at once,
    # and where these are too close, by quantiles again.
    s = s[1:]
    first, last = quantiles.levels(s)
    for score, least, most in zip(s.tolist(), first.tolist(), last.tolist(), strict=True):
        over, under = least - high, most - low
        held = score <= quantiles.quantile(high) if -_NEAR < over < _NEAR else over < 0
        missed = score < quantiles.quantile(low) if -_NEAR < under < _NEAR else under < 0
        high += rate * (p_high - held)
        low += rate * (p_low - missed)
    return low, high
