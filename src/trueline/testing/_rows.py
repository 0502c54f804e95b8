"""Simulated rows to fit a recalibrator on, with forecasts of every kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.distributions import (
    Distribution,
    Logistic,
    Mixture,
    Normal,
    Point,
    Quantiles,
    Samples,
    StudentT,
)

Forecast = Callable[[FloatArray, FloatArray, np.random.Generator], Distribution]


def _samples(loc: FloatArray, scale: FloatArray, rng: np.random.Generator) -> Distribution:
    return Samples(loc[:, None] + scale[:, None] * rng.normal(size=(len(loc), 15)))


def _quantiles(loc: FloatArray, scale: FloatArray, _: np.random.Generator) -> Distribution:
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    return Quantiles(levels, loc[:, None] + scale[:, None] * np.array([-1.6, -0.7, 0, 0.8, 2.1]))


def _mixture(loc: FloatArray, scale: FloatArray, _: np.random.Generator) -> Distribution:
    return Mixture([Normal(loc, scale), Logistic(loc + scale, 2.0 * scale)], [0.7, 0.3])


#: One forecast of each kind, from a centre and a width per row.
BASES: dict[str, Forecast] = {
    "Normal": lambda loc, scale, _: Normal(loc, scale),
    "StudentT": lambda loc, scale, _: StudentT(loc, scale, df=4.0),
    "Point": lambda loc, _scale, _: Point(loc),
    "Samples": _samples,
    "Quantiles": _quantiles,
    "Mixture": _mixture,
}


class Rows(NamedTuple):
    """Outcomes, forecasts, groups and features."""

    y: FloatArray
    dist: Distribution
    groups: NDArray[np.str_]
    X: FloatArray

    def take(self, index: Any) -> Rows:
        """Return some of the rows."""
        return Rows(self.y[index], self.dist[index], self.groups[index], self.X[index])


def make_rows(base: Forecast, n: int, seed: int = 0) -> Rows:
    """Simulate rows on which the forecast is biased and too narrow."""
    rng = np.random.default_rng(seed)
    loc, scale = 3.0 * rng.normal(size=n), np.exp(0.5 * rng.normal(size=n))
    y = loc + scale * (0.5 + 2.0 * rng.normal(size=n))
    dist = base(loc, 0.5 * scale, rng)
    groups = np.array(["a", "b", "c"])[rng.integers(3, size=n)]
    return Rows(y, dist, groups, np.column_stack([scale, rng.normal(size=n)]))
