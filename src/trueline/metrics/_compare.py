"""Comparison of forecasts of the same rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trueline._validation import FloatArray
from trueline.metrics._rows import effective_size, mean


@dataclass(frozen=True)
class Difference:
    """Mean difference between two forecasts, second minus first, with its standard error.

    It is infinite if one of the means is, and NaN if both are.
    """

    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether it is more than two standard errors from 0."""
        return math.isinf(self.mean) or abs(self.mean) > 2.0 * self.error


def score_difference(first: FloatArray, second: FloatArray, w: FloatArray | None) -> Difference:
    """Return the mean difference of the scores of the same rows; weights count by Kish's number."""
    with np.errstate(invalid="ignore"):
        centre = float(np.subtract(mean(second, w), mean(first, w)))
        variance = np.average(np.square(second - first - centre), weights=w)
    n = effective_size(w, first.size)
    return Difference(centre, float(np.sqrt(variance / max(n - 1.0, 1.0))))
