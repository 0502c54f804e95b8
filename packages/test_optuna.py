"""Scores in Optuna's loops."""

import numpy as np
import pytest

import trueline as tl
from trueline.tracking import scores

optuna = pytest.importorskip("optuna")

Y = np.random.default_rng(0).normal(scale=2.0, size=500)


def test_a_study_finds_the_scale_that_scores_best():
    def objective(trial):
        scale = trial.suggest_float("scale", 0.1, 10.0, log=True)
        found = scores(Y, (np.zeros(500), scale))
        trial.set_user_attr("scores", found)
        return found["crps"]

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=30)
    # The CRPS of N(0, s) for outcomes of N(0, 2) is smallest at s = 2, and flat about it.
    assert 1.5 < study.best_params["scale"] < 2.6
    assert study.best_trial.user_attrs["scores"]["crps"] == study.best_value
    best = tl.evaluate(Y, tl.Normal(np.zeros(500), study.best_params["scale"]))
    assert study.best_value == best.crps


def test_scores_can_be_reported_and_pruned_by():
    def objective(trial):
        scale = [2.0, 20.0][trial.number % 2]
        for step in range(3):
            trial.report(
                scores(Y[: 100 * (step + 1)], (np.zeros(100 * (step + 1)), scale))["crps"], step
            )
            if trial.should_prune():
                raise optuna.TrialPruned
        return scores(Y, (np.zeros(500), scale))["crps"]

    pruner = optuna.pruners.MedianPruner(n_startup_trials=1)
    study = optuna.create_study(pruner=pruner)
    study.optimize(objective, n_trials=4)
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE", "PRUNED", "COMPLETE", "PRUNED"]


def test_several_objectives_may_be_given_at_once():
    def objective(trial):
        scale = trial.suggest_float("scale", 0.5, 5.0)
        found = scores(Y, (np.zeros(500), scale))
        return found["interval_width"], abs(found["coverage"] - 0.9)

    study = optuna.create_study(
        directions=["minimize", "minimize"], sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(objective, n_trials=10)
    assert study.best_trials
