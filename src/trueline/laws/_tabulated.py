"""Laws with a smooth CDF but no elementary integrals, which are tabulated once."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from trueline._validation import FloatArray
from trueline.laws._abstract import ScoreLaw
from trueline.laws._search import normal_score, solve_increasing

if TYPE_CHECKING:
    from scipy.interpolate import CubicHermiteSpline

# Least number of panels. The error of a cubic Hermite interpolant of an integral is h^4 / 384
# times its fourth derivative: about 1e-11 of the scale of the law.
_PANELS = 4096
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_FEW_NODES, _FEW_WEIGHTS = np.polynomial.legendre.leggauss(3)


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
    def _area(self) -> CubicHermiteSpline:
        """Integral of R below z, between the first and the last edge."""
        from scipy.interpolate import CubicHermiteSpline

        return CubicHermiteSpline(self._edges, self._tables[0][:, 0], self.cdf(self._edges))

    def integral(self, z: FloatArray) -> FloatArray:
        # Above the last edge R is 1 to rounding; below the first it is 0.
        low, high = self._edges[[0, -1]]
        return self._area(np.clip(z, low, high)) + np.maximum(z - high, 0.0)

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

    def ppf(self, q: FloatArray) -> FloatArray:
        target = np.asarray(ndtri(q))
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
