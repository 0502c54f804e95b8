"""How errors shrink as rows are added."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, TimeSeriesSplit

from trueline.estimators._learning_curve import refit_factor, thinned_splits


def test_thinned_splits_test_the_same_rows_and_train_without_the_next_fold():
    splits = list(KFold(5, shuffle=True, random_state=0).split(np.zeros((50, 1))))
    thinned = thinned_splits(splits, 50)
    for k, (train, test) in enumerate(thinned):
        np.testing.assert_array_equal(test, splits[k][1])
        gone = np.concatenate([splits[k][1], splits[(k + 1) % 5][1]])
        np.testing.assert_array_equal(train, np.setdiff1d(np.arange(50), gone))


@pytest.mark.parametrize("cv", [KFold(2), TimeSeriesSplit(3)], ids=repr)
def test_where_two_sizes_cannot_be_compared_there_are_none(cv):
    assert thinned_splits(list(cv.split(np.zeros((40, 1)))), 40) is None


@pytest.mark.parametrize("power", [0.05, 0.2, 0.5])
def test_a_power_law_is_continued(power):
    error = {n: np.full(10, n**-power) for n in (60, 80)}
    expected = (100 / 80) ** -power
    assert refit_factor(error[80], error[60], (60, 80, 100)) == pytest.approx(expected)


def test_the_factor_never_widens_and_never_takes_more_than_a_fifth():
    ones = np.ones(10)
    assert refit_factor(ones, 0.9 * ones, (60, 80, 100)) == 1.0
    assert refit_factor(0.1 * ones, ones, (60, 80, 100)) == 0.8
    assert refit_factor(0.0 * ones, ones, (60, 80, 100)) == 1.0


def test_rows_count_by_their_weight():
    error, thinned = np.array([1.0, 5.0]), np.array([1.1, 50.0])
    weighted = refit_factor(error, thinned, (60, 80, 100), np.array([1.0, 0.0]))
    assert weighted == refit_factor(error[:1], thinned[:1], (60, 80, 100))
