"""The lines of shell in the README do what they say, as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

README = Path(__file__).parents[2] / "README.md"


def forecasts(n: int, seed: int) -> pa.Table:
    """Forecasts whose standard deviation should be four times as large."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(50.0, 10.0, n)
    return pa.table({"y": rng.normal(mean, 8.0), "mean": mean, "std": np.full(n, 2.0)})


def test_the_four_lines_of_shell(tmp_path):
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (lines,) = [block for block in blocks if "trueline evaluate" in block]
    assert len(lines.splitlines()) == 4
    csv.write_csv(forecasts(2000, 0), tmp_path / "forecasts.csv")
    csv.write_csv(forecasts(1000, 1), tmp_path / "new.csv")
    (tmp_path / "trueline").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trueline "$@"\n')
    (tmp_path / "trueline").chmod(0o755)
    done = subprocess.run(
        ["sh", "-e", "-c", lines],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "too narrow" in done.stdout
    table = csv.read_csv(tmp_path / "calibrated.csv").to_pydict()
    y, lower, upper = (np.array(table[name]) for name in ("y", "lower_0.9", "upper_0.9"))
    # 2,000 rows calibrate and 1,000 test: the standard error is 0.012, and this four of them.
    assert abs(((lower <= y) & (y <= upper)).mean() - 0.9) < 0.047
    assert "90% intervals" in (tmp_path / "report.html").read_text("utf-8")
