"""Forecasts of every kind, with outcomes."""

import warnings

import numpy as np
import pytest

import trueline as tl
from trueline.distributions import RecalibratedLocationScale, Stacked
from trueline.laws import NormalLaw


def recalibrated(F, rng, digits=9):
    """The forecast with a law learned from 200 other rows."""
    base = F._take(np.zeros(200, dtype=np.intp))
    y = base.mean() + np.round(rng.normal(size=200), digits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most scores are tied, on purpose
        return tl.Isotonic().fit(y, base).transform(F)


def make(kind, rng, n):
    """Outcomes and a forecast of the given kind, neither perfect nor absurd."""
    loc, scale = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
    y = loc + scale * rng.normal(size=n)
    z = np.array([-1.2816, -0.5, 0.0, 0.5, 1.2816])
    kinds = {
        "normal": lambda: tl.Normal(loc, scale),
        "student": lambda: tl.StudentT(loc, scale, np.where(scale > 1, 3.0, 9.0)),
        "laplace": lambda: tl.Laplace(loc, scale),
        "logistic": lambda: tl.Logistic(loc, scale),
        "point": lambda: tl.Point(loc),
        "standardised": lambda: RecalibratedLocationScale(
            loc, scale, NormalLaw(0.3, 1.5), "standardised"
        ),
        "isotonic": lambda: recalibrated(tl.Normal(loc, 0.1 * scale), rng),
        "isotonic with ties": lambda: recalibrated(tl.Point(np.round(loc)), rng, digits=0),
        "stacked": lambda: Stacked(
            [tl.Normal(loc[::2], scale[::2]), tl.Laplace(loc[1::2], scale[1::2])],
            [np.arange(0, n, 2), np.arange(1, n, 2)],
        ),
        "samples": lambda: tl.Samples(loc[:, None] + scale[:, None] * rng.normal(size=(n, 20))),
        "quantiles": lambda: tl.Quantiles(
            [0.1, 0.3, 0.5, 0.7, 0.9], loc[:, None] + scale[:, None] * z
        ),
        "mixture": lambda: tl.Mixture([tl.Normal(loc - 1, scale), tl.Normal(loc + 1, scale)]),
    }
    return y, kinds[kind]()


KINDS = [
    "normal",
    "student",
    "laplace",
    "logistic",
    "point",
    "standardised",
    "isotonic",
    "isotonic with ties",
    "stacked",
    "samples",
    "quantiles",
    "mixture",
]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def case(kind):
    """Outcomes and forecast, 60 rows."""
    return make(kind, np.random.default_rng(7), 60)


@pytest.fixture
def three():
    """Three rows whose scores are known to many digits."""
    return np.array([1.5, 3.0, 2.0]), tl.Normal(loc=[1, 2, 3], scale=[0.1, 0.5, 1])
