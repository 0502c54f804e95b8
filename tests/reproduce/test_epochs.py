"""The lengths of training: what chooses them, and that the test rows do not."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from reproduce.epochs import experiment as epochs
from reproduce.epochs.page import BY_RULE, best_lengths, cells_of, of_sets
from reproduce.sales import networks as sales

ROOT = Path(__file__).parents[2]


def record(data, model, length, held_out, seed=0, error=0.1):
    """A made-up result."""
    measures = {"calibration_error": error, "calibration_floor": 0.01, "crps": held_out}
    measured = measures | {"coverage": 0.9}
    variants = {"before": measured}
    if model == "dropout":
        variants["training"] = measured | {"calibration_error": 0.05}
    return {
        "data": data,
        "model": model,
        "seed": seed,
        "epochs": length,
        "held_out_crps": held_out,
        "variants": variants,
        "seconds": 1.0,
    }


def test_the_length_is_chosen_by_the_mean_over_stores_of_relative_scores():
    """A store with larger sales must not decide alone."""
    scores = {"store 1": {10: 100.0, 20: 110.0}, "store 2": {10: 2.0, 20: 1.0}}
    records = [
        record(store, "dropout", length, score, seed)
        for store, of in scores.items()
        for length, score in of.items()
        for seed in (0, 1)
    ]
    assert best_lengths(records) == {"dropout": 20}


def test_the_sets_on_which_dropout_beats_a_baseline_are_counted():
    records = [
        record(data, model, length, 1.0, error=error if model != "dropout" else 0.1)
        for data, error in (("mpg", 0.04), ("cpu", 0.06))
        for model in ("dropout", "deep-ensemble")
        for length in (10, BY_RULE)
    ]
    lines = [line for line in of_sets(cells_of(records)).splitlines() if "ensemble" in line]
    assert [line.split("|")[-2].strip() for line in lines] == ["1 of 2", "1 of 2"]


@pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="an sdist has no results")
def test_the_experiments_use_the_lengths_that_the_committed_run_chose():
    lines = (ROOT / "results" / "epochs" / "runs.jsonl").read_text().splitlines()[1:]
    chosen = best_lengths([json.loads(line) for line in lines])
    assert tuple(chosen[model] for model in sales.MODELS) == sales.FULL.epochs


@pytest.mark.skipif(not os.environ.get("TRUELINE_DATA"), reason="TRUELINE_DATA is not set")
def test_a_quick_run_trains_on_other_rows_than_it_judges(command, folder, monkeypatch):
    trained, judged = [], []
    fit_many, crps = epochs.fit_many, epochs.crps

    def fit(model, sets):
        trained.append([X for X, _ in sets])
        return fit_many(model, sets)

    def score(y, dist):
        judged.append(len(y))
        return crps(y, dist)

    monkeypatch.setattr(epochs, "fit_many", fit)
    monkeypatch.setattr(epochs, "crps", score)
    run = command("epochs", "--quick", "--jobs", "1")
    assert run.code == 0, run.err
    page = (folder / "results" / "epochs-quick" / "epochs.md").read_text()
    assert "its numbers mean nothing" in page
    for (whole, early), n in zip(trained, judged, strict=True):
        np.testing.assert_array_equal(early, whole[: len(early)])
        assert len(early) + n == len(whole)
