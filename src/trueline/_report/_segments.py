"""Search for groups and segments whose intervals do not hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from trueline._messages import percent as promise
from trueline._report._inputs import parts
from trueline._report._measure import CONFIDENCE, Measured
from trueline._validation import FloatArray
from trueline.features import Parts
from trueline.metrics import CoverageVerdict, chance_range, decide_coverage

# A smaller part tells little and widens the ranges of chance of the others.
FEWEST_ROWS = 20
_ROWS_A_BIN = 30
_MOST_BINS = 10
_MOST_CATEGORIES = 20
MOST_COLUMNS = 100
_SOME = 5


@dataclass(frozen=True)
class Share:
    """Coverage of one forecast in a part of the rows.

    Attributes
    ----------
    verdict : CoverageVerdict
        Its range of chance holds for all parts together.
    width : float
        Mean width of the intervals.
    evidence : float
        Minus the log of the likelihood ratio of chance; 0 if the gap is too small to matter.
    """

    verdict: CoverageVerdict
    width: float
    evidence: float


@dataclass(frozen=True)
class Segment:
    """A part of the rows, with the coverage of each forecast."""

    feature: str
    label: str
    n: int
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class Search:
    """Result of a search; the segments least likely by chance come first.

    Attributes
    ----------
    segments : list of Segment
        Those that are off come before all others.
    looked_at : int
        Number of segments tested.
    off : int
        Number of them that are off, for the main forecast.
    too_few : int
        Number of the others that have too few rows to tell.
    given : int
        Number of the user's columns that were cut.
    added : tuple of str
        Names of the columns that were cut beside the user's.
    left_out : int
        Number of columns that were not tested.
    """

    segments: list[Segment]
    looked_at: int
    off: int
    too_few: int
    given: int = 0
    added: tuple[str, ...] = ()
    left_out: int = 0


def by_group(
    groups: Parts, forecasts: Sequence[Measured], w: FloatArray | None, most: int, main: int = -1
) -> Search:
    """Test every group, however small; the forecast at the index `main` decides the order."""
    return Search(*_worst([_Cut("", groups, None)], forecasts, w, most, main))


def worst_segments(
    columns: dict[str, NDArray[Any]],
    forecasts: Sequence[Measured],
    w: FloatArray | None,
    most: int,
    main: int = -1,
) -> Search:
    """Test parts of one column each, and parts by the median and interval width of a forecast."""
    rows, target = forecasts[main].rows, promise(forecasts[main].facts.target)
    whose = f" of {forecasts[main].facts.quoted}" if len(forecasts) > 1 else ""
    table: list[tuple[str, NDArray[Any]]] = [
        (f"predicted median{whose}", rows.median),
        (f"width of the {target} interval{whose}", rows.width),
        *list(columns.items())[:MOST_COLUMNS],
    ]
    bins = int(np.clip(rows.median.size // _ROWS_A_BIN, 2, _MOST_BINS))
    cuts = []
    for name, values in table:
        pieces = parts(values, bins)
        if pieces is None:
            continue
        sizes = np.bincount(pieces.codes, minlength=len(pieces.labels))
        kept = np.argsort(-sizes, kind="stable")[:_MOST_CATEGORIES]
        kept = np.sort(kept[sizes[kept] >= FEWEST_ROWS])
        if kept.size:
            cuts.append(_Cut(name, pieces, kept, values))
    left_out = max(len(columns) - MOST_COLUMNS, 0)
    if not cuts:
        return Search([], 0, 0, 0, left_out=left_out)
    found, looked_at, off, too_few = _worst(cuts, forecasts, w, None, main)
    # A segment that may or may not hold is no finding: the text gives their number.
    known = [s for s in found if s.shares[main].verdict.decision != "too few rows to tell"]
    # The values tell our columns apart: a column of the user may have the same name.
    added = tuple(name for name, values in table[:2] if any(c.values is values for c in cuts))
    # If few segments are off, some others show how close they come.
    shown = known[: min(max(off, _SOME), most)]
    return Search(shown, looked_at, off, too_few, len(cuts) - len(added), added, left_out)


class _Cut(NamedTuple):
    """A column cut into parts, and the codes of those to test; None stands for all."""

    name: str
    pieces: Parts
    kept: NDArray[np.intp] | None
    values: NDArray[Any] | None = None

    @property
    def codes(self) -> NDArray[np.intp]:
        return np.arange(len(self.pieces.labels)) if self.kept is None else self.kept


def _worst(
    cuts: list[_Cut],
    forecasts: Sequence[Measured],
    w: FloatArray | None,
    most: int | None,
    main: int,
) -> tuple[list[Segment], int, int, int]:
    """Return the worst segments of one forecast, and how many were tested, off, too small."""
    tested = sum(cut.codes.size for cut in cuts)
    # Bonferroni: the ranges hold for all segments together, however they overlap.
    level = (1.0 - CONFIDENCE) / tested
    found = []
    for cut in cuts:
        shares = [_shares(cut, f, w, level) for f in forecasts]
        rows = np.bincount(cut.pieces.codes, minlength=len(cut.pieces.labels))
        for code, each in zip(cut.codes.tolist(), zip(*shares, strict=True), strict=True):
            found.append(Segment(cut.name, cut.pieces.labels[code], int(rows[code]), each))
    own = [segment.shares[main] for segment in found]
    off = np.array([share.verdict.off for share in own])
    too_few = sum(share.verdict.decision == "too few rows to tell" for share in own)
    evidence = np.array([share.evidence for share in own])
    order = np.lexsort((-evidence, ~off))
    return [found[i] for i in order[:most]], tested, int(off.sum()), too_few


def _shares(cut: _Cut, forecast: Measured, w: FloatArray | None, level: float) -> list[Share]:
    """Return the coverage of every part."""
    target, n_fit = forecast.facts.target, forecast.evaluation.n_fit
    coverage = _means(cut.pieces, forecast.rows.inside, w)[cut.codes]
    width = _means(cut.pieces, forecast.rows.width, w)[cut.codes]
    n = _effective_sizes(cut.pieces, w)[cut.codes]
    expected = np.clip(_means(cut.pieces, forecast.rows.expected, w)[cut.codes], 0.0, 1.0)
    ends = chance_range(n, target, n_fit, level, expected=expected)
    share = np.clip(coverage, 0.0, 1.0)  # sums of weights round
    # Between what is promised and what atoms force there is nothing to explain.
    aim = np.clip(share, np.minimum(target, expected), expected)
    divergence = rel_entr(share, aim) + rel_entr(1.0 - share, 1.0 - aim)
    evidence = divergence / (1.0 / n + (0.0 if n_fit is None else 1.0 / n_fit))
    found = []
    for c, low, high, size, own, log_ratio in zip(
        *(column.tolist() for column in (coverage, *ends, width, expected, evidence)), strict=True
    ):
        verdict = decide_coverage(c, target, low, high, width=size, expected=own)
        found.append(Share(verdict, size, 0.0 if verdict.negligible else log_ratio))
    return found


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
