"""CatBoost's mean and variance, and its quantiles."""

import numpy as np
import pytest
from held_out import check_coverage, check_exact_law, check_manners, pandas_frame, rows

import trueline as tl
from trueline.estimators import PerLevel
from trueline.interop import read_forecast

catboost = pytest.importorskip("catboost")

QUANTILES = "MultiQuantile:alpha=0.05,0.5,0.95"


def model(loss, kind=None, **params):
    settings = {
        "loss_function": loss,
        "iterations": 30,
        "depth": 3,
        "learning_rate": 0.2,
        "thread_count": 1,
        "verbose": False,
        "allow_writing_files": False,
        **params,
    }
    return catboost.CatBoost(settings) if kind else catboost.CatBoostRegressor(**settings)


def test_the_second_column_is_a_variance():
    X, y = rows(400)
    trained = model("RMSEWithUncertainty").fit(X, y)
    F = read_forecast(trained, X)
    mean, variance = trained.predict(X).T
    assert isinstance(F, tl.Normal)
    np.testing.assert_array_equal(F.loc, mean)
    np.testing.assert_allclose(F.var(), variance, rtol=1e-12)
    # Errors are of the size of the scale; with variances for scales they are a sixth of it.
    fresh, outcome = rows(400, 1)
    G = read_forecast(trained, fresh)
    assert 0.7 < np.sqrt(np.mean(G.score(outcome) ** 2)) < 1.5
    assert np.sqrt(np.mean((outcome - G.loc) ** 2 / G.var() ** 2)) < 0.35


def test_a_model_from_a_file_gives_the_log_of_the_std_by_default(tmp_path):
    X, y = rows(200)
    trained = model("RMSEWithUncertainty").fit(X, y)
    trained.save_model(tmp_path / "model.cbm")
    loaded = catboost.CatBoostRegressor().load_model(tmp_path / "model.cbm")
    bare = model("RMSEWithUncertainty", kind="bare").fit(X, y)
    # The trap that is there: the second column of both, exponentiated, is the std.
    for other in (loaded, bare):
        F = read_forecast(other, X)
        np.testing.assert_allclose(F.scale, read_forecast(trained, X).scale, rtol=1e-9)
        raw = other.predict(X, prediction_type="RawFormulaVal")[:, 1]
        np.testing.assert_allclose(F.scale, np.exp(raw), rtol=1e-6)


def test_its_quantiles_are_the_forecast():
    X, y = rows(200)
    trained = model(QUANTILES).fit(X, y)
    F = read_forecast(trained, X)
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_array_equal(F.levels, [0.05, 0.5, 0.95])
    np.testing.assert_array_equal(F.values, np.sort(trained.predict(X), axis=1))
    np.testing.assert_allclose(F.cdf(F.values[:, 2]), 0.95, rtol=1e-9)


def test_levels_in_any_order():
    X, y = rows(200)
    trained = model("MultiQuantile:alpha=0.9,0.1").fit(X, y)
    F = read_forecast(trained, X)
    np.testing.assert_array_equal(F.levels, [0.1, 0.9])
    np.testing.assert_array_equal(F.values, np.sort(trained.predict(X), axis=1))
    assert (trained.predict(X)[:, 0] > trained.predict(X)[:, 1]).mean() > 0.9


@pytest.mark.parametrize("loss", ["Quantile:alpha=0.9", "Quantile:delta=1e-6;alpha=0.9"])
def test_one_level_is_refused(loss):
    X, y = rows(100)
    with pytest.raises(ValueError, match=r"trained for one quantile, the 0\.9; .*PerLevel\(Cat"):
        read_forecast(model(loss).fit(X, y), X)


@pytest.mark.parametrize("loss", ["RMSE", "MAE", "Quantile", "Quantile:alpha=0.5", "Huber:delta=2"])
def test_plain_models_are_points(loss):
    X, y = rows(100)
    trained = model(loss).fit(X, y)
    F = read_forecast(trained, X)
    assert isinstance(F, tl.Point)
    np.testing.assert_array_equal(F.loc, trained.predict(X))


@pytest.mark.parametrize("kind", [None, "bare"])
@pytest.mark.parametrize("loss", ["LogLinQuantile:alpha=0.5", "Poisson"])
def test_what_is_trained_on_the_log_scale_comes_in_the_unit_of_y(loss, kind):
    X, y = rows(300)
    y = np.maximum(y, 1.0)
    trained = model(loss, kind).fit(X, y)
    F = read_forecast(trained, X)
    assert isinstance(F, tl.Point)
    raw = trained.predict(X, prediction_type="RawFormulaVal")
    np.testing.assert_allclose(F.loc, np.exp(raw), rtol=1e-9)


def test_one_model_a_level():
    X, y = rows(200)
    F = read_forecast(PerLevel(model("Quantile"), levels=[0.1, 0.9]).fit(X, y), X)
    alone = [model(f"Quantile:alpha={q}").fit(X, y).predict(X) for q in (0.1, 0.9)]
    np.testing.assert_array_equal(F.values, np.sort(np.stack(alone, axis=1), axis=1))


@pytest.mark.parametrize("loss", ["RMSEWithUncertainty", QUANTILES])
def test_fresh_rows(loss):
    check_exact_law(model(loss).fit(*rows(300, 100)))
    calibrated = check_coverage(model(loss))
    # Its own scale, one for all and a learned one are compared; quantiles stay as they are.
    assert bool(calibrated.scale_.crps) == (loss == "RMSEWithUncertainty")


@pytest.mark.parametrize("loss", ["RMSEWithUncertainty", QUANTILES])
def test_manners(loss):
    check_manners(model(loss), "depth", 1, pandas_frame)
