"""How a continuous forecast is cut, so that it has atoms at the values that outcomes repeat.

The outcome is Y = T(X), where X has the continuous forecast and T never decreases. If outcomes take
some values only, as counts and ratings do, T is constant between two cuts. If they pile up at one
end of their range, as rain does at 0, T is constant beyond one cut. Probabilities of Y are then
probabilities of X at the cuts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from trueline._validation import FloatArray
from trueline.laws import Function

if TYPE_CHECKING:
    from trueline.distributions._abstract import Distribution

# Numbers held at a time, which bounds the memory.
_BLOCK = 1 << 19
# Probabilities are compared up to this rounding error.
_ROUNDING = 1e-12
# A number is an atom if it differs by no more than this many of the last digits of float64, as
# 3 * 0.1 and 0.3 do.
_LAST_DIGITS = 4.0
# Width of the range, in units of the shift of its cut, in which values near an end are stretched.
_STRETCHED = 2.0


class Atoms(ABC):
    """The map T from the continuous forecast to outcomes with atoms."""

    #: Values with a probability of their own, increasing.
    values: FloatArray
    #: Values of X at which T jumps or begins or ends to be constant, one or more, increasing.
    cuts: FloatArray
    #: Whether T(x) < y for x = lower(y) itself, and not only for all x below it.
    closed_below: ClassVar[bool]

    @abstractmethod
    def with_cuts(self, cuts: FloatArray) -> Atoms:
        """Return the same atoms with other cuts."""

    @abstractmethod
    def cut_ranges(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest value that each cut may have, given some outcomes."""

    @abstractmethod
    def values_below_cuts(self) -> FloatArray:
        """The largest outcome for x up to each cut."""

    @abstractmethod
    def upper(self, y: FloatArray) -> FloatArray:
        """Largest x with T(x) <= y, or an infinity."""

    @abstractmethod
    def lower(self, y: FloatArray) -> FloatArray:
        """Supremum of all x with T(x) < y, or an infinity; see `closed_below`."""

    @abstractmethod
    def inner(self, y: FloatArray) -> FloatArray:
        """A finite x for each finite y, increasing, with T(x) = y wherever some x has that."""

    @abstractmethod
    def outer(self, x: FloatArray) -> FloatArray:
        """Inverse of `inner`, which is no possible outcome if x is not `inner` of one."""

    @abstractmethod
    def outcome(self, x: FloatArray) -> FloatArray:
        """T(x)."""

    @abstractmethod
    def log_slope(self, y: FloatArray) -> FloatArray:
        """Log of dx/dy at values without an atom; minus infinity where no outcome can be."""

    @abstractmethod
    def mean(self, latent: Distribution) -> FloatArray:
        """Mean of T(X), (n,)."""

    @abstractmethod
    def var(self, latent: Distribution) -> FloatArray:
        """Variance of T(X), (n,)."""

    @abstractmethod
    def crps(self, latent: Distribution, y: FloatArray) -> FloatArray:
        """CRPS of T(X) at y, (n, k)."""

    @abstractmethod
    def expect(self, latent: Distribution, func: Function) -> FloatArray:
        """E func(T(X)), (n,), for an elementwise function."""

    @abstractmethod
    def interval(self, dist: Distribution, coverage: float) -> tuple[FloatArray, FloatArray]:
        """Ends of the interval of the cut forecast `dist`, (n,) each.

        It contains at least the share `coverage`, and no more than the atoms make necessary.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the values and cuts as JSON types."""

    def __eq__(self, other: object) -> bool:
        """Whether the other cuts forecasts in the same way."""
        return isinstance(other, Atoms) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        """Return a hash of the values."""
        return hash(self.values.tobytes())


@dataclass(frozen=True, eq=False)
class Lattice(Atoms):
    """Outcomes take these values only; ``cuts[j]`` lies between ``values[j]`` and the next."""

    values: FloatArray
    cuts: FloatArray
    closed_below: ClassVar[bool] = True

    def with_cuts(self, cuts: FloatArray) -> Lattice:
        return Lattice(self.values, cuts)

    def cut_ranges(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        # A forecast may have atoms of its own at the values, so that a cut stays away from them.
        step = np.diff(self.values)
        return self.values[:-1] + 0.05 * step, self.values[1:] - 0.05 * step

    def values_below_cuts(self) -> FloatArray:
        return self.values[:-1]

    @property
    def _edges(self) -> FloatArray:
        return np.concatenate([[-np.inf], self.cuts, [np.inf]])

    def upper(self, y: FloatArray) -> FloatArray:
        return self._edges[np.searchsorted(self.values, self._snapped(y), side="right")]

    def lower(self, y: FloatArray) -> FloatArray:
        return self._edges[np.searchsorted(self.values, self._snapped(y), side="left")]

    def _snapped(self, y: FloatArray) -> FloatArray:
        """Replace numbers that differ from an atom by a rounding error by that atom."""
        place = np.clip(np.searchsorted(self.values, y), 1, len(self.values) - 1)
        below, above = self.values[place - 1], self.values[place]
        near = np.where(y - below < above - y, below, above)
        slack = _LAST_DIGITS * np.spacing(np.maximum(np.abs(below), np.abs(above)))
        return np.where(np.abs(y - near) <= slack, near, y)

    def inner(self, y: FloatArray) -> FloatArray:
        return y

    def outer(self, x: FloatArray) -> FloatArray:
        return x

    def outcome(self, x: FloatArray) -> FloatArray:
        return self.values[np.searchsorted(self.cuts, x, side="left")]

    def log_slope(self, y: FloatArray) -> FloatArray:
        return np.full_like(y, -np.inf)

    def _blocks(self, latent: Distribution) -> Iterator[tuple[slice, FloatArray]]:
        """Yield rows and their CDF at each value but the last."""
        size = max(1, _BLOCK // len(self.values))
        for start in range(0, len(latent), size):
            rows = slice(start, min(start + size, len(latent)))
            part = latent._take(np.arange(rows.start, rows.stop))
            shape = (len(part), len(self.cuts))
            yield rows, np.broadcast_to(part._cdf(self.cuts[None, :]), shape)

    def mean(self, latent: Distribution) -> FloatArray:
        out = np.empty(len(latent))
        for rows, cdf in self._blocks(latent):
            out[rows] = self.values[0] + (1.0 - cdf) @ np.diff(self.values)
        return out

    def var(self, latent: Distribution) -> FloatArray:
        out = np.empty(len(latent))
        for rows, cdf in self._blocks(latent):
            above = (1.0 - cdf) @ np.diff(self.values)
            # Squares are about the mean, so that they keep their digits.
            offset = self.values - self.values[0] - above[:, None]
            mass = np.diff(cdf, prepend=0.0, append=1.0)
            out[rows] = (mass * offset**2).sum(axis=1)
        return out

    def expect(self, latent: Distribution, func: Function) -> FloatArray:
        out = np.empty(len(latent))
        values = func(self.values)
        for rows, cdf in self._blocks(latent):
            out[rows] = np.diff(cdf, prepend=0.0, append=1.0) @ values
        return out

    def crps(self, latent: Distribution, y: FloatArray) -> FloatArray:
        y = np.broadcast_to(y, (len(latent), y.shape[1]))
        out = np.empty(y.shape)
        steps = np.diff(self.values)
        for rows, cdf in self._blocks(latent):
            for k in range(y.shape[1]):
                # Part of each step lies above y, where the outcome has happened already.
                reached = (self.values[1:] - y[rows, k, None]) / steps
                np.clip(reached, 0.0, 1.0, out=reached)
                missed = cdf * cdf * (1.0 - reached) + (1.0 - cdf) ** 2 * reached
                out[rows, k] = missed @ steps
        outside = np.maximum(self.values[0] - y, 0.0) + np.maximum(y - self.values[-1], 0.0)
        return out + outside

    def interval(self, dist: Distribution, coverage: float) -> tuple[FloatArray, FloatArray]:
        ends = np.empty((2, len(dist)))
        size = max(1, _BLOCK // len(self.values))
        for start in range(0, len(dist), size):
            rows = np.arange(start, min(start + size, len(dist)))
            cdf = dist._take(rows)._cdf(self.values[None, :])
            cdf = np.broadcast_to(cdf, (len(rows), len(self.values)))
            ends[:, rows] = _shortest(self.values, cdf, coverage)
        return ends[0], ends[1]

    def to_json(self) -> dict[str, Any]:
        return {"values": self.values.tolist(), "cuts": self.cuts.tolist()}


def _shortest(values: FloatArray, cdf: FloatArray, coverage: float) -> tuple[FloatArray, ...]:
    """Ends of the shortest interval with the coverage in each row, given the CDF at the values.

    Of intervals of the same length, it is the first of those with the largest probability. Both
    ends move up through the values, so that each row takes at most two steps per value.
    """
    n, m = cdf.shape
    below = np.concatenate([np.zeros((n, 1)), cdf[:, :-1]], axis=1)
    need, slack = coverage - _ROUNDING, _ROUNDING * (values[-1] - values[0])
    lower, upper = np.full(n, values[0]), np.full(n, values[-1])
    shortest, most = np.full(n, np.inf), np.zeros(n)
    rows = np.arange(n)
    first = last = np.minimum((cdf <= _ROUNDING).sum(axis=1), m - 1)
    while rows.size:
        mass, length = cdf[rows, last] - below[rows, first], values[last] - values[first]
        enough = mass >= need
        shorter = length < shortest[rows] - slack
        heavier = (length <= shortest[rows] + slack) & (mass > most[rows] + _ROUNDING)
        better = enough & (shorter | heavier)
        found = rows[better]
        shortest[found], most[found] = length[better], mass[better]
        lower[found], upper[found] = values[first[better]], values[last[better]]
        first, last = first + enough, last + ~enough
        left = cdf[rows, -1] - below[rows, np.minimum(first, m - 1)] >= need
        left &= np.maximum(first, last) < m
        rows, first, last = rows[left], first[left], last[left]
    return lower, upper


@dataclass(frozen=True, eq=False)
class Ends(Atoms):
    """Outcomes lie between `low` and `high`, and pile up at those of the two that are finite.

    X up to the first cut stands for the outcome `low`. If that cut is not `low` itself, values
    close to `low` are stretched or squeezed, so that every outcome above `low` has a density.
    """

    low: float
    high: float
    cuts: FloatArray
    closed_below: ClassVar[bool] = False

    @property
    def values(self) -> FloatArray:  # type: ignore[override]  # computed from the two ends
        return np.array([end for end in (self.low, self.high) if np.isfinite(end)])

    def with_cuts(self, cuts: FloatArray) -> Ends:
        return Ends(self.low, self.high, cuts)

    def cut_ranges(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        # The stretched ranges of the two ends must not meet, nor cover most outcomes.
        # Sorted, so that the order of rows does not change a mean.
        inside = np.sort(y[(y > self.low) & (y < self.high)])
        distance = np.array(
            [np.abs(inside - end).mean() if inside.size else 0.0 for end in self.values]
        )
        reach = np.minimum(distance, 0.5 * (self.high - self.low) / _STRETCHED)
        return self.values - reach, self.values + reach

    def is_valid(self) -> bool:
        """Whether the range is not empty and the stretched ranges of its ends do not meet."""
        stretched = _STRETCHED * sum(map(abs, self._shifts))
        return self.low < self.high and stretched <= (1.0 + 1e-9) * (self.high - self.low)

    def values_below_cuts(self) -> FloatArray:
        # Up to the upper cut are all outcomes that are below `high`.
        return np.where(self.values == self.high, np.nextafter(self.high, -np.inf), self.values)

    @property
    def _shifts(self) -> tuple[float, float]:
        """How far inside the range the cuts of the lower and of the upper end are."""
        low = float(self.cuts[0] - self.low) if np.isfinite(self.low) else 0.0
        return low, float(self.high - self.cuts[-1]) if np.isfinite(self.high) else 0.0

    def inner(self, y: FloatArray) -> FloatArray:
        low, high = self._shifts
        x = y if low == 0.0 else self.low + _bend(y - self.low, low)
        return x if high == 0.0 else self.high - _bend(self.high - x, high)

    def upper(self, y: FloatArray) -> FloatArray:
        x = np.where(y >= self.high, np.inf, self.inner(y))
        return np.where(y < self.low, -np.inf, x)

    def lower(self, y: FloatArray) -> FloatArray:
        x = np.where(y > self.high, np.inf, self.inner(y))
        return np.where(y <= self.low, -np.inf, x)

    def outer(self, x: FloatArray) -> FloatArray:
        low, high = self._shifts
        y = x if low == 0.0 else self.low + _straighten(x - self.low, low)
        return y if high == 0.0 else self.high - _straighten(self.high - y, high)

    def outcome(self, x: FloatArray) -> FloatArray:
        return np.clip(self.outer(x), self.low, self.high)

    def log_slope(self, y: FloatArray) -> FloatArray:
        low, high = self._shifts
        slope = np.where(y - self.low < _STRETCHED * abs(low), np.log(_squeeze(low)), 0.0)
        slope += np.where(self.high - y < _STRETCHED * abs(high), np.log(_squeeze(high)), 0.0)
        return np.where((y < self.low) | (y > self.high), -np.inf, slope)

    def _pieces(self, latent: Distribution) -> list[_Piece]:
        """Ranges of x between the cuts in which T rises steadily, increasing."""
        low, high = self._shifts
        ends = [self.low + low, self.low + _STRETCHED * abs(low)] if low else [self.low]
        ends += [self.high - _STRETCHED * abs(high), self.high - high] if high else [self.high]
        rises = [1.0 / _squeeze(low)] if low else []
        rises += [1.0, 1.0 / _squeeze(high)] if high else [1.0]
        return [_Piece(latent, *piece) for piece in zip(ends[:-1], ends[1:], rises, strict=True)]

    def mean(self, latent: Distribution) -> FloatArray:
        out = np.full(len(latent), self.low if np.isfinite(self.low) else self.high)
        for piece in self._pieces(latent):
            step = piece.above() if np.isfinite(self.low) else -piece.below()
            out += piece.rise * step[:, 0]
        return out

    def var(self, latent: Distribution) -> FloatArray:
        # The second moment about an end is twice the integral of the distance from it, times the
        # probability to lie further away.
        total = np.zeros((len(latent), 1))
        pieces = self._pieces(latent)
        if np.isfinite(self.low):
            distance = 0.0
            for piece in pieces:
                inside = distance * piece.above() + piece.rise * piece.first_above()
                total += 2.0 * piece.rise * inside
                distance += piece.rise * (piece.stop - piece.start)
            mean = self.mean(latent) - self.low
        else:
            distance = 0.0
            for piece in reversed(pieces):
                inside = distance * piece.below() + piece.rise * piece.first_below()
                total += 2.0 * piece.rise * inside
                distance += piece.rise * (piece.stop - piece.start)
            mean = self.high - self.mean(latent)
        return np.maximum(total[:, 0] - mean**2, 0.0)

    def expect(self, latent: Distribution, func: Function) -> FloatArray:
        return latent._expect(lambda x: func(self.outcome(x)))

    def crps(self, latent: Distribution, y: FloatArray) -> FloatArray:
        x = self.inner(np.clip(y, self.low, self.high))
        out = np.zeros((len(latent), y.shape[1]))
        for piece in self._pieces(latent):
            out += piece.rise * piece.squares(np.clip(x, piece.start, piece.stop))
        outside = np.maximum(self.low - y, 0.0) + np.maximum(y - self.high, 0.0)
        return np.maximum(out, 0.0) + outside

    def interval(self, dist: Distribution, coverage: float) -> tuple[FloatArray, FloatArray]:
        tail = 0.5 * (1.0 - coverage)
        at_low, at_high = np.zeros(len(dist)), np.zeros(len(dist))
        if np.isfinite(self.low):
            at_low = dist._cdf(np.array([[self.low]]))[:, 0]
        if np.isfinite(self.high):
            at_high = 1.0 - dist._cdf_left(np.array([[self.high]]))[:, 0]
        on_low, on_high = at_low >= tail, at_high >= tail
        # An end on an atom leaves nothing out, so that the other end leaves out twice as much. If
        # both would be on atoms, the interval ends at the one that gives the shorter interval.
        levels = np.array([[tail, 2.0 * tail, coverage, 1.0 - tail]])
        lower, right_lower, left_upper, upper = dist._ppf(levels).T
        left = np.where(on_low, left_upper - self.low, np.inf)
        right = np.where(on_high, self.high - right_lower, np.inf)
        use_left, use_right = on_low & (left <= right), on_high & (right < left)
        lower = np.where(use_left, self.low, np.where(use_right, right_lower, lower))
        return lower, np.where(use_right, self.high, np.where(use_left, left_upper, upper))

    def to_json(self) -> dict[str, Any]:
        ends = {"low": self.low, "high": self.high}
        found = {name: end if np.isfinite(end) else None for name, end in ends.items()}
        return {**found, "cuts": self.cuts.tolist()}


def _squeeze(shift: float) -> float:
    """Rise of x with y near an end whose cut lies `shift` inside the range."""
    return 1.0 - np.sign(shift) / _STRETCHED


def _bend(y: FloatArray, shift: float) -> FloatArray:
    """Distance of x from an end, for outcomes at distance y from it."""
    near = shift + _squeeze(shift) * np.maximum(y, 0.0) + np.minimum(y, 0.0)
    return np.where(y < _STRETCHED * abs(shift), near, y)


def _straighten(x: FloatArray, shift: float) -> FloatArray:
    """Inverse of `_bend`."""
    y = x - shift
    near = np.maximum(y, 0.0) / _squeeze(shift) + np.minimum(y, 0.0)
    return np.where(x < _STRETCHED * abs(shift), near, x)


class _Piece:
    """Integrals of the CDF F of X, or of 1 - F, over the range from `start` to `stop`, (n, 1)."""

    def __init__(self, latent: Distribution, start: float, stop: float, rise: float) -> None:
        self.latent, self.start, self.stop, self.rise = latent, start, stop, rise

    @cached_property
    def _at_start(self) -> tuple[FloatArray, ...]:
        if np.isinf(self.start):
            return (np.zeros((len(self.latent), 1)),) * 3
        return self.latent._integrals(np.array([[self.start]]))

    @cached_property
    def _at_stop(self) -> tuple[FloatArray, ...]:
        return self.latent._integrals(np.array([[self.stop]]))

    @cached_property
    def _mean(self) -> FloatArray:
        return self.latent._mean()[:, None]

    def below(self) -> FloatArray:
        """Integral of F; the range must have an upper end."""
        return self._at_stop[0] - self._at_start[0]

    def first_below(self) -> FloatArray:
        """Integral of (stop - x) F; the range must have an upper end."""
        inner = self._at_stop[2] - self._at_start[2]
        if np.isinf(self.start):
            return inner
        return inner - (self.stop - self.start) * self._at_start[0]

    def above(self) -> FloatArray:
        """Integral of 1 - F; the range must have a lower end."""
        if np.isinf(self.stop):
            return self._mean - self.start + self._at_start[0]
        return (self.stop - self.start) - self.below()

    def first_above(self) -> FloatArray:
        """Integral of (x - start) (1 - F); the range must have a lower end."""
        if np.isinf(self.stop):
            square = self.latent._var()[:, None] + (self._mean - self.start) ** 2
            return 0.5 * square - self._at_start[2]
        width = self.stop - self.start
        return 0.5 * width**2 - (width * self._at_stop[0] - (self._at_stop[2] - self._at_start[2]))

    def squares(self, x: FloatArray) -> FloatArray:
        """Integral of F^2 below x and of (1 - F)^2 above it."""
        area, square, _ = self.latent._integrals(x)
        if np.isinf(self.stop):
            dispersion = 0.5 * self.latent._expected_distance()[:, None]
            above = self._mean - dispersion - x + 2.0 * area - square
        else:
            stop_area, stop_square, _ = self._at_stop
            above = (self.stop - x) - 2.0 * (stop_area - area) + (stop_square - square)
        return (square - self._at_start[1]) + above
