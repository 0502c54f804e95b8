"""What ``partial_fit``, files, clusters and batches add up: the scores of any number of rows.

Up to a limit of distinct values scores are kept as they are. Beyond, they are rounded to 16 bits of
mantissa, which moves no score by more than a share of 2^-17 (7.6e-6) of itself, and rows with the
same value are counted. Rounding depends on the score alone and counts add up, so merged parts equal
the whole to the last bit, except for sums of weights, which round. Rows on atoms of their forecasts
have intervals of scores, which count as values. Beyond the limit they are spread over points by a
normal law, which is learned when the limit is reached, and rounded.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trueline._validation import CalibrationWarning, FloatArray
from trueline.documents import decode, encode
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._document import (
    check_kind_of_score,
    groups_from_json,
    preparation_from_json,
    scores_from_json,
    scores_to_json,
)
from trueline.recalibration._preparation import Preparation, check_same_preparation
from trueline.scores import (
    Cells,
    Exact,
    Key,
    ScoreRows,
    Scores,
    check_total_weight,
    collapse,
    combine,
    combine_all,
    sum_of_squares,
)

#: Distinct scores that are kept as they are: 8 MiB of them.
LIMIT = 1 << 20
# Rows that wait unsorted, enough to show that more scores differ than are kept as they are. Sorting
# many at once costs less than merging what was sorted in parts.
_WAITING = LIMIT + (1 << 16)
_SMALLEST_BUFFER = 1 << 10
# From this number of rows on, counting rounded scores in cells is faster than sorting them.
_COUNTED = 1 << 14
# Knots that the groups of a compressed map share, and the fewest that each of them has.
_KNOTS = 1 << 20
_FEWEST_KNOTS = 256
# With fewer knots the map of a group would be off by more than its rows leave open.
_FEWEST_IN_MAP = 500


class State:
    """Scores that more can be added to, and that merge.

    Parameters
    ----------
    kind : str
        The ``score_kind`` of the forecasts that the scores come from.
    limit : int, optional
        Number of distinct values up to which the scores are exact, by default 2^20.
    """

    def __init__(self, kind: str, limit: int | None = None) -> None:
        self.kind = kind
        self.limit = LIMIT if limit is None else limit
        self._sorted: Scores | None = None
        self._cells: Cells | None = None
        # Sum of the weights of the rows in the cells, and of their squares.
        self._counted = np.zeros(2)
        # The law by which intervals are spread once scores are rounded.
        self._normal: tuple[float, float] | None = None
        # Waiting rows: lower ends of their intervals, upper ends if any differ, and weights.
        self._buffer = np.empty(0)
        self._upper: FloatArray | None = None
        self._weights: FloatArray | None = None
        self._held = 0

    @classmethod
    def of(cls, scores: Scores, limit: int | None = None) -> Self:
        """Return a state that holds some scores."""
        state = cls(scores.kind, limit)
        state._push(scores)
        return state

    def add(self, rows: ScoreRows) -> None:
        """Add rows with scores in range and positive weights."""
        if self._is_rounded and len(rows) >= _COUNTED and not rows.are_intervals:
            self._take(rows)
        elif self._held + len(rows) <= _WAITING:
            self._wait(rows)
        else:
            self._take(ScoreRows.concatenate([self._pop_waiting(), rows]))

    def merge(self, other: State) -> Self:
        """Return a state of both; neither changes."""
        merged = copy(self)
        merged._buffer = self._buffer.copy()
        merged._upper = None if self._upper is None else self._upper.copy()
        merged._weights = None if self._weights is None else self._weights.copy()
        merged._normal = self._normal or other._normal
        if self._cells is not None or other._cells is not None:
            mine, theirs = (Cells(1) if c is None else c for c in (self._cells, other._cells))
            merged._cells = mine.merge(theirs)
            merged._counted = self._counted + other._counted
        if other._sorted is not None:
            merged._push(other._sorted)
        if other._held:
            merged.add(other._waiting_rows())
        return merged

    def scores(self) -> Scores:
        """Return all scores, sorted; there must be at least one."""
        self._flush()
        if self._cells is not None:
            values, (weight,) = self._cells.filled()
            total, squares = self._counted.tolist()
            self._cells, self._counted = None, np.zeros(2)
            if len(values):
                parts = collapse(values, weight)
                kept = None if squares == total else squares
                self._push(Exact(self.kind, *parts, rounded=True, squares=kept))
        if self._sorted is None:
            raise ValueError("a state holds no rows; expected at least one.")
        return self._sorted

    def __len__(self) -> int:
        """Return the number of waiting rows and distinct values."""
        counted = 0 if self._cells is None else len(self._cells)
        return self._held + counted + (0 if self._sorted is None else len(self._sorted))

    @property
    def _is_rounded(self) -> bool:
        return self._cells is not None or (self._sorted is not None and self._sorted.rounded)

    def _wait(self, rows: ScoreRows) -> None:
        """Copy rows to the buffer."""
        w, stop = rows.weights, self._held + len(rows)
        if stop > self._buffer.size:
            size = min(max(4 * stop, _SMALLEST_BUFFER), max(_WAITING, stop))
            self._buffer = _longer(self._buffer, size)
            if self._upper is not None:
                self._upper = _longer(self._upper, size)
            if self._weights is not None:
                self._weights = _longer(self._weights, size)
        if rows.are_intervals and self._upper is None:
            self._upper = self._buffer.copy()
        if w is not None and self._weights is None:
            self._weights = np.ones(self._buffer.size)
        self._buffer[self._held : stop] = rows.lower
        if self._upper is not None:
            self._upper[self._held : stop] = rows.upper
        if self._weights is not None:
            self._weights[self._held : stop] = 1.0 if w is None else w
        self._held = stop

    def _waiting_rows(self) -> ScoreRows:
        w = None if self._weights is None else self._weights[: self._held]
        lower = self._buffer[: self._held]
        upper = lower if self._upper is None else self._upper[: self._held]
        return ScoreRows(self.kind, lower, upper, w)

    def _pop_waiting(self) -> ScoreRows:
        rows = self._waiting_rows()
        self._buffer, self._upper, self._weights, self._held = np.empty(0), None, None, 0
        return rows

    def _flush(self) -> None:
        if self._held:
            self._take(self._pop_waiting())

    def _take(self, rows: ScoreRows) -> None:
        """Sort rows, which overwrites them, or count them in cells if scores are rounded."""
        if rows.are_intervals:
            self._push(rows.sort())
            return
        if not self._is_rounded or len(rows) < _COUNTED:
            part = rows.sort()
            # If the first scores are too many, counting their rows is faster than rounding them.
            if self._is_rounded or self._sorted is not None or len(part.values) <= self.limit:
                self._push(part)
                return
        if self._cells is None:
            self._cells = Cells(1)
        w = rows.weights
        total = float(len(rows) if w is None else w.sum())
        self._counted = self._counted + np.array([total, sum_of_squares(w) or total])
        self._cells.add(rows.lower, 1.0 if w is None else w)

    def _push(self, part: Scores) -> None:
        if self._is_rounded:
            part = part.spread_by(self._normal)
        joined = part if self._sorted is None else combine(self._sorted, part)
        if len(joined) > self.limit:
            self._normal = self._normal or joined.normal_law()
            joined = joined.spread_by(self._normal).round()
        self._sorted = joined


class ScoreAccumulator:
    """Scores of any number of rows, of all rows together or by group, in bounded memory.

    Scores are exact up to 2^20 distinct values, per group if there are groups; beyond, they are
    rounded by a share of at most 2^-17 of themselves. The result does not depend on the order of
    rows or on how they are split and merged, except for the rounding of sums of weights.

    Parameters
    ----------
    kind : str
        The ``score_kind`` of the forecasts that the scores come from.
    max_values : int, optional
        Number of values that the groups may hold together. Beyond, groups are compressed, and
        the ``compression_error_`` of the map bounds the change; the scores of all rows are then
        kept apart from those of the groups. By default groups are never compressed.
    preparation : Preparation, optional
        How the forecasts were prepared before they were scored, by default not at all. It is
        the same for all parts that are merged, and becomes part of the map.

    Attributes
    ----------
    n : int
        Number of rows with a weight above 0.
    excluded : int
        Number of these whose outcomes prepared forecasts exclude, if rows have their outcomes.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.recalibration import ScoreAccumulator, ScoreRows
    >>> parts = []
    >>> for scores in ([1.0, -1.0], [5.0]):
    ...     part = ScoreAccumulator("residual")
    ...     part.add(ScoreRows.of_scores(scores, kind="residual"))
    ...     parts.append(part)
    >>> parts[0].merge(parts[1]).finish(tl.Isotonic()).scores_.values
    array([-1.,  1.,  5.])
    """

    def __init__(
        self,
        kind: str,
        max_values: int | None = None,
        preparation: Preparation = Preparation(),  # noqa: B008  # it is frozen
    ) -> None:
        self.kind = kind
        self.preparation = preparation
        self.n = 0
        self.excluded = 0
        self._max_values = max_values
        self._all: State | None = None
        self._groups: dict[Key, State] = {}
        # Parts of groups that were compressed, with the number of times they were joined.
        self._compressed: list[tuple[int, dict[Key, Scores]]] = []

    @classmethod
    def of(
        cls,
        scores: Scores,
        by_group: dict[Key, Scores],
        preparation: Preparation = Preparation(),  # noqa: B008  # it is frozen
    ) -> Self:
        """Return an accumulator that holds the scores of a fitted map."""
        made = cls(scores.kind, preparation=preparation)
        made.n = max(round(scores.total), 1)
        made._groups = {key: State.of(part) for key, part in by_group.items()}
        if not by_group:
            made._all = State.of(scores)
        return made

    def add(
        self,
        rows: ScoreRows,
        codes: NDArray[np.integer[Any]] | None = None,
        names: Sequence[Key] = (),
    ) -> None:
        """Add rows; if something is wrong with them, nothing changes.

        If there are groups, `codes` holds the place of each row's group in `names`.
        """
        if codes is not None and rows.weights is not None:
            codes = codes[rows.weights > 0]
        rows = rows.weighted()
        self.n += len(rows)
        if not len(rows):
            return
        if rows.outcomes is not None:
            self.excluded += int(np.count_nonzero(self.preparation.excludes(rows.outcomes)))
        if codes is not None:
            for name, part in rows_by_group(rows, codes, names):
                if name not in self._groups:
                    self._groups[name] = State(self.kind)
                self._groups[name].add(part)
            self._compress_if_many()
        if codes is None or self._max_values is not None:
            if self._all is None:
                self._all = State(self.kind)
            self._all.add(rows)

    def warn_if_excluded(self, known: int = 0, stacklevel: int = 3) -> None:
        """Warn if more than `known` outcomes are impossible by what the first rows suggested."""
        if self.excluded > known:
            warnings.warn(
                f"{self.excluded:,} of {self.n:,} outcomes are not among the values that the first "
                f"rows suggest ({self.preparation}), and the forecasts exclude them. State the "
                f"values that can occur with support, or allow every number with support=None.",
                CalibrationWarning,
                stacklevel=stacklevel,
            )

    def merge(self, other: ScoreAccumulator) -> Self:
        """Return the scores of both; neither changes."""
        check_same_preparation(self.preparation, other.preparation)
        merged = copy(self)
        merged.n = self.n + other.n
        merged.excluded = self.excluded + other.excluded
        merged._all = _merged(self._all, other._all)
        keys = dict.fromkeys([*self._groups, *other._groups])
        states = {key: _merged(self._groups.get(key), other._groups.get(key)) for key in keys}
        merged._groups = {key: state for key, state in states.items() if state is not None}
        merged._compressed = self._compressed.copy()
        for joins, part in other._compressed:
            merged._push(joins, part)
        merged._compress_if_many()
        return merged

    @property
    def names(self) -> list[Key]:
        """The groups seen, numbers before strings."""
        found = {*self._groups, *(key for _, part in self._compressed for key in part)}
        return in_order(found)

    def scores(self) -> Scores:
        """Return the sorted scores of all rows; there must be at least one row."""
        if self._all is not None:
            return self._all.scores()
        return combine_all(list(self.group_scores().values()))

    def group_scores(self) -> dict[Key, Scores]:
        """Return the sorted scores of each group."""
        parts = [part for _, part in self._compressed]
        found = _union([*parts, {key: state.scores() for key, state in self._groups.items()}])
        return {key: found[key] for key in self.names}

    def finish(
        self, recalibrator: Recalibrator, max_knots: int | None = None, *, warn: bool = False
    ) -> Recalibrator:
        """Return the map of all rows; there must be at least one row.

        Parameters
        ----------
        recalibrator : Recalibrator
            A recalibrator that ``learns_from_scores``. It is not changed.
        max_knots : int, optional
            Number of scores to keep; each group keeps as many, but all groups together no more
            than 2^20, or 500 each if that is more. By default all are kept.
        warn : bool, default False
            Whether to warn of ties and small weights, as ``fit`` does, and of outcomes that the
            preparation, which is learned from the first rows, excludes.
        """
        made = recalibrator._unfitted_copy()
        made._check_params()
        pooled, by_group = self.scores(), self.group_scores()
        check_total_weight(pooled.total)
        if warn and not pooled.rounded:  # rounding ties scores that differ
            pooled.warn_if_weak(self.n)
        if warn:
            self.warn_if_excluded(stacklevel=4)
        if max_knots is not None:
            pooled = pooled.compress(max_knots)
            if by_group:
                share = _share([len(part) for part in by_group.values()], _KNOTS)
                share = min(max(share, _FEWEST_IN_MAP), max_knots)
                by_group = {key: part.compress(share) for key, part in by_group.items()}
        return made._learn(pooled, by_group)._prepared_by(self.preparation)

    def to_bytes(self) -> bytes:
        """Return what `from_bytes` reads; an accumulator without rows gives no bytes."""
        if not self.n:
            return b""
        document: dict[str, Any] = {"kind": self.kind, "n": self.n, "excluded": self.excluded}
        document |= {"scores": None, "groups": None, "preparation": self.preparation.to_json()}
        if self._all is not None:
            document["scores"] = scores_to_json(self._all.scores())
        if self._groups or self._compressed:
            document["groups"] = [[k, scores_to_json(s)] for k, s in self.group_scores().items()]
        return encode(document)

    @classmethod
    def from_bytes(cls, data: bytes, max_bytes: int) -> Self:
        """Return the accumulator that `to_bytes` wrote, if its arrays fit in `max_bytes`."""
        document = decode(data, json.loads, _expect, max_bytes)
        fields = {"kind", "n", "excluded", "scores", "groups", "preparation"}
        _expect(isinstance(document, dict) and set(document) == fields, "a field is missing")
        preparation = preparation_from_json(document["preparation"])
        made = cls(check_kind_of_score(document["kind"]), preparation=preparation)
        made.n, made.excluded = document["n"], document["excluded"]
        whole = type(made.n) is int and type(made.excluded) is int
        _expect(whole and 0 <= made.excluded <= made.n > 0, "a number of rows is not possible")
        if document["scores"] is not None:
            made._all = State.of(scores_from_json(document["scores"]))
        if document["groups"] is not None:
            groups = groups_from_json(document["groups"], made.kind)
            made._groups = {key: State.of(part) for key, part in groups.items()}
        return made

    def _compress_if_many(self) -> None:
        most = self._max_values
        if most is None or sum(map(len, self._groups.values())) <= most:
            return
        found = {key: state.scores() for key, state in self._groups.items()}
        if sum(map(len, found.values())) > most:  # ties count once
            self._push(1, found)
            self._groups = {}

    def _push(self, joins: int, part: dict[Key, Scores]) -> None:
        """Add a compressed part; parts of equal size are joined, so that each is joined rarely."""
        part = _fewer_knots(part)
        while self._compressed and self._compressed[-1][0] <= joins:
            more, before = self._compressed.pop()
            part, joins = _fewer_knots(_union([before, part])), joins + more
        self._compressed.append((joins, part))


def _longer(a: FloatArray, size: int) -> FloatArray:
    return np.concatenate([a, np.empty(size - a.size)])


def in_order(keys: Iterable[Key]) -> list[Key]:
    """Sort the names of groups, numbers before strings."""
    return sorted(keys, key=lambda key: (isinstance(key, str), key))


def rows_by_group(
    rows: ScoreRows, codes: NDArray[np.integer[Any]], names: Sequence[Key]
) -> Iterator[tuple[Key, ScoreRows]]:
    """Yield each group that has rows, in the order of `names`, and its rows in their order."""
    # Integers of 16 bits are sorted by their digits, which is faster.
    small = codes.astype(np.uint16) if len(names) <= 1 << 16 else codes
    rows = rows.take(np.argsort(small, kind="stable"))
    stops = np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
    for name, start, stop in zip(names, [0, *stops], stops, strict=False):
        if stop > start:
            yield name, rows.take(slice(start, stop))


def _merged(first: State | None, second: State | None) -> State | None:
    if first is None:
        return second
    return first if second is None else first.merge(second)


def _share(sizes: Sequence[int], whole: int) -> int:
    """Return the share of each in the whole, where the small leave what they do not need."""
    wanted = np.sort(sizes)
    left = whole - np.cumsum(wanted) + wanted  # once all that are smaller have theirs
    share = left // np.arange(len(sizes), 0, -1)
    short = np.flatnonzero(wanted > share)
    return int(share[short[0]] if short.size else wanted[-1])


def _fewer_knots(part: dict[Key, Scores]) -> dict[Key, Scores]:
    knots = max(_KNOTS // len(part), _FEWEST_KNOTS)
    return {key: scores.compress(knots) for key, scores in part.items()}


def _union(parts: Sequence[dict[Key, Scores]]) -> dict[Key, Scores]:
    """Return the scores of all parts together, by group."""
    keys = dict.fromkeys(key for part in parts for key in part)
    return {key: combine_all([part[key] for part in parts if key in part]) for key in keys}


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"the scores are not those that a worker sent: {otherwise}.")
