"""The calibration test: its exact law, and that it keeps its size."""

import numpy as np
import pytest
import scipy.stats

import trueline as tl

REPEATS = 2000


def p_values(draw):
    """p-values of repeated tests; draw gives outcomes and forecast."""
    rng = np.random.default_rng(20)
    return np.array(
        [tl.calibration_test(*draw(rng), random_state=rng).p_value for _ in range(REPEATS)]
    )


def assert_uniform(p):
    """Shares at or below 1, 5, 25, 50 and 75% inside their exact binomial law, 99.9% in all."""
    levels = [0.01, 0.05, 0.25, 0.5, 0.75]
    for level in levels:
        low, high = scipy.stats.binom(REPEATS, level).interval(1 - 0.001 / len(levels))
        assert low <= np.sum(p <= level) <= high


def normal(rng):
    return rng.normal(size=40), tl.Normal(np.zeros(40), 1.0)


def few_draws(rng):
    values = rng.normal(size=(40, 6))
    return values[:, 0], tl.Samples(values[:, 1:])


def counts(rng):
    """Discrete outcomes: most rows tie with a draw."""
    values = rng.poisson(2.0, size=(40, 6))
    return values[:, 0], tl.Samples(values[:, 1:])


def zero_inflated(rng):
    F = tl.Quantiles([0.1, 0.4, 0.8, 0.9], [[0.0, 0.0, 2.0, 3.0]] * 40)
    return F.sample(1, random_state=rng)[:, 0], F


@pytest.mark.parametrize("draw", [normal, few_draws, counts, zero_inflated])
def test_p_values_of_a_calibrated_forecast_are_uniform(draw):
    assert_uniform(p_values(draw))


def test_the_test_nearly_keeps_its_size_under_weights():
    # Approximate, so on top of the binomial law (99.9%) the size may be off by one hundredth.
    rng = np.random.default_rng(4)
    repeats, F = 1000, tl.Normal(np.zeros(200), 1.0)
    rejected = 0
    for _ in range(repeats):
        y, w = rng.normal(size=200), rng.exponential(size=200)
        rejected += tl.calibration_test(y, F, sample_weight=w).p_value <= 0.05
    low, high = (scipy.stats.binom(repeats, size).interval(0.999) for size in (0.04, 0.06))
    assert low[0] <= rejected <= high[1]


def test_it_is_that_of_scipy():
    y = np.random.default_rng(0).normal(0.1, size=123)
    ours = tl.calibration_test(y, tl.Normal(np.zeros(123), 1.0))
    theirs = scipy.stats.ks_1samp(y, scipy.stats.norm.cdf, method="exact")
    np.testing.assert_allclose(ours.statistic, theirs.statistic, rtol=1e-13)
    np.testing.assert_allclose(ours.p_value, theirs.pvalue, rtol=1e-10)
    assert ours.n_effective == 123.0
    assert ours.method == "Kolmogorov-Smirnov"


def test_the_method_says_what_was_done():
    F = tl.Samples([[0.0, 1.0], [2.0, 3.0]])
    result = tl.calibration_test([0.5, 2.5], F, sample_weight=[1.0, 2.0], random_state=0)
    expected = "Kolmogorov-Smirnov on the randomised PIT, effective number of rows"
    assert result.method == expected
    np.testing.assert_allclose(result.n_effective, 9 / 5, rtol=1e-15)


def test_equal_weights_change_nothing():
    y = np.random.default_rng(0).normal(size=50)
    F = tl.Normal(np.zeros(50), 1.0)
    plain, weighted = (tl.calibration_test(y, F, sample_weight=w) for w in (None, np.full(50, 0.1)))
    np.testing.assert_allclose(weighted.p_value, plain.p_value, rtol=1e-10)


def test_an_overconfident_forecast_is_found_out():
    y = np.random.default_rng(0).normal(size=300)
    assert tl.calibration_test(y, tl.Normal(np.zeros(300), 0.5)).p_value < 1e-6
    assert tl.calibration_test(y, tl.Point(np.zeros(300))).p_value < 1e-6
