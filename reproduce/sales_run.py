"""How both experiments with daily sales are run: store by store and seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reproduce import Progress
from reproduce.journal import Journal
from reproduce.record import folder, made_by
from reproduce.sales import FULL, MODELS, QUICK, STORES, Size, make, settings_of_maps
from reproduce.sales_data import load_sales
from reproduce.tasks import DECISIVE, check_counts, chosen, run_missing, versions
from trueline.displays import _style
from trueline.models._torch import require_torch

SEEDS, QUICK_SEEDS = 5, 1
#: The seed of a task that needs no network.
NONE = -1


class Task(NamedTuple):
    """A store and a seed."""

    store: int
    seed: int
    size: Size

    @property
    def cost(self) -> float:
        """About how long it takes, to tell how far a run has come."""
        return 0.1 if self.seed == NONE else 1.0


class Results(NamedTuple):
    """What a folder has now: records, how they were made, and what was there before."""

    target: Path
    records: list[dict[str, Any]]
    made: str
    kept: str


def run_stores(
    name: str,
    measure: Callable[[Task], dict[str, Any]],
    *,
    stores: Sequence[int] | None,
    seeds: int | None,
    jobs: int,
    quick: bool,
    fresh: bool,
    output: Path | None,
    progress: Progress,
    without_seed: bool = False,
) -> Results:
    """Run what is not there yet; ``without_seed`` adds a task a store that needs no network."""
    _style.require_matplotlib(f"reproduce {name}")
    require_torch()
    places = chosen(stores, STORES, "--stores")
    number = seeds if seeds is not None else QUICK_SEEDS if quick else SEEDS
    check_counts(seeds=number, jobs=jobs)
    load_sales()  # before any work
    size = QUICK if quick else FULL
    target = folder(output or Path("results") / (f"{name}-quick" if quick else name))
    every = [*range(number), *([NONE] if without_seed else [])]
    wanted = [Task(store, seed, size) for store in places for seed in every]
    journal = Journal(target / "runs.jsonl", {"experiment": name} | settings(size), fresh=fresh)

    def task_of(record: dict[str, Any]) -> Task:
        return Task(record["store"], NONE if record["seed"] is None else record["seed"], size)

    by_task, kept = run_missing(wanted, journal, measure, task_of, jobs, progress)
    ordered = sorted(by_task)
    known = {task.store for task in ordered}
    counted = 1 + max(task.seed for task in ordered)
    options = {
        "stores": None if known == set(STORES) else sorted(known),
        "seeds": None if counted == (QUICK_SEEDS if quick else SEEDS) else counted,
        "quick": quick,
    }
    made = made_by(name, options, [*DECISIVE, "matplotlib"])
    seeds_told = f" Seeds 0 to {counted - 1}." if counted > 1 else " Seed 0."
    records = [by_task[task] for task in ordered]
    return Results(target, records, made + seeds_told, kept)


def settings(size: Size) -> dict[str, str]:
    """What the results depend on, apart from store and seed."""
    from sklearn import config_context

    with config_context(print_changed_only=False):  # defaults may change
        models = {name: " ".join(repr(make(name, 0, size)).split()) for name in MODELS}
    return versions() | models | settings_of_maps(size)
