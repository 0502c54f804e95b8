"""Laws with elementary formulas: normal, Laplace, logistic, and all mass at one point."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, logit, ndtr, ndtri

from trueline._validation import FloatArray
from trueline.laws._abstract import Law, ScoreLaw, SymmetricLaw

#: Minus the log density of the standard normal at 0.
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_SQRT_2 = math.sqrt(2.0)
_SQRT_PI = math.sqrt(math.pi)
_LOG_2 = math.log(2.0)


def normal_pdf(t: FloatArray) -> FloatArray:
    """Density of the standard normal."""
    return np.exp(-0.5 * t * t - LOG_SQRT_2PI)


class NormalLaw(ScoreLaw):
    """Z ~ N(shift, scale**2)."""

    def __init__(self, shift: float = 0.0, scale: float = 1.0) -> None:
        self.shift = shift
        self.scale = scale
        self.symmetric = shift == 0.0

    def _standard(self, z: FloatArray) -> FloatArray:
        # Every Normal forecast has the standard law, which needs no pass over the data here.
        if self.shift == 0.0 and self.scale == 1.0:
            return z
        return (z - self.shift) / self.scale

    def cdf(self, z: FloatArray) -> FloatArray:
        return ndtr(self._standard(z))

    def sf(self, z: FloatArray) -> FloatArray:
        return ndtr(-self._standard(z))

    def logcdf(self, z: FloatArray) -> FloatArray:
        return log_ndtr(self._standard(z))

    def logsf(self, z: FloatArray) -> FloatArray:
        return log_ndtr(-self._standard(z))

    def logpdf(self, z: FloatArray) -> FloatArray:
        t = self._standard(z)
        return -0.5 * t * t - (LOG_SQRT_2PI + math.log(self.scale))

    def ppf(self, q: FloatArray) -> FloatArray:
        return self.shift + self.scale * ndtri(q)

    def isf(self, q: FloatArray) -> FloatArray:
        return self.shift - self.scale * ndtri(q)

    def integral(self, z: FloatArray) -> FloatArray:
        t = self._standard(z)
        return self._area(t, ndtr(t))

    def cdf_and_crps(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        t = self._standard(z)
        cdf = ndtr(t)
        return cdf, self._crps(z, self._area(t, cdf))

    def _area(self, t: FloatArray, cdf: FloatArray) -> FloatArray:
        """Integral of the CDF up to standard scores t."""
        area = t * cdf
        area += normal_pdf(t)
        area *= self.scale
        return area

    @property
    def mean(self) -> float:
        return self.shift

    @property
    def var(self) -> float:
        return self.scale**2

    @property
    def dispersion(self) -> float:
        return self.scale / _SQRT_PI

    def moments(self, z: FloatArray, power: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        t = self._standard(z)
        cdf, pdf = ndtr(t), normal_pdf(t)
        if power == 1:
            m0 = t * cdf + pdf
            m1 = 0.5 * ((t * t - 1.0) * cdf + t * pdf)
            m2 = (t**3 * cdf + (t * t + 2.0) * pdf) / 3.0
        else:
            # By parts, with the derivative of R**2 = 2 R phi and of phi**2 in closed form.
            wide = ndtr(_SQRT_2 * t)
            m0 = t * cdf**2 + 2.0 * cdf * pdf - wide / _SQRT_PI
            # integral of t R phi = -R phi + integral of phi^2;
            # integral of t^2 R phi = -t R phi + R^2 / 2 - phi^2 / 2.
            m1 = 0.5 * t * t * cdf**2 + t * cdf * pdf - 0.5 * cdf**2 + 0.5 * pdf**2
            # integral of t^3 R phi = -(t^2 + 2) R phi + integral of (t^2 + 2) phi^2
            phi2 = wide / (2.0 * _SQRT_PI)
            t2phi2 = -0.5 * t * pdf**2 + 0.5 * phi2
            m2 = (t**3 * cdf**2 + 2.0 * (t * t + 2.0) * cdf * pdf - 2.0 * (t2phi2 + 2 * phi2)) / 3.0
        a, b = self.shift, self.scale
        return b * m0, b * (a * m0 + b * m1), b * (a * a * m0 + 2.0 * a * b * m1 + b * b * m2)


class LaplaceLaw(SymmetricLaw):
    """Density exp(-|z|) / 2."""

    var = 2.0
    dispersion = 0.75

    def cdf(self, z: FloatArray) -> FloatArray:
        half = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, half, 1.0 - half)

    def logcdf(self, z: FloatArray) -> FloatArray:
        return np.where(z < 0, -np.abs(z) - _LOG_2, np.log1p(-0.5 * np.exp(-np.abs(z))))

    def logpdf(self, z: FloatArray) -> FloatArray:
        return np.subtract(-_LOG_2, np.abs(z))

    def ppf(self, q: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.where(q < 0.5, np.log(2.0 * q), -np.log(2.0 * (1.0 - q)))

    def integral(self, z: FloatArray) -> FloatArray:
        return np.maximum(z, 0.0) + 0.5 * np.exp(-np.abs(z))


class LogisticLaw(SymmetricLaw):
    """R(z) = 1 / (1 + exp(-z))."""

    var = np.pi**2 / 3.0
    dispersion = 1.0

    def cdf(self, z: FloatArray) -> FloatArray:
        return expit(z)

    def logcdf(self, z: FloatArray) -> FloatArray:
        return log_expit(z)

    def logpdf(self, z: FloatArray) -> FloatArray:
        return log_expit(z) + log_expit(-z)

    def ppf(self, q: FloatArray) -> FloatArray:
        return logit(q)

    def integral(self, z: FloatArray) -> FloatArray:
        return np.logaddexp(0.0, z)


class PointLaw(Law):
    """Z = 0. The density is infinite there and zero elsewhere."""

    symmetric = True
    smooth = False
    mean = var = dispersion = 0.0

    def cdf(self, z: FloatArray) -> FloatArray:
        return np.where(z >= 0, 1.0, 0.0)

    def cdf_left(self, z: FloatArray) -> FloatArray:
        return np.where(z > 0, 1.0, 0.0)

    def sf(self, z: FloatArray) -> FloatArray:
        return np.where(z < 0, 1.0, 0.0)

    def logcdf(self, z: FloatArray) -> FloatArray:
        return np.where(z >= 0, 0.0, -np.inf)

    def logsf(self, z: FloatArray) -> FloatArray:
        return np.where(z < 0, 0.0, -np.inf)

    def logpdf(self, z: FloatArray) -> FloatArray:
        return np.where(z == 0, np.inf, -np.inf)

    def ppf(self, q: FloatArray) -> FloatArray:
        return np.zeros_like(q)

    def integral(self, z: FloatArray) -> FloatArray:
        return np.maximum(z, 0.0)
