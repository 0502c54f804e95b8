"""CRPS, log score and pinball loss: reference values."""

import numpy as np
import pytest
import scipy.stats
import scoringrules as sr

import trueline as tl
from trueline.metrics import _scores


def test_known_mean_crps(three):
    np.testing.assert_allclose(tl.crps(*three), 0.59080610693, rtol=1e-10)


def test_known_mean_negative_log_likelihood(three):
    np.testing.assert_allclose(tl.log_score(*three), 4.920361108686675, rtol=1e-14)


@pytest.mark.parametrize("y, score", [(0.0, 0.25), (2.0, 1.25)])
def test_known_crps_of_two_members(y, score):
    assert tl.crps([y], tl.Samples([[0.0, 1.0]])) == score


def test_crps_of_normals_is_that_of_scoringrules(rng_rows):
    y, loc, scale = rng_rows
    rows = tl.crps(y, tl.Normal(loc, scale), reduce=False)
    np.testing.assert_allclose(rows, sr.crps_normal(y, loc, scale), rtol=1e-10)


def test_crps_of_draws_is_that_of_scoringrules(rng_rows):
    y, loc, scale = rng_rows
    draws = loc[:, None] + scale[:, None] * np.random.default_rng(1).normal(size=(y.size, 15))
    rows = tl.crps(y, tl.Samples(draws), reduce=False)
    np.testing.assert_allclose(rows, sr.crps_ensemble(y, draws, estimator="nrg"), rtol=1e-10)


def test_log_score_is_that_of_scipy(rng_rows):
    y, loc, scale = rng_rows
    rows = tl.log_score(y, tl.StudentT(loc, scale, 5.0), reduce=False)
    np.testing.assert_allclose(rows, -scipy.stats.t(5.0, loc, scale).logpdf(y), rtol=1e-12)


@pytest.mark.parametrize("level", [0.01, 0.5, 0.9])
def test_pinball_loss_is_that_of_scoringrules(rng_rows, level):
    y, loc, scale = rng_rows
    quantile = scipy.stats.norm(loc, scale).ppf(level)
    rows = tl.pinball_loss(y, tl.Normal(loc, scale), level, reduce=False)
    np.testing.assert_allclose(rows, sr.quantile_score(y, quantile, level), rtol=1e-12)


def test_twice_the_mean_pinball_loss_over_levels_is_the_crps(rng_rows):
    y, loc, scale = rng_rows
    F = tl.Normal(loc, scale)
    middles = (np.arange(20_000) + 0.5) / 20_000
    np.testing.assert_allclose(2 * tl.pinball_loss(y, F, middles).mean(), tl.crps(y, F), rtol=1e-5)


def test_pinball_loss_at_many_levels_is_that_at_each(case):
    y, F = case
    levels = np.array([0.05, 0.3, 0.5, 0.95])
    w = np.random.default_rng(0).integers(0, 3, size=y.size)
    for weight in (None, w):
        each = [tl.pinball_loss(y, F, p, sample_weight=weight) for p in levels]
        many = tl.pinball_loss(y, F, levels, sample_weight=weight)
        np.testing.assert_allclose(many, each, rtol=1e-12)
    rows = tl.pinball_loss(y, F, levels, reduce=False)
    assert rows.shape == (60, 4)
    np.testing.assert_allclose(rows.mean(axis=0), tl.pinball_loss(y, F, levels), rtol=1e-12)


def test_pinball_loss_in_several_blocks_is_that_in_one(case, monkeypatch):
    y, F = case
    whole = tl.pinball_loss(y, F, [0.2, 0.8])
    monkeypatch.setattr(_scores, "_BLOCK", 14)
    np.testing.assert_allclose(tl.pinball_loss(y, F, [0.2, 0.8]), whole, rtol=1e-12)


def test_pinball_loss_from_sums_keeps_its_digits_under_overconfidence():
    # Scores of a million: the sums hold numbers far larger than the quantiles' own spread.
    rng = np.random.default_rng(0)
    y, scale = rng.normal(size=1000), rng.uniform(0.5e-6, 2e-6, size=1000)
    F = tl.Normal(np.zeros(1000), scale)
    levels = np.arange(1, 100) / 100
    each = [tl.pinball_loss(y, F, p) for p in levels]
    np.testing.assert_allclose(tl.pinball_loss(y, F, levels), each, rtol=1e-11)


def test_a_point_forecast_has_an_infinite_log_score():
    F = tl.Point([0.0, 1.0])
    assert tl.log_score([5.0, 5.0], F) == np.inf
    # A hit has infinite density; it does not make up for the miss.
    assert tl.log_score([0.0, 5.0], F) == np.inf
    assert tl.log_score([5.0, 1.0], F, sample_weight=[1.0, 3.0]) == np.inf
    assert tl.log_score([0.0, 1.0], F) == -np.inf
    np.testing.assert_array_equal(tl.log_score([0.0, 5.0], F, reduce=False), [-np.inf, np.inf])


def test_a_row_of_weight_zero_does_not_count_even_if_infinite():
    F = tl.Point([0.0, 1.0])
    assert tl.log_score([0.0, 5.0], F, sample_weight=[1.0, 0.0]) == -np.inf
    assert tl.log_score([0.0, 5.0], F, sample_weight=[0.0, 1.0]) == np.inf


def test_weights_do_not_touch_the_rows(three):
    y, F = three
    np.testing.assert_array_equal(
        tl.crps(y, F, reduce=False, sample_weight=[1, 2, 3]), tl.crps(y, F, reduce=False)
    )


def test_means_are_python_floats(three):
    for value in (tl.crps(*three), tl.log_score(*three), tl.pinball_loss(*three, 0.3)):
        assert type(value) is float


@pytest.fixture
def rng_rows():
    rng = np.random.default_rng(3)
    loc, scale = rng.normal(size=200), rng.uniform(0.2, 3.0, size=200)
    return loc + scale * rng.standard_t(3, size=200), loc, scale
