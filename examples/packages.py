"""Default forecasts of other packages on the UCI data sets, before and after recalibration.

    make compare                          # all of it, in .venvs/trees; results/packages.md
    make compare ARGS=--quick             # two small sets, one split each; prints only

Each model is fitted with its defaults on half of the rows, `tl.Isotonic` on a quarter that the
model has not seen, and the last quarter is the test set. Splits are random, with seeds 0 to 4, or 0
to 2 for data sets above 1,900 rows; features are standardised. Forecasts are read as
`CalibratedRegressor` reads them. Quantile models are trained for the levels 0.05, 0.1, 0.2, ...,
0.9 and 0.95.

The calibration error (Eq. 9) is given as a multiple of its floor 1.65 (1 / T + 1 / n), the expected
error of a perfect forecast that is recalibrated on n rows and tested on T rows, both before and
after. "By chance" is such a forecast: the mean and the worst data set of simulated runs with the
rows and seeds of this one.

A ratio of the CRPS above 1 is the cost of few calibration rows for a default that was already
calibrated. Forecasts of CatBoost MultiQuantile collapse on auto and cpu: in one split of auto the
width of the narrowest calibration row is 0.0002, where the median is 1,160. `tl.Isotonic` adds a
least width in such cases, chosen by held-out CRPS (`least_width_`).
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import trueline as tl
from trueline._files import write_text
from trueline.estimators import PerLevel
from trueline.interop import read_forecast

SETS = ("mpg", "auto", "crime", "kinematics", "stocks", "cpu", "bank", "wine")
SMALL_SETS = ("mpg", "cpu")
LARGE = 1900
LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
PAGE = Path(__file__).parents[1] / "results" / "packages.md"


# ---- the models, each with its package's defaults ------------------------------------


def ngboost(seed: int) -> Any:
    from ngboost import NGBRegressor

    return NGBRegressor(random_state=seed, verbose=False)


def xgboost(seed: int) -> Any:
    from xgboost import XGBRegressor

    objective = "reg:quantileerror"
    return XGBRegressor(objective=objective, quantile_alpha=LEVELS, random_state=seed, n_jobs=1)


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMRegressor

    one = LGBMRegressor(objective="quantile", random_state=seed, n_jobs=1, verbose=-1)
    return PerLevel(one, levels=LEVELS)


def catboost(seed: int, loss: str) -> Any:
    from catboost import CatBoostRegressor

    quiet = {"verbose": False, "allow_writing_files": False}
    return CatBoostRegressor(loss_function=loss, random_seed=seed, thread_count=1, **quiet)


def quantile_forest(seed: int) -> Any:
    from quantile_forest import RandomForestQuantileRegressor

    return RandomForestQuantileRegressor(random_state=seed)


def skpro(seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor
    from skpro.regression.residual import ResidualDouble

    return ResidualDouble(RandomForestRegressor(random_state=seed))


def gaussian_process(seed: int) -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel

    kernel = RBF() + WhiteKernel()  # the default has no noise, and fits no real data
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)


def bayesian_ridge(seed: int) -> Any:
    from sklearn.linear_model import BayesianRidge

    return BayesianRidge()


class Model(NamedTuple):
    """A model and the package that it needs."""

    package: str
    make: Callable[[int], Any]
    most_rows: int | None = None


MODELS: dict[str, Model] = {
    "NGBoost": Model("ngboost", ngboost),
    "XGBoost quantiles": Model("xgboost", xgboost),
    "LightGBM quantiles": Model("lightgbm", lightgbm),
    "CatBoost RMSEWithUncertainty": Model(
        "catboost", lambda seed: catboost(seed, "RMSEWithUncertainty")
    ),
    "CatBoost MultiQuantile": Model(
        "catboost",
        lambda seed: catboost(seed, f"MultiQuantile:alpha={','.join(map(str, LEVELS))}"),
    ),
    "quantile-forest": Model("quantile-forest", quantile_forest),
    "skpro ResidualDouble, of a forest": Model("skpro", skpro),
    "scikit-learn BayesianRidge": Model("scikit-learn", bayesian_ridge),
    "scikit-learn GaussianProcess": Model("scikit-learn", gaussian_process, most_rows=1000),
}
QUICK_MODELS = tuple(name for name in MODELS if name != "CatBoost MultiQuantile")


# ---- measuring -----------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """One model on one split, before and after recalibration."""

    model: str
    data: str
    seed: int
    before: float
    after: float
    covered_before: float
    covered_after: float
    crps_ratio: float
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


def split(data: str, seed: int) -> tuple[np.ndarray, ...]:
    """Return X and y to train on (half), to calibrate on and to test on (a quarter each)."""
    X, X_rest, y, y_rest = train_test_split(*load(data), test_size=0.5, random_state=seed)
    X_cal, X_test, y_cal, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, random_state=seed
    )
    scaler = StandardScaler().fit(X)
    X, X_cal, X_test = (scaler.transform(part) for part in (X, X_cal, X_test))
    return X, y, X_cal, y_cal, X_test, y_test


def measure(data: str, name: str, seed: int) -> Result:
    """Measure one model on one split."""
    X, y, X_cal, y_cal, X_test, y_test = split(data, seed)
    started = time.perf_counter()
    rows = slice(MODELS[name].most_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the packages issue hundreds
        model = MODELS[name].make(seed).fit(X[rows], y[rows])
        F_cal, F = read_forecast(model, X_cal), read_forecast(model, X_test)
    G = tl.Isotonic().fit(y_cal, F_cal).transform(F)
    floor = tl.calibration_floor(len(y_test), len(y_cal))
    return Result(
        name,
        data,
        seed,
        tl.calibration_error(y_test, F) / floor,
        tl.calibration_error(y_test, G) / floor,
        tl.coverage(y_test, F, 0.9),
        tl.coverage(y_test, G, 0.9),
        tl.crps(y_test, G) / tl.crps(y_test, F),
        time.perf_counter() - started,
    )


def seeds_of(data: str, quick: bool) -> range:
    """Return the seeds of the splits of a data set."""
    return range(1 if quick else 3 if len(load(data)[1]) > LARGE else 5)


def run(tasks: Sequence[tuple[str, str, int]], jobs: int) -> list[Result]:
    """Measure all tasks and print one line per split; results are in the order of the tasks."""
    found: dict[tuple[str, str, int], Result] = {}
    started = time.perf_counter()

    def note(task: tuple[str, str, int], result: Result) -> None:
        found[task] = result
        seconds = time.perf_counter() - started
        errors = f"{result.before:.1f} -> {result.after:.2f}"
        print(f"[{len(found)}/{len(tasks)}, {seconds:.0f} s] {task}: {errors}", flush=True)

    if jobs == 1:
        for task in tasks:
            note(task, measure(*task))
    else:
        with ProcessPoolExecutor(jobs) as pool:
            futures = {pool.submit(measure, *task): task for task in tasks}
            for future in as_completed(futures):
                note(futures[future], future.result())
    return [found[task] for task in tasks]


def by_chance(sets: Sequence[str], quick: bool, repeats: int = 200) -> tuple[float, float]:
    """Return the mean over data sets and the worst of a perfect forecast, by simulation."""
    rng = np.random.default_rng(0)
    errors = np.empty((repeats, len(sets)))
    for i, data in enumerate(sets):
        n_test = n_cal = len(load(data)[1]) // 4
        n_seeds = len(seeds_of(data, quick))
        floor = tl.calibration_floor(n_test, n_cal)
        for r in range(repeats):
            runs = []
            for _ in range(n_seeds):
                y_cal, y_test = rng.normal(size=n_cal), rng.normal(size=n_test)
                R = tl.Isotonic().fit(y_cal, tl.Normal(np.zeros(n_cal), 1.0))
                G = R.transform(tl.Normal(np.zeros(n_test), 1.0))
                runs.append(tl.calibration_error(y_test, G) / floor)
            errors[r, i] = np.mean(runs)
    return float(errors.mean()), float(errors.max(axis=1).mean())


# ---- output --------------------------------------------------------------------------


def means(results: Sequence[Result], of: str) -> dict[str, float]:
    """Return the mean over the seeds of each data set."""
    sets = dict.fromkeys(r.data for r in results)
    return {d: float(np.mean([getattr(r, of) for r in results if r.data == d])) for d in sets}


HEADS = (
    "default forecast of",
    "error / floor, before",
    "after",
    "worst set, after",
    "90% interval holds, before",
    "after",
    "CRPS after / before",
)


def table(results: Sequence[Result], chance: tuple[float, float]) -> str:
    """Return one row per model, means over data sets of the means over seeds."""
    lines = [
        f"| {' | '.join(HEADS)} |",
        f"|{'---|' * len(HEADS)}",
    ]
    for name in dict.fromkeys(r.model for r in results):
        mine = [r for r in results if r.model == name]
        after = means(mine, "after")
        worst = max(after, key=after.__getitem__)
        before, recalibrated, low, high, ratio = (
            np.mean(list(means(mine, of).values()))
            for of in ("before", "after", "covered_before", "covered_after", "crps_ratio")
        )
        lines.append(
            f"| {name} | {before:.1f} | {recalibrated:.2f} | {after[worst]:.2f} ({worst}) "
            f"| {low:.1%} | {high:.1%} | {ratio:.3f} |"
        )
    lines.append(f"| by chance | | {chance[0]:.2f} | {chance[1]:.2f} | | 90.0% | |")
    return "\n".join(lines)


def by_set(results: Sequence[Result]) -> str:
    """Return error / floor before and after, and CRPS after / before, by data set."""
    sets = list(dict.fromkeys(r.data for r in results))
    lines = [
        "By data set, means over the seeds: error / floor before and after, CRPS after / before",
        "",
        f"| default forecast of | {' | '.join(sets)} |",
        f"|---|{'---|' * len(sets)}",
    ]
    for name in dict.fromkeys(r.model for r in results):
        mine = [r for r in results if r.model == name]
        before, after, ratio = (means(mine, of) for of in ("before", "after", "crps_ratio"))
        cells = [f"{before[d]:.1f} {after[d]:.2f} {ratio[d]:.3f}" for d in sets]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def versions(models: Sequence[str]) -> str:
    """Return the versions of Python and the packages."""
    packages = ["trueline", "numpy", "scipy", "scikit-learn", *(MODELS[m].package for m in models)]
    named = [f"{package} {metadata.version(package)}" for package in dict.fromkeys(packages)]
    return ", ".join([f"Python {platform.python_version()}", *named])


def page(results: Sequence[Result], chance: tuple[float, float], command: Sequence[str]) -> str:
    """Return the page: both tables, and how they were made."""
    models = list(dict.fromkeys(r.model for r in results))
    seeds = {d: max(r.seed for r in results if r.data == d) for d in (r.data for r in results)}
    about = " ".join((__doc__ or "").split("\n\n")[2].split())
    note, remark = (" ".join(part.split()) for part in (__doc__ or "").split("\n\n")[3:5])
    return (
        "# Default forecasts of other packages, recalibrated\n\n"
        f"Made by `{shlex.join(command)}` with {versions(models)}.\n"
        f"Seeds: {', '.join(f'{d} 0 to {last}' for d, last in seeds.items())}.\n\n"
        f"{about}\n\n{note}\n\n{table(results, chance)}\n\n{remark}\n\n{by_set(results)}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small sets, one split each")
    parser.add_argument("--sets", nargs="+", choices=SETS, help="all by default")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), help="all by default")
    parser.add_argument("--jobs", type=int, default=1, help="splits to measure at a time")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs is {options.jobs}; expected 1 or more.")
    sets = options.sets or (SMALL_SETS if options.quick else SETS)
    models = options.models or (QUICK_MODELS if options.quick else tuple(MODELS))
    for name in models:
        module = {"scikit-learn": "sklearn"}.get(MODELS[name].package, MODELS[name].package)
        if util.find_spec(module.replace("-", "_")) is None:
            parser.error(
                f"{name} needs {MODELS[name].package}, which is not installed here; run this with "
                f"make compare, or choose others with --models."
            )
    tasks = [(d, m, seed) for d in sets for seed in seeds_of(d, options.quick) for m in models]
    results = run(tasks, options.jobs)
    chance = by_chance(sets, options.quick, repeats=20 if options.quick else 200)
    print(f"\n{table(results, chance)}")
    if not (options.quick or options.sets or options.models):
        write_text(PAGE, page(results, chance, ["make", "compare"]))
        print(f"\nwritten to {PAGE.parent.name}/{PAGE.name}")


if __name__ == "__main__":
    main()
