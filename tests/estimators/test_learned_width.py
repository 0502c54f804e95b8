"""The learned scale: when it is taken, what it is fitted on, and what it costs."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import TimeSeriesSplit

import trueline as tl
from trueline.estimators._learned_width import (
    _Forest,
    learn_width as learn_over_splits,
)
from trueline.estimators._paired import mean_and_noise
from trueline.estimators._splits import LearningSplits, learning_splits


def rows(n, seed=0, *, spread=0.0):
    """Features, outcomes and predictions; the error's log width has this slope in x."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    loc = X[:, 0]
    return X, loc + np.exp(spread * X[:, 1]) * rng.normal(size=n), loc


def learn_width(scale_estimator, X, y, dist, weight, seed):
    """The learned width, and the forecasts with widths from five folds of shuffled rows."""
    n = len(y)
    splits = learning_splits([], np.arange(n), n, X, y, None, seed)
    return learn_over_splits(scale_estimator, X, y, dist, weight, splits, seed)


def held_out_crps(X, y, fitted_on, new, scale, train):
    recalibrated = tl.Isotonic().fit(y[train], fitted_on).transform(scale.apply(X[~train], new))
    return tl.crps(y[~train], recalibrated)


@pytest.mark.parametrize("n", [60, 120, 300])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_on_homoscedastic_data_the_crps_does_not_rise_by_a_percent(n, seed):
    X, y, loc = rows(n + 2000, seed)
    train = np.arange(len(y)) < n
    scale, honest = learn_width("auto", X[train], y[train], tl.Point(loc[train]), None, seed)
    ours = held_out_crps(X, y, honest, tl.Point(loc[~train]), scale, train)
    constant = tl.Isotonic().fit(y[train], tl.Point(loc[train])).transform(tl.Point(loc[~train]))
    assert ours <= 1.01 * tl.crps(y[~train], constant)


def test_a_width_that_varies_is_learned_and_pays():
    X, y, loc = rows(2400, spread=1.0)
    train = np.arange(len(y)) < 400
    scale, honest = learn_width("auto", X[train], y[train], tl.Point(loc[train]), None, 0)
    assert scale.kind == "learned"
    assert scale.crps["learned"] < 0.97 * scale.crps["constant"]
    ours = held_out_crps(X, y, honest, tl.Point(loc[~train]), scale, train)
    constant = tl.Isotonic().fit(y[train], tl.Point(loc[train])).transform(tl.Point(loc[~train]))
    assert ours < 0.97 * tl.crps(y[~train], constant)
    # Over 2,000 rows the coverage has a standard error of 0.7 points, of the map 1.5 points.
    again = tl.Isotonic().fit(y[train], honest)
    covered = tl.coverage(y[~train], again.transform(scale.apply(X[~train], tl.Point(loc[~train]))))
    assert covered == pytest.approx(0.9, abs=0.05)


def test_an_own_scale_that_is_right_is_kept():
    X, y, loc = rows(400, spread=1.0)
    dist = tl.Normal(loc, np.exp(X[:, 1]))
    scale, honest = learn_width("auto", X, y, dist, None, 0)
    assert scale.kind == "own"
    assert honest is dist
    assert scale.apply(X[:5], dist[:5]).scale == pytest.approx(dist.scale[:5])


def test_an_own_scale_that_misleads_is_given_up():
    X, y, loc = rows(400)
    dist = tl.Laplace(loc, np.exp(2.0 * X[:, 1]))
    scale, honest = learn_width("auto", X, y, dist, None, 0)
    assert scale.kind == "constant"
    assert isinstance(honest, tl.Laplace)
    assert np.ptp(scale.apply(X[:9], dist[:9]).scale) == 0.0


def test_none_leaves_the_forecast_as_it_is():
    X, y, loc = rows(200, spread=1.0)
    dist = tl.Point(loc)
    scale, honest = learn_width(None, X, y, dist, None, 0)
    assert honest is dist
    assert scale.apply(X, dist) is dist


@pytest.mark.parametrize(
    "dist",
    [
        tl.Samples(np.random.default_rng(0).normal(size=(200, 9))),
        tl.Quantiles([0.1, 0.5, 0.9], np.tile([-1.0, 0.0, 1.0], (200, 1))),
        tl.Mixture([tl.Normal(np.zeros(200), 1.0), tl.Normal(np.ones(200), 1.0)]),
    ],
    ids=lambda d: type(d).__name__,
)
def test_forecasts_with_a_shape_of_their_own_stay_as_they_are(dist):
    X, y, _ = rows(200, spread=1.0)
    scale, honest = learn_width("auto", X, y, dist, None, 0)
    assert honest is dist
    assert scale.apply(X, dist) is dist


def test_the_family_is_kept():
    X, y, loc = rows(300, spread=1.0)
    dist = tl.StudentT(loc, 1.0, df=4.0)
    scale, honest = learn_width("auto", X, y, dist, None, 0)
    assert scale.kind == "learned"
    assert isinstance(honest, tl.StudentT)
    assert isinstance(scale.apply(X, dist), tl.StudentT)


def test_a_regressor_is_cross_fitted_and_not_changed():
    X, y, loc = rows(300, spread=1.0)
    forest = RandomForestRegressor(30, min_samples_leaf=1, random_state=0)
    scale, honest = learn_width(forest, X, y, tl.Point(loc), None, 0)
    assert not hasattr(forest, "estimators_")
    error = np.abs(y - loc)
    fitted = scale.apply(X, tl.Point(loc)).scale
    # On its own rows a deep forest follows the error; an honest width cannot.
    assert np.corrcoef(fitted, error)[0, 1] > np.corrcoef(honest.scale, error)[0, 1] + 0.2


def test_a_regressor_gets_the_weights_if_it_takes_them():
    seen = []

    class Spy(RegressorMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            seen.append(sample_weight)
            return self

        def predict(self, X):
            return np.ones(len(X))

    class Deaf(Spy):
        def fit(self, X, y):
            return self

    X, y, loc = rows(50)
    weight = np.arange(1.0, 51.0)
    learn_width(Spy(), X, y, tl.Point(loc), weight, 0)
    assert [len(w) for w in seen] == [50, 40, 40, 40, 40, 40]
    learn_width(Deaf(), X, y, tl.Point(loc), weight, 0)
    assert len(seen) == 6


def test_rows_without_weight_are_not_there():
    X, y, loc = rows(300, spread=1.0)
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    spoiled = np.where(weight > 0, y, 1e6)
    scale, _ = learn_width("auto", X, spoiled, tl.Point(loc), weight, 0)
    assert scale.kind == "learned"
    assert scale.apply(X, tl.Point(loc)).scale.max() < 100.0


def test_a_negative_prediction_of_an_error_is_no_scale():
    X, y, loc = rows(200, spread=1.0)
    scale, honest = learn_width(LinearRegression(), X, y, tl.Point(loc), None, 0)
    assert honest.scale.min() > 0
    assert scale.apply(100.0 * X, tl.Point(loc)).scale.min() > 0


def test_what_cannot_be_read_falls_back_to_what_the_forecast_says():
    rng = np.random.default_rng(0)
    loc = rng.uniform(0.0, 4.0, size=600)
    y = loc + loc * rng.normal(size=600)
    X = [[["high"] if high else []] for high in loc > 2]
    scale, _ = learn_width("auto", X, y, tl.Point(loc), None, 0)
    low, high = scale.apply(X[:2], tl.Point([0.5, 3.5])).scale
    assert high > 2.0 * low


def test_a_width_that_depends_on_a_category_is_learned():
    rng = np.random.default_rng(0)
    X = rng.choice(np.array([["north"], ["south"]], dtype=object), 600)
    y = rng.normal(size=600) * np.where(X[:, 0] == "south", 5.0, 1.0)
    scale, _ = learn_width("auto", X, y, tl.Point(np.zeros(600)), None, 0)
    south, north, new = scale.apply([["south"], ["north"], ["new"]], tl.Point(np.zeros(3))).scale
    # Mean absolute errors are 4.0 and 0.8, with standard errors of 5%.
    assert (south, north) == pytest.approx((4.0, 0.8), rel=0.2)
    assert north <= new <= south


def test_missing_values_are_values():
    X, y, loc = rows(300, spread=1.0)
    X[::7, 2] = np.nan
    scale, honest = learn_width("auto", X, y, tl.Point(loc), None, 0)
    assert scale.kind == "learned"
    assert np.isfinite(honest.scale).all()
    assert np.isfinite(scale.apply(X, tl.Point(loc)).scale).all()


def test_a_row_has_the_same_width_in_any_batch():
    X, y, loc = rows(300, spread=1.0)
    scale, _ = learn_width("auto", X, y, tl.Point(loc), None, 0)
    whole = scale.apply(X, tl.Point(loc)).scale
    order = np.random.default_rng(1).permutation(300)
    np.testing.assert_array_equal(scale.apply(X[order], tl.Point(loc[order])).scale, whole[order])
    for i in (0, 17, 299):
        np.testing.assert_array_equal(scale.apply(X[[i]], tl.Point(loc[[i]])).scale, whole[[i]])


@pytest.mark.parametrize("learner", [_Forest(np.random.default_rng(0)), LinearRegression()])
def test_the_width_of_a_row_is_learned_from_the_training_rows_of_its_split(learner):
    X, y, loc = rows(300, spread=1.0)
    splits = LearningSplits(list(TimeSeriesSplit(3).split(X[:225])), independent=False)
    F, every, rng = tl.Point(loc), np.arange(300), np.random.default_rng(0)
    widths = learn_over_splits(learner, X, y, F, None, splits, 0)[1].scale
    usual = np.abs(y - loc).mean()
    assert (widths[225:] == usual).all()  # rows that are in no test set
    for train, test in splits.splits:
        other = np.setdiff1d(every, train)
        moved = y.copy()
        moved[other] = loc[other] + (y - loc)[rng.permutation(other)]
        same = learn_over_splits(learner, X, moved, F, None, splits, 0)[1].scale
        np.testing.assert_allclose(same[test], widths[test], rtol=1e-9)
    few = LearningSplits([(np.arange(5), np.arange(5, 300))], independent=False)
    same = learn_over_splits(learner, X, y, F, None, few, 0)[1].scale
    np.testing.assert_array_equal(same, np.full(300, usual))


def test_differences_that_whole_splits_share_are_noise():
    # Within a split all rows differ alike, so that only the number of splits counts.
    d = np.repeat([1.0, -1.0, 0.5, 0.5], 100)
    mean, error = mean_and_noise(d, None, [100] * 4)
    assert mean == pytest.approx(0.25)
    assert error == pytest.approx(np.std([1.0, -1.0, 0.5, 0.5], ddof=1) / 2.0)
    assert mean_and_noise(d, None)[1] == pytest.approx(np.std(d) / 20.0)
    rng = np.random.default_rng(0)
    d = rng.normal(size=4000)
    # Over 40 splits of independent rows both errors are 1 / sqrt(4000), give or take 11%.
    assert mean_and_noise(d, None, [100] * 40)[1] == pytest.approx(4000**-0.5, rel=0.35)


def test_a_seed_makes_it_reproducible():
    X, y, loc = rows(300, spread=1.0)
    first, second = (learn_width("auto", X, y, tl.Point(loc), None, 3)[1].scale for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("scale_estimator", ["auto", LinearRegression()], ids=repr)
def test_a_model_that_is_never_wrong_has_nothing_to_learn_from(scale_estimator):
    X, _, loc = rows(200)
    dist = tl.Point(loc)
    assert learn_width(scale_estimator, X, loc, dist, None, 0)[1] is dist


@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("scale_estimator", ["auto", LinearRegression()], ids=repr)
def test_a_handful_of_rows(scale_estimator, n):
    X, y, loc = rows(n)
    scale, honest = learn_width(scale_estimator, X, y, tl.Point(loc), None, 0)
    assert len(honest) == n
    assert (scale.apply(X, tl.Point(loc)).scale > 0).all()


@pytest.mark.parametrize("wrong", ["automatic", 3, RandomForestRegressor.predict])
def test_what_is_no_regressor_is_refused(wrong):
    X, y, _ = rows(20)
    with pytest.raises(ValueError, match="expected 'auto', a regressor"):
        tl.CalibratedRegressor(LinearRegression(), scale_estimator=wrong).fit(X, y)
