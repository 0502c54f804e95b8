"""The calibration test: its exact law, and that it keeps its size."""

import itertools

import numpy as np
import pytest
import scipy.special
import scipy.stats

import trueline as tl
from trueline.metrics._klotz import _gamma_cdf, _law, klotz_p_value
from trueline.metrics._kolmogorov import (
    _probability_below,
    _series,
    one_sample_p_value,
    two_sample_p_value,
)

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


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40, 140])
def test_the_law_of_few_rows_is_exact(n):
    statistics = np.concatenate([[0.0, 0.4 / n, 0.5, 1.0], np.linspace(0.3, 4.0, 75) / n**0.5])
    ours = [one_sample_p_value(d, n) for d in statistics]
    np.testing.assert_allclose(ours, scipy.stats.kstwo.sf(statistics, n), rtol=1e-9)


@pytest.mark.parametrize("n", [500, 2000])
def test_the_power_of_the_matrix_is_exact(n):
    # For small p-values the law of one side is enough to compare with.
    d = np.linspace(2.1, 2.3, 5) / n**0.5
    ours = [1.0 - _probability_below(x, n) for x in d]
    np.testing.assert_allclose(ours, 2.0 * scipy.special.smirnov(n, d), rtol=0, atol=1e-11)


def test_the_series_is_close_to_the_exact_law_where_it_takes_over():
    d = np.linspace(0.1, 2.2, 80) / 501**0.5
    ours, exact = ([f(x, 501) for x in d] for f in (_series, _probability_below))
    np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n", [501, 2000, 2001, 10_000, 100_000])
def test_the_law_of_many_rows_is_that_of_scipy(n):
    # The law of scipy is itself a series for so many rows.
    d = np.linspace(0.0, 3.5, 100) / n**0.5
    ours, theirs = np.array([one_sample_p_value(x, n) for x in d]), scipy.stats.kstwo.sf(d, n)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    # The relative error grows as the p-value falls; it is stated for 1e-9.
    stated = theirs > 1e-9
    np.testing.assert_allclose(ours[stated], theirs[stated], rtol=0.02)


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


# ---- with a map, whose own noise is part of the law ------------------------------------------


def rejections(n_fit, n, repeats, *, narrow=1.0, level=0.05):
    """Number of tests of isotonic maps that reject; `narrow` scales the recalibrated forecast."""
    rng = np.random.default_rng(n_fit + n)
    F, G = tl.Normal(np.zeros(n_fit), 0.3), tl.Normal(np.zeros(n), 0.3 * narrow)
    found = 0
    for _ in range(repeats):
        R = tl.Isotonic().fit(rng.normal(size=n_fit), F)
        found += tl.calibration_test(rng.normal(size=n), R.transform(G)).p_value <= level
    return found


@pytest.mark.parametrize(
    "n_fit, n", [(100, 1000), (20, 500), (1000, 100), (20, 20), (2000, 31), (300, 200)]
)
def test_a_perfect_map_is_rejected_as_often_as_the_level_says(n_fit, n):
    # Exact law: the p-value is at most 0.05 with the probability of the two-sample test, at most
    # 0.05 and a little less because ranks are coarse. 99.9% of the binomial law on top.
    size = max(p for p in p_values_of_ranks(n_fit, n) if p <= 0.05)
    low, high = scipy.stats.binom(1000, size).interval(0.999)
    assert low <= rejections(n_fit, n, 1000) <= high
    assert n_fit * n < 1000 or 0.04 < size <= 0.05


def p_values_of_ranks(n_fit, n):
    """All p-values of the two-sample test in the range that matters."""
    step = np.gcd(n_fit, n)
    reach = np.arange(step, 3 * np.sqrt(n_fit * n * (n_fit + n)) + step, step)
    return [two_sample_p_value(h / (n_fit * n), n_fit, n) for h in reach[:: 1 + reach.size // 400]]


def test_a_map_that_is_too_narrow_is_still_found_out():
    assert (
        rejections(1000, 1000, 100, narrow=0.8) > 65
    )  # 80% of the runs, less three standard errors


@pytest.mark.parametrize("n, m", [(1, 1), (4, 7), (20, 20), (33, 90), (250, 1)])
def test_the_two_sample_law_is_that_of_scipy(n, m):
    rng = np.random.default_rng(n + m)
    for shift in (0.0, 0.3, 1.0):
        expected = scipy.stats.ks_2samp(
            rng.normal(size=n), shift + rng.normal(size=m), method="exact"
        )
        found = two_sample_p_value(expected.statistic, n, m)
        np.testing.assert_allclose(found, expected.pvalue, rtol=1e-8)


@pytest.mark.parametrize("n, m", [(2000, 2000), (100, 90_000), (1000, 5000)])
@pytest.mark.parametrize("p", [0.3, 0.05, 0.001])
def test_the_asymptotic_law_continues_the_exact_one(n, m, p):
    statistic = np.sqrt((n + m) / (n * m)) * scipy.special.kolmogi(p)
    exact = two_sample_p_value(statistic, n, m)
    rows = np.sqrt(n * m / (n + m))
    smooth = scipy.special.kolmogorov((rows + 0.12 + 0.11 / rows) * statistic)
    np.testing.assert_allclose(smooth, exact, rtol=0.05)
    # Many rows cost no more, and a small p-value keeps its digits.
    assert (
        two_sample_p_value(0.5, 10**6, 10**7) == 0.0 < two_sample_p_value(0.3, 1000, 1000) < 1e-30
    )


def test_the_statistic_is_that_of_the_ranks():
    rng = np.random.default_rng(5)
    y, past = rng.normal(size=70), rng.normal(size=33)
    R = tl.Isotonic().fit(past, tl.Normal(np.zeros(33), 2.0))
    found = tl.calibration_test(y, R.transform(tl.Normal(np.zeros(70), 2.0)))
    expected = scipy.stats.ks_2samp(past, y, method="exact")
    np.testing.assert_allclose(found.statistic, expected.statistic, rtol=1e-12)
    widths = klotz_p_value(lambda levels: np.mean(y[:, None] <= np.sort(past), axis=0), 70, 33)
    np.testing.assert_allclose(found.p_value, 2 * min(expected.pvalue, widths), rtol=1e-8)
    assert (found.n_fit, found.method) == (33, "two-sample Kolmogorov-Smirnov and Klotz")


def test_the_law_of_klotz_has_the_moments_of_all_orders_of_the_rows():
    scores, mean, deviation, skewness = _law(9, 5)
    sums = [scores[list(ranks)].sum() for ranks in itertools.combinations(range(14), 5)]
    found = np.mean(sums), np.std(sums), scipy.stats.skew(sums)
    np.testing.assert_allclose((mean, deviation, skewness), found, rtol=1e-9)
    z = np.linspace(-3.0, 3.0, 7)
    for skew in (skewness, -skewness, 1e-4):
        expected = scipy.stats.pearson3.cdf(z, skew)
        np.testing.assert_allclose([_gamma_cdf(v, skew) for v in z], expected, atol=1e-4)


def test_a_map_of_few_rows_that_is_too_narrow_is_rejected():
    """The Kolmogorov-Smirnov test alone rejects one in seven."""
    rng, F, rejected = np.random.default_rng(0), tl.Normal(np.zeros(1000), 1.0), 0
    for _ in range(20):
        G = tl.Isotonic().fit(rng.normal(size=100), F[:100]).transform(F)
        rejected += tl.calibration_test(1.25 * rng.normal(size=1000), G).p_value < 0.05
    assert rejected > 10


def test_rows_of_the_fit_can_be_given():
    y, F = np.random.default_rng(0).normal(size=200), tl.Normal(np.full(200, 0.2), 1.0)
    assert tl.calibration_test(y, F, n_fit=50).p_value > tl.calibration_test(y, F).p_value
