"""Learners of quantiles: what they have in common, and gradient boosting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import (
    FloatArray,
    NotFittedError,
    RandomState,
    generator,
    increasing_levels,
    vector,
    weights,
)
from trueline.distributions import Quantiles
from trueline.features import as_features
from trueline.recalibration._shown import constructor_call

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

# Levels with a model of their own. More of them cost more and are not better.
_LEVELS = np.array([0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95])


@runtime_checkable
class QuantileLearner(Protocol):
    """An object that learns several quantiles of s given x."""

    def fit(self, X: FloatArray, s: FloatArray) -> Any:
        """Learn from features (n, d) and values (n,)."""

    def predict_quantiles(self, X: FloatArray, levels: FloatArray) -> FloatArray:
        """Return quantiles, (n, m)."""


@dataclass(eq=False, repr=False)
class QuantileBoosting:
    """Quantiles given x by gradient boosting of trees, one model for each of seven levels.

    The quantiles in between and outside are those of `trueline.Quantiles`: they are interpolated
    in normal scores. The models are scikit-learn's ``HistGradientBoostingRegressor``.

    Parameters
    ----------
    max_iter : int, default 60
        Number of trees of each model.
    max_leaf_nodes : int, default 8
        Largest number of leaves of a tree.
    learning_rate : float, default 0.1
        Share of each tree that is added.
    min_samples_leaf : int, default 10
        Smallest number of rows in a leaf.
    random_state : None, int or numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.recalibration import QuantileBoosting
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 1))
    >>> s = rng.normal(size=2000) * np.where(X[:, 0] < 0.5, 1.0, 5.0)
    >>> boosting = QuantileBoosting(random_state=0).fit(X, s)
    >>> low, high = boosting.predict_quantiles([[0.2], [0.8]], [0.1, 0.9]).T
    >>> bool(3.0 < (high - low)[1] / (high - low)[0] < 8.0)
    True
    """

    max_iter: int = 60
    max_leaf_nodes: int = 8
    learning_rate: float = 0.1
    min_samples_leaf: int = 10
    random_state: RandomState = None
    _models: list[HistGradientBoostingRegressor] = field(init=False)

    def __repr__(self) -> str:
        return constructor_call(self)

    def fit(self, X: ArrayLike, s: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the models.

        Parameters
        ----------
        X : (n, d) array-like
            Features; NaN stands for missing values.
        s : (n,) array-like
            Values to predict, finite.
        sample_weight : (n,) array-like, optional
        """
        from sklearn.ensemble import HistGradientBoostingRegressor

        features, target = as_features(X), vector(s, "s")
        w = weights(sample_weight, len(target))
        rng = generator(self.random_state)
        self._models = [
            HistGradientBoostingRegressor(
                loss="quantile",
                quantile=float(level),
                max_iter=self.max_iter,
                max_leaf_nodes=self.max_leaf_nodes,
                learning_rate=self.learning_rate,
                min_samples_leaf=self.min_samples_leaf,
                early_stopping=False,
                random_state=int(rng.integers(2**31)),
            ).fit(features, target, sample_weight=w)
            for level in _LEVELS
        ]
        return self

    def predict_quantiles(self, X: ArrayLike, levels: ArrayLike) -> FloatArray:
        """Return quantiles of rows with features X at increasing levels in (0, 1), (n, m)."""
        if not hasattr(self, "_models"):
            raise NotFittedError("QuantileBoosting is not fitted: call fit(X, s) first.")
        features = as_features(X)
        values = np.column_stack([model.predict(features) for model in self._models])
        values.sort(axis=1)  # the models do not know of each other
        return Quantiles(_LEVELS, values)._ppf(increasing_levels(levels, "levels")[None, :])
