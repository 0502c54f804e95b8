"""sktime: forecasters learn from a series, regressors from rows of series."""

import numpy as np
import pandas as pd
import pytest
from held_out import SHARE
from scipy.stats import betabinom
from sklearn.frozen import FrozenEstimator

import trueline as tl
from trueline.interop import read_forecast

sktime = pytest.importorskip("sktime")
from sktime.forecasting.naive import NaiveForecaster  # noqa: E402
from sktime.regression.interval_based import TimeSeriesForestRegressor  # noqa: E402


def series(n=300, seed=0):
    rng = np.random.default_rng(seed)
    index = pd.period_range("2001-01", periods=n, freq="M")
    return pd.Series(100.0 + 8.0 * rng.normal(size=n), index=index)


def test_a_forecaster_is_refused_before_it_takes_x_for_the_series():
    X, y = np.zeros((50, 1)), np.arange(50.0)
    for estimator in (NaiveForecaster(), FrozenEstimator(NaiveForecaster().fit(series()))):
        with pytest.raises(TypeError, match=r"a forecaster: .*'y'.*as_distribution\(forecaster\."):
            tl.CalibratedRegressor(estimator).fit(X, y)


def test_what_the_message_says_works():
    y = series(800)
    past, known, new = y[:200], y[200:500], y[500:]
    forecaster = NaiveForecaster("mean").fit(past)

    def forecast(outcomes):
        ahead = y.index.get_indexer(outcomes.index) - len(past) + 1
        return tl.as_distribution(forecaster.predict_proba(fh=ahead))

    F = forecast(known)
    ahead = np.arange(1, len(known) + 1)
    quantiles = forecaster.predict_quantiles(fh=ahead, alpha=[0.1, 0.5, 0.9])
    np.testing.assert_allclose(F.ppf([0.1, 0.5, 0.9]), quantiles, rtol=1e-9)
    np.testing.assert_allclose(F.var(), np.ravel(forecaster.predict_var(fh=ahead)), rtol=1e-9)
    G = tl.Isotonic().fit(known, F).transform(forecast(new))
    n, m = len(known), len(new)
    for level in (0.1, 0.5, 0.9):
        count = int((new.to_numpy() <= G.ppf(level)).sum())
        k = int(np.floor(level * (n + 1)))
        assert betabinom.cdf(count, m, k, n + 1 - k) > SHARE
        assert betabinom.sf(count - 1, m, k + 1, n - k) > SHARE


def panel(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1, 20))
    return X, 10.0 * X[:, 0, :10].mean(axis=1) + 4.0 * rng.normal(size=n)


def test_a_regressor_of_rows_of_series_is_a_point():
    forest = TimeSeriesForestRegressor(n_estimators=5, random_state=0)
    X, y = panel(80, 0)
    trained = forest.clone().fit(X, y)
    F = read_forecast(trained, X)
    assert isinstance(F, tl.Point)
    np.testing.assert_array_equal(F.loc, trained.predict(X))
    n, m = 300, 600
    model = tl.CalibratedRegressor(FrozenEstimator(trained), scale_estimator=None)
    model.fit(*panel(n, 1))
    X, y = panel(m, 2)
    count = int((y <= model.predict_quantiles(X, 0.9)).sum())
    k = int(np.floor(0.9 * (n + 1)))
    assert betabinom.cdf(count, m, k, n + 1 - k) > SHARE
    assert betabinom.sf(count - 1, m, k + 1, n - k) > SHARE


def test_a_regressor_of_rows_of_series_is_cross_fitted():
    X, y = panel(90, 0)
    forest = TimeSeriesForestRegressor(n_estimators=5, random_state=0)
    model = tl.CalibratedRegressor(forest, cv=2, scale_estimator=None, random_state=0).fit(X, y)
    lower, upper = model.predict_interval(X[:10], 0.8)
    assert (lower < upper).all()
