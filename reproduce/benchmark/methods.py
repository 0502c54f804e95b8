"""The models and the methods that the benchmark compares.

The settings were fixed before any test row was seen, and are the same for all data sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import BayesianRidge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from trueline.estimators import CalibratedRegressor


def _boosting(seed: int) -> Any:
    return HistGradientBoostingRegressor(random_state=seed)


def _forest(seed: int) -> Any:
    return RandomForestRegressor(200, min_samples_leaf=3, random_state=seed)


def _linear(_: int) -> Any:
    return make_pipeline(StandardScaler(), BayesianRidge())


def _network(seed: int) -> Any:
    network = MLPRegressor((64, 64), early_stopping=True, random_state=seed)
    return TransformedTargetRegressor(
        make_pipeline(StandardScaler(), network), transformer=StandardScaler()
    )


#: Models by name; each takes a seed.
MODELS: Mapping[str, Callable[[int], Any]] = {
    "boosting": _boosting,
    "forest": _forest,
    "linear": _linear,
    "network": _network,
}

#: Methods by name: the arguments of `CalibratedRegressor`.
METHODS: Mapping[str, Mapping[str, Any]] = {
    "isotonic": {"method": "isotonic"},
    "auto": {"method": "auto"},
    "conditional": {"method": "conditional"},
    "IDR": {"method": "idr"},
}


def make(method: str, model: str, seed: int) -> CalibratedRegressor:
    """Return the unfitted regressor of a method and a model."""
    return CalibratedRegressor(MODELS[model](seed), random_state=seed, **METHODS[method])
