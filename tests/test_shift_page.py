"""The page on covariate shift, in its small size."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "shift.py"


def table(section: str) -> dict[str, list[float]]:
    """Coverage in percent, width and CRPS by the way to calibrate."""
    rows = (line.strip("| ").split(" | ") for line in section.splitlines() if "±" in line)
    return {
        name: [float(held.split("%")[0]), float(w), float(crps)] for name, held, w, crps in rows
    }


@pytest.mark.skipif(
    "TRUELINE_DATA" not in os.environ,
    reason="TRUELINE_DATA is not set: the page needs the folder with clear/airfoil.csv.gz",
)
def test_the_quick_page_shows_what_the_full_one_does(tmp_path):
    path = tmp_path / "shift.md"
    command = [sys.executable, str(EXAMPLE), "--quick", "--output", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert path.read_text(encoding="utf-8") == run.stdout
    tilted, same = (table(part) for part in run.stdout.split("## ")[1:3])
    assert len(tilted) == len(same) == 7
    # The splits are the same for all ways, and six have a standard error of two points.
    assert tilted["`shift_weights`"][0] > tilted["no weights"][0] + 3.0
    assert tilted["`shift_weights`"][0] == pytest.approx(tilted["true weights"][0], abs=3.0)
    assert same["`shift_weights`"][2] < 1.005 * same["no weights"][2]
    assert "refused in 6 of 6 splits" in run.stdout


def test_without_data_it_says_what_is_missing():
    environment = {k: v for k, v in os.environ.items() if k != "TRUELINE_DATA"}
    run = subprocess.run(
        [sys.executable, str(EXAMPLE), "--quick"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert run.returncode == 1
    assert "TRUELINE_DATA" in run.stderr
