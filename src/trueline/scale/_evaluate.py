"""Evaluate the forecasts of a file, chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray, RandomState, generator, level
from trueline.metrics import Evaluation
from trueline.metrics._calibration import check_levels, error_of, floor_of
from trueline.metrics._evaluate import Rows, Sums, average, conclude, judge, one_pass
from trueline.metrics._mean import add
from trueline.recalibration import Recalibrator
from trueline.scale._chunks import Chunk, Progress, read_chunks
from trueline.scale._columns import Columns, Layout
from trueline.scale._errors import FileError
from trueline.scale._groups import Codes, GroupCodes
from trueline.scale._once import each_warning_once
from trueline.scale._sketch import PitHistogram, SpreadCells
from trueline.scale._source import Source, open_source
from trueline.scale._transform import Transformer

# Rows of which everything is kept; beyond, what needs sorting is counted in fine cells.
_ROWS = 1 << 21
# What is averaged in each group.
_GROUP_MEANS = ("inside", "width", "crps")


@dataclass(frozen=True)
class GroupEvaluation:
    """Result of `evaluate_file` for one group.

    Attributes
    ----------
    n : int
        Rows.
    calibration_error, calibration_floor : float
    coverage, interval_width, crps : float
    """

    n: int
    calibration_error: float
    calibration_floor: float
    coverage: float
    interval_width: float
    crps: float


@dataclass(frozen=True)
class FileEvaluation:
    r"""Result of `evaluate_file`.

    Attributes
    ----------
    overall : Evaluation
        All rows.
    groups : dict
        A `GroupEvaluation` by the name of the group; empty without groups.
    exact : bool
        False where there were too many rows to sort: the p-value and the ENCE are then read off
        fine cells.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trueline.scale import evaluate_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,1\n3,2,1\n2,3,1\n")
    ...     found = evaluate_file(file)
    >>> found.overall.n, found.overall.coverage, found.groups, found.exact
    (3, 1.0, {}, True)
    """

    overall: Evaluation
    groups: dict[str, GroupEvaluation]
    exact: bool


def evaluate_file(
    path: str | os.PathLike[str],
    recalibrator: Recalibrator | None = None,
    *,
    columns: Columns | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    coverage: float = 0.9,
    random_state: RandomState = 0,
    progress: Progress | None = None,
) -> FileEvaluation:
    r"""Evaluate the forecasts in a file, in constant memory.

    The result is that of `trueline.evaluate` on the same rows: to the last bit up to 2,097,152
    rows and 256 columns. Beyond, means and counts are the same up to rounding (1e-12), the
    Kolmogorov-Smirnov statistic behind the p-value is within 1e-6, and the bins of the ENCE are
    of equal count within 1e-3.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.parquet``, ``.arrow`` or ``.feather``.
    recalibrator : Recalibrator, optional
        A fitted map; the recalibrated forecasts are evaluated, and the floor counts its rows.
    columns : Columns, optional
        Names of columns, where they are not those of the conventions. With a group there is a
        result for each.
    separator : str, optional
        Between the columns of a text file.
    decimal : {".", ","}, optional
        Before the decimals of its numbers; by default a point.
    coverage : float, default 0.9
        Probability of the central interval to look at.
    random_state : None, int or numpy.random.Generator, default 0
        For the p-value of forecasts with steps.
    progress : callable, optional
        Is told the rows so far and the share of the file that was read.

    Returns
    -------
    FileEvaluation

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from trueline.scale import evaluate_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,0.1\n3,2,0.5\n2,3,1\n")
    ...     result = evaluate_file(file)
    >>> round(result.overall.crps, 6)
    0.590806
    """
    source = open_source(path, separator, decimal)
    layout = (columns or Columns()).find(source.names, file=source.path)
    return evaluate_source(
        source,
        layout,
        recalibrator,
        coverage=coverage,
        random_state=random_state,
        progress=progress,
    )


def evaluate_source(
    source: Source,
    layout: Layout,
    recalibrator: Recalibrator | None = None,
    *,
    map_name: object = "the map",
    coverage: float = 0.9,
    random_state: RandomState = 0,
    progress: Progress | None = None,
) -> FileEvaluation:
    """Evaluate an open file; see `evaluate_file`."""
    transform = None
    if recalibrator is not None:
        transform = Transformer(recalibrator, layout, source, map_name)
    judging = _Judging(level(coverage, "coverage"), generator(random_state), layout, source)
    with each_warning_once():
        for chunk in read_chunks(source, layout, progress=progress):
            judging.add(chunk, transform)
        if transform is not None:
            transform.finish()
        return judging.finish(transform)


class _Judging:
    """Sums over the rows so far, and what is needed of each, as it is or in cells."""

    def __init__(
        self, coverage: float, rng: np.random.Generator, layout: Layout, source: Source
    ) -> None:
        self.coverage = coverage
        self.rng = rng
        self.layout = layout
        self.source = source
        self.levels = check_levels(None)
        self.n = 0
        self._sums: Sums = []
        self._rows: list[Rows] = []
        self._kept_weights: list[FloatArray] = []
        self._weight: list[tuple[float, float]] = []  # sums of w and of w^2
        self._counts = np.zeros(self.levels.size + 1)
        self._pit: PitHistogram | None = None
        self._spread = SpreadCells()
        self._groups = None if layout.group is None else _GroupSums(layout, source, self.levels)

    def add(self, chunk: Chunk, transform: Transformer | None) -> None:
        """Judge more rows."""
        dist = chunk.dist if transform is None else transform(chunk.dist, chunk.groups)
        if not self.n:
            # It warns where the levels lack support.
            dist._take(np.zeros(1, dtype=np.intp)).interval(self.coverage)
        look = None if self._groups is None else self._groups.looking_at(chunk)
        w = chunk.weight
        sums, rows = one_pass(chunk.y, dist, w, self.coverage, self.rng, look)
        place = np.searchsorted(self.levels, rows.pit)
        self._counts += np.bincount(place, w, minlength=self.levels.size + 1)
        if self._groups is not None:
            self._groups.count(place, w)
        self._sums += sums
        self._weight.append(
            (float(len(chunk)), float(len(chunk))) if w is None else (float(w.sum()), float(w @ w))
        )
        self.n += len(chunk)
        if self._pit is None:
            self._rows.append(rows)
            if w is not None:
                self._kept_weights.append(w)
            if self.n > _ROWS:
                self._condense()
        else:
            self._condense_rows(self._pit, rows, w)

    def _condense(self) -> None:
        """Turn what is kept of every row so far into cells."""
        self._pit = PitHistogram()
        for i, rows in enumerate(self._rows):
            w = self._kept_weights[i] if self._kept_weights else None
            self._condense_rows(self._pit, rows, w)
        self._rows, self._kept_weights = [], []

    def _condense_rows(self, pit: PitHistogram, rows: Rows, w: FloatArray | None) -> None:
        pit.add(rows.pit if rows.uniform is None else rows.uniform, w)
        self._spread.add(rows.variance, rows.squared_error, w)

    def finish(self, transform: Transformer | None) -> FileEvaluation:
        """Return the results for all rows."""
        whole, squares = (add(parts) for parts in zip(*self._weight, strict=True))
        if not whole > 0:
            raise FileError(
                f"{self.source.path}, column {self.layout.weight!r} is 0 in every row; expected a "
                f"weight above 0 in at least one."
            )
        n_fit = None if transform is None else transform.n_fit()
        groups = {} if self._groups is None else self._groups.finish(transform)
        return FileEvaluation(self._overall(whole, squares, n_fit), groups, self._pit is None)

    def _overall(self, whole: float, squares: float, n_fit: float | None) -> Evaluation:
        if self._pit is None:
            w = np.concatenate(self._kept_weights) if self._kept_weights else None
            return judge(self._sums, _joined(self._rows), w, self.levels, self.coverage, n_fit)
        means = average(self._sums, whole)
        means["variance"], means["squared_error"] = self._spread.means()
        return conclude(
            self.n,
            whole**2 / squares,
            means,
            np.cumsum(self._counts)[:-1] / whole,
            self._pit.distance(),
            self._spread.ence(),
            self.levels,
            self.coverage,
            n_fit,
        )


def _joined(parts: list[Rows]) -> Rows:
    """Rows one after the other."""
    if len(parts) == 1:
        return parts[0]
    stepped = any(part.uniform is not None for part in parts)
    return Rows(
        np.concatenate([part.pit for part in parts]),
        np.concatenate([part.variance for part in parts]),
        np.concatenate([part.squared_error for part in parts]),
        np.concatenate([p.pit if p.uniform is None else p.uniform for p in parts])
        if stepped
        else None,
    )


class _GroupSums:
    """Sums by group."""

    def __init__(self, layout: Layout, source: Source, levels: FloatArray) -> None:
        self.where = f"{source.path}, column {layout.group!r}"
        self.levels = levels
        self.codes = GroupCodes()
        self._chunk: Codes = np.empty(0, dtype=np.int32)
        # Rows, weight, its square, the means' sums; then the counts at the levels.
        self._sums = np.zeros((3 + len(_GROUP_MEANS), 0))
        self._counts = np.zeros((0, levels.size + 1))

    def looking_at(self, chunk: Chunk) -> Callable[[slice, dict[str, FloatArray]], None]:
        """Return what `one_pass` shows the scores of this chunk to."""
        self._chunk = self.codes.encode(chunk.groups, self.where)
        more = len(self.codes.names) - self._counts.shape[0]
        self._sums = np.pad(self._sums, ((0, 0), (0, more)))
        self._counts = np.pad(self._counts, ((0, more), (0, 0)))
        return partial(self._take, w=chunk.weight)

    def _take(self, block: slice, scores: dict[str, FloatArray], w: FloatArray | None) -> None:
        """Add up a block."""
        codes = self._chunk[block]
        ones = np.ones(codes.size)
        weight = ones if w is None else w[block]
        columns = [ones, weight, weight**2, *(weight * scores[name] for name in _GROUP_MEANS)]
        for i, column in enumerate(columns):
            self._sums[i] += np.bincount(codes, column, minlength=self._sums.shape[1])

    def count(self, place: NDArray[np.intp], w: FloatArray | None) -> None:
        """Count the PIT values of the chunk between the levels."""
        width = self.levels.size + 1
        cell = self._chunk.astype(np.intp) * width + place
        counts = np.bincount(cell, w, minlength=self._counts.size)
        self._counts += counts.reshape(self._counts.shape)

    def finish(self, transform: Transformer | None) -> dict[str, GroupEvaluation]:
        """Results by group, in the order of their names."""
        ones = np.ones_like(self.levels)
        found = {}
        for i in sorted(range(len(self.codes.names)), key=self.codes.names.__getitem__):
            n, whole, squares, inside, width, crps = self._sums[:, i]
            if not whole > 0:
                continue
            name = self.codes.names[i]
            n_fit = None if transform is None else transform.n_fit(name)
            observed = np.cumsum(self._counts[i])[:-1] / whole
            found[str(name)] = GroupEvaluation(
                n=int(n),
                calibration_error=error_of(self.levels, observed, ones),
                calibration_floor=floor_of(self.levels, ones, whole**2 / squares, n_fit),
                coverage=float(inside / whole),
                interval_width=float(width / whole),
                crps=float(crps / whole),
            )
        return found
