"""All mass at zero: the law of a point forecast."""

from __future__ import annotations

import numpy as np

from trueline._validation import FloatArray
from trueline.laws._abstract import Law


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
