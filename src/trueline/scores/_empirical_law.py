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
        # The tails begin at the outermost effective rows, which may be several values.
        inner = _between(left, right, (1.0 - _ROUNDING) * unit / rows)
        knots, right, left = knots[inner], right[inner], left[inner]
        left = right if lower is upper else left
    return PiecewiseLaw(knots, left, right, tails_of(scores, knots[0], knots[-1]))


def _between(left: FloatArray, right: FloatArray, least: float) -> slice:
    """Return the knots at which R reaches `least` and has not passed 1 - `least`; one or more."""
    start = min(int(np.searchsorted(right, least)), len(right) - 1)
    return slice(start, max(int(np.searchsorted(left, 1.0 - least, "right")), start + 1))
