"""The run of Table 1: measures, resumed runs, and refused options."""

import os

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import trueline as tl
from reproduce import ExperimentError
from reproduce.cells import judge
from reproduce.journal import Journal
from reproduce.table1 import experiment as table1, shared_fits
from reproduce.table1.paper import perfect_errors
from trueline.models import DropoutRegressor

needs_data = pytest.mark.skipif(
    not os.environ.get("TRUELINE_DATA"), reason="TRUELINE_DATA is not set"
)
VARIANTS = ("before", "training", "refit", "averaged", "crossfit", "plain")
FILES = [
    "bayesian-ridge.png",
    "concrete-dropout.png",
    "deep-ensemble.png",
    "dropout.png",
    "splits.jsonl",
    "table1.csv",
    "table1.md",
]


def result(dataset, model, split):
    """A made-up result, different for each fit."""
    rng = np.random.default_rng([len(dataset), len(model), split])
    numbers = ("mape", "calibration_error", "sharpness", "crps", "coverage", "width")
    return {
        "dataset": dataset,
        "model": model,
        "split": split,
        "n_train": 300,
        "n_test": 100,
        "zero_targets": 0,
        "variants": {
            name: {number: float(rng.uniform(0.1, 0.9)) for number in numbers}
            | {"calibration_floor": 0.02, "curve": np.sort(rng.random(19)).tolist()}
            for name in VARIANTS
        },
        "seconds": 1.0,
    }


@pytest.fixture
def measured(monkeypatch):
    """Replace the fits by made-up results; return the tasks."""
    tasks = []

    def measure(task):
        tasks.append(task)
        return result(*task)

    monkeypatch.setattr(table1, "measure", measure)
    monkeypatch.setattr(table1, "load", lambda name: None)
    return tasks


def run(output, **options):
    values = {"datasets": ["mpg", "cpu"], "models": None, "splits": 2, "jobs": 1}
    values |= {"quick": False, "fresh": False, "progress": lambda done, share: None}
    return table1.run(**{**values, **options}, output=output)


def test_a_stopped_run_continues_and_ends_the_same(measured, monkeypatch, tmp_path):
    run(tmp_path / "whole")
    assert len(measured) == 2 * 4 * 2
    assert sorted(p.name for p in (tmp_path / "whole").iterdir()) == FILES

    measure, left = table1.measure, iter(range(3))

    def stop(task):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return measure(task)

    monkeypatch.setattr(table1, "measure", stop)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "parts")
    assert [p.name for p in (tmp_path / "parts").iterdir()] == ["splits.jsonl"]

    monkeypatch.setattr(table1, "measure", measure)
    before = list(measured)
    shares = []
    text = run(tmp_path / "parts", progress=lambda done, share: shares.append((done, share)))
    assert len(measured) == len(before) + 13
    assert len(set(measured[16:])) == 16
    assert shares[-1] == (13, pytest.approx(1.0))
    assert text.endswith(f"The whole table, all splits and the pictures are in {tmp_path}/parts.")
    for name in ("table1.csv", "table1.md", "dropout.png"):
        whole = (tmp_path / "whole" / name).read_bytes()
        assert (tmp_path / "parts" / name).read_bytes() == whole


def test_runs_add_results_and_fresh_discards_them(measured, tmp_path):
    run(tmp_path, datasets=["cpu"], models=["dropout"])
    assert set(measured) == {("cpu", "dropout", 0), ("cpu", "dropout", 1)}
    run(tmp_path, datasets=["cpu"], models=["dropout"], splits=3)
    assert measured[2:] == [("cpu", "dropout", 2)]
    run(tmp_path, datasets=["cpu"], models=["dropout"], splits=3)
    assert len(measured) == 3
    run(tmp_path, datasets=["cpu"], models=["dropout"], splits=1, fresh=True)
    assert measured[3:] == [("cpu", "dropout", 0)]
    made = (tmp_path / "table1.md").read_text().splitlines()[2]
    command = '`make reproduce ARGS="table1 --datasets cpu --models dropout --splits 1"`'
    assert made.startswith(f"Made by {command} with Python ")


def test_a_smaller_run_keeps_the_whole_table(measured, tmp_path):
    run(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    text = run(tmp_path, datasets=["cpu"], models=["dropout"], splits=1)
    assert "1 of 1 fits existed already; --fresh repeats them." in text
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_longest_fits_come_first(measured, tmp_path):
    run(tmp_path, datasets=["kinematics", "cpu"], splits=1)
    assert {data for data, _, _ in measured[:3]} == {"kinematics"}
    assert measured[-1] == ("cpu", "bayesian-ridge", 0)


def test_a_quick_run_has_three_sets_and_one_split(measured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(None, datasets=None, splits=None, quick=True)
    assert set(measured) == {(d, m, 0) for d in ("mpg", "auto", "cpu") for m in table1.MODELS}
    assert (tmp_path / "results" / "table1-quick" / "table1.md").is_file()


def test_the_full_run_has_eight_sets_four_models_five_splits(measured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(None, datasets=None, splits=None)
    assert len(set(measured)) == 8 * 4 * 5
    assert (tmp_path / "results" / "table1" / "table1.md").is_file()


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"datasets": ["mgp"]},
            (
                "--datasets is 'mgp'. Did you mean 'mpg'? Expected one of mpg, auto, crime, "
                "kinematics, stocks, cpu, bank, wine."
            ),
        ),
        (
            {"models": ["dropout", "forest"]},
            (
                "--models is 'forest'. Expected one of bayesian-ridge, dropout, concrete-dropout, "
                "deep-ensemble."
            ),
        ),
        ({"splits": 0}, "--splits is 0; expected 1 or more."),
        ({"jobs": -1}, "--jobs is -1; expected 1 or more."),
    ],
)
def test_bad_options_are_refused_before_anything_is_written(measured, tmp_path, options, message):
    with pytest.raises(ExperimentError) as caught:
        run(tmp_path / "results", **options)
    assert str(caught.value) == message
    assert not measured
    assert not (tmp_path / "results").exists()


def test_ctrl_c_says_that_results_are_kept(command, monkeypatch):
    def stop(**options):
        raise KeyboardInterrupt

    monkeypatch.setattr(table1, "run", stop)
    assert command("table1") == (
        130,
        "",
        "stopped; the results so far are kept: the same command continues from there.\n",
    )
    assert command("table1", "--fresh") == (
        130,
        "",
        (
            "stopped; the results so far are kept: the same command without --fresh continues "
            "from there.\n"
        ),
    )


def test_rows_whose_outcome_is_zero_have_no_percentage_error():
    y = np.array([0.0, 1.0, 2.0])
    found = judge(y, tl.Normal([5.0, 2.0, 1.0], 1.0), None)
    assert found["mape"] == pytest.approx((1.0 + 0.5) / 2)
    assert found["calibration_floor"] == pytest.approx(0.55)


@needs_data
def test_measures_are_those_of_the_public_functions():
    found = table1.measure(table1.Task("cpu", "bayesian-ridge", 3))
    data = tl.datasets.load("cpu")
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.25, random_state=3)
    scaler = StandardScaler().fit(X)
    ridge = BayesianRidge().fit(scaler.transform(X), y)
    before = tl.Normal(*ridge.predict(scaler.transform(X_test), return_std=True))
    on_training = tl.Normal(*ridge.predict(scaler.transform(X), return_std=True))
    after = tl.Isotonic(support=None).fit(y, on_training).transform(before)
    variants = found["variants"]
    assert tuple(variants) == VARIANTS
    for dist, name in ((before, "before"), (after, "training")):
        n_fit = None if name == "before" else len(y)
        expected = tl.evaluate(y_test, dist, n_fit=n_fit)
        for number in ("calibration_error", "calibration_floor", "crps", "coverage", "sharpness"):
            assert variants[name][number] == pytest.approx(getattr(expected, number), rel=1e-5)
        levels = np.arange(1, 20) / 20
        observed = (tl.pit(y_test, dist)[:, None] <= levels).mean(axis=0)
        np.testing.assert_allclose(variants[name]["curve"], observed, atol=1e-4)
    assert (found["n_train"], found["n_test"], found["zero_targets"]) == (156, 53, 0)
    model = table1.make("bayesian-ridge", 3)
    options = {"cv": 5, "scale_estimator": None, "random_state": 3}
    for name, ensemble in (("refit", False), ("crossfit", True)):
        honest = tl.CalibratedRegressor(model, ensemble=ensemble, **options).fit(X, y)
        expected = tl.crps(y_test, honest.predict_dist(X_test))
        assert variants[name]["crps"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("model", [BayesianRidge(), DropoutRegressor((8,), max_epochs=2)])
def test_fits_are_shared_and_the_same(model, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model.set_params(**({"random_state": 0} if isinstance(model, DropoutRegressor) else {}))
    made = []
    fit = shared_fits._fit
    monkeypatch.setattr(
        shared_fits, "_fit", lambda model, sets: made.append(len(sets)) or fit(model, sets)
    )
    shared = shared_fits.SharedFits(model)
    options = {"cv": 3, "scale_estimator": None, "random_state": 0}
    for ensemble in (False, True):
        ours = tl.CalibratedRegressor(shared, ensemble=ensemble, **options).fit(X, y)
        theirs = tl.CalibratedRegressor(model, ensemble=ensemble, **options).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-4, atol=1e-4)
    # All rows and three folds; three thinned; and nothing more.
    assert made == [4, 3, 0, 0]


@needs_data
def test_the_quick_table(command, folder):
    """Real fits: after cross-fitting no cell is off by more than chance explains."""
    done = command("table1", "--quick", "--datasets", "cpu", "--jobs", "1", "--output", "here")
    assert done.code == 0
    assert sorted(p.name for p in (folder / "here").iterdir()) == FILES
    journal = Journal(folder / "here" / "splits.jsonl", table1.settings())
    assert len(journal.records) == 4
    for record in journal.records:
        errors = perfect_errors(record["n_test"], record["n_train"], 1)
        crossfit = record["variants"]["crossfit"]["calibration_error"]
        assert crossfit <= np.quantile(errors, 0.9999), (record["dataset"], record["model"])
        # All of them are forecasts of the same rows, and no two the same.
        assert len({variant["crps"] for variant in record["variants"].values()}) == 6
