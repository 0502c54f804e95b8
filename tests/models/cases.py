"""Small models and rows that tests share."""

import numpy as np

from trueline.models import (
    ConcreteDropoutGRURegressor,
    ConcreteDropoutRegressor,
    DeepEnsembleGRURegressor,
    DeepEnsembleRegressor,
    DropoutRegressor,
    GRURegressor,
)

SMALL = {"hidden": (16, 16), "max_epochs": 30, "learning_rate": 1e-2, "random_state": 0}


def small(cls, **params):
    """A model of little cost."""
    return cls(**{**SMALL, **params})


MODELS = [
    small(DropoutRegressor, dropout=0.1, n_samples=30),
    small(DeepEnsembleRegressor, n_members=2),
    small(ConcreteDropoutRegressor, n_samples=30),
    # One step, for rows of any number of features; longer sequences are in test_gru.
    small(GRURegressor, n_steps=1, dropout=0.1, input_dropout=0.0, n_samples=30),
    small(DeepEnsembleGRURegressor, n_steps=1, n_members=2),
    small(ConcreteDropoutGRURegressor, n_steps=1, n_samples=30),
]


def name(model):
    return type(model).__name__


def make_rows(n=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n)
