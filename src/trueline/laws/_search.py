"""Searching knots, and solving increasing equations, for many values at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri_exp

from trueline._validation import FloatArray

# Beyond this many knots a random binary search misses the cache at every step, and sorting
# the queries first is several times faster (benchmarks/core.py).
_SORT_FROM = 4096


def locate(knots: FloatArray, z: FloatArray) -> NDArray[np.intp]:
    """Index of the last knot at or below each z; -1 where there is none."""
    if min(knots.size, z.size) < _SORT_FROM:
        return np.searchsorted(knots, z, side="right") - 1
    flat = z.ravel()
    order = np.argsort(flat)
    index = np.empty(flat.size, dtype=np.intp)
    found = np.searchsorted(knots, flat[order], side="right")
    found -= 1
    index[order] = found
    return index.reshape(z.shape)


def normal_score(logcdf: FloatArray, logsf: FloatArray) -> FloatArray:
    """Standard normal quantile of a probability, from whichever tail is small."""
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

    Chandrupatla's method on all elements at once, to the last digit of x.
    """
    from scipy.optimize.elementwise import bracket_root, find_root

    # Round-off can put the root a hair outside an analytic bracket, and a bracket of no
    # width cannot grow: widen it before it is searched.
    width = np.maximum(upper - lower, 1e-9 * (np.abs(lower) + np.abs(upper)) + 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        found = bracket_root(f, lower - 1e-3 * width, upper + 1e-3 * width, args=args, maxiter=1100)
        root = find_root(
            f,
            found.bracket,
            args=args,
            tolerances={"xatol": 0.0, "xrtol": 2e-16, "fatol": 0.0, "frtol": 0.0},
            maxiter=200,
        )
    return root.x
