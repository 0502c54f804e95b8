"""The list of experiments with their options.

An experiment is a module with a function ``run``. Its options are listed here so that the command
line can show them without importing the experiment, which is slow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

#: Called with the number of units done and their share of the total.
Progress = Callable[[int, float], None]


class ExperimentError(RuntimeError):
    """An experiment cannot be run with these options; the message says how to fix that."""


class Option(NamedTuple):
    """An option of an experiment: an argument of ``run``, ``--name`` on the command line.

    Attributes
    ----------
    name : str
    kind : type
        bool for a switch, int, float, str or Path for one value, ``list[str]`` or ``list[int]``
        for an option that can be repeated.
    default : Any
    help : str
    """

    name: str
    kind: Any
    default: Any
    help: str


class Experiment(NamedTuple):
    """What an experiment shows and how it is run.

    Attributes
    ----------
    summary : str
        One line.
    module : str
        The module with the function ``run``, which takes the options by name and `progress`, and
        returns the text to print.
    options : tuple of Option
    unit : str
        The unit in which progress is counted.
    resumable : bool
        Whether results are kept as they are made, so that a stopped run can be continued.
    """

    summary: str
    module: str
    options: tuple[Option, ...]
    unit: str = "rows"
    resumable: bool = False


def _resumable(name: str) -> tuple[Option, Option]:
    where = f"Folder for the results. Default: results/{name}, with --quick results/{name}-quick."
    return (
        Option("fresh", bool, False, "Start again and discard the results that exist."),
        Option("output", Path | None, None, where),
    )


def _with_stores(name: str) -> tuple[Option, ...]:
    """Options of the experiments with daily sales."""
    return (
        Option("stores", list[int] | None, None, "Store 44 or 51; repeatable. Default: both."),
        Option("seeds", int | None, None, "Seeds per network. Default: 5, with --quick 1."),
        _JOBS,
        Option("quick", bool, False, "One seed and hardly any training, as a check."),
        *_resumable(name),
    )


_JOBS = Option("jobs", int, 2, "Number of parallel processes.")

EXPERIMENTS: dict[str, Experiment] = {
    "figure2": Experiment(
        "calibrated classification: a linear classifier, recalibrated in three ways",
        "reproduce.figure2",
        (
            Option("quick", bool, False, "Fewer rows and repeats, as a check."),
            Option("output", Path, Path("results/figure2"), "Folder for the results."),
        ),
    ),
    "table1": Experiment(
        "eight data sets and four models, before and after recalibration",
        "reproduce.table1.experiment",
        (
            Option("datasets", list[str] | None, None, "A data set; repeatable. Default: all."),
            Option("models", list[str] | None, None, "A model; repeatable. Default: all."),
            Option("splits", int | None, None, "Random splits. Default: 5, with --quick 1."),
            _JOBS,
            Option("quick", bool, False, "Three small data sets and one split, as a check."),
            *_resumable("table1"),
        ),
        unit="fits",
        resumable=True,
    ),
    "forecast": Experiment(
        "daily sales, forecast by a recurrent network and recalibrated in the order of time",
        "reproduce.forecast.experiment",
        _with_stores("forecast"),
        unit="fits",
        resumable=True,
    ),
    "inventory": Experiment(
        "orders of a perishable item, planned with forecasts before and after recalibration",
        "reproduce.inventory.experiment",
        _with_stores("inventory"),
        unit="fits",
        resumable=True,
    ),
    "depth": Experiment(
        "the depth of every pixel of an image, forecast by a DenseNet and recalibrated",
        "reproduce.depth.experiment",
        (
            Option("epochs", int | None, None, "Epochs of training. Default: 60, with --quick 2."),
            Option("quick", bool, False, "Few images and a tiny network, as a check."),
            *_resumable("depth"),
        ),
        unit="images",
        resumable=True,
    ),
}


def run(name: str, options: Mapping[str, Any], progress: Progress) -> str:
    """Run an experiment and return the text to print; missing options have their default."""
    experiment = EXPERIMENTS[name]
    values = {option.name: option.default for option in experiment.options} | dict(options)
    function: Callable[..., str] = import_module(experiment.module).run
    return function(**values, progress=progress)
