"""Where the intervals hold more or less often than chance explains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from trueline._report._columns import Parts, parts
from trueline._report._measure import CONFIDENCE, Measured, binomial_rows, chance_range
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
    evidence : float
        How unlikely chance is to put the coverage this far from its target: minus the log of the
        likelihood ratio. 0 where the distance would not matter.
    """

    coverage: float
    target: float
    low: float
    high: float
    width: float
    evidence: float

    @property
    def excess(self) -> float:
        """How far the coverage lies beyond what chance explains; 0 or less if it does not."""
        return float(_excess(self.coverage, self.target, self.low, self.high))

    @property
    def too_few(self) -> bool:
        """Whether no coverage could be found too low, or none too high: chance explains it."""
        return bool(_too_few(self.low, self.high))

    @property
    def verdict(self) -> str:
        """The same in words."""
        if self.excess <= 0:
            return "too few rows to tell" if self.too_few else "as promised"
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
    """What was looked at, and what was found, the least likely by chance first.

    Attributes
    ----------
    segments : list of Segment
        The least likely by chance; those that are off before all others.
    looked_at : int
        Number of all segments.
    off : int
        How many of them are off by more than chance explains, for the last forecast.
    too_few : int
        How many of the others have too few rows to tell.
    given : int
        Number of columns of the user that they come from.
    added : tuple of str
        Columns of the forecast's own that they come from.
    left_out : int
        Columns that were not looked at.
    """

    segments: list[Segment]
    looked_at: int
    off: int
    too_few: int
    given: int = 0
    added: tuple[str, ...] = ()
    left_out: int = 0


def by_group(groups: Parts, forecasts: list[Measured], w: FloatArray | None, most: int) -> Search:
    """Look at every group, however small."""
    found, looked_at, off, too_few = _worst([_Cut("", groups, None)], forecasts, w, most)
    return Search([_details(s, groups, forecasts, w) for s in found], looked_at, off, too_few)


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
            cuts.append(_Cut(name, pieces, kept, values))
    left_out = max(len(columns) - MOST_COLUMNS, 0)
    if not cuts:
        return Search([], 0, 0, 0, left_out=left_out)
    found, looked_at, off, too_few = _worst(cuts, forecasts, w, most)
    # The first two of the table are ours; a column of the user may have the same name.
    added = tuple(name for name, values in table[:2] if any(c.values is values for c in cuts))
    # Those within chance are no news; a few show how near the others come.
    return Search(
        found[: max(off, _SOME)], looked_at, off, too_few, len(cuts) - len(added), added, left_out
    )


class _Cut(NamedTuple):
    """A column cut into parts, and the codes of those to look at, all of them if None."""

    name: str
    pieces: Parts
    kept: NDArray[np.intp] | None
    values: NDArray[Any] | None = None

    @property
    def codes(self) -> NDArray[np.intp]:
        return np.arange(len(self.pieces.labels)) if self.kept is None else self.kept


def _worst(
    cuts: list[_Cut], forecasts: list[Measured], w: FloatArray | None, most: int
) -> tuple[list[Segment], int, int, int]:
    """Return the worst segments for the last forecast, of how many, how many off and too small."""
    tested = sum(cut.codes.size for cut in cuts)
    # Bonferroni: the ranges hold for all segments together, however they overlap.
    level = (1.0 - CONFIDENCE) / tested
    shares = [[_shares(cut, f, w, level) for f in forecasts] for cut in cuts]
    excess = np.concatenate([_excess(*own[-1][:4]) for own in shares])
    off = excess > 0
    evidence = np.concatenate([own[-1][5] for own in shares])
    too_few = np.concatenate([_too_few(*own[-1][2:4]) for own in shares]) & ~off
    owner = np.repeat(np.arange(len(cuts)), [cut.codes.size for cut in cuts])
    place = np.concatenate([np.arange(cut.codes.size) for cut in cuts])
    found = []
    for i in np.lexsort((-evidence, ~off))[:most]:
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
    return found, tested, int(off.sum()), int(too_few.sum())


def _too_few(low: ArrayLike, high: ArrayLike) -> NDArray[np.bool_]:
    """Whether chance explains a coverage of 0, or one of 1."""
    return (np.asarray(low) <= 0.0) | (np.asarray(high) >= 1.0)


def _excess(coverage: ArrayLike, target: ArrayLike, low: ArrayLike, high: ArrayLike) -> FloatArray:
    """How far a coverage lies beyond what chance explains; 0 or less where it does not."""
    share, aim = np.asarray(coverage), np.asarray(target)
    beyond = np.maximum(np.asarray(low) - share, share - np.asarray(high))
    # With many rows chance explains little, and next to no gap matters.
    near = _is_near(share, aim)
    return np.where(near, np.minimum(beyond, 0.0), beyond)


def _is_near(share: FloatArray, aim: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(np.abs(share - aim) <= negligible_gap(float(aim.flat[0])))


def _shares(
    cut: _Cut, forecast: Measured, w: FloatArray | None, level: float
) -> tuple[FloatArray, ...]:
    """Return the fields of `Share` for every part."""
    target = forecast.facts.target
    coverage = _means(cut.pieces, forecast.rows.inside, w)[cut.codes]
    width = _means(cut.pieces, forecast.rows.width, w)[cut.codes]
    effective = _effective_sizes(cut.pieces, w)[cut.codes]
    low, high = chance_range(effective, target, forecast.n_fit, level)
    aim = np.full_like(coverage, target)
    share = np.clip(coverage, 0.0, 1.0)  # sums of weights round
    divergence = rel_entr(share, aim) + rel_entr(1.0 - share, 1.0 - aim)
    evidence = binomial_rows(effective, forecast.n_fit) * divergence
    evidence[_is_near(coverage, aim)] = 0.0
    return coverage, aim, low, high, width, evidence


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
