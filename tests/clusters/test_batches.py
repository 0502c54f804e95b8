"""Forecasts in batches: the map of batches is that of all outcomes."""

import itertools

import numpy as np
import pytest

import trueline as tl
from tests.clusters.batches import cut, pictures, rows
from trueline.clusters import Batch, _batches, evaluate_batches, fit_batches
from trueline.recalibration import ScoreAccumulator, _accumulator


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
    monkeypatch.setattr(_accumulator, "LIMIT", 500)
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
    one, two, three = (ScoreAccumulator.of(fit_batches([part]).scores_, {}) for part in parts)
    for merged in (one.merge(two).merge(three), three.merge(one).merge(two)):
        assert merged.finish(tl.Isotonic()).to_bytes() == streamed[0].to_bytes()


def test_blocks_of_dask_arrays_are_batches():
    da = pytest.importorskip("dask.array")
    batch = pictures(10)
    expected = fit_batches([batch]).to_bytes()
    # Cut within images too, and the arrays differently.
    chunks = [(4, 3, 8), (10, 6, 8), (1, 6, 4), (5, 6, 8)]
    arrays = [da.from_array(part, chunks=c) for part, c in zip(batch, chunks, strict=True)]
    assert fit_batches(Batch(*arrays)).to_bytes() == expected
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


def test_batches_learn_how_forecasts_are_prepared_from_the_first_of_them(monkeypatch):
    rng = np.random.default_rng(0)
    mean = rng.gamma(2.0, 1.0, size=(60, 5, 6))
    y, std = rng.poisson(1.2 * mean).astype(float), np.sqrt(mean)
    batch = Batch(y, mean, std, rng.random(y.shape) < 0.9)
    whole = tl.Isotonic().fit(*rows(batch))
    assert whole.atoms_ is not None
    for sizes in ([60], [7, 20, 33]):
        assert fit_batches(cut(batch, *sizes)).to_bytes() == whole.to_bytes()
    # The first 500 outcomes are in the first 20 images.
    monkeypatch.setattr(_batches, "FIRST_ROWS", 500)
    first = tl.Isotonic()._prepare(*rows(cut(batch, 20, 40)[0]), None)
    expected = tl.Isotonic()._fit_prepared(first, *rows(batch))
    assert fit_batches(cut(batch, 10, 10, 40)).to_bytes() == expected.to_bytes()
    y[-1, 0, 0], batch.mask[-1, 0, 0] = 0.5, True
    with pytest.raises(ValueError, match=r"y holds 0\.5 in row"):
        fit_batches(cut(batch, 20, 40), tl.Isotonic(support="counts"))
