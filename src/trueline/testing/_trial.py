"""Simulated rows, and uniform use of a recalibrator on them, whatever optional methods it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
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
from trueline.recalibration import Recalibrator
from trueline.testing._require import require, require_all, require_same

Results = dict[str, FloatArray]
Forecast = Callable[[FloatArray, FloatArray, np.random.Generator], Distribution]

#: One forecast of each kind, from a centre and a width per row.
BASES: dict[str, Forecast] = {
    "Normal": lambda loc, scale, _: Normal(loc, scale),
    "StudentT": lambda loc, scale, _: StudentT(loc, scale, df=4.0),
    "Point": lambda loc, _scale, _: Point(loc),
    "Samples": lambda loc, scale, rng: Samples(
        loc[:, None] + scale[:, None] * rng.normal(size=(len(loc), 15))
    ),
    "Quantiles": lambda loc, scale, _: Quantiles(
        [0.05, 0.25, 0.5, 0.75, 0.95],
        loc[:, None] + scale[:, None] * np.array([-1.6, -0.7, 0, 0.8, 2.1]),
    ),
    "Mixture": lambda loc, scale, _: Mixture(
        [Normal(loc, scale), Logistic(loc + scale, 2.0 * scale)], [0.7, 0.3]
    ),
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


class Trial:
    """A recalibrator, a kind of forecast to try it on, and its optional methods."""

    def __init__(self, recalibrator: Recalibrator, base: Forecast, tolerance: float) -> None:
        self.recalibrator = recalibrator
        self.base = base
        self.tolerance = tolerance
        self.rows = make_rows(base, 40)
        self.new = make_rows(base, 5, seed=1)
        self.weight = np.random.default_rng(2).integers(0, 4, size=len(self.rows.y))
        fit = self.fit(self.rows)
        self.merges = self._able("merge", lambda: fit.merge(self.fit(self.rows)))
        self.compresses = self._able("compress", lambda: fit.compress(10))
        self.writes = self._able("to_json", fit.to_json)

    def _able(self, what: str, use: Callable[[], object]) -> bool:
        """Return whether an optional method works; a refusal must name the class."""
        try:
            use()
        except (TypeError, NotImplementedError) as error:
            self.require_refusal(what, error)
            return False
        return True

    def require_refusal(self, what: str, error: Exception) -> None:
        """Require that the message of a refusal names the class."""
        fault = f"{what} is refused without saying whose it is and why: {error!r}"
        require(type(self.recalibrator).__name__ in str(error), fault)

    def blank(self) -> Recalibrator:
        """Return an unfitted copy with the same parameters."""
        return type(self.recalibrator)(**self.recalibrator.get_params(deep=False))

    def fit(
        self, rows: Rows, sample_weight: Any = None, model: Recalibrator | None = None
    ) -> Recalibrator:
        """Fit a copy, or this map."""
        model = self.blank() if model is None else model
        return model.fit(rows.y, rows.dist, sample_weight=sample_weight, **self._given(rows))

    def transform(self, fit: Recalibrator, rows: Rows) -> Distribution:
        """Recalibrate the forecasts of some rows."""
        dist = fit.transform(rows.dist, **self._given(rows))
        fault = f"transform gives a {type(dist).__name__}; expected a trueline.Distribution"
        require(isinstance(dist, Distribution), fault)
        n = len(rows.dist)
        require(len(dist) == n, f"transform gives {len(dist)} of {n} rows")
        return dist

    @cached_property
    def unweighted(self) -> Results:
        """The outline of a map fitted on all rows."""
        return self.outline(self.fit(self.rows))

    @cached_property
    def weighted(self) -> Recalibrator:
        """A map fitted on all rows with their weights."""
        return self.fit(self.rows, self.weight)

    def _given(self, rows: Rows) -> dict[str, Any]:
        given = {"groups": rows.groups} if self.recalibrator.needs_groups else {}
        return {**given, "X": rows.X} if self.recalibrator.needs_features else given

    def outline(self, fit: Recalibrator, rows: Rows | None = None) -> Results:
        """Return results for some rows that tell any two maps apart.

        Quantiles are left out: some forecasts need a root finder for them.
        """
        rows = self.new if rows is None else rows
        dist = self.transform(fit, rows)
        y = rows.y[:, None] + np.array([-20.0, -2.0, -0.7, 0.0, 0.4, 1.5, 15.0])
        return {name: getattr(dist, name)(y) for name in ("cdf", "logcdf", "logsf", "logpdf")}

    def state(self, fit: Recalibrator) -> Any:
        """Return the learned state, for comparison."""
        return fit.to_json() if self.writes else self.outline(fit)

    def require_same_state(self, found: Any, expected: Any, fault: str) -> None:
        """Require that the learned state has not changed."""
        if self.writes:
            require(found == expected, f"{fault}: its JSON differs")
        else:
            self.require_same(found, expected, fault)

    def require_map(
        self,
        found: Recalibrator,
        fault: str,
        expected: Recalibrator | None = None,
        rounding: float = 0.0,
    ) -> None:
        """Require that a map is the expected one, or that of all rows without weights."""
        outline = self.unweighted if expected is None else self.outline(expected)
        self.require_same(self.outline(found), outline, fault, rounding)

    def require_same(
        self, found: Results, expected: Results, fault: str, rounding: float = 0.0
    ) -> None:
        """Require two sets of results to be the same."""
        close = max(self.tolerance, rounding)
        for name, value in found.items():
            require_same(value, expected[name], f"{fault}: {name}", rtol=close, atol=close)

    def require_no_nan(self, fit: Recalibrator, rows: Rows, what: str) -> None:
        """Require that no result of some rows is NaN."""
        for name, value in self.outline(fit, rows).items():
            require_all(~np.isnan(value), f"{name} is NaN {what}", found=value)
