"""Models of scikit-learn that are made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Innermost(NamedTuple):
    """The model that predicts, the X that it is called with, and whether a search chose it."""

    model: Any
    X: Any
    searched: bool


def innermost(model: Any, X: Any = None) -> Innermost:
    """Unwrap pipelines, searches and frozen estimators; X may be left out."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    searched = False
    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, Pipeline):
            if X is not None and len(model) > 1:
                X = model[:-1].transform(X)
            model = model[-1]
        elif hasattr(model, "best_estimator_"):
            model, searched = model.best_estimator_, True
        else:
            return Innermost(model, X, searched)


def parts(model: Any) -> Sequence[Any]:
    """Return the fitted models whose predictions a model passes on or averages."""
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
    if isinstance(model, VotingRegressor):
        voters: Sequence[Any] = model.estimators_
        return voters
    if isinstance(model, AdaBoostRegressor | BaggingRegressor):
        return [model.estimators_[0]]  # the others are copies of it
    if isinstance(model, TransformedTargetRegressor):
        return [model.regressor_]
    last = "final_estimator_" if isinstance(model, StackingRegressor) else "best_estimator_"
    return [getattr(model, last)] if hasattr(model, last) else []
