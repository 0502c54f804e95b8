"""Forecasts with the formulas of ``torch.distributions``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from trueline._validation import FloatArray, Rows
from trueline.interop._external import External, as_rows
from trueline.laws import normal_score, solve_increasing

# A normal score beyond that of every probability in float64.
_FAR = 40.0


class TorchForecast(External):
    """A family of ``torch.distributions``, with a float64 tensor of shape (n, 1) each."""

    _kind: ClassVar[str] = "from torch"

    # The upper tail is 1 - CDF, which has fewer than seven digits beyond 6.
    _reach: ClassVar[float] = 6.0

    def __init__(
        self, family: Callable[..., Any], parameters: Mapping[str, Any], rows: int
    ) -> None:
        self.family = family
        self.parameters = dict(parameters)
        self._rows = rows
        # A validating distribution raises outside its support, where the density is 0.
        self._frozen = family(**self.parameters, validate_args=False)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._rows

    def _select(self, rows: Rows) -> External:
        index = np.ascontiguousarray(rows)  # as tensors require
        parameters = {name: p[index] for name, p in self.parameters.items()}
        return TorchForecast(self.family, parameters, len(rows))

    def _ask(self, name: str, x: FloatArray) -> FloatArray:
        with sys.modules["torch"].no_grad():
            answer = getattr(self._frozen, name)(_tensor(x))
        return as_rows(answer.numpy(), self._rows, x.shape[1])

    def _inside(self, y: FloatArray) -> FloatArray:
        check = self._frozen.support.check(_tensor(y))
        return as_rows(check.numpy(), self._rows, y.shape[1])

    def _cdf(self, y: FloatArray) -> FloatArray:
        above = y > as_rows(getattr(self._frozen.support, "lower_bound", -np.inf), self._rows, 1)
        return np.where(self._inside(y), self._ask("cdf", y), above)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return np.where(self._inside(y), self._ask("log_prob", y), -np.inf)

    def _ppf(self, q: FloatArray) -> FloatArray:
        try:
            return self._ask("icdf", q)
        except NotImplementedError:
            return self._solve(q)

    def _solve(self, q: FloatArray) -> FloatArray:
        """Return quantiles of a distribution without ``icdf``."""
        target = np.broadcast_to(ndtri(q), (self._rows, q.shape[1]))
        rows = np.broadcast_to(np.arange(self._rows)[:, None], target.shape)
        mean, width = self._mean()[:, None], np.sqrt(self._var())[:, None]
        mean, width = np.where(np.isfinite(mean), mean, 0.0), np.where(width > 0, width, 1.0)
        start = np.broadcast_to(mean, target.shape).ravel()
        reach = np.broadcast_to(np.where(np.isfinite(width), width, 1.0), target.shape).ravel()
        root = solve_increasing(
            self._normal_excess, start - reach, start + reach, args=(target.ravel(), rows.ravel())
        )
        return root.reshape(target.shape)

    def _normal_excess(self, y: FloatArray, target: FloatArray, rows: Rows) -> FloatArray:
        part, values = self._select(rows.astype(np.intp)), y[:, None]
        score = normal_score(part._logcdf(values), part._logsf(values))[:, 0]
        return np.clip(score, -_FAR, _FAR) - target  # finite outside the support

    def _moment(self, name: str) -> FloatArray:
        try:
            moment = getattr(self._frozen, name).numpy()
        except NotImplementedError:
            moment = np.nan
        return as_rows(moment, self._rows, 1)[:, 0]

    def _mean(self) -> FloatArray:
        return self._moment("mean")

    def _var(self) -> FloatArray:
        return self._moment("variance")


def _tensor(x: FloatArray) -> Any:
    return sys.modules["torch"].tensor(np.ascontiguousarray(x))
