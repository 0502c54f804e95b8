"""Fit every model with every method on every split, write the results."""

from __future__ import annotations

import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from reproduce import Progress
from reproduce.benchmark.data import CLEAR, UCI, published, rows_of, table
from reproduce.benchmark.methods import METHODS, MODELS, make
from reproduce.benchmark.page import LEVEL, csv_of, page_of, tables
from reproduce.journal import Journal
from reproduce.pages import command_line, folder, made_by
from reproduce.tasks import check_counts, chosen, description, run_missing, versions
from trueline import metrics
from trueline._files import write_text
from trueline.distributions import Distribution

#: Seeds of the data sets, and of the networks, which take longest.
SEEDS, NETWORK_SEEDS = 10, 2
QUICK_SETS = ("energy_efficiency", "cpu")
QUICK_MODELS = ("boosting", "linear")
# Milliseconds that the methods of a model take for a training row, about.
_COST = {"boosting": 5.0, "forest": 8.0, "linear": 2.0, "network": 30.0}


class Task(NamedTuple):
    """A model on a split of a data set."""

    data: str
    model: str
    seed: int

    @property
    def cost(self) -> float:
        """About how long it takes, relative to other tasks."""
        return _COST[self.model] * len(table(self.data)[1])


def run(
    *,
    sets: list[str] | None,
    models: list[str] | None,
    seeds: int | None,
    jobs: int,
    quick: bool,
    fresh: bool,
    output: Path | None,
    progress: Progress,
) -> str:
    """Run the missing fits, write the results, return the tables."""
    usual = 1 if quick else SEEDS
    check_counts(seeds=usual if seeds is None else seeds, jobs=jobs)
    names = chosen(sets, (*CLEAR, *UCI), "--sets", QUICK_SETS if quick else ())
    kinds = chosen(models, tuple(MODELS), "--models", QUICK_MODELS if quick else ())
    for name in names:
        table(name)  # missing data is reported before any work is done
    published(CLEAR[0], "clear")
    target = folder(output or Path("results") / ("benchmark-quick" if quick else "benchmark"))
    journal = Journal(target / "runs.jsonl", settings(), fresh=fresh)
    wanted = [
        Task(name, model, seed)
        for name, model in product(names, kinds)
        for seed in range(seeds_of(model, usual if seeds is None else seeds))
    ]
    by_task, kept = run_missing(wanted, journal, measure, _task, jobs, progress)
    records = list(by_task.values())
    options = {"sets": sets, "models": models, "seeds": seeds, "quick": quick}
    command = command_line("benchmark", options)
    write_text(target / "benchmark.csv", csv_of(records))
    write_text(target / "benchmark.md", page_of(records, command, made_by(command)))
    return f"{tables(records)}\n{kept}The page and all numbers are in {target}."


def seeds_of(model: str, seeds: int) -> int:
    """Return the number of seeds of a model."""
    return min(seeds, NETWORK_SEEDS) if model == "network" else seeds


def settings() -> dict[str, str]:
    """Return what the results depend on, apart from the tasks."""
    known = versions()
    known.pop("torch")
    made = {
        f"{method} {model}": description(make(method, model, 0))
        for method, model in product(METHODS, MODELS)
    }
    return {"experiment": "benchmark"} | made | known


def _task(record: dict[str, Any]) -> Task:
    return Task(*(record[name] for name in Task._fields))


def measure(task: Task) -> dict[str, Any]:
    """Fit the model with every method on a split, and judge the forecasts of the test rows."""
    rows = rows_of(task.data, task.seed)
    found = {}
    started = time.perf_counter()
    for method in METHODS:
        before = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few rows, and of networks that stop early
            fitted = make(method, task.model, task.seed).fit(rows.X, rows.y)
            dist = fitted.predict_dist(rows.X_test)
        seconds = time.perf_counter() - before
        found[method] = judge(rows.y_test, dist, rows.X_test, len(rows.y))
        found[method]["seconds"] = round(seconds, 2)
        if method == "auto":
            found[method]["chosen"] = fitted.choice_.name
    seconds = round(time.perf_counter() - started, 1)
    return {**task._asdict(), "n_train": len(rows.y), "variants": found, "seconds": seconds}


def judge(y: Any, dist: Distribution, X: Any, n_fit: int) -> dict[str, Any]:
    """Measure a forecast whose map was fitted on a number of rows."""
    found = metrics.evaluate(y, dist, n_fit=n_fit)
    numbers = {
        "interval_score": metrics.interval_score(y, dist, LEVEL),
        "crps": found.crps,
        "coverage": metrics.coverage(y, dist, LEVEL),
        "calibration_error": found.calibration_error,
        "calibration_floor": found.calibration_floor,
        "ert": metrics.conditional_coverage(y, dist, X).ert,
    }
    return {name: float(f"{value:.6g}") for name, value in numbers.items()}
