"""How a law continues beyond its outermost knot."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from trueline._validation import FloatArray
from trueline.laws._normal import LOG_SQRT_2PI, NormalLaw

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
