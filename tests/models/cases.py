"""Small models and rows that tests share."""

import numpy as np

from trueline.models import ConcreteDropoutRegressor, DeepEnsembleRegressor, DropoutRegressor

SMALL = {"hidden": (16, 16), "max_epochs": 30, "learning_rate": 1e-2, "random_state": 0}


def small(cls, **params):
    """A model of little cost."""
    return cls(**{**SMALL, **params})


MODELS = [
    small(DropoutRegressor, dropout=0.1, n_samples=30),
    small(DeepEnsembleRegressor, n_members=2),
    small(ConcreteDropoutRegressor, n_samples=30),
]


def name(model):
    return type(model).__name__


def make_rows(n=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n)
