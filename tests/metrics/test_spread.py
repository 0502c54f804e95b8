"""Sharpness and ENCE."""

import numpy as np
import pytest

import trueline as tl


def test_known_root_mean_squared_scale(three):
    np.testing.assert_allclose(np.sqrt(tl.sharpness(three[1])), 0.648074069840786, rtol=1e-14)


def test_sharpness_is_the_mean_variance(case):
    _, F = case
    w = np.random.default_rng(0).uniform(size=len(F))
    np.testing.assert_allclose(tl.sharpness(F), F.var().mean(), rtol=1e-14)
    expected = np.average(F.var(), weights=w)
    np.testing.assert_allclose(tl.sharpness(F, sample_weight=w), expected, rtol=1e-14)


@pytest.mark.parametrize("df", [0.5, 1.0, 1.5, 2.0])
def test_without_a_finite_variance_sharpness_is_infinite(df):
    F = tl.StudentT([0.0, 1.0], 1.0, df)
    assert tl.sharpness(F) == np.inf
    assert tl.ence([0.0, 1.0], F) == 1.0


def plain_ence(y, mean, std, n_bins):
    """Levi et al., with rows split into bins of equal count."""
    errors = []
    for rows in np.array_split(np.argsort(std, kind="stable"), n_bins):
        rmv = np.sqrt(np.mean(std[rows] ** 2))
        rmse = np.sqrt(np.mean((y - mean)[rows] ** 2))
        errors.append(abs(rmv - rmse) / rmv)
    return np.mean(errors)


@pytest.mark.parametrize("n_bins", [1, 2, 10, 60])
def test_ence_is_that_of_a_plain_loop(n_bins):
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=60), rng.uniform(0.5, 2.0, size=60)
    y = mean + 1.5 * std * rng.normal(size=60)
    expected = plain_ence(y, mean, std, n_bins)
    np.testing.assert_allclose(tl.ence(y, tl.Normal(mean, std), n_bins), expected, rtol=1e-12)


def test_bins_hold_equal_counts_up_to_one_row():
    # Bin b holds the rows with at least b / 3 of all below them: 4, 3 and 3 of 10.
    std = np.arange(1.0, 11.0)
    y = np.zeros(10)
    y[4:7] = 2.0 * np.sqrt(np.mean(std[4:7] ** 2))
    expected = (1.0 + 1.0 + 1.0) / 3
    np.testing.assert_allclose(tl.ence(y, tl.Normal(np.zeros(10), std), 3), expected, rtol=1e-12)


def test_equal_scales_share_one_bin():
    y = np.array([1.0, -1.0, 3.0, -3.0])
    F = tl.Normal(np.zeros(4), 2.0)
    rmse = np.sqrt(5.0)
    np.testing.assert_allclose(tl.ence(y, F, 10), (rmse - 2.0) / 2.0, rtol=1e-15)


def test_tied_scales_are_not_split_by_the_order_of_rows():
    std = np.repeat([1.0, 2.0], [7, 3])
    y = np.arange(10.0)
    orders = (np.arange(10), np.arange(10)[::-1])
    first, second = (tl.ence(y[o], tl.Normal(np.zeros(10), std[o]), 4) for o in orders)
    np.testing.assert_allclose(first, second, rtol=1e-15)


def test_with_fewer_rows_than_bins_each_row_is_a_bin():
    std = np.array([1.0, 2.0, 4.0])
    F = tl.Normal(np.zeros(3), std)
    np.testing.assert_allclose(tl.ence(2 * std, F, 10), 1.0, rtol=1e-15)


def test_a_forecast_without_spread():
    assert tl.ence([1.0, 2.0], tl.Point([0.0, 0.0])) == np.inf
    assert tl.ence([0.0, 0.0], tl.Point([0.0, 0.0])) == 0.0


def test_ence_of_a_true_forecast_is_of_the_order_of_its_noise():
    # abs(rmse / rmv - 1) is about |N(0, 1)| / sqrt(2 n / n_bins) in each bin.
    rng = np.random.default_rng(0)
    n, n_bins = 200_000, 10
    scale = rng.uniform(0.5, 2.0, size=n)
    value = tl.ence(scale * rng.normal(size=n), tl.Normal(np.zeros(n), scale), n_bins)
    expected = np.sqrt(2 / np.pi) / np.sqrt(2 * n / n_bins)
    assert 0.3 * expected < value < 2.0 * expected


def test_weight_zero_leaves_a_row_out_of_the_bins():
    F = tl.Normal(np.zeros(4), [1.0, 2.0, 3.0, 1e100])
    y = np.array([1.0, 1.0, 1.0, 1e100])
    np.testing.assert_allclose(
        tl.ence(y, F, 3, sample_weight=[1, 1, 1, 0]), tl.ence(y[:3], F[:3], 3), rtol=1e-15
    )
