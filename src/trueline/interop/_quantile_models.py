"""Models that predict quantiles, at the levels of their loss or at any, and CatBoost's others.

Predictions are converted to the unit of the outcome.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.interop._reading import LEVELS, belongs_to, normal, one_per_row, quantiles
from trueline.interop._sklearn import parts

# Parameters that hold the level; scikit-learn's other regressors call it "quantile".
_PARAMETERS = {
    "lightgbm": "alpha",
    "xgboost": "quantile_alpha",
    "catboost": "loss_function",
    "sklearn.ensemble._gb": "alpha",
}

# CatBoost trains these on the log scale. Its regressor undoes that for the last two, but not for
# a model that was loaded from a file.
_LOG_LOSSES = ("LogLinQuantile", "Poisson", "Tweedie")


def trained_levels(model: Any) -> tuple[float, ...] | None:
    """Return the quantile levels of a fitted model's loss, in the order of its columns.

    They are empty if the loss is of another kind, such as the squared error, and None if the loss
    of such a model is not known.

    >>> from sklearn.linear_model import LinearRegression, QuantileRegressor
    >>> from trueline.interop._quantile_models import trained_levels
    >>> trained_levels(QuantileRegressor(quantile=0.9)), trained_levels(LinearRegression())
    ((0.9,), None)
    """
    found = (read for package, read in _LEVELS_OF.items() if belongs_to(model, package))
    return next((read(model) for read in found), None)


def level_parameter(estimator: Any) -> str | None:
    """Return the name of the parameter that holds a regressor's quantile level, or None.

    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from trueline.interop._quantile_models import level_parameter
    >>> level_parameter(GradientBoostingRegressor(loss="quantile"))
    'alpha'
    """
    for package, name in _PARAMETERS.items():
        if belongs_to(estimator, package):
            return name
    has_quantile = hasattr(estimator, "get_params") and "quantile" in estimator.get_params()
    return "quantile" if has_quantile else None


def read_quantile_loss(model: Any, X: Any) -> Distribution | None:
    """Read models trained for quantiles: XGBoost, LightGBM, CatBoost and scikit-learn's."""
    off_centre = _off_centre(model)
    if off_centre is not None:
        part, kind, level = off_centre
        name = type(part).__name__
        where = "" if part is model else f", in the {type(model).__name__},"
        raise ValueError(
            f"{name}{where} was trained for one {kind}, the {level:g}; expected several levels, "
            f"the median or the mean, because one {kind} does not describe the spread and is not a "
            f"central prediction either. Train one model per level: "
            f"trueline.estimators.PerLevel({name}(...), levels=[0.05, 0.5, 0.95])."
        )
    levels = trained_levels(model)
    if not levels or len(levels) == 1:  # the median alone is a point forecast
        return None
    return quantiles(model, levels, _prediction(model, X))


def point_prediction(model: Any, X: Any) -> FloatArray:
    """Return one prediction per row, in the unit of y.

    >>> from sklearn.linear_model import LinearRegression
    >>> from trueline.interop._quantile_models import point_prediction
    >>> point_prediction(LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0]), [[3.0]])
    array([6.])
    """
    return one_per_row(model, _prediction(model, X))


def _prediction(model: Any, X: Any) -> Any:
    if belongs_to(model, "catboost") and _catboost_loss(model).startswith(_LOG_LOSSES):
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
    expectiles = _catboost_levels(model, ("Expectile",)) if belongs_to(model, "catboost") else ()
    if expectiles and expectiles != (0.5,):  # the 0.5 expectile is the mean
        return model, "expectile", expectiles[0]
    return next((found for part in parts(model) if (found := _off_centre(part))), None)


# ---- levels, by package --------------------------------------------------------------


def _sklearn_levels(model: Any, parameter: str) -> tuple[float, ...]:
    return (float(getattr(model, parameter)),) if model.loss == "quantile" else ()


def _xgboost_levels(model: Any) -> tuple[float, ...]:
    """Return the quantile levels that a model of XGBoost was trained for."""
    # The booster keeps the training objective, whatever was set or loaded since.
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    objective = json.loads(booster.save_config())["learner"]["objective"]
    if objective["name"] != "reg:quantileerror":
        return ()
    return tuple(json.loads(objective["quantile_loss_param"]["quantile_alpha"]))


def _lightgbm_levels(model: Any) -> tuple[float, ...]:
    """Return the quantile level that a model of LightGBM was trained for."""
    params = getattr(model, "booster_", model).params
    return (float(params.get("alpha", 0.9)),) if params.get("objective") == "quantile" else ()


def _catboost_levels(
    model: Any, losses: tuple[str, ...] = ("Quantile", "LogLinQuantile", "MultiQuantile")
) -> tuple[float, ...]:
    """Return the levels that a model of CatBoost was trained for with one of these losses."""
    name, _, rest = _catboost_loss(model).partition(":")
    if name not in losses:
        return ()
    given = dict(part.partition("=")[::2] for part in rest.split(";"))
    return tuple(float(level) for level in given.get("alpha", "0.5").split(","))


def read_catboost_uncertainty(model: Any, X: Any) -> Distribution | None:
    """Read the mean and variance of CatBoost's RMSEWithUncertainty."""
    if not belongs_to(model, "catboost") or _catboost_loss(model) != "RMSEWithUncertainty":
        return None
    # By default a model that was loaded from a file predicts the log of the standard deviation.
    mean, variance = model.predict(X, prediction_type="RMSEWithUncertainty").T
    return normal(mean, np.sqrt(variance))


def _catboost_loss(model: Any) -> str:
    """Return the loss of a fitted CatBoost model, with its parameters."""
    return str(model.get_all_params().get("loss_function", ""))


_LEVELS_OF: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "sklearn.ensemble._gb": lambda model: _sklearn_levels(model, "alpha"),
    "sklearn.ensemble._hist_gradient_boosting": lambda model: _sklearn_levels(model, "quantile"),
    "sklearn.linear_model._quantile": lambda model: (float(model.quantile),),
    "xgboost": _xgboost_levels,
    "lightgbm": _lightgbm_levels,
    "catboost": _catboost_levels,
}


def read_quantile_forest(model: Any, X: Any) -> Distribution | None:
    """Read a forest at its own levels if it has several, or else at `LEVELS`."""
    if not (belongs_to(model, "quantile_forest") and hasattr(model, "default_quantiles")):
        return None
    given = model.default_quantiles
    several = given is not None and not isinstance(given, str) and np.size(given) > 1
    levels = [float(level) for level in (given if several else LEVELS)]
    # The forest's default may be the mean or one quantile, so the levels are passed.
    return quantiles(model, levels, model.predict(X, quantiles=levels))


def read_tabpfn(model: Any, X: Any) -> Distribution | None:
    """Read the quantiles of TabPFN, run locally or by its client."""
    if not (belongs_to(model, "tabpfn", "tabpfn_client") and hasattr(model, "predict")):
        return None
    columns = model.predict(X, output_type="quantiles", quantiles=list(LEVELS))
    return quantiles(model, LEVELS, np.stack([np.asarray(c) for c in columns], axis=1))
