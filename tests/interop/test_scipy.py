"""Forecasts as scipy's frozen distributions."""

import pickle

import numpy as np
import pytest
from scipy import stats

import trueline as tl
from tests.interop.cases import LEVELS, every_forecast, forecast, values
from trueline.interop import to_scipy
from trueline.interop._scipy.outgoing import ScipyDistribution

METHODS = ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"]
NATIVE = {
    "norm": tl.Normal([0.0, 5.0, -1.0], [1.0, 0.1, 3.0]),
    "t": tl.StudentT([0.0, 5.0, -1.0], [1.0, 0.1, 3.0], [3.0, 8.0, 30.0]),
    "laplace": tl.Laplace([0.0, 5.0, -1.0], [1.0, 0.1, 3.0]),
    "logistic": tl.Logistic([0.0, 5.0, -1.0], [1.0, 0.1, 3.0]),
}
THREE = tl.Mixture([tl.Normal([0.0, 1.0, 2.0], 1.0), tl.Normal([3.0, 1.0, 2.0], 0.5)])


def _as_scipy(theirs, ours):
    """scipy's formulas of native families are others, and equal up to rounding.

    They take the log of a probability of t, which is minus infinity where there is none left.
    """
    logs = (ours < -700) & (theirs == -np.inf)
    np.testing.assert_allclose(theirs[~logs], ours[~logs], rtol=1e-9, atol=1e-15)


@every_forecast
def test_it_answers_as_the_forecast_does(base, form):
    F = forecast(base, form)
    frozen = to_scipy(F)
    y = values(F)
    same = np.testing.assert_array_equal if isinstance(frozen, ScipyDistribution) else _as_scipy
    for name in METHODS:
        same(getattr(frozen, name)(y.T), getattr(F, name)(y).T)
    for name in ("mean", "median", "var", "std"):
        same(getattr(frozen, name)(), getattr(F, name)())
    same(frozen.ppf(LEVELS[:, None]), F.ppf(LEVELS).T)
    # scipy's intervals are central, also where the forecast's own are the shortest.
    tail = 0.5 * (1.0 - 0.8)
    same(np.array(frozen.interval(0.8)), F.ppf([tail, 1.0 - tail]).T)
    for moment, name in zip(frozen.stats(), ("mean", "var"), strict=True):
        same(moment, getattr(F, name)())
    same(frozen.stats("v"), F.var())


@every_forecast
@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
def test_the_upper_tail_is_as_deep_as_the_lower(base, form):
    F = forecast(base, form)
    frozen = to_scipy(F)
    # The median of Student's t in older versions of scipy is 0 up to rounding.
    close = {"rtol": 1e-12, "atol": 1e-15}
    np.testing.assert_allclose(frozen.isf(LEVELS[:, None]), F.ppf(1.0 - LEVELS).T, **close)
    for q in (1e-6, 1e-20, 1e-80):
        y = frozen.isf(q)
        # The smallest value that is exceeded with probability q at most.
        below = np.nextafter(y, -np.inf) - 1e-9 * (1.0 + np.abs(y))
        assert (F.sf(y) <= q * (1.0 + 1e-6)).all()
        assert (F.sf(below) >= q * (1.0 - 1e-6)).all()


SHAPES = [(), (3,), (1,), (4, 3), (4, 1), (2, 4, 3), (2, 4, 1), (0, 3)]


@pytest.mark.parametrize("method", ["cdf", "ppf", "isf"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_are_scipys(method, shape):
    x = np.random.default_rng(0).uniform(0.1, 0.9, size=shape)
    native = to_scipy(NATIVE["norm"])
    answer = getattr(to_scipy(THREE), method)(x)
    assert answer.shape == np.shape(getattr(native, method)(x))
    one = getattr(to_scipy(THREE[1]), method)(x)
    assert one.shape == np.shape(getattr(stats.norm([0.0], [1.0]), method)(x))
    # Every element is the answer of its own row.
    whole = np.broadcast_to(x, answer.shape)
    for place in np.ndindex(answer.shape):
        row = to_scipy(THREE[place[-1]])
        np.testing.assert_allclose(answer[place], getattr(row, method)(whole[place])[0], rtol=1e-12)


@pytest.mark.parametrize("method", ["cdf", "ppf"])
def test_values_that_do_not_fit_the_rows_are_refused(method):
    with pytest.raises(ValueError, match=r"has shape \(4,\) but the forecast has 3 rows"):
        getattr(to_scipy(THREE), method)([0.1, 0.2, 0.3, 0.4])


def test_what_is_no_number_or_no_level_gives_nan():
    frozen, native = to_scipy(THREE), to_scipy(NATIVE["norm"])
    x = np.array([[np.nan], [np.inf], [-np.inf], [0.0]])
    q = np.array([[np.nan], [-0.1], [1.1], [0.0], [1.0], [0.5]])
    for name in ("cdf", "sf", "pdf"):
        mine, theirs = getattr(frozen, name)(x), getattr(native, name)(x)
        np.testing.assert_array_equal(mine[:3], theirs[:3])
        assert np.isfinite(mine[3]).all()
    for name in ("ppf", "isf"):
        mine, theirs = getattr(frozen, name)(q), getattr(native, name)(q)
        np.testing.assert_array_equal(mine[:5], theirs[:5])
        assert np.isfinite(mine[5]).all()


def test_the_support_is_that_of_the_forecast():
    draws = np.array([[0.0, 2.0, 7.0], [-1.0, 0.0, 1.0]])
    low, high = to_scipy(tl.Samples(draws)).support()
    np.testing.assert_array_equal(low, draws.min(axis=1))
    np.testing.assert_array_equal(high, draws.max(axis=1))
    frozen = to_scipy(tl.Samples(draws))
    np.testing.assert_array_equal(frozen.ppf(0.0), low)
    np.testing.assert_array_equal(frozen.isf(0.0), high)
    mixed = tl.Mixture([tl.StudentT([0.0], 1.0, 3.0), tl.Samples([[1.0, 2.0]])])
    assert to_scipy(mixed).support() == (-np.inf, np.inf)
    gamma = tl.as_distribution(stats.gamma(a=[2.0, 3.0]))
    np.testing.assert_array_equal(to_scipy(gamma).support()[0], [0.0, 0.0])


@pytest.mark.parametrize("name", NATIVE)
def test_native_families_are_scipys_own(name):
    F = NATIVE[name]
    frozen = to_scipy(F)
    assert frozen.dist.name == name
    back = tl.as_distribution(frozen)
    assert type(back) is type(F)
    np.testing.assert_array_equal(back.loc, F.loc)
    np.testing.assert_array_equal(back.scale, F.scale)


def test_draws_follow_the_forecast_and_the_seed():
    frozen = to_scipy(THREE)
    drawn = frozen.rvs((2000, 3), random_state=1)
    np.testing.assert_array_equal(drawn, frozen.rvs((2000, 3), random_state=1))
    for row in range(3):
        own = to_scipy(THREE[row])
        assert stats.kstest(drawn[:, row], own.cdf).pvalue > 0.01
    assert frozen.rvs().shape == frozen.rvs(3).shape == (3,)
    assert frozen.rvs((0, 3)).shape == (0, 3)
    assert to_scipy(THREE[0]).rvs(5).shape == (5,)


@pytest.mark.parametrize("size", [4, (3, 4), (), -3, (1.5, 3)], ids=str)
def test_draws_of_another_number_of_rows_are_refused(size):
    with pytest.raises(ValueError, match="expected None, 3, or a shape whose last axis"):
        to_scipy(THREE).rvs(size)


def test_moments_it_does_not_have_are_refused():
    with pytest.raises(ValueError, match="moments is 'mvsk'; expected 'm', 'v' or 'mv'"):
        to_scipy(THREE).stats("mvsk")


def test_levels_without_support_are_told():
    y = np.arange(10.0)
    F = tl.Point(np.zeros(10))
    frozen = to_scipy(tl.Isotonic().fit(y, F).transform(F))
    with pytest.warns(tl.CalibrationWarning, match=r"level 0\.99 "):
        frozen.ppf(0.99)
    with pytest.warns(tl.CalibrationWarning, match="level"):
        frozen.isf(1e-30)
    frozen.rvs(random_state=0)  # which asks for no level


def test_it_survives_pickling():
    frozen = to_scipy(THREE)
    again = pickle.loads(pickle.dumps(frozen))
    np.testing.assert_array_equal(again.cdf(1.0), frozen.cdf(1.0))
    assert repr(again) == "ScipyDistribution(Mixture(3 rows))"
    assert len(again) == 3
