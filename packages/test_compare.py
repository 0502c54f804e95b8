"""The table of default forecasts, in its small size, with every package there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "packages.py"


@pytest.mark.skipif(
    "TRUELINE_DATA" not in os.environ,
    reason="TRUELINE_DATA is not set: the table needs the folder with uci/*.csv",
)
def test_the_quick_table_has_every_package():
    command = [sys.executable, str(EXAMPLE), "--quick", "--sets", "cpu"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    rows = [line.split(" | ") for line in run.stdout.splitlines() if line.startswith("| ")][1:-1]
    errors = {row[0].removeprefix("| "): (float(row[1]), float(row[2])) for row in rows}
    assert len(errors) == 8
    before, _ = errors["CatBoost RMSEWithUncertainty"]
    # A thousand boosted trees on a hundred rows: its intervals hold for one row in five.
    assert before > 4
    # After it, one split of 53 rows is what chance makes of it: 1 on average, and above 6 once in
    # 360 simulated splits of a perfect forecast.
    assert all(after < 6 for _, after in errors.values())
