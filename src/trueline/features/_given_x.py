"""Whether the chance of an event depends on the features: three views of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from trueline._validation import FloatArray, Rows
from trueline.features._chance import held_out_chance
from trueline.features._regions import EVERYWHERE, learn_regions
from trueline.features._slabs import directions, worst_slab
from trueline.features._table import Table

#: With fewer rows nothing is learned: all rows are one region.
FEWEST_ROWS = 100
# A region has at least this number of the searched rows, and so many that this number of rows
# without the event, or with it, is expected there.
_FEWEST_IN_REGION = 20
_FEWEST_EXPECTED = 3.0
# Share of the rows in a slab, and the number of random directions and of rows that are searched.
_SLAB = 0.1
_DIRECTIONS = 500
_MOST_SEARCHED = 5000


class Mean(NamedTuple):
    """A weighted mean of independent rows, and its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import Mean
    >>> Mean.of(np.array([0.0, 2.0]), None)
    Mean(value=1.0, error=0.7071067811865476)
    """

    value: float
    error: float

    @classmethod
    def of(cls, rows: NDArray[Any], w: FloatArray | None) -> Mean:
        """Return the mean of some rows, NaN if there are none."""
        if not rows.size:
            return cls(np.nan, np.nan)
        mean = float(np.average(rows, weights=w))
        share = 1.0 / rows.size if w is None else w / w.sum()
        return cls(mean, float(np.sqrt(np.sum((share * (rows - mean)) ** 2))))


class Found(NamedTuple):
    """What was found about the chance of an event given x.

    Attributes
    ----------
    l1, l2, kl : Mean
        By how much predicted chances beat the constant one: absolute, squared and log loss.
    slab : Mean
        Share of the event in the slab where it was lowest among other rows.
    slab_rows : int
        Number of rows that this is the share of.
    regions : list of (str, ndarray of int)
        Regions that other rows suggest, in words, and the rows that are in them.
    """

    l1: Mean
    l2: Mean
    kl: Mean
    slab: Mean
    slab_rows: int
    regions: list[tuple[str, Rows]]


def chance_given_x(
    event: NDArray[np.bool_],
    features: Table,
    w: FloatArray | None,
    c: float,
    rng: np.random.Generator,
) -> Found:
    """Measure how the chance of an event differs from the constant c, given the features.

    One half of the rows is searched for regions and a slab, which the other half judges. The
    chances are learned on all folds but one, and judged on that one.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import Table, chance_given_x
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=4000)
    >>> event = rng.uniform(size=4000) < np.where(x < 0.5, 0.9, 0.7)
    >>> found = chance_given_x(event, Table.read(x, 4000), None, 0.8, rng)
    >>> round(found.l1.value, 1), round(found.slab.value, 1)
    (0.1, 0.7)
    """
    n = len(event)
    if n < FEWEST_ROWS:
        none = Mean(np.nan, np.nan)
        return Found(none, none, none, none, 0, [(EVERYWHERE, np.arange(n))])
    order = rng.permutation(n)
    searched, judged = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
    fewest = max(_FEWEST_IN_REGION, math.ceil(_FEWEST_EXPECTED / min(c, 1.0 - c)))
    regions = [
        (words, rows)
        for words, here in learn_regions(features, event, w, searched, fewest)
        if len(rows := judged[here[judged]])
    ]
    inside = _in_worst_slab(event, features, w, searched, judged, rng)
    slab = Mean.of(event[inside], None if w is None else w[inside])
    p = held_out_chance(features, event, w, rng)
    z = event.astype(np.float64)
    return Found(
        l1=Mean.of(np.sign(p - c) * (z - c), w),
        l2=Mean.of((z - c) ** 2 - (z - p) ** 2, w),
        kl=Mean.of(xlogy(z, p / c) + xlogy(1.0 - z, (1.0 - p) / (1.0 - c)), w),
        slab=slab,
        slab_rows=len(inside),
        regions=regions,
    )


def _in_worst_slab(
    event: NDArray[np.bool_],
    features: Table,
    w: FloatArray | None,
    searched: Rows,
    judged: Rows,
    rng: np.random.Generator,
) -> Rows:
    """Return the judged rows in the slab where the searched ones have the event least often."""
    Z = features.ranked()
    some = rng.choice(searched, min(len(searched), _MOST_SEARCHED), replace=False)
    weight = None if w is None else w[some]
    slab = worst_slab(
        Z[some], ~event[some], weight, directions(Z.shape[1], _DIRECTIONS, rng), _SLAB
    )
    return judged[slab.contains(Z[judged])]
