"""Forecasts with the formulas of skpro."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.interop._external import External, as_rows

_HALF = np.array([[0.5]])


class SkproForecast(External):
    """A distribution of skpro with one column."""

    _kind: ClassVar[str] = "from skpro"
    _reach: ClassVar[float] = 6.0  # as for torch

    def __init__(self, dist: Any) -> None:
        self.dist = dist

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.dist)

    def _select(self, rows: Rows) -> External:
        return SkproForecast(self.dist.iloc[rows])

    def _ask(self, name: str, x: FloatArray) -> FloatArray:
        # skpro takes one value per row, and some of its classes do not select a row twice.
        out = np.empty((len(self), x.shape[1]))
        method = getattr(self.dist, name)
        with np.errstate(all="ignore"):
            for j in range(x.shape[1]):
                column = np.broadcast_to(x[:, j : j + 1], (len(self), 1))
                out[:, j] = np.asarray(method(column))[:, 0]
        return out

    def _cdf(self, y: FloatArray) -> FloatArray:
        p = self._ask("cdf", y)
        return np.where(np.isnan(p), y > self._ppf(_HALF), p)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            log = (
                self._ask("log_pdf", y)
                if "log_pdf" in skpro_exact(self.dist)
                else np.log(self._ask("pdf", y))
            )
        return np.where(np.isnan(log), -np.inf, log)

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._ask("ppf", q)

    def _moment(self, name: str) -> FloatArray:
        # skpro draws a sample if it has no formula.
        exact = name in skpro_exact(self.dist)
        moment = np.asarray(getattr(self.dist, name)()) if exact else np.nan
        return as_rows(moment, len(self), 1)[:, 0]

    def _mean(self) -> FloatArray:
        return self._moment("mean")

    def _var(self) -> FloatArray:
        return self._moment("var")


def skpro_exact(dist: Any) -> list[str]:
    """Return the methods that skpro computes by a formula."""
    return dist.get_tag("capabilities:exact", [], raise_error=False) or []
