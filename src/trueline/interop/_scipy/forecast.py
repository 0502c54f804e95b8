"""Forecasts with the formulas of ``scipy.stats``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.interop._external import External, as_rows

#: Names of the methods in scipy's newer distributions.
NEW_NAMES = {"ppf": "icdf", "isf": "iccdf", "sf": "ccdf", "logsf": "logccdf", "var": "variance"}


class ScipyForecast(External):
    """A family of ``scipy.stats`` with parameters of shape (n, 1)."""

    _kind: ClassVar[str] = "from scipy"

    def __init__(
        self,
        family: Callable[..., Any],
        parameters: Mapping[str, FloatArray],
        rows: int,
        names: Mapping[str, str],
    ) -> None:
        self.family = family
        self.parameters = dict(parameters)
        self._rows = rows
        self._names = names
        self._frozen = family(**self.parameters)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._rows

    def _select(self, rows: Rows) -> External:
        parameters = {name: p[rows] for name, p in self.parameters.items()}
        return ScipyForecast(self.family, parameters, len(rows), self._names)

    def _ask(self, name: str, *x: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            answer = getattr(self._frozen, self._names.get(name, name))(*x)
        return as_rows(answer, self._rows, x[0].shape[1] if x else 1)

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._ask("cdf", y)

    def _sf(self, y: FloatArray) -> FloatArray:
        return self._ask("sf", y)

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return self._ask("logcdf", y)

    def _logsf(self, y: FloatArray) -> FloatArray:
        return self._ask("logsf", y)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return self._ask("logpdf", y)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._ask("ppf", q)

    def _isf(self, q: FloatArray) -> FloatArray:
        return self._ask("isf", q)

    def _mean(self) -> FloatArray:
        return self._ask("mean")[:, 0]

    def _var(self) -> FloatArray:
        return self._ask("var")[:, 0]
