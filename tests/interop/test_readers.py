"""What a model offers is found without configuration."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import ARDRegression, BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trueline as tl
from trueline.distributions import stack
from trueline.estimators import CalibratedRegressor
from trueline.interop import ForecastReader, read_forecast, register_reader, unregister_reader
from trueline.interop._sklearn import read_out_of_bag


@pytest.mark.parametrize(
    "model", [BayesianRidge(), ARDRegression(), GaussianProcessRegressor(alpha=0.1)]
)
def test_a_standard_deviation(model, rows):
    X, y = rows
    mean, std = model.fit(X, y).predict(X, return_std=True)
    F = read_forecast(model, X)
    assert isinstance(F, tl.Normal)
    np.testing.assert_array_equal(F.loc, mean)
    np.testing.assert_array_equal(F.scale, std)


@pytest.mark.parametrize("jobs", [None, 2])
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_the_spread_of_trees(kind, jobs, rows):
    X, y = rows
    model = kind(20, min_samples_leaf=3, random_state=0, n_jobs=jobs).fit(X, y)
    F = read_forecast(model, X)
    trees = np.stack([tree.predict(X.astype(np.float32)) for tree in model.estimators_])
    np.testing.assert_allclose(F.loc, model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(F.scale, trees.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(read_forecast(model, sparse.coo_array(X)).scale, F.scale)


def test_the_spread_of_a_bag_of_features(rows):
    X, y = rows
    model = BaggingRegressor(LinearRegression(), max_features=2, random_state=0).fit(X, y)
    F = read_forecast(model, X)
    members = [
        member.predict(X[:, columns])
        for member, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    np.testing.assert_allclose(F.loc, model.predict(X), rtol=1e-12)
    np.testing.assert_allclose(F.scale, np.std(members, axis=0), rtol=1e-9)


def test_anything_else_is_a_point(rows):
    X, y = rows
    for model in (LinearRegression(), GradientBoostingRegressor(), RandomForestRegressor(1)):
        F = read_forecast(model.fit(X, y), X)
        assert isinstance(F, tl.Point)
        np.testing.assert_array_equal(F.loc, model.predict(X))


def test_a_column_is_one_number_a_row(rows):
    X, y = rows
    model = LinearRegression().fit(X, y[:, None])
    np.testing.assert_array_equal(read_forecast(model, X).loc, model.predict(X)[:, 0])


def test_what_wraps_a_model_is_looked_through(rows):
    X, y = rows
    forest = RandomForestRegressor(5, random_state=0)
    bare = read_forecast(forest.fit(X, y), X)
    search = GridSearchCV(RandomForestRegressor(5, random_state=0), {"max_depth": [None]}, cv=2)
    for model in (
        FrozenEstimator(forest),
        make_pipeline(forest),
        search.fit(X, y),
        make_pipeline(FrozenEstimator(forest)),
    ):
        np.testing.assert_allclose(read_forecast(model, X).scale, bare.scale)
    scaled = make_pipeline(StandardScaler(), BayesianRidge()).fit(X, y)
    expected = scaled[-1].predict(scaled[0].transform(X), return_std=True)[1]
    np.testing.assert_allclose(read_forecast(scaled, X).scale, expected)


def test_a_model_with_forecasts_of_its_own(rows):
    X, y = rows
    inner = CalibratedRegressor(LinearRegression(), scale_estimator=None, random_state=0)
    F = read_forecast(inner.fit(X, y), X)
    np.testing.assert_array_equal(F.ppf(0.9), inner.predict_dist(X).ppf(0.9))
    outer = CalibratedRegressor(inner, scale_estimator=None, random_state=0).fit(X, y)
    assert outer.recalibrator_.scores_.kind == "residual"


class Frank(LinearRegression):
    """Says what it thinks, in a way of its own."""


@pytest.fixture
def reader():
    @register_reader
    def read(model, X):
        return tl.Laplace(model.predict(X), 2.0) if isinstance(model, Frank) else None

    yield read
    unregister_reader(read)


def test_a_reader_that_is_not_registered():
    with pytest.raises(ValueError, match=r"^3 is not registered; expected a reader that"):
        unregister_reader(3)


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_registered_reader_is_asked_first_in_every_process(jobs, rows, reader):
    X, y = rows
    params = {"cv": 2, "n_jobs": jobs, "scale_estimator": None, "random_state": 0}
    model = CalibratedRegressor(make_pipeline(StandardScaler(), Frank()), **params).fit(X, y)
    assert model.recalibrator_.scores_.kind == "standardised"


def test_a_callable_sees_the_trained_model_and_may_give_what_converts(rows):
    X, y = rows
    seen = []

    def dist(estimator, X):
        seen.append(type(estimator))
        return estimator.predict(X), np.full(len(X), 2.0)

    frozen = FrozenEstimator(LinearRegression().fit(X, y))
    for base in (LinearRegression(), frozen):
        model = CalibratedRegressor(base, dist=dist, scale_estimator=None).fit(X, y)
        assert model.recalibrator_.scores_.kind == "standardised"
    assert set(seen) == {LinearRegression}


class Mute:
    """A trained model that is not of scikit-learn, and has no predict."""

    def forward(self, X):
        return X[:, 0]


def test_a_model_of_another_library(rows):
    X, y = rows
    model = CalibratedRegressor(
        FrozenEstimator(Mute()), dist=lambda m, X: tl.Point(m.forward(X)), scale_estimator=None
    )
    lower, upper = model.fit(X, y).predict_interval(X, 0.8)
    assert ((lower <= y) & (y <= upper)).mean() >= 0.8
    assert "CalibratedRegressor" in repr(model)


def test_trees_that_agree_do_not_move_every_mean():
    """A score of a billion in one row would drag the mean of all forecasts along."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 1)).astype(float)
    # Where x is 0, y is 0 but for two rows, and the trees agree on it wherever they miss those.
    y = np.where(X[:, 0] == 1, rng.normal(3.0, 1.0, 300), 0.0)
    y[np.flatnonzero(X[:, 0] == 0)[:2]] = 1.0
    forest = RandomForestRegressor(10, random_state=0)
    model = CalibratedRegressor(forest, scale_estimator=None, random_state=0)
    assert read_forecast(forest.fit(X, y), X).scale.min() < 0.01
    means = [y[X[:, 0] == x].mean() for x in (0, 1)]
    np.testing.assert_allclose(model.fit(X, y).predict([[0.0], [1.0]]), means, atol=0.3)


@pytest.mark.parametrize(
    "dist",
    [
        tl.Normal(np.arange(6.0), np.arange(1.0, 7.0)),
        tl.Laplace(np.arange(6.0), np.arange(1.0, 7.0)),
        tl.Logistic(np.arange(6.0), np.arange(1.0, 7.0)),
        tl.StudentT(np.arange(6.0), np.arange(1.0, 7.0), np.arange(3.0, 9.0)),
        tl.Point(np.arange(6.0)),
        tl.Samples(np.arange(18.0).reshape(6, 3)),
        tl.Quantiles([0.1, 0.5, 0.9], np.arange(18.0).reshape(6, 3)),
        tl.Mixture([tl.Normal(np.arange(6.0), 1.0), tl.Normal(np.zeros(6), 2.0)]),
    ],
    ids=lambda dist: type(dist).__name__,
)
def test_stacked_folds_are_the_rows_in_order(dist):
    places = [np.array([4, 0]), np.array([5, 1, 2]), np.array([3])]
    whole = stack([dist[place] for place in places], places)
    assert len(whole) == 6
    np.testing.assert_allclose(whole.ppf([0.2, 0.7]), dist.ppf([0.2, 0.7]))
    kept = not isinstance(dist, tl.Quantiles | tl.Mixture)
    assert (type(whole) is type(dist)) == kept


class Asked:
    """Counts the calls of a reader that reads no model."""

    def __init__(self):
        self.calls = 0

    def __call__(self, model, X):
        self.calls += 1


@pytest.fixture
def asked():
    counter = register_reader(Asked())
    yield counter
    unregister_reader(counter)


@pytest.mark.parametrize("ensemble", [False, True])
def test_the_reader_is_found_once_per_fit(ensemble, asked, rows):
    X, y = rows
    model = CalibratedRegressor(BayesianRidge(), ensemble=ensemble, random_state=0).fit(X, y)
    assert asked.calls == 1
    model.predict(X)
    model.predict_interval(X)
    assert asked.calls == 1
    copy = pickle.loads(pickle.dumps(model))
    for _ in range(2):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        assert asked.calls == 2


def test_the_reader_of_a_transformed_target_is_found_once(asked, rows):
    X, y = rows
    model = TransformedTargetRegressor(BayesianRidge(), func=np.arcsinh, inverse_func=np.sinh)
    CalibratedRegressor(model, random_state=0).fit(X, y).predict(X)
    assert asked.calls == 2  # for the model and for the regressor inside


def test_a_fold_of_another_kind_gets_a_reader_of_its_own(rows):
    X, y = rows
    read = ForecastReader()
    forest = RandomForestRegressor(3, random_state=0)
    models = [LinearRegression(), BayesianRidge(), Frank(), forest]
    for model in [*models, *models[::-1]]:
        found, alone = read(model.fit(X, y), X), read_forecast(model, X)
        assert type(found) is type(alone)
        np.testing.assert_array_equal(found.loc, alone.loc)


def test_the_choice_of_a_search_is_read_anew(asked, rows):
    X, y = rows
    read = ForecastReader()
    for level, kind in ((0.5, tl.Point), (None, tl.Point)):
        grid = {"loss": ["quantile"], "alpha": [level]} if level else {"loss": ["huber"]}
        search = GridSearchCV(GradientBoostingRegressor(n_estimators=2), grid, cv=2).fit(X, y)
        assert isinstance(read(search, X), kind)
    assert asked.calls == 2


def test_a_registered_reader_need_not_be_picklable(rows):
    X, y = rows
    reader = register_reader(lambda m, X: tl.Normal(m.predict(X), 1.0))
    try:
        model = CalibratedRegressor(LinearRegression(), random_state=0).fit(X, y)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    finally:
        unregister_reader(reader)


def test_out_of_bag_forecasts_are_those_of_the_trees_that_did_not_see_a_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200)
    forest = RandomForestRegressor(60, oob_score=True, random_state=0).fit(X, y)
    found = read_out_of_bag(forest, X)
    np.testing.assert_array_equal(found.rows, np.arange(200))
    np.testing.assert_allclose(found.forecast.mean(), forest.oob_prediction_, rtol=1e-12)
    row = 17
    unseen = [row not in seen for seen in forest.estimators_samples_]
    trees = [forest.estimators_[t].predict(X[[row]])[0] for t in np.flatnonzero(unseen)]
    np.testing.assert_allclose(found.forecast.var()[row], np.var(trees, ddof=1) * 59 / 60)
    noise = np.var(trees, ddof=1) * (1 / len(trees) - 1 / 60)
    np.testing.assert_allclose(found.more_noise[row], noise)
    # Some rows are in the sample of nearly every one of few trees.
    assert read_out_of_bag(RandomForestRegressor(8, random_state=0).fit(X, y), X) is None


def test_the_few_rows_that_nearly_all_trees_saw_have_no_out_of_bag_forecast():
    X = np.random.default_rng(0).normal(size=(3000, 1))
    forest = RandomForestRegressor(35, max_depth=1, random_state=0).fit(X, X[:, 0])
    seen = sum(np.isin(np.arange(3000), rows) for rows in forest.estimators_samples_)
    found = read_out_of_bag(forest, X)
    np.testing.assert_array_equal(found.rows, np.flatnonzero(35 - seen >= 5))
    assert 2970 < len(found.rows) == len(found.forecast) < 3000
