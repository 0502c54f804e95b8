"""A differentiable map."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from trueline._validation import FloatArray
from trueline.laws import NormalLaw, ScoreLaw, SplineLaw
from trueline.recalibration._common import CommonMap
from trueline.recalibration._scores import Scores

# Rows in each outermost group, which carries the tail.
_TAIL_ROWS = 5.0
_MOST_KNOTS = 10_000
# Groups whose averages lie closer than this, relative to the largest, are one.
_RESOLUTION = 1e-11


class Smooth(CommonMap):
    """A differentiable R, for densities and log scores.

    The scores are averaged in groups, evenly spaced on the normal quantile plot, and a
    monotone cubic spline is drawn through the averages; outside them it goes on straight, so
    the tails are normal. Scores that are normal come back as exactly normal. Use it where
    the density matters; `Isotonic` has the finite-sample guarantee.

    Parameters
    ----------
    n_knots : int, optional
        Groups, 2 to 10,000; by default twice the cube root of the number of rows, at most 50.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=20_000)
    >>> F = tl.Normal(np.zeros(20_000), 3.0)
    >>> G = tl.Smooth().fit(y[:10_000], F[:10_000]).transform(F[10_000:])
    >>> [round(tl.log_score(y[10_000:], f), 2) for f in (F[10_000:], G)]
    [2.07, 1.41]
    """

    def __init__(self, n_knots: int | None = None) -> None:
        self.n_knots = n_knots

    def _check_params(self) -> None:
        k = self.n_knots
        if k is None:
            return
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 2 <= k <= _MOST_KNOTS:
            raise ValueError(
                f"n_knots is {k!r}; expected None or an integer of 2 to {_MOST_KNOTS}."
            )

    def _law_of(self, scores: Scores) -> ScoreLaw:
        x, w = scores.points()
        # Ranks are counted from both ends, so that no tail rounds to a probability of 1.
        low, high = mid_ranks(w), mid_ranks(w[::-1])[::-1]
        u = np.where(low < high, ndtri(low), -ndtri(high))
        groups = self.n_knots or int(np.clip(round(2.0 * scores.total ** (1 / 3)), 3, 50))
        edge = -ndtri(min(0.25, _TAIL_ROWS / scores.total))
        inner = np.linspace(-edge, edge, groups - 1) if groups > 2 else np.zeros(1)
        group = np.searchsorted(inner, u)
        # Groups without rows are dropped, and groups that rounding cannot separate are joined.
        _, group = np.unique(group, return_inverse=True)
        average = np.bincount(group, w * x) / np.bincount(group, w)
        apart = np.diff(average) > _RESOLUTION * np.abs(average).max()
        group = np.concatenate([[0], np.cumsum(apart)])[group]
        weight = np.bincount(group, w)
        if len(weight) < 2:
            return NormalLaw(*scores.mean_and_std())
        return SplineLaw(np.bincount(group, w * x) / weight, np.bincount(group, w * u) / weight)


def mid_ranks(w: FloatArray) -> FloatArray:
    """Return the share of the weight below each point plus half of its own."""
    upper = np.cumsum(w)
    return (upper - 0.5 * w) / upper[-1]
