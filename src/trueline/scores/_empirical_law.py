"""The law whose CDF is the isotonic fit of the scores of some rows."""

from __future__ import annotations

import numpy as np

from trueline._validation import FloatArray
from trueline.laws import PiecewiseLaw
from trueline.scores._sorted import Scores
from trueline.scores._tails import tails_of

# Share of a row by which sums of weights may be off.
_ROUNDING = 1e-9


def empirical_law(scores: Scores, *, finite_sample: bool = True) -> PiecewiseLaw:
    """Return the law that `Isotonic` has, see there."""
    lower, upper = scores.cumulative()
    shift, unit = (scores.slack(), scores.unit) if finite_sample else (0.0, 0.0)
    rows = scores.total + unit
    right = (upper + shift) / rows
    left = right if lower is upper else (lower + shift) / rows
    knots = scores.values
    if np.any(shift):
        knots, left, right = _between(knots, left, right, unit / rows)
    law = PiecewiseLaw(knots, left, right, tails_of(scores, knots[0], knots[-1]))
    if finite_sample:
        law.weights = scores.total, unit
    return law


def _between(
    knots: FloatArray, left: FloatArray, right: FloatArray, least: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Cut R at the levels `least` and 1 - `least`: the tails begin at the outermost effective rows.

    These may be several values. R is linear between two knots, so that the first and the last knot
    are where it has these levels; a knot at which it jumps past one of them stays.
    """
    start = min(int(np.searchsorted(right, (1.0 - _ROUNDING) * least)), len(right) - 1)
    stop = int(np.searchsorted(left, 1.0 - (1.0 - _ROUNDING) * least, "right"))
    stop = max(stop, start + 1)
    x, lower, upper = knots[start:stop], left[start:stop], right[start:stop]
    for after, level, last in ((start, least, False), (stop, 1.0 - least, True)):
        if 0 < after < len(knots) and right[after - 1] < level < left[after]:
            ends = knots[after - 1 : after + 1]
            new = np.interp(level, [right[after - 1], left[after]], ends)
            if ends[0] < new < ends[1]:
                at = len(x) if last else 0
                x, lower, upper = (
                    np.insert(a, at, v) for a, v in ((x, new), (lower, level), (upper, level))
                )
    return x, upper if left is right else lower, upper
