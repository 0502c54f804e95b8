"""The forecasts of a fitted model, read without configuration.

A reader is a function of a fitted model and X. It returns a forecast, or None if the model is not
of its kind. The readers are asked in order; a model that none of them reads is a point forecast.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueline.distributions import Distribution, Point, Quantiles
from trueline.interop._as_distribution import as_distribution
from trueline.interop._ngboost import read_ngboost
from trueline.interop._quantile_models import (
    point_prediction,
    read_catboost_uncertainty,
    read_quantile_forest,
    read_quantile_loss,
    read_tabpfn,
)
from trueline.interop._reading import LEVELS, Reader
from trueline.interop._sklearn import (
    innermost,
    read_linear,
    read_members,
    read_standard_deviation,
    spread_excludes_noise,
)
from trueline.interop._skpro.readers import read_skpro


class ForecastReader:
    """Reads the forecasts of a fitted model and of its copies, such as those of other folds.

    The reader of the model is found at the first call and kept, so that later calls ask no other.
    It is looked for again for a model of another class, and in every call for models that a
    search has chosen, because another fold may choose another one.

    Parameters
    ----------
    readers : sequence of callables (model, X) -> Distribution or None, optional
        The readers to ask, in this order; by default those that are registered now.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge, LinearRegression
    >>> import trueline as tl
    >>> X, y = np.arange(8.0)[:, None], np.arange(8.0) ** 2
    >>> read = tl.interop.ForecastReader()
    >>> read(BayesianRidge().fit(X, y), X), read(LinearRegression().fit(X, y), X)
    (Normal(8 rows), Point(8 rows))
    """

    def __init__(self, readers: Sequence[Reader] | None = None) -> None:
        self._readers = tuple(_READERS if readers is None else readers)
        self._found: tuple[type, Reader] | None = None
        self._regressor_reader: ForecastReader | None = None

    def __call__(self, model: Any, X: Any) -> Distribution:
        """Return the forecasts of the rows of X, as `read_forecast` does."""
        inner, rows, searched = innermost(model, X)
        readers = (*self._readers, self._read_transformed_target, _read_point)
        if self._found is not None and self._found[0] is type(inner) and not searched:
            readers = (self._found[1], *readers)
        reader, dist = next(
            (reader, dist) for reader in readers if (dist := reader(inner, rows)) is not None
        )
        self._found = type(inner), reader
        return dist

    def _read_transformed_target(self, model: Any, X: Any) -> Distribution | None:
        """Convert the forecast of a model of, say, log(y) to the unit of y.

        A monotone map takes quantiles to quantiles, but not the mean or the scale.
        """
        from sklearn.compose import TransformedTargetRegressor

        if not isinstance(model, TransformedTargetRegressor):
            return None
        if self._regressor_reader is None:
            self._regressor_reader = ForecastReader(self._readers)
        inner = self._regressor_reader(model.regressor_, X)
        # A spread without the noise is worth less than a width learned in the unit of y.
        if not inner._has_spread or spread_excludes_noise(model.regressor_):
            return Point(point_prediction(model, X))
        levels = inner.levels if isinstance(inner, Quantiles) else np.array(LEVELS)
        values = inner.ppf(levels)
        column = np.asarray(model.transformer_.inverse_transform(values.reshape(-1, 1)), np.float64)
        values = column.reshape(values.shape)
        if (values[:, 0] > values[:, -1]).all():  # a decreasing map, such as 1 / y
            levels, values = 1.0 - levels[::-1], values[:, ::-1]
        return Quantiles(levels, values)


def read_forecast(model: Any, X: Any) -> Distribution:
    """Return the forecasts of a fitted model: the most that it offers.

    Parameters
    ----------
    model : fitted regressor
    X : (n, d) array-like

    Returns
    -------
    Distribution of n rows
        `Point` if the model predicts one number per row only.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import BayesianRidge
    >>> import trueline as tl
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tl.interop.read_forecast(BayesianRidge().fit(X, y), X[:2]).std().round()
    array([55., 55.])
    """
    return ForecastReader()(model, X)


def register_reader(reader: Reader) -> Reader:
    """Let `CalibratedRegressor` and the scorers read another kind of model.

    The newest reader is asked first. Pipelines, searches and `FrozenEstimator` are unwrapped
    before: a reader is called with the model inside, and with the X that this model is called with.
    The reader is returned, so that this is a decorator.

    Parameters
    ----------
    reader : callable (model, X) -> Distribution or None
        It returns None if the model is not of its kind.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.interop import read_forecast, register_reader, unregister_reader
    >>> class Oracle:
    ...     def predict(self, X):
    ...         return X[0]
    >>> @register_reader
    ... def read_oracle(model, X):
    ...     return tl.Laplace(model.predict(X), 2.0) if isinstance(model, Oracle) else None
    >>> read_forecast(Oracle(), [[1.0, 2.0]])
    Laplace(2 rows)
    >>> unregister_reader(read_oracle)
    """
    _READERS.insert(0, reader)
    return reader


def unregister_reader(reader: Reader) -> None:
    """Remove a reader that was registered with `register_reader`.

    Parameters
    ----------
    reader : callable
        The function itself.

    Examples
    --------
    >>> from trueline.interop import register_reader, unregister_reader
    >>> reader = register_reader(lambda model, X: None)
    >>> unregister_reader(reader)
    """
    if reader not in _READERS:
        raise ValueError(
            f"{reader!r} is not registered; expected a reader that register_reader was called with."
        )
    _READERS.remove(reader)


def refuse_forecaster(model: Any) -> None:
    """Raise if a model learns from a series: its ``fit(X, y)`` would take X for the series.

    >>> from sklearn.linear_model import LinearRegression
    >>> from trueline.interop._readers import refuse_forecaster
    >>> refuse_forecaster(LinearRegression())
    """
    try:
        argument = next(iter(inspect.signature(model.fit).parameters), "")
    except (AttributeError, TypeError, ValueError):  # no fit, or no signature
        return
    if argument in ("y", "series"):
        name = type(model).__name__
        raise TypeError(
            f"estimator is {name}, a forecaster: the first argument of its fit is {argument!r}, a "
            f"series. Expected a regressor with fit(X, y). Calibrate its forecasts instead: "
            f"F = tl.as_distribution(forecaster.predict_proba(fh)) for times whose outcomes y are "
            f"known, then tl.Isotonic().fit(y, F), and transform its forecasts of the times ahead."
        )


def _read_own_distribution(model: Any, X: Any) -> Distribution | None:
    return as_distribution(model.predict_dist(X)) if hasattr(model, "predict_dist") else None


def _read_point(model: Any, X: Any) -> Distribution:
    refuse_forecaster(model)
    return Point(point_prediction(model, X))


_READERS: list[Reader] = [
    _read_own_distribution,
    read_ngboost,
    read_catboost_uncertainty,
    read_quantile_loss,
    read_quantile_forest,
    read_tabpfn,
    read_skpro,
    read_linear,
    read_standard_deviation,
    read_members,
]
