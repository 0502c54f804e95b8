"""Columns of the data frames that are passed in, and results as data frames."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names, _get_feature_names

from trueline._messages import library
from trueline._validation import FloatArray

Names = NDArray[np.object_] | None


def column_names(X: Any) -> Names:
    """Return the column names of a frame; None if there are none or they are not text."""
    try:
        names: Names = _get_feature_names(X)
    except TypeError:  # some names are text and some are not, which the estimator refuses
        return None
    return names


def check_columns(model: Any, names: Names, X: Any) -> None:
    """Raise if a frame has as many columns as in fit, but others or in another order.

    Many packages read columns by position and ignore names. The estimator checks the number of
    columns, because one that selects columns by name accepts more.
    """
    given = column_names(X)
    if names is None or given is None or len(given) != len(names):
        return
    if not _picks_by_name(model):
        _check_feature_names(SimpleNamespace(feature_names_in_=names), X, reset=False)


def check_columns_of_frozen(estimator: Any, X: Any) -> None:
    """Raise if a model that is already trained knows these columns in another order."""
    names = getattr(estimator, "feature_names_in_", None)
    if not isinstance(estimator, FrozenEstimator) or names is None:
        return
    given = column_names(X)
    # Names that a package generated for an array are no names of a frame.
    if given is not None and set(given) == set(names):
        check_columns(estimator, np.asarray(names, dtype=object), X)


def take_features(model: Any, inner: Any) -> None:
    """Set the number and names of features to those of a fitted estimator inside."""
    for name in ("n_features_in_", "feature_names_in_"):
        model.__dict__.pop(name, None)
        if hasattr(inner, name):
            setattr(model, name, getattr(inner, name))


def in_order(X: Any, names: Names) -> Any:
    """Return the columns of the fit in their order, if a frame has them."""
    given = column_names(X)
    if (
        names is None
        or given is None
        or np.array_equal(given, names)
        or not set(names) <= set(given)
    ):
        return X
    return _safe_indexing(X, list(names), axis=1)


def _picks_by_name(model: Any) -> bool:
    """Whether X is passed to a `ColumnTransformer` first, for which the order has no meaning."""
    from sklearn.compose import ColumnTransformer

    while isinstance(model := unwrapped(model), Pipeline):
        model = model[0]
    return isinstance(model, ColumnTransformer)


def unwrapped(model: Any) -> Any:
    """Return the fitted model inside one that is frozen, transforms the target or searches."""
    from sklearn.compose import TransformedTargetRegressor

    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, TransformedTargetRegressor):
            model = model.regressor_
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model


def framed(model: Any, values: FloatArray, name: str, levels: Any, X: Any) -> Any:
    """Return (n,) values as a named series, (n, m) values as a frame with one column per level.

    The model's `set_output`, or else scikit-learn's configuration, says of which library. The
    rows keep the index of X if X is a pandas frame.
    """
    chosen = getattr(model, "_sklearn_output_config", {}).get("transform")
    container = chosen or get_config()["transform_output"]
    if container == "default":
        return values
    module = library(container, f"set_output(transform={container!r})")
    if container == "pandas":
        # X need not be of pandas: an index is taken from objects that behave like its frames.
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        if values.ndim == 1:
            return module.Series(values, index=index, name=name)
        return module.DataFrame(values, index=index, columns=np.asarray(levels, dtype=float))
    if values.ndim == 1:
        return module.Series(name, values)
    # Names of polars' columns are strings.
    return module.DataFrame(values, schema=[str(level) for level in np.asarray(levels, float)])
