"""A law with a smooth, strictly increasing normal score."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import log_ndtr, ndtr

from trueline._validation import FloatArray
from trueline.laws._normal import LOG_SQRT_2PI
from trueline.laws._tabulated import TabulatedLaw

# Normal score where the tables end: Phi(-10) is 8e-24.
_REACH = 10.0
_STEEPEST = 2.5


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
        self._slope = self._spline.derivative()

    def _height(self, z: FloatArray) -> FloatArray:
        inside = np.clip(z, self.knots[0], self.knots[-1])
        low, high = np.minimum(z - self.knots[0], 0.0), np.maximum(z - self.knots[-1], 0.0)
        return self._spline(inside) + self._ends[0] * low + self._ends[1] * high

    def logpdf(self, z: FloatArray) -> FloatArray:
        rise = self._slope(np.clip(z, self.knots[0], self.knots[-1]))
        rise = np.where(z < self.knots[0], self._ends[0], rise)
        rise = np.where(z > self.knots[-1], self._ends[1], rise)
        h = self._height(z)
        return -0.5 * h * h - LOG_SQRT_2PI + np.log(rise)

    @cached_property
    def _breaks(self) -> FloatArray:
        low = self.knots[0] - (_REACH + self.scores[0]) / self._ends[0]
        high = self.knots[-1] + (_REACH - self.scores[-1]) / self._ends[1]
        return np.concatenate([[low], self.knots, [high]])
