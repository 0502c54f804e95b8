"""Long runs, task by task: finished tasks are kept, the rest runs in a few processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, Protocol, TypeVar

from reproduce import ExperimentError, Progress
from reproduce.journal import Journal
from trueline._messages import did_you_mean, library


class Task(Protocol):
    """The name of a piece of work."""

    @property
    def cost(self) -> float:
        """About how long it takes, relative to other tasks."""
        ...

    def __hash__(self) -> int:
        """Tasks are keys of a dict."""
        ...


T = TypeVar("T", bound=Task)

#: Packages whose versions a stored result must match to be reused.
DECISIVE = ("numpy", "scipy", "scikit-learn", "torch", "trueline")


def versions() -> dict[str, str]:
    """Return the versions of the packages that results depend on."""
    return {package: version(package) for package in DECISIVE}


def require_torch() -> None:
    """Raise, with the command to install it, unless torch can be imported."""
    for package in ("torch", "safetensors"):
        library(package, "this experiment", '".[torch]" -c constraints/cpu.txt')


def description(model: Any) -> str:
    """Return a model with all its parameters, since defaults may change."""
    from sklearn import config_context

    with config_context(print_changed_only=False):
        return " ".join(repr(model).split())


def run_missing(
    wanted: Sequence[T],
    journal: Journal,
    measure: Callable[[T], dict[str, Any]],
    task_of: Callable[[dict[str, Any]], T],
    jobs: int,
    progress: Progress,
) -> tuple[dict[T, dict[str, Any]], str]:
    """Measure the tasks that are not in the journal, the longest first.

    Returns
    -------
    records : dict
        All records of the journal by task, also those that were not asked for: a run with fewer
        tasks must not leave a smaller table.
    kept : str
        A sentence about the tasks that were in the journal before; empty if there were none.
    """
    from sklearn.utils.parallel import Parallel, delayed

    known = {task_of(record) for record in journal.records}
    missing = sorted((task for task in wanted if task not in known), key=lambda task: -task.cost)
    total = sum(task.cost for task in missing)
    done = 0.0
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)
    for count, record in enumerate(parallel(delayed(measure)(task) for task in missing), 1):
        journal.append(record)
        done += task_of(record).cost
        progress(count, done / total)
    n_known = len(wanted) - len(missing)
    kept = f"{n_known} of {len(wanted)} fits existed already; --fresh repeats them.\n"
    return {task_of(record): record for record in journal.records}, kept if n_known else ""


def check_counts(**options: int) -> None:
    """Raise unless all options are 1 or more."""
    for name, value in options.items():
        if value < 1:
            raise ExperimentError(f"--{name} is {value}; expected 1 or more.")


def chosen(
    given: Sequence[Any] | None, known: Sequence[Any], flag: str, default: Sequence[Any] = ()
) -> list[Any]:
    """Return the chosen values, each once and in the order of `known`."""
    for one in given or ():
        if one not in known:
            hint = did_you_mean(one, known) if isinstance(one, str) else ""
            expected = ", ".join(map(str, known))
            raise ExperimentError(f"{flag} is {one!r}.{hint} Expected one of {expected}.")
    return [one for one in known if one in (given or default or known)]
