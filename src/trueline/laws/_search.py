"""Search in many knots, and solution of increasing equations, for many values at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri_exp

from trueline._validation import FloatArray

# Number of values that a law works on at a time, so that its temporaries stay in the cache.
_BLOCK = 1 << 14
# From this number of values on `locate` is faster than `searchsorted`.
_TOGETHER = 2048
# Largest number of levels in a call, and of calls, whose quantiles are cached.
_REMEMBERED = 64

# Neighbouring floats are 1.1e-16 to 2.2e-16 apart, so a smaller tolerance is never met. A normal
# score below fatol is 0, because a probability near 1/2 has no more digits.
_XRTOL = 3e-16
_FATOL = 1e-16
# Beyond this a bracket no longer grows: the root is beyond the largest float.
_LARGEST = 1e307

Method = TypeVar("Method", bound=Callable[..., Any])


def in_blocks(method: Method) -> Method:
    """Run an elementwise method on blocks of its first argument, so that temporaries stay small.

    The method returns one array or a tuple of arrays.
    """

    @wraps(method)
    def run(self: Any, z: FloatArray, *args: Any) -> Any:
        if z.size <= _BLOCK:
            return method(self, z, *args)
        flat = z.ravel()
        outs: list[FloatArray] = []
        several = False
        for start in range(0, flat.size, _BLOCK):
            results = method(self, flat[start : start + _BLOCK], *args)
            several = isinstance(results, tuple)
            results = results if several else (results,)
            outs = outs or [np.empty(flat.shape) for _ in results]
            for out, result in zip(outs, results, strict=True):
                out[start : start + _BLOCK] = result
        shaped = tuple(out.reshape(z.shape) for out in outs)
        return shaped if several else shaped[0]

    return cast(Method, run)


def remembered(ppf: Method) -> Method:
    """Cache the quantiles of a few levels, because callers ask for the same ones repeatedly."""

    @wraps(ppf)
    def run(self: Any, q: FloatArray) -> FloatArray:
        if q.size > _REMEMBERED:
            return cast(FloatArray, ppf(self, q))
        cache: dict[Any, FloatArray] = self.__dict__.setdefault("_quantiles", {})
        key = (q.shape, q.tobytes())
        found = cache.get(key)
        if found is None:
            if len(cache) >= _REMEMBERED:
                cache.clear()
            found = cache[key] = ppf(self, q)
        return found.copy()

    return cast(Method, run)


def locate(knots: FloatArray, z: FloatArray) -> NDArray[np.intp]:
    """Index of the last knot at or below each z, -1 where there is none."""
    if z.size < _TOGETHER:
        return np.searchsorted(knots, z, side="right") - 1
    # A binary search of all values at once has no branches, which the processor would mispredict
    # at every other step, and waits for many reads of memory at a time (benchmarks/core.py).
    below = np.zeros(z.shape, dtype=np.intp)
    rest = knots.size  # each z has between `below` and `below + rest` knots at or below it
    while rest > 1:
        half = rest // 2
        below += half * (knots.take(below + (half - 1)) <= z)
        rest -= half
    below += knots.take(below) <= z
    below -= 1
    return below


def normal_score(logcdf: FloatArray, logsf: FloatArray) -> FloatArray:
    """Standard normal quantile of a probability, computed from the smaller tail."""
    lower = logcdf < logsf
    score = ndtri_exp(np.where(lower, logcdf, logsf))
    return np.where(lower, score, -score)


def solve_increasing(
    f: Callable[..., FloatArray],
    lower: FloatArray,
    upper: FloatArray,
    args: tuple[NDArray[Any], ...] = (),
) -> FloatArray:
    """Root of an increasing elementwise f(x, *args), from a bracket that may be a little off.

    Chandrupatla's method on all elements at once, to the last digit of x. The result is the
    upper side of the jump where f jumps over zero, and infinite where no float is a root.
    """
    from scipy.optimize.elementwise import bracket_root, find_root

    # Round-off can put the root just outside an analytic bracket, and a bracket of no width
    # cannot grow, so the bracket is widened first.
    width = np.maximum(upper - lower, 1e-9 * (np.abs(lower) + np.abs(upper)) + 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        found = bracket_root(f, lower - 1e-3 * width, upper + 1e-3 * width, args=args, maxiter=1100)
        root = find_root(
            f,
            found.bracket,
            args=args,
            tolerances={"xatol": 0.0, "xrtol": _XRTOL, "fatol": _FATOL, "frtol": 0.0},
            maxiter=200,
        )
        x = np.where(root.f_x < -_FATOL, root.bracket[1], root.x)
        lost = ~(np.abs(x) < _LARGEST)
        if lost.any():
            x[lost] = np.where(f(upper, *args)[lost] < 0, np.inf, -np.inf)
    return x


def count_in_rows(values: FloatArray, y: FloatArray, *, strict: bool = False) -> NDArray[np.intp]:
    """Number of values at or below y, or below y if strict, in each row; rows are sorted."""
    n, m = values.shape
    flat = values.ravel()
    start = (np.arange(n) * m - 1)[:, None]
    count = np.zeros(np.broadcast_shapes(y.shape, (n, 1)), dtype=np.intp)
    step = 1 << (m.bit_length() - 1)
    while step:
        probe = count + step
        value = flat[start + np.minimum(probe, m)]
        passed = (value < y) if strict else (value <= y)
        passed &= probe <= m
        count += step * passed
        step >>= 1
    return count
