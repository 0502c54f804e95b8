"""The table of other packages' default forecasts: what is measured, what is told."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trueline as tl

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "packages.py"
DATA = pytest.mark.skipif(
    "TRUELINE_DATA" not in os.environ,
    reason="TRUELINE_DATA is not set: the table needs the folder with uci/*.csv",
)


@pytest.fixture(name="packages", scope="module")
def _packages():
    spec = importlib.util.spec_from_file_location("example_packages", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def rows_of(text: str) -> dict[str, list[str]]:
    """Cells of the first table, by the first cell."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    end = next((i for i, line in enumerate(lines) if line.startswith("| by chance")), len(lines))
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: end + 1]]
    return {row[0]: row[1:] for row in cells[2:]}


@DATA
def test_a_split_is_measured_on_rows_that_neither_model_nor_map_has_seen(packages):
    X, y, X_cal, y_cal, X_test, y_test = packages.split("cpu", 0)
    assert (len(y), len(y_cal), len(y_test)) == (104, 52, 53)
    all_y = np.sort(np.concatenate([y, y_cal, y_test]))
    np.testing.assert_array_equal(all_y, np.sort(tl.datasets.load("cpu").y))
    result = packages.measure("cpu", "scikit-learn BayesianRidge", 0)
    # The same by hand.
    from sklearn.linear_model import BayesianRidge

    model = BayesianRidge().fit(X, y)
    F_cal = tl.Normal(*model.predict(X_cal, return_std=True))
    F = tl.Normal(*model.predict(X_test, return_std=True))
    G = tl.Isotonic().fit(y_cal, F_cal).transform(F)
    floor = 1.65 * (1 / 53 + 1 / 52)
    assert result.before == pytest.approx(tl.calibration_error(y_test, F) / floor)
    assert result.after == pytest.approx(tl.calibration_error(y_test, G) / floor)
    assert result.crps_ratio == pytest.approx(tl.crps(y_test, G) / tl.crps(y_test, F))
    lower, upper = G.interval(0.9)
    assert result.covered_after == ((lower <= y_test) & (y_test <= upper)).mean()


def test_the_table_averages_seeds_then_sets_and_names_the_worst(packages):
    results = [
        packages.Result("scikit-learn BayesianRidge", data, seed, before, after, 0.5, 0.9, 0.8, 1.0)
        for data, seed, before, after in [
            ("mpg", 0, 10.0, 1.0),
            ("mpg", 1, 20.0, 2.0),
            ("mpg", 2, 30.0, 3.0),
            ("cpu", 0, 5.0, 0.5),
        ]
    ]
    row = rows_of(packages.table(results, (1.0, 1.5)))["scikit-learn BayesianRidge"]
    assert row == ["12.5", "1.25", "2.00 (mpg)", "50.0%", "90.0%", "0.800"]
    page = packages.page(results, (1.0, 1.5), ["make", "compare"])
    assert "Seeds: mpg 0 to 2, cpu 0 to 0." in page
    assert "| scikit-learn BayesianRidge | 20.0 2.00 0.800 | 5.0 0.50 0.800 |" in page


@DATA
def test_chance_alone_leaves_the_floor(packages):
    mean, worst = packages.by_chance(["mpg", "cpu"], quick=False, repeats=100)
    # 100 runs of 10 splits: the standard error of the mean is about 0.03.
    assert mean == pytest.approx(1.0, abs=0.1)
    assert worst > mean


@DATA
def test_the_quick_table_is_printed_and_nothing_is_written():
    page = ROOT / "results" / "packages.md"
    before = page.read_bytes() if page.exists() else None
    command = [sys.executable, str(EXAMPLE), "--quick", "--sets", "cpu"]
    command += ["--models", "scikit-learn BayesianRidge"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert list(rows_of(run.stdout)) == ["scikit-learn BayesianRidge", "by chance"]
    assert before == (page.read_bytes() if page.exists() else None)


def test_without_data_it_says_what_is_missing():
    environment = {k: v for k, v in os.environ.items() if k != "TRUELINE_DATA"}
    command = [sys.executable, str(EXAMPLE), "--models", "scikit-learn BayesianRidge"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 1
    assert run.stderr.startswith("TRUELINE_DATA is not set; expected the folder")


def test_a_package_that_is_absent_is_named(packages, monkeypatch, capsys):
    lacking = packages.Model("no-such-package", lambda seed: None)
    monkeypatch.setitem(packages.MODELS, "scikit-learn BayesianRidge", lacking)
    with pytest.raises(SystemExit):
        packages.main(["--models", "scikit-learn BayesianRidge"])
    assert "needs no-such-package, which is not installed here" in capsys.readouterr().err


def test_the_page_shows_what_it_should():
    page = (ROOT / "results" / "packages.md").read_text("utf-8")
    rows = rows_of(page)
    mended = {
        re.split(r"[ ,]", name)[0]
        for name, cells in rows.items()
        if name != "by chance" and float(cells[1]) <= 1.5
    }
    # At most 1.5 times the floor, for at least five packages beside scikit-learn.
    assert len(mended - {"scikit-learn"}) >= 5
    assert all(len(cells) == 6 for cells in rows.values())
