"""Mean, variance, CRPS and density of recalibrated forecasts against integrals of their CDF."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate
from sklearn.base import clone

import trueline as tl
from trueline.distributions import Distribution

RNG = np.random.default_rng(0)
ROWS = 40
LEVELS = np.arange(1, 20) / 20

BASES = {
    "normal": tl.Normal(RNG.normal(size=ROWS), RNG.uniform(0.2, 2.0, ROWS)),
    "student_t": tl.StudentT(RNG.normal(size=ROWS), RNG.uniform(0.2, 2.0, ROWS), 4.0),
    "samples": tl.Samples(RNG.normal(size=(ROWS, 25))),
    "quantiles": tl.Quantiles(LEVELS, np.sort(RNG.gamma(2.0, size=(ROWS, 19)), axis=1)),
    "point": tl.Point(RNG.normal(size=ROWS)),
}
MIXTURES = {
    "near": tl.Mixture([tl.Normal(RNG.normal(size=ROWS), 0.5), tl.Normal(np.ones(ROWS), 1.0)]),
    "apart": tl.Mixture(
        [tl.Normal(RNG.normal(size=ROWS), 0.1), tl.Normal(RNG.normal(size=ROWS) + 9.0, 0.4)],
        weights=[0.3, 0.7],
    ),
}
MAPS = {
    "isotonic": tl.Isotonic(),
    "eq6": tl.Isotonic(finite_sample=False),
    "smooth": tl.Smooth(),
    "beta": tl.BetaCalibration(),
    "scaling": tl.Scaling(),
}
Y = RNG.normal(loc=0.4, scale=2.5, size=ROWS)


def kinks(dist: Distribution, base: Distribution, recalibrator: tl.Isotonic) -> np.ndarray:
    """Points where the CDF of a single row bends or jumps: knots of the map and of the base."""
    law = recalibrator.law_
    y = base.unscore(getattr(law, "knots", np.zeros(1))[None, :])[0]
    own = getattr(base, "values", getattr(base, "draws", np.empty((1, 0))))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        ends = dist.ppf([1e-13, 1e-9, 1e-5, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-5, 1 - 1e-9, 1 - 1e-13])[0]
    # The tails are smooth but long, so they are cut as well.
    return np.unique(np.concatenate([y, own, ends]))


def integral(f, edges: np.ndarray) -> float:
    """Sum of adaptive integrals between neighbours."""
    with warnings.catch_warnings():
        # The last digits of a flat piece are not reliable.
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        pieces = [
            integrate.quad(f, a, b, epsabs=1e-14, epsrel=1e-11, limit=200)[0]
            for a, b in pairwise(edges)
        ]
    return float(np.sum(pieces))


def by_quadrature(dist: Distribution, edges: np.ndarray, y: float) -> tuple[float, float, float]:
    """Mean, variance and CRPS from the CDF of a single row alone."""

    def cdf(x: float) -> float:
        return float(dist.cdf(x)[0])

    a, b = edges[0], edges[-1]
    mean = b - integral(cdf, edges)
    var = (b - mean) ** 2 - 2.0 * integral(lambda x: (x - mean) * cdf(x), edges)
    cut = np.unique(np.append(edges, np.clip(y, a, b)))
    low, high = cut[cut <= y], cut[cut >= y]
    crps = integral(lambda x: cdf(x) ** 2, low) if len(low) > 1 else 0.0
    crps += integral(lambda x: (1.0 - cdf(x)) ** 2, high) if len(high) > 1 else 0.0
    return mean, var, crps + max(a - y, 0.0) + max(y - b, 0.0)


def fitted(name: str, base: Distribution):
    return clone(MAPS[name]).fit(Y, base)


@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize("base", BASES)
def test_closed_forms_of_recalibrated_forecasts(base, method):
    F = BASES[base]
    R = fitted(method, F)
    row, y = F[[3]], 0.7
    G = R.transform(row)
    edges = kinks(G, row, R)
    mean, var, crps = by_quadrature(G, edges, y)
    scale = np.sqrt(var)
    np.testing.assert_allclose(G.mean()[0], mean, rtol=1e-8, atol=1e-8 * scale)
    np.testing.assert_allclose(G.var()[0], var, rtol=1e-8)
    np.testing.assert_allclose(G.crps(y)[0], crps, rtol=1e-8)


@pytest.mark.parametrize("method", ["isotonic", "smooth", "scaling"])
@pytest.mark.parametrize("base", MIXTURES)
def test_recalibrated_mixtures_to_the_error_of_their_quadrature(base, method):
    F = MIXTURES[base]
    R = fitted(method, F)
    row, y = F[[3]], 0.7
    G = R.transform(row)
    mean, var, crps = by_quadrature(G, kinks(G, row, R), y)
    np.testing.assert_allclose(G.mean()[0], mean, atol=1e-6 * np.sqrt(var))
    np.testing.assert_allclose(G.var()[0], var, rtol=1e-6)
    np.testing.assert_allclose(G.crps(y)[0], crps, rtol=1e-6)


@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize("base", [*BASES, "near"])
def test_densities_integrate_to_one(base, method):
    F = {**BASES, **MIXTURES}[base]
    R = fitted(method, F)
    row = F[[5]]
    G = R.transform(row)
    edges = kinks(G, row, R)
    # `quad` does not evaluate the ends of a piece, where the density jumps.
    total = integral(lambda x: float(G.pdf(x)[0]), edges)
    np.testing.assert_allclose(total, 1.0, rtol=1e-7)
