"""Probability integral transforms."""

import numpy as np
import pytest
import scipy.stats

import trueline as tl
from trueline.distributions import RecalibratedLocationScale
from trueline.laws import ExponentialTail, PiecewiseLaw
from trueline.metrics._pit import Ecdf


def test_pit_is_the_cdf(case):
    y, F = case
    np.testing.assert_array_equal(tl.pit(y, F), F.cdf(y))


def test_pit_is_zero_only_where_the_cdf_is():
    assert tl.Normal(0, 1).cdf(-60.0)[0] == 0.0
    assert 0.0 < tl.pit([-60.0], tl.Normal(0, 1))[0] < 1e-300
    assert tl.pit([-60.0], tl.Point(0.0))[0] == 0.0
    assert tl.pit([-60.0], tl.Samples([[0.0, 1.0]]))[0] == 0.0


def test_without_steps_randomised_is_plain():
    y = np.linspace(-1, 1, 9)
    F = tl.Normal(np.zeros(9), 1.0)
    np.testing.assert_array_equal(tl.pit(y, F, randomized=True, random_state=0), tl.pit(y, F))


def test_randomised_lies_between_the_ends_of_the_step():
    F = tl.Quantiles([0.1, 0.3, 0.6, 0.9], [[0.0, 1.0, 1.0, 3.0]] * 500)
    u = tl.pit(np.ones(500), F, randomized=True, random_state=0)
    assert 0.3 <= u.min() < 0.31
    assert 0.59 < u.max() <= 0.6


def test_randomised_spreads_the_rank_among_draws():
    F = tl.Samples([[1.0, 2.0, 2.0, 5.0]] * 4000)
    for y, low, high in [(0.0, 0.0, 0.2), (2.0, 0.2, 0.8), (3.0, 0.6, 0.8), (9.0, 0.8, 1.0)]:
        u = tl.pit(np.full(4000, y), F, randomized=True, random_state=1)
        np.testing.assert_allclose([u.min(), u.max()], [low, high], atol=0.002)


def test_a_seed_gives_the_same_values_again():
    F = tl.Samples(np.arange(20.0).reshape(4, 5))
    first, second = (tl.pit([1, 6, 12, 30], F, randomized=True, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def atomic_law():
    knots = np.array([-1.0, 0.0, 1.0])
    left, right = np.array([0.2, 0.4, 0.8]), np.array([0.2, 0.6, 0.8])
    return PiecewiseLaw(knots, left, right, (ExponentialTail(1.0), ExponentialTail(1.0)))


def smooth_law():
    shares = np.array([0.25, 0.5, 0.75])
    knots = np.array([-1.0, 0.0, 1.0])
    return PiecewiseLaw(knots, shares, shares, (ExponentialTail(1.0), ExponentialTail(1.0)))


def test_which_forecasts_have_steps():
    one = np.ones(1)
    assert not tl.Normal(0, 1)._may_have_atoms
    assert not tl.StudentT(0, 1, 3)._may_have_atoms
    assert not RecalibratedLocationScale(one, one, smooth_law(), "standardised")._may_have_atoms
    assert RecalibratedLocationScale(one, one, atomic_law(), "standardised")._may_have_atoms
    assert tl.Point(0.0)._may_have_atoms
    assert tl.Samples([[0.0, 1.0]])._may_have_atoms


def test_randomised_values_of_an_atom_are_uniform():
    # Exact law: the share below p is binomial. 99.9%, for nine levels together.
    n = 5000
    F = RecalibratedLocationScale(np.zeros(n), np.ones(n), atomic_law(), "standardised")
    y = F.sample(1, random_state=0)[:, 0]
    u = tl.pit(y, F, randomized=True, random_state=1)
    for p in np.arange(1, 10) / 10:
        low, high = scipy.stats.binom(n, p).interval(1 - 0.001 / 9)
        assert low <= np.sum(u <= p) <= high


@pytest.mark.parametrize("seed", range(5))
def test_the_distance_from_uniform_is_that_of_scipy(seed):
    u = np.random.default_rng(seed).beta(2, 1, size=37)
    expected = scipy.stats.ks_1samp(u, scipy.stats.uniform.cdf).statistic
    np.testing.assert_allclose(Ecdf(u.copy(), None).distance(), expected, rtol=1e-13)
    np.testing.assert_allclose(Ecdf(u, np.full(37, 0.3)).distance(), expected, rtol=1e-13)


def test_equal_weights_are_no_weights():
    u = np.random.default_rng(0).uniform(size=50)
    levels = np.arange(11) / 10
    np.testing.assert_allclose(
        Ecdf(u.copy(), None).at(levels), Ecdf(u, np.full(50, 7.0)).at(levels), rtol=1e-14
    )
