"""Doctor visits, the counts that statsmodels contains, in the small size of the example."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "counts.py"


@pytest.fixture(scope="module")
def table():
    """Numbers of the table by model and forecast."""
    run = subprocess.run(
        [sys.executable, str(EXAMPLE), "--quick"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in run.stdout.splitlines()]
    names = rows[0][2:]
    return {
        (row[0], row[1]): {
            name: float(cell.rstrip("%")) for name, cell in zip(names, row[2:], strict=True) if cell
        }
        for row in rows[2:]
    }


@pytest.mark.parametrize("model", ["PoissonRegressor", "HistGradientBoosting"])
@pytest.mark.parametrize("recipe", ["Poisson, `Isotonic`", "the default", "`Conditional`"])
def test_calibrated_counts_are_sharper_and_have_the_share_of_zeros(table, model, recipe):
    before, after = table[model, "Poisson"], table[model, recipe]
    outcomes = table["outcomes", ""]
    # Visits vary far more than a Poisson distribution allows.
    assert before["error / floor"] > 10
    assert after["CRPS"] < before["CRPS"]
    # As in test_compare: 1 on average, and above 6 once in 360 splits of a perfect forecast.
    assert after["error / floor"] < 6
    # The chance in 500 rows of the test and 1,500 of the fit, which is larger for groups.
    dry = outcomes["P(0)"]
    error = np.sqrt(dry * (1.0 - dry) * (1 / 500 + 1 / 1500))
    assert abs(after["P(0)"] - dry) < 4 * error
    # Intervals of counts hold at least what they promise, and what the forecast expects of them.
    assert after["expected"] >= 90.0
    assert abs(after["90% hold"] - after["expected"]) < 100 * 4 * np.sqrt(0.09 / 500)
