"""A large file needs no more memory than a small one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

# States are compressed from an eighth of a million rows on, and into smaller ones: few rows then
# show what happens to many. The system counts the peak.
MEASURED = """
import sys
import trueline.scale._evaluate, trueline.scale._fit, trueline.scale._sketch
trueline.scale._evaluate._ROWS = trueline.scale._fit._ROWS = 1 << 17
trueline.scale._fit._KNOTS = 1 << 14
trueline.scale._sketch._CELLS = 1 << 12
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


def peak(*arguments: str) -> float:
    """Peak memory of a command, in MB."""
    # One allocator and one thread, so that chance has little to say.
    quiet = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments],
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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
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
    # 104 MB more of file
    assert large - small > 100
    assert max(growth.values()) < (large - small) / 2, growth
