"""A large file needs no more memory than a small one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

# Rows are counted in cells from an eighth of a million on: few rows then show what happens to many.
# The system counts the peak.
MEASURED = """
import sys
from trueline.files import _passes, _source
from trueline.recalibration import _accumulator
from trueline.metrics import EvaluationAccumulator
_accumulator.LIMIT = 1 << 16
_accumulator._WAITING = EvaluationAccumulator.most_rows = 1 << 17
_passes._MAX_VALUES, _accumulator._KNOTS = 1 << 19, 1 << 17
_source.PIECE = 1 << 17
from trueline.cli import main
sys.argv = ["trueline", *sys.argv[1:]]
try:
    main()
except SystemExit as stopped:
    if stopped.code:
        raise
for line in open("/proc/self/status"):
    if line.startswith("VmHWM"):
        print(line.split()[1], file=sys.stderr)
"""


def peak(*arguments: str, stdin: str = os.devnull) -> float:
    """Peak memory of a command, in MB."""
    # One allocator and one thread, so that chance has little to say.
    quiet = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with Path(stdin).open() as source:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *arguments],
            stdin=source,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **quiet},
        )
    return int(done.stderr.split()[-1]) / 1e3


def write(path: Path, rows: int) -> float:
    """Write forecasts with a long note each; return the size in MB."""
    rng = np.random.default_rng(0)
    note = "x" * 150
    with path.open("w") as file:
        file.write("y,mean,std,note\n")
        for _ in range(rows // 1000):
            values = rng.normal(size=(1000, 2)).round(6)
            file.write("".join(f"{y},{m},0.5,{note}\n" for y, m in values.tolist()))
    return path.stat().st_size / 1e6


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak is read from /proc"
)


@needs_proc
def test_memory_does_not_grow_with_the_file(folder):
    small, large = write(folder / "small.csv", 150_000), write(folder / "large.csv", 750_000)
    commands = {
        "evaluate": lambda name: ["evaluate", f"{name}.csv"],
        "fit": lambda name: ["fit", f"{name}.csv", "-o", "map.json", "--force"],
        "apply": lambda name: ["apply", "map.json", f"{name}.csv", "-o", f"{name}.parquet"],
    }
    growth = {
        name: peak(*arguments("large")) - peak(*arguments("small"))
        for name, arguments in commands.items()
    }
    piped = ["apply", "map.json", "-", "-o", "-"]
    growth["pipe"] = peak(*piped, stdin="large.csv") - peak(*piped, stdin="small.csv")
    # 104 MB more of file
    assert large - small > 100
    assert max(growth.values()) < (large - small) / 2, growth


def write_folder(path: Path, files: int) -> float:
    """Write files of 100,000 rows of 500 groups; return the size in MB."""
    path.mkdir()
    for i in range(files):
        rng = np.random.default_rng(i)
        columns = {name: rng.normal(size=100_000) for name in ("y", "mean", "more")}
        columns["std"] = rng.uniform(0.5, 2.0, size=100_000)
        columns["group"] = rng.integers(0, 500, size=100_000)
        parquet.write_table(pa.table(columns), path / f"{i}.parquet", row_group_size=25_000)
    return sum(file.stat().st_size for file in path.iterdir()) / 1e6


@needs_proc
def test_memory_does_not_grow_with_the_folder(folder):
    # The small one has more pieces than are worked on, or wait to be merged, at a time.
    small, large = write_folder(folder / "small", 12), write_folder(folder / "large", 44)
    commands = {
        "evaluate": lambda name: ["evaluate", name],
        "fit": lambda name: ["fit", name, "-o", "map.json", "--force"],
        "fit groups": lambda name: ["fit", name, "-o", "g.json", "--force", "--group", "group"],
        "apply": lambda name: ["apply", "map.json", name, "-o", f"out-{name}"],
    }
    growth = {
        name: peak(*arguments("large")) - peak(*arguments("small"))
        for name, arguments in commands.items()
    }
    # 131 MB more of files
    assert large - small > 120
    assert max(growth.values()) < (large - small) / 2, growth
