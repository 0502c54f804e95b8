"""The simultaneous band of the calibration curve: its exact law."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

import trueline as tl
from trueline.metrics import _bands
from trueline.metrics._bands import EXACT_UP_TO, _Chain, consistency_band
from trueline.metrics._counts import law_of_counts

TENTHS = np.arange(11) / 10
# Numbers of rows that a map was fitted on; None stands for no map.
FITS = [None, 1.0, 12.5, 300.0]


def counts_at(n, p, n_fit):
    """The law of a count at level p, by scipy."""
    if n_fit is None:
        return scipy.stats.binom(n, p)
    return scipy.stats.betabinom(n, (n_fit + 1) * p, (n_fit + 1) * (1 - p))


@pytest.mark.parametrize("n", [1, 2, 7, 50, 1000, 123_456])
@pytest.mark.parametrize("tail", [1e-6, 0.004, 0.025, 0.3])
def test_the_lower_count_is_the_binomial_quantile_of_scipy(n, tail):
    p = np.array([0.001, 0.1, 0.37, 0.5, 0.9, 0.999])
    found = law_of_counts(n, None).lower(p, tail)
    np.testing.assert_array_equal(found, scipy.stats.binom(n, p).ppf(tail))


@pytest.mark.parametrize("n", [1, 7, 400])
@pytest.mark.parametrize("n_fit", [1.0, 12.5, 300.0])
def test_tails_are_those_of_scipy(n, n_fit):
    k = np.arange(n + 1)
    for p in (0.003, 0.5, 0.9):
        mass = counts_at(n, p, n_fit).pmf(k)
        below, above = law_of_counts(n, n_fit).tails(p, k)
        np.testing.assert_allclose(below, np.cumsum(mass), rtol=1e-9)
        np.testing.assert_allclose(above, np.cumsum(mass[::-1])[::-1], rtol=1e-9)


def test_many_rows_of_the_fit_are_as_no_map():
    known, fitted = (np.array(consistency_band(200, TENTHS, 0.95, f)) for f in (None, 1e9))
    np.testing.assert_array_equal(fitted, known)


def log_weight(steps, cells, n_fit):
    """Log of the multinomial or Pólya probability of these counts, up to a constant."""
    pairs = list(zip(steps if n_fit is None else (n_fit + 1) * steps, cells, strict=True))
    if n_fit is None:
        return math.fsum(c * math.log(s) - math.lgamma(c + 1) for s, c in pairs)
    return math.fsum(math.lgamma(c + a) - math.lgamma(a) - math.lgamma(c + 1) for a, c in pairs)


def coverage_by_enumeration(n, levels, lower, upper, n_fit):
    """Share of the probabilities of all counts that lie inside the band."""
    steps = np.diff(levels, prepend=0.0, append=1.0)
    whole = 0.0
    inside = 0.0
    for counts in itertools.product(range(n + 1), repeat=len(levels)):
        rest = n - sum(counts)
        path = np.cumsum(counts)
        if rest >= 0:
            weight = math.exp(log_weight(steps, [*counts, rest], n_fit))
            whole += weight
            inside += weight * np.all((lower <= path) & (path <= upper))
    return inside / whole


@pytest.mark.parametrize("n", [1, 3, 8])
@pytest.mark.parametrize("gamma", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("n_fit", FITS)
def test_the_recursion_is_the_sum_over_all_counts(n, gamma, n_fit):
    levels = np.array([0.1, 0.35, 0.8])
    chain = _Chain(law_of_counts(n, n_fit), levels, 0.01)
    counts = np.arange(n + 1)
    ends = []
    for p in levels:
        law = counts_at(n, p, n_fit)
        kept = counts[2 * np.minimum(law.cdf(counts), law.sf(counts - 1)) > gamma]
        ends.append((kept.min(), kept.max()) if kept.size else (1, 0))
    lower, upper = np.transpose(ends)
    expected = coverage_by_enumeration(n, levels, lower, upper, n_fit)
    np.testing.assert_allclose(chain.coverage(gamma), expected, rtol=1e-12, atol=1e-15)


def exact_coverage(n, levels, lower, upper, n_fit):
    """Probability of counts inside the band, by a plain recursion over the steps."""
    chance = np.zeros(n + 1)
    chance[0] = 1.0
    counts = np.arange(n + 1)
    before = 0.0
    for p, low, high in zip(levels, lower, upper, strict=True):
        step = np.zeros(n + 1)
        for k in np.flatnonzero(chance):
            rest = None if n_fit is None else (n_fit + 1) * (1 - before) - 1
            law = counts_at(n - k, (p - before) / (1 - before), rest)
            step[k:] += chance[k] * law.pmf(counts[: n + 1 - k])
        chance = np.where((counts >= low) & (counts <= high), step, 0.0)
        before = p
    return chance.sum()


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n_fit", [None, 15.0])
def test_the_band_holds_the_confidence_exactly(n, confidence, n_fit):
    lower, upper = consistency_band(n, TENTHS, confidence, n_fit)
    inner = TENTHS[1:-1]
    low, high = np.ceil(n * lower[1:-1] - 1e-9), np.floor(n * upper[1:-1] + 1e-9)
    assert exact_coverage(n, inner, low, high, n_fit) >= confidence - 1e-12


@pytest.mark.parametrize("n", [100, 1000, EXACT_UP_TO])
def test_no_larger_local_level_would_do(n):
    inner = TENTHS[1:-1]
    gamma = _bands.local_level(n, inner, 0.95)
    chain = _Chain(law_of_counts(n, None), inner, 0.001)
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
    assert 0.949 < _Chain(law_of_counts(m, None), levels, gamma / 2).coverage(gamma) < 0.96


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
    exact = _Chain(law_of_counts(n, None), inner, 0.001).coverage(
        _bands.local_level(n, inner, 0.95)
    )
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


@pytest.mark.parametrize("n_fit, n", [(20, 5000), (100, 1000), (1000, 100), (20_000, 20_000)])
@pytest.mark.parametrize("points", [10, 50])
def test_with_a_map_the_curve_stays_inside_as_often_as_promised(n_fit, n, points):
    # Beyond the switch the probability is approximate, within 0.01 of 0.95; on top of it 99.9% of
    # the binomial law.
    rng = np.random.default_rng(13)
    repeats, levels = 3000, np.arange(points + 1) / points
    lower, upper = consistency_band(n, levels, 0.95, n_fit)
    chances = rng.dirichlet(np.full(points, (n_fit + 1) / points), size=repeats)
    counts = np.cumsum(rng.multinomial(n, chances), axis=1)[:, :-1] / n
    inside = ((counts >= lower[1:-1] - 1e-12) & (counts <= upper[1:-1] + 1e-12)).all(axis=1).sum()
    low, high = (scipy.stats.binom(repeats, share).interval(0.999) for share in (0.94, 0.96))
    assert low[0] <= inside <= high[1]
