"""LightGBM: one model a level."""

import numpy as np
import pytest
from held_out import check_coverage, check_exact_law, check_manners, pandas_frame, rows
from sklearn.frozen import FrozenEstimator

import trueline as tl
from trueline.estimators import PerLevel
from trueline.interop import read_forecast

lightgbm = pytest.importorskip("lightgbm")

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


def one(**params):
    return lightgbm.LGBMRegressor(
        n_estimators=20, num_leaves=7, n_jobs=1, random_state=0, verbose=-1, **params
    )


def test_its_quantiles_are_the_forecast():
    X, y = rows(200)
    F = read_forecast(PerLevel(one(objective="quantile"), levels=LEVELS).fit(X, y), X)
    alone = [one(objective="quantile", alpha=q).fit(X, y).predict(X) for q in LEVELS]
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_array_equal(F.levels, LEVELS)
    np.testing.assert_array_equal(F.values, np.sort(np.stack(alone, axis=1), axis=1))
    np.testing.assert_allclose(F.cdf(F.values[:, 1]), 0.25, rtol=1e-9)


def test_models_that_are_trained_already():
    X, y = rows(200)
    models = {q: one(objective="quantile", alpha=q).fit(X, y) for q in (0.9, 0.1, 0.5)}
    F = read_forecast(FrozenEstimator(PerLevel.from_fitted(models)), X)
    np.testing.assert_array_equal(F.levels, [0.1, 0.5, 0.9])
    assert (F.ppf(0.9) >= models[0.9].predict(X)).all()
    with pytest.raises(ValueError, match=r"of level 0\.2 was trained for the 0\.1 quantile"):
        PerLevel.from_fitted({0.2: models[0.1], 0.9: models[0.9]})


def test_a_loss_that_is_no_quantiles():
    with pytest.raises(ValueError, match=r"of level 0\.05 was trained for another loss"):
        PerLevel(one()).fit(*rows(100))


@pytest.mark.parametrize("params", [{}, {"alpha": 0.2}, {"alpha": 0.9}])
def test_one_level_is_refused(params):
    X, y = rows(100)
    trained = one(objective="quantile", **params).fit(X, y)
    level = params.get("alpha", 0.9)  # LightGBM's own default
    for model in (trained, trained.booster_):
        with pytest.raises(ValueError, match=f"trained for one quantile, the {level}; .*PerLevel"):
            read_forecast(model, X)
    with pytest.raises(ValueError, match="trained for one quantile"):
        tl.CalibratedRegressor(one(objective="quantile", **params), cv=2).fit(X, y)


def test_the_median_and_the_mean_are_points():
    X, y = rows(100)
    for params in ({"objective": "quantile", "alpha": 0.5}, {}, {"objective": "poisson"}):
        trained = one(**params).fit(X, np.maximum(y, 0.0))
        F = read_forecast(trained, X)
        assert isinstance(F, tl.Point)
        np.testing.assert_array_equal(F.loc, trained.predict(X))


def test_fresh_rows():
    model = PerLevel(one(objective="quantile"), levels=LEVELS)
    check_exact_law(model.fit(*rows(300, 100)))
    calibrated = check_coverage(model)
    assert calibrated.scale_.kind == "own"


def test_manners():
    model = PerLevel(one(objective="quantile"), levels=[0.1, 0.5, 0.9])
    check_manners(model, "estimator__num_leaves", 3, pandas_frame)
