"""Calibration curve, error and floor."""

import dataclasses

import numpy as np
import pytest

import trueline as tl

TENTHS = np.arange(11) / 10


def uniform_pits(n):
    """Outcomes whose PIT values are 0.5/n, 1.5/n, ...: the most even there are."""
    F = tl.Normal(np.zeros(n), 1.0)
    return F.ppf((np.arange(n) + 0.5) / n)[0], F


def pits(y, F):
    """F(y), or the randomised PIT with the default seed if there are steps."""
    return tl.pit(y, F, randomized=F._has_atoms(), random_state=0)


def test_the_curve_is_equation_8(case):
    y, F = case
    levels = np.array([0.0, 0.05, 0.5, 0.9, 1.0])
    curve = tl.calibration_curve(y, F, levels)
    expected = np.mean(pits(y, F)[:, None] <= levels, axis=0)
    np.testing.assert_allclose(curve.observed, expected, atol=1e-15)
    np.testing.assert_array_equal(curve.levels, levels)


def test_the_error_is_equation_9(case):
    y, F = case
    observed = np.mean(pits(y, F)[:, None] <= TENTHS, axis=0)
    np.testing.assert_allclose(
        tl.calibration_error(y, F), np.sum((TENTHS - observed) ** 2), rtol=1e-12
    )


def test_default_levels_are_tenths():
    y, F = uniform_pits(10)
    np.testing.assert_array_equal(tl.calibration_curve(y, F).levels, TENTHS)


def test_the_curve_of_even_pits_is_the_diagonal():
    y, F = uniform_pits(40)
    np.testing.assert_allclose(tl.calibration_curve(y, F).observed, TENTHS, atol=1e-15)
    assert tl.calibration_error(y, F) < 1e-30


def test_at_level_zero_an_underflown_cdf_does_not_count():
    F = tl.Normal(np.zeros(3), [1.0, 1.0, 1e-6])
    curve = tl.calibration_curve([-60.0, 0.0, 60.0], F, [0.0, 1e-300, 1.0])
    np.testing.assert_allclose(curve.observed, [0.0, 1 / 3, 1.0], atol=1e-15)


def test_at_level_zero_an_impossible_outcome_counts():
    curve = tl.calibration_curve([-60.0, 60.0], tl.Point([0.0, 0.0]), [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(curve.observed, [0.5, 0.5, 1.0])


def test_ten_draws_are_read_by_eleven_ranks():
    F = tl.Samples([np.arange(10.0)] * 2000)
    # Three of ten draws are below, so the outcome has the fourth of eleven ranks.
    curve = tl.calibration_curve(np.full(2000, 2.5), F, [3 / 11, 3.5 / 11, 4 / 11])
    np.testing.assert_array_equal(curve.observed[[0, 2]], [0, 1])
    # Half of the uniform draws are below the middle, up to four standard errors.
    assert abs(curve.observed[1] - 0.5) < 4 * 0.5 / np.sqrt(2000)


def test_the_curve_says_whether_it_is_inside_its_band():
    y, F = uniform_pits(500)
    assert tl.calibration_curve(y, F).inside
    assert tl.calibration_curve(y, F, sample_weight=np.full(500, 0.3)).inside
    assert not tl.calibration_curve(3 * y, F).inside


def test_with_weights_the_band_is_that_of_the_effective_number_of_rows():
    y, F = uniform_pits(300)
    w = np.repeat([1.0, 4.0, 0.0], 100)
    curve = tl.calibration_curve(y, F, sample_weight=w)
    n_effective = 500.0**2 / 1700.0
    np.testing.assert_allclose(curve.n_effective, n_effective, rtol=1e-15)
    plain = tl.calibration_curve(*uniform_pits(147))
    np.testing.assert_array_equal(curve.lower, plain.lower)
    np.testing.assert_array_equal(curve.upper, plain.upper)


def test_the_curve_is_frozen_and_owns_its_levels():
    y, F = uniform_pits(10)
    levels = np.array([0.2, 0.8])
    curve = tl.calibration_curve(y, F, levels)
    with pytest.raises(dataclasses.FrozenInstanceError):
        curve.confidence = 0.5
    levels[0] = 0.7
    assert curve.levels[0] == 0.2


def test_a_band_that_is_asked_for_again_is_not_spoiled_by_its_first_owner():
    y, F = uniform_pits(10)
    first = tl.calibration_curve(y, F)
    first.lower[:] = 9.0
    assert tl.calibration_curve(y, F).lower.max() == 1.0


def test_count_weights_are_in_proportion_and_sum_to_the_number_of_levels(case):
    y, F = case
    observed = np.mean(pits(y, F)[:, None] <= TENTHS, axis=0)
    w = observed / observed.sum() * 11
    expected = np.sum(w * (TENTHS - observed) ** 2)
    np.testing.assert_allclose(tl.calibration_error(y, F, weights="counts"), expected, rtol=1e-12)


def test_count_weights_without_a_count_are_uniform():
    F = tl.Normal(np.zeros(2), 1.0)
    assert tl.calibration_error([9.0, 9.0], F, [0.1, 0.2], "counts") == pytest.approx(0.05)


def test_given_weights_are_used_as_they_are():
    y, F = uniform_pits(40)
    w = np.zeros(11)
    w[5] = 3.0
    observed = tl.calibration_curve(y + 0.3, F).observed[5]
    expected = 3.0 * (0.5 - observed) ** 2
    np.testing.assert_allclose(tl.calibration_error(y + 0.3, F, weights=w), expected, rtol=1e-12)
    np.testing.assert_allclose(
        tl.calibration_error(y + 0.3, F, weights=np.ones(11)), tl.calibration_error(y + 0.3, F)
    )


def test_the_floor_of_the_default_levels():
    np.testing.assert_allclose(tl.calibration_floor(1000), 1.65 / 1000, rtol=1e-14)
    expected = 1.65 * (1 / 1000 + 1 / 300)
    np.testing.assert_allclose(tl.calibration_floor(1000, 300), expected, rtol=1e-14)


def test_the_error_reports_its_floor():
    y, F = uniform_pits(40)
    w = np.repeat([1.0, 3.0], 20)
    error, floor = tl.calibration_error(
        y, F, [0.2, 0.6], [1.0, 2.0], sample_weight=w, return_floor=True
    )
    assert error == tl.calibration_error(y, F, [0.2, 0.6], [1.0, 2.0], sample_weight=w)
    np.testing.assert_allclose(floor, (0.16 + 2 * 0.24) / (80**2 / 200), rtol=1e-14)


@pytest.mark.parametrize("weights", ["uniform", "counts", TENTHS], ids=["1", "counts", "p"])
def test_the_mean_error_of_a_true_forecast_is_the_floor(weights):
    # 4000 repeats: the standard error of the mean is about 1.3% of it.
    rng = np.random.default_rng(1)
    F = tl.Normal(np.zeros(200), 1.0)
    errors = [tl.calibration_error(rng.normal(size=200), F, weights=weights) for _ in range(4000)]
    floor = tl.calibration_floor(200, weights=weights)
    np.testing.assert_allclose(np.mean(errors), floor, rtol=0.05)


def test_the_mean_error_of_a_recalibrated_forecast_is_the_floor():
    # The map of n uniform scores sends the i-th smallest to i / (n + 1), linear in between.
    rng = np.random.default_rng(2)
    n_fit, n_test, repeats = 150, 250, 4000
    ranks = np.arange(n_fit + 2) / (n_fit + 1)
    errors = np.empty(repeats)
    for i in range(repeats):
        knots = np.concatenate([[0.0], np.sort(rng.uniform(size=n_fit)), [1.0]])
        u = np.interp(rng.uniform(size=n_test), knots, ranks)
        errors[i] = np.sum((TENTHS - np.mean(u[:, None] <= TENTHS, axis=0)) ** 2)
    np.testing.assert_allclose(errors.mean(), tl.calibration_floor(n_test, n_fit), rtol=0.05)
