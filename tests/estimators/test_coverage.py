"""Intervals hold as often as they say.

With a `FrozenEstimator` and rows that it has not seen, the law is exact: of m fresh rows the
number at or below the k-th of n calibration scores is Beta-binomial(m, k, n + 1 - k), and the
quantile at level q lies between the scores k = floor(q (n + 1)) and k + 1. Cross-fitted models
have no such law, and are held to within 1 point below and 3 points above, averaged over sets,
give or take two standard errors of that average.
"""

import numpy as np
import pytest
from scipy.stats import betabinom
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import ShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trueline as tl
from trueline.estimators import CalibratedRegressor

COVERAGES = np.array([0.5, 0.8, 0.9, 0.95])
LEVELS = np.sort(np.concatenate([(1 - COVERAGES) / 2, (1 + COVERAGES) / 2]))
BASES = {
    "bayes": BayesianRidge(),
    "linear": LinearRegression(),
    "forest": RandomForestRegressor(20, min_samples_leaf=3, random_state=0),
    "boosting": HistGradientBoostingRegressor(max_iter=30, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LinearRegression()),
}
SETS = ["diabetes", "heteroscedastic", "heavy tails", "counts"]


def made_set(name, n, rng):
    X = rng.normal(size=(n, 4))
    signal = 2.0 * X[:, 0] + X[:, 1]
    match name:
        case "heteroscedastic":
            return X, signal + np.exp(X[:, 2]) * rng.normal(size=n)
        case "heavy tails":
            return X, signal + rng.standard_t(2, size=n)
        case _:
            return X, rng.poisson(np.exp(0.3 * signal)).astype(float)


def split_set(name, seed):
    """Rows to fit on and fresh ones: half of diabetes each, or 1,000 and 4,000 made ones."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        return train_test_split(X, y, test_size=0.5, random_state=seed)
    X, y = made_set(name, 5000, np.random.default_rng([seed, SETS.index(name)]))
    return X[:1000], X[1000:], y[:1000], y[1000:]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", ["heteroscedastic", "heavy tails"])
def test_the_exact_law_of_a_frozen_model(name, base):
    n = m = 2000
    rng = np.random.default_rng(7)
    trained = BASES[base].fit(*made_set(name, 300, rng))
    model = CalibratedRegressor(FrozenEstimator(trained), scale_estimator=None)
    model.fit(*made_set(name, n, rng))
    X, y = made_set(name, m, rng)
    counts = (y[:, None] <= model.predict_quantiles(X, LEVELS)).sum(axis=0)
    # All cases together fail a correct map with a probability of one in a thousand.
    share = 0.001 / (len(BASES) * 2 * len(LEVELS) * 2)
    for level, count in zip(LEVELS, counts, strict=True):
        k = int(np.floor(level * (n + 1)))
        too_few = betabinom.cdf(count, m, k, n + 1 - k)
        too_many = betabinom.sf(count - 1, m, k + 1, n - k)
        assert min(too_few, too_many) > share, f"{count} of {m} below the {level}"


def held(dist, y):
    """Share of outcomes in the central interval of each coverage, by the randomised PIT.

    Intervals of counts contain more than they promise, as their atoms force; the randomised PIT
    does not. A mixture's CDF also costs far less than its quantiles.
    """
    u = tl.pit(y, dist, randomized=True, random_state=0)
    tail = 0.5 * (1.0 - COVERAGES)
    return ((u[:, None] >= tail) & (u[:, None] <= 1.0 - tail)).mean(axis=0)


# A mixture is wider than its parts, the more the models of the folds differ: without shrinkage_
# ensembles of boosted trees were 5 points too wide. examples/coverage_table.py has more sets.
@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
@pytest.mark.parametrize("ensemble", [False, True], ids=["pooled", "ensemble"])
@pytest.mark.parametrize("base", ["linear", "forest", "boosting"])
def test_cross_fitted_models_on_average_over_sets(base, ensemble):
    off, variance = [], []
    for name in SETS:
        seeds = 4 if name == "diabetes" else 2
        for seed in range(seeds):
            X, X_new, y, y_new = split_set(name, seed)
            model = CalibratedRegressor(BASES[base], ensemble=ensemble, random_state=seed)
            cover = held(model.fit(X, y).predict_dist(X_new), y_new)
            share = 1.0 / (seeds * len(SETS))
            off.append(share * (cover - COVERAGES))
            # Of the law above: what the choice of rows alone does to one run.
            chance = COVERAGES * (1.0 - COVERAGES) * (1.0 / len(y) + 1.0 / len(y_new))
            variance.append(share**2 * chance)
    average, error = np.sum(off, axis=0), np.sqrt(np.sum(variance, axis=0))
    assert (average >= -0.01 - 2.0 * error).all(), (average, error)
    assert (average <= 0.03 + 2.0 * error).all(), (average, error)


def test_groups_are_calibrated_each():
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(4000, 2)), rng.choice(["calm", "wild"], size=4000)
    y = X[:, 0] + rng.normal(size=4000) * np.where(group == "wild", 5.0, 1.0)
    old, new = np.arange(2000), np.arange(2000, 4000)
    model = CalibratedRegressor(LinearRegression(), method="grouped", scale_estimator=None)
    model.fit(X[old], y[old], groups=group[old])
    lower, upper = model.predict_interval(X[new], 0.9, groups=group[new])
    inside = (lower <= y[new]) & (y[new] <= upper)
    for name in ("calm", "wild"):
        assert abs(inside[group[new] == name].mean() - 0.9) < 0.03


@pytest.mark.parametrize("method", ["isotonic", "conditional"])
def test_rows_that_are_tested_often_do_not_give_themselves_away(method):
    rng = np.random.default_rng(3)
    X, y = made_set("heteroscedastic", 4500, rng)
    cv = ShuffleSplit(20, test_size=0.3, random_state=0)
    model = CalibratedRegressor(LinearRegression(), method=method, cv=cv, random_state=0)
    dist = model.fit(X[:500], y[:500]).predict_dist(X[500:])
    # A width that has seen the outcome gives 70%; the law of 500 and 4,000 rows has 1.4 points.
    assert held(dist, y[500:])[2] == pytest.approx(0.9, abs=0.045)
