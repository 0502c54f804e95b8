"""Isotonic laws against brute force: the min-max formula, and scipy's isotonic regression."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import isotonic_regression

from trueline.isotonic import IsotonicLaws, pool, thresholds


def min_max(response, weight):
    """Falling isotonic regression by its definition: the max over ends of the min over starts."""
    n = len(response)
    mean = np.full((n, n), np.nan)
    for a in range(n):
        for b in range(a, n):
            mean[a, b] = np.average(response[a : b + 1], weights=weight[a : b + 1])
    return np.array([max(np.nanmin(mean[: i + 1, b]) for b in range(i, n)) for i in range(n)])


def brute_force(x, y, w):
    """CDFs at all different x and y, (x, y)."""
    at, z = np.unique(x), np.unique(y)
    weight = np.array([w[x == v].sum() for v in at])
    share = [[w[(x == v) & (y <= t)].sum() for v in at] / weight for t in z]
    return np.column_stack([min_max(response, weight) for response in share])


def dense(laws):
    return laws.cdfs(np.arange(len(laws.x))).T


rows = st.lists(
    st.tuples(st.integers(0, 8), st.integers(-4, 4), st.sampled_from([0.1, 0.7, 1.0, 3.0])),
    min_size=1,
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(rows)
def test_the_laws_are_the_min_max_solution(rows):
    x, y, w = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    laws = IsotonicLaws.fit(x, y, w)
    np.testing.assert_allclose(dense(laws), brute_force(x, y, w), rtol=0, atol=1e-12)
    ones = np.ones(len(x))
    np.testing.assert_allclose(
        dense(IsotonicLaws.fit(x, y)), brute_force(x, y, ones), rtol=0, atol=1e-12
    )


def test_many_rows_have_a_thousand_thresholds_and_are_exact_there():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=5001), rng.uniform(0.1, 2.0, 5001)
    y = x + rng.normal(size=5001)
    laws = IsotonicLaws.fit(x, y, w)
    assert len(laws.thresholds) == 1000
    order = np.argsort(x)
    for k in (0, 10, 500, 998):
        below = (y[order] <= laws.thresholds[k]).astype(float)
        expected = isotonic_regression(below, weights=w[order], increasing=False).x
        found = laws.cdf(np.arange(5001), np.array(k))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(laws.cdf(np.arange(5001), np.array(999)), 1.0)


def test_thresholds_hold_equal_weight_and_keep_atoms():
    y = np.concatenate([np.zeros(3000), np.arange(1.0, 6001.0)])
    z = thresholds(y, np.where(y > 0, 0.5, 1.0))
    assert (z[0], z[-1]) == (0.0, 6000.0)
    # Weights sum to 6000, so that a threshold holds 6 of them, which are 12 rows.
    np.testing.assert_allclose(np.diff(z[1:]), 12.0, atol=1.0)
    assert len(thresholds(np.repeat(np.arange(900.0), 6))) == 900


def test_a_cascade_of_violators_takes_no_pass_for_each_block():
    # Every block is pooled with the last one, one after the other.
    n = 20_000
    response = np.append(np.linspace(1.0, 0.5, n), 1e6)
    starts, means = pool(response, np.ones(n + 1), n + 1)
    np.testing.assert_array_equal(starts, [0])
    np.testing.assert_allclose(means, response.mean(), rtol=1e-12)


@pytest.mark.parametrize("x, place, share", [(0.0, 0, 0.0), (1.5, 0, 0.25), (3.0, 1, 0.0)])
def test_a_covariate_is_located_between_those_of_rows(x, place, share):
    laws = IsotonicLaws.fit(np.array([1.0, 3.0]), np.array([0.0, 1.0]))
    found = laws.locate(np.array([x, 9.0]))
    assert (found[0][0], found[1][0]) == (place, share)
    assert (found[0][1], found[1][1]) == (1, 0.0)
