"""Compression says what it cost: the largest change of the empirical CDF, and no less."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import trueline as tl


def fitted(y, weight=None):
    y = np.asarray(y, dtype=float)
    with warnings.catch_warnings():
        # Ties and small weights are meant.
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        map_ = tl.Isotonic(finite_sample=False, support=None)  # its R is the empirical CDF
        return map_.fit(y, tl.Point(np.zeros(len(y))), sample_weight=weight)


def empirical_cdf(map_, y):
    """Empirical CDF at y and just below it."""
    dist = map_.transform(tl.Point(0.0))
    return np.stack([dist.cdf(y[None, :])[0], dist.cdf(np.nextafter(y, -np.inf)[None, :])[0]])


def change(small, whole, y):
    """Largest difference of two maps on the range of y; it is reached at a score or below one."""
    difference = np.abs(empirical_cdf(small, y) - empirical_cdf(whole, y))
    # Below the smallest score there is the tail, which is not part of the empirical CDF.
    difference[1, np.argmin(y)] = 0.0
    return difference.max()


@pytest.mark.parametrize("max_knots", [2, 3, 10, 64, 999])
@pytest.mark.parametrize("kind", ["distinct", "tied", "weighted", "light"])
def test_the_error_is_the_largest_change(kind, max_knots):
    rng = np.random.default_rng(1)
    y = rng.standard_t(2, size=1000)
    weight = None
    if kind == "tied":
        y = np.round(y, 1)
    if kind == "weighted":
        weight = rng.choice([0.3, 1.0, 2.0, 7.0], size=1000)
    if kind == "light":
        weight = rng.uniform(0.0, 1.0, size=1000)
    whole = fitted(y, weight)
    small = whole.compress(max_knots)
    assert len(small.scores_.values) <= max_knots
    np.testing.assert_allclose(small.compression_error_, change(small, whole, y), atol=1e-9)


def test_evenly_spaced_ranks_cost_half_a_step_at_most_where_nothing_ties():
    y = np.random.default_rng(2).normal(size=5000)
    for max_knots in (10, 100, 1000):
        assert fitted(y).compress(max_knots).compression_error_ < 1 / (max_knots - 1)


def test_what_is_kept_is_exact():
    y = np.random.default_rng(3).normal(size=500)
    whole = fitted(y)
    small = whole.compress(20)
    kept = small.scores_.values
    np.testing.assert_allclose(empirical_cdf(small, kept)[0], empirical_cdf(whole, kept)[0])
    assert kept[0] == y.min()
    assert kept[-1] == y.max()
    assert small.scores_.total == 500


def test_compressing_again_adds_up():
    y = np.random.default_rng(4).normal(size=2000)
    whole = fitted(y)
    once = whole.compress(100)
    twice = once.compress(10)
    assert twice.compression_error_ >= change(twice, whole, y)
    assert twice.compression_error_ <= once.compression_error_ + change(twice, once, y) + 1e-9


values = st.one_of(
    st.lists(st.integers(-5, 5), min_size=1, max_size=40),
    st.lists(st.floats(-1e3, 1e3).map(lambda x: round(x, 3)), min_size=1, max_size=40),
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(values, values, st.integers(2, 12), st.integers(2, 12))
def test_the_error_of_a_merge_is_a_bound(first, second, k, m):
    one, two = fitted(first).compress(k), fitted(second).compress(m)
    whole = fitted(first + second)
    both = one.merge(two)
    y = np.unique(np.array(first + second, dtype=float))
    assert both.scores_.total == pytest.approx(len(first) + len(second))
    assert change(both, whole, y) <= both.compression_error_ + 1e-9
    other = two.merge(one)
    np.testing.assert_allclose(
        empirical_cdf(other, y), empirical_cdf(both, y), rtol=1e-9, atol=1e-9
    )


def test_a_stream_of_chunks_stays_small_and_says_what_it_lost():
    rng = np.random.default_rng(5)
    chunks = rng.normal(size=(40, 500))
    state = fitted(chunks[0])
    for chunk in chunks[1:]:
        state = state.merge(fitted(chunk)).compress(200)
    whole = fitted(chunks.ravel())
    assert len(state.scores_.values) <= 200
    lost = change(state, whole, chunks.ravel())
    assert lost <= state.compression_error_
    assert lost < 0.02
