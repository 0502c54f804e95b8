"""Models of CatBoost, LightGBM and XGBoost: their losses and predictions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from trueline.distributions import Distribution
from trueline.interop._reading import belongs_to, normal

# CatBoost trains these on the log scale. Its regressor undoes that for the last two, but not for
# a model that was loaded from a file.
_LOG_LOSSES = ("LogLinQuantile", "Poisson", "Tweedie")


def xgboost_levels(model: Any) -> tuple[float, ...]:
    """Return the quantile levels that a model of XGBoost was trained for."""
    # The booster keeps the training objective, whatever was set or loaded since.
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    objective = json.loads(booster.save_config())["learner"]["objective"]
    if objective["name"] != "reg:quantileerror":
        return ()
    return tuple(json.loads(objective["quantile_loss_param"]["quantile_alpha"]))


def lightgbm_levels(model: Any) -> tuple[float, ...]:
    """Return the quantile level that a model of LightGBM was trained for."""
    params = getattr(model, "booster_", model).params
    return (float(params.get("alpha", 0.9)),) if params.get("objective") == "quantile" else ()


def catboost_levels(
    model: Any, losses: tuple[str, ...] = ("Quantile", "LogLinQuantile", "MultiQuantile")
) -> tuple[float, ...]:
    """Return the levels that a model of CatBoost was trained for with one of these losses."""
    name, _, rest = _catboost_loss(model).partition(":")
    if name not in losses:
        return ()
    given = dict(part.partition("=")[::2] for part in rest.split(";"))
    return tuple(float(level) for level in given.get("alpha", "0.5").split(","))


def catboost_expectiles(model: Any) -> tuple[float, ...]:
    """Return the level of the expectile that a model was trained for, if it is of CatBoost."""
    return catboost_levels(model, ("Expectile",)) if belongs_to(model, "catboost") else ()


def trained_on_logs(model: Any) -> bool:
    """Whether it is a model of CatBoost whose raw predictions are logarithms of y."""
    return belongs_to(model, "catboost") and _catboost_loss(model).startswith(_LOG_LOSSES)


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
