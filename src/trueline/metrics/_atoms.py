"""Values that many outcomes are equal to, and the probability that forecasts give to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.metrics._verdict import LEVEL, chance_range

# A value is an atom of the outcomes if it holds this share of the rows, or if there are fewer
# distinct values than this.
_LEAST_SHARE = 0.05
_FEWEST_DISTINCT = 50
# Number of rows in which atoms are looked for.
_SEARCHED = 10_000


@dataclass(frozen=True)
class Atom:
    """A value that outcomes are often equal to, such as the 0 of rain.

    Attributes
    ----------
    value : float
    observed : float
        Share of the outcomes that are equal to it.
    forecast : float
        Mean probability that the forecasts give to it.
    low, high : float
        Shares between which chance alone moves a calibrated forecast, for all values of an
        evaluation together, with probability 0.95.

    Examples
    --------
    >>> import trueline as tl
    >>> dice = tl.Samples([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    >>> first, second = tl.evaluate([0.0, 1.0], dice).atoms
    >>> first.value, first.observed, first.forecast
    (0.0, 0.5, 0.5)
    """

    value: float
    observed: float
    forecast: float
    low: float
    high: float


class AtomSums:
    """Sums over rows of outcomes on atoms, and of their forecast probability.

    The atoms are those of the first rows that are added.
    """

    def __init__(self) -> None:
        self.values: FloatArray | None = None
        self.sums = np.zeros((2, 0))

    def add(self, y: FloatArray, dist: Distribution, w: FloatArray | None) -> None:
        """Add rows."""
        if self.values is None:
            self.values = common_values(y) if dist._has_atoms() else np.empty(0)
            self.sums = np.zeros((2, self.values.size))
        if not self.values.size:
            return
        weight = np.ones(y.size) if w is None else w
        self.sums[0] += weight @ (y[:, None] == self.values)
        self.sums[1] += weight @ dist._atom_mass(self.values[None, :])

    def merge(self, other: AtomSums) -> Self:
        """Return the sums of both for the atoms that they share; neither changes."""
        merged = type(self)()
        if self.values is None or other.values is None:
            known = self if other.values is None else other
            merged.values, merged.sums = known.values, known.sums
            return merged
        merged.values, mine, theirs = np.intersect1d(
            self.values, other.values, assume_unique=True, return_indices=True
        )
        merged.sums = self.sums[:, mine] + other.sums[:, theirs]
        return merged

    def finish(self, whole: float, n_effective: float, n_fit: float | None) -> tuple[Atom, ...]:
        """Return the atoms that have a forecast probability; `whole` is the sum of weights."""
        if self.values is None or not self.values.size:
            return ()
        observed, forecast = self.sums / whole
        kept = forecast > 0.0
        if not kept.any():
            return ()
        level = LEVEL / kept.sum()
        low, high = chance_range(n_effective, np.clip(forecast[kept], 0.0, 1.0), n_fit, level)
        columns = (self.values[kept], observed[kept], forecast[kept], low, high)
        return tuple(Atom(*row) for row in zip(*(c.tolist() for c in columns), strict=True))

    def to_state(self) -> list[FloatArray]:
        """Return arrays that `from_state` reads; none if no rows were added."""
        return [] if self.values is None else [self.values, *self.sums]

    @classmethod
    def from_state(cls, state: Sequence[FloatArray]) -> Self:
        """Return the sums that `to_state` described."""
        made = cls()
        if state:
            made.values, made.sums = state[0], np.array(state[1:])
        return made


def common_values(y: FloatArray) -> FloatArray:
    """Return the values that many outcomes are equal to, increasing; often there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.metrics._atoms import common_values
    >>> common_values(np.append(np.zeros(10), np.arange(1.0, 101.0)))
    array([0.])
    """
    some = y[:: -(-y.size // _SEARCHED)]
    values, counts = np.unique(some, return_counts=True)
    if values.size < _FEWEST_DISTINCT:
        return values
    return values[counts >= _LEAST_SHARE * some.size]
