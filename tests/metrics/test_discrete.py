"""Forecasts with steps: how they are read, what they can hold, and shares value by value."""

import numpy as np
import pytest
from scipy.stats import poisson

import trueline as tl
from trueline.metrics import EvaluationAccumulator
from trueline.metrics._atoms import AtomSums, common_values

N = 1000


def counts_by_quantiles(rng, n, levels):
    """Outcomes with an exact Poisson forecast of mean about 1, given by quantiles."""
    mean = np.exp(0.3 * rng.normal(size=n))
    y = rng.poisson(mean).astype(float)
    below = poisson.cdf(np.arange(25), mean[:, None])
    values = [np.searchsorted(row, levels) for row in below]
    return y, tl.Quantiles(levels, np.array(values, dtype=float))


def rain_by_quantiles(rng, n, levels):
    """Outcomes with a perfect forecast that has an atom at 0 beside a continuous part."""
    wet = rng.uniform(0.1, 0.9, size=(n, 1))
    y = np.where(rng.random((n, 1)) < wet, rng.exponential(size=(n, 1)), 0.0)[:, 0]
    rest = np.clip((levels - (1 - wet)) / wet, 0.0, 1.0)
    return y, tl.Quantiles(levels, -np.log1p(-rest))


def draws(rng, n, k):
    values = rng.normal(size=(n, k + 1))
    return values[:, 0], tl.Samples(values[:, 1:])


def draws_of_counts(rng, n, k):
    values = rng.poisson(1.0, size=(n, k + 1)).astype(float)
    return values[:, 0], tl.Samples(values[:, 1:])


PERFECT = {
    "counts, 99 levels": (counts_by_quantiles, np.arange(1, 100) / 100),
    "counts, 19 levels": (counts_by_quantiles, np.arange(1, 20) / 20),
    "rain, 99 levels": (rain_by_quantiles, np.arange(1, 100) / 100),
    "ten draws": (draws, 10),
    "ten draws of counts": (draws_of_counts, 10),
}


@pytest.mark.parametrize("name", PERFECT)
def test_the_error_of_a_perfect_forecast_is_its_floor(name):
    """The ratio has a standard deviation of about 0.8, so that 200 of them have 0.06."""
    make, settings = PERFECT[name]
    ratios, off = [], 0
    for seed in range(200):
        y, F = make(np.random.default_rng(seed), N, settings)
        found = tl.evaluate(y, F, random_state=seed + 1000)
        ratios.append(found.calibration_error / found.calibration_floor)
        off += found.verdict.coverage.off
    assert 0.8 < np.mean(ratios) < 1.2
    # Chance puts at most 5% outside, and the expected coverage is approximate where levels are few.
    assert off <= 30


@pytest.mark.parametrize(
    "k, target, expected", [(10, 0.9, 9 / 11), (100, 0.9, 90 / 101), (1, 0.9, 0)]
)
def test_draws_without_ties_hold_what_their_ranks_say(k, target, expected):
    y, F = draws(np.random.default_rng(k), 20_000, k)
    found = tl.evaluate(y, F, coverage=target) if k > 1 else None
    mass = F._interval_mass(target, *F.interval(target))
    np.testing.assert_allclose(mass, expected)
    if found is not None:
        np.testing.assert_allclose(found.coverage_expected, expected)
        assert abs(found.coverage - expected) < 4 * np.sqrt(expected * (1 - expected) / y.size)


@pytest.mark.parametrize("k", [5, 10, 40])
@pytest.mark.parametrize("mean", [0.3, 1.0, 4.0])
def test_draws_with_ties_hold_about_what_is_expected(k, mean):
    # The ties at an end are those of k draws where k + 1 would be exact.
    values = np.random.default_rng(k).poisson(mean, size=(20_000, k + 1)).astype(float)
    F = tl.Samples(values[:, 1:])
    expected = F._interval_mass(0.9, *F.interval(0.9)).mean()
    assert abs(tl.coverage(values[:, 0], F, 0.9) - expected) < 0.3 / k


def test_the_verdict_says_why_ten_draws_under_cover():
    y, F = draws(np.random.default_rng(0), N, 10)
    found = tl.evaluate(y, F)
    verdict = found.verdict.coverage
    assert verdict.decision == "holds"
    assert verdict.low < 9 / 11 < verdict.high < 0.9
    reason = (
        "90% intervals of 10 draws per row must under-cover: the outcome is like one more draw, so "
        "that these hold 81.8%, and no interval of 10 draws more than 9 in 11. Draw more, or "
        "recalibrate."
    )
    assert verdict.reason == reason
    assert reason in repr(found).splitlines()
    assert "expected 0.8182" in repr(found)
    # Draws that are too narrow by half are still found out.
    narrow = tl.Samples(0.5 * F.draws)
    assert tl.evaluate(y, narrow).verdict.coverage.decision == "too narrow"


def test_atoms_force_intervals_to_hold_more_and_that_is_no_fault():
    y, F = counts_by_quantiles(np.random.default_rng(0), N, np.arange(1, 100) / 100)
    found = tl.evaluate(y, F).verdict.coverage
    assert found.expected > 0.93
    assert found.low < 0.9 < found.expected < found.high
    assert (found.decision, found.reason.split(",")[0]) == (
        "holds",
        f"The forecasts put {found.expected:.1%} of their probability into their 90% intervals",
    )
    far = tl.evaluate(y + 3.0, F).verdict.coverage
    assert far.decision == "too narrow"


def test_a_continuous_forecast_expects_its_target():
    y = np.random.default_rng(0).normal(size=50)
    found = tl.evaluate(y, tl.Normal(np.zeros(50), 1.0), coverage=0.8)
    assert (found.coverage_expected, found.verdict.coverage.reason, found.atoms) == (0.8, "", ())


# ---- the step at an outcome -------------------------------------------------------------------


def test_the_mass_between_two_atoms_belongs_half_to_each():
    F = tl.Quantiles([0.1, 0.2, 0.3, 0.5, 0.7, 0.9], [[0.0, 0.0, 0.0, 1.0, 1.0, 2.0]])
    y = np.array([[0.0, 1.0, 2.0, 5.0]])
    lower, upper = F._pit_bounds(y, F._cdf(y))
    # 0 is a bound with three levels; 2 has a single level, and 5 none.
    np.testing.assert_allclose(lower[0, :3], [0.0, 0.4, 0.8])
    np.testing.assert_allclose(upper[0, :3], [0.4, 0.8, 0.95])
    assert lower[0, 3] == upper[0, 3] == F.cdf(5.0)[0]


def test_beside_a_continuous_part_the_step_is_that_of_the_levels():
    F = tl.Quantiles([0.1, 0.4, 0.8, 0.9], [[0.0, 0.0, 2.0, 3.0]])
    y = np.array([[0.0, 2.0]])
    lower, upper = F._pit_bounds(y, F._cdf(y))
    np.testing.assert_allclose([lower[0], upper[0]], [[0.1, 0.8], [0.4, 0.8]])


# ---- atoms --------------------------------------------------------------------------------------


def test_shares_of_atoms_are_those_of_the_rows():
    y, F = draws_of_counts(np.random.default_rng(1), 500, 8)
    w = np.random.default_rng(2).uniform(size=500)
    for weight in (None, w):
        atoms = tl.evaluate(y, F, sample_weight=weight).atoms
        assert [a.value for a in atoms] == sorted(set(y) & set(F.draws.ravel()))
        for a in atoms:
            np.testing.assert_allclose(a.observed, np.average(y == a.value, weights=weight))
            np.testing.assert_allclose(a.forecast, np.average(F.pmf(a.value), weights=weight))
            assert a.low < a.forecast < a.high


def test_quantiles_give_an_atom_half_of_the_next_level():
    y, F = rain_by_quantiles(np.random.default_rng(0), 4000, np.arange(1, 20) / 20)
    (rain,) = tl.evaluate(y, F).atoms
    assert rain.value == 0.0
    assert rain.low < rain.observed < rain.high
    assert abs(rain.forecast - 0.5) < 0.01


def test_which_values_are_atoms():
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(common_values(rng.normal(size=5000)), [])
    np.testing.assert_array_equal(common_values(np.arange(40.0)), np.arange(40.0))
    bounded = np.clip(rng.normal(size=5000), -1.0, 1.0)
    np.testing.assert_array_equal(common_values(bounded), [-1.0, 1.0])
    y = np.round(rng.normal(size=200))
    for F in (tl.Normal(np.zeros(200), 1.0), tl.Samples(rng.normal(size=(200, 5)))):
        assert tl.evaluate(y, F).atoms == ()  # no forecast probability


def test_parts_are_judged_together_as_the_whole():
    y, F = draws_of_counts(np.random.default_rng(3), 600, 8)
    whole, parts = tl.evaluate(y, F), []
    rng = np.random.default_rng(0)
    for rows in (np.arange(200), np.arange(200, 600)):
        part = EvaluationAccumulator(0.9)
        part.add(y[rows], F[rows], None, rng)
        state = part.to_state(10_000)
        parts.append(EvaluationAccumulator.from_state(state, 0.9))
    found = parts[0].merge(parts[1]).finish().overall
    assert (found.draws, found.p_value) == (8, whole.p_value)
    np.testing.assert_allclose(found.coverage_expected, whole.coverage_expected)
    np.testing.assert_allclose(found.calibration_error, whole.calibration_error)
    common = [a for a in whole.atoms if a.value in {b.value for b in found.atoms}]
    assert len(common) > 4
    for one, other in zip(common, found.atoms, strict=True):
        np.testing.assert_allclose([one.observed, one.forecast], [other.observed, other.forecast])


def test_parts_without_rows_or_common_atoms():
    one, none = AtomSums(), AtomSums()
    F = tl.Samples([[0.0, 0.0, 1.0]] * 2)
    one.add(np.array([0.0, 1.0]), F, None)
    for merged in (one.merge(none), none.merge(one)):
        np.testing.assert_array_equal(merged.values, [0.0, 1.0])
    other = AtomSums()
    other.add(np.array([5.0, 5.0]), F, None)
    assert one.merge(other).finish(4.0, 4.0, None) == ()


def test_many_atoms_are_listed_with_the_most_frequent():
    rng = np.random.default_rng(0)
    values = rng.poisson(9.0, size=(2000, 21)).astype(float)
    lines = repr(tl.evaluate(values[:, 0], tl.Samples(values[:, 1:]))).splitlines()
    assert lines[-1].strip().startswith("and ")
    assert lines[-1].endswith("rarer values")
    assert len(lines) < 30
