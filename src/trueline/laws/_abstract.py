"""The interface of a law, and what follows from it."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.special import ndtr

from trueline._validation import FloatArray


class Law(ABC):
    """The distribution of Z on the real line, with CDF R.

    All methods work elementwise on float64 arrays, without checks. The CRPS follows from
    ``integral(z)``, the integral of R from minus infinity to z, and ``dispersion``, the
    integral of R (1 - R):

        E|Z - z| - E|Z - Z'| / 2 = 2 integral(z) - z + mean - dispersion.
    """

    #: Levels that the calibration rows support; a quantile outside is an extrapolation.
    supported: tuple[float, float] = (0.0, 1.0)
    #: Number of rows that the law was learned from; None if it was not learned.
    n_fit: float | None = None
    #: Name of the recalibrator that learned the law; empty if none did, or it is not known.
    made_by: str = ""
    #: Whether Z and -Z have the same law.
    symmetric: bool = False
    #: Whether the density is continuous.
    smooth: bool = True

    @abstractmethod
    def cdf(self, z: FloatArray) -> FloatArray:
        """P(Z <= z)."""

    def cdf_and_slope(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """CDF and density together, because some laws share work between them."""
        with np.errstate(over="ignore"):
            return self.cdf(z), np.exp(self.logpdf(z))

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

    def isf(self, q: FloatArray) -> FloatArray:
        """Smallest z with P(Z > z) <= q; a small q has more digits than 1 - q."""
        return self.ppf(1.0 - q)

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
        """CDF and CRPS together, because the CRPS of some laws uses the CDF."""
        return self.cdf(z), self.crps(z)

    def _crps(self, z: FloatArray, integral: FloatArray) -> FloatArray:
        """CRPS at z from the integral up to z, which is overwritten."""
        score = integral
        score *= 2.0
        score -= z
        score += self.mean - self.dispersion
        return score

    def double_integrals(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Integrals below z of R, of R squared, and of the first; None if not in closed form."""
        return None

    def edges(self, z: FloatArray) -> FloatArray:
        """Increasing values that resolve the law, from normal scores z; (1, m) or (n, m)."""
        return self.ppf(ndtr(z)[None, :])


class SymmetricLaw(Law):
    """A law with the same distribution for Z and -Z."""

    symmetric = True
    mean: FloatArray | float = 0.0

    def sf(self, z: FloatArray) -> FloatArray:
        return self.cdf(-z)

    def logsf(self, z: FloatArray) -> FloatArray:
        return self.logcdf(-z)

    def isf(self, q: FloatArray) -> FloatArray:
        return -self.ppf(q)


class ScoreLaw(Law):
    """A law of scores, with the moments that integrals of functions of the score need."""

    #: Total weight of the rows that the law was learned from, and the weight of the new row that it
    #: leaves mass to; None if it leaves none.
    weights: tuple[float, float] | None = None

    def with_new_mass(self, share: float) -> ScoreLaw:
        """Return the law that gives a new row this share of the mass, half of it to either tail.

        A law that leaves no mass to a new row returns itself.
        """
        return self

    @abstractmethod
    def moments(self, z: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Integrals of R(s)**power * s**k over s < z, for power 1 or 2 and k = 0, 1, 2."""

    def double_integrals(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        area, moment, _ = self.moments(z, 1)
        return area, self.moments(z, 2)[0], z * area - moment
