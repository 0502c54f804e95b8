"""Laws with a smooth CDF but no elementary integrals, which are tabulated once."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr, ndtri

from trueline._validation import FloatArray
from trueline.laws._abstract import ScoreLaw
from trueline.laws._elementary import LOG_SQRT_2PI
from trueline.laws._search import (
    in_blocks,
    locate,
    normal_score,
    remembered,
    solve_increasing,
)

if TYPE_CHECKING:
    from scipy.interpolate import CubicHermiteSpline

# Least number of panels. The error of a cubic Hermite interpolant of an integral is h^4 / 384
# times its fourth derivative: about 1e-11 of the scale of the law.
_PANELS = 4096
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_FEW_NODES, _FEW_WEIGHTS = np.polynomial.legendre.leggauss(3)
# Standard scores of a `BetaLaw` beyond which t^2 overflows and differences of infinities are NaN.
_FARTHEST = 1e150
# Normal score where the tables of a `SplineLaw` end: Phi(-10) is 8e-24.
_REACH = 10.0
_STEEPEST = 2.5
# Steps that a bracket needs at most until it is as narrow as float64 allows, and where they end.
_STEPS, _LAST_DIGIT = 64, 2.3e-16


class Cubic:
    """A piecewise cubic polynomial between its first and its last knot.

    It is faster than that of scipy for many values in any order; see `locate`.
    """

    def __init__(self, spline: CubicHermiteSpline) -> None:
        self._knots, self._coefficients = spline.x, spline.c

    def _pieces(self, z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """Offset of each z from the knot below, and the coefficients there, highest power first."""
        j = np.clip(locate(self._knots, z), 0, self._knots.size - 2)
        return z - self._knots[j], [c[j] for c in self._coefficients]

    @in_blocks
    def value(self, z: FloatArray) -> FloatArray:
        u, (a, b, c, d) = self._pieces(z)
        return ((a * u + b) * u + c) * u + d

    @in_blocks
    def value_and_slope(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        u, (a, b, c, d) = self._pieces(z)
        return ((a * u + b) * u + c) * u + d, (3.0 * a * u + 2.0 * b) * u + c

    @in_blocks
    def solve(self, values: FloatArray) -> FloatArray:
        """Return where an increasing polynomial has these values, which are between its ends.

        Newton's steps, or half the bracket where they leave it.
        """
        j = np.maximum(locate(self._coefficients[3], values), 0)
        a, b, c, d = (coefficient[j] for coefficient in self._coefficients)
        start, low, high = self._knots[j], np.zeros(j.shape), self._knots[j + 1] - self._knots[j]
        excess, u = d - values, 0.5 * high
        for _ in range(_STEPS):
            f = ((a * u + b) * u + c) * u + excess
            low, high = np.where(f <= 0.0, u, low), np.where(f >= 0.0, u, high)
            u, last = u - f / ((3.0 * a * u + 2.0 * b) * u + c), u
            u = np.where((low < u) & (u < high), u, 0.5 * (low + high))
            if (np.abs(u - last) <= _LAST_DIGIT * u).all():
                break
        return start + u


class TabulatedLaw(ScoreLaw):
    """A law with smooth R, whose integrals are read off a table made by Gauss-Legendre.

    R(z) is a symmetric CDF, the link, at an increasing height h(z). A subclass gives the link,
    the height, the density and `_breaks`. The integral of R is exact to about 1e-10 of the
    scale of the law; everything else is exact to rounding.
    """

    #: The link and its logarithm.
    _link: np.ufunc
    _log_link: np.ufunc

    @abstractmethod
    def _height(self, z: FloatArray) -> FloatArray: ...

    def cdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(self._link(self._height(z)))

    def sf(self, z: FloatArray) -> FloatArray:
        return np.asarray(self._link(-self._height(z)))

    def logcdf(self, z: FloatArray) -> FloatArray:
        return np.asarray(self._log_link(self._height(z)))

    def logsf(self, z: FloatArray) -> FloatArray:
        return np.asarray(self._log_link(-self._height(z)))

    @property
    @abstractmethod
    def _breaks(self) -> FloatArray:
        """Increasing points between which R is smooth; beyond them lies a mass of about 1e-20."""

    @cached_property
    def _edges(self) -> FloatArray:
        # Every piece has the same number of panels, because R bends where breaks are dense.
        breaks = self._breaks
        panels = -(-_PANELS // (breaks.size - 1))
        shares = np.arange(panels) / panels
        inner = breaks[:-1, None] + np.diff(breaks)[:, None] * shares
        return np.append(inner.ravel(), breaks[-1])

    @cached_property
    def _centre(self) -> float:
        # Tables are centred, so that a law far from zero does not lose digits.
        return float(self.ppf(np.array(0.5)))

    @cached_property
    def _tables(self) -> tuple[FloatArray, FloatArray]:
        """Centred moments at the edges, (edges, 3), for R and for R squared."""
        edges = self._edges
        half = 0.5 * np.diff(edges)
        nodes = (edges[:-1] + half)[:, None] + half[:, None] * _NODES
        s = nodes - self._centre
        cdf = self.cdf(nodes)
        tables = []
        for power in (1, 2):
            panel = np.stack([((cdf**power * s**k) @ _WEIGHTS) * half for k in range(3)], axis=1)
            tables.append(np.concatenate([np.zeros((1, 3)), np.cumsum(panel, axis=0)]))
        return tables[0], tables[1]

    @cached_property
    def _area(self) -> Cubic:
        """Integral of R below z, between the first and the last edge."""
        from scipy.interpolate import CubicHermiteSpline

        return Cubic(CubicHermiteSpline(self._edges, self._tables[0][:, 0], self.cdf(self._edges)))

    def integral(self, z: FloatArray) -> FloatArray:
        # Above the last edge R is 1 to rounding; below the first it is 0.
        low, high = self._edges[[0, -1]]
        return self._area.value(np.clip(z, low, high)) + np.maximum(z - high, 0.0)

    def moments(self, z: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        # Gauss-Legendre from the edge below is exact to rounding. Callers take differences of
        # moments, which would magnify the error of an interpolant.
        edges, c = self._edges, self._centre
        inside = np.clip(z, edges[0], edges[-1])
        j = np.clip(np.searchsorted(edges, inside, side="right") - 1, 0, edges.size - 2)
        half = 0.5 * (inside - edges[j])
        below = self._tables[power - 1][j]
        m0, m1, m2 = below[..., 0].copy(), below[..., 1].copy(), below[..., 2].copy()
        for node, weight in zip(_FEW_NODES, _FEW_WEIGHTS, strict=True):
            s = edges[j] + half * (1.0 + node)
            part = weight * half * self.cdf(s) ** power
            s -= c
            m0 += part
            m1 += part * s
            m2 += part * s * s
        end = edges[-1] - c
        above = np.maximum(z - c, end)
        m0 += above - end
        m1 += (above**2 - end**2) / 2.0
        m2 += (above**3 - end**3) / 3.0
        return m0, m1 + c * m0, m2 + 2.0 * c * m1 + c * c * m0

    @cached_property
    def mean(self) -> float:
        return float(self._edges[-1] - self._tables[0][-1, 0])

    @cached_property
    def var(self) -> float:
        end = self._edges[-1] - self._centre
        offset = self.mean - self._centre
        first, second = self._tables[0][-1, :2]
        return float((end - offset) ** 2 - 2.0 * (second - offset * first))

    @cached_property
    def dispersion(self) -> float:
        return float(self._tables[0][-1, 0] - self._tables[1][-1, 0])

    @remembered
    def ppf(self, q: FloatArray) -> FloatArray:
        return self._at_score(np.asarray(ndtri(q)))

    def isf(self, q: FloatArray) -> FloatArray:
        return self._at_score(-np.asarray(ndtri(q)))

    def _at_score(self, target: FloatArray) -> FloatArray:
        """Values at which the normal score of R is the target."""
        finite = np.isfinite(target)
        root = np.where(finite, 0.0, target)
        if finite.any():
            wanted = target[finite]
            breaks = self._breaks
            levels = normal_score(self.logcdf(breaks), self.logsf(breaks))
            j = np.clip(np.searchsorted(levels, wanted) - 1, 0, breaks.size - 2)
            root[finite] = solve_increasing(self._excess, breaks[j], breaks[j + 1], args=(wanted,))
        return root

    def _excess(self, z: FloatArray, target: FloatArray) -> FloatArray:
        return normal_score(self.logcdf(z), self.logsf(z)) - target


class BetaLaw(TabulatedLaw):
    """logit R(z) = c + a log Phi(t) - b log Phi(-t), with t = (z - shift) / scale.

    Beta calibration (Kull, Silva Filho and Flach, 2017) of the normal probability of a
    standardised score. With a = b = 1 and c = 0 it is the normal law itself.
    """

    _link = expit
    _log_link = log_expit

    def __init__(self, a: float, b: float, c: float, shift: float, scale: float) -> None:
        self.a, self.b, self.c = a, b, c
        self.shift, self.scale = shift, scale

    def _height(self, z: FloatArray) -> FloatArray:
        t = (z - self.shift) / self.scale
        return self.c + self.a * log_ndtr(t) - self.b * log_ndtr(-t)

    def logpdf(self, z: FloatArray) -> FloatArray:
        t = np.clip((z - self.shift) / self.scale, -_FARTHEST, _FARTHEST)
        log_phi = -0.5 * t * t - LOG_SQRT_2PI
        log_below, log_above = log_ndtr(t), log_ndtr(-t)
        logit = self.c + self.a * log_below - self.b * log_above
        # d logit / dt = a phi / Phi(t) + b phi / Phi(-t), which is the larger term times 1 + ratio.
        one, other = math.log(self.a) - log_below, math.log(self.b) - log_above
        log_rise = log_phi + np.maximum(one, other) + np.log1p(np.exp(-np.abs(one - other)))
        # R (1 - R) = exp(-|logit|) / (1 + exp(-|logit|))^2
        size = np.abs(logit)
        return log_rise - size - 2.0 * np.log1p(np.exp(-size)) - math.log(self.scale)

    @cached_property
    def _breaks(self) -> FloatArray:
        # The breaks are evenly spaced in logit, which resolves steep and flat laws equally well.
        target = np.linspace(-60.0, 60.0, 257)
        start = np.full_like(target, self.shift)
        return solve_increasing(
            lambda z, wanted: self._height(z) - wanted,
            start - self.scale,
            start + self.scale,
            args=(target,),
        )


class SplineLaw(TabulatedLaw):
    """R = Phi(h), with h a monotone cubic spline through (knots, normal scores).

    Outside the knots h is a straight line, so the tails are normal; a normal law is
    reproduced exactly. R is differentiable everywhere and its density never vanishes.
    """

    _link = ndtr
    _log_link = log_ndtr

    def __init__(self, knots: FloatArray, scores: FloatArray) -> None:
        from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

        self.knots = knots
        self.scores = scores
        slopes = PchipInterpolator(knots, scores).derivative()(knots)
        # The straight line outside follows the chord to the centre, because the end spacing
        # alone would make the tails as noisy as one order statistic. The spline is monotone up
        # to 3 times the secant; a little less keeps its density above zero.
        middle = knots.size // 2 if knots.size > 2 else np.array([1, 0])
        chords = (scores[[0, -1]] - scores[middle]) / (knots[[0, -1]] - knots[middle])
        secants = np.diff(scores)[[0, -1]] / np.diff(knots)[[0, -1]]
        slopes[[0, -1]] = self._ends = np.minimum(chords, _STEEPEST * secants)
        self._spline = CubicHermiteSpline(knots, scores, slopes)
        self._curve = Cubic(self._spline)

    def _height(self, z: FloatArray) -> FloatArray:
        inside = np.clip(z, self.knots[0], self.knots[-1])
        return self._curve.value(inside) + self._beyond(z)

    def _beyond(self, z: FloatArray) -> FloatArray:
        """Change of the height from the nearest knot to a z outside the knots."""
        low, high = np.minimum(z - self.knots[0], 0.0), np.maximum(z - self.knots[-1], 0.0)
        return self._ends[0] * low + self._ends[1] * high

    def _at_score(self, target: FloatArray) -> FloatArray:
        # The normal score of R is h itself, so only a cubic has to be solved.
        scores = self.scores
        within = np.clip(target, scores[0], scores[-1])
        z = self._curve.solve(within)
        z += np.minimum(target - scores[0], 0.0) / self._ends[0]
        return np.asarray(z + np.maximum(target - scores[-1], 0.0) / self._ends[1])

    def logpdf(self, z: FloatArray) -> FloatArray:
        # The slope at an end is that of the straight line beyond it.
        h, rise = self._curve.value_and_slope(np.clip(z, self.knots[0], self.knots[-1]))
        h += self._beyond(z)
        return -0.5 * h * h - LOG_SQRT_2PI + np.log(rise)

    @cached_property
    def _breaks(self) -> FloatArray:
        low = self.knots[0] - (_REACH + self.scores[0]) / self._ends[0]
        high = self.knots[-1] + (_REACH - self.scores[-1]) / self._ends[1]
        return np.concatenate([[low], self.knots, [high]])
