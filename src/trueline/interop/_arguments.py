"""Any forecast as an argument: a distribution as it is, anything else converted."""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

from trueline._validation import vector
from trueline.distributions import Distribution
from trueline.interop._as_distribution import as_distribution

#: A forecast as an argument: a distribution, or what `as_distribution` takes.
ForecastLike: TypeAlias = Distribution | Any


def check_forecast(dist: ForecastLike, name: str = "dist", y: object = None) -> Distribution:
    """Return a forecast as a distribution; raise unless it is one or can be converted.

    Parameters
    ----------
    dist : Distribution, or what `as_distribution` takes
    name : str, default "dist"
        What messages call it.
    y : (n,) array-like, optional
        The outcomes that were passed with it. If they are a forecast and `dist` holds outcomes,
        the error says that the arguments are swapped.

    Examples
    --------
    >>> from trueline.interop import check_forecast
    >>> check_forecast(([1.0, 2.0], 0.5))
    Normal(2 rows)
    """
    if isinstance(dist, Distribution):
        if not isinstance(y, Distribution):
            return dist
    elif y is None or not _is_forecast(y):
        return _converted(dist, name)
    if not _is_outcomes(dist):
        raise TypeError(
            f"y is of type {type(y).__name__}; expected outcomes, shape (n,). "
            f"Outcomes come first, then the forecast: (y, {name})."
        )
    raise TypeError(
        f"the arguments are swapped: outcomes come first, then the forecast: (y, {name}). "
        f"Received a {type(y).__name__} as y and a {type(dist).__name__} as {name}."
    )


def _converted(dist: Any, name: str) -> Distribution:
    try:
        return as_distribution(dist)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{name} is of type {type(dist).__name__}, which trueline.as_distribution(obj) cannot "
            f"convert: {error}"
        ) from error


def _is_outcomes(x: Any) -> bool:
    """Whether an object holds one number per row."""
    if isinstance(x, Distribution):
        return False
    try:
        vector(x, "y", finite=False)
    except (TypeError, ValueError):
        return False
    return True


def _is_forecast(x: Any) -> bool:
    """Whether an object is a forecast and cannot be outcomes."""
    if isinstance(x, Distribution):
        return True
    if _is_outcomes(x):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            as_distribution(x)
    except (TypeError, ValueError):
        return False
    return True
