"""How much smaller the scores of what predicts are than those of the fold models."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, TimeSeriesSplit

from trueline.estimators import CalibratedRegressor
from trueline.estimators._shrinkage import ensemble_factor, refit_factor, thinned_splits

HALVES = [np.arange(5), np.arange(5, 10)]


def test_thinned_splits_train_without_two_neighbours_and_test_on_both():
    splits = list(KFold(5, shuffle=True, random_state=0).split(np.zeros((50, 1))))
    thinned = thinned_splits(splits, 50)
    assert len(thinned) == 5
    for k, (train, test) in enumerate(thinned):
        both = np.concatenate([splits[k][1], splits[(k + 1) % 5][1]])
        np.testing.assert_array_equal(test, both)
        np.testing.assert_array_equal(train, np.setdiff1d(np.arange(50), both))


@pytest.mark.parametrize("n, expected", [(390, 5), (700, 3), (1000, 2), (40_000, 2)])
def test_many_rows_take_two_thinned_splits(n, expected):
    splits = list(KFold(5).split(np.zeros((n, 1))))
    assert len(thinned_splits(splits, n)) == expected


@pytest.mark.parametrize("cv", [KFold(2), TimeSeriesSplit(3)], ids=repr)
def test_where_two_sizes_cannot_be_compared_there_are_none(cv):
    assert thinned_splits(list(cv.split(np.zeros((40, 1)))), 40) == []


@pytest.mark.parametrize("power", [0.05, 0.2, 0.5])
def test_a_power_law_is_continued(power):
    error = {n: np.full(10, n**-power) for n in (60, 80)}
    expected = (100 / 80) ** -power
    assert refit_factor(error[80], error[60], (60, 80, 100), HALVES) == pytest.approx(expected)


def test_where_thinned_models_disagree_the_factor_is_pulled_to_one():
    thinned, halves = np.ones(10), HALVES
    alike, rough, torn = (
        refit_factor(np.repeat(ratios, 5), thinned, (60, 80, 100), halves)
        for ratios in ([0.9, 0.9], [0.85, 0.95], [0.7, 1.1])
    )
    assert alike < rough < torn == 1.0


def test_the_factor_treats_noise_alike_in_both_directions():
    ones = np.ones(10)
    narrower = refit_factor(0.9 * ones, ones, (60, 80, 100), HALVES)
    assert refit_factor(ones, 0.9 * ones, (60, 80, 100), HALVES) == pytest.approx(1.0 / narrower)
    assert refit_factor(0.1 * ones, ones, (60, 80, 100), HALVES) == 0.8
    assert refit_factor(ones, 0.1 * ones, (60, 80, 100), HALVES) == 1.25
    assert refit_factor(0.0 * ones, ones, (60, 80, 100), HALVES) == 1.0


def test_rows_count_by_their_weight():
    error, thinned = np.tile([1.0, 5.0], 5), np.tile([1.1, 50.0], 5)
    weighted = refit_factor(error, thinned, (60, 80, 100), HALVES, np.tile([1.0, 0.0], 5))
    ones = np.ones(10)
    assert weighted == pytest.approx(refit_factor(ones, 1.1 * ones, (60, 80, 100), HALVES))


def test_models_that_agree_need_no_shrinkage_and_none_takes_more_than_a_fifth():
    score = np.array([1.0, -2.0, 0.5])
    assert ensemble_factor(score, score, 5) == 1.0
    assert ensemble_factor(score, -score, 5) == 0.8
    assert ensemble_factor(0.0 * score, 0.0 * score, 5) == 1.0
    assert ensemble_factor(np.inf * score, np.inf * score, 5) == 1.0


def test_the_average_of_shrunk_normal_laws_is_as_wide_as_the_error_of_their_mean():
    # K models err by a common part and each by a part of its own, so b is known.
    rng = np.random.default_rng(0)
    n, k, common, own = 400_000, 5, 1.0, 0.4
    error = common * rng.normal(size=n) + own * rng.normal(size=(k, n))
    # Models compared at fit share fewer rows: their own parts are (K - 1) / (K - 2) as large.
    rough = common * rng.normal(size=n) + own * np.sqrt(4 / 3) * rng.normal(size=(2, n))
    c = ensemble_factor(rough[0], rough[1], k)
    laws = (c * error[0]).var() + error.var(axis=0).mean()
    # The compared models err a little more, which the formula leaves alone.
    assert laws == pytest.approx(error.mean(axis=0).var(), rel=0.03)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=400)


@pytest.mark.parametrize("ensemble", [False, True])
def test_models_that_still_learn_are_shrunk_and_those_that_do_not_are_not(rows, ensemble):
    options = {"ensemble": ensemble, "scale_estimator": None, "random_state": 0}
    trees = HistGradientBoostingRegressor(max_iter=30, random_state=0)
    assert CalibratedRegressor(trees, **options).fit(*rows).shrinkage_ < 0.97
    line = CalibratedRegressor(LinearRegression(), **options).fit(*rows)
    assert line.shrinkage_ == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), 2, "train"], ids=str)
def test_where_nothing_can_be_compared_scores_stay_as_they_are(rows, cv):
    X, y = rows
    model = CalibratedRegressor(LinearRegression(), cv=cv, scale_estimator=None).fit(X, y)
    assert model.shrinkage_ == 1.0


def test_the_map_is_fitted_on_shrunk_scores(rows):
    X, y = rows
    folds = list(KFold(5).split(X))
    trees = HistGradientBoostingRegressor(max_iter=30, random_state=0)
    model = CalibratedRegressor(trees, cv=folds, scale_estimator=None).fit(X, y)
    error = np.concatenate([y[b] - trees.fit(X[a], y[a]).predict(X[b]) for a, b in folds])
    expected = np.unique(model.shrinkage_ * error)
    np.testing.assert_allclose(model.recalibrator_.scores_.values, expected, rtol=1e-9, atol=1e-12)
