"""NGBoost, of whatever family."""

import numpy as np
import pytest
from held_out import check_coverage, check_exact_law, check_manners, pandas_frame, rows

import trueline as tl
from trueline.interop import read_forecast

ngboost = pytest.importorskip("ngboost")
from ngboost import distns  # noqa: E402


def model(dist=distns.Normal, **params):
    settings = {"n_estimators": 15, "learning_rate": 0.1, "verbose": False, "random_state": 0}
    return ngboost.NGBRegressor(Dist=dist, **settings, **params)


def test_its_normal_is_the_forecast():
    X, y = rows(200)
    trained = model().fit(X, y)
    F = read_forecast(trained, X)
    own = trained.pred_dist(X)
    assert isinstance(F, tl.Normal)
    np.testing.assert_array_equal(F.loc, trained.predict(X))
    np.testing.assert_array_equal(F.scale, own.params["scale"])
    np.testing.assert_allclose(F.var(), np.asarray(own.dist.var()), rtol=1e-12)
    np.testing.assert_allclose(F.ppf(0.9), own.ppf(0.9), rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["LogNormal", "Laplace", "TFixedDf", "Exponential", "Gamma", "HalfNormal", "Weibull"]
)
def test_other_families_come_in_the_unit_of_y(name):
    if not hasattr(distns, name):
        pytest.skip(f"ngboost {ngboost.__version__} has no {name}")
    X, y = rows(200)
    trained = model(getattr(distns, name)).fit(X, np.maximum(y, 1.0))
    F = read_forecast(trained, X)
    own = trained.pred_dist(X).dist
    for level in (0.05, 0.5, 0.95):
        np.testing.assert_allclose(F.ppf(level), own.ppf(level), rtol=1e-6)
    np.testing.assert_allclose(F.cdf(y), own.cdf(y), rtol=1e-6, atol=1e-9)


def test_counts_are_refused():
    X, y = rows(100)
    trained = model(distns.Poisson).fit(X, np.maximum(y.round(), 0).astype(int))
    with pytest.raises(TypeError, match="discrete distribution"):
        read_forecast(trained, X)


@pytest.mark.parametrize("dist", [distns.Normal, distns.Laplace])
def test_fresh_rows(dist):
    check_exact_law(model(dist).fit(*rows(300, 100)))
    calibrated = check_coverage(model(dist))
    # Its own scale, one for all and a learned one are compared.
    assert set(calibrated.scale_.crps) == {"constant", "own", "learned"}


def test_manners():
    check_manners(model(), "n_estimators", 5, pandas_frame)
