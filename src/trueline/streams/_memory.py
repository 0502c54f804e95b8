"""The scores that a stream keeps: those of its last rows, or of all rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.recalibration import ScoreRows, Scores
from trueline.recalibration._accumulator import State

#: Rows older than this many half-lives are dropped; together they weigh 2^-20 of all rows.
HALF_LIVES = 20
# Number of rows that may wait to be sorted in, however short the memory.
_WAITING = 1024
# A memory of all rows counts as renewed when it has grown by this factor.
_GROWN = 16


class Memory(ABC):
    """Scores of a stream."""

    kind: str  # the ``score_kind`` of the forecasts that they come from
    seen: int  # number of rows so far, kept or not

    @abstractmethod
    def add(self, s: FloatArray, w: FloatArray | None) -> None:
        """Add finite scores, in the order of the stream, and their positive weights."""

    @abstractmethod
    def scores(self) -> Scores:
        """Return the scores that are kept, sorted."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of rows that are kept."""

    @property
    @abstractmethod
    def span(self) -> float:
        """The largest number of rows that are kept."""

    @abstractmethod
    def effective_rows(self) -> float:
        """Kish's effective number of rows: (sum w)^2 / sum w^2."""

    def is_renewed(self, since: int) -> bool:
        """Whether most rows are newer than row number `since`."""
        if math.isinf(self.span):
            return self.seen >= _GROWN * since
        return self.seen - since >= self.span


class RecentRows(Memory):
    """The last rows, sorted, with weights that may fade with a half-life.

    New rows wait unsorted until the scores are needed. Then they are merged into the sorted rows,
    and rows that are too old are dropped.
    """

    def __init__(self, kind: str, span: int, half_life: float | None) -> None:
        self.kind = kind
        self.half_life = half_life
        self.seen = 0
        self._span = span
        # Sorted by score, ties by age; `_born` is the position of the row in the stream.
        self._values, self._weights = np.empty(0), np.empty(0)
        self._born = np.empty(0, dtype=np.int64)
        self._new: list[tuple[FloatArray, FloatArray | None]] = []
        self._waiting = 0

    @property
    def rows(self) -> int:
        return min(self.seen, self._span)

    @property
    def span(self) -> float:
        return self._span

    def add(self, s: FloatArray, w: FloatArray | None) -> None:
        self._new.append((s.copy(), w))
        self.seen += len(s)
        self._waiting += len(s)
        if self._waiting >= max(2 * self._span, _WAITING):
            # The waiting rows alone fill the memory, so the sorted rows are dropped.
            s, w = self._rest()
            self._values, self._weights = np.empty(0), np.empty(0)
            self._born = np.empty(0, dtype=np.int64)
            self._new, self._waiting = [(s.copy(), w.copy())], len(s)

    def _rest(self) -> tuple[FloatArray, FloatArray]:
        """Return scores and weights of the waiting rows that are kept, oldest first."""
        s = np.concatenate([s for s, _ in self._new])
        w = np.concatenate([np.ones(len(s)) if w is None else w for s, w in self._new])
        return s[-self._span :], w[-self._span :]

    def _sort_in(self) -> None:
        if not self._waiting:
            return
        s, w = self._rest()
        # A stable sort keeps the order of ties, so that sums of their weights do not depend on
        # when rows were sorted in. With weights of 1 any sort gives the same sums.
        plain = self.half_life is None and bool((w == 1.0).all())
        order = np.argsort(s, kind=None if plain else "stable")
        kept = self._born >= self.seen - self._span
        old = self._values[kept]
        at = np.searchsorted(old, s[order], side="right") + np.arange(len(s))
        born = np.arange(self.seen - len(s), self.seen)
        waits = np.ones(len(old) + len(s), dtype=bool)
        waits[at] = False
        self._values = _merged(waits, at, old, s[order])
        self._weights = _merged(waits, at, self._weights[kept], w[order])
        self._born = _merged(waits, at, self._born[kept], born[order])
        self._new, self._waiting = [], 0

    def _weighted(self) -> FloatArray:
        """Return the present weight of each sorted row."""
        self._sort_in()
        if self.half_life is None:
            return self._weights
        return self._weights * np.exp2((self._born - (self.seen - 1)) / self.half_life)

    def scores(self) -> Scores:
        w = self._weighted()
        s, given = self._values, self._weights
        if not w.min() > 0:  # a small weight may fade to 0
            s, given, w = s[w > 0], given[w > 0], w[w > 0]
        return Scores.of_sorted(self.kind, s, w, given)

    def effective_rows(self) -> float:
        w = self._weighted()
        w = w / w.max()
        return float(w.sum() ** 2 / (w @ w))

    def in_order(self) -> tuple[FloatArray, FloatArray]:
        """Return scores and weights of the rows that are kept, oldest first."""
        self._sort_in()
        order = np.argsort(self._born)
        return self._values[order], self._weights[order]

    def restore(self, seen: int, s: FloatArray, w: FloatArray | None) -> None:
        """Restore the rows of `in_order`, the last of which was row number `seen`."""
        self.seen = seen - len(s)
        self.add(s, w)


def _merged(
    waits: NDArray[np.bool_], at: NDArray[np.intp], old: NDArray[Any], new: NDArray[Any]
) -> NDArray[Any]:
    """Put the new values at their places, and the old values, in order, at the others."""
    out = np.empty(len(waits), dtype=old.dtype)
    out[waits] = old
    out[at] = new
    return out


class AllRows(Memory):
    """All rows, in the bounded memory of a `State`."""

    def __init__(self, state: State) -> None:
        self.kind = state.kind
        self.seen = 0
        self.total = self.squares = 0.0
        self._state = state

    @property
    def rows(self) -> int:
        return self.seen

    @property
    def span(self) -> float:
        return math.inf

    def add(self, s: FloatArray, w: FloatArray | None) -> None:
        self.seen += len(s)
        self.total += float(len(s) if w is None else w.sum())
        self.squares += float(len(s) if w is None else w @ w)
        self._state.add(ScoreRows.points(self.kind, s, w))

    def scores(self) -> Scores:
        return self._state.scores()

    def restore(self, seen: int, state: State, total: float, squares: float) -> None:
        """Restore the scores that were kept."""
        self.seen, self._state, self.total, self.squares = seen, state, total, squares

    def effective_rows(self) -> float:
        return self.total**2 / self.squares if 0 < self.squares < math.inf else 1.0
