"""Rows that are intervals of scores: how they are spread, and the normal law that decides it."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm, truncnorm

from trueline.scores import Intervals, ScoreRows
from trueline.scores._intervals import _moments, _within


def rows(lower, upper, weights=None):
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    return Intervals.of_rows("standardised", lower, upper, weights)


@settings(max_examples=200)
@given(
    a=st.floats(-8.0, 8.0),
    width=st.floats(1e-3, 10.0),
    open_end=st.sampled_from(["none", "lower", "upper"]),
)
def test_moments_are_those_of_a_truncated_normal(a, width, open_end):
    low, high = a, a + width
    low = -np.inf if open_end == "lower" else low
    high = np.inf if open_end == "upper" else high
    first, second = _moments(np.array([low]), np.array([high]))
    mean, var = truncnorm.stats(low, high)
    np.testing.assert_allclose(first, mean, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(second, var + mean**2, rtol=1e-5, atol=1e-6)


def test_moments_far_out_are_those_of_the_nearest_point():
    first, second = _moments(np.array([300.0, -np.inf, 5.0]), np.array([301.0, -250.0, 5.0]))
    np.testing.assert_allclose(first, [300.0, -250.0, 5.0], rtol=1e-4)
    np.testing.assert_allclose(second, first**2, rtol=1e-3)


@settings(max_examples=200)
@given(
    lower=st.floats(-50.0, 50.0) | st.just(-np.inf),
    width=st.floats(1e-6, 100.0) | st.just(np.inf),
    mean=st.floats(-5.0, 5.0),
    std=st.floats(0.01, 10.0),
)
def test_points_lie_in_their_interval_and_rise(lower, width, mean, std):
    upper = np.inf if np.isinf(width) else (lower if np.isfinite(lower) else 0.0) + width
    share = np.array([[0.1, 0.5, 0.9]])
    x = _within(np.array([lower]), np.array([upper]), mean, std, share)
    assert np.isfinite(x).all()
    assert ((x >= lower) & (x <= upper)).all()
    assert (np.diff(x, axis=1) >= 0).all()
    # Where the law has mass, the points are its quantiles within the interval.
    ends = norm.cdf([lower, upper], mean, std)
    if ends[1] - ends[0] > 1e-3:
        np.testing.assert_allclose(
            norm.cdf(x[0], mean, std), ends[0] + share[0] * (ends[1] - ends[0]), atol=1e-9
        )


@pytest.mark.parametrize("mean, std", [(0.0, 1.0), (3.0, 0.4), (-20.0, 6.0)])
def test_the_law_of_censored_scores_is_found(mean, std):
    """From four intervals, two of them open: a standard error of 1.5% of the deviation."""
    z = np.random.default_rng(0).normal(size=5000)
    lower, upper = mean + std * np.floor(z), mean + std * (np.floor(z) + 1.0)
    lower[z < -1.0], upper[z < -1.0] = -np.inf, mean - std
    lower[z > 1.0], upper[z > 1.0] = mean + std, np.inf
    found = rows(lower, upper).normal_law()
    np.testing.assert_allclose(found, (mean, std), atol=3 * 0.015 * std)


def test_the_law_where_intervals_say_little():
    whole = rows([-np.inf] * 3, [np.inf] * 3)
    assert whole.normal_law() == (0.0, 1.0)
    assert np.isfinite(whole.values).all()
    # Two sides of one value: the deviation is open, and must not be a rounding error.
    for value in (-5.0, 0.0, 1e-3):
        mean, std = rows([-np.inf] * 30 + [value] * 70, [value] * 30 + [np.inf] * 70).normal_law()
        assert std > 1e-4
        assert norm.cdf(value, mean, std) == pytest.approx(0.3, abs=0.01)


def test_an_extreme_score_does_not_spread_the_others():
    lower, upper = np.tile([-1.0, 0.0], 50), np.tile([0.0, 1.0], 50)
    plain = rows(lower, upper).normal_law()
    spoilt = rows(np.append(lower, 1e8), np.append(upper, 1e8)).normal_law()
    np.testing.assert_allclose(spoilt, plain, atol=1e-9)


def test_the_weight_of_a_row_stays_in_its_interval():
    rng = np.random.default_rng(0)
    lower = rng.normal(size=400)
    upper = lower + rng.exponential(size=400) * (rng.random(400) < 0.7)
    weight = rng.uniform(0.5, 2.0, size=400)
    scores = rows(lower, upper, weight)
    assert scores.total == pytest.approx(weight.sum())
    x, w = scores.points()
    assert w.sum() == pytest.approx(weight.sum())
    # The weight below any value is between those of rows that end there and that begin there.
    for value in np.linspace(-2.0, 3.0, 21):
        found = w[x <= value].sum()
        assert weight[upper <= value].sum() - 1e-9 <= found
        assert found <= weight[lower <= value].sum() + 1e-9


def test_rows_of_both_kinds_join():
    wide, narrow = rows([0.0, 1.0], [1.0, np.inf]), ScoreRows.of_scores([0.5, 2.0]).sort()
    joined = wide.join(narrow)
    lower, upper, weights = joined.rows()
    assert sorted(zip(lower.tolist(), upper.tolist(), strict=True)) == [
        (0.0, 1.0),
        (0.5, 0.5),
        (1.0, np.inf),
        (2.0, 2.0),
    ]
    assert weights is None
    assert (joined.total, joined.distinct, joined.effective_rows) == (4.0, 4, 4.0)
