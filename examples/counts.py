"""Doctor visits: forecasts of counts before and after calibration.

    make counts                                     # results/counts.md; some minutes
    make counts ARGS=--quick                        # fewer rows, one split; prints only

The data are those of the RAND Health Insurance Experiment that statsmodels contains
(``statsmodels.datasets.randhie``): 20,190 person-years, the number of visits to a doctor `mdvis`,
and nine features. They do not say which rows belong to one person, so rows with equal features are
taken as a group: a quarter of the groups is the test set, and folds keep groups together.

`Poisson` is the exact Poisson forecast around the mean that the model predicts. The other rows are
`CalibratedRegressor`: with that forecast, with the defaults, and with `Conditional`.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from league import check_output, made_by
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import GroupKFold, GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trueline as tl
from trueline._files import write_text

SPLITS = 3
QUICK_ROWS = 2000
COVERAGE = 0.9
# Levels of the quantiles that represent a Poisson distribution.
DRAWS = (np.arange(199) + 0.5) / 199
PAGE = Path(__file__).parents[1] / "results" / "counts.md"

MODELS: dict[str, Callable[[int], Any]] = {
    "PoissonRegressor": lambda seed: make_pipeline(StandardScaler(), PoissonRegressor(alpha=1e-4)),
    "HistGradientBoosting": lambda seed: HistGradientBoostingRegressor(
        loss="poisson", learning_rate=0.05, max_leaf_nodes=15, random_state=seed
    ),
}


def poisson(model: Any, X: np.ndarray) -> tl.Samples:
    """Return the Poisson distributions around the predicted means."""
    # Rows with equal features have equal quantiles, which are slow to compute.
    mean, index = np.unique(model.predict(X), return_inverse=True)
    return tl.Samples(stats.poisson.ppf(DRAWS, mean[:, None])[index])


RECIPES: dict[str, dict[str, Any]] = {
    "Poisson, `Isotonic`": {"dist": poisson, "scale_estimator": None},
    "the default": {},
    "`Conditional`": {"method": "conditional"},
}
COLUMNS = (
    "CRPS",
    "90% hold",
    "expected",
    "width",
    "error / floor",
    "P(0)",
    "mean",
    "seconds",
)


def load() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, visits, and groups of rows with equal features."""
    try:
        from statsmodels.datasets import randhie
    except ImportError:
        sys.exit("statsmodels is not installed here; run this with: make counts.")
    data = randhie.load_pandas().data
    X = data.drop(columns="mdvis").to_numpy(dtype=float)
    _, groups = np.unique(X, axis=0, return_inverse=True)
    return X, data["mdvis"].to_numpy(dtype=float), groups


def split(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray], seed: int, quick: bool
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Return (X, y, groups) to train on and to test on."""
    X, y, groups = rows
    if quick:
        some = np.random.default_rng(seed).permutation(len(y))[:QUICK_ROWS]
        X, y, groups = X[some], y[some], groups[some]
    halves = GroupShuffleSplit(1, test_size=0.25, random_state=seed).split(X, y, groups)
    train, test = next(iter(halves))
    return (X[train], y[train], groups[train]), (X[test], y[test], groups[test])


def scores(y: np.ndarray, dist: tl.Distribution, n_fit: int) -> tuple[float, ...]:
    """Return the numbers of the columns, without the last one.

    Intervals of counts hold more than 90% by the probability that the forecast itself gives them,
    which is the column `expected`.
    """
    lower, upper = dist.interval(COVERAGE)
    inside = dist.cdf(np.floor(upper)) - dist.cdf(np.ceil(lower) - 1.0)
    # The randomised PIT reads forecasts with steps.
    pit = np.sort(tl.pit(y, dist, randomized=True, random_state=0))
    levels = np.arange(11) / 10
    error = np.sum((np.searchsorted(pit, levels, "right") / len(y) - levels) ** 2)
    return (
        tl.crps(y, dist),
        tl.coverage(y, dist, COVERAGE),
        float(inside.mean()),
        float((upper - lower).mean()),
        float(error) / tl.calibration_floor(len(y), n_fit),
        float(dist.cdf(0.0).mean()),
        float(dist.mean().mean()),
    )


def forecasts(
    name: str, train: tuple[np.ndarray, ...], X_test: np.ndarray, seed: int
) -> Iterator[tuple[str, tl.Distribution, float]]:
    """Yield the forecasts of one model: name of the recipe, forecast and seconds."""
    X, y, groups = train
    started = time.perf_counter()
    yield "Poisson", poisson(MODELS[name](seed).fit(X, y), X_test), time.perf_counter() - started
    for recipe, options in RECIPES.items():
        started = time.perf_counter()
        model = tl.CalibratedRegressor(
            MODELS[name](seed), cv=GroupKFold(5), random_state=seed, **options
        ).fit(X, y, groups=groups)
        yield recipe, model.predict_dist(X_test), time.perf_counter() - started


def measure(quick: bool) -> Iterator[str]:
    """Yield the table, line by line: means over the splits."""
    yield f"| model | forecast | {' | '.join(COLUMNS)} |"
    yield f"|---|---|{'---|' * len(COLUMNS)}"
    data = load()
    splits = [split(data, seed, quick) for seed in range(1 if quick else SPLITS)]
    for name in MODELS:
        found: dict[str, list[tuple[float, ...]]] = {}
        for seed, (train, (X_test, y_test, _)) in enumerate(splits):
            for recipe, dist, seconds in forecasts(name, train, X_test, seed):
                row = scores(y_test, dist, len(train[1]))
                found.setdefault(recipe, []).append((*row, seconds))
        for recipe, rows in found.items():
            crps, held, expected, width, ratio, dry, mean, seconds = np.mean(rows, axis=0)
            yield (
                f"| {name} | {recipe} | {crps:.3f} | {held:.1%} | {expected:.1%} | {width:.2f} "
                f"| {ratio:.2f} | {dry:.3f} | {mean:.2f} | {seconds:.1f} |"
            )
    observed = [(y == 0.0, y) for _, (_, y, _) in splits]
    dry, mean = (np.mean([part[i].mean() for part in observed]) for i in (0, 1))
    yield f"| outcomes | | | | | | | {dry:.3f} | {mean:.2f} | |"


def page(table: Sequence[str], command: Sequence[str]) -> str:
    """Return the page: the table, and how it was made."""
    about, names = (" ".join(part.split()) for part in (__doc__ or "").split("\n\n")[2:4])
    version = metadata.version("statsmodels")
    return "\n".join(
        [
            "# Counts: doctor visits",
            "",
            f"{made_by(command)[:-1]}, statsmodels {version}. Seeds 0 to {SPLITS - 1}.",
            "",
            about,
            "",
            names,
            "",
            f"Means over {SPLITS} splits. `expected` is the mean probability that the forecast",
            "gives its own 90% interval: an interval of counts contains at least 90%, and more",
            "where one count less would be too few. `error / floor` is the calibration error of",
            "the randomised PIT, divided by its floor; P(0) is the mean forecast probability of",
            "no visit.",
            "",
            *table,
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, one split; no page")
    parser.add_argument("--output", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args(arguments)
    check_output(parser, options.output)
    table = []
    with warnings.catch_warnings():
        # The warnings are about tied scores and equal rows, which counts have.
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        for line in measure(options.quick):
            table.append(line)
            print(line, flush=True)
    if not options.quick:
        write_text(options.output, page(table, ["make", "counts"]))


if __name__ == "__main__":
    main()
