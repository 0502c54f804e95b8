"""Models of other packages, none of which is imported here.

A model can only come from a program that has imported its package, so that its class says enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueline.distributions import Distribution
from trueline.interop import as_distribution
from trueline.interop._levels import catboost_loss, off_middle, prediction, trained_levels
from trueline.interop._reading import LEVELS, belongs_to, normal, quantiles

# Laws of skpro without a density, which are no counts all the same.
_SKPRO_BY_QUANTILES = ("Empirical", "QPD_Empirical", "TransformedDistribution")


def read_ngboost(model: Any, X: Any) -> Distribution | None:
    """NGBoost: whatever family it was trained with."""
    if not (belongs_to(model, "ngboost") and hasattr(model, "pred_dist")):
        return None
    return as_distribution(model.pred_dist(X))


def read_catboost_uncertainty(model: Any, X: Any) -> Distribution | None:
    """CatBoost's RMSEWithUncertainty: a mean and a variance."""
    if not belongs_to(model, "catboost") or catboost_loss(model) != "RMSEWithUncertainty":
        return None
    # Asked for by name: a model that was loaded from a file gives the log of the standard
    # deviation by default.
    mean, variance = model.predict(X, prediction_type="RMSEWithUncertainty").T
    return normal(mean, np.sqrt(variance))


def read_quantile_loss(model: Any, X: Any) -> Distribution | None:
    """Models trained for quantiles: XGBoost, LightGBM, CatBoost and scikit-learn's."""
    found = off_middle(model)
    if found is not None:
        raise ValueError(_says_one_level(model, *found))
    levels = trained_levels(model)
    if not levels or len(levels) == 1:  # the median alone is a point forecast
        return None
    return quantiles(model, levels, prediction(model, X))


def _says_one_level(model: Any, part: Any, what: str, level: float) -> str:
    name = type(part).__name__
    where = "" if part is model else f", in the {type(model).__name__},"
    return (
        f"{name}{where} was trained for one {what}, the {level:g}; expected several levels, the "
        f"median or the mean, because one {what} says nothing of the spread, and is no prediction "
        f"of the middle either. Train one a level: "
        f"trueline.estimators.PerLevel({name}(...), levels=[0.05, 0.5, 0.95])."
    )


def read_quantile_forest(model: Any, X: Any) -> Distribution | None:
    """Forests of quantile-forest, at the levels that they were given, or else at `LEVELS`."""
    if not (belongs_to(model, "quantile_forest") and hasattr(model, "default_quantiles")):
        return None
    given = model.default_quantiles
    several = given is not None and not isinstance(given, str) and np.size(given) > 1
    levels = [float(level) for level in (given if several else LEVELS)]
    # By name, whatever the forest's default is: the median, or the mean.
    return quantiles(model, levels, model.predict(X, quantiles=levels))


def read_tabpfn(model: Any, X: Any) -> Distribution | None:
    """TabPFN, here or by its client: quantiles of its law on bars."""
    if not (belongs_to(model, "tabpfn", "tabpfn_client") and hasattr(model, "predict")):
        return None
    columns = model.predict(X, output_type="quantiles", quantiles=list(LEVELS))
    return quantiles(model, LEVELS, np.stack([np.asarray(c) for c in columns], axis=1))


def read_skpro(model: Any, X: Any) -> Distribution | None:
    """Regressors of skpro: their distributions, or quantiles of those that have no density."""
    if not (belongs_to(model, "skpro") and hasattr(model, "predict_proba")):
        return None
    dist = model.predict_proba(X)
    try:
        return as_distribution(dist)
    except TypeError:
        if type(dist).__name__ not in _SKPRO_BY_QUANTILES:
            raise
    # A regressor with levels of its own, such as MultipleQuantileRegressor, has steps in between.
    given = getattr(model, "alpha", None)
    levels = list(LEVELS if given is None or np.size(given) < 2 else given)
    return quantiles(model, levels, model.predict_quantiles(X, alpha=levels))
