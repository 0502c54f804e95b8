"""Evaluation of any number of rows in bounded memory: parts are added, merged and finished."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from trueline._messages import count, printable
from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.metrics._atoms import AtomSums
from trueline.metrics._calibration import check_levels, error_of, floor_of
from trueline.metrics._evaluate import (
    Context,
    Evaluation,
    Rows,
    Sums,
    average,
    conclude,
    judge,
    one_pass,
)
from trueline.metrics._pit import Ecdf
from trueline.metrics._rows import add, levels_below
from trueline.metrics._spread import N_BINS, binned_error
from trueline.scores import Cells

# Scores that are averaged per group.
_GROUP_MEANS = ("inside", "expected", "width", "crps")
_N_SUMS = 3 + len(_GROUP_MEANS)
# Number of groups that a printed result lists.
_MOST_SHOWN = 20
# Number of bins of the PIT values of many rows.
_BINS = 1 << 20

Codes = NDArray[np.integer[Any]]
# Returns the number of rows that the map of a group was fitted on, for None that of all rows.
FitRows = Callable[[Any], float]


@dataclass(frozen=True)
class GroupEvaluation:
    """Results for one group of a `FileEvaluation`: n rows, and fields of an `Evaluation`.

    Examples
    --------
    >>> from trueline.metrics import GroupEvaluation
    >>> GroupEvaluation(100, 0.02, 0.0165, 0.91, 0.9, interval_width=3.2, crps=0.5).coverage
    0.91
    """

    n: int
    calibration_error: float
    calibration_floor: float
    coverage: float
    coverage_expected: float
    interval_width: float
    crps: float


@dataclass(frozen=True, repr=False)
class FileEvaluation:
    r"""Result of evaluating rows that are read part by part, such as those of a file.

    Attributes
    ----------
    overall : Evaluation
        Results for all rows.
    groups : dict
        A `GroupEvaluation` for the name of each group; empty without groups.
    exact : bool
        False if there were too many rows to sort: the p-value and the ENCE are then computed from
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

    def __repr__(self) -> str:
        """Return the evaluation of all rows, and one line for each of the first groups."""
        lines = [
            f"  {printable(name)}: {count(group.n, 'row')}, coverage {group.coverage:.4g}, "
            f"CRPS {group.crps:.4g}"
            for name, group in islice(self.groups.items(), _MOST_SHOWN)
        ]
        head = [count(len(self.groups), "group")] if self.groups else []
        more = ["  ..."] if len(self.groups) > _MOST_SHOWN else []
        return "\n".join([repr(self.overall), *head, *lines, *more])


class EvaluationAccumulator:
    """Evaluation of rows that come in parts: `add` parts, `merge` accumulators, then `finish`.

    Parameters
    ----------
    coverage : float
        Probability of the central interval to evaluate.
    grouped : bool, default False
        Whether rows have groups, with results for each.
    exact : bool, default True
        Whether to keep every row while there are at most ``most_rows``. Accumulators that are
        merged must agree on it.

    Attributes
    ----------
    n : int
        Number of rows so far.
    most_rows : int
        Number of rows up to which every row is kept; beyond it, what needs sorting is counted in
        cells.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.metrics import EvaluationAccumulator
    >>> rng = np.random.default_rng(0)
    >>> first, second = EvaluationAccumulator(0.9), EvaluationAccumulator(0.9)
    >>> first.add(np.array([0.0]), tl.Normal([0.0], 1.0), None, rng)
    >>> second.add(np.array([1.0, 3.0]), tl.Normal([1.0, 2.0], 1.0), None, rng)
    >>> first.merge(second).finish().overall.n
    3
    """

    most_rows: ClassVar[int] = 1 << 21

    def __init__(self, coverage: float, *, grouped: bool = False, exact: bool = True) -> None:
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
        self._atoms = AtomSums()
        self._draws: int | None = None
        self._groups = _GroupSums(self._levels) if grouped else None

    @property
    def group_names(self) -> list[Any]:
        """Names of the groups so far, in the order in which they came."""
        return [] if self._groups is None else self._groups.names

    def add(
        self,
        y: FloatArray,
        dist: Distribution,
        w: FloatArray | None,
        rng: np.random.Generator,
        codes: Codes | None = None,
        names: Sequence[Hashable] = (),
    ) -> None:
        """Evaluate more rows.

        Parameters
        ----------
        y, w : (n,) array
            Outcomes and weights; None stands for equal weights.
        dist : Distribution
            The n forecasts.
        rng : numpy.random.Generator
            Used where the forecast has steps.
        codes : (n,) array of int, optional
            Position of each row's group in ``names``.
        names : sequence
            Names of groups.
        """
        if not self.n:
            # It warns where the levels lack support.
            dist._take(np.zeros(1, dtype=np.intp)).interval(self.coverage)
            self._draws = dist._draw_count
        look = None
        if self._groups is not None and codes is not None:
            look = self._groups.add(codes, names, w)
        sums, rows = one_pass(y, dist, w, self.coverage, rng, self._atoms, look)
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

    def merge(self, other: EvaluationAccumulator) -> Self:
        """Return the accumulator of the rows of both; neither changes."""
        merged = copy(self)
        merged.n = self.n + other.n
        merged._sums = self._sums + other._sums
        merged._weight = self._weight + other._weight
        merged._counts = self._counts + other._counts
        merged._spread = self._spread.merge(other._spread)
        merged._atoms = self._atoms.merge(other._atoms)
        merged._draws = other._draws if self._draws is None else self._draws
        merged._rows = self._rows + other._rows
        merged._kept_weights = self._kept_weights + other._kept_weights
        if self._pit is not None or other._pit is not None:
            merged._pit = (self._pit or PitHistogram()).merge(other._pit or PitHistogram())
        merged._condense_if_many()
        if self._groups is not None and other._groups is not None:
            merged._groups = self._groups.merge(other._groups)
        return merged

    def _condense_if_many(self, most: int | None = None) -> None:
        """Count the kept rows in cells if there are too many, or if others are in cells."""
        if self._pit is None and self.n <= (self.most_rows if most is None else most):
            return
        pit = PitHistogram() if self._pit is None else self._pit
        for i, rows in enumerate(self._rows):
            self._condense(pit, rows, self._kept_weights[i] if self._kept_weights else None)
        self._pit, self._rows, self._kept_weights = pit, [], []

    def _condense(self, pit: PitHistogram, rows: Rows, w: FloatArray | None) -> None:
        pit.add(rows.pit, w)
        self._spread.add(rows.variance, rows.squared_error, w)

    def finish(self, n_fit: FitRows | None = None) -> FileEvaluation | None:
        """Return the results for all rows; None if their weights are 0.

        ``n_fit`` is called with the name of a group, or with None for all rows, and returns the
        number of rows that its map was fitted on.
        """
        whole, squares = (add(parts) for parts in zip(*self._weight, strict=True))
        if not whole > 0:
            return None
        groups = {} if self._groups is None else self._groups.finish(n_fit)
        overall = self._overall(whole, squares, None if n_fit is None else n_fit(None))
        return FileEvaluation(overall, groups, self._pit is None)

    def _overall(self, whole: float, squares: float, n_fit: float | None) -> Evaluation:
        context = Context(self._levels, self.coverage, n_fit, self._draws)
        if self._pit is None:
            w = np.concatenate(self._kept_weights) if self._kept_weights else None
            return judge(self._sums, _joined(self._rows), w, self._atoms, context)
        means = average(self._sums, whole)
        means["variance"], means["squared_error"] = self._spread.means()
        observed = np.cumsum(self._counts)[:-1] / whole
        n_effective = whole**2 / squares
        test, ence = self._pit.test(n_effective, n_fit), self._spread.ence()
        atoms = self._atoms.finish(whole, n_effective, n_fit)
        return conclude(self.n, n_effective, means, observed, test, ence, atoms, context)

    def to_state(self, most_rows: int) -> dict[str, Any]:
        """Return numbers and arrays that `from_state` reads; above `most_rows` rows, in cells."""
        names = list(self._sums[0])
        state: dict[str, Any] = {
            "n": self.n,
            "names": names,
            "sums": np.array([add([part[name] for part in self._sums]) for name in names]),
            "weight": np.array([add(parts) for parts in zip(*self._weight, strict=True)]),
            "counts": self._counts,
            "draws": self._draws,
            "atoms": self._atoms.to_state(),
        }
        self._condense_if_many(most_rows)
        if self._pit is None:
            state["rows"] = list(_joined(self._rows))
            kept = self._kept_weights
            state["weights"] = [np.concatenate(kept)] if kept else []
        else:
            state["pit"] = list(self._pit.to_state())
            state["spread"] = list(self._spread.to_state())
        if self._groups is not None:
            state["groups"] = self._groups.names
            state["group_sums"] = self._groups.sums.ravel()
        return state

    @classmethod
    def from_state(cls, state: dict[str, Any], coverage: float) -> Self:
        """Return the accumulator that `to_state` described."""
        made = cls(coverage, grouped="groups" in state)
        made.n = state["n"]
        made._sums = [dict(zip(state["names"], state["sums"].tolist(), strict=True))]
        made._weight = [tuple(state["weight"].tolist())]
        made._counts = state["counts"]
        made._draws = state["draws"]
        made._atoms = AtomSums.from_state(state["atoms"])
        if "rows" in state:
            made._rows = [Rows(*state["rows"])]
            made._kept_weights = state["weights"]
        else:
            made._pit = PitHistogram.from_state(state["pit"])
            made._spread = SpreadCells.from_state(state["spread"])
        if made._groups is not None:
            made._groups.place(state["groups"])
            made._groups.sums = state["group_sums"].reshape(-1, len(state["groups"]))
        return made


def _joined(parts: list[Rows]) -> Rows:
    """Concatenate rows."""
    if len(parts) == 1:
        return parts[0]
    return Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class _GroupSums:
    """Sums by group, in the order in which the groups came.

    The rows of ``sums`` are the number of rows, their weight, its square, the sums of the scores
    that are averaged, and then the weight of the PIT values between the levels.
    """

    def __init__(self, levels: FloatArray) -> None:
        self.levels = levels
        self.names: list[Any] = []
        self.sums = np.zeros((_N_SUMS + levels.size + 1, 0))
        self._code: dict[Any, int] = {}
        self._chunk: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def place(self, names: Sequence[Any]) -> NDArray[np.intp]:
        """Return the column of each group, a new one where the name is new."""
        columns = [self._code.setdefault(name, len(self._code)) for name in names]
        self.names = list(self._code)
        more = len(self.names) - self.sums.shape[1]
        self.sums = np.pad(self.sums, ((0, 0), (0, more)))  # a copy
        return np.asarray(columns, dtype=np.intp)

    def add(
        self, codes: Codes, names: Sequence[Any], w: FloatArray | None
    ) -> Callable[[slice, dict[str, FloatArray]], None]:
        """Begin a part; return the function that `one_pass` calls with the scores of a block."""
        self._chunk = self.place(names)[codes]
        return partial(self._take, w=w)

    def _take(self, block: slice, scores: dict[str, FloatArray], w: FloatArray | None) -> None:
        """Add the scores of a block."""
        codes = self._chunk[block]
        ones = np.ones(codes.size)
        weight = ones if w is None else w[block]
        columns = [ones, weight, weight**2, *(weight * scores[name] for name in _GROUP_MEANS)]
        for i, column in enumerate(columns):
            self.sums[i] += np.bincount(codes, column, minlength=self.sums.shape[1])

    def count(self, place: NDArray[np.intp], w: FloatArray | None) -> None:
        """Count the PIT values of the part between the levels."""
        groups = self.sums.shape[1]
        counts = np.bincount(place * groups + self._chunk, w, minlength=self.sums[_N_SUMS:].size)
        self.sums[_N_SUMS:] += counts.reshape(-1, groups)

    def merge(self, other: _GroupSums) -> Self:
        """Return the sums of both; neither changes."""
        merged = copy(self)
        merged._code = dict(self._code)
        place = merged.place(other.names)
        merged.sums[:, place] += other.sums
        return merged

    def finish(self, n_fit: FitRows | None) -> dict[str, GroupEvaluation]:
        """Return the results by group, in the order of their names."""
        ones = np.ones_like(self.levels)
        found = {}
        for i in sorted(range(len(self.names)), key=self.names.__getitem__):
            n, whole, squares, inside, expected, width, crps, *counts = self.sums[:, i].tolist()
            if not whole > 0:
                continue
            name = self.names[i]
            rows = None if n_fit is None else n_fit(name)
            observed = np.cumsum(counts)[:-1] / whole
            found[str(name)] = GroupEvaluation(
                n=int(n),
                calibration_error=error_of(self.levels, observed, ones),
                calibration_floor=floor_of(self.levels, ones, whole**2 / squares, rows),
                coverage=inside / whole,
                coverage_expected=expected / whole,
                interval_width=width / whole,
                crps=crps / whole,
            )
        return found


@dataclass(eq=False)
class PitHistogram:
    """Weight of the PIT values in 2^20 bins: the Kolmogorov-Smirnov statistic within 1e-6."""

    weight: FloatArray = field(default_factory=lambda: np.zeros(_BINS))

    def add(self, u: FloatArray, w: FloatArray | None) -> None:
        """Add values."""
        # Bin b holds the values above b / 2^20, up to (b + 1) / 2^20.
        at = np.ceil(u * _BINS)
        at -= 1.0
        bins = np.maximum(at, 0.0, out=at).astype(np.intp)
        np.add.at(self.weight, bins, 1.0 if w is None else w)

    def merge(self, other: PitHistogram) -> PitHistogram:
        """Return the histogram of both; neither changes."""
        return PitHistogram(self.weight + other.weight)

    def test(self, n_effective: float, n_fit: float | None = None) -> tuple[float, float]:
        """Return the results of `Ecdf.test`, with each value at the upper end of its bin."""
        filled, weight = self.to_state()
        return Ecdf((filled + 1.0) / _BINS, weight).test(n_effective, n_fit)

    def to_state(self) -> tuple[FloatArray, FloatArray]:
        """Return the positions of the bins that are not empty, and their weights."""
        filled = np.flatnonzero(self.weight)
        return filled.astype(np.float64), self.weight[filled]

    @classmethod
    def from_state(cls, state: Sequence[FloatArray]) -> Self:
        """Return the histogram that `to_state` described."""
        bins, weight = state
        made = cls()
        made.weight[bins.astype(np.intp)] = weight
        return made


@dataclass(eq=False)
class SpreadCells:
    """Mean variance and squared error of rows with nearly the same variance.

    Rows whose variances agree in 16 bits of mantissa share a cell, and therefore a bin of the ENCE.
    Means over all rows and over a bin are exact.
    """

    cells: Cells = field(default_factory=lambda: Cells(3))

    def add(self, variance: FloatArray, squared_error: FloatArray, w: FloatArray | None) -> None:
        """Add rows."""
        if w is None:
            self.cells.add(variance, 1.0, variance, squared_error)
            return
        kept = w > 0  # 0 times infinity is NaN
        w, variance, squared_error = w[kept], variance[kept], squared_error[kept]
        self.cells.add(variance, w, w * variance, w * squared_error)

    def merge(self, other: SpreadCells) -> SpreadCells:
        """Return the cells of both; neither changes."""
        return SpreadCells(self.cells.merge(other.cells))

    def means(self) -> tuple[float, float]:
        """Mean variance and mean squared error."""
        _, (weight, *sums) = self.cells.filled()
        variance, squared_error = (float(s.sum() / weight.sum()) for s in sums)
        return variance, squared_error

    def ence(self) -> float:
        """Expected normalised calibration error."""
        _, (weight, variance, squared_error) = self.cells.filled()
        return binned_error(variance / weight, squared_error / weight, N_BINS, weight)

    def to_state(self) -> tuple[FloatArray, ...]:
        """Return the variance and the sums of the cells that are not empty."""
        variance, sums = self.cells.filled()
        return variance, *sums

    @classmethod
    def from_state(cls, state: Sequence[FloatArray]) -> Self:
        """Return the cells that `to_state` described."""
        made = cls()
        made.cells.add(*state)
        return made
