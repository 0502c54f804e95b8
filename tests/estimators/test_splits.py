"""Folds are honoured by everything that learns, and copies of a row stay in one fold."""

import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

import trueline as tl
from trueline.estimators import CalibratedRegressor
from trueline.estimators._splits import find_copies, learning_splits, make_splits


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.normal(size=n)


# ---- copies ------------------------------------------------------------------------------


def folds_of(X, y, cv=5, seed=3):
    fold = np.full(len(y), -1)
    for k, (train, test) in enumerate(make_splits(cv, X, y, {}, seed)):
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == len(y)
        fold[test] = k
    return fold


def assert_shuffled_rows(X, y):
    """Check that the folds are those of KFold, to the last row."""
    ours = make_splits(5, X, y, {}, 3)
    for (a, b), (c, d) in zip(
        ours, KFold(5, shuffle=True, random_state=3).split(np.empty(len(y))), strict=True
    ):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)


def test_rows_without_copies_are_split_as_before():
    X, y = table()
    assert_shuffled_rows(X, y)
    assert_shuffled_rows(X, np.round(y))  # equal outcomes alone
    X[60:] = X[:60]
    assert_shuffled_rows(X, y)  # equal features alone


@pytest.mark.parametrize("share_of_zeros", [0.0, 0.95])
def test_one_weekday_column_leaves_the_folds_as_they_are(share_of_zeros):
    rng = np.random.default_rng(0)
    weekday = rng.integers(7, size=(400, 1)).astype(float)
    y = rng.poisson(3.0 + weekday[:, 0]) * (rng.uniform(size=400) >= share_of_zeros)
    assert find_copies(weekday, y.astype(float)) is None
    assert_shuffled_rows(weekday, y.astype(float))


def kinds_of_tables():
    X, _ = table()
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y"), "c": X[:, 2]})
    frame.loc[::7, "c"] = np.nan
    missing = X.copy()
    missing[::5, 1] = np.nan
    return {
        "floats": X,
        "integers": np.round(1000 * X).astype(int),
        "missing": missing,
        "frame": frame,
        "categories": frame.assign(b=frame.b.astype("category")),
        "objects": frame.to_numpy(dtype=object),
        "strings": X.astype(str),
    }


@pytest.mark.parametrize("kind", kinds_of_tables())
@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
def test_copies_stay_in_one_fold_in_any_table(kind):
    X, (_, y) = kinds_of_tables()[kind], table()
    rows = np.random.default_rng(1).permutation(np.concatenate([np.arange(120), np.arange(50)]))
    copied = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    fold = folds_of(copied, y[rows])
    for i in range(50):
        assert len(set(fold[rows == i])) == 1
    assert (np.bincount(fold) > 15).all()


def test_what_is_not_a_table_is_split_by_rows():
    X, y = table()
    twice = np.tile(np.arange(60), 2)
    assert find_copies(csr_array(X[twice]), y[twice]) is None
    assert find_copies(list("ab" * 60), y[twice]) is None
    assert find_copies(np.ones((120, 2)), np.ones(120)) is None  # one row, 120 times
    assert_shuffled_rows(np.repeat(X[:3], 40, axis=0), np.repeat(y[:3], 40))  # 3 rows, 5 folds


def test_many_copies_are_worth_a_warning():
    X, y = table()
    few = np.concatenate([np.arange(120), np.arange(12)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_splits(5, X[few], y[few], {}, 0)
    many = np.concatenate([np.arange(120), np.arange(40)])
    with pytest.warns(tl.CalibrationWarning, match=r"40 of 160 rows repeat.*GroupKFold"):
        make_splits(5, X[many], y[many], {}, 0)


# ---- the splits of what is learned from errors -------------------------------------------


def learning(cv, n=60, groups=None):
    """The splits of a splitter's test rows, as positions in those rows, and the rows."""
    X, y = table(n)
    splits = list(cv.split(X, y, groups)) if cv else []
    rows = np.unique(np.concatenate([b for _, b in splits])) if cv else np.arange(n)
    kept = groups if groups is None else groups[rows]
    found = learning_splits(splits, rows, n, X[rows], y[rows], kept, 0, shuffled=cv is None)
    assert found.independent is (groups is None and (cv is None or cv.get_n_splits(X) == 1))
    return found.splits, rows, splits


@pytest.mark.parametrize(
    "cv",
    [
        KFold(5),
        KFold(12),
        LeaveOneOut(),
        TimeSeriesSplit(4),
        TimeSeriesSplit(25),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(20, test_size=0.3, random_state=0),
    ],
    ids=str,
)
def test_a_row_is_learned_about_from_rows_that_its_split_trains_on(cv):
    found, rows, given = learning(cv)
    assert len(found) <= 10
    tested = np.concatenate([test for _, test in found])
    np.testing.assert_array_equal(np.sort(tested), np.arange(len(rows)))
    for train, test in found:
        for i in test:
            first = next(a for a, b in given if rows[i] in b)
            assert np.isin(rows[train], first).all()


def test_groups_are_kept_together_even_in_one_test_set():
    groups = np.repeat(np.arange(12), 5)
    for cv in (GroupKFold(3), GroupShuffleSplit(1, test_size=0.5, random_state=0)):
        found, rows, _ = learning(cv, groups=groups)
        assert len(found) > 1
        for train, test in found:
            assert not np.isin(groups[rows[train]], groups[rows[test]]).any()


def test_calibration_rows_that_nobody_splits_are_split_by_rows():
    for cv in (None, ShuffleSplit(1, test_size=0.5, random_state=0)):
        found, rows, _ = learning(cv)
        assert len(found) == 5
        assert sum(len(test) for _, test in found) == len(rows)
    assert learning_splits([], np.arange(1), 1, [[0.0]], np.zeros(1), None, 0).splits == []
    # Rows with copies are not independent.
    X, y = (part[:10].repeat(2, axis=0) for part in table())
    with pytest.warns(tl.CalibrationWarning, match="GroupKFold"):
        assert not learning_splits([], np.arange(20), 20, X, y, None, 0).independent


class Recorder:
    """A learner of quantiles that notes the values of the first feature that it saw."""

    seen: ClassVar[list] = []

    def fit(self, X, s):
        Recorder.seen.append(set(X[:, 0]))

    def predict_quantiles(self, X, levels):
        from scipy.special import ndtri

        return np.tile(ndtri(levels), (len(X), 1))


@pytest.mark.parametrize("frozen", [False, True])
def test_conditional_learns_over_the_folds_of_the_user(frozen):
    X, y = table(150)
    X[:, 0] = groups = np.repeat(np.arange(15), 10)
    base = FrozenEstimator(LinearRegression().fit(X, y)) if frozen else LinearRegression()
    Recorder.seen = []
    model = CalibratedRegressor(base, method=tl.Conditional(Recorder()), cv=GroupKFold(3))
    model.fit(X, y, groups=groups)
    expected = [set(groups), *(set(groups[a]) for a, _ in GroupKFold(3).split(X, y, groups))]
    assert Recorder.seen == expected


def test_the_maps_of_an_ensemble_keep_groups_together():
    X, y = table(150)
    X[:, 0] = groups = np.repeat(np.arange(15), 10)
    Recorder.seen = []
    model = CalibratedRegressor(
        LinearRegression(), method=tl.Conditional(Recorder()), cv=GroupKFold(3), ensemble=True
    ).fit(X, y, groups=groups)
    assert len(model.recalibrators_) == 3
    # Each map learns from its five groups, and from all of them but one.
    assert [len(seen) for seen in Recorder.seen] == 3 * [5, 4, 4, 4, 4, 4]


# ---- what it is for ----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["isotonic", "conditional"])
def test_intervals_hold_for_new_groups(method):
    # Group effects and features of groups: a forest that sees other rows of a group knows its
    # effect. Random rows gave 75 and 73%. Over five sets the standard error is about a point.
    covered = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(160), 10)
        X = np.column_stack([rng.normal(size=(1600, 2)), rng.normal(size=(160, 2))[group]])
        y = X[:, 0] + rng.normal(size=160)[group] + 0.5 * rng.normal(size=1600)
        old, new = group < 60, group >= 60
        recalibrator = tl.Conditional(tl.recalibration.QuantileForest(60, random_state=seed))
        model = CalibratedRegressor(
            Ridge(),
            method=recalibrator if method == "conditional" else method,
            cv=GroupKFold(5),
            random_state=seed,
        ).fit(X[old], y[old], groups=group[old])
        covered.append(tl.coverage(y[new], model.predict_dist(X[new]), 0.9))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.03)


@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
def test_intervals_hold_if_rows_are_copied():
    # 100 rows, each four times: random folds gave 68%. A map of 100 rows has a standard deviation
    # of 3 points, so that a mean over six sets has 1.2 points.
    covered = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1100, 20))
        y = X[:, 0] + rng.normal(size=1100)
        old = np.repeat(np.arange(100), 4)
        model = CalibratedRegressor(Ridge(), random_state=seed).fit(X[old], y[old])
        covered.append(tl.coverage(y[100:], model.predict_dist(X[100:]), 0.9))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.03)


def test_a_forest_is_fitted_once_unless_rows_belong_together(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = X[:, 0] + rng.normal(size=150)
    fits = []
    fit = RandomForestRegressor.fit

    def counted(self, X, y, sample_weight=None):
        fits.append(len(y))
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(RandomForestRegressor, "fit", counted)
    forest = RandomForestRegressor(60, random_state=0)
    model = CalibratedRegressor(forest, random_state=0).fit(X, y)
    assert fits == [150]
    assert 0.9 < model.shrinkage_ < 1.0  # all trees together are better than a third of them
    for options, groups in (
        ({"cv": GroupKFold(3)}, np.arange(150) // 5),
        ({"cv": KFold(3)}, None),
        ({"ensemble": True, "cv": 3}, None),
        ({"dist": lambda model, X: tl.Point(model.predict(X)), "cv": 3}, None),
    ):
        fits.clear()
        CalibratedRegressor(forest, random_state=0, **options).fit(X, y, groups=groups)
        assert len(fits) >= 3
    fits.clear()
    with pytest.warns(tl.CalibrationWarning, match="repeat the features"):
        CalibratedRegressor(forest, random_state=0).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert len(fits) > 5
