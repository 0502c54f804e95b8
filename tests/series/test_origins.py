"""Rolling origins: by date, over all series at once, never backwards."""

import copy

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

import trueline as tl
from tests.series.cases import DAY, changed_from, make, two_shops
from trueline.series import rolling_forecasts, rolling_origins

FIRST = np.datetime64("2015-08-01")


def test_train_is_before_the_origin_and_test_goes_to_the_next():
    W = make()
    cv = rolling_origins(W, first=FIRST, every=14, last="2015-11-05")
    tested = []
    for origin, (train, test) in zip(cv.origins, cv, strict=True):
        np.testing.assert_array_equal(train, np.flatnonzero(W.dates < origin))
        inside = (W.dates >= origin) & (W.dates < origin + 14 * DAY)
        inside &= W.dates <= np.datetime64("2015-11-05")
        np.testing.assert_array_equal(test, np.flatnonzero(inside))
        assert set(W.series[train]) == {"north", "south"}
        tested.append(test)
    every = np.flatnonzero((W.dates >= FIRST) & (W.dates <= np.datetime64("2015-11-05")))
    np.testing.assert_array_equal(np.sort(np.concatenate(tested)), every)
    assert len(cv) == cv.get_n_splits() == len(list(cv)) == 7
    assert repr(cv) == "RollingOrigins(7 origins from 2015-08-01 to 2015-10-24)"


def test_the_order_of_rows_does_not_matter():
    W = make()
    order = np.random.default_rng(0).permutation(len(W))
    splits = zip(
        rolling_origins(W, first=FIRST), rolling_origins(W[order], first=FIRST), strict=True
    )
    for (train, test), (some, others) in splits:
        np.testing.assert_array_equal(train, np.sort(order[some]))
        np.testing.assert_array_equal(test, np.sort(order[others]))


def test_training_may_forget():
    W = make()
    for train, test in rolling_origins(W, first=FIRST, every="W", train_span=30):
        origin = W.dates[test].min()
        np.testing.assert_array_equal(
            train, np.flatnonzero((W.dates < origin) & (W.dates >= origin - 30 * DAY))
        )


def test_periods_without_rows_are_left_out():
    W = make()
    hole = (W.dates >= np.datetime64("2015-09-01")) & (W.dates < np.datetime64("2015-10-01"))
    cv = rolling_origins(W[~hole], first="2015-08-25", every=7)
    assert [str(d) for d in cv.origins[:3]] == ["2015-08-25", "2015-09-29", "2015-10-06"]
    assert all(len(test) for _, test in cv)


def test_rows_without_an_outcome_are_tested_but_never_train():
    W = make(missing="forecast")
    unknown = np.isnan(W.y)
    assert unknown.sum() == 5
    tested = []
    for train, test in rolling_origins(W, first="2015-07-01", every=7):
        assert not unknown[train].any()
        tested.append(test)
    assert unknown[np.concatenate(tested)].sum() == 5


def test_forecasts_are_those_of_models_fitted_one_by_one():
    W = make()
    cv = rolling_origins(W, first=FIRST, every=21)
    rows, F = rolling_forecasts(BayesianRidge(), W, cv)
    assert (np.diff(rows) > 0).all()
    assert isinstance(F, tl.Normal)
    for train, test in cv:
        model = BayesianRidge().fit(W.X[train], W.y[train])
        mean, std = model.predict(W.X[test], return_std=True)
        here = np.searchsorted(rows, test)
        np.testing.assert_array_equal(F.loc[here], mean)
        np.testing.assert_array_equal(F.scale[here], std)
    R = tl.Isotonic().fit(W.y[rows], F)
    assert R.scores_.total == len(rows)


class Together(RegressorMixin, BaseEstimator):
    """A model whose copies are fitted together, as those of networks are."""

    asked = 0

    def _fit_copies(self, sets, steps):
        type(self).asked += 1
        return [clone(self).fit(X, y, **params) for X, y, params in sets]

    def fit(self, X, y):
        self.mean_, self.n_ = y.mean(), len(y)
        return self

    def predict_dist(self, X):
        return tl.Laplace(np.full(len(X), self.mean_), float(self.n_))


def test_copies_are_fitted_together_if_the_model_can():
    W = make()
    cv = rolling_origins(W, first=FIRST, every=21)
    Together.asked = 0
    rows, F = rolling_forecasts(Together(), W, cv)
    assert Together.asked == 1
    for train, test in cv:
        here = np.searchsorted(rows, test)
        np.testing.assert_array_equal(F.scale[here], len(train))
        np.testing.assert_array_equal(F.loc[here], W.y[train].mean())


def test_what_the_forecast_is_may_be_said():
    W = make()
    cv = rolling_origins(W, first=FIRST)
    _, F = rolling_forecasts(
        LinearRegression(), W, cv, dist=lambda model, X: tl.Laplace(model.predict(X), 2.0)
    )
    assert isinstance(F, tl.Laplace)
    _, F = rolling_forecasts(LinearRegression(), W, cv)
    assert isinstance(F, tl.Point)


def test_splits_that_look_ahead_are_refused():
    W = make()
    rows = np.arange(len(W))
    with pytest.raises(ValueError, match="expected every test day after all training days") as e:
        # Series stand one after the other, so rows in order are not days in order.
        rolling_forecasts(BayesianRidge(), W, TimeSeriesSplit(3).split(W.X))
    assert "Use rolling_origins." in str(e.value)
    same_day = [(rows[W.dates <= FIRST], rows[W.dates >= FIRST])]
    with pytest.raises(ValueError, match="trains on 2015-08-01 and tests on 2015-08-01"):
        rolling_forecasts(BayesianRidge(), W, same_day)
    with pytest.raises(ValueError, match="origins gave no splits"):
        rolling_forecasts(BayesianRidge(), W, [])
    with pytest.raises(ValueError, match="expected origins that were made for W itself"):
        rolling_forecasts(BayesianRidge(), W[:50], rolling_origins(W, first=FIRST))
    with pytest.raises(ValueError, match="test rows of shape \\(0,\\)"):
        rolling_forecasts(BayesianRidge(), W, [(rows[:9], rows[:0])])
    unknown = make(missing="forecast")
    known = unknown.dates < FIRST
    with pytest.raises(ValueError, match="training rows whose outcome is not known"):
        rolling_forecasts(
            BayesianRidge(), unknown, [(np.flatnonzero(known), np.flatnonzero(~known))]
        )


def test_it_is_a_splitter_for_the_calibrated_regressor():
    W = make()
    cv = rolling_origins(W, first=FIRST, every=21)
    model = tl.CalibratedRegressor(BayesianRidge(), cv=cv, scale_estimator=None)
    fitted = clone(model).fit(W.X, W.y)
    rows, _ = rolling_forecasts(BayesianRidge(), W, cv)
    assert fitted.recalibrator_.scores_.total == len(rows)
    average = tl.CalibratedRegressor(BayesianRidge(), cv=cv, ensemble=True).fit(W.X, W.y)
    assert len(average.estimators_) == len(cv)
    with pytest.raises(ValueError, match="X has 50 rows, but the origins were made for windows"):
        clone(model).fit(W.X[:50], W.y[:50])


def test_it_is_a_splitter_for_searches():
    W = make()
    cv = rolling_origins(W, first=FIRST, every=21)
    search = GridSearchCV(BayesianRidge(), {"alpha_1": [1e-6, 1.0]}, cv=cv).fit(W.X, W.y)
    assert search.n_splits_ == len(cv)
    for (train, test), (some, others) in zip(cv, copy.deepcopy(cv).split(W.X), strict=True):
        np.testing.assert_array_equal(train, some)
        np.testing.assert_array_equal(test, others)


def test_forecasts_do_not_look_ahead():
    date = "2015-10-10"
    frame = two_shops()
    past, future = make(frame), make(changed_from(frame, date))
    np.testing.assert_array_equal(past.dates, future.dates)
    assert (past.y != future.y).any()
    rows, F = rolling_forecasts(BayesianRidge(), past, rolling_origins(past, first=FIRST, every=7))
    same, G = rolling_forecasts(
        BayesianRidge(), future, rolling_origins(future, first=FIRST, every=7)
    )
    np.testing.assert_array_equal(rows, same)
    # The day itself is forecast from the days before it.
    known = past.dates[rows] <= np.datetime64(date)
    np.testing.assert_array_equal(F.loc[known], G.loc[known])
    np.testing.assert_array_equal(F.scale[known], G.scale[known])
    assert (F.loc[~known] != G.loc[~known]).all()
