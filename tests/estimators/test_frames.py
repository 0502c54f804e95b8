"""Data frames in, data frames out."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.pipeline import make_pipeline

import trueline as tl
from trueline.estimators import CalibratedRegressor, PerLevel

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


class ByPlace(RegressorMixin, BaseEstimator):
    """Takes columns by their place and looks at no name, as NGBoost and LightGBM do."""

    def __init__(self, quantile=0.5):
        self.quantile = quantile

    def fit(self, X, y):
        self.fitted_ = LinearRegression().fit(np.asarray(X), y)
        return self

    def predict(self, X):
        return self.fitted_.predict(np.asarray(X)) + self.quantile


BY_PLACE = {
    "alone": ByPlace(),
    "frozen": ByPlace(),
    "per level": PerLevel(ByPlace(), levels=[0.1, 0.9]),
    "voting": VotingRegressor([("one", ByPlace())]),
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("which", BY_PLACE)
def test_columns_are_checked_for_models_that_do_not(which, library, frame):
    X, y = frame[0].reset_index(drop=True), frame[1].to_numpy()
    X = pl.DataFrame(X.to_numpy(), schema=list(X.columns)) if library == "polars" else X
    base = BY_PLACE[which]
    if which == "frozen":
        base = FrozenEstimator(clone(base).fit(X, y))
    for ensemble in (False,) if which == "frozen" else (False, True):
        fitted = model(base, cv=2, ensemble=ensemble).fit(X, y)
        assert list(fitted.feature_names_in_) == ["a", "b", "c"]
        assert np.isfinite(fitted.predict(X)).all()
        # As many numbers without a name are taken as they come.
        np.testing.assert_array_equal(fitted.predict(X.to_numpy()), fitted.predict(X))
        with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
            fitted.predict_interval(X[["c", "b", "a"]])
        renamed = X.rename(columns={"a": "z"}) if library == "pandas" else X.rename({"a": "z"})
        with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- z"):
            fitted.predict(renamed)
    assert not hasattr(fitted.fit(X.to_numpy(), y), "feature_names_in_")
    assert np.isfinite(fitted.predict(X)).all()


def test_columns_of_a_model_a_level_are_checked(frame):
    X, y = frame
    fitted = PerLevel(ByPlace(), levels=[0.1, 0.9]).fit(X, y)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        fitted.predict(X[["c", "b", "a"]])


def test_columns_of_a_trained_model_are_checked_when_it_is_calibrated(frame):
    X, y = frame
    trained = ByPlace().fit(X, y)
    trained.feature_names_in_ = np.array(["a", "b", "c"])
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model(FrozenEstimator(trained)).fit(X[["c", "b", "a"]], y)
    # Names that a package makes up for an array say nothing.
    trained.feature_names_in_ = np.array(["Column_0", "Column_1", "Column_2"])
    assert list(model(FrozenEstimator(trained)).fit(X, y).feature_names_in_) == ["a", "b", "c"]


def test_a_model_that_picks_columns_by_name_takes_any_order_and_more(frame):
    X, y = frame
    pick = make_column_transformer(("passthrough", ["a", "b"]))
    base = make_pipeline(pick, LinearRegression())
    fitted = model(base, scale_estimator=RandomForestRegressor(9, random_state=0)).fit(X, y)
    other = X.assign(extra=0.0)[["extra", "c", "b", "a"]]
    for given in (X[["c", "b", "a"]], other):
        lower, upper = fitted.predict_interval(given)
        # The learned width takes columns by place, and gets those of the fit. Products of matrices
        # with another layout in memory are equal up to rounding.
        np.testing.assert_allclose(lower, fitted.predict_interval(X)[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(upper, fitted.predict_interval(X)[1], rtol=1e-12, atol=1e-12)


def test_columns_of_mixed_names_are_for_the_estimator(frame):
    X, y = frame
    mixed = X.set_axis(["a", 1, 2], axis=1)
    fitted = model(ByPlace(), cv=2).fit(mixed, y)
    assert not hasattr(fitted, "feature_names_in_")
    assert np.isfinite(fitted.predict(mixed)).all()


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
        == "set_output(transform='polars') needs polars, which cannot be imported (import of "
        "polars halted; None in sys.modules). Install it with: pip install polars"
    )
