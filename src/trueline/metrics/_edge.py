"""Checks at the public edge of the diagnostics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, same_length, vector, weights
from trueline.distributions import Distribution


def check_forecast(dist: object) -> Distribution:
    """Raise unless `dist` is a forecast."""
    if not isinstance(dist, Distribution):
        raise TypeError(
            f"dist is of type {type(dist).__name__}; expected a Distribution. "
            f"Convert it first: dist = trueline.as_distribution(dist)."
        )
    return dist


def check_rows(
    y: ArrayLike, dist: object, sample_weight: ArrayLike | None = None
) -> tuple[FloatArray, Distribution, FloatArray | None]:
    """Check outcomes, forecast and weights; return the arrays as float64, (n,)."""
    if isinstance(y, Distribution):
        raise TypeError(
            f"y is of type {type(y).__name__}; expected outcomes, shape (n,). "
            f"Outcomes come first, then the forecast: (y, dist)."
        )
    forecast = check_forecast(dist)
    outcomes = vector(y, "y")
    same_length(len(forecast), outcomes, "y", "the forecast", forecast._draw_count)
    return outcomes, forecast, weights(sample_weight, outcomes.size)


def check_weights(sample_weight: ArrayLike | None, dist: Distribution) -> FloatArray | None:
    """Check weights where there are no outcomes."""
    if sample_weight is not None:
        same_length(
            len(dist), vector(sample_weight, "sample_weight"), "sample_weight", "the forecast"
        )
    return weights(sample_weight, len(dist))


def check_count(value: int, name: str) -> int:
    """Raise unless `value` is an integer of 1 or more."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected an integer of 1 or more.")
    return int(value)
