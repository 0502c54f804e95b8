"""Coverage of 50, 80, 90 and 95% intervals of five models on twelve data sets.

    TRUELINE_DATA=folder python examples/coverage_table.py            # all; an hour on one core
    TRUELINE_DATA=folder python examples/coverage_table.py --quick    # small sets, one split

The data sets are scikit-learn's diabetes, three simulated ones, drawn again for every seed, and the
eight of the league table, if the folder holds them. Each is split at random, with seeds 0 and up,
in four ways:

frozen
    A third of the rows trains, a third calibrates, a third tests, with ``scale_estimator=None``.
    For any model the law is exact: the number of m test scores between the i-th and the j-th of n
    calibration scores is Beta-binomial(m, j - i, n + 1 - j + i), and the quantile at level q lies
    between the scores of rank k = floor(q (n + 1)) and k + 1.
frozen-scale
    The same with the default ``scale_estimator="auto"``, which learns from the calibration rows:
    the law holds approximately.
pooled, ensemble
    ``cv=5`` on three quarters, tested on the rest, without and with ``ensemble=True``. There is no
    exact law; the mean over data sets should be at most 1 point below and 3 above the nominal one.

The coverage of a model on a data set is its mean over seeds. The standard error of a mean over data
sets comes from the variation between them, and is at least that of chance alone.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from league import LARGE, SETS as UCI, check_output, load, made_by
from scipy.stats import betabinom
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import BayesianRidge, LinearRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trueline as tl
from trueline._files import write_text
from trueline.estimators import CalibratedRegressor

COVERAGES = (0.5, 0.8, 0.9, 0.95)
MADE = ("heteroscedastic", "heavy tails", "counts")
SETS = ("diabetes", *MADE, *UCI)
#: Sets of counts and ratings, whose intervals must hold more than the nominal coverage.
DISCRETE = ("counts", "wine")
SMALL_SETS = ("diabetes", *MADE, "mpg", "cpu")
SMALL = 500
MADE_ROWS, QUICK_ROWS = 1500, 600
WAYS = ("frozen", "frozen-scale", "pooled", "ensemble")
#: Points by which the mean over data sets may differ from the nominal coverage.
WANTED = (-1.0, 3.0)
#: Probability that any comparison with the exact law fails a correct map.
RISK = 0.001

BASES: dict[str, Callable[[int], Any]] = {
    "BayesianRidge": lambda seed: BayesianRidge(),
    "LinearRegression": lambda seed: LinearRegression(),
    "RandomForest": lambda seed: RandomForestRegressor(random_state=seed),
    "HistGradientBoosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "Pipeline": lambda seed: make_pipeline(
        StandardScaler(), RBFSampler(gamma="scale", random_state=seed), Ridge()
    ),
}
QUICK: dict[str, dict[str, int]] = {
    "RandomForest": {"n_estimators": 20},
    "HistGradientBoosting": {"max_iter": 30},
}

#: Levels of central intervals, then of the ranges below their upper and above their lower ends.
TAILS = tuple(0.5 * (1.0 - c) for c in COVERAGES)
EVENTS = (
    *((t, 1.0 - t) for t in TAILS),
    *((0.0, 1.0 - t) for t in TAILS),
    *((t, 1.0) for t in TAILS),
)


@dataclass(frozen=True)
class Task:
    """One way for one model on one split."""

    way: str
    base: str
    data: str
    seed: int
    quick: bool


@dataclass(frozen=True)
class Result:
    """Number of outcomes of a split in each event, with and without its ends."""

    task: Task
    n_fit: int
    n_test: int
    inside: tuple[int, ...]
    strictly: tuple[int, ...]
    tied: int

    @property
    def covered(self) -> np.ndarray:
        """Share of outcomes in the interval of each coverage."""
        return np.array(self.inside[: len(COVERAGES)]) / self.n_test


# ---- the sets --------------------------------------------------------------------------


def rows_of(data: str, seed: int, quick: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return features and target of a set; those that are made depend on the seed."""
    if data == "diabetes":
        return load_diabetes(return_X_y=True)
    if data in UCI:
        return load(data)
    rng = np.random.default_rng([seed, MADE.index(data)])
    n = QUICK_ROWS if quick else MADE_ROWS
    X = rng.normal(size=(n, 4))
    signal = 2.0 * X[:, 0] + X[:, 1]
    if data == "heteroscedastic":
        return X, signal + np.exp(X[:, 2]) * rng.normal(size=n)
    if data == "heavy tails":
        return X, signal + rng.standard_t(2, size=n)
    return X, rng.poisson(np.exp(0.3 * signal)).astype(float)


def present(sets: Sequence[str]) -> list[str]:
    """Return the available data sets; print a line for each that is left out."""
    there = []
    for data in sets:
        try:
            rows_of(data, 0, quick=True)
        except SystemExit as missing:  # raised by league.load
            print(f"{data} is left out: {missing}")
        else:
            there.append(data)
    if not there:
        sys.exit(f"No set is left of {', '.join(sets)}; add diabetes, which needs no folder.")
    return there


def seeds_of(data: str, quick: bool) -> int:
    """Return the number of splits of a data set; small data sets have more."""
    n = len(rows_of(data, 0, quick)[1])
    return 1 if quick or n > LARGE else 3 if n > SMALL else 5


# ---- one split -------------------------------------------------------------------------


def measure(task: Task) -> Result:
    """Calibrate on one part of a set and count on another."""
    X, y = rows_of(task.data, task.seed, task.quick)
    base = BASES[task.base](task.seed)
    if task.quick:
        base.set_params(**QUICK.get(task.base, {}))
    frozen = task.way.startswith("frozen")
    share = 1 / 3 if frozen else 1 / 4
    X, X_test, y, y_test = train_test_split(X, y, test_size=share, random_state=task.seed)
    with warnings.catch_warnings():
        # The warning is about tied scores, which are counted here.
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        if frozen:
            X_train, X, y_train, y = train_test_split(X, y, test_size=0.5, random_state=task.seed)
            model = CalibratedRegressor(
                FrozenEstimator(base.fit(X_train, y_train)),
                scale_estimator=None if task.way == "frozen" else "auto",
                random_state=task.seed,
            )
        else:
            ensemble = task.way == "ensemble"
            model = CalibratedRegressor(base, cv=5, ensemble=ensemble, random_state=task.seed)
        dist = model.fit(X, y).predict_dist(X_test)
    return Result(task, len(y), len(y_test), *count(dist, y_test))


def count(dist: tl.Distribution, y: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Count outcomes in each event with and without its ends, and at a jump of their CDF.

    An outcome is at or above the quantile at level q exactly if P(Y <= y) >= q, and at or below
    it if P(Y < y) <= q; a mixture's CDF costs far less than its quantiles.
    """
    at_most, less = dist.cdf(y), dist._cdf_left(y[:, None])[:, 0]
    low, high = np.array(EVENTS).T[:, :, None]
    inside = ((at_most >= low) & (less <= high)).sum(axis=1)
    strictly = ((less > low) & (at_most < high)).sum(axis=1)
    return tuple(inside.tolist()), tuple(strictly.tolist()), int((at_most > less).sum())


# ---- the exact law ---------------------------------------------------------------------


@cache
def band(n: int, m: int, low: float, high: float, share: float) -> tuple[int, int]:
    """Return the range of the number of m outcomes between two quantiles by the exact law.

    Fewer, and also more, have a probability of at most `share`. With ties it holds as well, for
    fewer inside or at the ends, and for more strictly between them: ties broken at random follow
    the law, and there the quantiles still lie between scores of rank k and k + 1.
    """
    first, last = int(low * (n + 1)), int(high * (n + 1))
    # The gaps between scores that the quantiles enclose at the least and at the most; from
    # score 0, below all, and up to score n + 1, above all, there is nothing to interpolate.
    fewest = last - first - (low > 0.0)
    most = min(last + 1, n + 1) - first
    m_counts = np.arange(m + 1)
    lower, upper = 0, m
    if fewest > 0:
        chance = betabinom.pmf(m_counts, m, fewest, n + 1 - fewest)
        lower = int(np.searchsorted(np.cumsum(chance), share, side="right"))
    if most < n + 1:
        chance = betabinom.pmf(m_counts, m, most, n + 1 - most)
        upper = m - int(np.searchsorted(np.cumsum(chance[::-1]), share, side="right"))
    return lower, upper


def outside(result: Result, share: float) -> np.ndarray:
    """Return which events hold fewer or more outcomes than the exact law allows."""
    n, m = result.n_fit, result.n_test
    lower, upper = np.array([band(n, m, *event, share) for event in EVENTS]).T
    return (np.array(result.inside) < lower) | (np.array(result.strictly) > upper)


def share_of(comparisons: int) -> float:
    """Return the risk of one side of one comparison."""
    return RISK / (2 * comparisons)


# ---- all splits ------------------------------------------------------------------------


def tasks_of(
    ways: Sequence[str], bases: Sequence[str], sets: Sequence[str], quick: bool
) -> Iterator[Task]:
    """Yield the tasks in order."""
    seeds = {data: seeds_of(data, quick) for data in sets}
    for way in ways:
        for base in bases:
            for data in sets:
                for seed in range(seeds[data]):
                    yield Task(way, base, data, seed, quick)


def run(tasks: Sequence[Task], jobs: int) -> list[Result]:
    """Measure all tasks and print one line per split; results are in the order of the tasks."""
    started = time.perf_counter()
    done: dict[Task, Result] = {}

    def note(result: Result) -> None:
        task = result.task
        done[task] = result
        seconds = time.perf_counter() - started
        shares = "  ".join(f"{share:.2%}" for share in result.covered)
        print(
            f"[{len(done)}/{len(tasks)}, {seconds:.0f} s] "
            f"{task.way}, {task.base}, {task.data}, seed {task.seed}: {shares}",
            flush=True,
        )

    if jobs == 1:
        for task in tasks:
            note(measure(task))
    else:
        with ProcessPoolExecutor(jobs) as pool:
            for future in as_completed([pool.submit(measure, task) for task in tasks]):
                note(future.result())
    return [done[task] for task in tasks]


# ---- tables ----------------------------------------------------------------------------


def by(results: Sequence[Result], field: str) -> dict[str, list[Result]]:
    """Group results by a field of their task, in order."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(getattr(result.task, field), []).append(result)
    return groups


def mean_coverage(results: Sequence[Result]) -> np.ndarray:
    return np.mean([result.covered for result in results], axis=0)


def averages(results: Sequence[Result]) -> tuple[np.ndarray, np.ndarray]:
    """Return coverage minus nominal in points, a mean over data sets, and its standard error.

    Sets of counts and ratings are left out, unless there are no others. The error comes from the
    variation between data sets, which may be small by chance, and is at least that of independent
    splits. Splits of one data set share rows, so that this errs on the wide side.
    """
    asked = np.array(COVERAGES)
    found = by(results, "data")
    groups = [group for name, group in found.items() if name not in DISCRETE] or [*found.values()]
    off = np.array([mean_coverage(group) - asked for group in groups])
    rows = sum(sum(1 / r.n_fit + 1 / r.n_test for r in group) / len(group) ** 2 for group in groups)
    variance = asked * (1.0 - asked) * rows / len(off) ** 2
    if len(off) > 1:
        variance = np.maximum(variance, off.var(axis=0, ddof=1) / len(off))
    return 100.0 * off.mean(axis=0), 100.0 * np.sqrt(variance)


def table(results: Sequence[Result]) -> list[str]:
    """Return the table of one way, as lines of Markdown."""
    exact = results[0].task.way == "frozen"
    share = share_of(len(results) * len(EVENTS))
    head = ["base", "set", "rows", "test", "seeds", *(f"{c:.0%}" for c in COVERAGES)]
    lines = [head + ["tied"] * exact]
    for base, mine in by(results, "base").items():
        for data, group in by(mine, "data").items():
            n, m = group[0].n_fit, group[0].n_test
            cells = [f"{100.0 * share_inside:.1f}" for share_inside in mean_coverage(group)]
            if exact:
                bands = [band(n, m, *event, share) for event in EVENTS[: len(COVERAGES)]]
                cells = [
                    f"{cell} [{100.0 * low / m:.0f}, {100.0 * high / m:.0f}]"
                    for cell, (low, high) in zip(cells, bands, strict=True)
                ]
                cells.append(f"{np.mean([r.tied / r.n_test for r in group]):.1%}")
            lines.append([base, data, str(n), str(m), str(len(group)), *cells])
        off, error = averages(mine)
        cells = [f"{a:+.2f} ± {e:.2f}" for a, e in zip(off, error, strict=True)]
        lines.append([base, "mean minus nominal", "", "", "", *cells] + [""] * exact)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return [
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |"
        for line in lines
    ]


def verdict(results: Sequence[Result]) -> str:
    """Return a sentence on whether the results of one way are as expected."""
    way = results[0].task.way
    if way in ("frozen", "frozen-scale"):
        comparisons = len(results) * len(EVENTS)
        wrong = sum(int(outside(r, share_of(comparisons)).sum()) for r in results)
        odd = sum(int(outside(r, 0.025).sum()) for r in results)
        law = "the exact law" if way == "frozen" else "the law, here not quite exact"
        return (
            f"{comparisons} comparisons with {law}, of every interval and both its ends in every "
            f"split: {wrong} outside at {1 - RISK:.1%} for all at once, and "
            f"{odd / comparisons:.1%} outside their own 95%, where at most 5% are expected."
        )
    low, high = WANTED
    lines = []
    for base, mine in by(results, "base").items():
        for c, a, e in zip(COVERAGES, *averages(mine), strict=True):
            beyond = max(low - a, a - high)
            if beyond > 0.0:
                clear = ", by more than two standard errors" if beyond > 2.0 * e else ""
                lines.append(f"- {base} at {c:.0%}: {a:+.2f} ± {e:.2f}{clear}")
    total = len(by(results, "base")) * len(COVERAGES)
    summary = f"{len(lines)} of {total} means over sets are outside {low:+g} to {high:+g} points"
    return "\n".join([f"{summary}:", "", *lines] if lines else [f"{summary}."])


def report(results: Sequence[Result], made: str, left_out: Sequence[str] = ()) -> str:
    """Return all tables, with the command that made them."""
    lines = [
        "# How often intervals hold",
        "",
        made,
        *(f"Left out, for want of data: {', '.join(left_out)}." for _ in left_out[:1]),
        "",
        "Percentages of test outcomes inside their interval, averaged over the splits with seeds",
        "0 and up; `seeds` is the number of splits, `rows` the number of rows passed to `fit`.",
        "Means over data sets are points above the nominal coverage, with their standard error",
        "from the variation between data sets, without counts and wine: intervals of whole counts",
        "and ratings hold more, because any smaller one holds too little. The brackets show the",
        "range of a single split by the exact law. Tied outcomes have the score of a calibration",
        "row. At the end of an interval they count as inside, so that coverage may be above the",
        "brackets; the comparison with the upper end of the law leaves them out.",
    ]
    for way, mine in by(results, "way").items():
        lines += ["", f"## {way}", "", *table(mine), "", verdict(mine)]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sets and models, one split")
    parser.add_argument("--sets", nargs="+", choices=SETS, help="all that are there by default")
    parser.add_argument("--bases", nargs="+", choices=list(BASES), default=list(BASES))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--jobs", type=int, default=1, help="splits to measure at a time")
    parser.add_argument("--output", type=Path, help="Markdown file to write the tables to")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs is {options.jobs}; expected 1 or more.")
    check_output(parser, options.output)

    asked = list(dict.fromkeys(options.sets or (SMALL_SETS if options.quick else SETS)))
    sets = present(asked)
    tasks = list(tasks_of(options.ways, options.bases, sets, options.quick))
    results = run(list(dict.fromkeys(tasks)), options.jobs)
    command = ["python", "examples/coverage_table.py", *(["--quick"] if options.quick else [])]
    for name, default in (("sets", None), ("bases", list(BASES)), ("ways", list(WAYS))):
        given = getattr(options, name)
        command += [] if given == default else [f"--{name}", *given]
    left_out = [data for data in asked if data not in sets]
    text = report(results, made_by(command), left_out)
    print()
    print(text, end="")
    if options.output is not None:
        write_text(options.output, text)


if __name__ == "__main__":
    main()
