"""What a fitted model says of its own uncertainty, found without configuration.

A reader takes a fitted model and X and returns a forecast, or None where the model is not of
its kind. Readers are asked in order, and a model that none of them knows is a point forecast.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueline.distributions import Distribution, Point, Quantiles
from trueline.interop import as_distribution
from trueline.interop._levels import point_prediction
from trueline.interop._readers_packages import (
    read_catboost_uncertainty,
    read_ngboost,
    read_quantile_forest,
    read_quantile_loss,
    read_skpro,
    read_tabpfn,
)
from trueline.interop._readers_sklearn import (
    read_linear,
    read_members,
    read_standard_deviation,
)
from trueline.interop._reading import LEVELS, Reader


def predictive(model: Any, X: Any, readers: Sequence[Reader] | None = None) -> Distribution:
    """Return the forecast of a fitted model: the most that it offers."""
    from sklearn.compose import TransformedTargetRegressor

    inner, rows = _innermost(model, X)
    for reader in _READERS if readers is None else readers:
        dist = reader(inner, rows)
        if dist is not None:
            return dist
    if isinstance(inner, TransformedTargetRegressor):
        return _of_transformed_target(inner, rows, readers)
    refuse_forecaster(inner)
    return Point(point_prediction(inner, rows))


def register_reader(reader: Reader) -> Reader:
    """Teach `CalibratedRegressor` and the scorers to read another kind of model.

    The newest reader is asked first. Pipelines, searches and `FrozenEstimator` are unwrapped
    before: a reader sees the model itself, and the X that it sees.

    Parameters
    ----------
    reader : callable (model, X) -> Distribution or None
        None says that the model is not of its kind.

    Returns
    -------
    callable
        The reader, so that this is a decorator.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.estimators import CalibratedRegressor
    >>> from trueline.interop import register_reader, unregister_reader
    >>> class Oracle:
    ...     def predict(self, X):
    ...         return X[:, 0]
    >>> @register_reader
    ... def read_oracle(model, X):
    ...     return tl.Laplace(model.predict(X), 2.0) if isinstance(model, Oracle) else None
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> X = np.arange(40.0)[:, None]
    >>> model = CalibratedRegressor(FrozenEstimator(Oracle()), scale_estimator=None)
    >>> model.fit(X, X[:, 0] + np.sin(X[:, 0])).recalibrator_.scores_.kind
    'standardised'
    >>> unregister_reader(read_oracle)
    """
    _READERS.insert(0, reader)
    return reader


def unregister_reader(reader: Reader) -> None:
    """Forget a reader that `register_reader` was given.

    Parameters
    ----------
    reader : callable

    Examples
    --------
    >>> from trueline.interop import register_reader, unregister_reader
    >>> reader = register_reader(lambda model, X: None)
    >>> unregister_reader(reader)
    """
    if reader not in _READERS:
        raise ValueError(f"{reader!r} is not registered; expected what register_reader was given.")
    _READERS.remove(reader)


def current_readers() -> tuple[Reader, ...]:
    """Return the readers there are, to hand to a process that has not seen them register."""
    return tuple(_READERS)


def leaves_out_noise(model: Any, X: Any) -> bool:
    """Whether a model's scale is its doubt about the mean alone, which may vanish."""
    return _doubts_the_mean(_innermost(model, X)[0])


def _doubts_the_mean(model: Any) -> bool:
    from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor

    members = BaggingRegressor | ExtraTreesRegressor | RandomForestRegressor
    return isinstance(model, members | GaussianProcessRegressor)


def refuse_forecaster(model: Any) -> None:
    """Raise if a model learns from a series: its ``fit(X, y)`` would take X for the series."""
    try:
        first = next(iter(inspect.signature(model.fit).parameters), "")
    except (AttributeError, TypeError, ValueError):  # it has none, or none that says
        return
    if first in ("y", "series"):
        name = type(model).__name__
        raise TypeError(
            f"estimator is {name}, a forecaster: the first that its fit takes is {first!r}, a "
            f"series. Expected a regressor with fit(X, y). Calibrate what it returns instead: "
            f"F = tl.as_distribution(forecaster.predict_proba(fh)) for times whose outcomes y are "
            f"known, then tl.Isotonic().fit(y, F), and transform its forecasts of the times ahead."
        )


def _innermost(model: Any, X: Any) -> tuple[Any, Any]:
    """Unwrap what only passes rows on; return the model that predicts, and its X."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, Pipeline):
            head = model[:-1]
            model, X = model[-1], head.transform(X) if len(head) else X
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model, X


def _of_transformed_target(model: Any, X: Any, readers: Sequence[Reader] | None) -> Distribution:
    """Bring the forecast of a model that learned from, say, log(y) to the unit of y.

    A quantile goes through a monotone map as it is, which is true of neither mean nor scale.
    """
    regressor, rows = _innermost(model.regressor_, X)
    inner = predictive(regressor, rows, readers)
    # A spread that is not that of the outcomes is worth less than a width learned in the unit of y.
    if not inner._has_spread or _doubts_the_mean(regressor):
        return Point(point_prediction(model, X))
    levels = inner.levels if isinstance(inner, Quantiles) else np.array(LEVELS)
    values = inner.ppf(levels)
    column = np.asarray(model.transformer_.inverse_transform(values.reshape(-1, 1)), np.float64)
    values = column.reshape(values.shape)
    if (values[:, 0] > values[:, -1]).all():  # such as of 1 / y
        levels, values = 1.0 - levels[::-1], values[:, ::-1]
    return Quantiles(levels, values)


def _own_distribution(model: Any, X: Any) -> Distribution | None:
    return as_distribution(model.predict_dist(X)) if hasattr(model, "predict_dist") else None


_READERS: list[Reader] = [
    _own_distribution,
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
