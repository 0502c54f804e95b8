"""XGBoost with ``quantile_alpha``."""

import numpy as np
import pytest
from held_out import check_coverage, check_exact_law, check_manners, pandas_frame, rows

import trueline as tl
from trueline.estimators import PerLevel
from trueline.interop import read_forecast

xgboost = pytest.importorskip("xgboost")


def model(levels=(0.05, 0.25, 0.5, 0.75, 0.95), **params):
    return xgboost.XGBRegressor(
        objective="reg:quantileerror",
        quantile_alpha=np.array(levels),
        n_estimators=20,
        max_depth=3,
        n_jobs=1,
        **params,
    )


def test_its_quantiles_are_the_forecast():
    X, y = rows(200)
    trained = model().fit(X, y)
    F = read_forecast(trained, X)
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_allclose(F.levels, [0.05, 0.25, 0.5, 0.75, 0.95], rtol=1e-7)
    # Single precision, sorted where they cross.
    np.testing.assert_array_equal(F.values, np.sort(trained.predict(X), axis=1).astype(float))
    np.testing.assert_allclose(F.cdf(F.values[:, 1]), 0.25, rtol=1e-6)


def test_levels_in_any_order():
    X, y = rows(200)
    F = read_forecast(model((0.9, 0.1, 0.5)).fit(X, y), X)
    G = read_forecast(model((0.1, 0.5, 0.9)).fit(X, y), X)
    np.testing.assert_allclose(F.levels, [0.1, 0.5, 0.9], rtol=1e-7)
    # Which level is trained first changes the trees a little, and the order of levels a lot.
    assert np.abs(F.values - G.values).max() < 0.2 * np.abs(G.values[:, 2] - G.values[:, 0]).mean()


def test_a_model_from_a_file_keeps_its_levels(tmp_path):
    X, y = rows(200)
    trained = model().fit(X, y)
    trained.save_model(tmp_path / "model.ubj")
    loaded = xgboost.XGBRegressor()
    loaded.load_model(tmp_path / "model.ubj")
    np.testing.assert_array_equal(read_forecast(loaded, X).values, read_forecast(trained, X).values)


def test_one_level_is_refused_and_the_median_is_a_point():
    X, y = rows(200)
    with pytest.raises(ValueError, match=r"trained for one quantile, the 0\.9; .*PerLevel\(XGB"):
        read_forecast(model([0.9]).fit(X, y), X)
    assert isinstance(read_forecast(model([0.5]).fit(X, y), X), tl.Point)


def test_a_plain_model_is_a_point():
    X, y = rows(200)
    trained = xgboost.XGBRegressor(n_estimators=5, n_jobs=1).fit(X, y)
    F = read_forecast(trained, X)
    assert isinstance(F, tl.Point)
    np.testing.assert_array_equal(F.loc, trained.predict(X).astype(float))


def test_one_model_a_level():
    X, y = rows(200)
    levels = [0.1, 0.5, 0.9]
    one = xgboost.XGBRegressor(objective="reg:quantileerror", n_estimators=10, n_jobs=1)
    F = read_forecast(PerLevel(one, levels=levels).fit(X, y), X)
    alone = [one.set_params(quantile_alpha=q).fit(X, y).predict(X) for q in levels]
    np.testing.assert_array_equal(F.values, np.sort(np.stack(alone, axis=1), axis=1))


def test_fresh_rows():
    check_exact_law(model().fit(*rows(300, 100)))
    calibrated = check_coverage(model())
    assert calibrated.scale_.kind == "own"


def test_manners():
    check_manners(model(), "max_depth", 1, pandas_frame)
