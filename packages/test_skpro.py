"""skpro's regressors."""

import numpy as np
import pandas as pd
import pytest
from held_out import check_coverage, check_exact_law, check_manners, pandas_frame, rows
from sklearn import model_selection
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.model_selection import KFold
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeRegressor

import trueline as tl
from trueline.interop import read_forecast
from trueline.interop._reading import LEVELS

skpro = pytest.importorskip("skpro")
from skpro.metrics import CRPS  # noqa: E402
from skpro.model_selection import GridSearchCV  # noqa: E402
from skpro.regression.bootstrap import BootstrapRegressor  # noqa: E402
from skpro.regression.compose import TransformedTargetRegressor  # noqa: E402
from skpro.regression.multiquantile import MultipleQuantileRegressor  # noqa: E402
from skpro.regression.residual import ResidualDouble  # noqa: E402


def double(**params):
    tree = DecisionTreeRegressor(max_depth=3, min_samples_leaf=10, random_state=0)
    return ResidualDouble(LinearRegression(), tree, min_scale=0.1, **params)


@pytest.mark.parametrize("family", ["Normal", "Laplace"])
@pytest.mark.parametrize("frame", [np.asarray, pandas_frame])
def test_its_distribution_is_the_forecast(family, frame):
    X, y = rows(200)
    X = frame(X)
    trained = double(dist=family).fit(X, y)
    F, own = read_forecast(trained, X), trained.predict_proba(X)
    assert type(F) is getattr(tl, family)
    np.testing.assert_allclose(F.mean(), np.ravel(trained.predict(X)))
    np.testing.assert_allclose(F.var(), np.ravel(trained.predict_var(X)))
    np.testing.assert_allclose(F.cdf(y), np.ravel(own.cdf(y[:, None])), atol=1e-12)
    np.testing.assert_allclose(F.ppf([0.1, 0.9]), trained.predict_quantiles(X, alpha=[0.1, 0.9]))


def test_draws():
    X, y = rows(60)
    trained = BootstrapRegressor(LinearRegression(), n_bootstrap_samples=15, random_state=0)
    F = read_forecast(trained.fit(pandas_frame(X), y), pandas_frame(X))
    assert isinstance(F, tl.Samples)
    own = trained.predict_proba(pandas_frame(X))
    np.testing.assert_allclose(F.mean(), np.ravel(own.mean()), rtol=1e-2)
    np.testing.assert_allclose(np.mean(F.draws, axis=1), np.ravel(own.mean()))


def test_quantile_models_at_their_own_levels():
    X, y = rows(100)
    levels = [0.1, 0.5, 0.9]
    trained = MultipleQuantileRegressor(
        mean_regressor=LinearRegression(),
        quantile_regressor=QuantileRegressor(alpha=0.0),
        alpha=levels,
        alpha_name="quantile",
        n_jobs=1,
    ).fit(pandas_frame(X), pd.Series(y))
    F = read_forecast(trained, pandas_frame(X))
    assert isinstance(F, tl.Quantiles)
    np.testing.assert_array_equal(F.levels, levels)
    alone = [QuantileRegressor(quantile=q, alpha=0.0).fit(X, y).predict(X) for q in levels]
    np.testing.assert_allclose(F.values, np.sort(np.stack(alone, axis=1), axis=1), rtol=1e-6)


def test_an_outcome_that_was_transformed_comes_in_its_unit():
    X, y = rows(100)
    y = np.maximum(y, 1.0)
    X, target = pandas_frame(X), pd.DataFrame({"y": y}, index=np.arange(1000, 1100))
    log = FunctionTransformer(np.log, np.exp)
    trained = TransformedTargetRegressor(double(), transformer=log).fit(X, target)
    bare = double().fit(X, np.log(target))
    F = read_forecast(trained, X)
    expected = np.exp(read_forecast(bare, X).ppf(LEVELS))
    np.testing.assert_allclose(F.ppf(LEVELS), expected, rtol=1e-6)


def test_counts_are_refused():
    from skpro.regression.linear import PoissonRegressor

    X, y = rows(100)
    counts = pd.DataFrame({"y": np.maximum(y.round(), 0.0)}, index=pandas_frame(X).index)
    trained = PoissonRegressor().fit(pandas_frame(X), counts)
    with pytest.raises(TypeError, match="discrete distribution"):
        read_forecast(trained, pandas_frame(X))


def test_fresh_rows():
    check_exact_law(double().fit(*rows(300, 100)))
    calibrated = check_coverage(double())
    # Its own scale, one for all and a learned one are compared.
    assert set(calibrated.scale_.crps) == {"constant", "own", "learned"}


def test_manners():
    # scikit-learn's searches take none of skpro's regressors, for want of tags.
    check_manners(double(), "estimator_resid__max_depth", 1, pandas_frame, searched=False)


def test_searches_within_and_without():
    X, y = rows(90)
    name, value = "min_scale", 4.0
    params = {"cv": 2, "scale_estimator": None, "random_state": 0}
    changed = tl.CalibratedRegressor(double().set_params(**{name: value}), **params)
    expected = changed.fit(X, y).predict_quantiles(X, [0.2, 0.8])
    within = GridSearchCV(double(), KFold(2), {name: [value]}, CRPS(), backend=None)
    model = tl.CalibratedRegressor(within, **params).fit(X, y)
    np.testing.assert_allclose(model.predict_quantiles(X, [0.2, 0.8]), expected)
    without = model_selection.GridSearchCV(
        tl.CalibratedRegressor(double(), **params),
        {f"estimator__{name}": [value]},
        cv=2,
        scoring=tl.neg_crps,
        error_score="raise",
    ).fit(X, y)
    best = without.best_estimator_.predict_quantiles(X, [0.2, 0.8])
    np.testing.assert_allclose(best, expected)


def test_frames_keep_their_index():
    X, y = rows(60)
    model = tl.CalibratedRegressor(clone(double()), cv=2, random_state=0, scale_estimator=None)
    model.set_output(transform="pandas").fit(pandas_frame(X), pd.Series(y))
    quantiles = model.predict_quantiles(pandas_frame(X)[5:8], [0.2, 0.8])
    assert list(quantiles.index) == [1005, 1006, 1007]
