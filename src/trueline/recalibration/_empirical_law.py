"""The law whose CDF is the isotonic fit of the scores of some rows."""

from __future__ import annotations

from trueline.laws import ExponentialTail, NormalTail, PiecewiseLaw
from trueline.recalibration._scores import Scores


def empirical_law(scores: Scores, *, finite_sample: bool = True) -> PiecewiseLaw:
    """Return the law that `Isotonic` has, see there."""
    lower, upper = scores.cumulative()
    shift, rows = (scores.slack(), scores.total + 1.0) if finite_sample else (0.0, scores.total)
    right = (upper + shift) / rows
    left = right if lower is upper else (lower + shift) / rows
    tail = NormalTail if scores.kind == "normal score" else ExponentialTail
    below, above = scores.mean_excesses()
    return PiecewiseLaw(scores.values, left, right, (tail(below), tail(above)))
