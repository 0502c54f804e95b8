"""Regressors of skpro."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueline.distributions import Distribution
from trueline.interop._as_distribution import as_distribution
from trueline.interop._reading import LEVELS, belongs_to, quantiles

# Distributions of skpro that have no density but are continuous outcomes all the same.
_BY_QUANTILES = ("Empirical", "QPD_Empirical", "TransformedDistribution")


def read_skpro(model: Any, X: Any) -> Distribution | None:
    """Read the distributions of a regressor, or its quantiles if they have no density."""
    if not (belongs_to(model, "skpro") and hasattr(model, "predict_proba")):
        return None
    dist = model.predict_proba(X)
    try:
        return as_distribution(dist)
    except TypeError:
        if type(dist).__name__ not in _BY_QUANTILES:
            raise
    # A regressor with levels of its own, such as MultipleQuantileRegressor, has steps in between.
    given = getattr(model, "alpha", None)
    levels = list(LEVELS if given is None or np.size(given) < 2 else given)
    return quantiles(model, levels, model.predict_quantiles(X, alpha=levels))
