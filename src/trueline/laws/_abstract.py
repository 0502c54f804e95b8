"""The interface of a law, and what follows from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from trueline._validation import FloatArray


class Law(ABC):
    """The distribution of Z on the real line, with CDF R.

    All methods are elementwise on float64 arrays and check nothing. Two integrals carry
    every score: ``integral(z)``, the integral of R from minus infinity to z, and
    ``dispersion``, the integral of R (1 - R). For the CRPS,

        E|Z - z| - E|Z - Z'| / 2 = 2 integral(z) - z + mean - dispersion.
    """

    #: Levels that the calibration rows support; a quantile outside is an extrapolation.
    supported: tuple[float, float] = (0.0, 1.0)
    #: Whether Z and -Z have the same law.
    symmetric: bool = False
    #: Whether the density is continuous.
    smooth: bool = True

    @abstractmethod
    def cdf(self, z: FloatArray) -> FloatArray:
        """P(Z <= z)."""

    @property
    def has_atoms(self) -> bool:
        """Whether some value has a positive probability."""
        return type(self).cdf_left is not Law.cdf_left

    def cdf_left(self, z: FloatArray) -> FloatArray:
        """P(Z < z); differs from `cdf` at atoms only."""
        return self.cdf(z)

    @abstractmethod
    def sf(self, z: FloatArray) -> FloatArray:
        """P(Z > z), with its own relative precision."""

    @abstractmethod
    def logcdf(self, z: FloatArray) -> FloatArray:
        """log P(Z <= z), finite wherever P(Z <= z) > 0."""

    @abstractmethod
    def logsf(self, z: FloatArray) -> FloatArray:
        """log P(Z > z), finite wherever P(Z > z) > 0."""

    @abstractmethod
    def logpdf(self, z: FloatArray) -> FloatArray:
        """Log density."""

    @abstractmethod
    def ppf(self, q: FloatArray) -> FloatArray:
        """Smallest z with R(z) >= q."""

    @abstractmethod
    def integral(self, z: FloatArray) -> FloatArray:
        """Integral of R from minus infinity to z."""

    @property
    @abstractmethod
    def mean(self) -> FloatArray | float:
        """E Z."""

    @property
    @abstractmethod
    def var(self) -> FloatArray | float:
        """Variance of Z."""

    @property
    @abstractmethod
    def dispersion(self) -> FloatArray | float:
        """Integral of R (1 - R): half the expected distance of two draws."""

    def crps(self, z: FloatArray) -> FloatArray:
        """CRPS of this law at z."""
        return self._crps(z, self.integral(z))

    def cdf_and_crps(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both at once, for a law whose CRPS takes its CDF."""
        return self.cdf(z), self.crps(z)

    def _crps(self, z: FloatArray, integral: FloatArray) -> FloatArray:
        """CRPS at z from the integral up to z, which is overwritten."""
        score = integral
        score *= 2.0
        score -= z
        score += self.mean - self.dispersion
        return score

    def edges(self, z: FloatArray) -> FloatArray:
        """Increasing values that resolve the law, from normal scores z; (1, m) or (n, m)."""
        return self.ppf(ndtr(z)[None, :])

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Restrict to rows, for a law whose parameters vary by row."""
        return self


class ScoreLaw(Law):
    """A law of scores: it can also be carried through a piecewise polynomial of the score.

    ``moments(z, power)`` gives the integrals from minus infinity to z of
    ``R(s)**power * s**k`` for k = 0, 1, 2; see `trueline.distributions._quadrature`.
    """

    @abstractmethod
    def moments(self, z: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Integrals of R**power * s**k below z, for power 1 or 2 and k = 0, 1, 2."""
