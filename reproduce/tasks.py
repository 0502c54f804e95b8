"""Long runs, task by task: what is there already is kept, the rest runs in a few processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, Protocol, TypeVar

from reproduce import ExperimentError, Progress
from reproduce.journal import Journal
from trueline._messages import did_you_mean


class Task(Protocol):
    """What names a piece of work."""

    @property
    def cost(self) -> float:
        """About how long it takes, to tell how far a run has come."""
        ...

    def __hash__(self) -> int:
        """Tell tasks apart, as the keys of a dict."""
        ...


T = TypeVar("T", bound=Task)

#: What cannot be wrong with a result goes without saying: these can.
DECISIVE = ("numpy", "scipy", "scikit-learn", "torch", "trueline")


def versions() -> dict[str, str]:
    """Return the versions of what results depend on."""
    return {package: version(package) for package in DECISIVE}


def run_missing(
    wanted: Sequence[T],
    journal: Journal,
    measure: Callable[[T], dict[str, Any]],
    task_of: Callable[[dict[str, Any]], T],
    jobs: int,
    progress: Progress,
) -> tuple[dict[T, dict[str, Any]], str]:
    """Measure what the journal lacks, the longest first so that no processor waits at the end.

    Returns
    -------
    records : dict
        All that the journal has by task, lest a run of less leaves a smaller table than there was.
    kept : str
        What was there before, in words; nothing if nothing was.
    """
    from sklearn.utils.parallel import Parallel, delayed

    there = {task_of(record) for record in journal.records}
    missing = sorted((task for task in wanted if task not in there), key=lambda task: -task.cost)
    whole = sum(task.cost for task in missing)
    done = 0.0
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch=jobs)
    for count, record in enumerate(parallel(delayed(measure)(task) for task in missing), 1):
        journal.append(record)
        done += task_of(record).cost
        progress(count, done / whole)
    before = len(wanted) - len(missing)
    kept = f"{before} of {len(wanted)} fits were there already; --fresh makes them anew.\n"
    return {task_of(record): record for record in journal.records}, kept if before else ""


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
