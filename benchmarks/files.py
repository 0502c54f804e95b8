"""Memory and speed of the command line on large files, against reading the file alone.

    python benchmarks/files.py                  # 5 million rows of CSV and of Parquet
    python benchmarks/files.py --quick          # half a million rows of CSV
    python benchmarks/files.py --rows 300000

Every step runs in a process of its own, whose peak memory and processor time the system counts;
ratios are of processor time, start-up included, so that other work on the machine changes little.
The results are compared with those of the Python API on the same rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PEAK = 500.0  # MB
COLUMNS = ("y", "mean", "std")
_CHUNK = 1 << 18


@dataclass
class Step:
    """One process: how long it took, its processor time (in seconds) and peak memory (in MB)."""

    name: str
    seconds: float
    work: float
    peak: float


def run(name: str, *arguments: str) -> Step:
    """Run Python with these arguments and measure it."""
    started = time.perf_counter()
    child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{name} failed with exit code {child.returncode}")
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    work = usage.ru_utime + usage.ru_stime
    return Step(name, time.perf_counter() - started, work, usage.ru_maxrss / unit)


def step(file: Path, what: str, *more: str) -> Step:
    """Run a part of this script in a process of its own, so that this one stays small."""
    return run(what, __file__, "--part", what, str(file), *more)


def make(file: Path, rows: int) -> None:
    """Write forecasts that are three times too sure, chunk by chunk."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    schema = pa.schema([(name, pa.float64()) for name in COLUMNS])
    writer = (csv.CSVWriter if file.suffix == ".csv" else parquet.ParquetWriter)(str(file), schema)
    with writer:
        for start in range(0, rows, _CHUNK):
            n = min(_CHUNK, rows - start)
            mean, std = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
            y = mean + 3.0 * std * rng.normal(size=n) + 0.5
            writer.write_table(pa.table([y, mean, std], schema=schema))


def read(file: Path) -> None:
    """Read as pyarrow does, and do nothing with it."""
    from pyarrow import csv, parquet

    if file.suffix == ".csv":
        for _ in csv.open_csv(file):
            pass
    else:
        for _ in parquet.ParquetFile(file).iter_batches(columns=list(COLUMNS)):
            pass


def compare(file: Path, map_file: Path, out: Path) -> None:
    """Raise unless the map and its intervals are those of the Python API."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv, parquet

    import trueline as tl

    def table(path: Path) -> pa.Table:
        return csv.read_csv(path) if path.suffix == ".csv" else parquet.read_table(path)

    y, mean, std = (table(file)[name].to_numpy() for name in COLUMNS)
    F = tl.Normal(mean, std)
    ours, exact = tl.load(map_file), tl.Isotonic().fit(y, F)
    at = np.quantile((y - mean) / std, np.linspace(0, 1, 100_001))
    off = np.abs(ours.law_.cdf(at) - exact.law_.cdf(at)).max()
    bound = ours.compression_error_
    if not off <= bound + 1e-15:
        raise SystemExit(f"the map is off by {off:.2g} in rank, more than it says: {bound:.2g}")
    written = table(out)
    lower, upper = ours.transform(F).interval(0.9)
    for name, expected in (("lower_0.9", lower), ("upper_0.9", upper)):
        np.testing.assert_array_equal(written[name].to_numpy(), expected)
    ends = zip((lower, upper), exact.transform(F).interval(0.9), strict=True)
    shift = max(np.abs(a - b).max() for a, b in ends)
    print(
        f"  as in Python: the map's intervals to the last bit; its ranks within {off:.1e} of those "
        f"of the exact map (said: {bound:.1e}), the ends of its intervals within {shift:.1e}",
        file=sys.stderr,
    )


def race(folder: Path, ending: str, rows: int) -> bool:
    """Run all steps on one format and print them."""
    file, map_file, out = folder / f"in{ending}", folder / "map.json", folder / f"out{ending}"
    step(file, "make", str(rows))
    floor = step(file, "read")
    start_up = run("start", "-c", "import pyarrow.csv, pyarrow.parquet, trueline.files")
    steps = [
        run("evaluate", "-m", "trueline", "evaluate", str(file)),
        run("fit", "-m", "trueline", "fit", str(file), "-o", str(map_file), "--force"),
        run("apply", "-m", "trueline", "apply", str(map_file), str(file), "-o", str(out)),
    ]
    size = file.stat().st_size / 1e6
    print(f"{ending[1:]}: {rows:,} rows, {size:.0f} MB; imports alone take {start_up.peak:.0f} MB")
    for s in (floor, *steps):
        line = f"  {s.name:<16}{s.seconds:7.2f} s, {s.work:5.2f} s of work{s.peak:6.0f} MB"
        if s is not floor:
            line += f"{rows / s.work / 1e6:7.2f} million rows/s{s.work / floor.work:6.1f} x reading"
            line += f"   want < {PEAK:.0f} MB: {'yes' if s.peak < PEAK else 'NO'}"
        print(line)
    sys.stdout.flush()
    step(file, "compare", str(map_file), str(out))
    return all(s.peak < PEAK for s in steps)


def main() -> None:
    """Run all and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, as CSV")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        part, file, *more = arguments.part
        jobs = {
            "make": lambda: make(Path(file), int(more[0])),
            "read": lambda: read(Path(file)),
            "compare": lambda: compare(Path(file), *map(Path, more)),
        }
        jobs[part]()
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = arguments.rows // 10 if arguments.quick else arguments.rows
        endings = (".csv",) if arguments.quick else (".csv", ".parquet")
        held = [race(Path(folder), ending, rows) for ending in endings]
    raise SystemExit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
