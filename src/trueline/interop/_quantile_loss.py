"""Models that were trained for quantiles, and predictions in the unit of the outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.interop._boosting import (
    catboost_expectiles,
    catboost_levels,
    lightgbm_levels,
    trained_on_logs,
    xgboost_levels,
)
from trueline.interop._reading import belongs_to, one_per_row, quantiles
from trueline.interop._sklearn.composition import parts

_LEVELS_OF: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "sklearn.ensemble._gb": lambda model: _sklearn_levels(model, "alpha"),
    "sklearn.ensemble._hist_gradient_boosting": lambda model: _sklearn_levels(model, "quantile"),
    "sklearn.linear_model._quantile": lambda model: (float(model.quantile),),
    "xgboost": xgboost_levels,
    "lightgbm": lightgbm_levels,
    "catboost": catboost_levels,
}

# Parameters that hold the level; scikit-learn's other regressors call it "quantile".
_PARAMETERS = {
    "lightgbm": "alpha",
    "xgboost": "quantile_alpha",
    "catboost": "loss_function",
    "sklearn.ensemble._gb": "alpha",
}


def trained_levels(model: Any) -> tuple[float, ...] | None:
    """Return the quantile levels of a fitted model's loss, in the order of its columns.

    They are empty if the loss is of another kind, such as the squared error, and None if the loss
    of such a model is not known.

    >>> from sklearn.linear_model import LinearRegression, QuantileRegressor
    >>> from trueline.interop import trained_levels
    >>> trained_levels(QuantileRegressor(quantile=0.9)), trained_levels(LinearRegression())
    ((0.9,), None)
    """
    for package, levels_of in _LEVELS_OF.items():
        if belongs_to(model, package):
            return levels_of(model)
    return None


def level_parameter(estimator: Any) -> str | None:
    """Return the name of the parameter that holds a regressor's quantile level, or None.

    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from trueline.interop import level_parameter
    >>> level_parameter(GradientBoostingRegressor(loss="quantile"))
    'alpha'
    """
    for package, name in _PARAMETERS.items():
        if belongs_to(estimator, package):
            return name
    has_quantile = hasattr(estimator, "get_params") and "quantile" in estimator.get_params()
    return "quantile" if has_quantile else None


def _sklearn_levels(model: Any, parameter: str) -> tuple[float, ...]:
    return (float(getattr(model, parameter)),) if model.loss == "quantile" else ()


def read_quantile_loss(model: Any, X: Any) -> Distribution | None:
    """Read models trained for quantiles: XGBoost, LightGBM, CatBoost and scikit-learn's."""
    off_centre = _off_centre(model)
    if off_centre is not None:
        raise ValueError(_one_level_message(model, *off_centre))
    levels = trained_levels(model)
    if not levels or len(levels) == 1:  # the median alone is a point forecast
        return None
    return quantiles(model, levels, _prediction(model, X))


def point_prediction(model: Any, X: Any) -> FloatArray:
    """Return one prediction per row, in the unit of y.

    >>> from sklearn.linear_model import LinearRegression
    >>> from trueline.interop import point_prediction
    >>> point_prediction(LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0]), [[3.0]])
    array([6.])
    """
    return one_per_row(model, _prediction(model, X))


def _prediction(model: Any, X: Any) -> Any:
    if trained_on_logs(model):
        return model.predict(X, prediction_type="Exponent")
    return model.predict(X)


def _off_centre(model: Any) -> tuple[Any, str, float] | None:
    """Return the part of a model trained for one off-centre level, the kind of level, the level.

    The average of models that were trained for the 0.9 quantile is off centre as each of them
    is. The result is None if there is no such part.
    """
    levels = trained_levels(model) or ()
    if len(levels) == 1 and levels != (0.5,):
        return model, "quantile", levels[0]
    expectiles = catboost_expectiles(model)
    if expectiles and expectiles != (0.5,):  # the 0.5 expectile is the mean
        return model, "expectile", expectiles[0]
    return next((found for part in parts(model) if (found := _off_centre(part))), None)


def _one_level_message(model: Any, part: Any, kind: str, level: float) -> str:
    name = type(part).__name__
    where = "" if part is model else f", in the {type(model).__name__},"
    return (
        f"{name}{where} was trained for one {kind}, the {level:g}; expected several levels, the "
        f"median or the mean, because one {kind} does not describe the spread and is not a "
        f"central prediction either. Train one model per level: "
        f"trueline.estimators.PerLevel({name}(...), levels=[0.05, 0.5, 0.95])."
    )
