"""The league table: the sharpness of calibrated forecasts on the eight UCI data sets.

    TRUELINE_DATA=folder python examples/league.py            # all of it; half an hour on one core
    TRUELINE_DATA=folder python examples/league.py --quick    # small sets, one split each

The folder holds ``uci/<set>.csv``, with a header and the target in the last column. Splits are
random with 25% test rows and seeds 0 to 4, or two splits for data sets above 1,900 rows; features
are standardised. The score is the normalised CRPS: twice the mean pinball loss over 99 levels,
divided by that of the distribution of the training targets. Lower is better; a forecast that
ignores the features has about 1. The other numbers are the absolute error of the coverage of 90%
intervals, a mean over data sets, and the calibration error divided by its floor
(`trueline.calibration_floor`).
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import trueline as tl
from trueline._files import write_text
from trueline.estimators import CalibratedRegressor

SETS = ("mpg", "auto", "crime", "kinematics", "stocks", "cpu", "bank", "wine")
SMALL_SETS = ("mpg", "auto", "cpu")
LARGE = 1900
LEVELS = np.arange(1, 100) / 100

MODELS: dict[str, Callable[[int], Any]] = {
    "BayesianRidge": lambda seed: BayesianRidge(),
    "RandomForest": lambda seed: RandomForestRegressor(200, min_samples_leaf=3, random_state=seed),
    "HistGradientBoosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
}


def point(model: Any, X: Any) -> tl.Distribution:
    """Return a point forecast, without the uncertainty that the model may offer."""
    return tl.Point(model.predict(X))


def constant_width(model: Any, seed: int) -> CalibratedRegressor:
    return CalibratedRegressor(model, scale_estimator=None, dist=point, random_state=seed)


def default(model: Any, seed: int) -> CalibratedRegressor:
    return CalibratedRegressor(model, random_state=seed)


def conditional(model: Any, seed: int) -> CalibratedRegressor:
    recalibrator = tl.Conditional(random_state=seed)
    return CalibratedRegressor(model, method=recalibrator, random_state=seed)


#: The recipes that are measured.
RECIPES: dict[str, Callable[[Any, int], CalibratedRegressor]] = {
    "trueline, constant width": constant_width,
    "trueline, the default": default,
    "trueline, Conditional": conditional,
}

#: Normalised CRPS of other packages, averaged over all eight data sets, measured earlier.
MEASURED_BEFORE: dict[str, tuple[float, float, float]] = {
    "best peer (netcal; crepes for the last)": (0.533, 0.422, 0.466),
    "split, constant width": (0.534, 0.443, 0.469),
}


@dataclass(frozen=True)
class Result:
    """One recipe for one model on one split."""

    recipe: str
    model: str
    data: str
    crps: float
    covered: float
    calibration: float
    seconds: float


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and target of a set."""
    if "TRUELINE_DATA" not in os.environ:
        sys.exit("TRUELINE_DATA is not set; expected the folder that holds uci/mpg.csv and others.")
    try:
        data = tl.datasets.load(name)
    except tl.datasets.DatasetError as error:
        sys.exit(str(error))
    return data.X, data.y


def mean_pinball(y: np.ndarray, quantiles: np.ndarray) -> float:
    """Return twice the mean pinball loss over rows and levels, an estimate of the CRPS."""
    miss = y[:, None] - quantiles
    return 2.0 * float(np.maximum(LEVELS * miss, (LEVELS - 1.0) * miss).mean())


def split(data: str, seed: int) -> tuple[np.ndarray, ...]:
    """Return X_train, X_test, y_train and y_test of a data set, with standardised features."""
    X_train, X_test, y_train, y_test = train_test_split(
        *load(data), test_size=0.25, random_state=seed
    )
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def measure(data: str, model: str, seed: int) -> list[Result]:
    """Measure every recipe for one model on one split."""
    X_train, X_test, y_train, y_test = split(data, seed)
    climate = np.tile(np.quantile(y_train, LEVELS), (len(y_test), 1))
    floor = tl.calibration_floor(len(y_test), len(y_train))
    results = []
    for recipe, make in RECIPES.items():
        started = time.perf_counter()
        fitted = make(MODELS[model](seed), seed).fit(X_train, y_train)
        dist = fitted.predict_dist(X_test)
        results.append(
            Result(
                recipe,
                model,
                data,
                mean_pinball(y_test, dist.ppf(LEVELS)) / mean_pinball(y_test, climate),
                tl.coverage(y_test, dist, 0.9),
                tl.calibration_error(y_test, dist) / floor,
                time.perf_counter() - started,
            )
        )
    return results


def splits(sets: Sequence[str], models: Sequence[str], quick: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the tasks: (data set, model, seed)."""
    for data in sets:
        seeds = 1 if quick else 2 if len(load(data)[1]) > LARGE else 5
        for model in models:
            for seed in range(seeds):
                yield data, model, seed


def run(tasks: Sequence[tuple[Any, ...]], jobs: int) -> list[Result]:
    """Measure all tasks and print one line per split."""
    results: list[Result] = []
    started = time.perf_counter()

    def note(task: tuple[Any, ...], done: list[Result], count: int) -> None:
        results.extend(done)
        scores = "  ".join(f"{r.crps:.3f}" for r in done)
        seconds = time.perf_counter() - started
        print(f"[{count}/{len(tasks)}, {seconds:.0f} s] {task}: {scores}", flush=True)

    if jobs == 1:
        for count, task in enumerate(tasks, 1):
            note(task, measure(*task), count)
        return results
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(measure, *task): task for task in tasks}
        for count, future in enumerate(as_completed(futures), 1):
            note(futures[future], future.result(), count)
    return results


def summary(results: Sequence[Result], recipe: str, model: str) -> tuple[float, ...] | None:
    """Return means over data sets: CRPS, coverage error, calibration error / floor, seconds."""
    mine = [r for r in results if r.recipe == recipe and r.model == model]
    if not mine:
        return None
    by_set = [[r for r in mine if r.data == data] for data in dict.fromkeys(r.data for r in mine)]

    def mean(of: Callable[[Result], float]) -> np.ndarray:
        return np.array([np.mean([of(r) for r in group]) for group in by_set])

    return (
        float(mean(lambda r: r.crps).mean()),
        float(np.abs(mean(lambda r: r.covered) - 0.9).mean()),
        float(mean(lambda r: r.calibration).mean()),
        float(mean(lambda r: r.seconds).mean()),
    )


def table(results: Sequence[Result], models: Sequence[str]) -> str:
    """Return the league table as text."""
    lines = [f"{'normalised CRPS':<42}" + "".join(f"{m:>22}" for m in models)]
    for name, values in MEASURED_BEFORE.items():
        known = dict(zip(MODELS, values, strict=True))
        lines.append(f"{name:<42}" + "".join(f"{known[m]:>22.3f}" for m in models))
    lines[1:] = [line + "  (measured before, not in this run)" for line in lines[1:]]
    heads = ("", "  error of 90% coverage", "  calibration error / floor", "  seconds per split")
    for recipe in RECIPES:
        columns = [summary(results, recipe, m) for m in models]
        for i, head in enumerate(heads):
            form = (".3f", ".3f", ".2f", ".1f")[i]
            cells = ["-" if c is None else format(c[i], form) for c in columns]
            lines.append(f"{head or recipe:<42}" + "".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


def by_set(results: Sequence[Result], models: Sequence[str]) -> str:
    """Return normalised CRPS, 90% coverage and calibration error / floor by data set."""
    sets = list(dict.fromkeys(r.data for r in results))
    lines = [
        "By data set: normalised CRPS, coverage of 90% intervals, calibration error / floor",
        "",
        f"| model | recipe | {' | '.join(sets)} |",
        f"|---|---|{'---|' * len(sets)}",
    ]
    for model in models:
        for recipe in RECIPES:
            cells = []
            for data in sets:
                mine = [r for r in results if (r.recipe, r.model, r.data) == (recipe, model, data)]
                means = [
                    np.mean([getattr(r, of) for r in mine])
                    for of in ("crps", "covered", "calibration")
                ]
                cells.append("{:.3f} {:.3f} {:.2f}".format(*means))
            lines.append(f"| {model} | {recipe.removeprefix('trueline, ')} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def made_by(command: Sequence[str]) -> str:
    """Return a sentence with the command and the versions."""
    versions = {
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "trueline": tl.__version__,
    }
    numbers = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"Made by `{shlex.join(command)}` with {numbers}."


def check_output(parser: argparse.ArgumentParser, path: Path | None) -> None:
    """Stop before any work is done if the result cannot be written."""
    if path is None:
        return
    if path.is_dir():
        parser.error(f"--output {path} is a folder; expected a file's name.")
    if not path.parent.is_dir():
        parser.error(f"--output {path}: its folder does not exist; create it first.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sets, one split each")
    parser.add_argument("--sets", nargs="+", choices=SETS, help="all by default")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--jobs", type=int, default=1, help="splits to measure at a time")
    parser.add_argument("--output", type=Path, help="Markdown file to write the table to")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs is {options.jobs}; expected 1 or more.")
    check_output(parser, options.output)
    sets = options.sets or (SMALL_SETS if options.quick else SETS)
    tasks = list(splits(sets, options.models, options.quick))
    results = run(tasks, options.jobs)
    text = table(results, options.models)
    if tuple(sets) != SETS or options.quick:
        text += "\nThese are averages over fewer data sets or splits than those measured before."
    print()
    print(text)
    if options.output is not None:
        command = ["python", "examples/league.py", *(["--quick"] if options.quick else [])]
        command += ["--sets", *options.sets] if options.sets else []
        command += [] if options.models == list(MODELS) else ["--models", *options.models]
        sets_table = by_set(results, options.models)
        page = f"# The league table\n\n{made_by(command)}\n\n```text\n{text}\n```\n\n{sets_table}"
        write_text(options.output, page)


if __name__ == "__main__":
    main()
