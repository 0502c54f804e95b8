"""Scores of pixels, image by image."""

import weakref

import numpy as np
import pytest

import trueline as tl
from reproduce.depth import scores
from reproduce.depth.scores import LEVELS, _network_weights, half_width, judge, resampled
from tests.clusters.batches import cut, pictures, rows
from trueline.clusters import Batch, fit_batches


def test_what_is_judged_image_by_image_adds_up_to_all_pixels():
    batch = pictures(25)
    R = fit_batches([pictures(10, seed=1)])
    found = judge(cut(batch, 11, 14), {"before": None, "after": R})
    y, dist = rows(batch)
    for name, whole in (("before", dist), ("after", R.transform(dist))):
        judged, expected = found[name], tl.evaluate(y, whole)
        assert judged.n.sum() == y.size
        np.testing.assert_allclose(judged.calibration_error, expected.calibration_error)
        np.testing.assert_allclose(judged.mean("inside"), expected.coverage)
        np.testing.assert_allclose(judged.mean("width"), expected.interval_width)
        np.testing.assert_allclose(judged.mean("crps"), expected.crps)
        np.testing.assert_allclose(judged.rmse, expected.rmse)
        relative = np.abs(y - whole.mean()) / np.abs(y)
        np.testing.assert_allclose(judged.mean("relative_error"), relative.mean())
        curve = tl.calibration_curve(y, whole, LEVELS[1:-1]).observed
        np.testing.assert_allclose(judged.curve[1:-1], curve)


def test_no_batch_is_kept_in_memory():
    """Before a batch is made, only the one before it may still be alive."""
    alive = []
    most = []

    def batches():
        for i in range(20):
            most.append(sum(known() is not None for known in alive))
            batch = pictures(2, seed=i)
            alive.append(weakref.ref(batch.y))
            yield batch
            del batch

    R = fit_batches(batches())
    judge(batches(), {"before": None, "after": R})
    assert len(most) == 40
    assert max(most) <= 1


def test_an_image_without_valid_pixels_is_left_out():
    batch = pictures(5)
    batch.mask[2] = False
    judged = judge([batch], {"before": None})["before"]
    assert judged.place.tolist() == [0, 1, 3, 4]
    assert len(judged) == 4


def test_the_floor_is_the_variance_between_images_over_their_number():
    judged = judge([pictures(30)._replace(mask=None, y=pictures(30).mean)], {"a": None})["a"]
    assert judged.floor() == 0.0  # all images alike: every PIT is one half
    batch = pictures(30)
    full = batch._replace(y=np.nan_to_num(batch.y, nan=3.0), mask=None)
    judged = judge([full], {"a": None})["a"]
    shares = judged.below[:, ::2] / judged.n[:, None]
    np.testing.assert_allclose(judged.floor(), (shares.var(axis=0, ddof=1) / 30).sum())
    # Each image its own block changes nothing.
    np.testing.assert_allclose(judged.floor(np.arange(30)), judged.floor())


def test_the_floor_is_the_error_that_chance_in_the_images_makes():
    """Calibrated forecasts whose images are off together: mean error is the floor, on average."""
    found = []
    for seed in range(300):
        batch = pictures(40, seed=seed, shared=1.0)
        right = batch._replace(std=np.full(batch.y.shape, np.sqrt(1.25)))
        judged = judge([right], {"a": None})["a"]
        found.append((judged.calibration_error, judged.floor()))
    errors, floors = np.array(found).T
    # Errors of 300 sets have a standard error of some 6%.
    standard_error = errors.std() / np.sqrt(len(errors))
    assert abs(errors.mean() - floors.mean()) < 3.0 * standard_error
    # By pixels it would be more than ten times lower.
    assert floors.mean() > 10.0 * tl.calibration_floor(40 * 48 * 0.9)


def test_blocks_of_images_that_are_wrong_together_raise_the_floor():
    one = pictures(20)
    twice = Batch(*(np.repeat(part, 2, axis=0) for part in one))
    single, double = (judge([batch], {"a": None})["a"] for batch in (one, twice))
    np.testing.assert_allclose(double.floor(np.repeat(np.arange(20), 2)), single.floor())
    assert double.floor() < 0.6 * single.floor()


def test_the_bootstrap_draws_images():
    judged = judge([pictures(60)], {"a": None})["a"]
    drawn = resampled([judged], seed=3)
    assert drawn.curves.shape == (2000, 1, 21)
    np.testing.assert_array_equal(drawn.curves, resampled([judged], seed=3).curves)
    np.testing.assert_array_equal(drawn.weights, 1.0)
    # Its variance is that of the formula, but for 59 / 60 and the noise of 2,000 draws.
    found = drawn.mean_curves.var(axis=0)[1:-1]
    np.testing.assert_allclose(found, judged.variances()[1:-1], rtol=0.15)
    low, high = drawn.coverage_interval()
    assert low < judged.mean("inside") < high
    low, high = drawn.error_interval()
    assert 0 < low < high


def test_networks_alike_add_no_chance():
    judged = judge([pictures(40)], {"a": None})["a"]
    one, three = resampled([judged]), resampled([judged] * 3)
    np.testing.assert_allclose(three.error_interval(), one.error_interval())
    np.testing.assert_allclose(three.coverage_interval(), one.coverage_interval())
    np.testing.assert_allclose(half_width([judged] * 3), half_width([judged]))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_drawn_networks_have_the_variance_of_the_mean_of_trainings(count):
    values = np.random.default_rng(0).normal(size=count)
    weights = _network_weights(count, 40_000, np.random.default_rng(1))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    means = weights @ values
    np.testing.assert_allclose(means.mean(), values.mean(), atol=0.02)
    # 40,000 draws give a variance to about 1%.
    np.testing.assert_allclose(means.var(), values.var(ddof=1) / count, rtol=0.04)


def test_networks_are_drawn_with_the_same_images():
    """The difference of two networks on the same images varies less than with their own images."""
    batch = pictures(40)
    worse = batch._replace(std=0.9 * batch.std)
    first, second = (judge([b], {"a": None})["a"] for b in (batch, worse))
    drawn = resampled([first, second])
    apart = drawn.coverage[:, 0] - drawn.coverage[:, 1]
    assert apart.var() < 0.2 * drawn.coverage.var(axis=0).sum()
    other = judge(
        [batch._replace(mask=batch.mask & (np.arange(40) > 0)[:, None, None])], {"a": None}
    )
    with pytest.raises(ValueError, match="different images"):
        resampled([first, other["a"]])


def test_the_band_holds_whole_curves():
    """Of calibrated forecasts about 95% of the curves lie in the band of their own images."""
    inside = []
    for seed in range(200):
        batch = pictures(60, seed=seed, size=(4, 4))
        right = batch._replace(std=np.full(batch.y.shape, np.sqrt(1.25)))
        judged = judge([right], {"a": None})["a"]
        off = np.abs(judged.curve - LEVELS)
        inside.append((off <= half_width([judged], draws=400)).all())
    # 95% of 200 within four standard errors of 1.5%.
    assert np.mean(inside) > 0.95 - 4 * 0.0154


def test_two_parts_make_the_band_wider():
    first, second = (judge([pictures(30, seed)], {"a": None})["a"] for seed in (0, 1))
    assert (half_width([first], [second])[1:-1] > half_width([first])[1:-1]).all()


def test_levels_hold_those_of_the_error():
    np.testing.assert_array_equal(LEVELS[scores._ERROR], np.arange(11) / 10)


def test_without_a_valid_pixel_there_is_nothing_to_score():
    with pytest.raises(ValueError, match="no valid pixel"):
        judge([], {"a": None})
