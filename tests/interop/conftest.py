"""Data that the tests of readers share."""

import numpy as np
import pytest


@pytest.fixture
def rows():
    """A small heteroscedastic problem: X (120, 3) and y."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = X @ [2.0, -1.0, 0.0] + np.exp(0.5 * X[:, 2]) * rng.normal(size=120)
    return X, y
