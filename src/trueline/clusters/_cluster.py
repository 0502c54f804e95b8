"""What Dask and Spark share: a partition comes to a few bytes, and those merge.

Work on a partition is a function of its rows alone, so a worker that dies and is replaced changes
nothing. What is wrong with the rows is part of what it returns: raised, it would be tried again
elsewhere, and come back as a page of traceback.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import chain
from pathlib import Path
from typing import Any

from trueline._files import FileError
from trueline._load import load
from trueline._messages import listed, reason
from trueline._validation import CalibrationWarning, UnknownGroupsWarning
from trueline._warnings import each_warning_once, warn
from trueline.files._apply import AddedColumns
from trueline.files._chunks import conclude, no_weight, read_chunks
from trueline.files._columns import Columns, Layout, check_columns
from trueline.files._fit import check_recalibrator
from trueline.files._groups import MOST_GROUPS, GroupCodes
from trueline.files._source import File
from trueline.files._transform import Transformer
from trueline.recalibration import Grouped, Isotonic, Key, Recalibrator
from trueline.recalibration._common import warn_if_weak

#: States that are merged at a time.
FAN = 16
#: Our own states may be larger than files from elsewhere.
MOST_BYTES = 1 << 40
# Warnings of partitions that are told; more would say no more.
_MOST_TOLD = 5
# Python records warnings for all threads of a process at once.
_LOCK = threading.Lock()

FRAME = "the frame"


class Partition(File):
    """Record batches of Arrow as a source of rows.

    Parameters
    ----------
    name : str
        What to call it in a message.
    batches : iterable of pyarrow.RecordBatch
    number : int
        Its place among the partitions.
    label : callable, optional
        Says what a row is called, beside its number.
    """

    def __init__(
        self,
        name: str,
        batches: Iterable[Any] = (),
        number: int = 0,
        label: Callable[[int], str] | None = None,
    ) -> None:
        super().__init__(Path(name))  # it stands where the name of a file does
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
    """What one partition or several come to.

    Attributes
    ----------
    state : bytes
        Empty where no row counts.
    rows, crossing : int
        Rows, and those of them whose quantiles cross.
    told : tuple of str
        Warnings.
    fault : str or None
        What is wrong with the rows.
    """

    state: bytes = b""
    rows: int = 0
    crossing: int = 0
    told: tuple[str, ...] = ()
    fault: str | None = None


# Of a partition, and of what all partitions share: the state, and what to warn of.
Work = Callable[..., tuple[bytes, list[str]]]
Merge = Callable[[Sequence[bytes]], bytes]


def part_of(source: Partition, work: Work, *shared: Any) -> Part:
    """Work on a partition, and put what is to be said of its rows into the result."""
    try:
        if source.empty:
            return Part()
        state, told = work(source, *shared)
    except FileError as error:
        return Part(fault=str(error))
    except (TypeError, ValueError) as error:
        return Part(fault=f"{source.path}: {error}")
    return Part(state, source.rows, source.crossing, tuple(told))


@contextmanager
def warnings_in(told: list[str]) -> Iterator[None]:
    """Put each different warning into a list; other partitions of the process wait so long."""
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrationWarning)
        # Every chunk repeats this warning; the unknown groups are named at the end.
        warnings.simplefilter("ignore", UnknownGroupsWarning)
        yield
    ours = (str(w.message) for w in caught if issubclass(w.category, CalibrationWarning))
    told += list(dict.fromkeys(ours))[:_MOST_TOLD]


def merge_parts(parts: Sequence[Part], merge: Merge) -> Part:
    """Join parts, in the order given; the first fault stands for all."""
    faults = [part for part in parts if part.fault is not None]
    if faults:
        return faults[0]
    states = [part.state for part in parts if part.state]
    try:
        state = merge(states) if len(states) > 1 else b"".join(states)
    except (TypeError, ValueError) as error:
        return Part(fault=str(error))
    told = dict.fromkeys(text for part in parts for text in part.told)
    return Part(
        state,
        sum(part.rows for part in parts),
        sum(part.crossing for part in parts),
        tuple(told)[:_MOST_TOLD],
    )


def settle(part: Part, layout: Layout) -> None:
    """Raise what is wrong with the rows, and warn of what should be known of them."""
    if part.fault is not None:
        raise FileError(part.fault)
    if not part.rows:
        raise FileError(f"{FRAME} has no rows; expected rows.")
    frame = Partition(FRAME)
    if not part.state:
        raise no_weight(frame, layout)
    frame.rows, frame.crossing = part.rows, part.crossing
    with each_warning_once():
        conclude(frame, layout)
        for text in part.told:
            warn(text)


def find(columns: Columns | None, names: Sequence[Any], *, y: bool = True) -> Layout:
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
    return check_columns(columns).find(names, file=FRAME, y=y)


# ---- fit ---------------------------------------------------------------------------------


def to_fit(recalibrator: Recalibrator | None, layout: Layout) -> Recalibrator:
    """Return the recalibrator to fit, unfitted and checked."""
    if recalibrator is None:
        recalibrator = Isotonic() if layout.group is None else Grouped()
    checked = check_recalibrator(recalibrator, layout)
    checked._check_params()
    return checked._unfitted_copy()


def fit_rows(source: Partition, *, layout: Layout) -> tuple[bytes, list[str]]:
    """Scores of a partition; there is nothing to warn of."""
    # Every map is learned from the scores alone, so those of any map will do.
    scores: Recalibrator = Isotonic() if layout.group is None else Grouped()
    names = GroupCodes()
    for chunk in read_chunks(source, layout):
        codes = None
        if chunk.groups is not None:
            codes = names.encode(chunk.groups, f"{source.path}, column {layout.group!r}")
        if chunk.weight is None or chunk.weight.max() > 0:
            scores.partial_fit(chunk.y, chunk.dist, chunk.weight, codes)
    if not scores._is_fitted():
        return b"", []
    if scores.needs_groups:
        scores = scores.rename_groups(dict(enumerate(names.names)))
    return scores.to_bytes(), []


def pool(states: Sequence[bytes]) -> bytes:
    """Join the scores of several partitions."""
    made = reduce(_pooled, (load(state, max_bytes=MOST_BYTES) for state in states))
    return made.to_bytes()


def _pooled(first: Recalibrator, second: Recalibrator) -> Recalibrator:
    check_groups({*(first.groups_ or []), *(second.groups_ or [])})
    return first._pool(second)


def check_groups(names: Collection[Key]) -> None:
    """Raise unless the groups of several partitions go together."""
    if len({isinstance(name, str) for name in names}) > 1:
        raise FileError(
            "the groups are text in some partitions and numbers in others; expected one or the "
            "other. Convert that column first."
        )
    if len(names) > MOST_GROUPS:
        raise FileError(
            f"{FRAME} holds more than {MOST_GROUPS:,} groups; expected fewer. Is their column a "
            f"name of each row rather than of a group?"
        )


def fitted(part: Part, recalibrator: Recalibrator, layout: Layout) -> Recalibrator:
    """Return the map of all partitions."""
    settle(part, layout)
    state = load(part.state, max_bytes=MOST_BYTES)
    recalibrator._learn(state.scores_, state._group_scores)
    scores = recalibrator.scores_
    if not scores.rounded:  # rounding ties scores that differ
        warn_if_weak(scores, part.rows if layout.weight is None else len(scores.values))
    return recalibrator


# ---- transform ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Applying:
    """How to add columns to partitions: checked, and small enough to be sent around.

    Attributes
    ----------
    layout : Layout
    added : AddedColumns
        The columns.
    """

    layout: Layout
    added: AddedColumns

    def tables(self, state: bytes, source: Partition, *, whole: bool) -> Iterator[Any]:
        """Yield the chunks of a partition, with the new columns at their end."""
        if source.empty:
            return
        transform = Transformer(loaded(state), self.layout, source, "the map")
        for chunk in read_chunks(source, self.layout, whole=whole):
            yield self.added.to(chunk.table, transform(chunk.dist, chunk.groups))
        transform.finish(among=False)
        if source.crossing:
            conclude(source, self.layout)


def to_apply(
    recalibrator: Recalibrator, columns: Columns | None, names: Sequence[Any], added: AddedColumns
) -> tuple[bytes, Applying]:
    """Return the map as bytes, and how to apply it; all checked."""
    layout = find(columns, names, y=False)
    frame = Partition(FRAME)
    frame.names = tuple(names)
    added.check(frame)
    Transformer(recalibrator, layout, frame, "the map")
    if layout.doubt:
        warnings.warn(CalibrationWarning(*layout.doubt), stacklevel=3)
    return map_bytes(recalibrator), Applying(replace(layout, doubt=()), added)


def map_bytes(recalibrator: Recalibrator) -> bytes:
    """Return a map as bytes that workers can read."""
    try:
        state = recalibrator.to_bytes()
        load(state, max_bytes=MOST_BYTES)
    except (NotImplementedError, ValueError):
        raise FileError(
            f"{recalibrator!r} cannot be sent to workers: only trueline's own maps can be read "
            f"there. Expected Isotonic, Smooth, BetaCalibration, Scaling, Auto or Grouped."
        ) from None
    return state


@lru_cache(maxsize=4)
def loaded(state: bytes) -> Recalibrator:
    """A worker reads the map once, not once a partition."""
    return load(state, max_bytes=MOST_BYTES)
