"""Cases that easily lose digits: far from zero, rows without spread, values at knots."""

import warnings

import numpy as np
import pytest

import trueline as tl
from trueline.distributions import RecalibratedLocationScale
from trueline.laws import NormalLaw

RNG = np.random.default_rng(0)
# Dyadic numbers, so that adding a large power of two is exact.
DRAWS = np.round(RNG.normal(size=(50, 9)) * 2**20) / 2**20
Y = np.round(RNG.normal(scale=2.0, size=50) * 2**20) / 2**20
FAR = 2.0**30
LEVELS = np.arange(1, 10) / 10

KINDS = {
    "normal": lambda c: tl.Normal(DRAWS[:, 0] + c, 1.0),
    "point": lambda c: tl.Point(DRAWS[:, 0] + c),
    "samples": lambda c: tl.Samples(DRAWS + c),
    "quantiles": lambda c: tl.Quantiles(LEVELS, np.sort(DRAWS, axis=1) + c),
    "mixture": lambda c: tl.Mixture(
        [tl.Normal(DRAWS[:, 0] + c, 1.0), tl.Laplace(DRAWS[:, 1] + (3.0 + c), 0.5)]
    ),
}
MAPS = {
    "none": None,
    "isotonic": tl.Isotonic(),
    "smooth": tl.Smooth(),
    "beta": tl.BetaCalibration(),
}


@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_billion_away_nothing_but_the_place_changes(kind, method):
    here, there = KINDS[kind](0.0), KINDS[kind](FAR)
    if method != "none":
        here = MAPS[method].fit(Y, here).transform(here)
        there = MAPS[method].fit(Y + FAR, there).transform(there)
    # A value there has a precision of 2.4e-7; differences of values are far more precise.
    np.testing.assert_allclose(there.crps(Y + FAR), here.crps(Y), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(there.std(), here.std(), rtol=1e-7)
    np.testing.assert_allclose(there.mean() - FAR, here.mean(), rtol=0, atol=5e-7)
    np.testing.assert_allclose(there.ppf(0.3) - FAR, here.ppf(0.3), rtol=0, atol=5e-7)


@pytest.mark.parametrize("value", [0.0, 1e-300, 1.0, -1e9])
@pytest.mark.parametrize("kind", ["samples", "quantiles"])
def test_rows_whose_values_are_all_equal(kind, value):
    same = np.full((3, 4), value)
    F = tl.Samples(same) if kind == "samples" else tl.Quantiles([0.1, 0.4, 0.5, 0.9], same)
    y = value + np.array([[-1.0, 0.0, 1.0]])
    s = F.score(y)
    assert np.isfinite(s).all()
    assert (np.diff(s, axis=1) > 0).all()
    np.testing.assert_allclose(F.unscore(s), np.broadcast_to(y, (3, 3)), atol=1e-6)
    np.testing.assert_allclose(F.crps(y), [[1.0, 0.0, 1.0]] * 3, atol=1e-8 * (1 + abs(value)))
    G = tl.Isotonic().fit(y[0], F).transform(F)
    assert np.isfinite(G.mean()).all()
    assert np.isfinite(G.crps(y)).all()
    np.testing.assert_allclose(G.ppf(0.5), value, rtol=1e-6, atol=1e-6)


def test_values_at_a_knot():
    F = tl.Normal(np.zeros(4), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        G = tl.Isotonic().fit([-1.0, 0.5, 0.5, 2.0], F).transform(F[:1])
    # One row of the tie of two is spread over the segment below; the other is a jump.
    np.testing.assert_allclose(G.cdf([[-1.0, 0.5, 2.0]]), [[0.2, 0.6, 0.8]], rtol=1e-14)
    np.testing.assert_allclose(G.cdf(np.nextafter(0.5, 0.0)), 0.4, rtol=1e-12)
    np.testing.assert_allclose(G.ppf([0.2, 0.45, 0.55, 0.8]), [[-1.0, 0.5, 0.5, 2.0]], rtol=1e-14)


def test_quantiles_at_their_own_levels_are_their_values():
    values = np.sort(DRAWS, axis=1)
    F = tl.Quantiles(LEVELS, values)
    np.testing.assert_allclose(F.ppf(LEVELS), values, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(F.cdf(values), np.tile(LEVELS, (50, 1)), rtol=1e-12)


@pytest.mark.parametrize("gap", [0.0, 2.2e-16, 1e-12, 1e-9])
def test_a_side_without_spread_but_for_a_rounding_borrows_the_others(gap):
    tied = tl.Samples([[0.0, 0.2, 0.4, 1.0, 1.0, 1.0, 1.0 + gap]])
    assert tied.score([1.5])[0] == pytest.approx(2.198, abs=0.001)


def test_a_slice_costs_what_it_selects():
    n = 1 << 45  # rows that no array could hold, all the same
    F = RecalibratedLocationScale(
        np.broadcast_to(2.0, n), np.broadcast_to(1.0, n), NormalLaw(), "standardised"
    )
    assert len(F[10:13]) == 3
    np.testing.assert_array_equal(F[-1:-10:-4].mean(), [2.0, 2.0, 2.0])
    with pytest.raises(IndexError, match="expected at least one row"):
        F[5:5]
