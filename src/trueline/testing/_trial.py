"""Uniform use of a recalibrator, whatever arguments and optional methods it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.recalibration import Recalibrator
from trueline.testing._require import require, require_all, require_same
from trueline.testing._rows import Forecast, Rows, make_rows

Results = dict[str, FloatArray]


class Trial:
    """A recalibrator, a kind of forecast to try it on, and its optional methods."""

    def __init__(self, recalibrator: Recalibrator, base: Forecast, tolerance: float) -> None:
        self.recalibrator = recalibrator
        self.base = base
        self.tolerance = tolerance
        self.rows = make_rows(base, 40)
        self.new = make_rows(base, 5, seed=1)
        self.weight = np.random.default_rng(2).integers(0, 4, size=len(self.rows.y))
        self.takes_features = recalibrator.needs_features
        self.takes_groups = recalibrator.needs_groups
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
        self,
        rows: Rows,
        sample_weight: NDArray[Any] | None = None,
        model: Recalibrator | None = None,
    ) -> Recalibrator:
        """Fit a copy, or this map."""
        model = self.blank() if model is None else model
        return model.fit(rows.y, rows.dist, sample_weight=sample_weight, **self._given(rows))

    def transform(self, fit: Recalibrator, rows: Rows) -> Distribution:
        """Recalibrate the forecasts of some rows."""
        dist = fit.transform(rows.dist, **self._given(rows))
        kind = type(dist).__name__
        fault = f"transform gives a {kind}; expected a trueline.Distribution"
        require(isinstance(dist, Distribution), fault)
        require(
            len(dist) == len(rows.dist), f"transform gives {len(dist)} of {len(rows.dist)} rows"
        )
        return dist

    @cached_property
    def unweighted(self) -> Results:
        """The outline of a map fitted on all rows."""
        return self.outline(self.fit(self.rows))

    @cached_property
    def weighted(self) -> Results:
        """The outline of a map fitted on all rows with their weights."""
        return self.outline(self.fit(self.rows, self.weight))

    def _given(self, rows: Rows) -> dict[str, Any]:
        given = {"groups": rows.groups} if self.takes_groups else {}
        return {**given, "X": rows.X} if self.takes_features else given

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

    def require_same(
        self, found: Results, expected: Results, fault: str, *, rounding: float = 0.0
    ) -> None:
        """Require two sets of results to be the same."""
        close = max(self.tolerance, rounding)
        for name, value in found.items():
            require_same(value, expected[name], f"{fault}: {name}", rtol=close, atol=close)

    def require_no_nan(self, fit: Recalibrator, rows: Rows, what: str) -> None:
        """Require that no result of some rows is NaN."""
        for name, value in self.outline(fit, rows).items():
            require_all(~np.isnan(value), f"{name} is NaN {what}", found=value)


def error_of(call: Callable[[], object]) -> Exception | None:
    """Return the error of a wrong call, or None if it raises none."""
    try:
        call()
    except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
        return error
    return None
