"""scipy.stats: frozen distributions, and the objects and functions of its newer infrastructure."""

import inspect

import numpy as np
import pytest
from scipy import stats

import trueline as tl

LEVELS = np.array([1e-9, 0.001, 0.05, 0.3, 0.5, 0.8, 0.99, 1 - 1e-6])

# Slow by quadrature, or without quantiles of their own; one of each is enough elsewhere.
SLOW = {
    *("dpareto_lognorm", "geninvgauss", "genexpon", "gausshyper", "irwinhall", "kappa4", "ksone"),
    *("landau", "levy_stable", "ncf", "nct", "norminvgauss", "genhyperbolic", "studentized_range"),
    *("tukeylambda", "vonmises", "vonmises_line", "kstwo", "rel_breitwigner", "recipinvgauss"),
    *("argus", "crystalball", "powerlognorm", "powernorm", "truncpareto", "mielke", "skewnorm"),
}


def families():
    """Every continuous family that takes parameters between 1 and 3, and inverts itself."""
    found = []
    for name, family in sorted(vars(stats).items()):
        if not isinstance(family, stats.rv_continuous) or name in SLOW:
            continue
        shapes = len(family.shapes.split(",")) if family.shapes else 0
        arguments = [np.array([1.5, 2.5]) + 0.25 * i for i in range(shapes)]
        with np.errstate(all="ignore"):
            if family._argcheck(*arguments).all() if shapes else True:
                found.append(pytest.param(family, arguments, id=name))
    return found


@pytest.mark.parametrize("family, arguments", families())
def test_frozen_families(family, arguments):
    theirs = family(*arguments, loc=np.array([0.5, -1.0]), scale=2.0)
    F = tl.as_distribution(theirs)
    y = theirs.ppf(LEVELS[:, None]).T
    np.testing.assert_allclose(F.ppf(LEVELS), y, rtol=1e-8)
    inside = np.isfinite(y)
    np.testing.assert_allclose(F.cdf(y)[inside], theirs.cdf(y.T).T[inside], rtol=1e-9)
    np.testing.assert_allclose(F.sf(y)[inside], theirs.sf(y.T).T[inside], rtol=1e-8)


def objects():
    """Distributions of the newer infrastructure, each of two rows."""
    X = stats.Normal(mu=np.array([1.0, 2.0]), sigma=np.array([0.5, 1.0]))
    G = stats.make_distribution(stats.gamma)(a=np.array([2.0, 3.5]))
    W = stats.make_distribution(stats.weibull_min)(c=np.array([0.8, 3.0]))
    return {
        "Normal": X,
        "Uniform": stats.Uniform(a=np.array([0.0, 1.0]), b=2.0),
        "gamma": G,
        "weibull": W,
        "exp": stats.exp(X),
        "log": stats.log(G),
        "abs": stats.abs(X),
        "truncate": stats.truncate(X, lb=0.0, ub=np.array([3.0, 4.0])),
        "truncate one side": stats.truncate(G, lb=0.5),
        "order_statistic": stats.order_statistic(X, r=2, n=5),
        "affine of Normal": 2 * X + 1,
        "falling affine of Normal": 1 - X,
        "affine": 3 * G - 1,
        "falling affine": 1 - G,
        "affine of exp": 2 * stats.exp(X) + 1,
        "exp of truncate": stats.exp(stats.truncate(X, lb=0.0)),
        "reciprocal": 1 / G,
        "power": W**2,
    }


@pytest.mark.parametrize("name", objects())
def test_newer_objects(name):
    theirs = objects()[name]
    F = tl.as_distribution(theirs)
    y = theirs.icdf(LEVELS[:, None]).T
    np.testing.assert_allclose(F.ppf(LEVELS), y, rtol=1e-9)
    np.testing.assert_allclose(F.cdf(y), theirs.cdf(y.T).T, rtol=1e-9)
    np.testing.assert_allclose(F.logsf(y), theirs.logccdf(y.T).T, rtol=1e-8)
    np.testing.assert_allclose(F.logpdf(y), theirs.logpdf(y.T).T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(F.mean(), theirs.mean(), rtol=1e-9)
    np.testing.assert_allclose(F[[1, 0, 1]].ppf(LEVELS), y[[1, 0, 1]], rtol=1e-9)


def test_every_function_of_a_distribution_is_known():
    """A new one in scipy must be looked at."""
    from scipy.stats import _distribution_infrastructure as new

    base = new.TransformedDistribution
    found = {
        name for name, cls in vars(new).items() if inspect.isclass(cls) and issubclass(cls, base)
    }
    assert found == {
        "TransformedDistribution",
        "FoldedDistribution",
        "MonotonicTransformedDistribution",
        "OrderStatisticDistribution",
        "ShiftedScaledDistribution",
        "TruncatedDistribution",
    }


def test_mixture():
    parts = [stats.Normal(mu=0.0, sigma=1.0), stats.exp(stats.Normal(mu=1.0, sigma=0.5))]
    theirs = stats.Mixture(parts, weights=[0.3, 0.7])
    F = tl.as_distribution(theirs)
    y = theirs.icdf(LEVELS[1:])
    np.testing.assert_allclose(F.ppf(LEVELS[1:])[0], y, rtol=1e-7)
    np.testing.assert_allclose(F.cdf(y[None, :])[0], theirs.cdf(y), rtol=1e-12)
    np.testing.assert_allclose([F.mean()[0], F.var()[0]], [theirs.mean(), theirs.variance()])


@pytest.mark.parametrize("make", [stats.poisson, stats.randint])
def test_discrete_ones_are_refused(make):
    arguments = (3.0,) if make is stats.poisson else (1, 5)
    with pytest.raises(TypeError, match="obj is a discrete distribution"):
        tl.as_distribution(make(*arguments))
