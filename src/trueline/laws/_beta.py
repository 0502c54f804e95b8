"""The law of beta calibration."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from trueline._validation import FloatArray
from trueline.laws._normal import LOG_SQRT_2PI
from trueline.laws._search import solve_increasing
from trueline.laws._tabulated import TabulatedLaw

_FARTHEST = 1e150


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
        return self._logit((z - self.shift) / self.scale)

    def _logit(self, t: FloatArray) -> FloatArray:
        return self.c + self.a * log_ndtr(t) - self.b * log_ndtr(-t)

    def logpdf(self, z: FloatArray) -> FloatArray:
        # Beyond this t^2 overflows, and differences of infinities are NaN.
        t = np.clip((z - self.shift) / self.scale, -_FARTHEST, _FARTHEST)
        log_phi = -0.5 * t * t - LOG_SQRT_2PI
        # d logit / dt = a phi / Phi(t) + b phi / Phi(-t)
        rise = np.logaddexp(
            math.log(self.a) + log_phi - log_ndtr(t), math.log(self.b) + log_phi - log_ndtr(-t)
        )
        logit = self._logit(t)
        return log_expit(logit) + log_expit(-logit) + rise - math.log(self.scale)

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
