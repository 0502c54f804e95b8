"""What an evaluation adds up: sums over any number of rows, in bounded memory, that merge."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.files._groups import Codes, GroupCodes
from trueline.metrics import Evaluation
from trueline.metrics._calibration import check_levels, error_of, floor_of
from trueline.metrics._evaluate import Rows, Sums, average, conclude, judge, one_pass
from trueline.metrics._mean import add
from trueline.metrics._sketch import PitHistogram, SpreadCells
from trueline.recalibration._grouped import Key

# Rows of which everything is kept; beyond, what needs sorting is counted in fine cells.
ROWS = 1 << 21
# What is averaged in each group.
_GROUP_MEANS = ("inside", "width", "crps")
_N_SUMS = 3 + len(_GROUP_MEANS)


@dataclass(frozen=True)
class GroupEvaluation:
    """Result of `trueline.files.evaluate` for one group.

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
    r"""Result of `trueline.files.evaluate`.

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
    >>> from trueline import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "forecasts.csv"
    ...     _ = file.write_text("y,mean,std\n1.5,1,1\n3,2,1\n2,3,1\n")
    ...     found = files.evaluate(file)
    >>> found.overall.n, found.overall.coverage, found.groups, found.exact
    (3, 1.0, {}, True)
    """

    overall: Evaluation
    groups: dict[str, GroupEvaluation]
    exact: bool


class Judging:
    """Sums over the rows so far, and what is needed of each, as it is or in cells.

    Parameters
    ----------
    coverage : float
        Of the central interval to look at.
    where : str, optional
        The column of the groups, for a message. Without it there are no groups.
    exact : bool, default True
        Whether to keep what is needed of every row while there are few. Both parts of a merge do
        or do not.

    Examples
    --------
    Parts add up to the whole:

    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.files._judging import Judging
    >>> y, rng = np.array([0.0, 1.0, 3.0]), np.random.default_rng(0)
    >>> parts = []
    >>> for rows in (slice(0, 1), slice(1, 3)):
    ...     part = Judging(0.9)
    ...     part.add(y[rows], tl.Normal(y[rows], 1.0), None, None, rng)
    ...     parts.append(part)
    >>> parts[0].merge(parts[1]).finish().overall.n
    3
    """

    def __init__(self, coverage: float, where: str | None = None, *, exact: bool = True) -> None:
        self.coverage = coverage
        self.n = 0
        self._levels = check_levels(None)
        self._sums: Sums = []
        self._rows: list[Rows] = []
        self._kept_weights: list[FloatArray] = []
        self._weight: list[tuple[float, float]] = []  # sums of w and of w^2
        self._counts = np.zeros(self._levels.size + 1)
        self._pit = None if exact else PitHistogram()
        self._spread = SpreadCells()
        self._groups = None if where is None else _GroupSums(where, self._levels)

    def add(
        self,
        y: FloatArray,
        dist: Distribution,
        w: FloatArray | None,
        groups: Any,
        rng: np.random.Generator,
    ) -> None:
        """Judge more rows, with their groups in an Arrow array."""
        if not self.n:
            # It warns where the levels lack support.
            dist._take(np.zeros(1, dtype=np.intp)).interval(self.coverage)
        look = None if self._groups is None else self._groups.looking_at(groups, w)
        sums, rows = one_pass(y, dist, w, self.coverage, rng, look)
        self._sums += sums
        self._weight.append(
            (float(y.size), float(y.size)) if w is None else (float(w.sum()), float(w @ w))
        )
        place = levels_below(self._levels, rows.pit)
        self._counts += np.bincount(place, w, minlength=self._counts.size)
        if self._groups is not None:
            self._groups.count(place, w)
        self.n += y.size
        if self._pit is None:
            self._rows.append(rows)
            if w is not None:
                self._kept_weights.append(w)
            self._condense_if_many()
        else:
            self._condense(self._pit, rows, w)

    def merge(self, other: Judging) -> Self:
        """Return the sums of both; neither changes."""
        merged = copy(self)
        merged.n = self.n + other.n
        merged._sums = self._sums + other._sums
        merged._weight = self._weight + other._weight
        merged._counts = self._counts + other._counts
        merged._spread = self._spread.merge(other._spread)
        merged._rows = self._rows + other._rows
        merged._kept_weights = self._kept_weights + other._kept_weights
        if self._pit is not None or other._pit is not None:
            merged._pit = (self._pit or PitHistogram()).merge(other._pit or PitHistogram())
        merged._condense_if_many()
        if self._groups is not None and other._groups is not None:
            merged._groups = self._groups.merge(other._groups)
        return merged

    def _condense_if_many(self) -> None:
        """Turn what is kept of every row into cells once there are too many, or cells already."""
        if self._pit is None and self.n <= ROWS:
            return
        pit = PitHistogram() if self._pit is None else self._pit
        for i, rows in enumerate(self._rows):
            self._condense(pit, rows, self._kept_weights[i] if self._kept_weights else None)
        self._pit, self._rows, self._kept_weights = pit, [], []

    def _condense(self, pit: PitHistogram, rows: Rows, w: FloatArray | None) -> None:
        pit.add(rows.pit if rows.uniform is None else rows.uniform, w)
        self._spread.add(rows.variance, rows.squared_error, w)

    def finish(
        self,
        n_fit: Callable[[Key | None], float] | None = None,
    ) -> FileEvaluation | None:
        """Return the results for all rows; None if they have no weight.

        ``n_fit`` says how many rows the map of a group was fitted on, and that of all for None.
        """
        whole, squares = (add(parts) for parts in zip(*self._weight, strict=True))
        if not whole > 0:
            return None
        groups = {} if self._groups is None else self._groups.finish(n_fit)
        overall = self._overall(whole, squares, None if n_fit is None else n_fit(None))
        return FileEvaluation(overall, groups, self._pit is None)

    def _overall(self, whole: float, squares: float, n_fit: float | None) -> Evaluation:
        if self._pit is None:
            w = np.concatenate(self._kept_weights) if self._kept_weights else None
            return judge(self._sums, joined(self._rows), w, self._levels, self.coverage, n_fit)
        means = average(self._sums, whole)
        means["variance"], means["squared_error"] = self._spread.means()
        return conclude(
            self.n,
            whole**2 / squares,
            means,
            np.cumsum(self._counts)[:-1] / whole,
            self._pit.distance(),
            self._spread.ence(),
            self._levels,
            self.coverage,
            n_fit,
        )


def levels_below(levels: FloatArray, u: FloatArray) -> NDArray[np.intp]:
    """Return how many of the levels lie below each value."""
    # A pass for each of a few levels is faster than a search, whose branches are unpredictable.
    place = np.zeros(u.size, dtype=np.uint8)
    for level in levels:
        place += u > level
    return place.astype(np.intp)


def joined(parts: list[Rows]) -> Rows:
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

    def __init__(self, where: str, levels: FloatArray) -> None:
        self.where = where
        self.levels = levels
        self.codes = GroupCodes()
        self._chunk: Codes = np.empty(0, dtype=np.int32)
        # Rows, weight, its square, the means' sums; then the weight between the levels.
        self._sums = np.zeros((_N_SUMS + levels.size + 1, 0))

    def looking_at(
        self, groups: Any, w: FloatArray | None
    ) -> Callable[[slice, dict[str, FloatArray]], None]:
        """Return what `one_pass` shows the scores of rows of these groups to."""
        self._chunk = self.codes.encode(groups, self.where)
        self._widen()
        return partial(self._take, w=w)

    def _widen(self) -> None:
        more = len(self.codes.names) - self._sums.shape[1]
        self._sums = np.pad(self._sums, ((0, 0), (0, more)))

    def _take(self, block: slice, scores: dict[str, FloatArray], w: FloatArray | None) -> None:
        """Add up a block."""
        codes = self._chunk[block]
        ones = np.ones(codes.size)
        weight = ones if w is None else w[block]
        columns = [ones, weight, weight**2, *(weight * scores[name] for name in _GROUP_MEANS)]
        for i, column in enumerate(columns):
            self._sums[i] += np.bincount(codes, column, minlength=self._sums.shape[1])

    def count(self, place: NDArray[np.intp], w: FloatArray | None) -> None:
        """Count the PIT values of the rows between the levels."""
        groups = self._sums.shape[1]
        counts = np.bincount(place * groups + self._chunk, w, minlength=self._sums[_N_SUMS:].size)
        self._sums[_N_SUMS:] += counts.reshape(-1, groups)

    def merge(self, other: _GroupSums) -> Self:
        """Return the sums of both; neither changes."""
        merged = copy(self)
        merged.codes = GroupCodes()
        merged.codes.add(self.codes.names, self.where)
        place = merged.codes.add(other.codes.names, self.where)
        merged._sums = self._sums
        merged._widen()  # a copy
        merged._sums[:, place] += other._sums
        return merged

    def finish(self, n_fit: Callable[[Key | None], float] | None) -> dict[str, GroupEvaluation]:
        """Results by group, in the order of their names."""
        ones = np.ones_like(self.levels)
        found = {}
        for i in sorted(range(len(self.codes.names)), key=self.codes.names.__getitem__):
            n, whole, squares, inside, width, crps, *counts = self._sums[:, i].tolist()
            if not whole > 0:
                continue
            name = self.codes.names[i]
            rows = None if n_fit is None else n_fit(name)
            observed = np.cumsum(counts)[:-1] / whole
            found[str(name)] = GroupEvaluation(
                n=int(n),
                calibration_error=error_of(self.levels, observed, ones),
                calibration_floor=floor_of(self.levels, ones, whole**2 / squares, rows),
                coverage=inside / whole,
                interval_width=width / whole,
                crps=crps / whole,
            )
        return found
