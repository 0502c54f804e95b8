"""Data frames in, data frames out."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression

import trueline as tl
from trueline.estimators import CalibratedRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

LEVELS = [0.1, 0.5, 0.9]
BASES = [LinearRegression(), BayesianRidge(), RandomForestRegressor(5, random_state=0)]


def refused(error, call):
    """Return the message of the error that a call raises."""
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def model(estimator=None, **params):
    base = LinearRegression() if estimator is None else estimator
    return CalibratedRegressor(base, **{"scale_estimator": None, "random_state": 0, **params})


@pytest.fixture
def frame(rows):
    X, y = rows
    index = [f"row {i}" for i in range(len(y))]
    return pd.DataFrame(X, columns=["a", "b", "c"], index=index), pd.Series(y, index=index)


@pytest.mark.parametrize("scale", [None, "auto"])
@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_frames_of_either_library_are_as_good_as_arrays(base, scale, rows, frame):
    X, y = rows
    plain = model(base, scale_estimator=scale).fit(X, y)
    table = model(base, scale_estimator=scale).fit(*frame)
    polar = pl.DataFrame(X, schema=["a", "b", "c"])
    third = model(base, scale_estimator=scale).fit(polar, pl.Series(y))
    for fitted, given in ((table, frame[0]), (third, polar)):
        np.testing.assert_allclose(fitted.predict(given), plain.predict(X), rtol=1e-9)
        assert list(fitted.feature_names_in_) == ["a", "b", "c"]
        assert type(fitted.predict_quantiles(given, LEVELS)) is np.ndarray
    assert plain.n_features_in_ == table.n_features_in_ == 3
    assert not hasattr(plain, "feature_names_in_")


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_columns_in_another_order_are_refused(base, frame):
    X, y = frame
    fitted = model(base).fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict_interval(X[["b", "a", "c"]])


def test_pandas_out_keeps_the_index(frame):
    X, y = frame
    fitted = model().set_output(transform="pandas").fit(X, y)
    some = X[::7]
    quantiles = fitted.predict_quantiles(some, LEVELS)
    assert list(quantiles.columns) == LEVELS
    assert quantiles.index.equals(some.index)
    F = fitted.predict_dist(some)
    np.testing.assert_array_equal(quantiles.to_numpy(), F.ppf(LEVELS))
    # A frame of quantiles is a forecast again.
    np.testing.assert_allclose(tl.as_distribution(quantiles).ppf(0.9), F.ppf(0.9))
    lower, upper = fitted.predict_interval(some, 0.8)
    assert (lower.name, upper.name) == ("lower", "upper")
    assert lower.index.equals(some.index)
    np.testing.assert_array_equal(upper, F.interval(0.8)[1])
    both = fitted.predict_interval(some, [0.5, 0.8])[0]
    assert list(both.columns) == [0.5, 0.8]
    one = fitted.predict_quantiles(some, 0.5)
    assert one.name == "quantile 0.5"
    assert one.index.equals(some.index)
    assert type(fitted.predict(some)) is np.ndarray


def test_pandas_out_for_an_array(rows):
    X, y = rows
    fitted = model().set_output(transform="pandas").fit(X, y)
    assert list(fitted.predict_quantiles(X[:3], LEVELS).index) == [0, 1, 2]


def test_polars_out(rows):
    X, y = rows
    fitted = model().set_output(transform="polars").fit(X, y)
    quantiles = fitted.predict_quantiles(X, LEVELS)
    assert isinstance(quantiles, pl.DataFrame)
    assert quantiles.columns == ["0.1", "0.5", "0.9"]
    lower, upper = fitted.predict_interval(X)
    assert (lower.name, upper.name) == ("lower", "upper")
    np.testing.assert_array_equal(lower.to_numpy(), fitted.predict_dist(X).interval(0.9)[0])


def test_the_choice_is_cloned_and_scikit_learns_configuration_is_the_default(rows):
    X, y = rows
    fitted = clone(model().set_output(transform="pandas")).fit(X, y)
    assert isinstance(fitted.predict_quantiles(X, LEVELS), pd.DataFrame)
    assert fitted.set_output() is fitted
    assert isinstance(fitted.predict_quantiles(X, LEVELS), pd.DataFrame)
    plain = model().fit(X, y)
    with sklearn.config_context(transform_output="polars"):
        assert isinstance(plain.predict_quantiles(X, LEVELS), pl.DataFrame)
        assert isinstance(fitted.predict_quantiles(X, LEVELS), pd.DataFrame)
    assert type(plain.predict_quantiles(X, LEVELS)) is np.ndarray


def test_an_unknown_container():
    assert refused(ValueError, lambda: model().set_output(transform="arrow")) == (
        "transform is 'arrow'; expected 'default' (numpy), 'pandas' or 'polars'."
    )


def test_a_library_that_is_missing(rows, monkeypatch):
    X, y = rows
    fitted = model().set_output(transform="polars").fit(X, y)
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    assert (
        refused(ImportError, lambda: fitted.predict_interval(X))
        == "set_output(transform='polars') needs polars: pip install polars"
    )
