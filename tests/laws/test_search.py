"""Search in knots and solution of equations for many values at once."""

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtri

from trueline.laws import ExponentialTail, PiecewiseLaw
from trueline.laws._search import locate, normal_score, solve_increasing

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("size", [10, 5000, 70_000])
def test_locate_is_searchsorted(size):
    knots = np.sort(RNG.normal(size=3000))
    z = np.sort(np.concatenate([RNG.normal(size=size), knots[:5], [-9.0, 9.0]]))
    np.testing.assert_array_equal(locate(knots, z), np.searchsorted(knots, z, side="right") - 1)


def test_many_values_in_any_order_are_the_same_as_one_by_one():
    m = 5000
    knots = np.sort(RNG.normal(size=m))
    right = np.arange(1.0, m + 1.0) / (m + 1.0)
    law = PiecewiseLaw(knots, right, right, (ExponentialTail(0.3), ExponentialTail(0.3)))
    z = RNG.normal(scale=2.0, size=(300, 400))
    for method in ("cdf", "sf", "logcdf", "logsf", "logpdf", "integral"):
        whole = getattr(law, method)(z)
        rows = np.stack([getattr(law, method)(row) for row in z])
        np.testing.assert_array_equal(whole, rows)
    for whole, rows in zip(
        law.moments(z, 2), zip(*[law.moments(row, 2) for row in z], strict=True), strict=True
    ):
        np.testing.assert_array_equal(whole, np.stack(rows))


def test_normal_score_takes_the_small_tail():
    z = np.array([-1e4, -40.0, -1.0, 0.0, 2.0, 35.0, 1e4])
    np.testing.assert_allclose(normal_score(log_ndtr(z), log_ndtr(-z)), z, rtol=1e-9, atol=1e-15)


def test_roots_are_exact_wherever_the_bracket_is():
    target = np.array([-1e3, -2.0, 0.1, 5.0, 1e6])
    for shift in (0.0, 10.0, -1e4):
        root = solve_increasing(
            lambda x, t: np.cbrt(x) - t, np.full(5, shift - 1.0), np.full(5, shift), (target,)
        )
        np.testing.assert_allclose(root, target**3, rtol=1e-14)


def test_a_jump_is_met_from_above():
    spot = np.array([-3.0, 0.1, 1e6])
    root = solve_increasing(
        lambda x, s: np.where(x < s, -1.0, 1.0), spot - 2.0, spot + 5.0, (spot,)
    )
    assert (root >= spot).all()
    np.testing.assert_allclose(root, spot, rtol=1e-15)


def test_a_root_past_the_largest_float_is_infinite():
    target = np.array([-1e6, 1e6])
    root = solve_increasing(
        lambda x, t: np.sign(x) * np.log1p(np.abs(x)) - t, -np.ones(2), np.ones(2), (target,)
    )
    np.testing.assert_array_equal(root, [-np.inf, np.inf])


def test_few_evaluations_are_enough():
    calls = []

    def excess(x, target):
        calls.append(1)
        return normal_score(log_ndtr(x), log_ndtr(-x)) - target

    q = RNG.random(1000)
    root = solve_increasing(excess, np.full(1000, -4.0), np.full(1000, 4.0), (ndtri(q),))
    np.testing.assert_allclose(root, ndtri(q), rtol=1e-9, atol=1e-15)
    assert len(calls) < 100
