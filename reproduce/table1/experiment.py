"""Fit and recalibrate the models of Table 1, and write the results.

Besides the paper's protocol, a map that is fitted on the training set, the experiment follows the
K-fold rule of the paper: five models, each recalibrated on the rows that it has not seen, averaged;
as it is written there, and with scores that are corrected for the average.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce import Progress
from reproduce.cells import judge
from reproduce.journal import Journal
from reproduce.pages import command_line, folder, made_by
from reproduce.pictures import require_matplotlib
from reproduce.table1.cells import by_model
from reproduce.table1.page import csv_of, page_of, table
from reproduce.table1.pictures import draw
from reproduce.table1.shared_fits import SharedFits
from reproduce.tasks import (
    DECISIVE,
    check_counts,
    chosen,
    description,
    require_torch,
    run_missing,
    versions,
)
from trueline._files import write_text
from trueline.datasets import info, load, names
from trueline.distributions import Distribution, Mixture
from trueline.estimators import CalibratedRegressor
from trueline.interop import read_forecast
from trueline.recalibration import Isotonic

TEST_SHARE = 0.25

#: Data sets and splits of --quick.
QUICK_SETS, QUICK_SPLITS = ("mpg", "auto", "cpu"), 1
SPLITS = 5

_SETS = names()
#: The models, and about how long each takes relative to the others.
MODELS = {"bayesian-ridge": 0.01, "dropout": 2.0, "concrete-dropout": 0.7, "deep-ensemble": 1.0}


def make(model: str, seed: int) -> Any:
    """Return an unfitted model of Table 1."""
    from sklearn.linear_model import BayesianRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from trueline.models import ConcreteDropoutRegressor, DeepEnsembleRegressor, DropoutRegressor

    if model == "bayesian-ridge":
        return make_pipeline(StandardScaler(), BayesianRidge())
    if model == "dropout":
        # The paper leaves out the observation noise. Dropout prevents overfitting; early stopping
        # on the few rows that small data sets can spare would stop at random.
        return DropoutRegressor(
            noise=None, validation_fraction=0.0, max_epochs=300, random_state=seed
        )
    if model == "concrete-dropout":
        return ConcreteDropoutRegressor(random_state=seed)
    # The authors of deep ensembles use the normal distribution with the moments of the mixture.
    return DeepEnsembleRegressor(forecast="normal", random_state=seed)


class Task(NamedTuple):
    """A model on a split of a data set."""

    dataset: str
    model: str
    split: int

    @property
    def cost(self) -> float:
        """About how long it takes, relative to other tasks."""
        rows = {known.name: known.rows for known in info()}
        return MODELS[self.model] * rows[self.dataset]


def run(
    *,
    datasets: Sequence[str] | None,
    models: Sequence[str] | None,
    splits: int | None,
    jobs: int,
    quick: bool,
    fresh: bool,
    output: Path | None,
    progress: Progress,
) -> str:
    """Run the missing fits, write the results, return the table."""
    require_matplotlib("reproduce table1")
    require_torch()
    sets = chosen(datasets, _SETS, "--datasets", QUICK_SETS if quick else ())
    kinds = chosen(models, list(MODELS), "--models")
    n_splits = splits if splits is not None else QUICK_SPLITS if quick else SPLITS
    check_counts(splits=n_splits, jobs=jobs)
    for name in sets:
        load(name)  # missing data is reported before any work is done
    target = folder(output or Path("results") / ("table1-quick" if quick else "table1"))
    wanted = [Task(*one) for one in product(sets, kinds, range(n_splits))]
    journal = Journal(target / "splits.jsonl", settings(), fresh=fresh)
    by_task, kept = run_missing(wanted, journal, measure, _task, jobs, progress)
    records = [by_task[task] for task in sorted(by_task, key=_in_order)]
    write(target, records, command_line("table1", _options_of(list(by_task))))
    return f"{table(records)}\n{kept}The whole table, all splits and the pictures are in {target}."


def write(target: Path, records: Sequence[dict[str, Any]], command: str) -> None:
    """Write the page, the numbers and the pictures."""
    write_text(target / "table1.csv", csv_of(records))
    for model, cells in by_model(records).items():
        draw(target / f"{model}.png", cells, model)
    write_text(target / "table1.md", page_of(records, command, made_by(command, DECISIVE)))


def _in_order(task: Task) -> tuple[int, int, int]:
    return _SETS.index(task.dataset), list(MODELS).index(task.model), task.split


def _options_of(tasks: Sequence[Task]) -> dict[str, Any]:
    """Return the options of a run that makes these fits."""
    sets = [name for name in _SETS if any(task.dataset == name for task in tasks)]
    models = [name for name in MODELS if any(task.model == name for task in tasks)]
    splits = 1 + max(task.split for task in tasks)
    quick = (tuple(sets), splits) == (QUICK_SETS, QUICK_SPLITS)
    return {
        "datasets": None if quick or sets == _SETS else sets,
        "models": None if models == list(MODELS) else models,
        "splits": None if quick or splits == SPLITS else splits,
        "quick": quick,
    }


def settings() -> dict[str, str]:
    """Return what the results depend on, apart from the split: versions and models."""
    return versions() | {model: description(make(model, 0)) for model in MODELS}


def _task(record: dict[str, Any]) -> Task:
    return Task(record["dataset"], record["model"], record["split"])


def measure(task: Task) -> dict[str, Any]:
    """Fit a model on one split, recalibrate it, and judge all forecasts of the test rows."""
    dataset, model, split = task
    import torch
    from sklearn.model_selection import train_test_split

    # One thread per process, so that results do not depend on the number of processes.
    torch.set_num_threads(1)
    started = time.perf_counter()
    data = load(dataset)
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=TEST_SHARE, random_state=split
    )
    forecasts = forecast(make(model, split), X, y, X_test, split)
    return {
        "dataset": dataset,
        "model": model,
        "split": split,
        "n_train": len(y),
        "n_test": len(y_test),
        "zero_targets": int(np.sum(y_test == 0)),
        "variants": {
            name: judge(y_test, dist, None if name in ("before", "averaged") else len(y))
            for name, dist in forecasts.items()
        },
        "seconds": round(time.perf_counter() - started, 1),
    }


def forecast(
    model: Any,
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    X_test: NDArray[np.float64],
    seed: int,
) -> dict[str, Distribution]:
    """Forecast test rows with each variant."""
    from sklearn.frozen import FrozenEstimator

    shared = SharedFits(model)
    options: dict[str, Any] = {"scale_estimator": None, "random_state": seed}
    refit, crossfit = (
        CalibratedRegressor(shared, ensemble=ensemble, **options).fit(X, y)
        for ensemble in (False, True)
    )
    whole = FrozenEstimator(refit.estimator_)
    # The paper knows no atoms, so that its protocols have none.
    on_training = CalibratedRegressor(whole, support=None, scale_estimator=None).fit(X, y)
    return {
        "before": read_forecast(whole, X_test),
        "training": on_training.predict_dist(X_test),
        "refit": refit.predict_dist(X_test),
        "averaged": Mixture([read_forecast(model, X_test) for model in crossfit.estimators_]),
        "crossfit": crossfit.predict_dist(X_test),
        "plain": plain_folds(shared, X, y, seed).predict_dist(X_test),
    }


def plain_folds(
    model: Any, X: NDArray[np.float64], y: NDArray[np.float64], seed: int
) -> CalibratedRegressor:
    """Return the K-fold rule of section 3.2 of the paper, with Eq. 6 to the letter."""
    return CalibratedRegressor(
        model,
        method=Isotonic(finite_sample=False),
        ensemble=True,
        shrinkage=False,
        scale_estimator=None,
        support=None,
        random_state=seed,
    ).fit(X, y)
