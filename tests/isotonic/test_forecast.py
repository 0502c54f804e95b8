"""Forecasts of isotonic laws against sums over their masses."""

import numpy as np
import pytest

import trueline as tl
from trueline.isotonic import IsotonicForecast, IsotonicLaws, Kernel
from trueline.testing import check_distribution

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=300), 1)
Y = X + RNG.normal(size=300) * np.exp(0.3 * X)
LAWS = IsotonicLaws.fit(X, Y)
AT = np.concatenate([[-9.0, 9.0], X[:3], RNG.normal(size=20)])
G = IsotonicForecast.at(LAWS, AT)


@pytest.fixture(scope="module")
def masses():
    """Probability of each threshold in each row, interpolated between the laws of two rows."""
    dense = np.diff(LAWS.cdfs(np.arange(len(LAWS.x))).T, axis=1, prepend=0.0)
    return np.column_stack([np.interp(AT, LAWS.x, mass) for mass in dense.T])


def test_it_keeps_the_contract_of_distributions():
    laws = IsotonicLaws.fit(X[:60], Y[:60])
    check_distribution(IsotonicForecast.at(laws, AT))


def test_cdf_quantiles_and_moments(masses):
    z, cdf = LAWS.thresholds, np.cumsum(masses, axis=1)
    np.testing.assert_allclose(G.cdf(z[None, :]), cdf, atol=1e-12)
    np.testing.assert_allclose(G.pmf(z[None, :]), masses, atol=1e-12)
    q = np.array([0.013, 0.25, 0.637, 0.99])
    expected = np.stack([z[(cdf < level).sum(axis=1)] for level in q], axis=1)
    np.testing.assert_array_equal(G.ppf(q), expected)
    mean = masses @ z
    np.testing.assert_allclose(G.mean(), mean, atol=1e-12)
    np.testing.assert_allclose(G.var(), masses @ z**2 - mean**2, atol=1e-11)
    np.testing.assert_allclose(G.expect(np.cos), masses @ np.cos(z), atol=1e-12)


def test_crps_is_that_of_the_masses(masses):
    y = np.linspace(-20.0, 20.0, 101)[None, :] + AT[:, None]
    z = LAWS.thresholds
    near = (masses[:, None, :] * np.abs(z - y[..., None])).sum(axis=2)
    pairs = ((masses @ np.abs(z[:, None] - z)) * masses).sum(axis=1)
    np.testing.assert_allclose(G.crps(y), near - 0.5 * pairs[:, None], atol=1e-12)
    np.testing.assert_allclose(G._expected_distance(), pairs, atol=1e-12)


def test_the_crps_of_a_mixture_is_exact():
    H = IsotonicForecast.at(IsotonicLaws.fit(X, Y + 1.0), AT)
    edges = np.unique(np.concatenate([LAWS.thresholds, LAWS.thresholds + 1.0, [0.3]]))
    cdf = 0.5 * (G.cdf(edges[None, :]) + H.cdf(edges[None, :]))
    expected = ((cdf - (edges >= 0.3)) ** 2)[:, :-1] @ np.diff(edges)
    np.testing.assert_allclose(tl.Mixture([G, H]).crps(0.3), expected, rtol=1e-5)


def test_no_row_depends_on_its_block(monkeypatch):
    whole = G.crps(0.1)
    monkeypatch.setattr("trueline.isotonic._forecast._BLOCK", 1)
    np.testing.assert_allclose(G.crps(0.1), whole, rtol=1e-13)


def test_a_kernel_adds_its_variance_and_keeps_the_mean():
    F = Kernel(0.5)(G)
    inner = slice(2, None)
    np.testing.assert_allclose(F.mean()[inner], G.mean()[inner], atol=0.05)
    np.testing.assert_allclose((F.var() - G.var())[inner], 0.25, atol=0.15)
    assert (np.diff(F.ppf(np.linspace(0.01, 0.99, 99)), axis=1) > 0).all()


def test_a_kernel_leaves_the_ends_where_outcomes_pile_up():
    wet = np.maximum(Y, 0.0)
    laws = IsotonicLaws.fit(X, wet)
    kernel = Kernel.learn(X, wet)
    assert kernel.ends == tl.Support(low=0.0)
    rain = IsotonicForecast.at(laws, AT)
    smooth = kernel(rain)
    assert smooth.ppf(0.001).min() == 0.0
    np.testing.assert_allclose(smooth.cdf(0.0), rain.cdf(0.0), atol=0.1)
