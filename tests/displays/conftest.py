"""Figures that nobody sees, closed after each test."""

import matplotlib as mpl
import numpy as np
import pytest

import trueline as tl

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def rows():
    """Outcomes, a forecast that is twice too sure, and a true one."""
    rng = np.random.default_rng(3)
    loc, scale = rng.normal(size=500), rng.uniform(0.5, 1.5, 500)
    return rng.normal(loc, scale), tl.Normal(loc, 0.5 * scale), tl.Normal(loc, scale)
