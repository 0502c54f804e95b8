"""The Laplace law."""

from __future__ import annotations

import math

import numpy as np

from trueline._validation import FloatArray
from trueline.laws._abstract import SymmetricLaw

_LOG_2 = math.log(2.0)


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
