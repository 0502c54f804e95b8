"""scikit-learn's own checks, and the places in it where an estimator has to fit."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_regressor
from sklearn.cluster import DBSCAN
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import trueline as tl
from trueline.estimators import CalibratedRegressor

BASES = [
    BayesianRidge(),
    LinearRegression(),
    RandomForestRegressor(n_estimators=10, max_depth=4, random_state=0),
    HistGradientBoostingRegressor(max_iter=30, min_samples_leaf=5, random_state=0),
    make_pipeline(StandardScaler(), BayesianRidge()),
]
MODELS = [CalibratedRegressor(base, random_state=0) for base in BASES]
MODELS += [
    CalibratedRegressor(LinearRegression(), random_state=0, scale_estimator=None, **setting)
    for setting in ({}, {"ensemble": True, "cv": 3}, {"cv": "train"})
]

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
SPARSE_WEIGHTS = "check_sample_weight_equivalence_on_sparse_data"
FAILS = {
    "LinearRegression": dict.fromkeys(
        (WEIGHTS, SPARSE_WEIGHTS), "in the guarantees of a map a weight is not a repetition"
    ),
    "BayesianRidge": {WEIGHTS: "in the guarantees of a map a weight is not a repetition"},
    "RandomForestRegressor": dict.fromkeys(
        (WEIGHTS, SPARSE_WEIGHTS), "the forest draws rows: a weight is not a repetition to it"
    ),
    "HistGradientBoostingRegressor": {
        WEIGHTS: "its bins and its least leaf count rows, whatever they weigh"
    },
    "Pipeline": {
        WEIGHTS: "a pipeline's fit takes no sample_weight unless metadata is routed",
        SPARSE_WEIGHTS: "scikit-learn 1.6 checks this for steps that take no sparse X, too",
    },
}


def expected_to_fail(model):
    return FAILS.get(type(model.estimator).__name__, {})


@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
@parametrize_with_checks(MODELS, expected_failed_checks=expected_to_fail)
def test_check_estimator(estimator, check):
    check(estimator)


def model(**params):
    return CalibratedRegressor(
        **{"estimator": BayesianRidge(), "scale_estimator": None, "random_state": 0, **params}
    )


def test_it_is_a_regressor_with_the_input_tags_of_its_base():
    assert is_regressor(model())
    forest = model(estimator=HistGradientBoostingRegressor()).__sklearn_tags__()
    assert forest.input_tags.allow_nan
    assert not forest.input_tags.sparse
    assert model(estimator=LinearRegression()).__sklearn_tags__().input_tags.sparse


def test_missing_values_reach_a_base_that_takes_them(rows):
    X, y = rows
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    base = HistGradientBoostingRegressor(max_iter=5)
    assert np.isfinite(model(estimator=base).fit(X, y).predict(X)).all()


def test_a_stack_that_hides_predict_until_it_is_fitted(rows):
    X, y = rows
    stack = StackingRegressor([("a", LinearRegression())])
    assert not hasattr(stack, "predict")
    pipeline = make_pipeline(StandardScaler(), stack)
    for base in (stack, pipeline, GridSearchCV(stack, {"passthrough": [False]}, cv=2)):
        assert np.isfinite(model(estimator=base, cv=2).fit(X, y).predict(X)).all()
    with pytest.raises(TypeError, match="expected a regressor with fit and predict"):
        model(estimator=make_pipeline(StandardScaler(), DBSCAN())).fit(X, y)


def test_equal_weights_are_as_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + np.exp(X[:, 2]) * rng.normal(size=200)
    plain = model(scale_estimator="auto").fit(X, y)
    assert plain.scale_.kind == "learned", "without a learned width the test says little"
    weighted = model(scale_estimator="auto").fit(X, y, sample_weight=np.ones(len(y)))
    np.testing.assert_allclose(weighted.predict(X), plain.predict(X), rtol=1e-9)
    np.testing.assert_allclose(
        weighted.predict_interval(X, 0.8), plain.predict_interval(X, 0.8), rtol=1e-9
    )


def test_parameters_reach_the_recalibrator():
    outer = model(method=tl.Grouped(tl.Isotonic()))
    assert outer.get_params()["method__recalibrator__finite_sample"] is True
    outer.set_params(method__recalibrator__finite_sample=False, estimator__alpha_1=1e-3)
    assert outer.method.recalibrator.finite_sample is False
    assert outer.estimator.alpha_1 == 1e-3
    copy = clone(outer)
    assert copy.method is not outer.method
    assert repr(copy.method) == repr(outer.method)


def test_fit_leaves_the_parameters_alone(rows):
    outer = model(method=tl.Isotonic())
    before = {name: repr(value) for name, value in outer.get_params().items()}
    outer.fit(*rows)
    assert {name: repr(value) for name, value in outer.get_params().items()} == before
    assert not hasattr(outer.method, "scores_")
    assert not hasattr(outer.estimator, "coef_")


def test_inside_a_pipeline_and_around_one(rows):
    X, y = rows
    inside = make_pipeline(StandardScaler(), model()).fit(X, y)
    around = model(estimator=make_pipeline(StandardScaler(), BayesianRidge())).fit(X, y)
    # The scaler has seen all rows, or those of a fold: nearly the same.
    np.testing.assert_allclose(inside.predict(X), around.predict(X), atol=0.05)
    assert around.recalibrator_.scores_.kind == "standardised"


def test_cross_val_predict(rows):
    X, y = rows
    assert cross_val_predict(model(), X, y, cv=3).shape == y.shape


def test_grid_search_over_the_method_its_parameters_and_the_base(rows):
    grid = [
        {"method": ["scaling", tl.Isotonic()]},
        {"method": [tl.Isotonic()], "method__finite_sample": [True, False]},
        {"estimator__lambda_1": [1e-6, 1e-3]},
    ]
    search = GridSearchCV(model(), grid, cv=2, scoring=tl.estimators.neg_crps, error_score="raise")
    search.fit(*rows)
    assert search.best_score_ > -1.0
    assert search.best_estimator_.predict_dist(rows[0]).crps(rows[1]).mean() < 1.0


def test_pickle(rows):
    X, y = rows
    for setting in ({}, {"ensemble": True}, {"method": "grouped"}):
        groups = np.arange(len(y)) % 2 if "method" in setting else None
        fitted = model(**setting).fit(X, y, groups=groups)
        copy = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(copy.predict(X, groups), fitted.predict(X, groups))


def test_diagram(rows):
    for method in ("isotonic", tl.Grouped(tl.Isotonic())):
        html = model(method=method)._repr_html_()
        assert "BayesianRidge" in html
        assert "CalibratedRegressor" in html
    assert "BayesianRidge" in model().fit(*rows)._repr_html_()
    assert "Grouped" in repr(model(method=tl.Grouped()))


# ---- metadata ------------------------------------------------------------------------------


class Recorder(LinearRegression):
    """Writes down what its fit was given."""

    def fit(self, X, y, sample_weight=None, extra=None):
        self.seen_ = (sample_weight, extra, len(y))
        return super().fit(X, y, sample_weight)


def test_weights_and_other_fit_parameters_reach_the_base_by_row(rows):
    X, y = rows
    weight = np.arange(1.0, 121.0)
    one = model(estimator=Recorder(), cv=2).fit(X, y, sample_weight=weight, extra=weight)
    sample_weight, extra, n = one.estimator_.seen_
    assert n == 120
    np.testing.assert_array_equal(sample_weight, weight)
    np.testing.assert_array_equal(extra, weight)
    two = model(estimator=Recorder(), cv=2, ensemble=True)
    two.fit(X, y, sample_weight=weight, extra=weight)
    for part in two.estimators_:
        sample_weight, extra, n = part.seen_
        assert len(sample_weight) == len(extra) == n == 60


def test_a_base_without_weights_is_fitted_without_them_and_says_so(rows):
    X, y = rows
    base = make_pipeline(StandardScaler(), LinearRegression())
    with pytest.warns(tl.CalibrationWarning) as caught:
        model(estimator=base).fit(X, y, sample_weight=np.ones(120))
    assert str(caught[0].message) == (
        "Pipeline.fit takes no sample_weight, so the weights are used for the map alone. To route "
        "them further, enable scikit-learn's metadata routing: "
        "sklearn.set_config(enable_metadata_routing=True)."
    )


def test_metadata_routing(rows):
    X, y = rows
    weight, groups = np.arange(1.0, 121.0), np.arange(120) % 6
    with sklearn.config_context(enable_metadata_routing=True):
        base = Recorder().set_fit_request(sample_weight=True, extra=False)
        outer = model(estimator=base, cv=GroupKFold(3))
        outer.fit(X, y, sample_weight=weight, groups=groups)
        np.testing.assert_array_equal(outer.estimator_.seen_[0], weight)
        assert outer.estimator_.seen_[1] is None
        # Not requested by the base: for the map alone.
        outer = model(estimator=Recorder().set_fit_request(sample_weight=False, extra=False))
        outer.fit(X, y, sample_weight=weight)
        assert outer.estimator_.seen_[0] is None
        assert outer.recalibrator_.scores_.total == pytest.approx(weight.sum())
        # Nested: a search hands on what is requested of it.
        inner = model(estimator=base, cv=2)
        inner.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(inner, {"method": ["scaling", "isotonic"]}, cv=2)
        search.fit(X, y, sample_weight=weight)
        assert search.best_estimator_.recalibrator_.scores_.total == pytest.approx(weight.sum())


def test_groups_reach_the_splitter(rows):
    X, y = rows
    groups = np.arange(120) % 4
    by_group = model(cv=GroupKFold(4)).fit(X, y, groups=groups)
    folds = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in (3, 2, 1, 0)]
    by_hand = model(cv=folds).fit(X, y)
    np.testing.assert_allclose(by_group.predict(X), by_hand.predict(X), rtol=1e-12)


def test_scorers_of_other_models(rows):
    X, y = rows
    for scorer in (
        tl.estimators.neg_crps,
        tl.estimators.neg_calibration_error,
        tl.estimators.neg_interval_score,
    ):
        for estimator in (model(), BayesianRidge(), make_pipeline(StandardScaler(), model())):
            scores = cross_val_score(estimator, X, y, scoring=scorer, cv=2)
            assert (scores < 0).all()
            assert np.isfinite(scores).all()


def test_scorers_are_the_metrics(rows):
    X, y = rows
    weight = np.arange(1.0, 121.0)
    fitted = model().fit(X, y)
    F = fitted.predict_dist(X)
    for name, metric in (
        ("neg_crps", tl.crps),
        ("neg_calibration_error", tl.calibration_error),
        ("neg_interval_score", tl.interval_score),
    ):
        scorer = getattr(tl.estimators, name)
        assert scorer(fitted, X, y) == -metric(y, F)
        assert scorer(fitted, X, y, sample_weight=weight) == -metric(y, F, sample_weight=weight)
    half = tl.estimators.neg_interval_score(fitted, X, y, coverage=0.5)
    assert half == -tl.interval_score(y, F, 0.5)


def test_score_is_r2_of_predict(rows):
    X, y = rows
    fitted = model().fit(X, y)
    assert fitted.score(X, y) == sklearn.metrics.r2_score(y, fitted.predict(X))


def test_scorers_take_groups(rows):
    X, y = rows
    groups = np.arange(120) % 2
    fitted = model(method="grouped").fit(X, y, groups=groups)
    dist = fitted.predict_dist(X, groups)
    assert tl.neg_crps(fitted, X, y, groups=groups) == -tl.crps(y, dist)
    error = tl.neg_calibration_error(fitted, X, y, groups=groups)
    assert error == -tl.calibration_error(y, dist)
    score = tl.neg_interval_score(fitted, X, y, groups=groups)
    assert score == -tl.interval_score(y, dist, 0.9)
