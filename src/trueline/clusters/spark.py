"""Forecasts in a Spark DataFrame: fit, transform and evaluate, partition by partition.

States move between workers, about ten bytes for each distinct score, of which there are at most
2^20, or 2^20 per group. Rows do not move, except for the first 10,000 in `fit`. Columns are found
as in files, see `trueline.files.Columns`. Workers need trueline, numpy, scipy and pyarrow too.

>>> from pyspark.sql import SparkSession  # doctest: +SKIP
>>> from trueline.clusters import spark as tls
>>> spark = SparkSession.builder.getOrCreate()  # doctest: +SKIP
>>> R = tls.fit(spark.read.parquet("past/"))  # doctest: +SKIP
>>> new = tls.transform(R, spark.read.parquet("new/"), coverage=[0.9])  # doctest: +SKIP
>>> new.write.parquet("recalibrated/")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

from trueline._arrow import pyarrow
from trueline._messages import EXTRAS, library
from trueline._warnings import each_warning_once
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
)
from trueline.files import Columns
from trueline.files._apply import AddedColumns
from trueline.metrics import FileEvaluation
from trueline.recalibration import Recalibrator

__all__ = ["evaluate", "fit", "transform"]

# Number of times that states are merged by 16 on workers: 65,536 partitions send 256 states to the
# driver.
_ROUNDS = 2
_SCHEMA = "number int, state binary, rows long, crossing long, notes array<string>, fault string"


def fit(
    frame: Any, recalibrator: Recalibrator | None = None, *, columns: Columns | None = None
) -> Recalibrator:
    """Fit a recalibrator on all rows of a frame.

    The map is as accurate as that of `trueline.clusters.dask.fit`.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Outcomes and forecasts.
    recalibrator, columns : optional
        See `trueline.files.fit`.

    Raises
    ------
    FileError
        At the first value that is not a number, is missing or is not positive where it must be.

    Examples
    --------
    >>> from trueline.clusters import spark as tls
    >>> rows = [(1.5, 1.0, 0.1), (3.0, 2.0, 0.5), (2.0, 3.0, 1.0)]
    >>> past = spark.createDataFrame(rows, ["y", "mean", "std"])  # doctest: +SKIP
    >>> tls.fit(past).scores_.values  # doctest: +SKIP
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

    The result is lazy: rows are recalibrated, and checked, when it is written or collected. Rows of
    a group that the map does not know get the pooled map; the warning is in the logs of the
    executors, and `evaluate` gives it here.

    Parameters
    ----------
    recalibrator, columns, coverage, quantiles, moments, prefix
        See `trueline.files.apply`.
    frame : pyspark.sql.DataFrame
        Forecasts; outcomes are not needed.

    Returns
    -------
    pyspark.sql.DataFrame
        Names that contain a point are quoted in Spark: ``new.select("`lower_0.9`")``.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.clusters import spark as tls
    >>> R = tl.Scaling().fit([-3.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
    >>> new = spark.createDataFrame([(10.0, 1.0), (20.0, 2.0)], ["mean", "std"])  # doctest: +SKIP
    >>> [row["q0.5"] for row in tls.transform(R, new, quantiles=[0.5]).collect()]  # doctest: +SKIP
    [10.0, 20.0]
    """
    names = _names(frame)
    added = AddedColumns(coverage, quantiles, moments, prefix)
    state, applying = to_apply(recalibrator, columns, names, added)
    from pyspark.sql.types import DoubleType, StructField, StructType

    plain = _plain([*names, *added.names])
    types = [field.dataType for field in frame.schema.fields] + [DoubleType()] * len(added.names)
    schema = StructType([StructField(*pair) for pair in zip(plain, types, strict=True)])
    work = partial(_with_columns, names=names, state=_shared(frame, state), applying=applying)
    made = frame.toDF(*plain[: len(names)]).mapInArrow(work, schema)
    return made.toDF(*names, *added.names)


def evaluate(
    frame: Any,
    recalibrator: Recalibrator | None = None,
    *,
    columns: Columns | None = None,
    coverage: float = 0.9,
    random_state: int = 0,
) -> FileEvaluation:
    """Evaluate the forecasts in a frame.

    The result is as accurate as that of `trueline.clusters.dask.evaluate`.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Outcomes and forecasts.
    recalibrator, columns, coverage : optional
        See `trueline.files.evaluate`.
    random_state : int, default 0
        Seed for the p-value of forecasts with steps.

    Examples
    --------
    >>> from trueline.clusters import spark as tls
    >>> rows = [(1.5, 1.0, 0.1), (3.0, 2.0, 0.5), (2.0, 3.0, 1.0)]
    >>> past = spark.createDataFrame(rows, ["y", "mean", "std"])  # doctest: +SKIP
    >>> round(tls.evaluate(past).overall.crps, 6)  # doctest: +SKIP
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


def _names(frame: Any) -> list[str]:
    """Return the columns of a frame; raise if it is not a frame."""
    pyarrow()
    library("pyspark.sql", "trueline.clusters.spark", EXTRAS["spark"])
    # Frames of Spark Connect have another class.
    if not hasattr(frame, "mapInArrow"):
        raise TypeError(
            f"frame is a {type(frame).__module__}.{type(frame).__name__}; expected a Spark "
            f"DataFrame. Make one with spark.createDataFrame or spark.read.parquet."
        )
    return list(frame.columns)


def _shared(frame: Any, state: bytes) -> Any:
    """Return the map, if there is one, as a broadcast, so that it goes to each executor once."""
    from pyspark.errors import PySparkException

    if state:
        # Spark Connect has no context.
        with suppress(AttributeError, NotImplementedError, PySparkException):
            return frame.sparkSession.sparkContext.broadcast(state)
    return SimpleNamespace(value=state)


def _reduce(frame: Any, used: Sequence[str], work: Work, merge: Merge, state: bytes) -> Part:
    """Work on every partition where it is, and merge the results in a tree."""
    on_one = partial(_work, names=used, work=work, shared=_shared(frame, state))
    parts = _chosen(frame, used).mapInArrow(on_one, _SCHEMA)
    for _ in range(_ROUNDS):
        numbered = parts.selectExpr(f"number div {FAN} as place", "*")
        by_place = numbered.repartition("place")
        parts = by_place.mapInArrow(partial(_merge, merge=merge), _SCHEMA)
    return merge_parts(_sorted(row.asDict() for row in parts.collect()), merge)


def _first(frame: Any, used: Sequence[str], rows: int) -> Iterator[Partition]:
    """Yield the first rows of the frame; Spark reads as few partitions as it needs for them."""
    found = _chosen(frame, used).take(rows)
    columns = {name: [row[i] for row in found] for i, name in enumerate(used)}
    yield Partition(FRAME, pyarrow().table(columns).to_batches())


def _chosen(frame: Any, used: Sequence[str]) -> Any:
    """Return the columns that are used, under plain names."""
    chosen = frame.select(*("`" + name.replace("`", "``") + "`" for name in used))
    return chosen.toDF(*_plain(used))


def _plain(names: Sequence[str]) -> list[str]:
    """Return names without points, because ``mapInArrow`` takes a point for a field."""
    return [f"c{i}" for i in range(len(names))]


def _number() -> int:
    """Return the number of the partition that is worked on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def _work(batches: Iterable[Any], names: Sequence[str], work: Work, shared: Any) -> Iterator[Any]:
    """Yield one row: the result of the partition."""
    number = _number()
    waiting = (batch.rename_columns(names) for batch in batches)
    part = part_of(Partition(f"partition {number}", waiting, number), work, shared.value)
    for _ in waiting:  # after a fault, because Spark takes a worker that stops reading for dead
        pass
    yield _batch(number, part)


def _merge(batches: Iterable[Any], merge: Merge) -> Iterator[Any]:
    """Yield one row for each place."""
    places: dict[int, list[dict[str, Any]]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            places.setdefault(row.pop("place"), []).append(row)
    for place, rows in places.items():
        yield _batch(place, merge_parts(_sorted(rows), merge))


def _sorted(rows: Iterable[dict[str, Any]]) -> list[Part]:
    """Return parts in the order of their partitions, so that sums are the same each time."""
    ordered = sorted(rows, key=lambda row: row["number"])
    return [
        Part(bytes(row["state"]), row["rows"], row["crossing"], tuple(row["notes"]), row["fault"])
        for row in ordered
    ]


def _batch(number: int, part: Part) -> Any:
    """Return a part as one row of Arrow."""
    pa = pyarrow()
    types = {
        "number": pa.int32(),
        "state": pa.binary(),
        "rows": pa.int64(),
        "crossing": pa.int64(),
        "notes": pa.list_(pa.string()),
        "fault": pa.string(),
    }
    return pa.RecordBatch.from_pylist([{"number": number, **vars(part)}], pa.schema(types))


def _with_columns(
    batches: Iterable[Any], names: Sequence[str], state: Any, applying: Applying
) -> Iterator[Any]:
    """Yield the rows of a partition with the new columns."""
    number = _number()
    named = (batch.rename_columns(names) for batch in batches)
    source = Partition(f"partition {number}", named, number)
    with each_warning_once():
        for table in applying.tables(state.value, source, whole=True):
            yield from table.rename_columns(_plain(table.column_names)).to_batches()
