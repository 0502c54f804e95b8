"""Quantiles of small upper probabilities, for forecasts that have no formula for them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.laws import solve_increasing

# Below this probability of the upper tail, 1 - q has too few digits to be inverted.
_SMALL = 1e-4
# Number of values of the upper tail that are searched for at a time.
_BLOCK = 1 << 16
# Replaces the infinite distance to a level that is never reached.
_FAR = 1e6


class Forecast(Protocol):
    """The methods of a distribution that the search uses."""

    def __len__(self) -> int: ...
    def _take(self, rows: Rows) -> Forecast: ...
    def _ppf(self, q: FloatArray) -> FloatArray: ...
    def _logsf(self, y: FloatArray) -> FloatArray: ...


def upper_quantiles(F: Forecast, q: FloatArray) -> FloatArray:
    """Return the smallest y with P(Y > y) at most q; q of shape (1, k) or (n, k)."""
    shape = (len(F), q.shape[1])
    target = np.broadcast_to(q, shape)
    y = np.array(np.broadcast_to(F._ppf(1.0 - np.maximum(q, _SMALL)), shape))
    small = target < _SMALL
    if small.any():
        rows = np.broadcast_to(np.arange(len(F))[:, None], shape)[small]
        width = np.maximum(y - F._ppf(np.array([[0.5]])), 0.0)[small]
        start, logs, found = y[small], np.log(target[small]), np.empty(rows.size)
        for i in range(0, rows.size, _BLOCK):
            part = slice(i, i + _BLOCK)
            found[part] = solve_increasing(
                lambda v, log, row: _excess(F, v, log, row),
                start[part],
                start[part] + width[part],
                args=(logs[part], rows[part]),
            )
        y[small] = found
    return y


def _excess(F: Forecast, y: FloatArray, log: FloatArray, rows: FloatArray) -> FloatArray:
    """Return by how much log P(Y > y) is below its target, each in its row; all (m,)."""
    part = F._take(rows.astype(np.intp))
    return np.clip(log - part._logsf(y[:, None])[:, 0], -_FAR, _FAR)
