"""For which quantiles a model was trained, and its predictions in the unit of the outcome."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from trueline._validation import FloatArray
from trueline.estimators._reading import belongs_to, one_a_row

# CatBoost trains these on the log scale. Its regressor undoes that for the last two, and for none
# of a model that was loaded from a file.
_LOG_LOSSES = ("LogLinQuantile", "Poisson", "Tweedie")


def trained_levels(model: Any) -> tuple[float, ...] | None:
    """Return the levels of a fitted model's loss, in the order of its columns.

    Empty if the loss is of another kind, such as the squared error, and None if the model is of a
    kind whose loss is not known.
    """
    for package, read in _LOSSES.items():
        if belongs_to(model, package):
            return read(model)
    return None


def _sklearn_levels(model: Any, level: str) -> tuple[float, ...]:
    return (float(getattr(model, level)),) if model.loss == "quantile" else ()


def _xgboost_levels(model: Any) -> tuple[float, ...]:
    # The booster knows what it was trained for, whatever was set or loaded since.
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    objective = json.loads(booster.save_config())["learner"]["objective"]
    if objective["name"] != "reg:quantileerror":
        return ()
    return tuple(json.loads(objective["quantile_loss_param"]["quantile_alpha"]))


def _lightgbm_levels(model: Any) -> tuple[float, ...]:
    params = getattr(model, "booster_", model).params
    return (float(params.get("alpha", 0.9)),) if params.get("objective") == "quantile" else ()


def _catboost_levels(model: Any) -> tuple[float, ...]:
    name, _, rest = catboost_loss(model).partition(":")
    if name not in ("Quantile", "LogLinQuantile", "MultiQuantile"):
        return ()
    given = dict(part.partition("=")[::2] for part in rest.split(";"))
    return tuple(float(level) for level in given.get("alpha", "0.5").split(","))


_LOSSES: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "sklearn.ensemble._gb": lambda model: _sklearn_levels(model, "alpha"),
    "sklearn.ensemble._hist_gradient_boosting": lambda model: _sklearn_levels(model, "quantile"),
    "sklearn.linear_model._quantile": lambda model: (float(model.quantile),),
    "xgboost": _xgboost_levels,
    "lightgbm": _lightgbm_levels,
    "catboost": _catboost_levels,
}


def catboost_loss(model: Any) -> str:
    """Return the loss of a fitted CatBoost model, with its parameters."""
    return str(model.get_all_params().get("loss_function", ""))


def prediction(model: Any, X: Any) -> Any:
    """Return what a model predicts, in the unit of y."""
    if belongs_to(model, "catboost") and catboost_loss(model).startswith(_LOG_LOSSES):
        return model.predict(X, prediction_type="Exponent")
    return model.predict(X)


def point_prediction(model: Any, X: Any) -> FloatArray:
    """Return one number a row, in the unit of y."""
    return one_a_row(model, prediction(model, X))
