"""Calibrated classification: what the experiment computes and writes."""

import csv
import math

import numpy as np
import pytest

import trueline as tl
from reproduce.figure2 import experiment as figure2

FILES = ["brier.csv", "curves.csv", "figure2.md", "figure2.png"]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The quick version, what it printed, and the progress that it reported."""
    folder = tmp_path_factory.mktemp("results") / "deep" / "figure2"
    reports = []
    text = figure2.run(
        quick=True, output=folder, progress=lambda rows, share: reports.append((rows, share))
    )
    return folder, text, reports


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_it_writes_a_page_two_tables_and_a_picture(done):
    folder, text, _ = done
    assert sorted(file.name for file in folder.iterdir()) == FILES
    page = (folder / "figure2.md").read_text(encoding="utf-8")
    assert 'Made by `make reproduce ARGS="figure2 --quick"` with Python ' in page
    assert f"trueline {tl.__version__}" in page
    assert "Seeds 0 to 2." in page
    assert text.partition("\nThe figure")[0] in page
    assert str(folder) not in page
    assert (folder / "figure2.png").read_bytes().startswith(b"\x89PNG")


def test_every_row_adds_up(done):
    found = rows(done[0] / "brier.csv")
    assert len(found) == 3 * 5
    for row in found:
        sum_of_parts = sum(float(row[name]) for name in ("calibration", "refinement", "within"))
        assert abs(sum_of_parts - float(row["brier"])) < 1e-12


def test_the_curves_hold_every_test_row(done):
    found = rows(done[0] / "curves.csv")
    for method in ("before", "histogram", "sigmoid", "isotonic", "truth"):
        counts = [
            int(row["count"]) for row in found if (row["seed"], row["method"]) == ("1", method)
        ]
        assert sum(counts) == figure2.QUICK.test
        assert len(counts) <= 10
    for row in found:
        assert float(row["lower"]) <= float(row["predicted"]) <= float(row["upper"])


def test_the_table_is_the_mean_of_the_repeats(done):
    folder, text, _ = done
    found = [
        float(row["brier"]) for row in rows(folder / "brier.csv") if row["method"] == "sigmoid"
    ]
    line = next(line for line in text.splitlines() if line.startswith("| sigmoid"))
    error = np.std(found, ddof=1) / math.sqrt(3)
    assert line.split("|")[2].strip() == f"{np.mean(found):.4f} ± {error:.4f}"


def test_progress_ends_at_the_end(done):
    reports = done[2]
    assert reports[-1] == (3 * 4000, 1.0)
    assert reports == sorted(reports)


def test_a_second_run_writes_the_same(done, tmp_path):
    figure2.run(quick=True, output=tmp_path, progress=lambda rows, share: None)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (done[0] / name).read_bytes(), name


def test_recalibration_calibrates_and_the_truth_is_at_the_floor():
    # 5 repeats; the term of `before` is some 20 times that of isotonic, far beyond chance.
    size = figure2.Size(1000, 1000, 10_000, 5)
    judged = [figure2.judge(figure2.trial(size, seed)) for seed in range(5)]
    mean = {
        method: np.mean([parts[method].calibration for parts in judged]) for method in judged[0]
    }
    assert max(mean["histogram"], mean["isotonic"]) < mean["sigmoid"] < mean["before"] / 4
    floors = [parts["truth"].calibration_floor for parts in judged]
    # A sum of 50 squared, nearly independent normals: a relative error of 0.2 a standard error.
    assert mean["truth"] < 2 * np.mean(floors)
    for parts in judged:
        assert parts["truth"].brier == min(result.brier for result in parts.values())


def test_the_truth_is_the_share_of_class_one():
    X, y = figure2.sample(np.random.default_rng(5), 200_000)
    result = tl.brier_decomposition(y, figure2.truth(X))
    filled = result.counts > 0
    error = np.sqrt(result.predicted * (1 - result.predicted) / result.counts)
    assert (np.abs(result.predicted - result.observed)[filled] < 4 * error[filled]).all()
    assert y.mean() == pytest.approx(0.4, abs=0.005)


def test_the_histogram_gives_the_share_in_bins_of_equal_count():
    class Margin:
        def decision_function(self, X):
            return X[:, 0]

    X = np.arange(20.0)[:, None]
    y = (np.arange(20) % 4 == 3).astype(int)
    probability = figure2._histogram(Margin(), X, y, bins=5)
    np.testing.assert_array_equal(probability(X), np.full(20, 0.25))
    y[:4] = 1
    np.testing.assert_array_equal(probability(np.array([[-9.0]])), [0.25])
    changed = figure2._histogram(Margin(), X, y, bins=5)
    np.testing.assert_array_equal(
        changed(np.array([[-9.0], [3.0], [4.0], [99.0]])), [1, 1, 0.25, 0.25]
    )
