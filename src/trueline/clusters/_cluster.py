"""Work that Dask and Spark share: each partition is reduced to a state of a few bytes, and merged.

The state of a partition is a function of its rows alone, so a worker that dies and is replaced
changes nothing. A fault in the rows is part of the result, because an exception would be retried on
other workers and come back as a long traceback.
"""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial, reduce
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from trueline._load import load
from trueline._messages import listed, reason
from trueline._validation import CalibrationWarning, UnknownGroupsWarning, level
from trueline._warnings import each_warning_once, warn
from trueline.documents import decode, encode
from trueline.files import Columns, FileError, Forecasts, Layout
from trueline.files._apply import AddedColumns
from trueline.files._chunks import Chunk, GroupCodes
from trueline.files._scoring import Scoring
from trueline.files._source import File
from trueline.files._transformer import Transformer
from trueline.metrics import EvaluationAccumulator, FileEvaluation
from trueline.recalibration import FIRST_ROWS, Key, Preparation, Recalibrator, ScoreAccumulator

#: Number of states that are merged at a time.
FAN = 16
# States of workers are trusted, so they may be larger than files from elsewhere.
_MOST_BYTES = 1 << 40
# The state of an evaluation keeps up to this number of rows, which take 2 MB; beyond that it has
# cells.
_ROWS = 1 << 16
# Number of warnings of partitions that are shown.
_MOST_NOTES = 5
# Python records the warnings of all threads of a process together.
_LOCK = threading.Lock()

FRAME = "the frame"


class Partition(File):
    """Record batches of Arrow as a source of rows.

    Parameters
    ----------
    name : str
        Its name in messages.
    batches : iterable of pyarrow.RecordBatch
    number : int
        Its position among the partitions.
    label : callable, optional
        Returns a name of a row, beside its number.
    """

    def __init__(
        self,
        name: str,
        batches: Iterable[Any] = (),
        number: int = 0,
        label: Callable[[int], str] | None = None,
    ) -> None:
        super().__init__(Path(name))
        self.number = number
        self._rest = (batch for batch in batches if batch.num_rows)
        self._label = label

    @cached_property
    def _first(self) -> Any:
        batch = next(self._rest, None)
        if batch is not None:
            self.names = tuple(batch.schema.names)
        return batch

    @property
    def empty(self) -> bool:
        """Whether there are no rows."""
        return self._first is None

    def _batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        missing = [name for name in columns if name not in self.names]
        if missing:
            raise FileError(
                f"{self.path} has no column {missing[0]!r}, which the frame says it has; its "
                f"columns are {listed(self.names)}. Give all partitions the same columns."
            )
        yield from chain([self._first], self._rest)

    def share(self) -> float:
        return 1.0

    def where(self, row: int) -> str:
        return f"row {row + 1}" + ("" if self._label is None else f" ({self._label(row)})")

    def _fault(self, error: BaseException) -> FileError:
        return FileError(f"{self.path} cannot be read: {reason(error)}.")


@dataclass(frozen=True)
class Part:
    """The result of one partition or several.

    Attributes
    ----------
    state : bytes
        Empty if no row has a weight.
    rows, crossing : int
        Number of rows, and of rows whose quantiles cross.
    notes : tuple of str
        Warnings.
    fault : str or None
        The first error in the rows.
    """

    state: bytes = b""
    rows: int = 0
    crossing: int = 0
    notes: tuple[str, ...] = ()
    fault: str | None = None


# Takes a partition, and a value that all partitions share; returns the state and warnings.
Work = Callable[..., tuple[bytes, list[str]]]
Merge = Callable[[Sequence[bytes]], bytes]
# Reduces the partitions of a frame to one part: takes the columns to read, the work on a partition,
# the merge of states, and the value that all partitions share.
Reduce = Callable[[Sequence[str], Work, Merge, bytes], Part]
# Returns the first rows of a frame, given the columns to read and the number of rows.
FirstRows = Callable[[Sequence[str], int], Iterable[Partition]]


def part_of(source: Partition, work: Work, state: bytes) -> Part:
    """Work on a partition; errors in its rows become part of the result."""
    try:
        if source.empty:
            return Part()
        result, notes = work(source, state)
    except FileError as error:
        return Part(fault=str(error))
    except (TypeError, ValueError) as error:
        return Part(fault=f"{source.path}: {error}")
    return Part(result, source.rows, source.crossing, tuple(notes))


@contextmanager
def warnings_in(notes: list[str]) -> Iterator[None]:
    """Put each different warning into a list; other partitions of this process wait meanwhile."""
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrationWarning)
        # Every chunk repeats this warning; the unknown groups are named at the end.
        warnings.simplefilter("ignore", UnknownGroupsWarning)
        yield
    ours = (str(w.message) for w in caught if issubclass(w.category, CalibrationWarning))
    notes += list(dict.fromkeys(ours))[:_MOST_NOTES]


def merge_parts(parts: Sequence[Part], merge: Merge) -> Part:
    """Merge parts, in the order given; the first fault stands for all."""
    faults = [part for part in parts if part.fault is not None]
    if faults:
        return faults[0]
    states = [part.state for part in parts if part.state]
    try:
        state = merge(states) if len(states) > 1 else b"".join(states)
    except (TypeError, ValueError) as error:
        return Part(fault=str(error))
    notes = dict.fromkeys(text for part in parts for text in part.notes)
    return Part(
        state,
        sum(part.rows for part in parts),
        sum(part.crossing for part in parts),
        tuple(notes)[:_MOST_NOTES],
    )


def _settle(part: Part, layout: Layout) -> None:
    """Raise the fault of the rows if there is one, and show their warnings."""
    if part.fault is not None:
        raise FileError(part.fault)
    if not part.rows:
        raise FileError(f"{FRAME} has no rows; expected rows.")
    frame = _whole_frame(layout)
    if not part.state:
        raise frame.no_weight()
    frame.source.rows, frame.source.crossing = part.rows, part.crossing
    with each_warning_once():
        frame.conclude()
        for text in part.notes:
            warn(text)


def _whole_frame(layout: Layout) -> Forecasts:
    """Return the frame as it is called in messages, without rows."""
    return Forecasts(Partition(FRAME), layout)


def _find(columns: Columns | None, names: Sequence[Any], *, y: bool = True) -> Layout:
    """Find the columns of a frame."""
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise FileError(
            f"{FRAME} has a column named {odd[0]!r}, a {type(odd[0]).__name__}; expected names "
            f"that are text. Rename it."
        )
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise FileError(
            f"{FRAME} has two columns named {twice[0]!r}; expected every name once. Rename one."
        )
    return Columns.given(columns).find(names, file=FRAME, y=y)


# ---- fit ---------------------------------------------------------------------------------


def fit_frame(
    recalibrator: Recalibrator | None,
    columns: Columns | None,
    names: Sequence[Any],
    reduce_parts: Reduce,
    first_rows: FirstRows,
) -> Recalibrator:
    """Fit a recalibrator on the partitions of a frame with these columns."""
    layout = _find(columns, names)
    learner = layout.learner(recalibrator)
    learner._check_params()
    scoring = _scoring(learner, layout, first_rows)
    work = partial(_fit_rows, layout=layout, scoring=scoring)
    part = reduce_parts(layout.used, work, _merge_scores, b"")
    _settle(part, layout)
    scores = ScoreAccumulator.from_bytes(part.state, _MOST_BYTES)
    return scores.finish(learner._unfitted_copy(), warn=True)


def _scoring(learner: Recalibrator, layout: Layout, first_rows: FirstRows) -> Scoring:
    """Learn how outcomes are scored from the first rows, so that all partitions agree."""
    stated = Scoring(Preparation(), learner._stated_support())
    chunks: list[Chunk] = []
    try:
        for source in first_rows(layout.used, FIRST_ROWS):
            if not source.empty:
                chunks += Forecasts(source, layout).chunks()
        for chunk in chunks:
            stated.check(chunk)
    except (FileError, TypeError, ValueError):
        return stated  # the work on all rows finds the fault again, and names the partition
    return Scoring.learned(learner, chunks)


def _fit_rows(
    source: Partition, _: bytes, *, layout: Layout, scoring: Scoring
) -> tuple[bytes, list[str]]:
    """Return the scores of a partition, without warnings."""
    return Forecasts(source, layout).accumulate(scoring).to_bytes(), []


def _merge_scores(states: Sequence[bytes]) -> bytes:
    """Merge the scores of several partitions."""
    parts = [ScoreAccumulator.from_bytes(state, _MOST_BYTES) for state in states]
    _check_groups({name for part in parts for name in part.names})
    return reduce(ScoreAccumulator.merge, parts).to_bytes()


def _check_groups(names: Collection[Key]) -> None:
    """Raise unless the groups of several partitions can be merged."""
    if len({isinstance(name, str) for name in names}) > 1:
        raise FileError(
            "the groups are text in some partitions and numbers in others; expected one or the "
            "other. Convert that column first."
        )
    GroupCodes(where=FRAME).add(list(names))  # raises if there are too many


# ---- transform ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Applying:
    """How to add columns to partitions: checked, and small enough to be sent to workers."""

    layout: Layout
    added: AddedColumns

    def tables(self, state: bytes, source: Partition, *, whole: bool) -> Iterator[Any]:
        """Yield the chunks of a partition, with the new columns at their end."""
        if source.empty:
            return
        forecasts = Forecasts(source, self.layout)
        transform = Transformer(_loaded(state), forecasts)
        for chunk in forecasts.chunks(whole=whole):
            dist = transform(chunk.dist, chunk.groups, forecasts.groups)
            yield self.added.to(chunk.table, dist)
        transform.finish(count=False)
        if source.crossing:
            forecasts.conclude()


def to_apply(
    recalibrator: Recalibrator, columns: Columns | None, names: Sequence[Any], added: AddedColumns
) -> tuple[bytes, Applying]:
    """Return the map as bytes, and how to apply it, both checked."""
    layout = _find(columns, names, y=False)
    frame = _whole_frame(layout)
    frame.source.names = tuple(names)
    added.check(frame.source)
    Transformer(recalibrator, frame)
    if layout.doubt:
        warnings.warn(CalibrationWarning(*layout.doubt), stacklevel=3)
    return _map_bytes(recalibrator), Applying(replace(layout, doubt=()), added)


def _map_bytes(recalibrator: Recalibrator) -> bytes:
    """Return a map as bytes that workers can read."""
    try:
        state = recalibrator.to_bytes()
        load(state, max_bytes=_MOST_BYTES)
    except (NotImplementedError, ValueError):
        raise FileError(
            f"{recalibrator._call()} cannot be sent to workers, which can read only trueline's "
            f"own maps. Expected Isotonic, Smooth, BetaCalibration, Scaling, Auto or Grouped."
        ) from None
    return state


@lru_cache(maxsize=4)
def _loaded(state: bytes) -> Recalibrator:
    """Return the map; a worker reads it once, not once per partition."""
    return load(state, max_bytes=_MOST_BYTES)


# ---- evaluate ----------------------------------------------------------------------------


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
    layout = _find(columns, names)
    evaluator = _Evaluator(layout, coverage, random_state)
    frame = _whole_frame(layout)
    transform = None if recalibrator is None else Transformer(recalibrator, frame)
    state = b"" if recalibrator is None else _map_bytes(recalibrator)
    part = reduce_parts(layout.used, evaluator.rows, evaluator.merge, state)
    _settle(part, layout)
    evaluation = evaluator.read(part.state)
    if transform is not None:
        transform.meet(evaluation.group_names)
        transform.finish()
    found = evaluation.finish(None if transform is None else transform.n_fit)
    if found is None:
        raise frame.no_weight()
    return found


class _Evaluator:
    """How to evaluate partitions: checked, and small enough to be sent to workers."""

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
        # Every partition draws numbers of its own for forecasts with steps.
        rng = np.random.default_rng([self.random_state, source.number])
        forecasts = Forecasts(source, self.layout)
        transform = Transformer(_loaded(state), forecasts) if state else None
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
        evaluation = reduce(EvaluationAccumulator.merge, map(self.read, states))
        _check_groups(evaluation.group_names)
        return _written(evaluation)

    def read(self, data: bytes) -> EvaluationAccumulator:
        """Return what `_written` wrote."""
        state = decode(data, json.loads, _expect, _MOST_BYTES)
        return EvaluationAccumulator.from_state(state, self.coverage)


def _written(evaluation: EvaluationAccumulator) -> bytes:
    return encode(evaluation.to_state(_ROWS))


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(f"an evaluation is not what a worker sent: {otherwise}.")
