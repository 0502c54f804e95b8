"""Scores of any number of rows in bounded memory, whatever their order and however they are split.

Up to a limit of distinct values scores are kept as they are. Beyond, they are rounded to 16 bits of
mantissa, which moves no score by more than a share of 2^-17 (7.6e-6) of itself, and rows with the
same value are counted. Rounding depends on the score alone and counts add up, so merged parts equal
the whole to the last bit, except for sums of weights, which round.
"""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np

from trueline._validation import FloatArray
from trueline.recalibration._cells import Cells
from trueline.recalibration._rows import ScoreRows
from trueline.recalibration._scores import Exact, Scores, combine

#: Distinct scores that are kept as they are: 8 MiB of them.
LIMIT = 1 << 20
# Rows that wait unsorted, enough to show that more scores differ than are kept as they are. Sorting
# many at once costs less than merging what was sorted in parts.
_WAITING = LIMIT + (1 << 16)
_SMALLEST_BUFFER = 1 << 10
# From this number of rows on, counting rounded scores in cells is faster than sorting them.
_COUNTED = 1 << 14
# A score from here on would round to infinity in a cell.
_LARGEST = np.ldexp(1.0, 1023)


class State:
    """Scores that more can be added to, and that merge.

    Parameters
    ----------
    kind : str
        The ``score_kind`` of the forecasts that the scores come from.
    limit : int, optional
        Number of distinct values up to which the scores are exact, by default 2^20.

    Examples
    --------
    >>> from trueline.recalibration import ScoreRows
    >>> from trueline.recalibration._state import State
    >>> state = State("residual")
    >>> state.add(ScoreRows.of_scores([2.0, 1.0], kind="residual"))
    >>> state.add(ScoreRows.of_scores([2.0], kind="residual"))
    >>> state.scores().values, state.scores().total
    (array([1., 2.]), 3.0)
    """

    def __init__(self, kind: str, limit: int | None = None) -> None:
        self.kind = kind
        self.limit = LIMIT if limit is None else limit
        self._sorted: Scores | None = None
        self._cells: Cells | None = None
        self._buffer = np.empty(0)
        self._weights: FloatArray | None = None
        self._held = 0

    @classmethod
    def of(cls, scores: Scores, limit: int | None = None) -> Self:
        """Return a state that holds some scores."""
        state = cls(scores.kind, limit)
        state._push(scores)
        return state

    def add(self, rows: ScoreRows) -> None:
        """Add rows with finite scores and positive weights."""
        if self._held + len(rows) <= _WAITING:
            self._wait(rows.lower, rows.weights)
        else:
            self._take(ScoreRows.concatenate([self._pop_waiting(), rows]))

    def merge(self, other: State) -> Self:
        """Return a state of both; neither changes."""
        merged = copy(self)
        merged._buffer = self._buffer.copy()
        merged._weights = None if self._weights is None else self._weights.copy()
        merged._cells = None if self._cells is None else self._cells.merge(Cells(1))
        if other._sorted is not None:
            merged._push(other._sorted)
        if other._cells is not None:
            mine = Cells(1) if merged._cells is None else merged._cells
            merged._cells = mine.merge(other._cells)
        if other._held:
            merged.add(other._waiting_rows())
        return merged

    def scores(self) -> Scores:
        """Return all scores, sorted; there must be at least one."""
        self._flush()
        if self._cells is not None:
            values, (weight,) = self._cells.filled()
            self._cells = None
            if len(values):
                self._push(Exact(self.kind, values, weight, rounded=True))
        if self._sorted is None:
            raise ValueError("a state holds no rows; expected at least one.")
        return self._sorted

    def __len__(self) -> int:
        """Return the number of waiting rows and distinct values."""
        counted = 0 if self._cells is None else len(self._cells)
        return self._held + counted + (0 if self._sorted is None else len(self._sorted.values))

    def _wait(self, s: FloatArray, w: FloatArray | None) -> None:
        """Copy rows to the buffer."""
        stop = self._held + len(s)
        if stop > self._buffer.size:
            size = min(max(4 * stop, _SMALLEST_BUFFER), max(_WAITING, stop))
            self._buffer = _longer(self._buffer, size)
            if self._weights is not None:
                self._weights = _longer(self._weights, size)
        if w is not None and self._weights is None:
            self._weights = np.ones(self._buffer.size)
        self._buffer[self._held : stop] = s
        if self._weights is not None:
            self._weights[self._held : stop] = 1.0 if w is None else w
        self._held = stop

    def _waiting_rows(self) -> ScoreRows:
        w = None if self._weights is None else self._weights[: self._held]
        return ScoreRows.points(self.kind, self._buffer[: self._held], w)

    def _pop_waiting(self) -> ScoreRows:
        rows = self._waiting_rows()
        self._buffer, self._weights, self._held = np.empty(0), None, 0
        return rows

    def _flush(self) -> None:
        if self._held:
            self._take(self._pop_waiting())

    def _take(self, rows: ScoreRows) -> None:
        """Sort rows, or count them in cells if scores are rounded; overwrites them."""
        rounded = self._cells is not None or (self._sorted is not None and self._sorted.rounded)
        if not rounded or len(rows) < _COUNTED:
            self._push(rows.sort())
            return
        s = rows.lower
        if max(-s.min(), s.max()) >= _LARGEST:
            near = np.abs(s) < _LARGEST
            self._push(rows.take(~near).sort())
            rows = rows.take(near)
        if self._cells is None:
            self._cells = Cells(1)
        self._cells.add(rows.lower, 1.0 if rows.weights is None else rows.weights)

    def _push(self, part: Scores) -> None:
        joined = part if self._sorted is None else combine(self._sorted, part)
        self._sorted = joined.round() if len(joined.values) > self.limit else joined


def _longer(a: FloatArray, size: int) -> FloatArray:
    return np.concatenate([a, np.empty(size - a.size)])
