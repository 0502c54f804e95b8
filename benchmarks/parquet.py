"""Fit and evaluate folders of Parquet: memory and speed, against reading the columns alone.

    python benchmarks/parquet.py                    # 10 million rows
    python benchmarks/parquet.py --rows 100000000   # 2.6 GB of files
    python benchmarks/parquet.py --folder data      # keep the files, and take those that are there

Every step runs in a process of its own, whose peak memory and processor time the system counts.
All read the same columns in the same number of threads: reading alone decodes the batches that the
others work on, and drops them. Rates are of the time on the clock from the first row to the last,
start-up excluded. The floor of an evaluation is what the CDF and the CRPS of a normal forecast take
in bare numpy and scipy, one pass each over blocks that stay in the cache.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PEAK = 1000.0  # MB
RATIO = 2.0
COLUMNS = ("y", "mean", "std")
FILES = 8
_CHUNK = 1 << 20  # rows of a row group


@dataclass
class Step:
    """One process: seconds of its work, its processor time and its peak memory in MB."""

    name: str
    seconds: float
    work: float
    peak: float


def run(what: str, folder: Path, rows: int, jobs: int) -> Step:
    """Run a part of this script in a process of its own."""
    command = [sys.executable, __file__, "--part", what, str(folder), str(rows), str(jobs)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    if child.stdout is None:
        raise SystemExit(f"{what} says nothing")
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{what} failed with exit code {child.returncode}")
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Step(what, **json.loads(said), peak=usage.ru_maxrss / unit)


def make(folder: Path, rows: int) -> None:
    """Write forecasts that are three times too sure, a row group at a time."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, pa.float64()) for name in COLUMNS])
    folder.mkdir(exist_ok=True)
    for i in range(FILES):
        rng = np.random.default_rng(i)
        first, last = rows * i // FILES, rows * (i + 1) // FILES
        with parquet.ParquetWriter(folder / f"part-{i}.parquet", schema) as writer:
            for start in range(first, last, _CHUNK):
                n = min(_CHUNK, last - start)
                mean, std = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
                y = mean + 3.0 * std * rng.normal(size=n) + 0.5
                writer.write_table(pa.table([y, mean, std], schema=schema))


def read(folder: Path, jobs: int) -> None:
    """Decode the batches, and do nothing with them."""
    from concurrent.futures import ThreadPoolExecutor

    from pyarrow import parquet

    def one(file: Path) -> None:
        opened = parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20)
        for _ in opened.iter_batches(1 << 16, columns=list(COLUMNS), use_threads=False):
            pass

    with ThreadPoolExecutor(jobs) as threads:
        list(threads.map(one, sorted(folder.iterdir())))


def floor(rows: int, jobs: int) -> None:
    """Closed forms alone: scores, CDF, density and CRPS of rows that lie in the cache."""
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    from scipy.special import ndtr

    n = 1 << 14
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
    y = mean + 3.0 * std * rng.normal(size=n) + 0.5

    def one(_: int) -> float:
        total = 0.0
        for _ in range(rows // jobs // n):
            z = (y - mean) / std
            cdf = ndtr(z)
            pdf = np.exp(-0.5 * z * z) * 0.3989422804014327
            total += float((std * (z * (2.0 * cdf - 1.0) + 2.0 * pdf - 0.5641895835477563)).sum())
        return total

    with ThreadPoolExecutor(jobs) as threads:
        list(threads.map(one, range(jobs)))


def part(what: str, folder: Path, rows: int, jobs: int) -> None:
    """Do one step and print what it took."""
    # So that no step has to wait for them.
    import pyarrow.parquet  # noqa: F401
    import scipy.stats  # noqa: F401

    from trueline import files

    work = {
        "read": lambda: read(folder, jobs),
        "floor": lambda: floor(rows, jobs),
        "fit": lambda: files.fit(folder, n_jobs=jobs),
        "evaluate": lambda: files.evaluate(folder, n_jobs=jobs),
    }
    started, used = time.perf_counter(), time.process_time()
    work[what]()
    seconds, used = time.perf_counter() - started, time.process_time() - used
    print(json.dumps({"seconds": seconds, "work": used}))


def race(folder: Path, rows: int, jobs: int, repeats: int) -> bool:
    """Run all steps and print them."""
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print(f"{rows:,} rows in {FILES} files, {size:,.0f} MB; {jobs} threads, best of {repeats}")
    best: dict[str, Step] = {}
    for _ in range(repeats):
        for what in ("read", "fit", "evaluate", "floor"):
            step = run(what, folder, rows, jobs)
            if what not in best or step.seconds < best[what].seconds:
                best[what] = step
    held = True
    for step in best.values():
        ratio = step.seconds / best["read"].seconds
        line = f"  {step.name:<10}{step.seconds:8.2f} s"
        line += f"{rows / step.seconds / 1e6:8.1f} million rows/s"
        line += f"{1e9 * step.work / rows:7.1f} ns of work a row{step.peak:7.0f} MB"
        if step.name in ("fit", "evaluate"):
            line += f"{ratio:6.2f} x reading (want < {RATIO:g}: {_word(ratio < RATIO)}; "
            line += f"want < {PEAK:.0f} MB: {_word(step.peak < PEAK)})"
            held &= ratio < RATIO and step.peak < PEAK
        elif step.name == "floor":
            line += f"{1.0 + ratio:6.2f} x reading, with it"
        print(line)
    return held


def _word(holds: bool) -> str:
    return "yes" if holds else "NO"


def main() -> None:
    """Run all and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the files are, or are to stay")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, once")
    parser.add_argument("--part", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        what, folder, rows, jobs = given.part
        part(what, Path(folder), int(rows), int(jobs))
        return
    rows = given.rows // 10 if given.quick else given.rows
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary) / "forecasts"
        if not folder.exists():
            make(folder, rows)
        held = race(folder, rows, given.jobs, 1 if given.quick else given.repeats)
    raise SystemExit(0 if held else 1)


if __name__ == "__main__":
    main()
