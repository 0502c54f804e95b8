"""How far off forecasts were on the rows that a map is fitted on, counted in the same pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.files._chunks import Chunk, GroupCodes
from trueline.recalibration import Key

# Rows that are kept, to see what the map does to them.
_MOST_KEPT = 10_000


class FirstRows(NamedTuple):
    """The first rows of a file: their forecasts, and the name of the group of each."""

    dist: Distribution
    groups: Any


class Tally:
    r"""Sums over rows of forecasts as they are, before any map.

    Parameters
    ----------
    coverage : float
        Probability of the central interval.
    is_first : bool, default True
        Whether the first rows are kept.

    Attributes
    ----------
    first : FirstRows or None

    Examples
    --------
    >>> import io
    >>> from trueline import files
    >>> from trueline.files import Tally
    >>> forecasts = files.open_stream(io.BytesIO(b"y,mean,std\n3,1,1\n2,2,1\n"))
    >>> forecasts.tally = Tally(0.9)
    >>> R = files.fit(forecasts)
    >>> forecasts.tally.held, forecasts.tally.above, forecasts.tally.effective_rows
    (0.5, 0.75, 2.0)
    """

    def __init__(self, coverage: float, *, is_first: bool = True) -> None:
        self.coverage = coverage
        self.first: FirstRows | None = None
        self._is_first = is_first
        # The sums of the weights, of their squares, and of those inside and above.
        self._sums = np.zeros(4)
        self._groups: dict[Key, FloatArray] = {}

    @property
    def held(self) -> float:
        """Share of the outcomes, by weight, inside of their intervals."""
        return float(self._sums[2] / self._sums[0])

    @property
    def above(self) -> float:
        """Share of the outcomes above the median of their forecasts; equal ones count half."""
        return float(self._sums[3] / self._sums[0])

    @property
    def effective_rows(self) -> float:
        """Number of rows; with weights, Kish's effective number."""
        return float(self._sums[0] ** 2 / self._sums[1])

    def held_by_group(self) -> dict[Key, tuple[float, float]]:
        """Return for each group with a weight the share that held, and the effective rows."""
        return {
            name: (float(inside / weight), float(weight**2 / squares))
            for name, (weight, squares, inside) in self._groups.items()
            if weight > 0
        }

    def part(self, *, is_first: bool) -> Tally:
        """Return an empty tally for a piece of the rows."""
        return Tally(self.coverage, is_first=is_first and self._is_first)

    def add(self, chunk: Chunk, groups: GroupCodes | None) -> None:
        """Count the rows of a chunk."""
        dist, y = chunk.dist, chunk.y
        w = np.ones(len(y)) if chunk.weight is None else chunk.weight
        lower, upper = dist.interval(self.coverage)
        inside = w * ((lower <= y) & (y <= upper))
        middle = dist.median()
        above = w * (0.5 * (y > middle) + 0.5 * (y >= middle))
        self._sums += [w.sum(), (w * w).sum(), inside.sum(), above.sum()]
        row_groups = None
        if groups is not None and chunk.groups is not None:
            names, codes = groups.names, chunk.groups
            row_groups = np.asarray(names)[codes[:_MOST_KEPT]]
            sums = np.stack([np.bincount(codes, v, len(names)) for v in (w, w * w, inside)], axis=1)
            self._add_groups(dict(zip(names, sums, strict=True)))
        if self._is_first and self.first is None:
            self.first = FirstRows(dist[:_MOST_KEPT], row_groups)

    def merge(self, parts: Iterable[Tally]) -> None:
        """Add the sums of the pieces of the rows."""
        for part in parts:
            self._sums += part._sums
            self._add_groups(part._groups)
            self.first = self.first or part.first

    def _add_groups(self, sums: dict[Key, FloatArray]) -> None:
        for name, more in sums.items():
            self._groups[name] = self._groups.get(name, 0.0) + more
