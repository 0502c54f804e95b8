"""A law that is linear between knots, such as isotonic regression fits, and its tails."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from trueline._validation import FloatArray
from trueline.laws._abstract import ScoreLaw
from trueline.laws._elementary import LOG_SQRT_2PI, NormalLaw
from trueline.laws._search import in_blocks, locate, remembered

# Number of segments in a block of a sum.
_BLOCK = 1 << 16
_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_LOG_2 = math.log(2.0)


class Tail(ABC):
    """Law of the excess v >= 0 beyond a knot, with survival function S(v)."""

    def __init__(self, excess: float) -> None:
        #: Mean excess.
        self.excess = excess

    @abstractmethod
    def sf(self, v: FloatArray) -> FloatArray:
        """S(v)."""

    @abstractmethod
    def logsf(self, v: FloatArray) -> FloatArray:
        """log S(v)."""

    @abstractmethod
    def logpdf(self, v: FloatArray) -> FloatArray:
        """Log density of the excess."""

    @abstractmethod
    def isf(self, p: FloatArray) -> FloatArray:
        """Inverse of S."""

    @abstractmethod
    def outer(self, v: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Integrals of S(u)**power * u**k over u > v, for k = 0, 1, 2."""

    def inner(self, v: FloatArray, power: int) -> tuple[FloatArray, ...]:
        """Integrals of S(u)**power * u**k over 0 < u < v, for k = 0, 1, 2."""
        whole = self.outer(np.zeros(1), power)
        return tuple(w - o for w, o in zip(whole, self.outer(v, power), strict=True))


class ExponentialTail(Tail):
    """S(v) = exp(-v / excess), heavier than normal."""

    def sf(self, v: FloatArray) -> FloatArray:
        return np.exp(-v / self.excess)

    def logsf(self, v: FloatArray) -> FloatArray:
        return -v / self.excess

    def logpdf(self, v: FloatArray) -> FloatArray:
        return -v / self.excess - math.log(self.excess)

    def isf(self, p: FloatArray) -> FloatArray:
        return -self.excess * np.log(p)

    def outer(self, v: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        t = self.excess / power
        v = np.minimum(v, 800.0 * t)  # beyond this exp is 0 and v^2 may overflow
        decay = t * np.exp(-v / t)
        return decay, decay * (v + t), decay * (v * v + 2.0 * t * (v + t))


class NormalTail(Tail):
    """Half-normal excess: on normal scores it continues as the base forecast does."""

    @property
    def _scale(self) -> float:
        return self.excess / _SQRT_2_OVER_PI

    def sf(self, v: FloatArray) -> FloatArray:
        return 2.0 * ndtr(-v / self._scale)

    def logsf(self, v: FloatArray) -> FloatArray:
        return _LOG_2 + log_ndtr(-v / self._scale)

    def logpdf(self, v: FloatArray) -> FloatArray:
        return _LOG_2 - 0.5 * (v / self._scale) ** 2 - LOG_SQRT_2PI - math.log(self._scale)

    def isf(self, p: FloatArray) -> FloatArray:
        return -self._scale * ndtri(0.5 * p)

    def outer(self, v: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        v = np.minimum(v, 40.0 * self._scale)  # beyond this S is 0 and v^3 may overflow
        m0, m1, m2 = NormalLaw(0.0, self._scale).moments(-v, power)
        factor = 2.0**power
        return factor * m0, -factor * m1, factor * m2


class Segments(NamedTuple):
    """The segments that values fall into: place, offset from the first knot, R there, slope."""

    place: NDArray[np.intp]
    offset: FloatArray
    base: FloatArray
    slope: FloatArray


class PiecewiseLaw(ScoreLaw):
    """R is linear between knots, jumps at atoms and continues beyond the knots with tails.

    Parameters
    ----------
    knots : (m,) array
        Strictly increasing.
    left, right : (m,) array
        R just below and at each knot; they differ at atoms only. The same array may
        serve as both.
    tails : (Tail, Tail)
        Laws of the excess below the first and above the last knot. The tail masses are
        ``left[0]`` and ``1 - right[-1]``.
    pins : mapping, optional
        Level -> quantile; each is also a knot. Interpolation may round the quantile at a
        knot, but coverage is measured at the ends of an interval, so these are exact.

    The density is that of the continuous part; an atom has none.
    """

    smooth = False

    def __init__(
        self,
        knots: FloatArray,
        left: FloatArray,
        right: FloatArray,
        tails: tuple[Tail, Tail],
        pins: Mapping[float, float] | None = None,
    ) -> None:
        self.knots = knots
        self.left = left
        self.right = right
        self.tails = tails
        self.pins = dict(pins or {})
        self.supported = (float(left[0]), float(right[-1]))

    def with_new_mass(self, share: float) -> PiecewiseLaw:
        if self.weights is None:
            return self
        total, new = self.weights
        factor = (1.0 - share) * (total + new) / total
        # Nothing is left between the tails if the new row has all the mass.
        rows = slice(None, None, max(self.knots.size - 1, 1) if share == 1.0 else None)
        right = 0.5 + factor * (self.right[rows] - 0.5)
        same = self.left is self.right
        left = right if same else 0.5 + factor * (self.left[rows] - 0.5)
        changed = PiecewiseLaw(self.knots[rows], left, right, self.tails)
        changed.n_fit, changed.made_by = self.n_fit, self.made_by
        return changed

    @property
    def _masses(self) -> tuple[float, float]:
        """Mass of the lower and of the upper tail."""
        return float(self.left[0]), 1.0 - float(self.right[-1])

    def _beyond(
        self, z: FloatArray
    ) -> tuple[NDArray[np.bool_], FloatArray, NDArray[np.bool_], FloatArray]:
        """Masks of the z in the lower and in the upper tail, each with their excesses."""
        below, above = z < self.knots[0], z >= self.knots[-1]
        return below, self.knots[0] - z[below], above, z[above] - self.knots[-1]

    def _segments(self, z: FloatArray) -> Segments:
        """Return the segment of each z; values in the tails get the segment next to them."""
        if self.knots.size == 1:
            zero = np.zeros_like(z)
            return Segments(zero.astype(np.intp), zero, zero, zero)
        j = locate(self.knots, z)
        np.clip(j, 0, self.knots.size - 2, out=j)
        stop = j + 1
        start = self.knots[j]
        width = self.knots[stop]
        width -= start
        base = self.right[j]
        slope = self.left[stop]
        slope -= base
        slope /= width
        return Segments(j, np.subtract(z, start, out=start), base, slope)

    @in_blocks
    def cdf(self, z: FloatArray) -> FloatArray:
        return self._cdf(z, self._segments(z))

    @in_blocks
    def cdf_and_crps(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        segments = self._segments(z)
        return self._cdf(z, segments), self._crps(z, self._integral(z, segments))

    @in_blocks
    def cdf_and_slope(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        segments = self._segments(z)
        below, depth, above, excess = self._beyond(z)
        (low, high), (lower, upper) = self._masses, self.tails
        slope = segments.slope
        cdf = self._cdf(z, segments)
        slope[below] = low * np.exp(lower.logpdf(depth))
        slope[above] = high * np.exp(upper.logpdf(excess))
        return cdf, slope

    def _cdf(self, z: FloatArray, segments: Segments) -> FloatArray:
        _, offset, base, slope = segments
        p = np.asarray(base + slope * offset)
        below, depth, above, excess = self._beyond(z)
        (low, high), (lower, upper) = self._masses, self.tails
        p[below] = low * lower.sf(depth)
        p[above] = 1.0 - high * upper.sf(excess)
        return p

    @property
    def has_atoms(self) -> bool:
        return self.left is not self.right

    @in_blocks
    def cdf_left(self, z: FloatArray) -> FloatArray:
        segments = self._segments(z)
        p = self._cdf(z, segments)
        if self.left is not self.right:
            at_knot = z == self.knots[segments.place]
            p[at_knot] = self.left[segments.place[at_knot]]
            p[z == self.knots[-1]] = self.left[-1]  # no segment begins there
        return p

    @in_blocks
    def sf(self, z: FloatArray) -> FloatArray:
        p = 1.0 - self.cdf(z)
        _, _, above, excess = self._beyond(z)
        p[above] = self._masses[1] * self.tails[1].sf(excess)
        return p

    @in_blocks
    def logcdf(self, z: FloatArray) -> FloatArray:
        below, depth, above, excess = self._beyond(z)
        (low, high), (lower, upper) = self._masses, self.tails
        with np.errstate(divide="ignore"):
            log_p = np.log(self.cdf(z))
        log_p[below] = np.log(low) + lower.logsf(depth)
        log_p[above] = np.log1p(-high * upper.sf(excess))
        return log_p

    @in_blocks
    def logsf(self, z: FloatArray) -> FloatArray:
        _, _, above, excess = self._beyond(z)
        with np.errstate(divide="ignore"):
            log_p = np.log(self.sf(z))
            log_p[above] = np.log(self._masses[1]) + self.tails[1].logsf(excess)
        return log_p

    @in_blocks
    def logpdf(self, z: FloatArray) -> FloatArray:
        slope = self._segments(z).slope
        below, depth, above, excess = self._beyond(z)
        (low, high), (lower, upper) = self._masses, self.tails
        with np.errstate(divide="ignore"):
            log_density = np.asarray(np.log(slope))
            log_density[below] = np.log(low) + lower.logpdf(depth)
            log_density[above] = np.log(high) + upper.logpdf(excess)
        return log_density

    @remembered
    def ppf(self, q: FloatArray) -> FloatArray:
        last = self.knots.size - 1
        j = np.minimum(np.searchsorted(self.right, q, side="left"), last)
        # The quantile lies in segment (j - 1, j), unless q falls in the jump at knot j.
        previous = np.maximum(j - 1, 0)
        rise = self.left[j] - self.right[previous]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(rise > 0, (q - self.right[previous]) / rise, 1.0)
        share = np.clip(share, 0.0, 1.0)
        # Rounding in a long step may overshoot a knot far closer to zero.
        z = self.knots[previous] + share * (self.knots[j] - self.knots[previous])
        z = np.clip(z, self.knots[previous], self.knots[j])
        z = np.asarray(np.where(q > self.left[j], self.knots[j], z))
        (low, high), (lower, upper) = self._masses, self.tails
        below, above = q < low, q > self.right[-1]
        z[below] = self.knots[0] - lower.isf(q[below] / low)
        z[above] = self.knots[-1] + upper.isf((1.0 - q[above]) / high)
        for level, value in self.pins.items():
            z[q == level] = value
        return z

    def isf(self, q: FloatArray) -> FloatArray:
        z = self.ppf(np.minimum(1.0 - q, self.right[-1]))
        high = self._masses[1]
        above = q < high
        if above.any():
            with np.errstate(divide="ignore"):
                z[above] = self.knots[-1] + self.tails[1].isf(q[above] / high)
        return z

    def edges(self, z: FloatArray) -> FloatArray:
        smooth = super().edges(z)
        if self.knots.size > z.size:
            return smooth
        return np.sort(np.concatenate([smooth, self.knots[None, :]], axis=1), axis=1)

    @in_blocks
    def integral(self, z: FloatArray) -> FloatArray:
        return self._integral(z, self._segments(z))

    def _integral(self, z: FloatArray, segments: Segments) -> FloatArray:
        j, offset, base, slope = segments
        area = np.asarray(slope * offset)
        area *= 0.5
        area += base
        area *= offset
        area += self._areas[j]
        below, depth, above, excess = self._beyond(z)
        (low, high), (lower, upper) = self._masses, self.tails
        area[below] = low * lower.outer(depth, 1)[0]
        area[above] = self._areas[-1] + excess - high * upper.inner(excess, 1)[0]
        return area

    @cached_property
    def _areas(self) -> FloatArray:
        """Integral of R below each knot."""
        areas = np.empty_like(self.knots)
        areas[0] = self._masses[0] * self.tails[0].excess
        np.add(self.right[:-1], self.left[1:], out=areas[1:])
        areas[1:] *= 0.5
        areas[1:] *= np.diff(self.knots)
        return np.cumsum(areas, out=areas)

    @in_blocks
    def double_integrals(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        segments = self._segments(z)
        j, offset, base, slope = segments
        rise = slope * offset
        square = self._squares[j] + offset * (base * (base + rise) + rise * rise / 3.0)
        double = self._doubles[j] + offset * (self._areas[j] + offset * (0.5 * base + rise / 6.0))
        area = self._integral(z, segments)
        below, depth, above, excess = self._beyond(z)
        (low, high), (lower, upper) = self._masses, self.tails
        outer = lower.outer(depth, 1)
        square[below] = low**2 * lower.outer(depth, 2)[0]
        double[below] = low * (outer[1] - depth * outer[0])
        inner = upper.inner(excess, 1)
        rest = high**2 * upper.inner(excess, 2)[0] - 2.0 * high * inner[0]
        square[above] = self._squares[-1] + excess + rest
        double[above] = (
            self._doubles[-1]
            + excess * (self._areas[-1] + 0.5 * excess)
            - high * (excess * inner[0] - inner[1])
        )
        return area, square, double

    @cached_property
    def _squares(self) -> FloatArray:
        """Integral of R squared below each knot."""
        low, tail = self._masses[0], self.tails[0]
        start, stop = self.right[:-1], self.left[1:]
        inner = np.diff(self.knots) * (start * (start + stop) + stop * stop) / 3.0
        return np.cumsum(np.append(low**2 * tail.outer(np.zeros(1), 2)[0], inner))

    @cached_property
    def _doubles(self) -> FloatArray:
        """Integral of the integral of R below each knot."""
        first = self._masses[0] * self.tails[0].outer(np.zeros(1), 1)[1]
        step, start, stop = np.diff(self.knots), self.right[:-1], self.left[1:]
        inner = step * (self._areas[:-1] + step * (2.0 * start + stop) / 6.0)
        return np.cumsum(np.append(first, inner))

    def _sum_segments(
        self, f: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]
    ) -> float:
        """Sum f(first knot, width, R at its start, rise of R) over the segments."""
        total = 0.0
        for i in range(0, self.knots.size - 1, _BLOCK):
            x = self.knots[i : i + _BLOCK + 1]
            start = self.right[i : i + _BLOCK][: x.size - 1]
            rise = self.left[i + 1 : i + _BLOCK + 1] - start
            total += float(f(x[:-1], np.diff(x), start, rise).sum())
        return total

    def _sum_jumps(self, f: Callable[[FloatArray], FloatArray]) -> float:
        """Sum of f(knot) over the atoms, weighted with their mass."""
        if self.left is self.right:
            return 0.0
        return float((self.right - self.left) @ f(self.knots))

    @cached_property
    def mean(self) -> float:
        (low, high), (lower, upper) = self._masses, self.tails
        tails = low * (self.knots[0] - lower.excess) + high * (self.knots[-1] + upper.excess)
        inner = self._sum_segments(lambda x, h, _, rise: rise * (x + 0.5 * h))
        return float(inner + self._sum_jumps(lambda x: x) + tails)

    @cached_property
    def var(self) -> float:
        mean = self.mean
        # Each segment adds the square of its middle about the mean and the variance within it.
        total = self._sum_segments(
            lambda x, h, _, rise: rise * ((x + 0.5 * h - mean) ** 2 + h * h / 12.0)
        )
        total += self._sum_jumps(lambda x: (x - mean) ** 2)
        for weight, tail, gap in zip(
            self._masses, self.tails, (mean - self.knots[0], self.knots[-1] - mean), strict=True
        ):
            # E (gap + v)^2, with E v^2 = 2 E integral of u S(u).
            second = 2.0 * tail.outer(np.zeros(1), 1)[1][0]
            total += weight * (gap * (gap + 2.0 * tail.excess) + second)
        return float(total)

    @cached_property
    def dispersion(self) -> float:
        def segments(
            _: FloatArray, h: FloatArray, start: FloatArray, rise: FloatArray
        ) -> FloatArray:
            middle = start + 0.5 * rise
            return h * (middle * (1.0 - middle) - rise * rise / 12.0)

        total = self._sum_segments(segments)
        for weight, tail in zip(self._masses, self.tails, strict=True):
            total += weight * (tail.excess - weight * tail.outer(np.zeros(1), 2)[0][0])
        return float(total)

    @in_blocks
    def moments(self, z: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        j, offset, base, slope = self._segments(z)
        start = self.knots[j]
        parts = _shift(_linear_moments(base, slope, offset, power), start)
        prefix = self._prefix[power - 1]
        out = [prefix[k][j] + parts[k] for k in range(3)]
        below, depth, above, excess = self._beyond(z)
        lower = self._lower_moments(depth, power)
        upper = self._upper_moments(excess, power)
        for k in range(3):
            out[k][below] = lower[k]
            out[k][above] = prefix[k][-1] + upper[k]
        return out[0], out[1], out[2]

    @cached_property
    def _prefix(self) -> tuple[FloatArray, FloatArray]:
        """Moments below each knot, (3, m), for R and for R squared."""
        step = np.diff(self.knots)
        base = self.right[:-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (self.left[1:] - base) / step
        tables = []
        for power in (1, 2):
            table = np.empty((3, self.knots.size))
            table[:, 0] = [m[0] for m in self._lower_moments(np.zeros(1), power)]
            table[:, 1:] = _shift(_linear_moments(base, slope, step, power), self.knots[:-1])
            tables.append(np.cumsum(table, axis=1, out=table))
        return tables[0], tables[1]

    def _lower_moments(self, depth: FloatArray, power: int) -> tuple[FloatArray, ...]:
        m0, m1, m2 = self.tails[0].outer(depth, power)
        weight = self._masses[0] ** power
        return _shift((weight * m0, -weight * m1, weight * m2), self.knots[0])

    def _upper_moments(self, excess: FloatArray, power: int) -> tuple[FloatArray, ...]:
        # (1 - w S)^power, expanded.
        plain = (excess, excess**2 / 2.0, excess**3 / 3.0)
        weight, tail = self._masses[1], self.tails[1]
        local = [p - power * weight * e for p, e in zip(plain, tail.inner(excess, 1), strict=True)]
        if power == 2:
            local = [m + weight**2 * e for m, e in zip(local, tail.inner(excess, 2), strict=True)]
        return _shift(local, self.knots[-1])


def _linear_moments(
    base: FloatArray, slope: FloatArray, u: FloatArray, power: int
) -> list[FloatArray]:
    """Integrals of (base + slope v)**power v**k over v in (0, u), for k = 0, 1, 2."""
    rise = slope * u
    terms = [base, rise] if power == 1 else [base * base, 2.0 * base * rise, rise * rise]
    return [u**k * sum(term / (k + i) for i, term in enumerate(terms)) for k in (1, 2, 3)]


def _shift(
    local: Sequence[FloatArray], start: FloatArray | np.float64
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Moments in s = start + v from those in v."""
    m0, m1, m2 = local
    return m0, start * m0 + m1, start * start * m0 + 2.0 * start * m1 + m2
