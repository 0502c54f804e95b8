"""The simultaneous band of the calibration curve: its exact law."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

import trueline as tl
from trueline.metrics import _bands
from trueline.metrics._bands import EXACT_UP_TO, _Chain, _lower_count, consistency_band

TENTHS = np.arange(11) / 10


@pytest.mark.parametrize("n", [1, 2, 7, 50, 1000, 123_456])
@pytest.mark.parametrize("tail", [1e-6, 0.004, 0.025, 0.3])
def test_the_lower_count_is_the_binomial_quantile_of_scipy(n, tail):
    p = np.array([0.001, 0.1, 0.37, 0.5, 0.9, 0.999])
    np.testing.assert_array_equal(_lower_count(n, p, tail), scipy.stats.binom(n, p).ppf(tail))


def coverage_by_enumeration(n, levels, lower, upper):
    """Sum of multinomial probabilities over all counts inside the band."""
    steps = np.diff(levels, prepend=0.0, append=1.0)
    inside = 0.0
    for counts in itertools.product(range(n + 1), repeat=len(levels)):
        rest = n - sum(counts)
        path = np.cumsum(counts)
        if rest >= 0 and np.all((lower <= path) & (path <= upper)):
            cells = [*counts, rest]
            ways = math.factorial(n) / math.prod(math.factorial(c) for c in cells)
            inside += ways * math.prod(s**c for s, c in zip(steps, cells, strict=True))
    return inside


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("gamma", [0.02, 0.1, 0.4])
def test_the_recursion_is_the_sum_over_all_counts(n, gamma):
    levels = np.array([0.1, 0.35, 0.8])
    chain = _Chain(n, levels, 0.01)
    counts = np.arange(n + 1)
    ends = []
    for p in levels:
        law = scipy.stats.binom(n, p)
        kept = counts[2 * np.minimum(law.cdf(counts), law.sf(counts - 1)) > gamma]
        ends.append((kept.min(), kept.max()) if kept.size else (1, 0))
    lower, upper = np.transpose(ends)
    expected = coverage_by_enumeration(n, levels, lower, upper)
    np.testing.assert_allclose(chain.coverage(gamma), expected, rtol=1e-12, atol=1e-15)


def exact_coverage(n, levels, lower, upper):
    """Probability of counts inside the band, by a plain recursion over binomial steps."""
    chance = np.zeros(n + 1)
    chance[0] = 1.0
    counts = np.arange(n + 1)
    before = 0.0
    for p, low, high in zip(levels, lower, upper, strict=True):
        step = np.zeros(n + 1)
        for k in np.flatnonzero(chance):
            law = scipy.stats.binom(n - k, (p - before) / (1 - before))
            step[k:] += chance[k] * law.pmf(counts[: n + 1 - k])
        chance = np.where((counts >= low) & (counts <= high), step, 0.0)
        before = p
    return chance.sum()


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_band_holds_the_confidence_exactly(n, confidence):
    lower, upper = consistency_band(n, TENTHS, confidence)
    inner = TENTHS[1:-1]
    low, high = np.ceil(n * lower[1:-1] - 1e-9), np.floor(n * upper[1:-1] + 1e-9)
    assert exact_coverage(n, inner, low, high) >= confidence - 1e-12


@pytest.mark.parametrize("n", [100, 1000, EXACT_UP_TO])
def test_no_larger_local_level_would_do(n):
    inner = TENTHS[1:-1]
    gamma = _bands.local_level(n, inner, 0.95)
    chain = _Chain(n, inner, 0.001)
    tails = np.concatenate([step.tails for step in chain.steps])
    larger = tails[tails > gamma].min() * (1 + 1e-9)
    assert chain.coverage(gamma) >= 0.95 > chain.coverage(larger)


@pytest.mark.parametrize(
    "levels",
    [np.array([0.5]), TENTHS[1:-1], np.arange(1, 100) / 100, np.array([0.001, 0.01, 0.5, 0.9])],
    ids=["median", "tenths", "hundredths", "uneven"],
)
def test_beyond_the_switch_the_band_goes_on_as_before(levels):
    # On either side of the switch the ends differ by two counts of 5,000 at most.
    n = EXACT_UP_TO
    before, after = (np.array(consistency_band(m, levels, 0.95)) for m in (n, n + 1))
    assert np.abs((n + 1) * after - n * before).max() <= 2.001
    # The exact law with four times as many rows.
    m = 4 * EXACT_UP_TO
    gamma = _bands.local_level(m, levels, 0.95)
    assert 0.949 < _Chain(m, levels, gamma / 2).coverage(gamma) < 0.96


def test_the_band_is_symmetric():
    lower, upper = consistency_band(200, TENTHS, 0.9)
    np.testing.assert_allclose(lower, 1 - upper[::-1], atol=1e-15)


@pytest.mark.parametrize("p", [0.01, 0.99])
def test_a_single_row_that_would_surprise_is_outside(p):
    lower, upper = consistency_band(1, np.array([p]), 0.95)
    likely = round(p)
    assert lower[0] <= likely <= upper[0]
    assert not lower[0] <= 1 - likely <= upper[0]
    assert lower[0] <= p <= upper[0]


def test_nothing_is_left_to_chance_at_the_ends():
    lower, upper = consistency_band(77, TENTHS, 0.95)
    assert (lower[0], upper[0], lower[-1], upper[-1]) == (0, 0, 1, 1)
    lower, upper = consistency_band(77, np.array([0.0, 1.0]), 0.95)
    np.testing.assert_array_equal([lower, upper], [[0, 1], [0, 1]])


def test_the_whole_curve_of_a_calibrated_forecast_stays_inside_as_often_as_promised():
    # Exact law: the number of curves inside is binomial with the exact coverage of the band.
    rng = np.random.default_rng(11)
    n, repeats = 100, 3000
    F = tl.Normal(np.zeros(n), 1.0)
    inside = sum(tl.calibration_curve(rng.normal(size=n), F).inside for _ in range(repeats))
    inner = TENTHS[1:-1]
    exact = _Chain(n, inner, 0.001).coverage(_bands.local_level(n, inner, 0.95))
    assert 0.95 <= exact < 0.96
    low, high = scipy.stats.binom(repeats, exact).interval(0.999)
    assert low <= inside <= high


def test_a_large_sample_stays_inside_as_often_as_promised():
    rng = np.random.default_rng(12)
    n, repeats = 20_000, 600
    counts = np.cumsum(rng.multinomial(n, np.full(10, 0.1), size=repeats), axis=1)[:, :-1] / n
    lower, upper = consistency_band(n, TENTHS[1:-1], 0.95)
    inside = int(np.sum(((counts >= lower) & (counts <= upper)).all(axis=1)))
    low, high = scipy.stats.binom(repeats, 0.95).interval(0.999)
    assert low <= inside <= high
