"""The scores that a stream keeps: the last rows exactly, older rows in a sketch."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.streams._law import Sample
from trueline.streams._sketch import BLOCK, Sketch, View, fade

#: Number of rows up to which all are kept exactly.
EXACT = 1 << 12
#: The same for a window, whose rows all weigh the same.
EXACT_WINDOW = 1 << 13
#: Number of last rows that are kept exactly however long the stream, at least.
RECENT = 1 << 10
#: Rows older than this many half-lives are dropped; together they weigh 2^-20 of all rows.
HALF_LIVES = 20
# Up to this number of new rows each is moved to its place; beyond, all rows are merged.
_FEW = 16
# Weights are kept between these, so that sums of weights are finite and above 0.
_WEIGHTS = (1e-290, 1e290)


class Memory:
    """Scores of a stream with their weights, which may fade by one or several half-lives.

    Rows are kept in the order of the stream. A sorted copy is brought up to date when it is needed:
    a new row is put in its place, and a row that is dropped is taken out. Once there are `EXACT` +
    `BLOCK` rows, all but the last `RECENT` move to a `Sketch`, and from then on the oldest `BLOCK`
    of `RECENT` + `BLOCK` rows; unless fewer rows count (`is_short`).

    Parameters
    ----------
    kind : str
        The ``score_kind`` of the forecasts that scores come from.
    half_lives : (k,) array
        Half-lives, infinite for weights that do not fade.
    span : float
        Number of last rows that count, which may be infinite.
    """

    def __init__(self, kind: str, half_lives: FloatArray, span: float) -> None:
        self.kind = kind
        self.half_lives = half_lives
        self.span = span
        self.seen = 0  # number of rows so far, kept or not
        self.first = 0  # number of the oldest row that is kept exactly
        self.sketch = Sketch(half_lives, span)
        self.is_even = len(half_lives) == 1 and bool(np.isinf(half_lives[0]))  # nothing fades
        self.is_short = span <= (EXACT_WINDOW if self.is_even else EXACT)
        most = 2 * (int(span) if self.is_short else EXACT + BLOCK) + BLOCK
        self._values, self._given = np.empty(most), np.empty(most)
        self._start = self._stop = 0  # where the rows begin and end in these
        self._uneven = 0  # number of rows with a weight other than 1
        self._faded = _faded(tuple(half_lives.tolist()), most)
        self._view: View | None = None
        self._sorted = _Sorted()

    # ---- rows in the order of the stream ------------------------------------------------

    @property
    def recent(self) -> FloatArray:
        """Scores of the rows that are kept exactly, oldest first; not a copy."""
        return self._values[self._start : self._stop]

    @property
    def given(self) -> FloatArray:
        """Weights of these rows before they fade; not a copy."""
        return self._given[self._start : self._stop]

    def add(self, s: FloatArray, w: FloatArray | None) -> None:
        """Add finite scores, in the order of the stream, and their positive weights."""
        if self.is_short and len(s) > self.span:  # all but the last rows are dropped at once
            skipped = len(s) - int(self.span)
            self._drop(self.seen - self.first)
            self.seen = self.first = self.seen + skipped
            s, w = s[skipped:], None if w is None else w[skipped:]
        if w is not None:
            w = np.clip(w, *_WEIGHTS)
        for start in range(0, len(s), BLOCK):
            part = slice(start, start + BLOCK)
            self._append(s[part], None if w is None else w[part])

    def _append(self, s: FloatArray, w: FloatArray | None) -> None:
        if self._stop + len(s) > len(self._values):  # the older half has been dropped
            n = self._stop - self._start
            self._values[:n], self._given[:n] = self.recent.copy(), self.given.copy()
            self._start, self._stop = 0, n
        rows = slice(self._stop, self._stop + len(s))
        self._values[rows] = s
        self._given[rows] = 1.0 if w is None else w
        if w is not None:
            self._uneven += int(np.count_nonzero(w != 1.0))
        self._stop, self.seen = rows.stop, self.seen + len(s)
        if self.is_short:
            self._drop(max(self.seen - int(self.span) - self.first, 0))
        elif self.sketch.chunks or self.seen - self.first >= EXACT + BLOCK:
            while self.seen - self.first >= RECENT + BLOCK:
                last = self.first + BLOCK - 1
                self.sketch.add(self.recent[:BLOCK].copy(), self.given[:BLOCK].copy(), last)
                self._drop(BLOCK)
                self._view = None

    def _drop(self, rows: int) -> None:
        if rows and self._uneven:
            self._uneven -= int(np.count_nonzero(self.given[:rows] != 1.0))
        self._start, self.first = self._start + rows, self.first + rows

    def dropped(self, rows: int) -> FloatArray | None:
        """Return the scores of the rows that were dropped last; None if they are not there."""
        return self._values[self._start - rows : self._start] if rows <= self._start else None

    def forget(self, before: int) -> None:
        """Drop the rows before this number."""
        self.sketch.chunks = [chunk for chunk in self.sketch.chunks if chunk.last >= before]
        self._drop(max(before - self.first, 0))
        self._view, self._sorted = None, _Sorted()

    def restore(self, seen: int, s: FloatArray, w: FloatArray | None) -> None:
        """Restore the rows of `recent`, the last of which was row number `seen` - 1."""
        self.first = self.seen = seen - len(s)
        rows = slice(0, len(s))
        self._values[rows], self._given[rows] = s, 1.0 if w is None else w
        self._stop, self.seen = len(s), seen
        self._uneven = 0 if w is None else int(np.count_nonzero(w != 1.0))

    # ---- laws ---------------------------------------------------------------------------

    def view(self) -> View | None:
        """Return the older rows, with weights as they were when the last block moved there."""
        if self._view is None and self.sketch.chunks:
            self._view = self.sketch.view(self.first + RECENT - 1)
        return self._view

    def _older(self, view: View) -> FloatArray:
        """Return the factor of the older rows' weights now, for each half-life."""
        return self._faded[:, view.newest - self.seen]

    def sums(self, edges: FloatArray) -> FloatArray:
        """Return the weight between edges for each half-life, (k, m + 1)."""
        n = self.seen - self.first
        cells = np.arange(len(edges) + 1)[:, None]
        held = (edges.searchsorted(self.recent) == cells) * self.given
        total = np.asarray(self._faded[:, -n:] @ held.T)
        view = self.view()
        if view is not None:
            older = (edges.searchsorted(view.values) == cells).astype(np.float64)
            total += self._older(view)[:, None] * (view.weights @ older.T)
        return total

    def sample(self, mix: FloatArray) -> Sample:
        """Return the sorted scores; `mix` are factors of the weights for each half-life."""
        view = self.view()
        self._sorted.follow(self, view)
        x, slots = self._sorted.x.copy(), self._sorted.slots
        dropped = self.first - self._sorted.origin
        parts = [np.zeros(dropped)] if dropped else []
        if view is not None and self.is_even and view.is_even and not self._uneven:
            return Sample(self.kind, x, self._sorted.w.copy(), True, view.error)
        if view is None and self.is_even:
            w = np.concatenate([*parts, self.given]).take(slots) if self._uneven else None
            return Sample(self.kind, x, w, False, 0.0)
        w, total, squares = self._recent_weights(mix)
        parts.append(w)
        if view is not None:
            factor = mix * self._older(view)
            total += float(factor @ view.totals)
            squares += float(factor @ view.squares @ factor)
            parts = [_mixed(factor, view.weights), *parts]
        w = np.concatenate(parts)
        w *= total / squares
        # Slots are all within the array; without a check of each this is faster.
        w = w.take(slots, mode="clip")
        return Sample(self.kind, x, w, True, 0.0 if view is None else view.error)

    def _recent_weights(self, mix: FloatArray) -> tuple[FloatArray, float, float]:
        """Return the weights of the recent rows, their sum, and the sum of their squares."""
        faded = _mixed(mix, self._faded[:, self.first - self.seen :])
        w = faded * self.given if self._uneven else faded
        squares = float(w @ w)
        if self._uneven:  # a row with a weight below 1 is less than a row
            squares = max(squares, float(w @ faded))
        return w, float(w.sum()), squares


@lru_cache(maxsize=16)
def _faded(half_lives: tuple[float, ...], rows: int) -> FloatArray:
    """Return the weights of rows in the order of the stream for each half-life; the last is newest.

    Streams with the same half-lives share the array.
    """
    weights = fade(np.arange(rows - 1.0, -1.0, -1.0), np.array(half_lives))
    weights.flags.writeable = False
    return weights


def _mixed(mix: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted sum of the rows of an array."""
    return mix @ weights if len(mix) > 1 else mix[0] * weights[0]


class _Sorted:
    """Scores in increasing order; ties are in the order of the stream, after those of the view.

    The slot of a score is its place in an array of the scores of the view and of the rows from
    row number `origin` on.
    """

    def __init__(self) -> None:
        self._x, self._slots = np.empty(0), np.empty(0, dtype=np.intp)
        self._n = 0
        self.origin = self._first = self._stop = 0  # the rows from `_first` on are in it
        self._view: View | None = None
        self._older = 0
        # Weights, if there is a view and they are those of even rows, which stay as they are.
        self._w: FloatArray | None = None

    @property
    def w(self) -> FloatArray:
        return self._w[: self._n]  # type: ignore[index]  # asked for if they are there

    @property
    def x(self) -> FloatArray:
        return self._x[: self._n]

    @property
    def slots(self) -> NDArray[np.intp]:
        return self._slots[: self._n]

    def follow(self, memory: Memory, view: View | None) -> None:
        """Take in the rows that are new, and take out those that were dropped."""
        more, fewer = memory.seen - self._stop, memory.first - self._first
        dropped = memory.dropped(fewer) if max(more, fewer) <= _FEW else None
        many = self._stop < memory.first or memory.first - self.origin > EXACT
        if dropped is None or many or view is not self._view:
            self._merge(memory, view)
        else:
            if self._n + more > len(self._x):
                room = self._n + _FEW
                self._x = np.concatenate([self.x, np.empty(room)])
                self._slots = np.concatenate([self.slots, np.empty(room, dtype=np.intp)])
                self._w = None if self._w is None else np.concatenate([self.w, np.empty(room)])
            for row in range(self._stop, memory.seen):
                self._insert(memory.recent[row - memory.first], self._slot(row))
            for i, s in enumerate(dropped):
                self._delete(s, self._slot(self._first + i))
        self._first, self._stop = memory.first, memory.seen

    def _slot(self, row: int) -> int:
        return self._older + row - self.origin

    def _merge(self, memory: Memory, view: View | None) -> None:
        kept = self.slots >= self._slot(memory.first)
        new = max(self._stop, memory.first)
        older = 0 if view is None else len(view.values)
        move = self.origin - self._older - memory.first + older
        x = [self.x[kept], memory.recent[new - memory.first :]]
        slots = [self.slots[kept] + move, np.arange(new, memory.seen) - memory.first + older]
        if view is not None:
            x, slots = [view.values, *x], [np.arange(older), *slots]
        # The first parts are sorted, which a stable sort makes use of.
        order = np.argsort(joined := np.concatenate(x), kind="stable")
        self._x, self._slots, self._n = joined[order], np.concatenate(slots)[order], len(order)
        self._view, self._older, self.origin = view, older, memory.first
        self._w = None
        if view is not None and memory.is_even:
            self._w = np.append(view.weights[0], np.ones(memory.seen - memory.first))[self._slots]

    def _insert(self, s: float, slot: int) -> None:
        n = self._n
        i = int(self._x[:n].searchsorted(s, side="right"))
        self._x[i + 1 : n + 1] = self._x[i:n]
        self._slots[i + 1 : n + 1] = self._slots[i:n]
        self._x[i], self._slots[i] = s, slot
        if self._w is not None:
            self._w[i + 1 : n + 1] = self._w[i:n]
            self._w[i] = 1.0
        self._n = n + 1

    def _delete(self, s: float, slot: int) -> None:
        n = self._n
        i = int(self._x[:n].searchsorted(s))
        if self._slots[i] != slot:
            i += int(np.argmax(self._slots[i:n] == slot))
        self._x[i : n - 1] = self._x[i + 1 : n]
        self._slots[i : n - 1] = self._slots[i + 1 : n]
        self._n = n - 1
