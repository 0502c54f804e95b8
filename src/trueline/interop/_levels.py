"""For which quantiles a model was trained, and its predictions in the unit of the outcome."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from trueline._validation import FloatArray
from trueline.interop._reading import belongs_to, one_a_row

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


def _catboost_levels(
    model: Any, losses: tuple[str, ...] = ("Quantile", "LogLinQuantile", "MultiQuantile")
) -> tuple[float, ...]:
    name, _, rest = catboost_loss(model).partition(":")
    if name not in losses:
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


def off_middle(model: Any) -> tuple[Any, str, float] | None:
    """Return the part of a fitted model that aims beside the middle, at what, and the level.

    The average of models that were trained for the 0.9 quantile is no more a prediction of the
    middle than one of them. None if there is no such part, or none that is known.
    """
    levels = trained_levels(model) or ()
    if len(levels) == 1 and levels != (0.5,):  # the median alone is a point forecast
        return model, "quantile", levels[0]
    if belongs_to(model, "catboost"):
        expectiles = _catboost_levels(model, ("Expectile",))
        if expectiles and expectiles != (0.5,):  # the half expectile is the mean
            return model, "expectile", expectiles[0]
    return next((found for part in _parts(model) if (found := off_middle(part))), None)


def _parts(model: Any) -> Sequence[Any]:
    """Return the fitted models whose predictions a model of scikit-learn passes on or averages."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import (
        AdaBoostRegressor,
        BaggingRegressor,
        StackingRegressor,
        VotingRegressor,
    )
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    if isinstance(model, FrozenEstimator):
        return [model.estimator]
    if isinstance(model, Pipeline):
        return [model[-1]]
    if isinstance(model, AdaBoostRegressor | BaggingRegressor | VotingRegressor):
        members: Sequence[Any] = model.estimators_
        # But for voting, the others are copies of the first.
        return members if isinstance(model, VotingRegressor) else members[:1]
    if isinstance(model, TransformedTargetRegressor):
        return [model.regressor_]
    last = "final_estimator_" if isinstance(model, StackingRegressor) else "best_estimator_"
    return [getattr(model, last)] if hasattr(model, last) else []


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
