"""Marginal calibration: the mean CDF against the distribution of the outcomes."""

import numpy as np

import trueline as tl
from trueline.metrics import _marginal


def test_both_curves_are_means_over_the_rows(case, monkeypatch):
    y, F = case
    before, w = y.copy(), np.random.default_rng(0).uniform(0.0, 2.0, y.size)
    grid = np.quantile(y, [0.9, 0.1, 0.5])
    monkeypatch.setattr(_marginal, "_BLOCK", 21)  # several blocks, the last one shorter
    result = tl.marginal_calibration(y, F, grid, sample_weight=w)
    cdf, share = F.cdf(np.sort(grid)[None, :]), w / w.sum()
    np.testing.assert_array_equal(result.thresholds, np.sort(grid))
    np.testing.assert_allclose(result.predicted, share @ cdf, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(result.observed, share @ (y[:, None] <= np.sort(grid)), rtol=1e-12)
    noise = np.sqrt(share**2 @ (cdf * (1.0 - cdf)))
    np.testing.assert_allclose(result.standard_error, noise, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(y, before)


def test_a_row_of_weight_two_counts_as_two_rows():
    F = tl.Normal([0.0, 1.0, 1.0], [1.0, 2.0, 2.0])
    twice = tl.marginal_calibration([0.5, 2.0, 2.0], F, [0.0, 1.0])
    once = tl.marginal_calibration([0.5, 2.0], F[:2], [0.0, 1.0], sample_weight=[1.0, 2.0])
    np.testing.assert_allclose(once.difference, twice.difference, rtol=1e-12)


def test_true_forecasts_differ_by_their_standard_error():
    # 400 independent draws of all outcomes: the mean square of the standardised difference
    # has the standard deviation sqrt(2 / 400) = 0.07, and this seed gives the same value always.
    rng = np.random.default_rng(1)
    loc, scale = rng.normal(size=50), rng.uniform(0.5, 2.0, size=50)
    F = tl.Normal(loc, scale)
    draws = [tl.marginal_calibration(rng.normal(loc, scale), F, [0.5]) for _ in range(400)]
    square = np.mean([(one.difference / one.standard_error) ** 2 for one in draws])
    assert abs(square - 1.0) < 3.0 * np.sqrt(2.0 / 400.0)


def test_the_default_thresholds_are_percentiles_of_the_outcomes():
    y = np.random.default_rng(0).permutation(np.arange(1000.0))
    result = tl.marginal_calibration(y, tl.Normal(np.full(1000, 500.0), 300.0))
    np.testing.assert_array_equal(result.thresholds, [0.0, *np.arange(9.0, 1000.0, 10.0)])
    np.testing.assert_allclose(result.observed, [0.001, *np.arange(1, 101) / 100], rtol=1e-15)
