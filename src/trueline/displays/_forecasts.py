"""Forecasts that a display draws: one, or several by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from trueline.displays import _style
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
    return {key: check_forecast(forecast, f"dist[{key!r}]") for key, forecast in dist.items()}


def one(dist: Distribution) -> Distribution:
    """Raise unless it is a single forecast."""
    if isinstance(dist, Mapping):
        raise TypeError(
            f"dist holds {len(dist)} forecasts by name; expected one Distribution, because their "
            f"intervals would hide each other. Draw each on axes of its own: ax=."
        )
    return check_forecast(dist)


class FromPredictions(ABC):
    """A display of one forecast or of several by name."""

    @classmethod
    @abstractmethod
    def from_predictions(cls, y: Any, dist: Forecasts, **kwargs: Any) -> Self:
        """Draw forecasts."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Draw the forecasts of a fitted model, or of several by name.

        Parameters
        ----------
        estimator : fitted regressor or mapping of names to fitted regressors
            Their uncertainty is read as `CalibratedRegressor` reads it.
        X : (n, d) array-like
            Features of rows that the model has not seen.
        y : (n,) array-like
            Outcomes of these rows.
        name : str, optional
            Name of a single model, by default that of its class.
        **kwargs : dict
            Options of `from_predictions`.
        """
        _style.require_matplotlib(f"{cls.__name__}.from_estimator")
        if isinstance(estimator, Mapping):
            check_names(estimator, "estimator", "model", name)
            models = dict(estimator)
        else:
            models = {name_of_model(estimator, name): estimator}
        forecasts = {key: read_forecast(model, X) for key, model in models.items()}
        return cls.from_predictions(y, forecasts, **kwargs)


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
    """Compute something for every forecast."""
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


def band_label(shown: Mapping[str, Any], name: str, confidence: float) -> str:
    """Return the label of a band, with the name of its forecast if others have other bands."""
    whose = f" for {name}" if len({result.n_fit for result in shown.values()}) > 1 else ""
    return f"chance{whose} ({_style.percent(confidence)})"
