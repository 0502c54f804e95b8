"""The paper's experiments, each repeatable with one command: ``trueline reproduce``.

An experiment is a module with a function ``run``. Its options are listed here, so that the command
line can tell them without loading anything that is slow to load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["EXPERIMENTS", "Experiment", "ExperimentError", "Option", "Progress", "run"]

#: What an experiment tells of its progress: how many of its units are done, and what share of all.
Progress = Callable[[int, float], None]


class ExperimentError(RuntimeError):
    """An experiment that cannot be run as asked; the message says how to mend it.

    Examples
    --------
    >>> from trueline import experiments
    >>> issubclass(experiments.ExperimentError, RuntimeError)
    True
    """


class Option(NamedTuple):
    """An option of an experiment: an argument of its function, ``--name`` on the command line.

    Attributes
    ----------
    name : str
    kind : type
        bool for a switch, int, float, str or Path for one value; ``list[str]`` for an option
        that may be repeated.
    default : Any
    help : str
    """

    name: str
    kind: Any
    default: Any
    help: str


class Experiment(NamedTuple):
    """What an experiment shows, and how it is run.

    Attributes
    ----------
    summary : str
        One line.
    module : str
        Where its function ``run`` is. It takes the options by name and `progress`, and returns
        the text to print.
    options : tuple of Option
    unit : str
        What it counts its progress in.
    resumable : bool
        Whether it keeps what is done, so that it can be stopped and go on later.
    """

    summary: str
    module: str
    options: tuple[Option, ...]
    unit: str = "rows"
    resumable: bool = False


def _output(name: str) -> Option:
    return Option("output", Path, Path("results") / name, "Folder to write the results to.")


def _resumable(name: str) -> tuple[Option, Option]:
    """Options of an experiment that keeps what is done."""
    where = f"Folder to write the results to; results/{name}, or results/{name}-quick."
    return (
        Option("fresh", bool, False, "Begin again rather than go on with what is there."),
        Option("output", Path | None, None, where),
    )


_JOBS = Option("jobs", int, 2, "Processes to run at a time.")


def _of_stores(name: str) -> tuple[Option, ...]:
    """Options of the experiments with daily sales."""
    return (
        Option("stores", list[int] | None, None, "A store, 44 or 51; repeat for more. Both."),
        Option("seeds", int | None, None, "Networks of each kind; 5, or 1 with --quick."),
        _JOBS,
        Option("quick", bool, False, "One seed and hardly any training, to see that it works."),
        *_resumable(name),
    )


_QUICK = Option("quick", bool, False, "Less of it, to see that it works.")

#: The experiments by name.
EXPERIMENTS: dict[str, Experiment] = {
    "figure2": Experiment(
        "calibrated classification: a linear classifier, recalibrated in three ways",
        "reproduce.figure2",
        (_QUICK, _output("figure2")),
    ),
    "table1": Experiment(
        "eight data sets and four models, before and after recalibration",
        "reproduce.table1",
        (
            Option("datasets", list[str] | None, None, "A set to run; repeat for more. All."),
            Option("models", list[str] | None, None, "A model to run; repeat for more. All."),
            Option("splits", int | None, None, "Random splits of a set; 5, or 1 with --quick."),
            _JOBS,
            Option("quick", bool, False, "Three small sets and one split, to see that it works."),
            *_resumable("table1"),
        ),
        unit="fits",
        resumable=True,
    ),
    "forecast": Experiment(
        "daily sales, forecast by a recurrent network and recalibrated in the order of time",
        "reproduce.forecast",
        _of_stores("forecast"),
        unit="fits",
        resumable=True,
    ),
    "inventory": Experiment(
        "orders of a perishable item, planned with forecasts before and after recalibration",
        "reproduce.inventory",
        _of_stores("inventory"),
        unit="fits",
        resumable=True,
    ),
    "depth": Experiment(
        "the depth of every pixel of an image, forecast by a DenseNet and recalibrated",
        "reproduce.depth",
        (
            Option("epochs", int | None, None, "Epochs of training; 60, or 2 with --quick."),
            Option("quick", bool, False, "Few images and a tiny network, to see that it works."),
            *_resumable("depth"),
        ),
        unit="images",
        resumable=True,
    ),
}


def run(name: str, options: Mapping[str, Any], progress: Progress) -> str:
    """Run an experiment; what is not among the options has its default.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    options : mapping
        Values by name.
    progress : callable
        Called with a number of units done and a share of the work.

    Returns
    -------
    str
        What to print.
    """
    experiment = EXPERIMENTS[name]
    values = {option.name: option.default for option in experiment.options} | dict(options)
    function: Callable[..., str] = import_module(experiment.module).run
    return function(**values, progress=progress)
