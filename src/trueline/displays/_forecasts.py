"""What a display is given: one forecast or several, with their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from trueline.distributions import Distribution
from trueline.interop import read_forecast
from trueline.metrics import check_forecast

T = TypeVar("T")

Forecasts = Distribution | Mapping[str, Distribution]
DEFAULT_NAME = "forecast"


def named(dist: Forecasts, name: str | None) -> dict[str, Distribution]:
    """Return the forecasts by name; a single one may be named by `name`."""
    if not isinstance(dist, Mapping):
        return {_single(name): check_forecast(dist)}
    check_names(dist, "dist", "forecast", name)
    for key, forecast in dist.items():
        if not isinstance(forecast, Distribution):
            raise TypeError(
                f"dist[{key!r}] is of type {type(forecast).__name__}; expected a Distribution. "
                f"Convert it first: trueline.as_distribution(...)."
            )
    return dict(dist)


def one(dist: Distribution) -> Distribution:
    """Raise unless it is a single forecast."""
    if isinstance(dist, Mapping):
        raise TypeError(
            f"dist holds {len(dist)} forecasts by name; expected one Distribution, because their "
            f"intervals would hide each other. Draw each on axes of its own: ax=."
        )
    return check_forecast(dist)


def of_estimator(estimator: Any, X: Any, name: str | None) -> dict[str, Distribution]:
    """Return the forecasts of a fitted model, or of several by name."""
    if not isinstance(estimator, Mapping):
        return {name_of_model(estimator, name): read_forecast(estimator, X)}
    check_names(estimator, "estimator", "model", name)
    return {key: read_forecast(model, X) for key, model in estimator.items()}


def name_of_model(estimator: Any, name: str | None) -> str:
    """Name of a single model: its class, unless one was given."""
    return type(estimator).__name__ if name is None else _single(name)


def results(given: Any, kinds: tuple[type[T], ...], name: str | None) -> dict[str, T]:
    """Check what a display was constructed with: a result, or several by name."""
    expected = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(given, Mapping):
        check_names(given, "results", expected, name)
        values = dict(given)
    else:
        values = {_single(name): given}
    for value in values.values():
        if not isinstance(value, kinds):
            raise TypeError(
                f"results hold an object of type {type(value).__name__}; expected a {expected}. "
                f"From outcomes and forecasts use from_predictions(y, dist)."
            )
    return values


def each(forecasts: dict[str, Distribution], compute: Callable[[Distribution], T]) -> dict[str, T]:
    """Compute something of every forecast."""
    return {key: compute(forecast) for key, forecast in forecasts.items()}


def check_names(given: Mapping[Any, Any], what: str, item: str, name: str | None) -> None:
    """Raise unless a mapping has names, and nothing else has."""
    if not given:
        raise ValueError(f"{what} is an empty mapping; expected at least one {item}.")
    strange = [key for key in given if not isinstance(key, str)]
    if strange:
        raise TypeError(f"{what} has the key {strange[0]!r}; expected names, which are strings.")
    if name is not None:
        raise ValueError(
            f"name is {name!r}, but {what} names what it holds: {', '.join(given)}. Leave it out."
        )


def _single(name: str | None) -> str:
    if name is None:
        return DEFAULT_NAME
    if not isinstance(name, str):
        raise TypeError(f"name is {name!r}; expected a string.")
    return name


def own_name(values: Any) -> str | None:
    """Name of a pandas or polars series, if it has one."""
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else None
