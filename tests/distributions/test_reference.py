"""Values agree with scipy.stats, scoringrules and known constants."""

import numpy as np
import pytest
import scoringrules as sr
from scipy import integrate, stats

import trueline as tl

LOC, SCALE = np.array([1.0, -2.0, 300.0]), np.array([0.1, 0.5, 40.0])
DF = np.array([1.5, 4.0, 60.0])
Q = np.array([1e-12, 0.01, 0.3, 0.5, 0.8, 0.999])

PAIRS = {
    "normal": (tl.Normal(LOC, SCALE), stats.norm(LOC, SCALE)),
    "laplace": (tl.Laplace(LOC, SCALE), stats.laplace(LOC, SCALE)),
    "logistic": (tl.Logistic(LOC, SCALE), stats.logistic(LOC, SCALE)),
    "student_t": (tl.StudentT(LOC, SCALE, DF), stats.t(DF, LOC, SCALE)),
    "one_df": (tl.StudentT(LOC, SCALE, 5.0), stats.t(5.0, LOC, SCALE)),
}


@pytest.fixture(params=PAIRS, ids=list(PAIRS))
def pair(request):
    return PAIRS[request.param]


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf", "pdf", "logpdf"])
@pytest.mark.parametrize("z", [-20.0, -3.0, 0.0, 0.7, 12.0])
def test_functions_of_y_are_those_of_scipy(pair, method, z):
    ours, theirs = pair
    y = LOC + z * SCALE
    np.testing.assert_allclose(getattr(ours, method)(y), getattr(theirs, method)(y), rtol=1e-11)


def test_quantiles_are_those_of_scipy(pair):
    ours, theirs = pair
    expected = np.stack([theirs.ppf(q) for q in Q], axis=1)
    np.testing.assert_allclose(ours.ppf(Q), expected, rtol=1e-9)


def test_moments_are_those_of_scipy(pair):
    ours, theirs = pair
    np.testing.assert_allclose(ours.mean(), theirs.mean(), rtol=1e-13)
    np.testing.assert_allclose(ours.var(), theirs.var(), rtol=1e-13)


def test_far_tails_of_the_normal():
    F = tl.Normal(0, 1)
    np.testing.assert_allclose(F.logpdf(60.0), -1800.918938533205, rtol=1e-15)
    np.testing.assert_allclose(F.ppf(1e-300), -37.0470962993612, rtol=1e-13)
    # log Phi(-t) = log phi(t) - log t + log(1 - 1/t^2 + 3/t^4 - 15/t^6 + ...)
    tail = -1800.918938533205 - np.log(60.0) + np.log(1 - 60.0**-2 + 3 * 60.0**-4 - 15 * 60.0**-6)
    np.testing.assert_allclose(F.logcdf(-60.0), tail, rtol=1e-14)
    np.testing.assert_allclose(F.logsf(60.0), tail, rtol=1e-14)
    np.testing.assert_allclose(F.sf(30.0), F.cdf(-30.0), rtol=0)


@pytest.mark.parametrize("df", [1.0, 2.0, 3.0, 10.0, 1e6])
def test_quantiles_of_student_t_are_finite_and_right_in_the_far_tail(df):
    F = tl.StudentT(0, 1, df)
    y = F.ppf(1e-300)
    assert np.isfinite(y).all()
    np.testing.assert_allclose(F.logcdf(y), np.log(1e-300), rtol=1e-12)


def test_cauchy_is_known_in_closed_form():
    F = tl.StudentT(0, 1, 1)
    np.testing.assert_allclose(F.ppf(1e-200), -1e200 / np.pi, rtol=1e-12)
    np.testing.assert_array_equal(F.mean(), np.inf)


@pytest.mark.parametrize("df", [0.7, 1.0, 1.00003, 1.3])
def test_crps_of_student_t_is_finite_where_its_integral_is(df):
    F = tl.StudentT(0.0, 1.0, df)
    for y in (0.0, -0.8, 3.0):
        below = integrate.quad(lambda x: F.cdf(x)[0] ** 2, -np.inf, y, limit=500)[0]
        above = integrate.quad(lambda x: F.sf(x)[0] ** 2, y, np.inf, limit=500)[0]
        np.testing.assert_allclose(F.crps(y), below + above, rtol=1e-6)
    np.testing.assert_array_equal(tl.StudentT(0.0, 1.0, 0.5).crps(0.0), np.inf)


def test_crps_is_that_of_scoringrules():
    rng = np.random.default_rng(0)
    y = LOC + SCALE * rng.normal(size=3) * 3
    for ours, theirs in (
        (tl.Normal(LOC, SCALE), sr.crps_normal(y, LOC, SCALE)),
        (tl.Laplace(LOC, SCALE), sr.crps_laplace(y, LOC, SCALE)),
        (tl.Logistic(LOC, SCALE), sr.crps_logistic(y, LOC, SCALE)),
        (tl.StudentT(LOC, SCALE, DF), sr.crps_t(y, DF, LOC, SCALE)),
    ):
        np.testing.assert_allclose(ours.crps(y), theirs, rtol=1e-9)


def test_crps_of_draws_is_that_of_scoringrules():
    rng = np.random.default_rng(1)
    draws, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    F = tl.Samples(draws)
    plain = sr.crps_ensemble(y, draws, estimator="nrg")
    np.testing.assert_allclose(F.crps(y), plain, rtol=1e-12)
    np.testing.assert_allclose(
        F.crps_fair(y), sr.crps_ensemble(y, draws, estimator="fair"), rtol=1e-9
    )


def test_crps_of_a_mixture_of_normals_is_that_of_scoringrules():
    rng = np.random.default_rng(2)
    m, s = rng.normal(size=(5, 3)), rng.uniform(0.2, 2.0, size=(5, 3))
    w, y = np.array([0.2, 0.5, 0.3]), rng.normal(size=5)
    F = tl.Mixture([tl.Normal(m[:, k], s[:, k]) for k in range(3)], weights=w)
    np.testing.assert_allclose(F.crps(y), sr.crps_mixnorm(y, m, s, np.tile(w, (5, 1))), rtol=1e-10)


def test_numbers_that_are_known():
    F = tl.Normal(loc=[1, 2, 3], scale=[0.1, 0.5, 1])
    y = [1.5, 3, 2]
    np.testing.assert_allclose(np.sqrt(np.mean(F.var())), 0.648074069840786, rtol=1e-14)
    np.testing.assert_allclose(F.crps(y).mean(), 0.59080610693, rtol=2e-11)
    np.testing.assert_allclose(-F.logpdf(y).mean(), 4.920361108686675, rtol=1e-14)
    two = tl.Samples([[0.0, 1.0]])
    np.testing.assert_array_equal(two.crps([[0.0, 2.0]]), [[0.25, 1.25]])


def test_quantiles_of_a_normal_give_back_the_normal():
    q = np.linspace(0.05, 0.95, 19)
    F = tl.Normal(LOC, SCALE)
    G = tl.Quantiles(q, F.ppf(q))
    y = LOC[:, None] + SCALE[:, None] * np.array([[-5.0, -1.0, 0.3, 7.0]])
    for method in ("logcdf", "logsf", "logpdf", "crps"):
        np.testing.assert_allclose(getattr(G, method)(y), getattr(F, method)(y), rtol=1e-9)
    np.testing.assert_allclose(G.mean(), F.mean(), rtol=1e-12)
    np.testing.assert_allclose(G.var(), F.var(), rtol=1e-9)


def test_float32_is_upcast():
    loc, scale = LOC.astype(np.float32), SCALE.astype(np.float32)
    narrow, wide = tl.Normal(loc, scale), tl.Normal(loc.astype(float), scale.astype(float))
    y = np.float32(0.3)
    assert narrow.cdf(y).dtype == np.float64
    np.testing.assert_array_equal(narrow.crps(y), wide.crps(float(y)))
