"""Where the intervals hold more or less often than chance explains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._report._columns import Parts, parts
from trueline._report._measure import CONFIDENCE, Measured, chance_range
from trueline._report._words import negligible_gap
from trueline._validation import FloatArray
from trueline.metrics._calibration import check_levels, error_of, floor_of
from trueline.metrics._mean import effective_size, mean
from trueline.metrics._pit import Ecdf

# A part with fewer rows than this tells little, and only widens the ranges of the others.
FEWEST_ROWS = 20
_ROWS_A_BIN = 30
_MOST_BINS = 10
_MOST_CATEGORIES = 20
MOST_COLUMNS = 100
_SOME = 5


@dataclass(frozen=True)
class Share:
    """How often the intervals of one forecast hold in a part of the rows.

    Attributes
    ----------
    coverage, target : float
    low, high : float
        Where chance alone puts the coverage, in all parts that were looked at together.
    width : float
        Mean width of the intervals.
    """

    coverage: float
    target: float
    low: float
    high: float
    width: float

    @property
    def excess(self) -> float:
        """How far the coverage lies beyond what chance explains; 0 or less if it does not."""
        return float(_excess(self.coverage, self.target, self.low, self.high))

    @property
    def verdict(self) -> str:
        """The same in words."""
        if self.excess <= 0:
            return "as promised"
        return "too seldom" if self.coverage < self.target else "too often"


@dataclass(frozen=True)
class Segment:
    """A part of the rows: what it is, and how each forecast does there."""

    feature: str
    label: str
    code: int
    n: int
    shares: tuple[Share, ...]
    errors: tuple[float, ...] = ()
    floors: tuple[float, ...] = ()
    crps: tuple[float, ...] = ()


@dataclass(frozen=True)
class Search:
    """What was looked at, and what was found, worst first.

    Attributes
    ----------
    segments : list of Segment
        The worst.
    looked_at : int
        Number of all segments.
    off : int
        How many of them are off by more than chance explains, for the last forecast.
    features : int
        Number of columns that they come from.
    left_out : int
        Columns that were not looked at.
    """

    segments: list[Segment]
    looked_at: int
    off: int
    features: int
    left_out: int = 0


def by_group(groups: Parts, forecasts: list[Measured], w: FloatArray | None, most: int) -> Search:
    """Look at every group, however small."""
    found, looked_at, off = _worst([_Cut("", groups, None)], forecasts, w, most)
    return Search([_details(s, groups, forecasts, w) for s in found], looked_at, off, 1)


def worst_segments(
    columns: dict[str, NDArray[Any]], forecasts: list[Measured], w: FloatArray | None, most: int
) -> Search:
    """Look at parts of one column each, and at parts by predicted value and width."""
    last = forecasts[-1].rows
    table: list[tuple[str, NDArray[Any]]] = [
        ("predicted value", last.median),
        ("predicted width", last.width),
        *list(columns.items())[:MOST_COLUMNS],
    ]
    bins = int(np.clip(last.median.size // _ROWS_A_BIN, 2, _MOST_BINS))
    cuts = []
    for name, values in table:
        pieces = parts(values, bins)
        if pieces is None:
            continue
        rows = np.bincount(pieces.codes, minlength=len(pieces.labels))
        kept = np.argsort(-rows, kind="stable")[:_MOST_CATEGORIES]
        kept = np.sort(kept[rows[kept] >= FEWEST_ROWS])
        if kept.size:
            cuts.append(_Cut(name, pieces, kept))
    left_out = max(len(columns) - MOST_COLUMNS, 0)
    if not cuts:
        return Search([], 0, 0, 0, left_out)
    found, looked_at, off = _worst(cuts, forecasts, w, most)
    # Those within chance are no news; a few show how near the others come.
    return Search(found[: max(off, _SOME)], looked_at, off, len(cuts), left_out)


class _Cut(NamedTuple):
    """A column cut into parts, and the codes of those to look at, all of them if None."""

    name: str
    pieces: Parts
    kept: NDArray[np.intp] | None

    @property
    def codes(self) -> NDArray[np.intp]:
        return np.arange(len(self.pieces.labels)) if self.kept is None else self.kept


def _worst(
    cuts: list[_Cut], forecasts: list[Measured], w: FloatArray | None, most: int
) -> tuple[list[Segment], int, int]:
    """Return the worst segments for the last forecast, of how many, and how many are off."""
    tested = sum(cut.codes.size for cut in cuts)
    # Bonferroni: the ranges hold for all segments together, however they overlap.
    level = (1.0 - CONFIDENCE) / tested
    shares = [[_shares(cut, f, w, level) for f in forecasts] for cut in cuts]
    excess = np.concatenate([_excess(*own[-1][:4]) for own in shares])
    owner = np.repeat(np.arange(len(cuts)), [cut.codes.size for cut in cuts])
    place = np.concatenate([np.arange(cut.codes.size) for cut in cuts])
    found = []
    for i in np.argsort(-excess, kind="stable")[:most]:
        cut, k = cuts[owner[i]], place[i]
        code = int(cut.codes[k])
        found.append(
            Segment(
                cut.name,
                cut.pieces.labels[code],
                code,
                int(np.count_nonzero(cut.pieces.codes == code)),
                tuple(Share(*(float(column[k]) for column in own)) for own in shares[owner[i]]),
            )
        )
    return found, tested, int((excess > 0).sum())


def _excess(coverage: ArrayLike, target: ArrayLike, low: ArrayLike, high: ArrayLike) -> FloatArray:
    """How far a coverage lies beyond what chance explains; 0 or less where it does not."""
    share, aim = np.asarray(coverage), np.asarray(target)
    beyond = np.maximum(np.asarray(low) - share, share - np.asarray(high))
    # With many rows chance explains little, and next to no gap matters.
    near = np.abs(share - aim) <= negligible_gap(float(aim.flat[0]))
    return np.where(near, np.minimum(beyond, 0.0), beyond)


def _shares(
    cut: _Cut, forecast: Measured, w: FloatArray | None, level: float
) -> tuple[FloatArray, ...]:
    """Return the fields of `Share` for every part."""
    target = forecast.facts.target
    coverage = _means(cut.pieces, forecast.rows.inside, w)[cut.codes]
    width = _means(cut.pieces, forecast.rows.width, w)[cut.codes]
    effective = _effective_sizes(cut.pieces, w)[cut.codes]
    low, high = chance_range(effective, target, forecast.n_fit, level)
    return coverage, np.full_like(coverage, target), low, high, width


def _means(pieces: Parts, rows: FloatArray, w: FloatArray | None) -> FloatArray:
    """Mean of the rows in each part."""
    m = len(pieces.labels)
    total = np.bincount(pieces.codes, rows if w is None else w * rows, m)
    with np.errstate(invalid="ignore"):
        return total / np.bincount(pieces.codes, w, m)


def _effective_sizes(pieces: Parts, w: FloatArray | None) -> FloatArray:
    """Kish's effective number of rows of each part; at least one."""
    m = len(pieces.labels)
    if w is None:
        return np.bincount(pieces.codes, minlength=m).astype(np.float64)
    weight = np.bincount(pieces.codes, w, m)
    with np.errstate(invalid="ignore"):
        return np.fmax(weight**2 / np.bincount(pieces.codes, w**2, m), 1.0)


def _details(
    segment: Segment, groups: Parts, forecasts: list[Measured], w: FloatArray | None
) -> Segment:
    """Add what is shown of a group and not of a segment."""
    rows = np.flatnonzero(groups.codes == segment.code)
    p = check_levels(None)
    ones = np.ones_like(p)
    weight = None if w is None else w[rows]
    n = effective_size(weight, rows.size)
    return replace(
        segment,
        errors=tuple(error_of(p, Ecdf(f.rows.pit[rows], weight).at(p), ones) for f in forecasts),
        floors=tuple(floor_of(p, ones, n, f.n_fit) for f in forecasts),
        crps=tuple(mean(f.rows.crps[rows], weight) for f in forecasts),
    )
