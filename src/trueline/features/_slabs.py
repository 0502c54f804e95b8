"""The slab of the feature space in which an event has its largest share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray

# A gain of a sum of weights below this is rounding.
_ROUNDING = 1e-9


class Slab(NamedTuple):
    """Rows z with low <= direction @ z <= high, and the share of the event among those searched."""

    direction: FloatArray
    low: float
    high: float
    share: float

    def contains(self, Z: FloatArray) -> NDArray[np.bool_]:
        """Whether each row is inside, (n,)."""
        at = _projected(Z, self.direction)
        return (self.low <= at) & (at <= self.high)


def directions(d: int, number: int, rng: np.random.Generator) -> FloatArray:
    """Return the d axes, and random directions of length 1, (d + number, d).

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import directions
    >>> directions(2, 3, np.random.default_rng(0)).shape
    (5, 2)
    """
    if d < 2:
        return np.eye(d)
    drawn = rng.normal(size=(number, d))
    return np.vstack([np.eye(d), drawn / np.linalg.norm(drawn, axis=1, keepdims=True)])


def worst_slab(
    Z: FloatArray,
    event: NDArray[np.bool_],
    w: FloatArray | None,
    along: FloatArray,
    least: float = 0.1,
) -> Slab:
    """Return the slab across one of some directions in which the event has its largest share.

    A slab holds at least the share `least` of the rows, by weight, and rows at the same place
    together. Each direction costs a sort and a few passes: the interval with the largest mean is
    found by Dinkelbach's method, which raises a level as long as the sum of (event - level) over
    some interval is positive.

    Parameters
    ----------
    Z : (n, d) ndarray
        Features.
    event : (n,) ndarray of bool
    w : (n,) ndarray or None
        Weights.
    along : (k, d) ndarray
        Directions.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import worst_slab
    >>> Z = np.arange(20.0)[:, None]
    >>> found = worst_slab(Z, (Z[:, 0] >= 4) & (Z[:, 0] < 8), None, np.eye(1))
    >>> found.low, found.high, found.share
    (4.0, 7.0, 1.0)
    """
    weight = np.ones(len(Z)) if w is None else w
    fewest = least * weight.sum() * (1.0 - _ROUNDING)
    best = Slab(np.zeros(Z.shape[1]), 0.0, 0.0, float(np.average(event, weights=weight)))
    for direction in along:
        at = _projected(Z, direction)
        order = np.argsort(at)
        found = _worst_interval(at[order], event[order], weight[order], fewest, best.share)
        if found is not None:
            best = Slab(direction, *found)
    return best


def _projected(Z: FloatArray, direction: FloatArray) -> FloatArray:
    # A sum in this order does not depend on the other rows, as a matrix product may.
    return np.asarray((Z * direction).sum(axis=1))


def _worst_interval(
    at: FloatArray, event: NDArray[np.bool_], w: FloatArray, fewest: float, level: float
) -> tuple[float, float, float] | None:
    """Return the ends and the share of the interval whose share is largest, if above the level."""
    # Intervals begin and end between different places.
    cut = np.concatenate([[0], np.flatnonzero(np.diff(at) > 0) + 1, [len(at)]])
    mass = np.concatenate([[0.0], np.cumsum(w)])[cut]
    events = np.concatenate([[0.0], np.cumsum(w * event)])[cut]
    # The last place at which an interval that ends at each cut may begin; -1 if there is none.
    last = np.searchsorted(mass, mass - fewest, side="right") - 1
    ends = np.flatnonzero(last >= 0)
    found = None
    while True:
        above = events - level * mass
        low = np.minimum.accumulate(above)
        gain = above[ends] - low[last[ends]]
        k = int(np.argmax(gain))
        if gain[k] <= _ROUNDING * mass[-1]:
            return found
        j = ends[k]
        i = int(np.argmin(above[: last[j] + 1]))
        level = float((events[j] - events[i]) / (mass[j] - mass[i]))
        found = float(at[cut[i]]), float(at[cut[j] - 1]), level
