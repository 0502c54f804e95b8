"""One model a level, as one regressor."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import trueline as tl
from trueline.estimators import CalibratedRegressor, PerLevel
from trueline.interop import read_forecast

LEVELS = [0.1, 0.5, 0.9]
BASES = {
    "alpha": GradientBoostingRegressor(loss="quantile", n_estimators=5, random_state=0),
    "quantile": HistGradientBoostingRegressor(loss="quantile", max_iter=5, random_state=0),
}


@pytest.mark.parametrize("parameter", BASES)
@pytest.mark.parametrize("jobs", [None, 2])
def test_it_is_the_models_one_by_one(parameter, jobs, rows):
    X, y = rows
    base = BASES[parameter]
    model = PerLevel(base, levels=LEVELS, n_jobs=jobs).fit(X, y)
    alone = [clone(base).set_params(**{parameter: q}).fit(X, y).predict(X) for q in LEVELS]
    F = read_forecast(model, X)
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_array_equal(F.levels, LEVELS)
    np.testing.assert_array_equal(F.values, np.sort(np.stack(alone, axis=1), axis=1))
    np.testing.assert_allclose(model.predict(X), F.ppf(0.5))
    named = PerLevel(base, levels=LEVELS, parameter=parameter).fit(X, y)
    np.testing.assert_array_equal(named.predict(X), model.predict(X))


def test_the_parameter_of_the_last_step_of_a_pipeline(rows):
    X, y = rows
    pipeline = make_pipeline(StandardScaler(), QuantileRegressor(alpha=0.0))
    F = PerLevel(pipeline, levels=[0.2, 0.8]).fit(X, y).predict_dist(X)
    scaled = StandardScaler().fit_transform(X)
    alone = [
        QuantileRegressor(quantile=q, alpha=0.0).fit(scaled, y).predict(scaled) for q in (0.2, 0.8)
    ]
    np.testing.assert_allclose(F.values, np.sort(np.stack(alone, axis=1), axis=1), atol=1e-6)


def test_a_dict_of_models(rows):
    X, y = rows
    models = {
        0.9: GradientBoostingRegressor(loss="quantile", alpha=0.9, n_estimators=9, random_state=0),
        0.1: HistGradientBoostingRegressor(loss="quantile", quantile=0.1, max_iter=3),
    }
    model = PerLevel(models).fit(X, y)
    np.testing.assert_array_equal(model.levels_, [0.1, 0.9])
    assert [type(one) for one in model.estimators_] == [type(models[0.1]), type(models[0.9])]
    assert not hasattr(models[0.9], "estimators_"), "the user's own were fitted"
    calibrated = CalibratedRegressor(model, cv=2, random_state=0).fit(X, y)
    assert calibrated.scale_.kind == "own"


def test_models_that_are_trained_already_stay_as_they_are(rows):
    X, y = rows
    models = {q: clone(BASES["alpha"]).set_params(alpha=q).fit(X, y) for q in (0.9, 0.1)}
    model = PerLevel.from_fitted(models)
    assert model.estimators_ == [models[0.1], models[0.9]]
    assert model.n_features_in_ == 3
    calibrated = CalibratedRegressor(FrozenEstimator(model), scale_estimator=None).fit(X, y)
    assert calibrated.estimator_.estimator is model
    with pytest.raises(NotFittedError):
        PerLevel.from_fitted({0.1: BASES["alpha"], 0.9: BASES["alpha"]})


def test_what_is_no_dict_of_trained_models_is_told(rows):
    X, y = rows
    low, high = (clone(BASES["alpha"]).set_params(alpha=q).fit(X, y) for q in (0.1, 0.9))
    with pytest.raises(TypeError) as caught:
        PerLevel.from_fitted([low, high])
    assert str(caught.value) == (
        "models is a list; expected a dict {level: fitted regressor}, such as "
        "PerLevel.from_fitted({0.05: low, 0.5: middle, 0.95: high})."
    )
    expected = (
        "; expected a fitted regressor, an object with fit and predict, such as "
        "LGBMRegressor(...).fit(X, y) rather than the booster inside it."
    )
    booster = type("Booster", (), {"__module__": "lightgbm.basic", "predict": low.predict})()
    for other, what in (
        (booster, "a Booster of lightgbm"),
        (GradientBoostingRegressor, "the class GradientBoostingRegressor"),
        (None, "a NoneType of builtins"),
    ):
        with pytest.raises(TypeError) as caught:
            PerLevel.from_fitted({0.1: low, 0.9: other})
        assert str(caught.value) == f"the model of level 0.9 is {what}{expected}"


def test_weights_reach_every_model(rows):
    X, y = rows
    w = np.where(y > np.median(y), 0.0, 1.0)
    kept = w > 0
    model = PerLevel(BASES["alpha"], levels=LEVELS)
    weighted = clone(model).fit(X, y, sample_weight=w).predict_dist(X).ppf(0.9)
    alone = clone(BASES["alpha"]).fit(X, y, sample_weight=w).predict(X)
    assert weighted.max() < y[~kept].max()
    np.testing.assert_array_equal(weighted >= alone, True)


def test_wrong_levels_and_losses_are_told(rows):
    X, y = rows
    base = BASES["alpha"]
    with pytest.raises(ValueError, match=r"^levels holds 1 level; expected at least 2"):
        PerLevel(base, levels=[0.5]).fit(X, y)
    with pytest.raises(ValueError, match="levels"):
        PerLevel(base, levels=[10, 50, 90]).fit(X, y)
    with pytest.raises(ValueError, match=r"but estimator is a dict, whose keys are the levels"):
        PerLevel({0.1: base, 0.9: base}, levels=[0.1, 0.9]).fit(X, y)
    with pytest.raises(ValueError, match=r"of level 0\.1 was trained for the 0\.9 quantile"):
        PerLevel({0.1: base, 0.9: base}).fit(X, y)
    with pytest.raises(ValueError, match=r"of level 0\.1 was trained for another loss"):
        PerLevel(GradientBoostingRegressor(n_estimators=2), levels=LEVELS).fit(X, y)
    with pytest.raises(ValueError, match=r'parameter for the level is not known.*"alpha"'):
        PerLevel(SVR()).fit(X, y)
    with pytest.raises(NotFittedError):
        PerLevel(base).predict(X)


def test_a_model_that_is_not_known_is_trusted(rows):
    X, y = rows
    dummy = DummyRegressor(strategy="quantile")
    F = PerLevel(dummy, levels=LEVELS).fit(X, y).predict_dist(X)
    np.testing.assert_allclose(F.values[0], np.quantile(y, LEVELS))


def test_seeds_and_tags_reach_the_models(rows):
    X, y = rows
    free = GradientBoostingRegressor(loss="quantile", n_estimators=5, subsample=0.5)
    params = {"cv": 2, "scale_estimator": None, "random_state": 3}
    first, second = (
        CalibratedRegressor(PerLevel(free, levels=LEVELS), **params).fit(X, y).predict(X)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    assert PerLevel(BASES["quantile"]).__sklearn_tags__().input_tags.allow_nan
    assert not PerLevel({0.1: free}).__sklearn_tags__().input_tags.allow_nan
    assert PerLevel({}).__sklearn_tags__().estimator_type == "regressor"


@parametrize_with_checks([PerLevel(QuantileRegressor(alpha=0.0), levels=[0.2, 0.8])])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_a_mean_is_no_quantile(rows):
    X, y = rows
    with pytest.raises(ValueError, match="whose parameter for the level is not known"):
        CalibratedRegressor(PerLevel(LinearRegression()), cv=2).fit(X, y)
