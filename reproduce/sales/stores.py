"""How both experiments with daily sales are run: one task per store and seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reproduce import Progress
from reproduce.journal import Journal
from reproduce.pages import command_line, folder
from reproduce.pictures import require_matplotlib
from reproduce.sales.data import load_sales
from reproduce.sales.networks import FULL, MODELS, QUICK, STORES, Size, settings_of_maps
from reproduce.tasks import check_counts, chosen, description, require_torch, run_missing, versions

SEEDS, QUICK_SEEDS = 5, 1
#: The seed of a task without a network.
NONE = -1


class Task(NamedTuple):
    """A store and a seed."""

    store: int
    seed: int
    size: Size

    @property
    def cost(self) -> float:
        """About how long it takes, relative to other tasks."""
        return 0.1 if self.seed == NONE else 1.0


class Results(NamedTuple):
    """The records in a folder, the command that makes them all, and what existed before."""

    target: Path
    records: list[dict[str, Any]]
    command: str
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
    """Run the missing tasks; ``without_seed`` adds one task per store that needs no network."""
    require_matplotlib(f"reproduce {name}")
    require_torch()
    places = chosen(stores, STORES, "--stores")
    n_seeds = seeds if seeds is not None else QUICK_SEEDS if quick else SEEDS
    check_counts(seeds=n_seeds, jobs=jobs)
    load_sales()  # missing data is reported before any work is done
    size = QUICK if quick else FULL
    target = folder(output or Path("results") / (f"{name}-quick" if quick else name))
    numbers = [*range(n_seeds), *([NONE] if without_seed else [])]
    wanted = [Task(store, seed, size) for store in places for seed in numbers]
    journal = Journal(target / "runs.jsonl", {"experiment": name} | settings(size), fresh=fresh)

    def task_of(record: dict[str, Any]) -> Task:
        return Task(record["store"], NONE if record["seed"] is None else record["seed"], size)

    by_task, kept = run_missing(wanted, journal, measure, task_of, jobs, progress)
    records = [by_task[task] for task in sorted(by_task)]
    return Results(target, records, command_line(name, options_of(records, quick)), kept)


def options_of(records: Sequence[dict[str, Any]], quick: bool) -> dict[str, Any]:
    """Return the options of a run that makes these records."""
    known = sorted({record["store"] for record in records})
    counted = 1 + max(record["seed"] for record in records if record["seed"] is not None)
    return {
        "stores": None if known == list(STORES) else known,
        "seeds": None if counted == (QUICK_SEEDS if quick else SEEDS) else counted,
        "quick": quick,
    }


def settings(size: Size) -> dict[str, str]:
    """Return what the results depend on, apart from store and seed."""
    models = {name: description(size.network(name, 0)) for name in MODELS}
    return versions() | models | settings_of_maps(size)
