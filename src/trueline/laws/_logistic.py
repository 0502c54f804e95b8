"""The logistic law."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, logit

from trueline._validation import FloatArray
from trueline.laws._abstract import SymmetricLaw


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
