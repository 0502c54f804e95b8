"""Forecasts in a ``dask.dataframe``: fit, transform and evaluate, partition by partition.

States move between workers, about ten bytes for each distinct score, of which there are at most
2^20, or 2^20 per group. Rows do not move, except for the first 10,000 in `fit`. Columns are found
as in files, see `trueline.files.Columns`. Workers need trueline too. They are best processes of one
thread, because threads of one process wait for each other except in `fit`.

>>> import dask.dataframe as dd
>>> import numpy as np
>>> import pandas as pd
>>> from trueline.clusters import dask as tld
>>> rng = np.random.default_rng(0)
>>> past = pd.DataFrame({"y": rng.normal(size=1000), "mean": 0.0, "std": 0.2})  # far too sure
>>> frame = dd.from_pandas(past, npartitions=4)
>>> R = tld.fit(frame)
>>> new = tld.transform(R, frame, coverage=[0.9])  # lazy, as frames are
>>> list(new.columns)
['y', 'mean', 'std', 'lower_0.9', 'upper_0.9']
>>> round(tld.evaluate(frame, R).overall.coverage, 2)
0.9
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueline._arrow import pyarrow, to_numpy
from trueline._messages import EXTRAS, library, reason
from trueline._validation import CalibrationWarning
from trueline.clusters._cluster import (
    FAN,
    FRAME,
    Applying,
    Merge,
    Part,
    Partition,
    Work,
    evaluate_frame,
    fit_frame,
    merge_parts,
    part_of,
    to_apply,
    warnings_in,
)
from trueline.files import Columns, FileError
from trueline.files._apply import AddedColumns
from trueline.metrics import FileEvaluation
from trueline.recalibration import Recalibrator

__all__ = ["evaluate", "fit", "transform"]


def fit(
    frame: Any, recalibrator: Recalibrator | None = None, *, columns: Columns | None = None
) -> Recalibrator:
    """Fit a recalibrator on all rows of a frame.

    The map is that of ``recalibrator.fit`` on the same rows, to the last bit, if there are at most
    2^20 distinct scores (per group, if there are groups) and no weights, whose sums round. With
    more scores, they are rounded by at most 2^-17 of themselves, as by ``partial_fit``, however
    the rows are split. The least width of forecasts and the atoms of outcomes are learned from
    the first 10,000 rows, in a job of its own before all others, and are the same for all
    partitions.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Outcomes and forecasts.
    recalibrator, columns : optional
        See `trueline.files.fit`.

    Raises
    ------
    FileError
        At the first value that is not a number, is missing or is not positive where it must be.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from trueline.clusters import dask as tld
    >>> past = pd.DataFrame({"y": [1.5, 3.0, 2.0], "mean": [1.0, 2.0, 3.0], "std": [0.1, 0.5, 1.0]})
    >>> tld.fit(dd.from_pandas(past, npartitions=2)).scores_.values
    array([-1.,  2.,  5.])
    """
    names = _names(frame)
    return fit_frame(recalibrator, columns, names, partial(_reduce, frame), partial(_first, frame))


def transform(
    recalibrator: Recalibrator,
    frame: Any,
    *,
    columns: Columns | None = None,
    coverage: float | Sequence[float] = (),
    quantiles: float | Sequence[float] = (),
    moments: bool = False,
    prefix: str = "",
) -> Any:
    """Return the frame with recalibrated intervals or quantiles beside its columns.

    The result is lazy: rows are recalibrated, and checked, when it is computed. Rows of a group
    that the map does not know get the pooled map, with a warning.

    The map is part of the graph of tasks, so that the replacement of a worker gets it again. Dask
    warns that maps of more than 10 MB slow it down; ``recalibrator.compress`` makes one smaller.

    Parameters
    ----------
    recalibrator, columns, coverage, quantiles, moments, prefix
        See `trueline.files.apply`.
    frame : dask.dataframe.DataFrame
        Forecasts; outcomes are not needed.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import trueline as tl
    >>> from trueline.clusters import dask as tld
    >>> R = tl.Scaling().fit([-3.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    >>> new = dd.from_pandas(pd.DataFrame({"mean": [10.0, 20.0], "std": [1.0, 2.0]}), npartitions=1)
    >>> tld.transform(R, new, quantiles=[0.5]).compute()["q0.5"].tolist()
    [10.0, 20.0]
    """
    names = _names(frame)
    added = AddedColumns(coverage, quantiles, moments, prefix)
    state, applying = to_apply(recalibrator, columns, names, added)
    meta = frame._meta.assign(**dict.fromkeys(added.names, 0.0))
    # All partitions share one task, so that the map goes to each worker once.
    shared = _dask().delayed(state, pure=True)
    return frame.map_partitions(_with_columns, shared, applying, meta=meta)


def evaluate(
    frame: Any,
    recalibrator: Recalibrator | None = None,
    *,
    columns: Columns | None = None,
    coverage: float = 0.9,
    random_state: int = 0,
) -> FileEvaluation:
    """Evaluate the forecasts in a frame.

    Up to 65,536 rows the result is that of `trueline.evaluate` up to rounding (1e-12). With more
    rows this holds for means and counts; the Kolmogorov-Smirnov statistic behind the p-value is
    within 1e-6, and rows whose variances differ by less than a share of 2^-16 may share a bin of
    the ENCE. For forecasts with steps the p-value depends on random numbers, which every partition
    draws for itself.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Outcomes and forecasts.
    recalibrator, columns, coverage : optional
        See `trueline.files.evaluate`.
    random_state : int, default 0
        Seed for the p-value of forecasts with steps.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from trueline.clusters import dask as tld
    >>> past = pd.DataFrame({"y": [1.5, 3.0, 2.0], "mean": [1.0, 2.0, 3.0], "std": [0.1, 0.5, 1.0]})
    >>> round(tld.evaluate(dd.from_pandas(past, npartitions=2)).overall.crps, 6)
    0.590806
    """
    return evaluate_frame(
        recalibrator,
        columns,
        _names(frame),
        partial(_reduce, frame),
        coverage=coverage,
        random_state=random_state,
    )


def _dask() -> Any:
    """Import dask, or say how to install it."""
    for name in ("dask.dataframe", "dask"):
        module = library(name, "trueline.clusters.dask", EXTRAS["dask"])
    return module


def _names(frame: Any) -> list[Any]:
    """Return the columns of a frame; raise if it is not a frame."""
    pyarrow()
    if not isinstance(frame, _dask().dataframe.DataFrame):
        raise TypeError(
            f"frame is a {type(frame).__module__}.{type(frame).__name__}; expected a "
            f"dask.dataframe. Make one with dask.dataframe.from_pandas or read_parquet."
        )
    return list(frame.columns)


def _reduce(frame: Any, used: Sequence[str], work: Work, merge: Merge, state: bytes) -> Part:
    """Work on every partition where it is, and merge the results in a tree."""
    dask = _dask()
    shared = dask.delayed(state, pure=True)
    work_on = dask.delayed(partial(_work, work=work), pure=True, traverse=False)
    merged = dask.delayed(partial(merge_parts, merge=merge), pure=True, traverse=False)
    parts = [work_on(part, i, shared) for i, part in enumerate(_partitions(frame, used))]
    while len(parts) > 1:
        parts = [merged(parts[i : i + FAN]) for i in range(0, len(parts), FAN)]
    (part,) = _computed(parts)
    return part


def _first(frame: Any, used: Sequence[str], rows: int) -> Iterator[Partition]:
    """Yield the first rows of the frame; few partitions are computed if they have enough rows."""
    head = _dask().delayed(_head, pure=True, traverse=False)
    rest, count = _partitions(frame, used), 1
    while rest and rows > 0:
        for found in _computed([head(part, rows) for part in rest[:count]]):
            wanted = found.iloc[:rows]
            yield Partition(FRAME, _batches(wanted), label=_label(wanted))
            rows -= len(wanted)
        rest, count = rest[count:], 2 * count


def _head(rows: Any, count: int) -> Any:
    return rows.iloc[:count]


def _partitions(frame: Any, used: Sequence[str]) -> list[Any]:
    """Return the partitions, with the columns that are used, as delayed values."""
    rows = frame.map_partitions(
        _only, used, meta=frame._meta[used], required_columns=used, enforce_metadata=False
    )
    return list(rows.to_delayed())


def _computed(values: Sequence[Any]) -> Sequence[Any]:
    """Compute delayed values."""
    try:
        found: Sequence[Any] = _dask().compute(*values)
    except (KeyError, pyarrow().ArrowException) as error:  # raised by Dask, before our work
        raise FileError(
            f"{FRAME} cannot be read: {reason(error)}. Give all partitions the same columns and "
            f"types."
        ) from None
    return found


def _only(rows: Any, used: Sequence[str]) -> Any:
    """Return the columns that are used; `Partition` reports missing ones."""
    return rows[[name for name in used if name in rows.columns]]


def _work(rows: Any, number: int, state: bytes, work: Work) -> Part:
    source = Partition(f"partition {number}", _batches(rows), number, _label(rows))
    return part_of(source, work, state)


def _batches(rows: Any) -> Iterator[Any]:
    """Yield rows of pandas as record batches of Arrow."""
    yield from pyarrow().Table.from_pandas(rows, preserve_index=False).to_batches()


def _label(rows: Any) -> Callable[[int], str]:
    return lambda row: f"index {rows.index[row]}"


def _with_columns(rows: Any, state: bytes, applying: Applying) -> Any:
    """Return the rows of a partition with the new columns."""
    names, used = applying.added.names, applying.layout.used
    start = f"the partition from index {rows.index[0]} on" if len(rows) else FRAME
    source = Partition(start, _batches(_only(rows, used)), label=_label(rows))
    notes: list[str] = []
    with warnings_in(notes):
        tables = [table.select(names) for table in applying.tables(state, source, whole=False)]
    for text in notes:
        _warn(text)
    parts = {name: [to_numpy(table[name]) for table in tables] for name in names}
    return rows.assign(
        **{name: np.concatenate(column or [np.empty(0)]) for name, column in parts.items()}
    )


def _warn(text: str) -> None:
    """Warn in the process that computes the frame, also from a worker of a cluster."""
    try:
        from distributed import warn
    except ImportError:
        warnings.warn(text, CalibrationWarning, stacklevel=2)
    else:
        warn(text, CalibrationWarning)
