"""Evaluations of partitions as bytes that merge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from trueline._validation import level
from trueline.clusters._cluster import (
    FRAME,
    MOST_BYTES,
    Part,
    Partition,
    check_groups,
    loaded,
    settle,
    warnings_in,
)
from trueline.files._chunks import no_weight, read_chunks
from trueline.files._columns import Layout
from trueline.files._judging import FileEvaluation, Judging, joined
from trueline.files._transform import Transformer
from trueline.metrics._evaluate import Rows
from trueline.metrics._mean import add
from trueline.metrics._sketch import PitHistogram
from trueline.recalibration import Recalibrator
from trueline.recalibration._binary import decode, encode

# Rows of which everything is kept, so that a state has no more than 2 MB; beyond, cells.
_ROWS = 1 << 16


class Judge:
    """How to evaluate partitions: checked, and small enough to be sent around.

    Parameters
    ----------
    layout : Layout
    coverage : float
    random_state : int
        For forecasts with steps; every partition draws numbers of its own.
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

    def _judging(self, place: object) -> Judging:
        where = None if self.layout.group is None else f"{place}, column {self.layout.group!r}"
        return Judging(self.coverage, where)

    def rows(self, source: Partition, state: bytes) -> tuple[bytes, list[str]]:
        """Evaluate a partition, with the map if there is one."""
        rng = np.random.default_rng([self.random_state, source.number])
        transform = None
        if state:
            transform = Transformer(loaded(state), self.layout, source, "the map")
        judging = self._judging(source.path)
        told: list[str] = []
        with warnings_in(told):
            for chunk in read_chunks(source, self.layout):
                dist = chunk.dist if transform is None else transform(chunk.dist, chunk.groups)
                judging.add(chunk.y, dist, chunk.weight, chunk.groups, rng)
        return to_bytes(judging), told

    def merge(self, states: Sequence[bytes]) -> bytes:
        """Join the evaluations of several partitions."""
        judging = reduce(Judging.merge, map(self._from_bytes, states))
        if judging._groups is not None:
            check_groups(judging._groups.codes.names)
        return to_bytes(judging)

    def finish(
        self, part: Part, layout: Layout, recalibrator: Recalibrator | None
    ) -> FileEvaluation:
        """Return the results for all rows."""
        settle(part, layout)
        judging = self._from_bytes(part.state)
        transform = None
        if recalibrator is not None:
            transform = Transformer(recalibrator, layout, Partition(FRAME), "the map")
            if judging._groups is not None:
                transform.meet(judging._groups.codes.names)
            transform.finish()
        found = judging.finish(None if transform is None else transform.n_fit)
        if found is None:
            raise no_weight(Partition(FRAME), layout)
        return found

    def _from_bytes(self, data: bytes) -> Judging:
        """Return what `to_bytes` wrote."""
        document = decode(data, json.loads, _expect, MOST_BYTES)
        judging = self._judging(FRAME)
        judging.n = document["n"]
        judging._sums = [dict(zip(document["names"], document["sums"].tolist(), strict=True))]
        judging._weight = [tuple(document["weight"].tolist())]
        judging._counts = document["counts"]
        if "rows" in document:
            judging._rows = [Rows(*document["rows"])]
            judging._kept_weights = document["weights"]
        else:
            judging._pit = PitHistogram()
            bins, weight = document["pit"]
            judging._pit._weight[bins.astype(np.intp)] = weight
            judging._spread._cells.add(*document["spread"])
        if judging._groups is not None:
            judging._groups.codes.add(document["groups"], judging._groups.where)
            judging._groups._sums = document["group_sums"].reshape(-1, len(document["groups"]))
        return judging


def to_bytes(judging: Judging) -> bytes:
    """Return an evaluation as bytes: of few rows what is needed of each, of many the cells."""
    names = list(judging._sums[0])
    document: dict[str, Any] = {
        "n": judging.n,
        "names": names,
        "sums": np.array([add([part[name] for part in judging._sums]) for name in names]),
        "weight": np.array([add(parts) for parts in zip(*judging._weight, strict=True)]),
        "counts": judging._counts,
    }
    if judging._pit is None and judging.n > _ROWS:
        judging._pit = PitHistogram()
        judging._condense_if_many()
    if judging._pit is None:
        document["rows"] = list(joined(judging._rows))
        kept = judging._kept_weights
        document["weights"] = [np.concatenate(kept)] if kept else []
    else:
        filled = np.flatnonzero(judging._pit._weight)
        document["pit"] = [filled.astype(np.float64), judging._pit._weight[filled]]
        variance, sums = judging._spread._cells.filled()
        document["spread"] = [variance, *sums]
    if judging._groups is not None:
        document["groups"] = judging._groups.codes.names
        document["group_sums"] = judging._groups._sums.ravel()
    return encode(document)


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"an evaluation is not what a worker sent: {otherwise}.")
