"""Evaluate the partitions of a frame; their evaluations travel as bytes and are merged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from trueline._validation import level
from trueline.clusters._cluster import (
    MOST_BYTES,
    Part,
    Partition,
    Reduce,
    check_groups,
    find,
    loaded,
    map_bytes,
    settle,
    warnings_in,
    whole_frame,
)
from trueline.files import Columns, Forecasts, Layout, Transformer
from trueline.metrics import EvaluationAccumulator, FileEvaluation
from trueline.recalibration import Recalibrator
from trueline.recalibration._binary import decode, encode

# A state keeps up to this number of rows, which take 2 MB; beyond that it has cells.
_ROWS = 1 << 16


def evaluate_frame(
    recalibrator: Recalibrator | None,
    columns: Columns | None,
    names: Sequence[Any],
    reduce_parts: Reduce,
    *,
    coverage: float,
    random_state: int,
) -> FileEvaluation:
    """Evaluate the partitions of a frame with these columns."""
    layout = find(columns, names)
    evaluator = _Evaluator(layout, coverage, random_state)
    state = b""
    if recalibrator is not None:
        Transformer(recalibrator, whole_frame(layout))  # raises if it does not fit the columns
        state = map_bytes(recalibrator)
    part = reduce_parts(layout.used, evaluator.rows, evaluator.merge, state)
    return evaluator.finish(part, recalibrator)


class _Evaluator:
    """How to evaluate partitions: checked, and small enough to be sent to workers.

    Parameters
    ----------
    layout : Layout
    coverage : float
    random_state : int
        Seed for forecasts with steps; every partition draws numbers of its own.
    """

    def __init__(self, layout: Layout, coverage: float, random_state: int) -> None:
        if not isinstance(random_state, int | np.integer) or random_state < 0:
            raise TypeError(
                f"random_state is {random_state!r}; expected an integer of 0 or more, so that a "
                f"partition that is worked on again comes to the same."
            )
        self.layout = layout
        self.coverage = level(coverage, "coverage")
        self.random_state = int(random_state)

    def rows(self, source: Partition, state: bytes) -> tuple[bytes, list[str]]:
        """Evaluate a partition, with the map if there is one."""
        rng = np.random.default_rng([self.random_state, source.number])
        forecasts = Forecasts(source, self.layout)
        transform = Transformer(loaded(state), forecasts) if state else None
        evaluation = EvaluationAccumulator(self.coverage, grouped=forecasts.groups is not None)
        notes: list[str] = []
        with warnings_in(notes):
            for chunk in forecasts.chunks():
                dist, groups = chunk.dist, forecasts.groups
                if transform is not None:
                    dist = transform(dist, chunk.groups, groups)
                names = [] if groups is None else groups.names
                evaluation.add(chunk.y, dist, chunk.weight, rng, chunk.groups, names)
        return _written(evaluation), notes

    def merge(self, states: Sequence[bytes]) -> bytes:
        """Merge the evaluations of several partitions."""
        evaluation = reduce(EvaluationAccumulator.merge, map(self._read, states))
        check_groups(evaluation.group_names)
        return _written(evaluation)

    def finish(self, part: Part, recalibrator: Recalibrator | None) -> FileEvaluation:
        """Return the results for all rows."""
        settle(part, self.layout)
        evaluation = self._read(part.state)
        transform = None
        if recalibrator is not None:
            transform = Transformer(recalibrator, whole_frame(self.layout))
            transform.meet(evaluation.group_names)
            transform.finish()
        found = evaluation.finish(None if transform is None else transform.n_fit)
        if found is None:
            raise whole_frame(self.layout).no_weight()
        return found

    def _read(self, data: bytes) -> EvaluationAccumulator:
        """Return what `_written` wrote."""
        state = decode(data, json.loads, _expect, MOST_BYTES)
        return EvaluationAccumulator.from_state(state, self.coverage)


def _written(evaluation: EvaluationAccumulator) -> bytes:
    return encode(evaluation.to_state(_ROWS))


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"an evaluation is not what a worker sent: {otherwise}.")
