"""Roots of an increasing function of each row, at several targets per row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray, Rows
from trueline.laws import count_in_rows

# Number of values per evaluation. The arrays of a block stay in the cache, and laws with knots
# search a block of this size without sorting it.
_BLOCK = 4000
# A difference of this size, times 1 + |target|, is a rounding error of a score.
_ROUNDING = 1e-15
# A root at 0 is found to this share of the values around it.
_FLOOR = 1e-19
# Number of steps in which a bracket must shrink to half; otherwise a bisection follows.
_PATIENCE = 6
# Limits on the number of steps and of extensions of a bracket, which only jumps and roots beyond
# the largest float come near.
_STEPS = 400
_EXTENSIONS = 600
# Beyond this value a root counts as infinite.
_LARGEST = 1e307


class Rowwise(Protocol):
    """Rows that can be selected."""

    def _take(self, rows: Rows) -> Self: ...


D = TypeVar("D", bound=Rowwise)
Function = Callable[[D, FloatArray], FloatArray]


class _Lanes:
    """Brackets of roots, (r, k) each; some of them are finished."""

    def __init__(self, rows: Rows, place: Rows, arrays: FloatArray) -> None:
        #: Row of the block, (r,), and position in the flat result, (r, k).
        self.rows, self.place = rows, place
        self.arrays = arrays
        #: Ends of the bracket, the function less its target there (which a step may scale down),
        #: the target, the end that moved last (-1, 1, or 0 for none), the width some steps ago,
        #: the width at which the bracket is closed, for roots at 0, and whether the function is
        #: known to have no jumps and flat pieces inside.
        self.a, self.b, self.fa, self.fb = arrays[:4]
        self.target, self.moved, self.width, self.floor, self.smooth = arrays[4:]

    def packed(self, active: NDArray[np.bool_]) -> tuple[_Lanes, NDArray[np.bool_]]:
        """Return the active brackets in few rows and columns, and which of these are active."""
        count = active.sum(axis=1)
        kept = np.flatnonzero(count)
        order = np.argsort(~active[kept], axis=1, kind="stable")[:, : count.max()]
        arrays = np.take_along_axis(self.arrays[:, kept], order[None], axis=2)
        place = np.take_along_axis(self.place[kept], order, axis=1)
        still = np.take_along_axis(active[kept], order, axis=1)
        return _Lanes(self.rows[kept], place, arrays), still

    def finish(
        self,
        now: NDArray[np.bool_],
        values: FloatArray,
        out: FloatArray,
        active: NDArray[np.bool_],
    ) -> None:
        """Write the values of the brackets that finish now."""
        out[self.place[now]] = values[now]
        active &= ~now

    def met(self, excess: FloatArray) -> NDArray[np.bool_]:
        """Whether a root is found: the function differs from its target by a rounding error."""
        met: NDArray[np.bool_] = np.abs(excess) <= _ROUNDING * (1.0 + np.abs(self.target))
        return met & (self.smooth > 0)

    def closed(self) -> NDArray[np.bool_]:
        """Whether no float lies between the ends."""
        return self.b - self.a <= self._gap()

    def _gap(self) -> FloatArray:
        return np.maximum(np.spacing(np.maximum(np.abs(self.a), np.abs(self.b))), self.floor)

    def next_values(self, step: int, breaks: FloatArray | None) -> FloatArray:
        """Return a value inside each bracket: the middle one of the breaks inside, if any."""
        a, b, gap = self.a, self.b, self._gap()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            x = b - (b - a) * (self.fb / (self.fb - self.fa))
        middle = a + 0.5 * (b - a)
        halve = ~np.isfinite(x)
        if step % _PATIENCE == 0:
            halve |= b - a > 0.5 * self.width
            np.subtract(b, a, out=self.width)
        x = np.where(halve, middle, x)
        if breaks is not None:
            first, stop = count_in_rows(breaks, a), count_in_rows(breaks, b, strict=True)
            inside = np.minimum((first + stop) // 2, breaks.shape[1] - 1)
            # Without breaks inside, b may be a jump: then the function is too small before it.
            x = np.where(self.smooth > 0, x, b)
            x = np.where(stop > first, np.take_along_axis(breaks, inside, axis=1), x)
            self.smooth[stop <= first] = 1.0
        x = np.clip(x, a + gap, b - gap)
        return np.where((x > a) & (x < b), x, middle)

    def update(self, x: FloatArray, fx: FloatArray) -> None:
        """Replace one end of each bracket; scale the other down if it stays once more."""
        for sign, moves, new, kept in (
            (1.0, fx >= 0, (self.b, self.fb), self.fa),
            (-1.0, ~(fx >= 0), (self.a, self.fa), self.fb),
        ):
            again = moves & (self.moved == sign)
            with np.errstate(invalid="ignore", divide="ignore"):
                share = 1.0 - fx / new[1]
            np.multiply(kept, np.where(share > 0, share, 0.5), out=kept, where=again)
            np.copyto(new[0], x, where=moves)
            np.copyto(new[1], fx, where=moves)
            np.copyto(self.moved, sign, where=moves)


def solve_rows(
    dist: D,
    f: Function[D],
    guesses: FloatArray,
    target: FloatArray,
    breaks: Callable[[D], FloatArray] | None = None,
) -> FloatArray:
    """Smallest y at which an increasing function of each row reaches its targets, (n, m).

    The function is tabulated at the guesses of a row, which gives every target a bracket. Steps
    of Anderson and Bjorck (1973, doi:10.1007/BF01951936) on all targets at once, and bisections
    where these fail, end when the function differs from its target by a rounding error, 1e-15
    times 1 + |target|, or when no float is left inside the bracket. Only unfinished targets are
    evaluated, and rows are selected anew only when half of the targets are finished, because
    that copies them.

    Parameters
    ----------
    dist : rows
    f : callable
        ``f(part, y)`` returns the values, (r, k), of the rows in `part` at y, (r, k).
    guesses : (n, g) array
        Finite values, increasing in each row, near which the roots are expected.
    target : (1, m) or (n, m) array
        Infinite targets, and those that no float reaches, give infinite roots.
    breaks : callable, optional
        ``breaks(part)`` returns increasing values, (r, c), between which the function has no jumps
        and no flat pieces. The result is then the upper side of a jump and the first value of a
        flat piece; without breaks it may be any value of a flat piece.
    """
    n = len(guesses)
    if breaks is not None:
        # The level of a jump is a sum of weights, which may be rounded down.
        target = target - _ROUNDING * (1.0 + np.abs(target))
    target = np.broadcast_to(target, (n, target.shape[1]))
    root = np.array(target, order="C")
    size = max(1, _BLOCK // max(guesses.shape[1], target.shape[1]))
    for start in range(0, n, size):
        rows = np.arange(start, min(start + size, n))
        part = dist if len(rows) == n else dist._take(rows)
        block = slice(start, start + len(rows))
        if np.isfinite(target[block]).any():
            _solve_block(part, f, guesses[block], target[block], root[block], breaks)
    return root


def _solve_block(
    dist: D,
    f: Function[D],
    x: FloatArray,
    target: FloatArray,
    root: FloatArray,
    breaks: Callable[[D], FloatArray] | None,
) -> None:
    """Replace the finite elements of `root` by the roots of these targets."""
    active = np.isfinite(target)
    lanes = _bracketed(dist, f, x, target, active)
    out = root.reshape(-1)
    part = dist
    values = None if breaks is None else breaks(dist)
    if values is None:
        lanes.smooth[:] = 1.0
    for ends, excess in ((lanes.a, lanes.fa), (lanes.b, lanes.fb)):
        lanes.finish(active & lanes.met(excess), ends, out, active)
    for i in range(1, _STEPS + 1):
        lanes.finish(active & (lanes.closed() | (i == _STEPS)), lanes.b, out, active)
        left = np.count_nonzero(active)
        if not left:
            break
        if 2 * left < active.size:
            lanes, active = lanes.packed(active)
            part = dist._take(lanes.rows)
        searched = None if values is None or lanes.smooth.all() else values[lanes.rows]
        x = lanes.next_values(i, searched)
        fx = f(part, x) - lanes.target
        lanes.finish(active & lanes.met(fx), x, out, active)
        lanes.update(x, fx)


def _bracketed(
    dist: D, f: Function[D], x: FloatArray, target: FloatArray, active: NDArray[np.bool_]
) -> _Lanes:
    """Brackets from the function at the guesses x, extended where these are on one side."""
    table = np.maximum.accumulate(f(dist, x), axis=1)
    below = count_in_rows(table, target, strict=True)
    columns = [np.clip(below + i, 0, x.shape[1] - 1) for i in (-1, 0)]
    a, b = (np.take_along_axis(x, j, axis=1) for j in columns)
    with np.errstate(invalid="ignore"):
        fa, fb = (np.take_along_axis(table, j, axis=1) - target for j in columns)
    largest = np.abs(x).max(axis=1, keepdims=True)
    step = 1e-3 * (x[:, -1:] - x[:, :1]) + 1e-9 * largest + 1e-300
    for _ in range(_EXTENSIONS):
        low, high = active & (fa >= 0), active & (fb < 0)
        # A function that does not reach its target below the largest float has no finite root.
        low, high = low & (a > -_LARGEST), high & (b < _LARGEST)
        if not (low.any() or high.any()):
            break
        new = np.where(low, a - step, b + step)
        value = f(dist, new) - target
        for move, near, far in ((low, (a, fa), (b, fb)), (high, (b, fb), (a, fa))):
            for i, end in enumerate((new, value)):
                np.copyto(far[i], near[i], where=move)
                np.copyto(near[i], end, where=move)
        step = np.where(low | high, 4.0 * step, step)
    # Both ends of a bracket without a root become infinite, which closes it.
    for lost, infinite in ((active & (fa >= 0), -np.inf), (active & (fb < 0), np.inf)):
        a[lost] = b[lost] = infinite
    floor = np.broadcast_to(_FLOOR * largest, a.shape)
    zero = np.zeros_like(a)
    arrays = np.stack([a, b, fa, fb, target, zero, b - a, floor, zero])
    place = np.arange(target.size).reshape(target.shape)
    return _Lanes(np.arange(len(x)), place, arrays)
