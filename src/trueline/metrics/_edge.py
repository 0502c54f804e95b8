"""Checks at the public edge of the diagnostics."""

from __future__ import annotations

from numpy.typing import ArrayLike

from trueline._validation import FloatArray, same_length, vector, weights
from trueline.distributions import Distribution


def check_forecast(dist: object) -> Distribution:
    """Return `dist`; raise unless it is a forecast.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.metrics import check_forecast
    >>> check_forecast(tl.Point([1.0]))
    Point(1 rows)
    """
    if not isinstance(dist, Distribution):
        raise TypeError(
            f"dist is of type {type(dist).__name__}; expected a Distribution. "
            f"Convert it first: dist = trueline.as_distribution(dist)."
        )
    return dist


def check_rows(
    y: ArrayLike, dist: object, sample_weight: ArrayLike | None = None
) -> tuple[FloatArray, Distribution, FloatArray | None]:
    """Check outcomes, forecast and weights; return the arrays as float64, (n,).

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.metrics import check_rows
    >>> check_rows([1], tl.Point([1.0]))[0]
    array([1.])
    """
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
    """Check weights that come without outcomes."""
    if sample_weight is not None:
        same_length(
            len(dist), vector(sample_weight, "sample_weight"), "sample_weight", "the forecast"
        )
    return weights(sample_weight, len(dist))
