"""Moments, densities and scores of every law agree with integrals of its CDF."""

import itertools

import numpy as np
import pytest
from scipy import integrate

from trueline.laws import (
    BetaLaw,
    ExponentialTail,
    LaplaceLaw,
    LogisticLaw,
    NormalLaw,
    NormalTail,
    PiecewiseLaw,
    PointLaw,
    SplineLaw,
    StudentTLaw,
)


def piecewise(tail, *, atoms=False, shift=0.0, unit=1.0, upper=True):
    knots = shift + unit * np.array([-2.0, -0.5, -0.4, 0.0, 1.0, 3.0])
    right = np.array([0.1, 0.3, 0.5, 0.6, 0.8, 0.9 if upper else 1.0])
    left = right - np.array([0.0, 0.1, 0.0, 0.05, 0.0, 0.02]) if atoms else right
    return PiecewiseLaw(knots, left, right, (tail(0.7 * unit), tail(1.3 * unit)))


KNOTS = np.array([-1.5, -0.2, 0.1, 0.9, 2.0])
SCORE_LAWS = {
    "normal": NormalLaw(),
    "normal, moved": NormalLaw(3.0, 0.1),
    "piecewise": piecewise(ExponentialTail),
    "piecewise, normal tails": piecewise(NormalTail),
    "piecewise with atoms": piecewise(ExponentialTail, atoms=True),
    "piecewise without upper tail": piecewise(NormalTail, upper=False),
    "piecewise, far and wide": piecewise(ExponentialTail, shift=500.0, unit=40.0),
    "one knot": PiecewiseLaw(
        np.array([2.0]),
        np.array([0.5]),
        np.array([0.5]),
        (ExponentialTail(2.0), ExponentialTail(2.0)),
    ),
    "beta": BetaLaw(0.7, 1.6, 0.3, 0.5, 2.0),
    "beta, steep": BetaLaw(20.0, 0.2, -1.0, -3.0, 0.1),
    "spline": SplineLaw(KNOTS, np.array([-2.0, -0.7, -0.1, 1.0, 1.8])),
    "spline, narrow": SplineLaw(1e-3 * KNOTS + 7.0, np.array([-2.0, -0.7, -0.1, 1.0, 1.8])),
}
LAWS = {
    **SCORE_LAWS,
    "laplace": LaplaceLaw(),
    "logistic": LogisticLaw(),
    "student t": StudentTLaw(np.float64(4.0)),
    "student t, nearly normal": StudentTLaw(np.float64(1e7)),
}


def edges(law):
    """Points at which integrals are cut: knots, and quantiles far into both tails."""
    q = np.array([1e-16, 1e-12, 1e-8, 1e-4, 0.1, 0.5, 0.9, 1 - 1e-4, 1 - 1e-8, 1 - 1e-12])
    return np.unique(np.concatenate([law.ppf(q), getattr(law, "knots", np.empty(0))]))


def integral(f, cuts):
    pieces = [
        integrate.quad(f, a, b, epsabs=1e-15, epsrel=1e-12, limit=200)[0]
        for a, b in itertools.pairwise(cuts)
    ]
    return float(np.sum(pieces))


def scalar(f):
    return lambda z: float(f(np.array([z]))[0])


@pytest.mark.parametrize("name", LAWS)
def test_quantiles_are_undone_by_the_cdf(name):
    law = LAWS[name]
    q = np.concatenate([10.0 ** -np.arange(300.0, 1.0, -23.0), np.linspace(0.01, 0.99, 99)])
    z = law.ppf(q)
    assert np.isfinite(z).all()
    assert (np.diff(z) >= 0).all()
    hair = 4.0 * np.spacing(np.abs(z).max())
    if "atoms" in name:
        assert (law.cdf(z + hair) >= q - 1e-12).all()
        assert (law.cdf_left(z - hair) <= q + 1e-12).all()
    else:
        np.testing.assert_allclose(law.logcdf(z), np.log(q), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("df", [1.0, 4.0, 1e7])
def test_student_t_ends_at_infinity_on_the_right_sides(df):
    ends = StudentTLaw(np.float64(df)).ppf(np.array([0.0, 1.0]))
    np.testing.assert_array_equal(ends, [-np.inf, np.inf])


@pytest.mark.parametrize("name", LAWS)
def test_tails_and_logarithms_agree(name):
    law = LAWS[name]
    z = law.ppf(np.linspace(0.001, 0.999, 57))
    cdf, sf = law.cdf(z), law.sf(z)
    np.testing.assert_allclose(cdf + sf, 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.exp(law.logcdf(z)), cdf, rtol=1e-12)
    np.testing.assert_allclose(np.exp(law.logsf(z)), sf, rtol=1e-12)
    assert (law.cdf_left(z) <= cdf).all()


@pytest.mark.parametrize("name", LAWS)
def test_the_density_is_the_slope_of_the_cdf(name):
    law = LAWS[name]
    low, high = law.ppf(np.array([0.001, 0.999]))
    z = low + (high - low) * np.random.default_rng(0).random(200)
    knots = getattr(law, "knots", np.array([0.0]))
    h = 1e-6 * (high - low)
    z = z[np.abs(z[:, None] - knots).min(axis=1) > 2 * h]
    slope = (law.cdf(z + h) - law.cdf(z - h)) / (2.0 * h)
    scale = 1.0 / (high - low)
    np.testing.assert_allclose(np.exp(law.logpdf(z)), slope, rtol=1e-4, atol=1e-7 * scale)


@pytest.mark.parametrize("name", LAWS)
def test_integral_mean_and_dispersion(name):
    law = LAWS[name]
    cuts = edges(law)
    unit = float(law.ppf(np.array([0.9]))[0] - law.ppf(np.array([0.1]))[0])
    cdf = scalar(law.cdf)
    tail = float(law.integral(cuts[:1])[0])
    for z in (cuts[3], law.ppf(np.array([0.4]))[0], cuts[-1]):
        found = tail + integral(cdf, np.append(cuts[cuts < z], z))
        np.testing.assert_allclose(
            law.integral(np.array([z]))[0], found, rtol=1e-9, atol=1e-9 * unit
        )
    above = integral(scalar(law.sf), np.append(cuts[4], cuts[cuts > cuts[4]]))
    below = tail + integral(cdf, cuts[:5])
    # The integral of the survival function above the last cut.
    left = float(law.integral(cuts[-1:])[0] - cuts[-1] + law.mean)
    np.testing.assert_allclose(law.mean, cuts[4] + above + left - below, atol=1e-8 * unit)
    spread = integral(lambda z: cdf(z) * scalar(law.sf)(z), cuts)
    np.testing.assert_allclose(law.dispersion, spread, rtol=1e-6)


@pytest.mark.parametrize("name", LAWS)
def test_crps_is_the_integral_of_the_squared_error(name):
    law = LAWS[name]
    cuts = edges(law)
    for z in law.ppf(np.array([0.02, 0.5, 0.97])):
        low, high = np.append(cuts[cuts < z], z), np.append(z, cuts[cuts > z])
        found = integral(lambda u: scalar(law.cdf)(u) ** 2, low)
        found += integral(lambda u: scalar(law.sf)(u) ** 2, high)
        np.testing.assert_allclose(law.crps(np.array([z]))[0], found, rtol=1e-8)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("name", SCORE_LAWS)
def test_moments_between_two_scores(name, power):
    law = SCORE_LAWS[name]
    a, b = law.ppf(np.array([0.07, 0.93]))
    cuts = edges(law)
    cuts = np.concatenate([[a], cuts[(cuts > a) & (cuts < b)], [b]])
    low, high = law.moments(np.array([a]), power), law.moments(np.array([b]), power)
    for k in range(3):
        exact = integral(lambda s, k=k: scalar(law.cdf)(s) ** power * s**k, cuts)
        size = (b - a) * max(abs(a), abs(b), 1e-300) ** k
        np.testing.assert_allclose(high[k] - low[k], exact, rtol=1e-9, atol=1e-10 * size)


@pytest.mark.parametrize("name", SCORE_LAWS)
def test_variance_is_the_integral_of_the_tails(name):
    law = SCORE_LAWS[name]
    cuts, m = edges(law), law.mean
    low, high = np.append(cuts[cuts < m], m), np.append(m, cuts[cuts > m])
    found = 2.0 * integral(lambda z: (m - z) * scalar(law.cdf)(z), low)
    found += 2.0 * integral(lambda z: (z - m) * scalar(law.sf)(z), high)
    np.testing.assert_allclose(law.var, found, rtol=1e-8)


@pytest.mark.parametrize("name", LAWS)
def test_limits_and_far_values(name):
    law = LAWS[name]
    ends = np.array([-np.inf, np.inf])
    np.testing.assert_array_equal(law.cdf(ends), [0.0, 1.0])
    np.testing.assert_array_equal(law.sf(ends), [1.0, 0.0])
    far = law.mean + np.array([-1e8, 1e8])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(law.crps(far), 1e8, rtol=1e-5)
        assert not np.isnan(law.logpdf(far)).any()


def test_the_shape_of_the_argument_is_kept():
    for law in [*LAWS.values(), PointLaw()]:
        for shape in ((4,), (2, 3), (1, 1)):
            z = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
            for method in (law.cdf, law.sf, law.logcdf, law.logsf, law.logpdf, law.crps):
                assert method(z).shape == shape
            assert law.ppf(np.full(shape, 0.3)).shape == shape


def test_a_normal_law_is_a_beta_and_a_spline_law():
    z = np.linspace(-6.0, 6.0, 41)
    exact = NormalLaw(0.5, 2.0)
    knots = np.array([-3.0, 0.0, 1.0, 4.0])
    for law in (BetaLaw(1.0, 1.0, 0.0, 0.5, 2.0), SplineLaw(knots, (knots - 0.5) / 2.0)):
        for method in ("cdf", "logcdf", "logsf", "logpdf", "integral"):
            mine, theirs = getattr(law, method)(z), getattr(exact, method)(z)
            np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(law.mean, 0.5, atol=1e-9)
        np.testing.assert_allclose(law.var, 4.0, rtol=1e-9)


@pytest.mark.parametrize("tail", [ExponentialTail(0.4), NormalTail(0.4)], ids=["exp", "normal"])
def test_tails(tail):
    v = np.array([0.0, 0.1, 0.7, 3.0])
    np.testing.assert_allclose(tail.sf(v), np.exp(tail.logsf(v)), rtol=1e-12)
    np.testing.assert_allclose(tail.isf(tail.sf(v)), v, atol=1e-12)
    np.testing.assert_allclose(tail.sf(v[:1]), 1.0)
    excess = integrate.quad(scalar(tail.sf), 0.0, 20.0, epsabs=1e-14)[0]
    np.testing.assert_allclose(tail.excess, excess, rtol=1e-10)
    for power in (1, 2):
        outer, inner = tail.outer(v, power), tail.inner(v, power)
        for k in range(3):
            f = lambda u, k=k, power=power: scalar(tail.sf)(u) ** power * u**k  # noqa: E731
            for i, start in enumerate(v):
                above = integrate.quad(f, start, start + 20.0, epsabs=1e-15, limit=200)[0]
                np.testing.assert_allclose(outer[k][i], above, rtol=1e-9, atol=1e-14)
            total = integrate.quad(f, 0.0, 0.7, epsabs=1e-15)[0]
            np.testing.assert_allclose(inner[k][2], total, rtol=1e-9)


def test_values_at_a_knot_belong_to_its_right():
    law = piecewise(ExponentialTail, atoms=True)
    np.testing.assert_allclose(law.cdf(law.knots), law.right, rtol=1e-15)
    np.testing.assert_allclose(law.cdf_left(law.knots), law.left, rtol=1e-15)
    np.testing.assert_array_equal(law.ppf(law.right), law.knots)
    # All levels inside a jump have the knot as their quantile.
    inside = 0.5 * (law.left + law.right)
    np.testing.assert_array_equal(law.ppf(inside)[[1, 3, 5]], law.knots[[1, 3, 5]])
