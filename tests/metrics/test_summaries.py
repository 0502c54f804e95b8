"""Summaries for pictures: right, bounded in size, and with bands that keep their promise."""

import numpy as np
import pytest
from scipy.stats import binom

import trueline as tl
from trueline.metrics import _summaries

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def _the_same_numbers_in_any_order():
    """Begin anew: a band of 95% fails for one in twenty, whichever tests ran before."""
    RNG.bit_generator.state = np.random.default_rng(5).bit_generator.state


def message(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return str(caught.value)


# ---- the PIT histogram -------------------------------------------------------------------


def test_histogram_counts_the_pit_values_of_any_forecast(case):
    y, F = case
    found = tl.pit_histogram(y, F, bins=7)
    u = tl.pit(y, F, randomized=True, random_state=0)
    counts, edges = np.histogram(u, np.arange(8) / 7)
    np.testing.assert_allclose(found.density, counts * 7 / len(y))
    np.testing.assert_array_equal(found.edges, edges)
    assert (found.n, found.n_effective, found.confidence) == (60, 60.0, 0.95)


def test_histogram_band_is_binomial_with_bonferroni():
    y = RNG.normal(size=200)
    found = tl.pit_histogram(y, tl.Normal(np.zeros(200), 1.0), bins=10, confidence=0.9)
    ends = binom.ppf([0.005, 0.995], 200, 0.1) * 10 / 200
    np.testing.assert_allclose([found.lower[0], found.upper[0]], ends)
    assert np.ptp(found.lower) == np.ptp(found.upper) == 0


def test_histogram_band_holds_all_bins_as_often_as_it_says():
    # The promise is at least 0.95; 4 standard errors of 2,000 trials are 0.02.
    trials, n = 2000, 150
    F = tl.Normal(np.zeros(n), 1.0)
    inside = [tl.pit_histogram(RNG.normal(size=n), F, bins=12).inside for _ in range(trials)]
    assert 0.93 < np.mean(inside) < 0.99


def test_histogram_of_a_narrow_forecast_is_a_u_outside_its_band():
    y = RNG.normal(size=5000)
    found = tl.pit_histogram(y, tl.Normal(np.zeros(5000), 0.5))
    assert found.density[0] > found.upper[0]
    assert found.density[10] < found.lower[10]
    assert not found.inside


def test_histogram_weights_are_rows():
    y, w = RNG.normal(size=50), RNG.integers(0, 4, 50)
    scale = RNG.uniform(0.5, 2.0, 50)
    weighted = tl.pit_histogram(y, tl.Normal(np.zeros(50), scale), sample_weight=w, bins=5)
    rows = np.repeat(np.arange(50), w)
    repeated = tl.pit_histogram(y[rows], tl.Normal(np.zeros(rows.size), scale[rows]), bins=5)
    np.testing.assert_allclose(weighted.density, repeated.density)
    assert weighted.n == 50
    np.testing.assert_allclose(weighted.n_effective, w.sum() ** 2 / (w**2).sum())


def test_histogram_of_one_row_and_of_one_bin():
    assert tl.pit_histogram([0.3], tl.Normal([0.0], 1.0)).inside
    one = tl.pit_histogram([0.3, 2.0], tl.Normal([0.0, 0.0], 1.0), bins=1)
    np.testing.assert_array_equal([one.density, one.lower, one.upper], [[1.0]] * 3)


# ---- the difference ----------------------------------------------------------------------


def test_difference_is_the_calibration_curve_minus_the_diagonal():
    y = RNG.normal(size=300)
    F = tl.Normal(np.zeros(300), 0.8)
    p = np.arange(51) / 50
    curve, found = tl.calibration_curve(y, F, p), tl.pit_difference(y, F, points=50)
    np.testing.assert_allclose(found.difference, curve.observed - p)
    np.testing.assert_allclose(found.lower, curve.lower - p)
    np.testing.assert_allclose(found.upper, curve.upper - p)
    assert found.inside is curve.inside


def test_difference_of_samples_uses_the_randomised_pit():
    # Seven draws have eight ranks: without the spread the curve would leave the band in steps.
    y, draws = RNG.normal(size=4000), RNG.normal(size=(4000, 7))
    levels = np.arange(201) / 200
    found, curve = (
        tl.pit_difference(y, tl.Samples(draws)),
        tl.calibration_curve(y, tl.Samples(draws), levels),
    )
    assert found.inside
    np.testing.assert_array_equal(found.difference, curve.observed - levels)
    steps = np.mean(tl.pit(y, tl.Samples(draws))[:, None] <= levels, axis=0)
    assert ((steps < curve.lower) | (steps > curve.upper)).any()


def test_difference_has_as_many_points_as_asked_for_whatever_the_rows():
    y = RNG.normal(size=100_000)
    found = tl.pit_difference(y, tl.Normal(np.zeros(100_000), 1.0))
    assert found.levels.size == found.difference.size == found.lower.size == 201


# ---- widths ------------------------------------------------------------------------------


def test_widths_of_any_forecast(case):
    _, F = case
    lower, upper = F.interval(0.8)
    widths = upper - lower
    found = tl.interval_widths(F, 0.8)
    np.testing.assert_allclose(found.mean, widths.mean())
    expected = np.quantile(widths, found.levels, method="inverted_cdf")
    np.testing.assert_array_equal(found.quantiles, expected)
    assert found.median == expected[50]
    assert (found.coverage, found.n) == (0.8, 60)


def test_widths_density_integrates_to_the_share_inside_the_edges():
    scale = np.append(RNG.uniform(1.0, 2.0, 9999), 1e6)  # one far out
    found = tl.interval_widths(tl.Normal(np.zeros(10_000), scale), 0.9)
    assert found.edges[-1] < 10
    np.testing.assert_allclose(found.density @ np.diff(found.edges), 0.9999)
    assert found.quantiles[-1] > 1e6


def test_widths_weights_are_rows():
    scale, w = RNG.uniform(1.0, 2.0, 40), RNG.integers(0, 4, 40)
    weighted = tl.interval_widths(tl.Normal(np.zeros(40), scale), sample_weight=w)
    rows = np.repeat(scale, w)
    repeated = tl.interval_widths(tl.Normal(np.zeros(rows.size), rows))
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_array_equal(weighted.quantiles, repeated.quantiles)


def test_widths_that_are_all_the_same_make_one_bar():
    loc = RNG.normal(size=500) * 1e3  # so that widths differ by rounding
    found = tl.interval_widths(tl.Normal(loc, 2.0), 0.9)
    assert found.edges.size == 2
    np.testing.assert_allclose(found.density @ np.diff(found.edges), 1.0)
    assert found.edges[0] < found.mean < found.edges[1]


def test_widths_of_nothing_and_without_end():
    none = tl.interval_widths(tl.Point([1.0, 2.0]))
    assert none.mean == 0.0
    np.testing.assert_array_equal(none.edges, [0.0, 1.0])
    with np.errstate(over="ignore"):
        endless = tl.interval_widths(tl.Normal(np.zeros(4), [1.0, 2.0, 3.0, 1e308]))
    assert endless.mean == endless.quantiles[-1] == np.inf
    assert np.isfinite(endless.edges).all()


def test_summaries_are_small_however_many_rows():
    n = 200_000
    y, scale = RNG.normal(size=n), RNG.uniform(0.5, 1.5, n)
    F = tl.Normal(np.zeros(n), scale)
    for found in (tl.pit_histogram(y, F), tl.pit_difference(y, F), tl.interval_widths(F)):
        sizes = [value.size for value in vars(found).values() if isinstance(value, np.ndarray)]
        assert max(sizes) <= 201


def test_percentiles_of_one_value():
    np.testing.assert_array_equal(_summaries._percentiles(np.array([3.0]), None), np.full(101, 3.0))


# ---- bad input ---------------------------------------------------------------------------

F3 = tl.Normal([0.0, 0.0, 0.0], 1.0)
Y3 = [0.0, 1.0, 2.0]


@pytest.mark.parametrize("call", [tl.pit_histogram, tl.pit_difference])
def test_bad_rows(call):
    assert message(ValueError, call, [0.0, 1.0], F3) == (
        "y has 2 rows but the forecast has 3; expected the same number."
    )
    assert message(TypeError, call, F3, Y3) == (
        "the arguments are swapped: outcomes come first, then the forecast: (y, dist). "
        "Received a Normal as y and a list as dist."
    )
    assert message(ValueError, call, Y3, F3, confidence=95) == (
        "confidence holds 95.0; expected levels in (0, 1). Write 95% as 0.95."
    )
    assert message(TypeError, call, Y3, F3, random_state="seed") == (
        "random_state is 'seed'; expected None, an integer of 0 or more, or a "
        "numpy.random.Generator."
    )


def test_bad_counts():
    assert message(ValueError, tl.pit_histogram, Y3, F3, bins=0) == (
        "bins is 0; expected an integer of 1 or more."
    )
    assert message(ValueError, tl.pit_difference, Y3, F3, points=2.5) == (
        "points is 2.5; expected an integer of 1 or more."
    )


def test_bad_widths():
    assert message(ValueError, tl.interval_widths, (1.0, -1.0)).startswith(
        "dist is of type tuple, which trueline.as_distribution(obj) cannot convert: scale[0] is "
    )
    assert message(ValueError, tl.interval_widths, F3, 90) == (
        "coverage holds 90.0; expected levels in (0, 1). Write 90% as 0.9."
    )
    assert message(ValueError, tl.interval_widths, F3, sample_weight=[1.0]) == (
        "sample_weight has 1 rows but the forecast has 3; expected the same number."
    )
