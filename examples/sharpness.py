"""Sharpness on the same rows: models of quantiles beside `Conditional` around point models.

    make sharpness                              # the five small sets, in .venvs/trees; prints only
    make sharpness ARGS="--output results/sharpness.md"

Every method sees the same 75% of the rows, with standardised features, and is tested on the same
25%: splits are those of ``examples/league.py`` with seeds 0 and 1. The packages are used with their
defaults, which fit on all 75%; trueline's methods cross-fit their maps on these rows.
quantile-forest predicts 99 quantiles, CatBoost is trained for the 11 levels 0.05, 0.1, 0.2, ...,
0.9 and 0.95.

The CRPS and the interval score of 90% intervals are those of the first row, times the factor that
is shown: the geometric mean over data sets of the ratios of the means over seeds. Lower is better.
Coverage, and seconds of processor time for fit and forecast, are means over data sets.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import BayesianRidge

import trueline as tl
from trueline._files import write_text
from trueline.estimators import CalibratedRegressor
from trueline.interop import read_forecast

sys.path.insert(0, str(Path(__file__).parent))
from league import SETS, check_output, split

from packages import LEVELS as CATBOOST_LEVELS, catboost, ngboost, quantile_forest

SMALL = ("mpg", "auto", "cpu", "stocks", "wine")
LEVELS = np.arange(1, 100) / 100
PACKAGES = ("scikit-learn", "quantile-forest", "ngboost", "catboost")

Method = Callable[[Any, Any, Any, int], tl.Distribution]


def conditional(model: Callable[[int], Any], **params: Any) -> Method:
    """Return the forecasts of `CalibratedRegressor` around a model."""

    def forecast(X: Any, y: Any, X_new: Any, seed: int) -> tl.Distribution:
        fitted = CalibratedRegressor(model(seed), random_state=seed, **params).fit(X, y)
        return fitted.predict_dist(X_new)

    return forecast


def package(make: Callable[[int], Any]) -> Method:
    """Return the forecasts of a model of a package, as they are."""
    return lambda X, y, X_new, seed: read_forecast(make(seed).fit(X, y), X_new)


def forest_quantiles(X: Any, y: Any, X_new: Any, seed: int) -> tl.Distribution:
    model = quantile_forest(seed).fit(X, y)
    return tl.Quantiles(LEVELS, model.predict(X_new, quantiles=LEVELS.tolist()))


def boosting(seed: int) -> Any:
    return HistGradientBoostingRegressor(random_state=seed)


def forest(seed: int) -> Any:
    return RandomForestRegressor(200, min_samples_leaf=3, random_state=seed)


def linear(_: int) -> Any:
    return BayesianRidge()


MULTI = f"MultiQuantile:alpha={','.join(map(str, CATBOOST_LEVELS))}"
METHODS: dict[str, Method] = {
    "`Conditional` around boosting": conditional(boosting, method="conditional"),
    "`Conditional` around a random forest": conditional(forest, method="conditional"),
    "`Conditional` around Bayesian ridge": conditional(linear, method="conditional"),
    "the default around boosting": conditional(boosting),
    "quantile-forest": forest_quantiles,
    "NGBoost": package(ngboost),
    "CatBoost MultiQuantile": package(lambda seed: catboost(seed, MULTI)),
    "CatBoost RMSEWithUncertainty": package(lambda seed: catboost(seed, "RMSEWithUncertainty")),
}


@dataclass(frozen=True)
class Result:
    """One method on one split."""

    method: str
    data: str
    crps: float
    interval: float
    covered: float
    seconds: float


def measure(data: str, method: str, seed: int) -> Result:
    """Measure one method on one split."""
    X, X_new, y, y_new = split(data, seed)
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the packages issue hundreds
        F = METHODS[method](X, y, X_new, seed)
        scores = tl.crps(y_new, F), tl.interval_score(y_new, F, 0.9), tl.coverage(y_new, F, 0.9)
    return Result(method, data, *map(float, scores), time.process_time() - started)


def means(results: Sequence[Result], method: str, of: str) -> np.ndarray:
    """Return the mean over the seeds of each data set."""
    sets = dict.fromkeys(r.data for r in results)
    mine = [r for r in results if r.method == method]
    return np.array([np.mean([getattr(r, of) for r in mine if r.data == d]) for d in sets])


def table(results: Sequence[Result]) -> str:
    """Return one row per method, and the CRPS of each data set."""
    sets, first = list(dict.fromkeys(r.data for r in results)), next(iter(METHODS))
    heads = ["", "CRPS", "interval score", "90% intervals hold", "seconds", *sets]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for method in METHODS:
        crps, interval = (
            means(results, method, of) / means(results, first, of) for of in ("crps", "interval")
        )
        cells = [f"{np.exp(np.log(ratio).mean()):.3f}" for ratio in (crps, interval)]
        cells.append(f"{means(results, method, 'covered').mean():.1%}")
        cells.append(f"{means(results, method, 'seconds').mean():.1f}")
        cells += [f"{ratio:.3f}" for ratio in crps]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page(results: Sequence[Result], command: Sequence[str]) -> str:
    """Return the page: how the numbers were made, and the table."""
    versions = [f"{name} {metadata.version(name)}" for name in PACKAGES]
    known = ", ".join(
        [f"Python {platform.python_version()}", f"trueline {tl.__version__}", *versions]
    )
    about, scores = (" ".join(part.split()) for part in (__doc__ or "").split("\n\n")[2:4])
    return (
        f"# Sharpness beside models of quantiles\n\n"
        f"Made by `{shlex.join(command)}` with {known}.\n\n"
        f"{about}\n\n{scores} Below the names of the data sets are the ratios of the CRPS.\n\n"
        f"{table(results)}\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SMALL, help="five by default")
    parser.add_argument("--output", type=Path, help="Markdown file to write the table to")
    options = parser.parse_args(arguments)
    check_output(parser, options.output)
    results = []
    for data in options.sets:
        for seed in range(2):
            for method in METHODS:
                results.append(measure(data, method, seed))
                print(results[-1], flush=True)
    print(f"\n{table(results)}")
    if options.output is not None:
        given = sys.argv[1:] if arguments is None else arguments
        write_text(options.output, page(results, ["python", "examples/sharpness.py", *given]))


if __name__ == "__main__":
    main()
