"""The forecasts of a page: measured, in the order in which the page shows them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trueline._report._inputs import Inputs
from trueline._report._measure import Measured, measure
from trueline._report._words import is_recalibration
from trueline._validation import FloatArray
from trueline.comparison import Difference, score_difference
from trueline.decompositions import CrpsDecomposition, crps_decomposition
from trueline.distributions import Distribution

#: Forecasts with plots of their own, and beside each other by group and segment. With more, plots
#: of single forecasts would fill the page, and its file could exceed a megabyte.
MOST_DRAWN = 4
# Rows that tell whether one forecast is another one, recalibrated.
_SOME_ROWS = 100
# Rows on which the CRPS is split, at most: with more the sorting at each threshold would take long.
_ROWS_OF_PARTS = 10_000


@dataclass(frozen=True, eq=False)
class Lineup:
    """Forecasts in the order of the page.

    Attributes
    ----------
    forecasts : tuple of Measured
        One forecast, one before and after recalibration, or models by rising CRPS.
    differences : tuple of Difference
        CRPS of each forecast but the first, minus that of the first.
    compares : bool
        Whether they are models to compare, rather than one forecast before and after.
    parts : tuple of CrpsDecomposition
        Where the CRPS of each forecast comes from; empty for one forecast.
    """

    forecasts: tuple[Measured, ...]
    differences: tuple[Difference, ...]
    compares: bool
    parts: tuple[CrpsDecomposition, ...]

    @property
    def main(self) -> int:
        """Index of the forecast whose segments are searched: the best, or the recalibrated one."""
        return 0 if self.compares else len(self.forecasts) - 1

    @property
    def drawn(self) -> tuple[Measured, ...]:
        """The forecasts with plots of their own."""
        return self.forecasts[:MOST_DRAWN]


def line_up(inputs: Inputs) -> Lineup:
    """Measure all forecasts and sort those of several models by CRPS."""
    named = list(inputs.forecasts.items())
    # n_fit is about the last forecast.
    fits = [dist._n_fit for _, dist in named]
    fits[-1] = fits[-1] if inputs.n_fit is None else inputs.n_fit
    found = [
        measure(name, "after", dist, inputs, fit)
        for (name, dist), fit in zip(named, fits, strict=True)
    ]
    if len(found) == 2 and _recalibrates(found[0].dist, found[1].dist, inputs.y):
        found[1] = replace(found[1], facts=replace(found[1].facts, recalibrated=True))
    compares = len(found) > 1 and not is_recalibration(tuple(f.facts for f in found))
    if compares:
        found.sort(key=_rank)
        found = [replace(f, slot=f"m{i}") for i, f in enumerate(found, start=1)]
    elif len(found) > 1:
        found[0] = replace(found[0], slot="before")
    best = found[0].rows.crps
    pairs = len(found) * (len(found) - 1) // 2  # any of them could have been the best one
    differences = tuple(
        score_difference(best, f.rows.crps, inputs.w, pairs=pairs) for f in found[1:]
    )
    return Lineup(tuple(found), differences, compares, _parts(found, inputs))


def _parts(found: list[Measured], inputs: Inputs) -> tuple[CrpsDecomposition, ...]:
    """Split the CRPS of several forecasts, on evenly spaced rows if there are many."""
    if len(found) == 1:
        return ()
    rows = np.arange(0, inputs.y.size, -(-inputs.y.size // _ROWS_OF_PARTS))
    y, w = inputs.y[rows], None if inputs.w is None else inputs.w[rows]
    return tuple(crps_decomposition(y, f.dist._take(rows), sample_weight=w) for f in found)


def _rank(f: Measured) -> tuple[bool, float]:
    score = f.evaluation.crps
    return bool(np.isnan(score)), score


def _recalibrates(first: Distribution, last: Distribution, y: FloatArray) -> bool:
    """Whether the second forecast is the first one after a map: both score outcomes alike."""
    if first._learned_laws() or not last._learned_laws():
        return False
    rows = np.arange(min(y.size, _SOME_ROWS))
    outcomes, a, b = y[rows, None], first._take(rows), last._take(rows)
    # A map for discrete outcomes is around a forecast that is not cut into atoms.
    return any(
        np.array_equal(one._score(outcomes), other._score(outcomes), equal_nan=True)
        for one, other in ((a, b), (a._uncut(), b._uncut()))
    )
