"""Coverage and interval score."""

import numpy as np
import pytest
import scipy.stats
import scoringrules as sr

import trueline as tl
from trueline._validation import CalibrationWarning
from trueline.distributions import RecalibratedLocationScale
from trueline.laws import ExponentialTail, PiecewiseLaw


def test_rows_are_one_inside_and_zero_outside():
    F = tl.Normal(np.zeros(3), 1.0)
    rows = tl.coverage([-3.0, 0.0, 3.0], F, 0.9, reduce=False)
    np.testing.assert_array_equal(rows, [0.0, 1.0, 0.0])
    assert rows.dtype == np.float64


def test_the_ends_of_the_interval_are_inside():
    F = tl.Samples([[0.0, 1.0, 2.0, 3.0]] * 2)
    lower, upper = F.interval(0.5)
    assert tl.coverage([lower[0], upper[0]], F, 0.5) == 1.0
    assert tl.coverage([lower[0] - 1e-14, upper[0] + 1e-14], F, 0.5) == 0.0


def test_an_interval_that_ends_at_a_count_holds_that_count():
    # loc + scale * ((y - loc) / scale) may differ from y in its last digit.
    rng = np.random.default_rng(0)
    counts = rng.poisson(3.0, size=4000).astype(float)
    for loc, scale in zip(rng.uniform(0, 5, 50), rng.uniform(0.1, 3, 50), strict=True):
        F = tl.Normal(np.full(4000, loc), scale)
        with pytest.warns(tl.CalibrationWarning, match="tied"):
            G = tl.Isotonic(support=None).fit(counts, F).transform(F)
        assert tl.coverage(counts, G, 0.5) >= 0.5


def test_coverage_is_counted_as_the_definition_says(case):
    y, F = case
    lower, upper = F.interval(0.7)
    expected = np.mean((lower <= y) & (y <= upper))
    np.testing.assert_allclose(tl.coverage(y, F, 0.7), expected, rtol=1e-15)


@pytest.mark.parametrize("coverage", [0.1, 0.5, 0.99])
def test_interval_score_is_that_of_scoringrules(coverage):
    rng = np.random.default_rng(0)
    loc, scale = rng.normal(size=300), rng.uniform(0.1, 2.0, size=300)
    y = loc + scale * rng.standard_t(2, size=300)
    lower, upper = scipy.stats.norm(loc, scale).interval(coverage)
    rows = tl.interval_score(y, tl.Normal(loc, scale), coverage, reduce=False)
    expected = sr.interval_score(y, lower, upper, 1 - coverage)
    np.testing.assert_allclose(rows, expected, rtol=1e-10)


def test_coverage_of_a_true_forecast_follows_its_binomial_law():
    n = 20_000
    y = np.random.default_rng(0).normal(size=n)
    inside = n * tl.coverage(y, tl.Normal(np.zeros(n), 1.0), 0.8)
    low, high = scipy.stats.binom(n, 0.8).interval(0.999)
    assert low <= inside <= high


def weakly_supported():
    """A law known from 9 calibration rows, which support the levels 0.1 to 0.9."""
    knots, shares = np.arange(9.0), np.arange(1, 10) / 10
    law = PiecewiseLaw(knots, shares, shares, (ExponentialTail(1.0), ExponentialTail(1.0)))
    return RecalibratedLocationScale(np.zeros(3), np.ones(3), law, "standardised")


@pytest.mark.parametrize("name", ["coverage", "interval_score", "evaluate"])
def test_an_interval_beyond_the_calibration_rows_warns_once(name):
    call = getattr(tl, name)
    with pytest.warns(CalibrationWarning, match="Fit on at least 39 rows") as caught:
        call([1.0, 2.0, 3.0], weakly_supported(), coverage=0.95)
    assert len(caught) == 1


def test_levels_beyond_the_calibration_rows_warn_once():
    with pytest.warns(CalibrationWarning, match="Fit on at least 99 rows") as caught:
        tl.pinball_loss([1.0, 2.0, 3.0], weakly_supported(), [0.01, 0.5])
    assert len(caught) == 1


def test_coverage_between_two_levels_is_eq_5(case):
    y, F = case
    inside = (F.ppf(0.2) <= y) & (y <= F.ppf(0.6))
    np.testing.assert_allclose(tl.coverage(y, F, (0.2, 0.6)), np.mean(inside), rtol=1e-15)
    np.testing.assert_array_equal(tl.coverage(y, F, (0.2, 0.6), reduce=False), inside)
    below = np.mean(y <= F.ppf(0.6))
    np.testing.assert_allclose(tl.coverage(y, F, (0.0, 0.6)), below, rtol=1e-15)
    assert tl.coverage(y, F, (0, 1)) == 1.0
