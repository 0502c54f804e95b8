"""Forecasts that go out, and where they are asked."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import trueline as tl
from tests.distributions.cases import BASES, FORMS

_BASES = [
    "normal",
    "student t, df by row",
    "laplace",
    "logistic",
    "point",
    "quantiles",
    "quantiles, tied",
    "samples",
    "mixture",
    "mixture of steps",
    "stacked",
]
_FORMS = ["as it is", "isotonic", "isotonic with atoms", "smooth"]

#: Every kind of forecast, as it is and recalibrated, by name.
ALL = [(base, form) for base in _BASES for form in _FORMS]
every_forecast = pytest.mark.parametrize("base, form", ALL, ids=[f"{b}, {f}" for b, f in ALL])

#: Levels that 40 calibration rows support, the median among them.
LEVELS = np.array([0.05, 0.1, 0.5, 0.77, 0.9])


def forecast(base: str, form: str) -> tl.Distribution:
    """Three rows of this kind."""
    return FORMS[form](BASES[base]())


def values(F: tl.Distribution) -> np.ndarray:
    """Values in the body of every row, and far out in both tails; (n, k)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        quantiles = F.ppf([0.01, 0.3, 0.5, 0.8, 0.99])
    width = np.maximum(quantiles[:, -1:] - quantiles[:, :1], 1.0)
    middle = quantiles[:, 2:3]
    return np.concatenate([middle - 40 * width, quantiles, middle + 40 * width], axis=1)
