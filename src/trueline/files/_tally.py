"""How far off forecasts were on the rows that a map is fitted on, counted in the same pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.files._chunks import Chunk, GroupCodes
from trueline.files._layout import Layout
from trueline.recalibration import Key

# Rows that are kept at most, to see what a map does to them, and their values.
_MOST_KEPT = 2_000
_MOST_VALUES = 1 << 18


class Tally:
    r"""Sums over rows of forecasts as they are, before any map.

    Parameters
    ----------
    coverage : float
        Probability of the central interval.

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

    def __init__(self, coverage: float) -> None:
        self.coverage = coverage
        # The sums of the weights, of their squares, and of those inside and above.
        self._sums = np.zeros(4)
        self._groups: dict[Key, FloatArray] = {}
        # Rows from all over the file, every `_step`-th: the columns of the forecast and the group.
        self._layout: Layout | None = None
        self._kept: list[Any] = []
        self._step = 1
        self._passed = 0

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

    def some_rows(self) -> tuple[Distribution, Any]:
        """Return the forecasts of a few rows from all over the file, and their groups or None."""
        if self._layout is None:
            raise ValueError("no row was counted; expected at least one.")
        *forecast, groups = self._kept
        return self._layout.distribution(forecast), groups

    def add(self, chunk: Chunk, groups: GroupCodes | None) -> None:
        """Count the rows of a chunk."""
        dist, y = chunk.dist, chunk.y
        w = np.ones(len(y)) if chunk.weight is None else chunk.weight
        lower, upper = dist.interval(self.coverage)
        inside = w * ((lower <= y) & (y <= upper))
        middle = dist.median()
        above = w * (0.5 * (y > middle) + 0.5 * (y >= middle))
        self._sums += [w.sum(), (w * w).sum(), inside.sum(), above.sum()]
        names = codes = None
        if groups is not None and chunk.groups is not None:
            names, codes = np.asarray(groups.names), chunk.groups
            sums = np.stack([np.bincount(codes, v, len(names)) for v in (w, w * w, inside)], axis=1)
            self._add_groups(dict(zip(groups.names, sums, strict=True)))
        rows = np.arange(-self._passed % self._step, len(y), self._step)
        self._passed += len(y)
        named = None if names is None or codes is None else names[codes[rows]]
        self._keep(chunk.layout, [*(column[rows] for column in chunk.forecast), named])

    def merge(self, parts: Iterable[Tally]) -> None:
        """Add the sums of the pieces of the rows."""
        for part in parts:
            self._sums += part._sums
            self._add_groups(part._groups)
            if part._layout is None:
                continue
            step = max(self._step, part._step)
            self._thin(step // self._step)
            part._thin(step // part._step)
            self._step = step
            self._keep(part._layout, part._kept)

    def _keep(self, layout: Layout, columns: list[Any]) -> None:
        """Keep more rows; if there are too many, keep every other one."""
        if self._layout is not None:
            pairs = zip(self._kept, columns, strict=True)
            columns = [None if one is None else np.concatenate([one, two]) for one, two in pairs]
        self._layout, self._kept = layout, columns
        while len(columns[0]) > min(_MOST_KEPT, max(_MOST_VALUES // len(columns), 2)):
            self._thin(2)
            self._step *= 2
            columns = self._kept

    def _thin(self, step: int) -> None:
        self._kept = [None if column is None else column[::step] for column in self._kept]

    def _add_groups(self, sums: dict[Key, FloatArray]) -> None:
        for name, more in sums.items():
            self._groups[name] = self._groups.get(name, 0.0) + more
