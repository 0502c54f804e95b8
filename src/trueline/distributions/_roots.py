"""Roots of an increasing function of each row, at several targets per row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray, Rows
from trueline.laws import count_in_rows

# Number of values per evaluation: large enough that the many steps of a few roots do not count.
_BLOCK = 1 << 15
# An excess of this size is a rounding error. A Newton step that does not change the value ends
# the search only if the excess is at most the second number.
ROUNDING = 1e-15
_NEARLY = 1e-12
# A root at 0 is found to this share of the width of its first bracket.
_FLOOR = 1e-19
# A Newton step follows another one if the excess has shrunk to this share. Jumps are searched for
# after some steps.
_FAST = 0.8
_SMOOTH_STEPS = 5
# Brackets are packed when no more than this share of them is unfinished.
_PACKED = 0.6
# Limits on the number of steps and of extensions of a bracket, which only jumps and roots beyond
# the largest float come near.
_STEPS = 400
_EXTENSIONS = 600
# Beyond this value a root counts as infinite.
_LARGEST = 1e307
# Relative excesses beyond this are logarithms of ratios, because tails are nearly exponential.
_LINEAR = 0.1


class Rowwise(Protocol):
    """Rows that can be selected."""

    def _take(self, rows: Rows) -> Self: ...


D = TypeVar("D", bound=Rowwise)
# Returns an increasing function of each row, and its slope.
Function = Callable[[D, FloatArray], tuple[FloatArray, FloatArray]]
# Returns values of the function, less the target, in a unit in which roots are found to 1e-15, and
# their slope.
Excess = Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
Mask = NDArray[np.bool_]


def scaled_excess(
    value: FloatArray, slope: FloatArray, target: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Difference from the target, in units of 1 + |target|."""
    unit = 1.0 + np.abs(target)
    with np.errstate(invalid="ignore"):  # a target that is not solved for is infinite
        return (value - target) / unit, slope / unit


def relative_excess(
    value: FloatArray, slope: FloatArray, target: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Relative difference from the target, which has the sign of the values and is not 0."""
    unit = np.abs(target)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = (value - target) / unit
        far = np.abs(excess) > _LINEAR
        if far.any():
            excess[far] = (np.sign(target) * np.log(value / target))[far]
            unit = np.where(far, np.abs(value), unit)
        return excess, slope / unit


class _Lanes:
    """Brackets of roots, (r, k) each; some of them are finished."""

    def __init__(self, rows: Rows, place: Rows, arrays: FloatArray) -> None:
        #: Row of the block, (r,), and position in the flat result, (r, k).
        self.rows, self.place = rows, place
        self.arrays = arrays
        #: Ends of the bracket, the excess there (NaN where unknown), the target, the next value,
        #: the width and the size of the excess one step ago, the width at which the bracket is
        #: closed, for roots at 0, and whether the upper end was searched for a jump.
        self.a, self.b, self.fa, self.fb, self.target, self.x = arrays[:6]
        self.width, self.size, self.floor, self.smooth = arrays[6:]

    def packed(self, active: Mask) -> tuple[_Lanes, Mask]:
        """Return the active brackets in few rows and columns, and which of these are active."""
        count = active.sum(axis=1)
        kept = np.flatnonzero(count)
        order = np.argsort(~active[kept], axis=1, kind="stable")[:, : count.max()]
        arrays = np.take_along_axis(self.arrays[:, kept], order[None], axis=2)
        place = np.take_along_axis(self.place[kept], order, axis=1)
        still = np.take_along_axis(active[kept], order, axis=1)
        return _Lanes(self.rows[kept], place, arrays), still

    def finish(self, now: Mask, values: FloatArray, out: FloatArray, active: Mask) -> None:
        """Write the values of the brackets that finish now."""
        out[self.place[now]] = values[now]
        active &= ~now

    def gap(self) -> FloatArray:
        """Width at which no float lies between the ends."""
        return np.maximum(np.spacing(np.maximum(np.abs(self.a), np.abs(self.b))), self.floor)

    def step(self, excess: FloatArray, slope: FloatArray) -> Mask:
        """Replace one end of each bracket by x, and x by the next value; return what is found.

        The next value is that of Newton, if it lies inside, or on the chord, or the middle.
        """
        x, above = self.x.copy(), excess >= 0
        for move, end, value in ((above, self.b, self.fb), (~above, self.a, self.fa)):
            np.copyto(end, x, where=move)
            np.copyto(value, excess, where=move)
        a, b = self.a, self.b
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            newton = x - excess / slope
            chord = b - (b - a) * (self.fb / (self.fb - self.fa))
        size = np.abs(excess)
        found: Mask = (size <= ROUNDING) | ((newton == x) & (size <= _NEARLY))
        width = b - a
        # A chord moves only one end if the function bends, so that every other one is halved.
        halved = (width > 0.5 * self.width) | ~((chord > a) & (chord < b))
        np.copyto(self.x, np.where(halved, a + 0.5 * width, chord))
        fast = (newton > a) & (newton < b) & (size < _FAST * self.size)
        np.copyto(self.x, newton, where=fast)
        np.copyto(self.width, width)
        np.copyto(self.size, size)
        return found

    def search_breaks(self, breaks: FloatArray, i: int) -> None:
        """Replace the next values by breaks inside the brackets; then look for a jump at b."""
        first, stop = count_in_rows(breaks, self.a), count_in_rows(breaks, self.b, strict=True)
        # The break nearest to the value is often the right one. The middle one bounds the steps.
        near = (first + stop) // 2 if i % 2 else count_in_rows(breaks, self.x)
        near = np.minimum(np.clip(near, first, np.maximum(stop - 1, first)), breaks.shape[1] - 1)
        inside = stop > first
        # If b is a jump, the function is too small before it.
        np.copyto(self.x, self.b - self.gap(), where=~inside & (self.smooth == 0))
        np.copyto(self.x, np.take_along_axis(breaks, near, axis=1), where=inside)
        self.smooth[~inside] = 1.0

    def keep_inside(self) -> None:
        """Move the next values away from the ends of the brackets."""
        gap = self.gap()
        x = np.minimum(np.maximum(self.x, self.a + gap), self.b - gap)
        middle = self.a + 0.5 * (self.b - self.a)
        np.copyto(self.x, np.where((x > self.a) & (x < self.b), x, middle))


def solve_rows(
    dist: D,
    f: Function[D],
    excess: Excess,
    guesses: FloatArray,
    target: FloatArray,
    breaks: Callable[[D], FloatArray] | None = None,
    *,
    enclosed: bool = False,
) -> FloatArray:
    """Smallest y at which an increasing function of each row reaches its targets, (n, m).

    The function is tabulated at the guesses of a row, which gives every target a bracket. Newton
    steps on all targets at once, and chords or bisections where these leave the bracket, end when
    the excess over the target is a rounding error, 1e-15, or when no float is left inside the
    bracket. A Newton step is exact once no kink lies between the value and the root. Only
    unfinished targets are evaluated, and rows are selected anew only when enough of the targets
    are finished, because that copies them.

    Parameters
    ----------
    dist : rows
    f : callable
        ``f(part, y)`` returns two arrays (r, k): the function and its slope for the rows in `part`
        at y, (r, k). A slope that is wrong or not finite costs more steps.
    excess : callable
        `scaled_excess` or `relative_excess`.
    guesses : (n, g) array
        Finite values, increasing in each row, near which the roots are expected.
    target : (1, m) or (n, m) array
        Infinite targets, and those that no float reaches, give infinite roots.
    breaks : callable, optional
        ``breaks(part)`` returns increasing values, (r, c), between which the function has no jumps.
        A root at a jump is then found in few steps.
    enclosed : bool, default False
        Whether the first and the last guess are known to have all roots between them, so that they
        need not be evaluated.
    """
    n = len(guesses)
    target = np.broadcast_to(target, (n, target.shape[1]))
    root = np.array(target, order="C")
    size = max(1, _BLOCK // max(guesses.shape[1], target.shape[1]))
    for start in range(0, n, size):
        rows = np.arange(start, min(start + size, n))
        part = dist if len(rows) == n else dist._take(rows)
        block = slice(start, start + len(rows))
        active = np.isfinite(target[block])
        if active.any():
            solver = _Solver(part, f, excess, breaks)
            lanes = solver.bracketed(guesses[block], target[block], active, enclosed)
            solver.solve(lanes, active, root[block].reshape(-1))
    return root


class _Solver(Generic[D]):
    """Roots of a block of rows."""

    def __init__(
        self,
        dist: D,
        f: Function[D],
        excess: Excess,
        breaks: Callable[[D], FloatArray] | None,
    ) -> None:
        self.dist, self.f, self.excess, self.breaks = dist, f, excess, breaks

    def solve(self, lanes: _Lanes, active: Mask, out: FloatArray) -> None:
        """Replace the elements of `out` at active brackets by the roots."""
        part, known, jumps = self.dist, lanes.rows, None
        for i in range(1, _STEPS + 1):
            closed = ~(lanes.b - lanes.a > lanes.gap()) | (i == _STEPS)
            lanes.finish(active & closed, lanes.b, out, active)
            left = np.count_nonzero(active)
            if not left:
                break
            if left <= _PACKED * active.size:
                lanes, active = lanes.packed(active)
                part = self.dist._take(lanes.rows)
            if self.breaks is not None and i > _SMOOTH_STEPS and not lanes.smooth.all():
                if jumps is None:
                    known, jumps = lanes.rows, self.breaks(part)
                lanes.search_breaks(jumps[np.searchsorted(known, lanes.rows)], i)
            lanes.keep_inside()
            x = lanes.x.copy()
            found = lanes.step(*self.excess(*self.f(part, x), lanes.target))
            lanes.finish(active & found, x, out, active)

    def bracketed(self, x: FloatArray, target: FloatArray, active: Mask, enclosed: bool) -> _Lanes:
        """Brackets from the function at the guesses x, extended where these are on one side."""
        inner = x[:, 1:-1] if enclosed else x
        table, slopes = self.f(self.dist, inner)
        table = np.maximum.accumulate(table, axis=1)
        below = count_in_rows(table, target, strict=True)
        if enclosed:
            # The function at the outer ends is not known and not needed.
            table, slopes = (
                np.pad(a, ((0, 0), (1, 1)), constant_values=np.nan) for a in (table, slopes)
            )
            below += 1
        columns = [np.clip(below + i, 0, x.shape[1] - 1) for i in (-1, 0)]
        (a, value_a, slope_a), (b, value_b, slope_b) = (
            [np.take_along_axis(array, j, axis=1) for array in (x, table, slopes)] for j in columns
        )
        fa, slope_a = self.excess(value_a, slope_a, target)
        fb, slope_b = self.excess(value_b, slope_b, target)
        if not enclosed:
            self._extend(x, (a, b), (fa, fb), target, active)
        with np.errstate(invalid="ignore", divide="ignore"):
            start = b - (b - a) * (fb / (fb - fa))
            newton = np.where(np.isnan(fa), b - fb / slope_b, a - fa / slope_a)
            width = b - a
        for other in (newton, a + 0.5 * width):
            np.copyto(start, other, where=~((start > a) & (start < b)))
        endless, zero = np.full_like(a, np.inf), np.zeros_like(a)
        arrays = np.stack([a, b, fa, fb, target, start, width, endless, _FLOOR * width, zero])
        place = np.arange(target.size).reshape(target.shape)
        return _Lanes(np.arange(len(a)), place, arrays)

    def _extend(
        self,
        x: FloatArray,
        ends: tuple[FloatArray, FloatArray],
        excess: tuple[FloatArray, FloatArray],
        target: FloatArray,
        active: Mask,
    ) -> None:
        """Move the ends of brackets without a root outwards until they have one."""
        (a, b), (fa, fb) = ends, excess
        largest = np.abs(x).max(axis=1, keepdims=True)
        step = 1e-3 * (x[:, -1:] - x[:, :1]) + 1e-9 * largest + 1e-300
        for _ in range(_EXTENSIONS):
            low, high = active & (fa >= 0), active & (fb < 0)
            # A function that does not reach its target below the largest float has no finite root.
            low, high = low & (a > -_LARGEST), high & (b < _LARGEST)
            if not (low.any() or high.any()):
                break
            new = np.where(low, a - step, b + step)
            value = self.excess(*self.f(self.dist, new), target)[0]
            for move, near, far in ((low, (a, fa), (b, fb)), (high, (b, fb), (a, fa))):
                for i, end in enumerate((new, value)):
                    np.copyto(far[i], near[i], where=move)
                    np.copyto(near[i], end, where=move)
            step = np.where(low | high, 4.0 * step, step)
        # Both ends of a bracket without a root become infinite, which closes it.
        for lost, infinite in ((active & (fa >= 0), -np.inf), (active & (fb < 0), np.inf)):
            a[lost] = b[lost] = infinite
