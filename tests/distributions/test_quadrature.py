"""Accuracy of the quadrature for moments and CRPS of forecasts without closed forms."""

import warnings

import numpy as np
import pytest

import trueline as tl
from trueline.testing import check_distribution
from trueline.testing._integrals import RowIntegrals

ROWS = 60
RNG = np.random.default_rng(5)


class Plain(tl.Distribution):
    """The methods that a subclass must give, and log tails; everything else is derived."""

    def __init__(self, base):
        self.base = base

    def __len__(self):
        return len(self.base)

    def _take(self, rows):
        return Plain(self.base._take(rows))

    def _cdf(self, y):
        return self.base._cdf(y)

    def _ppf(self, q):
        return self.base._ppf(q)

    def _logpdf(self, y):
        return self.base._logpdf(y)

    def _logcdf(self, y):
        return self.base._logcdf(y)

    def _logsf(self, y):
        return self.base._logsf(y)


KNOWN = {
    "normal": tl.Normal([0.0, 5.0, 1e6], [1.0, 0.01, 3.0]),
    "logistic": tl.Logistic([0.0, 5.0], [1.0, 0.01]),
    "laplace": tl.Laplace([0.0, 5.0], [1.0, 0.01]),
    "student t": tl.StudentT([0.0, 5.0], [1.0, 0.01], [8.0, 30.0]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_derived_is_the_closed_form(name):
    exact = KNOWN[name]
    derived = Plain(exact)
    unit = exact.std()
    np.testing.assert_allclose(derived.mean(), exact.mean(), rtol=0, atol=1e-6 * unit.min())
    np.testing.assert_allclose(derived.std(), exact.std(), rtol=1e-6)
    y = exact.mean()[:, None] + unit[:, None] * np.array([[-30.0, -2.0, 0.0, 0.4, 9.0, 1e4]])
    np.testing.assert_allclose(derived.crps(y), exact.crps(y), rtol=1e-6)


def test_what_is_derived_keeps_the_contract():
    check_distribution(Plain(tl.Normal([0.0, 3.0], [1.0, 0.2])), tolerance=1e-6)


def mixture(gap: float, scale: float) -> tl.Distribution:
    centre = RNG.normal(size=ROWS)
    return tl.Mixture([tl.Normal(centre, scale), tl.Normal(centre + gap, 2.0 * scale)], [0.4, 0.6])


BASES = {
    "near": mixture(1.0, 1.0),
    "far apart": mixture(20.0, 1.0),
    "over-confident": mixture(1.0, 0.1),
    "over-confident and apart": mixture(1.0, 0.01),
    "other kinds": tl.Mixture(
        [tl.Logistic(RNG.normal(size=ROWS), 0.3), tl.StudentT(RNG.normal(size=ROWS), 0.5, 6.0)]
    ),
}
MAPS = {
    "isotonic": tl.Isotonic(),
    "smooth": tl.Smooth(),
    "beta": tl.BetaCalibration(),
    "scaling": tl.Scaling(),
}


@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize("base", BASES)
def test_recalibrated_mixtures_to_a_millionth(base, method, rng):
    F = BASES[base]
    y = F.mean() + np.maximum(F.std(), 1.0) * rng.normal(size=ROWS)
    R = MAPS[method].fit(y, F)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        G = R.transform(F[[0]])
        row = RowIntegrals(G)
    mean = row.mean()
    std = np.sqrt(row.var(mean))
    np.testing.assert_allclose(G.mean()[0], mean, rtol=0, atol=1e-6 * std)
    np.testing.assert_allclose(G.std()[0], std, rtol=1e-6)
    for value in (mean - 3.0 * std, mean, y[0]):
        np.testing.assert_allclose(G.crps(value)[0], row.crps(value), rtol=1e-6)


@pytest.mark.parametrize("rows", [20, 1000])
def test_the_crps_of_an_ensemble_of_maps(rows, rng):
    new = tl.Normal([0.0, 1.0], [1.0, 0.5])
    maps = [
        tl.Isotonic().fit(rng.normal(size=rows), tl.Normal(np.zeros(rows), 0.3)) for _ in range(4)
    ]
    F = tl.Mixture([R.transform(new) for R in maps])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        row = RowIntegrals(F[0])
    for y in (-1.0, 0.3, 4.0):
        np.testing.assert_allclose(F.crps(y)[0], row.crps(y), rtol=5e-6)


def test_atoms_in_an_ensemble_count(rng):
    new = tl.Point([0.0])
    flat = tl.Point(np.zeros(100))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        maps = [tl.Isotonic().fit(np.round(rng.normal(size=100)), flat) for _ in range(3)]
        F = tl.Mixture([R.transform(new) for R in maps])
        row = RowIntegrals(F)
        for y in (-1.0, 0.0, 0.4):
            np.testing.assert_allclose(F.crps(y)[0], row.crps(y), rtol=1e-6)


def test_a_mixture_of_draws_is_all_the_draws(rng):
    a, b = rng.normal(size=(3, 7)), rng.normal(size=(3, 14))
    F = tl.Mixture([tl.Samples(a), tl.Samples(b)], weights=[1 / 3, 2 / 3])
    G = tl.Samples(np.concatenate([a, b], axis=1))
    y = rng.normal(size=(3, 5))
    np.testing.assert_allclose(F.crps(y), G.crps(y), rtol=1e-12)
    np.testing.assert_allclose(F.var(), G.var(), rtol=1e-12)
    q = (np.arange(21) + 0.5) / 21
    np.testing.assert_allclose(F.ppf(q), G.ppf(q), rtol=1e-15)


def test_a_mixture_may_hold_points():
    F = tl.Mixture([tl.Point([0.0]), tl.Point([1.0])])
    np.testing.assert_allclose(F.crps([[0.0, 2.0]]), [[0.25, 1.25]], rtol=1e-12)
    np.testing.assert_allclose(F.ppf([0.2, 0.5, 0.6]), [[0.0, 0.0, 1.0]], atol=1e-12)
