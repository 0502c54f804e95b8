"""quantile-forest."""

import numpy as np
import pytest
from held_out import check_coverage, check_exact_law, check_manners, pandas_frame, rows

import trueline as tl
from trueline.interop import read_forecast
from trueline.interop._reading import LEVELS

quantile_forest = pytest.importorskip("quantile_forest")

KINDS = ["RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor"]


def model(kind=KINDS[0], **params):
    settings = {"n_estimators": 20, "min_samples_leaf": 5, "random_state": 0, **params}
    return getattr(quantile_forest, kind)(**settings)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("default", [0.5, None, "mean"])
def test_its_quantiles_are_the_forecast_whatever_it_predicts(kind, default):
    X, y = rows(200)
    trained = model(kind, default_quantiles=default).fit(X, y)
    F = read_forecast(trained, X)
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_allclose(F.ppf(LEVELS), trained.predict(X, quantiles=list(LEVELS)))
    # Between the levels it interpolates in its own way, and we in ours; it is close all the same.
    between = trained.predict(X, quantiles=[0.33])
    spread = np.ptp(F.ppf([0.25, 0.75]), axis=1)
    assert np.mean(np.abs(F.ppf(0.33) - np.ravel(between)) / spread) < 0.05


def test_levels_that_the_user_chose():
    X, y = rows(200)
    trained = model(default_quantiles=[0.9, 0.1, 0.5]).fit(X, y)
    F = read_forecast(trained, X)
    np.testing.assert_array_equal(F.levels, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(F.values, trained.predict(X)[:, [1, 2, 0]])


def test_two_outcomes_are_refused():
    X, y = rows(100)
    trained = model().fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match=r"gave quantiles of shape \(100, .*several outcomes"):
        read_forecast(trained, X)


def test_fresh_rows():
    check_exact_law(model().fit(*rows(300, 100)))
    calibrated = check_coverage(model())
    assert calibrated.scale_.kind == "own"


def test_manners():
    check_manners(model(), "min_samples_leaf", 15, pandas_frame)
