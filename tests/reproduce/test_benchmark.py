"""The benchmark: its rows are those of the published scores, its tables are what they say."""

import os

import pytest

from reproduce.benchmark import experiment, page
from reproduce.benchmark.data import CLEAR, published, rows_of, table
from reproduce.benchmark.methods import METHODS

needs_data = pytest.mark.skipif(
    "TRUELINE_DATA" not in os.environ, reason="TRUELINE_DATA is not set"
)


def quiet(count, share):
    """Show no progress."""


def record(data, model, seed, **scores):
    """A made-up result, in which methods differ by their interval score and CRPS."""
    shared = dict.fromkeys(page.MEASURES, 1.0)
    variants = {m: shared | {"interval_score": s, "crps": s} for m, s in scores.items()}
    for method in METHODS:
        variants.setdefault(method, dict(shared))
    variants["auto"]["chosen"] = "idr"
    return {"data": data, "model": model, "seed": seed, "variants": variants, "seconds": 1.0}


@needs_data
@pytest.mark.parametrize("name", CLEAR)
def test_every_set_has_published_scores_of_ten_seeds(name):
    for method in ("clear", "cqr"):
        assert sorted(published(name, method).by_seed) == list(range(10))
    X, _ = table(name)
    rows = rows_of(name, 3)
    assert len(rows.y_test) == -(-len(X) // 5)
    assert len(rows.y) + len(rows.y_test) == len(X)


@needs_data
def test_scores_are_divided_by_those_of_the_same_seeds():
    theirs = published("airfoil", "clear").by_seed
    records = [record("airfoil", "linear", seed, isotonic=2.0 * theirs[seed]) for seed in (1, 4)]
    (line,) = [
        line
        for line in page.beside_clear(page.cells_of(records)).splitlines()
        if line.startswith("| linear, isotonic")
    ]
    assert [cell.strip() for cell in line.split("|")[2:4]] == ["2.00", "2.000"]


def test_ratios_to_the_default_and_choices():
    records = [
        record("mpg", "forest", 0, isotonic=2.0, IDR=1.0),
        record("cpu", "forest", 0, isotonic=2.0, IDR=4.0),
    ]
    cells = page.cells_of(records)
    (line,) = [x for x in page.beside_the_usual(cells).splitlines() if "IDR" in x]
    assert [cell.strip() for cell in line.split("|")[2:5]] == [
        "1.000",
        "0.500 (mpg)",
        "2.000 (cpu)",
    ]
    assert page.choices(cells).splitlines()[-1].split("|")[2].strip() == "2"


@needs_data
def test_a_quick_run_that_goes_on(tmp_path):
    options = {"sets": ["energy_efficiency"], "models": ["linear"], "seeds": None, "jobs": 1}
    options |= {"quick": True, "output": tmp_path, "progress": quiet}
    text = experiment.run(fresh=True, **options)
    assert "linear, auto" in text
    written = (tmp_path / "benchmark.md").read_text()
    assert "its numbers mean nothing" in written
    assert "{{" not in written
    assert experiment.run(fresh=False, **options).startswith(text.split("The page")[0].rstrip())
    assert (tmp_path / "benchmark.csv").read_text().count("\n") == 1 + len(METHODS)
