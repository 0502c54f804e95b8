"""Cost of `CalibratedRegressor.fit` in fits of the model alone, beside MAPIE and crepes.

    python benchmarks/estimator.py            # 1,000, 10,000 and 100,000 rows; about five minutes
    python benchmarks/estimator.py --quick    # 1,000 rows, and 10,000 of ridge
    python benchmarks/estimator.py --before ../old/src    # also of an older checkout

CPU seconds of one thread, so that other work on the machine matters little. ``alone`` is the model
itself, in seconds; all other costs are multiples of it. The parts of a fit are the models of the
folds and of all rows with their forecasts, the width, the shrinkage, and the map. ``score`` is the
interval score of 90% intervals on 2,000 other rows, and ``held`` the share of these rows that the
intervals hold. The project holds the defaults to the bounds in `WANTED`; ridge is so fast that its
bound is in seconds. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import BayesianRidge
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

import trueline as tl
from trueline.estimators import _regressor

MODELS: dict[str, Any] = {
    "boosting": HistGradientBoostingRegressor(random_state=0),
    "forest": RandomForestRegressor(100, min_samples_leaf=3, max_features=1 / 3, random_state=0),
    "ridge": BayesianRidge(),
    # About 20 epochs, and no warning that more would help.
    "network": MLPRegressor(
        hidden_layer_sizes=(32,),
        learning_rate_init=0.01,
        tol=1e6,
        n_iter_no_change=19,
        random_state=0,
    ),
}
#: Trees draw no more than this share of 100,000 rows, because a forest would take a minute.
SHARE_DRAWN = 0.2
#: Most fits of the model that the defaults may cost; for ridge the most seconds.
WANTED = {
    ("boosting", 1_000): 10.0,
    ("boosting", 10_000): 12.0,
    ("boosting", 100_000): 10.0,
    ("forest", 1_000): 4.0,
    ("forest", 10_000): 4.0,
    ("forest", 100_000): 4.0,
    ("ridge", 10_000): 2.0,
}
QUICK = [*((name, 1_000) for name in MODELS), ("ridge", 10_000)]
FULL = [(name, n) for name in MODELS for n in (1_000, 10_000, 100_000)]
#: The parts of a fit that are functions of their own; the rest are folds and refit.
PARTS = {"width": "learn_widths", "shrinkage": "find_shrinkage", "map": "fit_map"}
COVERAGE = 0.9
NEW_ROWS = 2_000
#: MAPIE's cross method holds an array of training rows x new rows.
BATCH = 200

Interval = tuple[np.ndarray, np.ndarray]
Rows = tuple[np.ndarray, np.ndarray]


def make_rows(n: int, seed: int = 0) -> Rows:
    """Return rows whose mean and noise depend on some of eight features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    mean = X[:, 0] + np.sin(2.0 * X[:, 1]) * X[:, 2]
    return X, mean + rng.normal(size=n) * np.exp(0.5 * X[:, 3])


def make_model(name: str, n: int) -> Any:
    """Return an unfitted model for this number of rows."""
    model = clone(MODELS[name])
    return model.set_params(max_samples=SHARE_DRAWN) if (name, n) == ("forest", 100_000) else model


# ---- what is compared ------------------------------------------------------------------


def trueline_fit(model: Any, X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], Interval]:
    calibrated = tl.CalibratedRegressor(model, random_state=0).fit(X, y)
    return lambda new: calibrated.predict_interval(new, COVERAGE)


def mapie_split(model: Any, X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], Interval]:
    from mapie.regression import SplitConformalRegressor

    k = len(y) * 4 // 5
    peer = SplitConformalRegressor(clone(model), confidence_level=COVERAGE, prefit=False)
    peer.fit(X[:k], y[:k]).conformalize(X[k:], y[k:])
    return lambda new: tuple(peer.predict_interval(new)[1][:, :, 0].T)


def mapie_cross(model: Any, X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], Interval]:
    from mapie.regression import CrossConformalRegressor

    peer = CrossConformalRegressor(clone(model), confidence_level=COVERAGE, cv=5, random_state=0)
    peer.fit_conformalize(X, y)

    def predict(new: np.ndarray) -> Interval:
        batches = np.split(new, range(BATCH, len(new), BATCH))
        return tuple(np.concatenate([peer.predict_interval(b)[1][:, :, 0] for b in batches]).T)

    return predict


def crepes_split(model: Any, X: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], Interval]:
    from crepes import WrapRegressor

    k = len(y) * 4 // 5
    peer = WrapRegressor(clone(model))
    peer.fit(X[:k], y[:k])
    peer.calibrate(X[k:], y[k:])
    return lambda new: tuple(peer.predict_int(new, confidence=COVERAGE).T)


WAYS = {
    "trueline": trueline_fit,
    "MAPIE split": mapie_split,
    "MAPIE cross": mapie_cross,
    "crepes": crepes_split,
}

# ---- measuring -------------------------------------------------------------------------


def seconds(job: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Return the CPU seconds of the fastest run, and what the last returned."""
    found, result = [], None
    for _ in range(runs):
        started = time.process_time()
        result = job()
        found.append(time.process_time() - started)
    return min(found), result


@contextmanager
def timed_parts() -> Iterator[dict[str, float]]:
    """Measure the parts of every fit; yield their CPU seconds, the least of all fits."""
    took: dict[str, float] = {}
    kept = {part: getattr(_regressor, name) for part, name in PARTS.items()}

    def timed(part: str) -> Callable[..., Any]:
        def run(*args: Any, **options: Any) -> Any:
            started = time.process_time()
            result = kept[part](*args, **options)
            took[part] = min(time.process_time() - started, took.get(part, np.inf))
            return result

        return run

    for part, name in PARTS.items():
        setattr(_regressor, name, timed(part))
    try:
        yield took
    finally:
        for part, name in PARTS.items():
            setattr(_regressor, name, kept[part])


def cost(name: str, n: int) -> dict[str, float]:
    """Return the seconds of the model alone, and the cost of a fit in these, in all and by part."""
    X, y = make_rows(n)
    runs = 3 if n < 5_000 else 2
    alone, _ = seconds(lambda: make_model(name, n).fit(X, y), runs)
    with timed_parts() as took:
        found = measure("trueline", name, n, runs if n < 50_000 else 1)
    parts = {part: took.get(part, 0.0) / alone for part in PARTS}
    folds = found["seconds"] / alone - sum(parts.values())
    return {"alone": alone, **found, "fit": found["seconds"] / alone, "folds": folds, **parts}


def measure(way: str, name: str, n: int, runs: int = 1) -> dict[str, float]:
    """Return the CPU seconds of a fit, and the interval score and coverage on new rows."""
    X, y = make_rows(n)
    new, outcome = make_rows(NEW_ROWS, seed=1)
    took, predict = seconds(lambda: WAYS[way](make_model(name, n), X, y), runs)
    lower, upper = predict(new)
    beyond = np.maximum(lower - outcome, 0.0) + np.maximum(outcome - upper, 0.0)
    score = float(np.mean(upper - lower + 2.0 / (1.0 - COVERAGE) * beyond))
    held = float(np.mean((lower <= outcome) & (outcome <= upper)))
    return {"seconds": took, "score": score, "held": held}


def costs_before(source: str, jobs: list[tuple[str, int]]) -> list[dict[str, float]]:
    """Return the costs of another checkout, measured in a process of its own."""
    command = [sys.executable, __file__, "--costs", json.dumps(jobs)]
    # Only the environment can put another checkout before an installed one.
    environment = os.environ | {"PYTHONPATH": source}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


# ---- tables ----------------------------------------------------------------------------


def print_costs(jobs: list[tuple[str, int]], before: str | None) -> list[dict[str, float]]:
    """Print and return the costs of a fit by part."""
    older = [None] * len(jobs) if before is None else costs_before(before, jobs)
    widths = {"fit": 8, "folds": 8, "width": 8, "shrinkage": 11, "map": 6}
    heads = "".join(f"{part:>{width}}" for part, width in widths.items())
    print(f"model        rows     alone{heads}   wanted")
    found = []
    for (name, n), old in zip(jobs, older, strict=True):
        found.append(cost(name, n))
        for costs, note in [(old, "before"), (found[-1], verdict(name, n, found[-1]))]:
            if costs is not None:
                cells = "".join(f"{costs[part]:>{width}.1f}" for part, width in widths.items())
                print(f"{name:<9} {n:>7,} {costs['alone']:>7.3f} s{cells}   {note}", flush=True)
    return found


def verdict(name: str, n: int, costs: dict[str, float]) -> str:
    """Return the bound of the defaults, and whether they keep it."""
    if (name, n) not in WANTED:
        return ""
    unit = " s" if name == "ridge" else ""
    value = costs["seconds"] if unit else costs["fit"]
    most = WANTED[name, n]
    return f"{value:.1f}{unit} of {most:g}{unit}, {'ok' if value <= most else 'TOO MUCH'}"


def print_peers(jobs: list[tuple[str, int]], ours: list[dict[str, float]]) -> None:
    """Print the cost of each way in fits of the model, its interval score and its coverage."""
    print("\nmodel        rows" + "".join(f"{way:>25}" for way in WAYS))
    print(" " * 17 + f"{'fits  score   held':>25}" * len(WAYS))
    missing = set()
    for (name, n), costs in zip(jobs, ours, strict=True):
        cells = ""
        for way in WAYS:
            try:
                found = costs if way == "trueline" else measure(way, name, n)
                fits = found["seconds"] / costs["alone"]
                cells += f"{fits:>11.1f}{found['score']:>7.3f}{found['held']:>7.1%}"
            except ImportError as error:
                missing.add(str(error.name))
                cells += " " * 25
        print(f"{name:<9} {n:>7,}{cells}", flush=True)
    if missing:
        print(f"left out, because not installed: {', '.join(sorted(missing))}")


def main() -> None:
    """Read the options and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows")
    parser.add_argument("--before", metavar="SRC", help="src folder of another checkout")
    parser.add_argument("--costs", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    jobs = QUICK if options.quick else FULL
    with threadpool_limits(1):
        if options.costs is not None:
            print(json.dumps([cost(*job) for job in options.costs]))
            return
        costs = print_costs(jobs, options.before)
        print_peers(jobs, costs)
    verdicts = [verdict(*job, found) for job, found in zip(jobs, costs, strict=True)]
    sys.exit(int(any("TOO MUCH" in text for text in verdicts)))


if __name__ == "__main__":
    main()
