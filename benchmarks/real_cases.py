"""The measurements of `real.py`: one function per case, with simulated or real rows.

Every function takes a number of runs, which use the seeds 0, 1, ..., and returns a `Mean` or
several of them by name. Only the public API of trueline is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.tree import DecisionTreeRegressor

import trueline as tl

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))

import league
import precipitation

COVERAGE = 0.9
N_FEATURES = 5
N_TEST = 2000


class Mean(NamedTuple):
    """A mean over runs and its standard error, which is NaN for a single run."""

    value: float
    error: float = float("nan")


def mean_of(values: Sequence[float]) -> Mean:
    a = np.asarray(values, dtype=float)
    return Mean(float(a.mean()), float(a.std(ddof=1) / np.sqrt(a.size)) if a.size > 1 else np.nan)


def by_name(runs: Sequence[dict[str, float]]) -> dict[str, Mean]:
    return {name: mean_of([run[name] for run in runs]) for name in runs[0]}


def standard(n: int) -> tl.Normal:
    """Return n forecasts that are standard normal."""
    return tl.Normal(np.zeros(n), 1.0)


# ---- groups: rows of one group are alike, and new rows come from new groups -------------


class Grouped(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray


def random_intercepts(rng: np.random.Generator, n_groups: int) -> Grouped:
    """Every group has its own intercept; two features are constant within a group."""
    group = np.repeat(np.arange(n_groups), 10)
    X = np.hstack([rng.normal(size=(group.size, 3)), rng.normal(size=(n_groups, 2))[group]])
    y = X[:, 0] + rng.normal(size=n_groups)[group] + 0.5 * rng.normal(size=group.size)
    return Grouped(X, y, group)


def group_variance(rng: np.random.Generator, n_groups: int) -> Grouped:
    """Every group has its own noise, which its features do not reveal."""
    group = np.repeat(np.arange(n_groups), 10)
    X = np.hstack([rng.normal(size=(group.size, 3)), rng.normal(size=(n_groups, 2))[group]])
    scale = np.exp(0.7 * rng.normal(size=n_groups))[group]
    return Grouped(X, X[:, 0] + scale * rng.normal(size=group.size), group)


def group_shifts(rng: np.random.Generator, n_groups: int) -> Grouped:
    """The rows of a group lie close together in all features, and share a shift of y."""
    group = np.repeat(np.arange(n_groups), 10)
    X = 2.0 * rng.normal(size=(n_groups, 4))[group] + 0.3 * rng.normal(size=(group.size, 4))
    shift = rng.normal(size=n_groups)[group]
    return Grouped(X, np.sin(X[:, 0]) + shift + 0.3 * rng.normal(size=group.size), group)


def new_groups(make: Callable[[np.random.Generator, int], Grouped], method: str, runs: int) -> Mean:
    """Coverage on 200 new groups of a fit on 60 groups of 10 rows, split by group."""
    held = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X, y, groups = make(rng, 60)
        X_new, y_new, _ = make(rng, 200)
        model = tl.CalibratedRegressor(
            Ridge(), method=method, cv=GroupKFold(5), random_state=seed
        ).fit(X, y, groups=groups)
        held.append(tl.coverage(y_new, model.predict_dist(X_new), COVERAGE))
    return mean_of(held)


# ---- copies: equal rows must not be split between training and calibration ---------------


def four_times(rng: np.random.Generator) -> np.ndarray:
    """100 rows, each four times."""
    return np.repeat(np.arange(100), 4)


def third_copied(rng: np.random.Generator) -> np.ndarray:
    """150 rows, of which 50 appear twice."""
    return np.append(np.arange(150), rng.choice(150, 50, replace=False))


def copies_and_unique(rng: np.random.Generator) -> np.ndarray:
    """40 rows, each six times, and 120 others once."""
    return np.append(np.repeat(np.arange(40), 6), np.arange(40, 160))


def copies(make: Callable[[np.random.Generator], np.ndarray], runs: int) -> Mean:
    """Coverage on fresh rows of a ridge with five folds, where rows repeat."""
    held = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rows = make(rng)
        n = rows.max() + 1
        X = rng.normal(size=(n + N_TEST, N_FEATURES))
        y = X @ rng.normal(size=N_FEATURES) + rng.normal(size=n + N_TEST)
        model = tl.CalibratedRegressor(Ridge(), cv=5, random_state=seed).fit(X[rows], y[rows])
        held.append(tl.coverage(y[n:], model.predict_dist(X[n:]), COVERAGE))
    return mean_of(held)


@cache
def weekdays(counts: bool, runs: int) -> dict[str, Mean]:
    """Coverage of an integer cv, and its CRPS relative to folds of shuffled rows.

    The only feature is the day of the week, so that many rows have equal features; for counts
    many of them have equal outcomes as well, by chance.
    """
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        day = rng.integers(7, size=350 + N_TEST)
        effect = rng.permutation(7)[day]
        y = rng.poisson(0.5 * effect) if counts else effect + rng.normal(size=day.size)
        X, y = day[:, None].astype(float), y.astype(float)
        dists = {}
        for cv in (5, KFold(5, shuffle=True, random_state=seed)):
            model = tl.CalibratedRegressor(
                DecisionTreeRegressor(max_depth=3), cv=cv, random_state=seed
            )
            dists[cv] = model.fit(X[:350], y[:350]).predict_dist(X[350:])
        plain, shuffled = dists.values()
        found.append(
            {
                "coverage": tl.coverage(y[350:], plain, COVERAGE),
                "crps": tl.crps(y[350:], plain) / tl.crps(y[350:], shuffled),
            }
        )
    return by_name(found)


# ---- counts ------------------------------------------------------------------------------


#: Rates of counts, with mean 1; few, so that exact quantiles are computed once.
RATES = np.exp(0.5 * stats.norm.ppf((np.arange(50) + 0.5) / 50) - 0.12)


@cache
def poisson_map(draws: int, runs: int) -> dict[str, Mean]:
    """CRPS and mean of exact Poisson draws after a map of 1,000 rows, relative to before."""
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rate = rng.choice(RATES, 1000 + N_TEST)
        y = rng.poisson(rate).astype(float)
        F = tl.Samples(rng.poisson(rate[:, None], size=(rate.size, draws)).astype(float))
        G = tl.Isotonic().fit(y[:1000], F[:1000]).transform(F[1000:])
        found.append(
            {
                "crps": tl.crps(y[1000:], G) / tl.crps(y[1000:], F[1000:]),
                "shift": float((G.mean() - F[1000:].mean()).mean()),
            }
        )
    return by_name(found)


def wrapped_counts(method: str, runs: int) -> Mean:
    """Mean forecast probability of 0 minus the share of zeros, of a wrapped Poisson regression.

    The counts are overdispersed, and folds keep groups of five rows together.
    """
    groups = np.repeat(np.arange(200), 5)
    off = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(groups.size + N_TEST, 3))
        y = rng.poisson(np.exp(0.5 * X[:, 0] + 0.3) * rng.gamma(1.0, size=len(X))).astype(float)
        model = tl.CalibratedRegressor(
            PoissonRegressor(), method=method, cv=GroupKFold(5), random_state=seed
        ).fit(X[: groups.size], y[: groups.size], groups=groups)
        chance = model.predict_dist(X[groups.size :]).cdf(0.0).mean()
        off.append(float(chance - (y[groups.size :] == 0.0).mean()))
    return mean_of(off)


def poisson_quantiles(runs: int) -> Mean:
    """Calibration error of exact Poisson quantiles at 99 levels, divided by its floor."""
    quantiles = stats.poisson.ppf(league.LEVELS, RATES[:, None])
    ratios = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rate = rng.integers(RATES.size, size=1000)
        y = rng.poisson(RATES[rate]).astype(float)
        F = tl.Quantiles(league.LEVELS, quantiles[rate])
        result = tl.evaluate(y, F, random_state=seed)
        ratios.append(result.calibration_error / result.calibration_floor)
    return mean_of(ratios)


@cache
def perfect_draws(runs: int, draws: int = 10) -> dict[str, Mean]:
    """Calibration error of perfect draws divided by its floor, and whether the verdict explains."""
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        loc = rng.normal(size=1000)
        F = tl.Samples(loc[:, None] + rng.normal(size=(1000, draws)))
        result = tl.evaluate(loc + rng.normal(size=1000), F, random_state=seed)
        found.append(
            {
                "error": result.calibration_error / result.calibration_floor,
                "said": float(f"{draws} draws" in str(result.verdict)),
            }
        )
    return by_name(found)


# ---- collapsed forecasts -----------------------------------------------------------------


@cache
def collapsed(make: Callable[[], tl.Recalibrator], k: int, runs: int) -> dict[str, Mean]:
    """A map fitted on 1,000 rows, k of them with scale 1e-6, beside one fitted on none.

    The numbers are those of the worst run, because their mean has no useful standard error.
    """
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2000, 3))
        y = X[:, 0] + rng.normal(size=2000)
        F = tl.Normal(X[:, 0], 1.0)
        scale = np.ones(1000)
        scale[rng.choice(1000, k, replace=False)] = 1e-6
        dists = []
        for forecast in (F[:1000], tl.Normal(X[:1000, 0], scale)):
            R = make()
            at_fit, later = ({"X": X[:1000]}, {"X": X[1000:]}) if R.needs_features else ({}, {})
            dists.append(R.fit(y[:1000], forecast, **at_fit).transform(F[1000:], **later))
        clean, spoilt = dists
        off = np.abs(spoilt.mean() - clean.mean()).mean()
        found.append((tl.crps(y[1000:], spoilt) / tl.crps(y[1000:], clean), float(off)))
    crps, mean = zip(*found, strict=True)
    return {"crps": Mean(max(crps)), "mean": Mean(max(mean))}


def conditional() -> tl.Conditional:
    return tl.Conditional(random_state=0)


# ---- real sets ---------------------------------------------------------------------------


@cache
def rain(recipe: precipitation.Recipe, lead: int, runs: int) -> dict[str, Mean]:
    """CRPS, and the share of 90% intervals that begin below 0, on the test days."""
    found = []
    for seed in range(runs):
        crps, _, _, below, _ = precipitation.measure(recipe, lead, seed)
        found.append({"crps": crps, "below": below})
    return by_name(found)


@cache
def wine(runs: int) -> dict[str, Mean]:
    """Boosting on the wine ratings, with defaults: the splits and the score of the league."""
    found = []
    for seed in range(runs):
        X, X_test, y, y_test = league.split("wine", seed)
        model = league.default(league.MODELS["HistGradientBoosting"](seed), seed).fit(X, y)
        dist = model.predict_dist(X_test)
        climate = np.tile(np.quantile(y, league.LEVELS), (len(y_test), 1))
        score, least = (league.mean_pinball(y_test, q) for q in (dist.ppf(league.LEVELS), climate))
        found.append(
            {
                "crps": score / least,
                "coverage": tl.coverage(y_test, dist, COVERAGE),
                "smallest": smallest_sets(dist, np.arange(11.0)),  # the scale of ratings
            }
        )
    return by_name(found)


def smallest_sets(dist: tl.Distribution, values: np.ndarray) -> float:
    """Share of 90% intervals that are a smallest run of values with at least 90% of the mass."""
    lower, upper = dist.interval(COVERAGE)
    edges = np.concatenate([[-np.inf], 0.5 * (values[1:] + values[:-1]), [np.inf]])
    below = np.column_stack([dist.cdf(edge) for edge in edges[1:-1]])
    below = np.hstack([np.zeros((len(dist), 1)), below, np.ones((len(dist), 1))])
    first, last = np.triu_indices(values.size)
    enough = below[:, last + 1] - below[:, first] >= COVERAGE - 1e-9
    fewest = np.where(enough, last - first + 1, values.size).min(axis=1)
    start, stop = np.searchsorted(values, lower), np.searchsorted(values, upper, side="right")
    rows = np.arange(len(dist))
    holds = below[rows, stop] - below[rows, np.minimum(start, stop)] >= COVERAGE - 1e-9
    return float((holds & (stop - start == fewest)).mean())


SMALL_SETS = ("auto", "cpu", "mpg")


@cache
def networks(runs: int, sets: tuple[str, ...] = SMALL_SETS) -> dict[str, Mean]:
    """A single network with defaults, beside the bare network: means over sets and splits."""
    import torch

    torch.set_num_threads(1)
    found: dict[str, list[dict[str, float]]] = {}
    for data in sets:
        for seed in range(runs):
            X, X_test, y, y_test = league.split(data, seed)
            network = tl.models.ConcreteDropoutRegressor(random_state=seed)
            bare = network.fit(X, y).predict_dist(X_test)
            model = tl.CalibratedRegressor(network, random_state=seed).fit(X, y)
            dist = model.predict_dist(X_test)
            error = tl.calibration_error(y_test, dist)
            found.setdefault(data, []).append(
                {
                    "coverage": tl.coverage(y_test, dist, COVERAGE),
                    "error": error / tl.calibration_floor(len(y_test), len(y)),
                    "crps": tl.crps(y_test, dist) / tl.crps(y_test, bare),
                }
            )
    means = by_name([run for of_set in found.values() for run in of_set])
    of_sets = [by_name(of_set)["crps"] for of_set in found.values()]
    return {**means, "worst crps": max(of_sets, key=lambda mean: mean.value)}


# ---- the noise of a map, weights, small groups, tails ---------------------------------------


def rejected(spread: float, n_fit: int, runs: int) -> Mean:
    """How often the test rejects at 5% where a map of `n_fit` rows is judged on 1,000.

    `spread` is that of the outcomes judged; the map was fitted where it is 1.
    """
    F = standard(1000)
    rejections = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        G = tl.Isotonic().fit(rng.normal(size=n_fit), F[:n_fit]).transform(F)
        result = tl.calibration_test(spread * rng.normal(size=1000), G)
        rejections.append(result.p_value < 0.05)
    return mean_of(rejections)


def importance_weights(tilt: float, growth: float, runs: int) -> Mean:
    """Weighted coverage of a map of 200 rows whose weights are exp(tilt x).

    The spread of the outcomes is exp(growth x), with x standard normal.
    """
    held = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=200 + N_TEST)
        x[200:] += tilt  # the density of x where weights are exp(tilt x)
        y = np.exp(growth * x) * rng.normal(size=x.size)
        F = tl.Point(np.zeros(x.size))
        R = tl.Isotonic().fit(y[:200], F[:200], sample_weight=np.exp(tilt * x[:200]))
        held.append(tl.coverage(y[200:], R.transform(F[200:]), COVERAGE))
    return mean_of(held)


NOISY = (5, 10, 20)
ORDINARY = (5, 10, 20, 50)


@cache
def small_groups(runs: int) -> dict[str, Mean]:
    """Coverage by group of `Grouped`: noisy groups, and twenty ordinary ones of each size.

    The CRPS is that of ordinary groups, relative to the forecast that knows their noise.
    """
    sizes = [*NOISY, *(20 * ORDINARY)]
    group = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.where(np.arange(len(sizes)) < len(NOISY), 4.0, 1.0)
    F = standard(500)
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        y = noise[group] * rng.normal(size=group.size)
        R = tl.Grouped().fit(y, standard(group.size), groups=group)
        held, scores = [], []
        for i in range(len(NOISY) + len(ORDINARY)):
            y = rng.normal(size=500)
            G = R.transform(F, groups=np.full(500, i))
            held.append(tl.coverage(noise[i] * y, G, COVERAGE))
            scores.append(tl.crps(y, G) / tl.crps(y, F))
        of_size = zip(NOISY, held, strict=False)
        row = {f"noisy {size}": share for size, share in of_size}
        row["smallest"] = held[len(NOISY)]
        row["ordinary"] = float(np.mean(held[len(NOISY) :]))
        row["crps"] = float(np.mean(scores[len(NOISY) :]))
        found.append(row)
    return by_name(found)


def exceeded(law: Any, n: int, runs: int) -> Mean:
    """How often a 99.9% quantile from n scores is exceeded, as a multiple of 0.1%."""
    chances = []
    for seed in range(runs):
        y = law.rvs(size=n, random_state=np.random.default_rng(seed))
        G = tl.Isotonic().fit(y, tl.Point(np.zeros(n))).transform(tl.Point([0.0]))
        chances.append(law.sf(G.ppf(0.999)[0]) / 0.001)
    return mean_of(chances)
