"""Long runs, task by task: what is there already is kept, the rest runs in a few processes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from importlib.metadata import version
from typing import Any, TypeVar

from trueline.experiments import ExperimentError, Progress
from trueline.experiments._journal import Journal
from trueline.scale._errors import did_you_mean

Task = TypeVar("Task", bound=Hashable)

#: What cannot be wrong with a result goes without saying: these can.
DECISIVE = ("numpy", "scipy", "scikit-learn", "torch", "trueline")


def versions() -> dict[str, str]:
    """Return the versions of what results depend on."""
    return {package: version(package) for package in DECISIVE}


def run_missing(
    wanted: Sequence[Task],
    journal: Journal,
    measure: Callable[[Task], dict[str, Any]],
    *,
    task_of: Callable[[dict[str, Any]], Task],
    cost: Callable[[Task], float],
    jobs: int,
    progress: Progress,
) -> None:
    """Measure what the journal lacks, the longest first so that no processor waits at the end."""
    from sklearn.utils.parallel import Parallel, delayed

    there = {task_of(record) for record in journal.records}
    missing = sorted((task for task in wanted if task not in there), key=lambda task: -cost(task))
    whole = sum(cost(task) for task in missing)
    done = 0.0
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)
    for count, record in enumerate(parallel(delayed(measure)(task) for task in missing), 1):
        journal.append(record)
        done += cost(task_of(record))
        progress(count, done / whole)


def kept(there: int, wanted: int) -> str:
    """Say what was there before; nothing if nothing was."""
    if not there:
        return ""
    return f"{there} of {wanted} fits were there already; --fresh makes them anew.\n"


def check_counts(**options: int) -> None:
    """Raise unless options are 1 or more."""
    for name, value in options.items():
        if value < 1:
            raise ExperimentError(f"--{name} is {value}; expected 1 or more.")


def chosen(
    given: Sequence[Any] | None, known: Sequence[Any], flag: str, default: Sequence[Any] = ()
) -> list[Any]:
    """Return what was asked for, each once and in the order in which it is known."""
    for one in given or ():
        if one not in known:
            hint = did_you_mean(one, known) if isinstance(one, str) else ""
            told = ", ".join(map(str, known))
            raise ExperimentError(f"{flag} is {one!r}.{hint} Expected one of {told}.")
    return [one for one in known if one in (given or default or known)]
