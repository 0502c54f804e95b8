"""Fixtures for tests of distributions."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    """The same numbers in every test, whatever ran before."""
    return np.random.default_rng(0)
