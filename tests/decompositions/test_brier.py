"""The Brier score and its parts."""

import dataclasses
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

import trueline as tl


def draw(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.9, size=n)
    return (rng.random(n) < 0.2 + 0.5 * p).astype(int), p, rng.exponential(size=n)


def parts(result):
    return result.calibration + result.refinement + result.within


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0, 1e3)), min_size=1, max_size=40
    ),
    bins=st.one_of(
        st.integers(1, 12), st.just([0.0, 0.5, 1.0]), st.just([0.0, 0.1, 0.11, 0.9, 1.0])
    ),
)
def test_the_parts_add_up_exactly(rows, bins):
    y, p, w = map(np.array, zip(*rows, strict=True))
    if w.max() == 0.0:
        w[:] = 1.0
    result = tl.brier_decomposition(y, p, bins=bins, sample_weight=w)
    assert abs(parts(result) - result.brier) < 1e-12
    assert abs(result.brier - np.average((p - y) ** 2, weights=w)) < 1e-12
    # What is left besides the paper's sharpness is 0 on average if the forecast is true.
    left = np.average((y - p) * (1.0 - 2.0 * p), weights=w)
    assert abs(result.sharpness + left - result.brier) < 1e-12


def test_the_score_and_the_curve_are_those_of_scikit_learn():
    y, p, w = draw()
    result = tl.brier_decomposition(y, p, sample_weight=w)
    expected = brier_score_loss(y, p, sample_weight=w)
    np.testing.assert_allclose(result.brier, expected, rtol=1e-12)
    observed, predicted = calibration_curve(y, p, n_bins=10)
    plain = tl.brier_decomposition(y, p)
    np.testing.assert_allclose(plain.observed, observed, rtol=1e-12)
    np.testing.assert_allclose(plain.predicted, predicted, rtol=1e-12)


def test_the_parts_are_those_of_the_definition():
    y, p, w = draw()
    result = tl.brier_decomposition(y, p, bins=4, sample_weight=w)
    calibration = refinement = within = 0.0
    for low, high in [(-1, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)]:
        inside = (low < p) & (p <= high)
        share = w[inside].sum() / w.sum()
        mean_p, mean_y = (np.average(a[inside], weights=w[inside]) for a in (p, y))
        (var_p, cov), _ = np.cov(p[inside], y[inside], aweights=w[inside], ddof=0)
        calibration += share * (mean_p - mean_y) ** 2
        refinement += share * mean_y * (1 - mean_y)
        within += share * (var_p - 2 * cov)
    np.testing.assert_allclose(result.calibration, calibration, rtol=1e-12)
    np.testing.assert_allclose(result.refinement, refinement, rtol=1e-12)
    np.testing.assert_allclose(result.within, within, rtol=1e-10)
    np.testing.assert_allclose(result.sharpness, np.average(p * (1 - p), weights=w), rtol=1e-12)


def test_with_one_forecast_a_bin_there_is_nothing_within():
    y, p, _ = draw()
    p = np.round(p, 1)
    result = tl.brier_decomposition(y, p)
    # 0 and 0.1 share the first bin; apart from that there are two parts only.
    assert abs(result.within) > 1e-6
    apart = tl.brier_decomposition(y, p, bins=[0.0, 0.05, *np.arange(1, 10) / 10 + 0.05, 1.0])
    assert abs(apart.within) < 1e-15
    assert abs(apart.calibration + apart.refinement - apart.brier) < 1e-12


def test_the_bins_are_those_of_the_paper():
    p = [0.0, 0.1, np.nextafter(0.1, 1.0), 0.3, 0.7, 1.0]
    result = tl.brier_decomposition([0, 1, 1, 0, 1, 1], p)
    np.testing.assert_array_equal(result.counts, [2, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    np.testing.assert_array_equal(result.edges, np.arange(11) / 10)
    np.testing.assert_array_equal(result.observed[:4], [0.5, 1.0, 0.0, np.nan])
    np.testing.assert_allclose(result.predicted[[0, 9]], [0.05, 1.0])
    assert np.isnan(result.predicted[[3, 4, 5, 7, 8]]).all()


def test_a_perfect_forecast_has_no_parts():
    result = tl.brier_decomposition([0, 1, 1], [0.0, 1.0, 1.0])
    assert (result.brier, result.calibration, result.refinement, result.within) == (0, 0, 0, 0)
    assert (result.sharpness, result.calibration_floor) == (0, 0)


def test_the_base_rate_is_calibrated_but_not_refined():
    result = tl.brier_decomposition([0, 0, 0, 1], [0.25] * 4)
    assert result.calibration == result.within == 0.0
    assert result.refinement == result.brier == result.sharpness == 0.25 * 0.75


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5, 3.0, 1.0, 0.0]], ids=["1", "w"])
def test_the_floor_is_the_mean_over_all_outcomes_of_a_true_forecast(weights):
    p = np.array([0.05, 0.12, 0.17, 0.52, 0.58, 0.9])
    mean = 0.0
    for y in product([0, 1], repeat=p.size):
        chance = np.prod(np.where(y, p, 1.0 - p))
        result = tl.brier_decomposition(y, p, sample_weight=weights)
        mean += chance * result.calibration
    np.testing.assert_allclose(result.calibration_floor, mean, rtol=1e-12)


def test_weights_count_as_repeats_do():
    y, p, _ = draw(60)
    w = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = dataclasses.asdict(tl.brier_decomposition(y, p, sample_weight=w))
    repeated = dataclasses.asdict(tl.brier_decomposition(np.repeat(y, w), np.repeat(p, w)))
    # A weight says how much a row counts; repeats are more rows, which leave less to chance.
    del weighted["calibration_floor"], repeated["calibration_floor"]
    for name, value in weighted.items():
        np.testing.assert_allclose(value, repeated[name], rtol=1e-12, atol=1e-15, err_msg=name)


def test_booleans_are_outcomes_and_rows_may_come_in_any_order():
    y, p, _ = draw()
    order = np.random.default_rng(2).permutation(y.size)
    one, other = tl.brier_decomposition(y, p), tl.brier_decomposition(y[order] == 1, p[order])
    np.testing.assert_allclose(one.calibration, other.calibration, rtol=1e-12)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_the_result_is_frozen_and_owns_its_edges():
    edges = np.array([0.0, 0.4, 1.0])
    result = tl.brier_decomposition([0, 1], [0.2, 0.7], bins=edges)
    edges[1] = 0.9
    assert result.edges[1] == 0.4
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.brier = 0.0


@pytest.mark.parametrize(
    "y, p, options, message",
    [
        (
            [-1, 1],
            [0.1, 0.2],
            {},
            "y holds -1; expected outcomes of 0 and 1, or booleans. Turn class",
        ),
        ([0, 0.5], [0.1, 0.2], {}, "y holds 0.5; expected outcomes of 0 and 1"),
        ([0, np.nan], [0.1, 0.2], {}, r"y\[1\] is nan; expected finite numbers"),
        ([0, 1], [0.1, 1.2], {}, r"p holds 1.2; expected probabilities, in \[0, 1\]"),
        ([0, 1], [0.1, -2.0], {}, "p holds -2; expected .* Margins or log odds"),
        ([0, 1], [0.1, np.nan], {}, r"p\[1\] is nan; expected finite numbers"),
        ([0, 1], [[0.9, 0.1], [0.2, 0.8]], {}, r"p has shape \(2, 2\); .* p\[:, 1\]"),
        ([0, 1], [0.1], {}, "p has 1 rows but y has 2"),
        ([], [], {}, "y is empty"),
        ([0, 1], [0.1, 0.2], {"bins": 0}, "bins is 0; expected an integer of 1 or more"),
        ([0, 1], [0.1, 0.2], {"bins": 2.5}, "bins is 2.5; expected an integer"),
        ([0, 1], [0.1, 0.2], {"bins": [0.1, 1.0]}, "strictly increasing from 0 to 1"),
        ([0, 1], [0.1, 0.2], {"bins": [0.0, 0.5, 0.5, 1.0]}, "strictly increasing from 0 to 1"),
        ([0, 1], [0.1, 0.2], {"sample_weight": [1.0, -1.0]}, "expected weights of 0 or more"),
    ],
)
def test_bad_input(y, p, options, message):
    with pytest.raises(ValueError, match=message):
        tl.brier_decomposition(y, p, **options)
