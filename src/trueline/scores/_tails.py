"""Tails of a map beyond the outermost scores, estimated from the scores near them."""

from __future__ import annotations

import numpy as np

from trueline._validation import FloatArray
from trueline.laws import ExponentialTail, NormalTail, Tail
from trueline.scores._sorted import Scores, fallback_scale

# A tail is estimated from the square root of the number of rows, within these bounds.
_FEWEST_EXCEEDANCES = 5
_MOST_EXCEEDANCES = 100
# The shape of a generalised Pareto law before any row is seen, the number of exceedances at which
# these and the prior weigh the same, the bounds of an estimate, and the largest shape.
_PRIOR_SHAPE = 0.1
_PRIOR_EXCEEDANCES = 15.0
_SHAPES = (-1.0, 0.9)
_LARGEST_SHAPE = 0.5
# The mean excess over the outermost knot is at least this share of that over the threshold.
_LEAST_SHARE = 0.1


def tails_of(scores: Scores, first: float, last: float) -> tuple[Tail, Tail]:
    """Return the tails below the first and above the last knot.

    Normal scores get a half-normal tail. Its scale is the mean excess over a threshold that a few
    rows exceed. Other scores get an exponential tail, whose scale is the mean excess over the
    knot itself: it grows or falls from the threshold on in a straight line, as that of
    a generalised Pareto law does, whose shape is estimated by probability-weighted moments and
    shrunk to 0.1.

    References
    ----------
    Hosking and Wallis, "Parameter and quantile estimation for the generalized Pareto
    distribution", Technometrics 1987, doi:10.1080/00401706.1987.10488243.
    """
    x, w = scores.points()
    below = _scale(-x[::-1], w[::-1], -first, scores.unit, scores.kind)
    above = _scale(x, w, last, scores.unit, scores.kind)
    make = NormalTail if scores.kind == "normal score" else ExponentialTail
    return make(below), make(above)


def _scale(x: FloatArray, w: FloatArray, start: float, unit: float, kind: str) -> float:
    """Return the mean excess of sorted x over `start`; `unit` is the weight of a row."""
    total = float(w.sum())
    rows = np.floor(np.clip(np.sqrt(total / unit), _FEWEST_EXCEEDANCES, _MOST_EXCEEDANCES))
    count = float(rows * unit)
    if w.min() < unit:
        # One effective row stays below the threshold; otherwise it would be the smallest of many.
        count = min(count, max(total - unit, 0.5 * total))
    # Only the top values that hold this weight are needed.
    look = int(rows) + 1
    while look < len(x) and w[-look:].sum() <= count:
        look *= 2
    i = int(np.searchsorted(np.cumsum(w[-look:][::-1]), count, side="right"))
    if 0 < i < len(x) - 1:
        threshold = x[len(x) - 1 - i]
        v = x[len(x) - i :] - threshold
        shares = w[len(x) - i :] / count
        mean = float(shares @ v)
        if kind == "normal score" or count <= unit:
            return mean
        shape = _shape(v, shares, mean, unit / count)
        beyond = max(start - float(threshold), 0.0)
        return max(mean + shape / (1.0 - shape) * beyond, _LEAST_SHARE * mean)
    # With few rows, or ties at the top, use the mean excess over the smallest value.
    excess = float(w @ (x - x[0])) / (total - unit if total > unit else total)
    return excess if excess > 0 else fallback_scale(x[0], kind)


def _shape(v: FloatArray, shares: FloatArray, mean: float, row: float) -> float:
    """Return the shape of a generalised Pareto law of excesses, shrunk towards its prior.

    Parameters
    ----------
    v : (k,) array
        Excesses over the threshold, increasing.
    shares : (k,) array
        Their weights, which sum to at most 1; the rest is at the threshold.
    mean : float
        The mean excess.
    row : float
        The weight of one row.
    """
    above = np.cumsum(shares[::-1])[::-1] - 0.5 * (shares + row)
    smaller = 2.0 * float((shares * above) @ v) / (1.0 - row)  # E min(V, V') of two rows
    shape = 2.0 - mean / (mean - smaller) if smaller < mean else _SHAPES[1]
    weight = 1.0 / (1.0 + (_PRIOR_EXCEEDANCES * row) ** 2)
    shape = weight * min(max(shape, _SHAPES[0]), _SHAPES[1]) + (1.0 - weight) * _PRIOR_SHAPE
    return min(shape, _LARGEST_SHAPE)
