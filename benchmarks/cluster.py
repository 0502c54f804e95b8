"""One map by Python, by `trueline.files`, Dask and Spark, on the same files, against reading them.

    python benchmarks/cluster.py                  # a million rows
    python benchmarks/cluster.py --rows 1e7

Dask has two worker processes and Spark two threads, which start before the clock does, and each
has fitted a few rows before it is timed. The maps must be those of `partial_fit`, to the last bit,
and no score in them moved by more than a share of 2^-17; evaluations must agree within rounding.
Ratios are of seconds to those of one thread that reads.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import trueline as tl
from trueline import files
from trueline.clusters import dask as tld, spark as tls

COLUMNS = ("y", "mean", "std")
FILES = 8
# A share of a score, by which rounding moves it at most.
BOUND = 2.0**-17


def make(folder: Path, rows: int) -> None:
    """Write forecasts that are three times too sure, in several files."""
    for i in range(FILES):
        rng = np.random.default_rng(i)
        n = rows * (i + 1) // FILES - rows * i // FILES
        mean, std = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
        y = mean + 3.0 * std * rng.normal(size=n) + 0.5
        table = pa.table([y, mean, std], names=COLUMNS)
        parquet.write_table(table, folder / f"part-{i}.parquet", row_group_size=1 << 18)


def batches(folder: Path) -> Any:
    """Read the files as pyarrow does, a little at a time."""
    for file in sorted(folder.glob("*.parquet")):
        yield from parquet.ParquetFile(file).iter_batches(1 << 16, columns=list(COLUMNS))


def local(folder: Path) -> tl.Recalibrator:
    """Fit in this process."""
    R = tl.Isotonic()
    for batch in batches(folder):
        y, mean, std = (column.to_numpy() for column in batch.columns)
        R.partial_fit(y, tl.Normal(mean, std))
    _ = R.scores_  # what waits is sorted when it is asked for
    return R


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def in_threads(folder: Path) -> tuple[float, Any, float, Any]:
    """Fit and evaluate in this process, by two threads."""
    everything = 1 << 40  # knots: what it would leave out is not compared
    fit, R = timed(lambda: files.fit(folder, max_knots=everything))
    evaluate, found = timed(lambda: files.evaluate(folder))
    return fit, R, evaluate, found


def in_dask(folder: Path, few: Path) -> tuple[float, Any, float, Any]:
    """Fit and evaluate by two worker processes."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        tld.fit(dd.read_parquet(few))
        fit, R = timed(lambda: tld.fit(dd.read_parquet(folder)))
        evaluate, found = timed(lambda: tld.evaluate(dd.read_parquet(folder)))
    return fit, R, evaluate, found


def in_spark(folder: Path, few: Path) -> tuple[float, Any, float, Any]:
    """Fit and evaluate by a Spark of two threads."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    tls.fit(session.read.parquet(str(few)))
    fit, R = timed(lambda: tls.fit(session.read.parquet(str(folder))))
    evaluate, found = timed(lambda: tls.evaluate(session.read.parquet(str(folder))))
    session.stop()
    return fit, R, evaluate, found


def exact_scores(folder: Path) -> Any:
    """Sorted scores of all rows, none of them rounded."""
    parts = []
    for batch in batches(folder):
        y, mean, std = (column.to_numpy() for column in batch.columns)
        parts.append((y - mean) / std)
    return np.sort(np.concatenate(parts))


def check(name: str, R: Any, expected: Any, scores: Any) -> bool:
    """Say how far a map is from that of Python, and from the exact one."""
    same = R.to_bytes() == expected.to_bytes()
    # Row i of n lies where the map reaches i, if no score was moved by more than the bound.
    at = np.unique(np.linspace(0, scores.size - 1, 10_001).astype(np.intp))
    reached = np.cumsum(R.scores_.points()[1])
    found = R.scores_.values[np.searchsorted(reached, at + 1.0)]
    off = float(np.abs(found / scores[at] - 1.0).max())
    held = same and off <= (BOUND if R.scores_.rounded else 0.0)
    print(
        f"  {name}: the bytes of partial_fit: {_yes(same)}; scores moved by at most {off:.1e} of "
        f"themselves (bound {BOUND:.1e}): {_yes(held)}"
    )
    return held


def race(folder: Path, rows: int) -> bool:
    """Run all and print."""
    few, many = folder / "few", folder / "many"
    few.mkdir()
    many.mkdir()
    make(few, 1000)
    make(many, rows)
    size = sum(file.stat().st_size for file in many.iterdir()) / 1e6
    print(f"{rows:,} rows, {size:.0f} MB of Parquet in {FILES} files")

    def read() -> None:
        for _ in batches(many):
            pass

    read()  # so that all find the files in the memory of the system
    floor, _ = timed(read)
    alone, expected = timed(lambda: local(many))
    found = {
        "trueline.files": in_threads(many),
        "Dask": in_dask(many, few),
        "Spark": in_spark(many, few),
    }

    def line(name: str, seconds: float) -> None:
        rate = rows / seconds / 1e6
        print(f"  {name:<22}{seconds:8.2f} s {rate:7.2f} million rows/s {seconds / floor:6.1f} x")

    line("read", floor)
    line("partial_fit", alone)
    for name, (fit, _, evaluate, _) in found.items():
        line(f"fit: {name}", fit)
        line(f"evaluate: {name}", evaluate)
    sys.stdout.flush()
    scores = exact_scores(many)
    held = [check(name, R, expected, scores) for name, (_, R, _, _) in found.items()]
    first, *rest = [result.overall.to_dict() for *_, result in found.values()]
    # Where rows are too many to keep, these two are read off cells.
    compared = [name for name in first if name not in ("p_value", "ence")]
    off = max(abs(other[name] / first[name] - 1.0) for other in rest for name in compared)
    ence = max(abs(other["ence"] / first["ence"] - 1.0) for other in rest)
    held.append(off < 1e-9 and ence < 1e-3)
    print(f"  evaluations differ by {off:.1e}, their ENCE by {ence:.1e}: {_yes(held[-1])}")
    return all(held)


def _yes(held: bool) -> str:
    return "yes" if held else "NO"


def main() -> None:
    """Make the files, and race."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    arguments = parser.parse_args()
    rows = arguments.rows // 10 if arguments.quick else arguments.rows
    with tempfile.TemporaryDirectory() as folder:
        held = race(Path(folder), rows)
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
