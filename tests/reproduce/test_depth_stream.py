"""Pixels by streaming: the map of batches is that of all pixels, and images are what varies."""

import itertools
import weakref

import numpy as np
import pytest

import trueline as tl
from reproduce import depth_images
from reproduce.depth_images import LEVELS, half_width, judge
from trueline.clusters import Batch, evaluate_batches, fit_batches
from trueline.clusters._batches import rows
from trueline.recalibration import _state


def pictures(n, seed=0, size=(6, 8), shared=1.0):
    """Images whose pixels are wrong together, by a forecast that is too sure."""
    rng = np.random.default_rng(seed)
    shape = (n, *size)
    mean = rng.uniform(1.0, 5.0, shape)
    y = mean + shared * rng.normal(size=(n, 1, 1)) + 0.5 * rng.normal(size=shape)
    mask = rng.uniform(size=shape) < 0.9
    return Batch(
        np.where(mask, y, np.nan).astype(np.float32),
        mean.astype(np.float32),
        np.full(shape, 0.3, dtype=np.float32),
        mask,
    )


def cut(batch, *sizes):
    """Cut a batch into smaller ones."""
    stops = np.cumsum(sizes)
    assert stops[-1] == len(batch.y)
    return [
        Batch(*(part[stop - size : stop] for part in batch))
        for size, stop in zip(sizes, stops, strict=True)
    ]


def test_the_map_of_batches_is_that_of_one_fit_to_the_last_bit():
    batch = pictures(40)
    whole = tl.Isotonic().fit(*rows(batch))
    for sizes in ([40], [1] * 40, [7, 20, 13]):
        assert fit_batches(cut(batch, *sizes)).to_bytes() == whole.to_bytes()


def test_maps_merge_in_any_order():
    batch = pictures(30)
    whole = tl.Isotonic().fit(*rows(batch)).to_bytes()
    maps = [fit_batches([part]) for part in cut(batch, 3, 10, 17)]
    for first, second, third in itertools.permutations(maps):
        assert first.merge(second).merge(third).to_bytes() == whole
        assert first.merge(second.merge(third)).to_bytes() == whole


def test_beyond_the_limit_scores_are_rounded_by_no_more_than_is_said(monkeypatch):
    """With a limit of 500 distinct scores: the rounding bound, and any order the same."""
    # The default of an argument is that of the time of its definition.
    monkeypatch.setattr(_state.State.__init__, "__defaults__", (500,))
    monkeypatch.setattr(_state.State.of.__func__, "__defaults__", (500,))
    batch = pictures(60)
    parts = cut(batch, 20, 15, 25)
    streamed = [fit_batches(order) for order in itertools.permutations(parts)]
    assert streamed[0].scores_.rounded
    assert len({R.to_bytes() for R in streamed}) == 1
    y, dist = rows(batch)
    exact = np.sort((y - dist.mean()) / dist.std())
    values, weights = streamed[0].scores_.points()
    rounded = np.repeat(values, weights.astype(int))
    assert rounded.size == exact.size
    assert (np.abs(rounded - exact) <= 2.0**-17 * np.abs(exact)).all()
    # Parts that were rounded on their own merge to the same state.
    one, two, three = (fit_batches([part]) for part in parts)
    for merged in (one._pool(two)._pool(three), three._pool(one)._pool(two)):
        assert merged.to_bytes() == streamed[0].to_bytes()


def test_blocks_of_dask_arrays_are_batches():
    da = pytest.importorskip("dask.array")
    batch = pictures(10)
    expected = fit_batches([batch]).to_bytes()
    # Cut within images too, and the arrays differently.
    chunks = [(4, 3, 8), (10, 6, 8), (1, 6, 4), (5, 6, 8)]
    arrays = [da.from_array(part, chunks=c) for part, c in zip(batch, chunks, strict=True)]
    assert fit_batches(Batch(*arrays)).to_bytes() == expected
    images = judge(Batch(*(a.rechunk((4, 6, 8)) for a in arrays)), {"before": None})["before"]
    np.testing.assert_array_equal(images.below, judge([batch], {"before": None})["before"].below)
    found, expected = evaluate_batches(Batch(*arrays)), evaluate_batches([batch])
    assert found.overall.n == expected.overall.n
    np.testing.assert_allclose(found.overall.crps, expected.overall.crps, rtol=1e-12)
    with pytest.raises(ValueError, match=r"the shapes y \(10, 6, 8\), mean \(9, 6, 8\)"):
        fit_batches(Batch(arrays[0], arrays[1][:9], arrays[2]))
    some = arrays[0].ravel()
    some = some[some > 0]  # of which nobody knows how many there are
    with pytest.raises(ValueError, match=r"unknown size.*compute_chunk_sizes"):
        fit_batches(Batch(some, some, some))
    with pytest.raises(TypeError, match="Dask arrays and a ndarray; expected one kind"):
        fit_batches(Batch(arrays[0], batch.mean, arrays[2]))


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


def test_batches_are_evaluated_as_all_outcomes_are():
    batch = pictures(25)
    R = fit_batches([pictures(10, seed=1)], tl.Scaling())
    assert isinstance(R, tl.Scaling)
    y, dist = rows(batch)
    for recalibrator, whole in ((None, dist), (R, R.transform(dist))):
        found = evaluate_batches(cut(batch, 11, 14), recalibrator, coverage=0.8).overall
        expected = tl.evaluate(y, whole, coverage=0.8)
        assert found.n == expected.n
        for name in ("crps", "coverage", "calibration_error", "interval_score", "log_score"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-10)
    plain_tuples = [tuple(part) for part in cut(batch, 11, 14)]
    assert evaluate_batches(plain_tuples).overall.n == y.size


def test_no_batch_is_held_while_the_next_is_made():
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
    drawn = judged.resampled(seed=3)
    assert drawn.curves.shape == (2000, 21)
    np.testing.assert_array_equal(drawn.curves, judged.resampled(seed=3).curves)
    # Its variance is that of the formula, but for 59 / 60 and the noise of 2,000 draws.
    np.testing.assert_allclose(drawn.curves.var(axis=0)[1:-1], judged.variances()[1:-1], rtol=0.15)
    low, high = drawn.coverage_interval()
    assert low < judged.mean("inside") < high
    low, high = drawn.error_interval()
    assert 0 < low < high


def test_the_band_holds_whole_curves():
    """Of calibrated forecasts about 95% of the curves lie in the band of their own images."""
    inside = []
    for seed in range(200):
        batch = pictures(60, seed=seed, size=(4, 4))
        right = batch._replace(std=np.full(batch.y.shape, np.sqrt(1.25)))
        judged = judge([right], {"a": None})["a"]
        off = np.abs(judged.curve - LEVELS)
        inside.append((off <= half_width(judged, draws=400)).all())
    # 95% of 200 within four standard errors of 1.5%.
    assert np.mean(inside) > 0.95 - 4 * 0.0154


def test_two_parts_make_the_band_wider():
    first, second = (judge([pictures(30, seed)], {"a": None})["a"] for seed in (0, 1))
    assert (half_width(first, second)[1:-1] > half_width(first)[1:-1]).all()


def test_bad_batches():
    good = pictures(3)
    with pytest.raises(ValueError, match=r"y \(3, 6, 8\), mean \(2, 6, 8\).*expected one shape"):
        fit_batches([good._replace(mean=good.mean[:2])])
    with pytest.raises(ValueError, match="mask has the type float64; expected bool"):
        fit_batches([good._replace(mask=np.ones((3, 6, 8)))])
    with pytest.raises(ValueError, match="Set the mask to False there"):
        fit_batches([good._replace(mask=None)])
    with pytest.raises(ValueError, match="no valid outcome"):
        fit_batches([good._replace(mask=np.zeros((3, 6, 8), dtype=bool))])
    with pytest.raises(ValueError, match="no valid outcome"):
        evaluate_batches([])
    with pytest.raises(ValueError, match="no valid pixel"):
        judge([], {"a": None})
    with pytest.raises(TypeError, match="a batch is a ndarray; expected Batch"):
        fit_batches(good.y)
    with pytest.raises(ValueError, match=r"std holds -0\.3.* expected standard deviations above 0"):
        fit_batches([good._replace(std=-good.std)])
    broken = good.mean.copy()
    broken[tuple(np.argwhere(good.mask)[0])] = np.nan
    with pytest.raises(ValueError, match=r"mean holds nan \(1 of .* expected finite numbers"):
        fit_batches([good._replace(mean=broken)])
    for other, name in ((tl.Isotonic, "Isotonic"), ("isotonic", "str"), (tl.Grouped(), "Grouped")):
        with pytest.raises(TypeError, match=f"recalibrator is {name}; expected one that learns"):
            fit_batches([good], other)
    with pytest.raises(TypeError, match="batches is a NoneType; expected an iterable of Batch"):
        fit_batches(None)
    used_up = iter([good])
    fit_batches(used_up)
    with pytest.raises(ValueError, match="an iterator was used up before"):
        fit_batches(used_up)


def test_levels_hold_those_of_the_error():
    np.testing.assert_array_equal(LEVELS[depth_images._ERROR], np.arange(11) / 10)
