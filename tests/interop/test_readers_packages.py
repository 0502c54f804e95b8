"""Models of other packages, told by the names of their modules: stand-ins for the real ones.

The packages themselves are tested in packages/, in environments of their own.
"""

import json
import sys

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, LinearRegression, QuantileRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trueline as tl
from trueline.estimators import CalibratedRegressor, PerLevel
from trueline.interop import read_forecast
from trueline.interop._reading import LEVELS, belongs_to

X = np.linspace(-1.0, 1.0, 30)[:, None]
MEAN, STD = 10.0 * X[:, 0], 6.0 + X[:, 0]


def of(module, **members):
    """Return an object whose class says that it is of a module."""
    return type("Model", (), {"__module__": module, **members})()


def test_a_package_is_told_by_its_name_and_not_by_how_its_name_begins():
    assert belongs_to(of("catboost.core"), "catboost")
    assert belongs_to(of("catboost"), "catboost")
    assert not belongs_to(of("catboostish.core"), "catboost")
    child = type("Child", (type(of("xgboost.sklearn")),), {"__module__": "mine"})
    assert belongs_to(child(), "xgboost")


def catboost(loss, predict):
    return of(
        "catboost.core",
        get_all_params=lambda self: {"loss_function": loss},
        predict=lambda self, X, prediction_type="RawFormulaVal": predict(prediction_type),
    )


def test_catboosts_second_column_is_a_variance():
    model = catboost(
        "RMSEWithUncertainty",
        lambda kind: np.stack(
            [MEAN, STD**2 if kind == "RMSEWithUncertainty" else np.log(STD)], axis=1
        ),
    )
    F = read_forecast(model, X)
    assert isinstance(F, tl.Normal)
    np.testing.assert_allclose(F.scale, STD)


def test_catboosts_quantiles_by_their_levels():
    values = MEAN[:, None] + STD[:, None] * norm.ppf([0.9, 0.1, 0.5])
    F = read_forecast(catboost("MultiQuantile:alpha=0.9,0.1,0.5", lambda kind: values), X)
    np.testing.assert_array_equal(F.levels, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(F.std(), STD)


def test_catboosts_log_scale_is_undone():
    model = catboost(
        "LogLinQuantile:alpha=0.5", lambda kind: MEAN if kind != "Exponent" else np.exp(MEAN)
    )
    np.testing.assert_allclose(read_forecast(model, X).loc, np.exp(MEAN))


def test_a_table_of_another_shape_than_the_levels():
    with pytest.raises(ValueError, match=r"gave quantiles of shape \(30,\); expected a column for"):
        read_forecast(catboost("MultiQuantile:alpha=0.1,0.9", lambda kind: MEAN), X)


def xgboost(objective, prediction):
    class Booster:
        def save_config(self):
            return json.dumps({"learner": {"objective": objective}})

    return of(
        "xgboost.sklearn",
        get_booster=lambda self: Booster(),
        predict=lambda self, X: prediction.astype(np.float32),
    )


def test_xgboosts_quantiles_where_they_cross_are_sorted_without_a_warning():
    values = MEAN[:, None] + STD[:, None] * norm.ppf([0.1, 0.5, 0.9])
    values[3] = values[3, ::-1]
    param = {"quantile_alpha": "[1E-1,5E-1,9E-1]"}
    objective = {"name": "reg:quantileerror", "quantile_loss_param": param}
    F = read_forecast(xgboost(objective, values), X)
    np.testing.assert_array_equal(F.levels, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(F.std(), STD, rtol=1e-6)


def test_xgboosts_other_losses_are_points():
    assert isinstance(read_forecast(xgboost({"name": "reg:squarederror"}, MEAN), X), tl.Point)


def lightgbm(**params):
    booster = type("Booster", (), {"params": params})
    return of("lightgbm.sklearn", booster_=booster, predict=lambda self, X: MEAN)


def test_lightgbms_one_level():
    for model in (lightgbm(objective="quantile"), lightgbm(objective="quantile", alpha=0.9)):
        with pytest.raises(ValueError, match=r"one quantile, the 0\.9; expected several levels"):
            read_forecast(model, X)
    for model in (lightgbm(objective="regression"), lightgbm(objective="quantile", alpha=0.5)):
        assert isinstance(read_forecast(model, X), tl.Point)


@pytest.mark.parametrize(
    "default, levels",
    [(0.5, LEVELS), ("mean", LEVELS), (None, LEVELS), ([0.9, 0.5, 0.1], [0.1, 0.5, 0.9])],
)
def test_quantile_forests(default, levels):
    def predict(self, X, quantiles=None):
        return MEAN[:, None] + STD[:, None] * norm.ppf(quantiles)

    model = of("quantile_forest._quantile_forest", default_quantiles=default, predict=predict)
    F = read_forecast(model, X)
    np.testing.assert_array_equal(F.levels, levels)
    np.testing.assert_allclose(F.std(), STD)


def test_tabpfn_gives_a_list_of_columns():
    def predict(self, X, *, output_type="mean", quantiles=None):
        assert output_type == "quantiles"
        return [(MEAN + STD * norm.ppf(q)).astype(np.float32) for q in quantiles]

    for module in ("tabpfn.regressor", "tabpfn_client.estimator"):
        F = read_forecast(of(module, predict=predict), X)
        np.testing.assert_array_equal(F.levels, LEVELS)
        np.testing.assert_allclose(F.std(), STD, rtol=1e-5)


def test_the_grid_of_levels():
    assert len(LEVELS) == 23
    assert list(LEVELS) == sorted({round(1 - level, 3) for level in LEVELS})


@pytest.mark.parametrize(
    "model, level",
    [
        (GradientBoostingRegressor(loss="quantile", n_estimators=3), "0.9"),
        (HistGradientBoostingRegressor(loss="quantile", quantile=0.2, max_iter=3), "0.2"),
        (QuantileRegressor(quantile=0.8), "0.8"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_one_quantile_of_scikit_learn_is_no_point_forecast(model, level, rows):
    X, y = rows
    message = f"{type(model).__name__} was trained for one quantile, the {level}; .*PerLevel"
    with pytest.raises(ValueError, match=message):
        CalibratedRegressor(model, cv=2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        tl.neg_crps(model.fit(X, y), X, y)
    level = "alpha" if isinstance(model, GradientBoostingRegressor) else "quantile"
    median = model.set_params(**{level: 0.5}).fit(X, y)
    assert isinstance(read_forecast(median, X), tl.Point)


HIGH = GradientBoostingRegressor(loss="quantile", alpha=0.9, n_estimators=3, random_state=0)
MEDIAN = clone(HIGH).set_params(alpha=0.5)


def wrappings(inner):
    """Return models whose prediction is an average of copies of another's, or is another's."""
    pipeline = make_pipeline(StandardScaler(), inner)
    return [
        BaggingRegressor(inner, n_estimators=2, random_state=0),
        BaggingRegressor(pipeline, n_estimators=2, random_state=0),
        AdaBoostRegressor(inner, n_estimators=2, random_state=0),
        VotingRegressor([("mean", LinearRegression()), ("other", pipeline)]),
        VotingRegressor([("bag", BaggingRegressor(inner, n_estimators=2, random_state=0))]),
        VotingRegressor([("search", GridSearchCV(inner, {"max_depth": [2]}, cv=2))]),
        VotingRegressor([("log", TransformedTargetRegressor(inner))]),
        StackingRegressor([("mean", LinearRegression())], inner, cv=2),
        make_pipeline(StandardScaler(), VotingRegressor([("one", inner)])),
    ]


@pytest.mark.parametrize("k", range(len(wrappings(HIGH))))
def test_an_average_of_one_quantile_is_no_point_forecast(k, rows):
    X, y = rows
    message = (
        r"^GradientBoostingRegressor, in the \w+, was trained for one quantile, the 0\.9; "
        r"expected several levels, .*PerLevel\(GradientBoostingRegressor"
    )
    with pytest.raises(ValueError, match=message):
        CalibratedRegressor(wrappings(HIGH)[k], cv=2).fit(X, y)
    fitted = wrappings(HIGH)[k].fit(X, y)
    with pytest.raises(ValueError, match=message):
        CalibratedRegressor(FrozenEstimator(fitted)).fit(X, y)
    assert len(read_forecast(wrappings(MEDIAN)[k].fit(X, y), X)) == len(y)


def test_a_stack_learns_what_to_make_of_quantiles(rows):
    X, y = rows
    stack = StackingRegressor([("high", HIGH)], LinearRegression(), cv=2).fit(X, y)
    assert isinstance(read_forecast(stack, X), tl.Point)


def test_catboosts_one_expectile():
    for loss in ("Expectile:alpha=0.5", "Expectile"):
        assert isinstance(read_forecast(catboost(loss, lambda kind: MEAN), X), tl.Point)
    with pytest.raises(ValueError, match=r"^Model was trained for one expectile, the 0\.9; expect"):
        read_forecast(catboost("Expectile:alpha=0.9", lambda kind: MEAN), X)


class Forecaster(BaseEstimator):
    """Learns from a series, as sktime's do."""

    def fit(self, y, X=None, fh=None):
        raise AssertionError("X was taken for the series")

    def predict(self, fh=None, X=None):
        raise AssertionError("X was taken for the horizon")


def test_a_forecaster_is_refused_before_it_is_fitted(rows):
    X, y = rows
    for estimator in (Forecaster(), FrozenEstimator(Forecaster())):
        with pytest.raises(TypeError, match=r"^estimator is Forecaster, a forecaster: .*Isotonic"):
            CalibratedRegressor(estimator).fit(X, y)


# ---- outcomes that were transformed ----------------------------------------------------


@pytest.fixture
def positive(rows):
    X, y = rows
    return X, np.exp(0.3 * y)


def logarithm(regressor):
    return TransformedTargetRegressor(regressor, func=np.log, inverse_func=np.exp)


@pytest.mark.parametrize(
    "regressor", [LinearRegression(), RandomForestRegressor(5, random_state=0)]
)
def test_points_and_the_doubt_of_trees_come_in_the_unit_of_y(regressor, positive):
    X, y = positive
    model = logarithm(regressor).fit(X, y)
    F = read_forecast(model, X)
    assert isinstance(F, tl.Point)
    np.testing.assert_array_equal(F.loc, model.predict(X))


def test_a_law_on_the_log_scale_comes_in_the_unit_of_y(positive):
    X, y = positive
    F = read_forecast(logarithm(BayesianRidge()).fit(X, y), X)
    mean, std = BayesianRidge().fit(X, np.log(y)).predict(X, return_std=True)
    expected = np.exp(mean[:, None] + std[:, None] * norm.ppf(LEVELS))
    np.testing.assert_allclose(F.ppf(LEVELS), expected, rtol=1e-9)
    np.testing.assert_allclose(F.cdf(np.exp(mean)), 0.5)


def test_quantiles_on_the_log_scale_come_in_the_unit_of_y(positive):
    X, y = positive
    per_level = PerLevel(QuantileRegressor(alpha=0.0), levels=[0.1, 0.5, 0.9])
    F = read_forecast(logarithm(per_level).fit(X, y), X)
    G = per_level.fit(X, np.log(y)).predict_dist(X)
    np.testing.assert_array_equal(F.levels, G.levels)
    np.testing.assert_allclose(F.values, np.exp(G.values))


def test_a_transformation_that_falls_turns_the_levels_round(positive):
    X, y = positive
    negative = {"func": np.negative, "inverse_func": np.negative}
    F = read_forecast(TransformedTargetRegressor(BayesianRidge(), **negative).fit(X, y), X)
    G = read_forecast(BayesianRidge().fit(X, y), X)
    np.testing.assert_allclose(F.ppf([0.1, 0.4, 0.9]), G.ppf([0.1, 0.4, 0.9]), rtol=1e-9)


def test_a_transformed_target_is_calibrated(positive):
    X, y = positive
    model = CalibratedRegressor(logarithm(BayesianRidge()), cv=3, random_state=0).fit(X, y)
    assert model.predict_quantiles(X, 0.01).min() > 0.0
    assert model.scale_.kind == "own"


# ---- nothing is imported ----------------------------------------------------------------


class Plain(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, 0]


def test_no_package_is_imported_to_know_its_models():
    packages = ("xgboost", "lightgbm", "catboost", "quantile_forest", "tabpfn", "sktime")
    before = {name for name in packages if name in sys.modules}
    assert isinstance(read_forecast(Plain(), X), tl.Point)
    assert {name for name in packages if name in sys.modules} == before
