"""Train every network for several numbers of epochs, and choose one on the training data.

The networks of the daily sales use the choice. Those of Table 1 have a rule of their own, which
trains with the others here.
"""

from __future__ import annotations

import time
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce import Progress
from reproduce.cells import judge
from reproduce.epochs.page import BY_RULE, HELD_OUT, MEASURES, csv_of, page_of, table
from reproduce.journal import Journal
from reproduce.pages import command_line, folder, made_by
from reproduce.sales import networks as sales
from reproduce.sales.data import load_sales
from reproduce.table1 import experiment as table1
from reproduce.tasks import (
    DECISIVE,
    check_counts,
    description,
    require_torch,
    run_missing,
    versions,
)
from trueline._files import write_text
from trueline.datasets import info, load, names
from trueline.metrics import crps
from trueline.models import fit_many
from trueline.recalibration import Isotonic

#: Share of the training rows that choose: the last days, or rows drawn at random.
SHARE = 0.2


class Size(NamedTuple):
    """The size of a run: numbers of epochs, stores and seeds, data sets and splits."""

    of_sales: tuple[int, ...]
    stores: tuple[int, ...]
    seeds: int
    of_table1: tuple[int, ...]
    sets: tuple[str, ...]
    splits: int


FULL = Size((5, 10, 20, 40, 80, 160), sales.STORES, 5, (10, 30, 100, 300), tuple(names()), 1)
QUICK = Size((2, 4), (44,), 1, (2,), ("cpu",), 1)


class Task(NamedTuple):
    """A network on some data, trained for a number of epochs."""

    data: str
    model: str
    seed: int
    epochs: int

    @property
    def store(self) -> int | None:
        """The store; None for a data set of Table 1."""
        return int(self.data.removeprefix("store ")) if self.data.startswith("store ") else None

    @property
    def cost(self) -> float:
        """About how long it takes, relative to other tasks."""
        rows = {known.name: known.rows for known in info()}.get(self.data, 1000)
        members = 5.0 if self.model.endswith("ensemble") else 1.0
        return rows * members * (self.epochs or 200)


def run(*, jobs: int, quick: bool, fresh: bool, output: Path | None, progress: Progress) -> str:
    """Run the missing fits, write the results, return the table."""
    require_torch()
    check_counts(jobs=jobs)
    size = QUICK if quick else FULL
    load_sales()  # missing data is reported before any work is done
    for name in size.sets:
        load(name)
    target = folder(output or Path("results") / ("epochs-quick" if quick else "epochs"))
    journal = Journal(target / "runs.jsonl", settings(), fresh=fresh)
    wanted = tasks(size)
    by_task, kept = run_missing(wanted, journal, measure, _task, jobs, progress)
    records = [by_task[task] for task in wanted]
    command = command_line("epochs", {"quick": quick})
    write_text(target / "epochs.csv", csv_of(records))
    write_text(target / "epochs.md", page_of(records, command, made_by(command, DECISIVE)))
    return f"{table(records)}\n{kept}The page and all numbers are in {target}."


def tasks(size: Size) -> list[Task]:
    """Return all tasks of a run, in the order of the tables."""
    stores = [f"store {store}" for store in size.stores]
    networks = [model for model in table1.MODELS if model != "bayesian-ridge"]
    return [
        *(Task(*o) for o in product(stores, sales.MODELS, range(size.seeds), size.of_sales)),
        *(
            Task(*one)
            for one in product(size.sets, networks, range(size.splits), (*size.of_table1, BY_RULE))
        ),
    ]


def settings() -> dict[str, str]:
    """Return what the results depend on, apart from the tasks."""
    of_sales = {f"sales {model}": description(sales.make(model, 0, 1)) for model in sales.MODELS}
    return {"experiment": "epochs"} | table1.settings() | of_sales | versions()


def _task(record: dict[str, Any]) -> Task:
    return Task(*(record[name] for name in Task._fields))


class Rows(NamedTuple):
    """Training and test rows; the training rows that choose come last."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]


def measure(task: Task) -> dict[str, Any]:
    """Train on all training rows, and on those that do not choose; judge the forecasts."""
    sales.one_thread()
    started = time.perf_counter()
    X, y, X_test, y_test = rows_of(task)
    model = network(task)
    cut = len(y) - round(SHARE * len(y))
    whole, early = fit_many(model, [(X, y), (X[:cut], y[:cut])])
    before = whole.predict_dist(X_test)
    variants = {"before": judge(y_test, before, None)}
    if task.model == "dropout":
        on_training = Isotonic().fit(y, whole.predict_dist(X))
        variants["training"] = judge(y_test, on_training.transform(before), len(y))
    return {
        **task._asdict(),
        HELD_OUT: float(f"{crps(y[cut:], early.predict_dist(X[cut:])):.6g}"),
        "variants": {
            variant: {name: measured[name] for name in MEASURES}
            for variant, measured in variants.items()
        },
        "seconds": round(time.perf_counter() - started, 1),
    }


def network(task: Task) -> Any:
    """Return the untrained network of a task."""
    if task.store is not None:
        return sales.make(task.model, task.seed, task.epochs)
    model = table1.make(task.model, task.seed)
    if task.epochs == BY_RULE:
        return model
    return model.set_params(max_epochs=task.epochs, validation_fraction=0.0)


def rows_of(task: Task) -> Rows:
    """Return the rows of a task: days in the order of time, other rows in a random order."""
    if task.store is not None:
        series = sales.Series.of(task.store)
        return Rows(series.train.X, series.train.y, series.test.X, series.test.y)
    from sklearn.model_selection import train_test_split

    data = load(task.data)
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=table1.TEST_SHARE, random_state=task.seed
    )
    return Rows(X, y, X_test, y_test)
