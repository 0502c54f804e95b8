"""The CRPS split into miscalibration, discrimination and uncertainty."""

import itertools

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

import trueline as tl
from trueline.decompositions import _crps

RNG = np.random.default_rng(0)
X, NOISE = RNG.normal(size=(2, 400))
Y = np.round(X + NOISE, 1)
FORECASTS = {
    "point": tl.Point(X),
    "tied points": tl.Point(np.round(X)),
    "one width": tl.Normal(X, 0.4),
    "widths": tl.Normal(X, np.exp(0.5 * RNG.normal(size=400))),
    "samples": tl.Samples(X[:, None] + RNG.normal(size=(400, 9))),
    "laws": tl.IDR().fit(Y[::2], tl.Point(X[::2])).transform(tl.Point(X)),
    "one for all": tl.Normal(np.zeros(400), 1.5),
}


@pytest.mark.parametrize("name", FORECASTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_parts_add_up_to_the_crps(name, weighted):
    w = RNG.uniform(0.1, 3.0, 400) if weighted else None
    found = tl.crps_decomposition(Y, FORECASTS[name], sample_weight=w)
    crps = tl.crps(Y, FORECASTS[name], sample_weight=w)
    assert found.crps == crps
    parts = found.miscalibration - found.discrimination + found.uncertainty
    np.testing.assert_allclose(parts, crps, rtol=0, atol=1e-12)
    assert found.miscalibration > -1e-4
    assert found.discrimination >= 0.0
    climate = tl.crps(Y, tl.Samples(np.tile(Y, (400, 1)))) if w is None else found.uncertainty
    np.testing.assert_allclose(found.uncertainty, climate, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["point", "tied points", "one width"])
def test_of_ordered_forecasts_it_is_that_of_isotonic_laws(name):
    w = RNG.uniform(0.1, 3.0, 400)
    F = FORECASTS[name]
    found = tl.crps_decomposition(Y, F, sample_weight=w)
    recalibrated = tl.IDR().fit(Y, F, sample_weight=w).transform(F)
    expected = tl.crps(Y, recalibrated, sample_weight=w)
    np.testing.assert_allclose(found.crps - found.miscalibration, expected, rtol=0, atol=1e-12)
    assert abs(tl.crps_decomposition(Y, recalibrated, sample_weight=w).miscalibration) < 1e-12


def test_discrimination_is_that_of_isotonic_regressions_at_every_threshold():
    y, F = Y[:60], FORECASTS["widths"][:60]
    z = np.unique(y)
    expected = 0.0
    for low, high in itertools.pairwise(z):
        event, p = (y <= low).astype(float), F.cdf(0.5 * (low + high))
        fitted = IsotonicRegression().fit(p, event).predict(p)
        expected += (high - low) * ((fitted - event.mean()) ** 2).mean()
    found = tl.crps_decomposition(y, F)
    np.testing.assert_allclose(found.discrimination, expected, rtol=1e-12)


def test_neither_the_order_of_rows_nor_copies_matter():
    order, F = RNG.permutation(400), FORECASTS["tied points"]
    copies = RNG.integers(1, 4, 400)
    rows = np.repeat(order, copies[order])
    found = tl.crps_decomposition(Y, F, sample_weight=copies)
    again = tl.crps_decomposition(Y[rows], F[rows])
    np.testing.assert_allclose(again.discrimination, found.discrimination, rtol=1e-12)
    np.testing.assert_allclose(again.uncertainty, found.uncertainty, rtol=1e-12)
    with_zero = tl.crps_decomposition(
        np.append(Y, 50.0), tl.Point(np.append(np.round(X), 0.0)), sample_weight=[*copies, 0]
    )
    assert with_zero.discrimination == found.discrimination


def test_a_thousand_thresholds_are_enough(monkeypatch):
    x, noise = RNG.normal(size=(2, 4000))
    y, F = x + noise * np.exp(0.5 * x), tl.Normal(x, np.exp(0.5 * x))
    every = tl.crps_decomposition(y, F)
    monkeypatch.setattr(_crps, "_MOST_ROWS", 0)
    some = tl.crps_decomposition(y, F)
    assert some.uncertainty == every.uncertainty
    np.testing.assert_allclose(some.discrimination, every.discrimination, atol=5e-4)


def test_no_information_and_no_spread():
    found = tl.crps_decomposition(Y, FORECASTS["one for all"])
    assert found.discrimination < 1e-12
    same = tl.crps_decomposition([2.0, 2.0], tl.Point([2.0, 3.0]))
    assert (same.crps, same.miscalibration, same.uncertainty) == (0.5, 0.5, 0.0)


def test_wrong_rows_are_refused():
    with pytest.raises(ValueError, match=r"y .*3.*400"):
        tl.crps_decomposition(Y[:3], FORECASTS["point"])
