"""Functions of torch's distributions, and distributions of torch with fewer formulas."""

from types import MappingProxyType

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import trueline as tl
from trueline.interop._external import (
    AFFINE,
    EXP,
    POWER,
    SIGMOID,
    SOFTPLUS,
    TANH,
    Transformed,
    transformed,
)

LEVELS = np.array([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])


@pytest.fixture(name="torch", scope="module")
def _torch():
    return pytest.importorskip("torch")


def chains(torch):
    """Transformed distributions of two rows, in double precision."""
    D, T = torch.distributions, torch.distributions.transforms
    loc = torch.tensor([1.0, 2.0], dtype=torch.float64)
    scale = torch.tensor([0.3, 0.8], dtype=torch.float64)
    unit = D.Uniform(torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
    both = torch.tensor([-2.0, 3.0], dtype=torch.float64)
    make = D.TransformedDistribution
    return {
        "exp of normal": make(D.Normal(loc, scale), T.ExpTransform()),
        "falling affine": make(D.Normal(loc, scale), [T.AffineTransform(1.0, -2.0)]),
        "exp of Laplace": make(D.Laplace(loc, scale), [T.ExpTransform()]),
        "log": make(D.Exponential(scale), [T.ExpTransform().inv]),
        "affine of gamma": make(D.Gamma(loc, scale), [T.AffineTransform(loc, scale)]),
        "rises and falls": make(
            D.Laplace(loc, scale), [T.AffineTransform(loc, both), T.SigmoidTransform()]
        ),
        "logistic": make(unit, [T.SigmoidTransform().inv, T.AffineTransform(loc, scale)]),
        "root": make(D.Gamma(loc, scale), [T.PowerTransform(torch.tensor(0.5).double())]),
        "reciprocal": make(D.Gamma(loc, scale), [T.PowerTransform(torch.tensor(-1.0).double())]),
        "softplus": make(D.Normal(loc, scale), [T.SoftplusTransform()]),
        "tanh": make(D.Normal(loc, scale), [T.TanhTransform(), T.AffineTransform(5.0, 3.0)]),
        "composed": make(
            D.Normal(loc, scale),
            T.ComposeTransform([T.AffineTransform(0.0, 0.5), T.SigmoidTransform()]),
        ),
        "inverse of composed": make(
            D.Beta(loc, scale),
            T.ComposeTransform([T.AffineTransform(0.0, 0.5), T.SigmoidTransform()]).inv,
        ),
        "column": D.Independent(
            make(D.Normal(loc[:, None], scale[:, None]), [T.ExpTransform()]), 1
        ),
    }


def test_chains_have_the_density_and_the_cdf_of_torch(torch):
    for name, theirs in chains(torch).items():
        F = tl.as_distribution(theirs)
        assert len(F) == 2, name
        y = F.ppf(LEVELS)
        np.testing.assert_allclose(F.cdf(y), np.tile(LEVELS, (2, 1)), rtol=1e-9, err_msg=name)
        assert (np.diff(y) > 0).all(), name
        tail = (slice(None), ...) if name != "column" else (..., None)
        values = torch.tensor(np.ascontiguousarray(y.T))[tail]
        log = theirs.log_prob(values).numpy().T
        np.testing.assert_allclose(F.logpdf(y), log, rtol=1e-8, atol=1e-9, err_msg=name)
        try:
            cdf = theirs.cdf(values).numpy()
        except NotImplementedError:
            continue
        np.testing.assert_allclose(F.cdf(y), cdf.reshape(y.T.shape).T, rtol=1e-9, err_msg=name)


def test_chains_are_whole_distributions(torch):
    for name, theirs in chains(torch).items():
        F = tl.as_distribution(theirs)
        y = F.ppf([0.2, 0.7])
        for method in ("cdf", "logpdf", "score", "crps"):
            every = getattr(F, method)(y)
            rows = getattr(F[[1, 0, 1]], method)(y[[1, 0, 1]])
            np.testing.assert_allclose(rows, every[[1, 0, 1]], rtol=1e-10, err_msg=name)
        s = np.array([[-20.0, -3.0, 0.0, 2.0]])
        np.testing.assert_allclose(F.score(F.unscore(s)), np.tile(s, (2, 1)), atol=1e-6)
        assert np.isfinite(F.score([[-1e6, 1e6]])).all(), name


def test_families_that_are_our_own_stay_so(torch):
    made = chains(torch)
    assert isinstance(tl.as_distribution(made["falling affine"]), tl.Normal)
    np.testing.assert_allclose(
        tl.as_distribution(made["exp of normal"]).mean(),
        np.exp(np.array([1.0, 2.0]) + 0.5 * np.array([0.3, 0.8]) ** 2),
    )


def test_mixtures_of_transformed_distributions(torch):
    D, T = torch.distributions, torch.distributions.transforms
    loc = torch.tensor([[0.0, 1.0], [0.5, 2.0], [0.0, 0.0]])
    weights = torch.tensor([[0.3, 0.7], [0.5, 0.5], [0.9, 0.1]])
    parts = D.TransformedDistribution(
        D.Laplace(loc, torch.full((3, 2), 0.5)), [T.AffineTransform(0.0, 2.0), T.TanhTransform()]
    )
    F = tl.as_distribution(D.MixtureSameFamily(D.Categorical(weights), parts))
    y = np.array([[-0.2, 0.5, 0.9]])
    expected = sum(
        weights.numpy()[:, [j]]
        * stats.laplace(2.0 * loc.numpy()[:, [j]].astype(float), 1.0).cdf(np.arctanh(y))
        for j in range(2)
    )
    np.testing.assert_allclose(F.cdf(y), expected, rtol=1e-6)


# ---- moments -------------------------------------------------------------------------


@pytest.mark.parametrize("by", [SIGMOID, TANH, SOFTPLUS])
def test_moments_are_integrals(by):
    F = transformed(tl.Logistic([0.5, -1.0], [0.4, 2.0]), by)
    for i, base in enumerate([stats.logistic(0.5, 0.4), stats.logistic(-1.0, 2.0)]):
        ends = base.ppf([1e-15, 0.5]), base.isf([0.5, 1e-15])
        mean, square = (
            sum(
                quad(lambda x, k=k, f=base: by.forward(x) ** k * f.pdf(x), *end, epsrel=1e-11)[0]
                for end in ends
            )
            for k in (1, 2)
        )
        np.testing.assert_allclose(F.mean()[i], mean, rtol=1e-8)
        np.testing.assert_allclose(F.var()[i], square - mean**2, rtol=1e-6)


def test_a_moment_that_tails_carry_is_not_made_up():
    endless = transformed(tl.StudentT([0.0], 1.0, 3.0), EXP)
    assert endless.mean() == np.inf
    assert not np.isfinite(endless.var())
    # A mean of 1 / (1 - 0.81), half of it from beyond 8 standard scores, and no variance.
    heavy = transformed(tl.Laplace([0.0], 0.9), EXP)
    assert np.isnan(heavy.mean())
    assert np.isnan(heavy.var())
    light = transformed(tl.Laplace([0.0], 0.2), EXP)
    np.testing.assert_allclose(light.mean(), 1.0 / (1.0 - 0.2**2), rtol=1e-6)


def test_affine_keeps_moments_exact():
    base = tl.as_distribution(stats.gamma([2.0, 3.0]))
    column = np.array([[2.0], [-3.0]])
    F = Transformed(base, AFFINE, (np.ones((2, 1)), column), column > 0)
    np.testing.assert_allclose(F.mean(), [5.0, -8.0], rtol=1e-14)
    np.testing.assert_allclose(F.var(), [8.0, 27.0], rtol=1e-14)


def test_the_upper_tail_keeps_its_digits():
    F = transformed(tl.Normal([0.0], 1.0), EXP)
    np.testing.assert_allclose(F.sf(np.exp(30.0)), stats.norm.sf(30.0), rtol=1e-12)
    np.testing.assert_allclose(F.unscore(7.5), np.exp(7.5), rtol=1e-9)
    mixed = transformed(tl.Mixture([tl.Normal([0.0], 1.0), tl.Normal([1.0], 1.0)]), EXP)
    half = 0.5 * (stats.norm.sf(7.0) + stats.norm.sf(8.0))
    np.testing.assert_allclose(mixed._isf(np.array([[half]])), np.exp(8.0), rtol=1e-9)


def test_a_forecast_outside_the_domain_is_refused():
    with pytest.raises(ValueError, match="row 0 of obj takes a function that is defined") as caught:
        transformed(tl.Normal([0.0, 9.0], 1.0), EXP.inverted())
    assert str(caught.value) == (
        "row 0 of obj takes a function that is defined between 0 and inf of a forecast with a "
        "share of 0.5 outside; expected a forecast within. Fix the transform."
    )


def test_recalibrated():
    rng = np.random.default_rng(0)
    base = transformed(tl.Normal(np.zeros(400), 1.0), EXP)
    y = np.exp(0.5 + 2.0 * rng.normal(size=400))  # off centre, and twice as wide
    G = tl.Isotonic().fit(y, base).transform(base[:1])
    # 400 draws: the median of the log is within 3 standard errors, 2 * 1.25 / 20 each.
    np.testing.assert_allclose(np.log(G.median()), 0.5, atol=0.4)


# ---- fewer formulas ------------------------------------------------------------------


def test_a_distribution_without_quantiles_is_inverted(torch):
    class Ramp(torch.distributions.Distribution):
        """Density 2 x / top^2 from 0 to top."""

        arg_constraints = MappingProxyType({"top": torch.distributions.constraints.positive})

        def __init__(self, top, validate_args=None):
            self.top = top
            super().__init__(top.shape, validate_args=validate_args)

        @property
        def support(self):
            return torch.distributions.constraints.interval(0.0, self.top)

        def cdf(self, value):
            return (value / self.top) ** 2

        def log_prob(self, value):
            return torch.log(2 * value / self.top**2)

    F = tl.as_distribution(Ramp(torch.tensor([1.0, 3.0])))
    tops = np.array([[1.0], [3.0]])
    np.testing.assert_allclose(F.ppf(LEVELS), tops * np.sqrt(LEVELS), rtol=1e-9)
    np.testing.assert_allclose(F.cdf([[-1.0, 0.5, 9.0]]), [[0, 0.25, 1], [0, 1 / 36, 1]])
    np.testing.assert_allclose(F[[1]].median(), 3 * np.sqrt(0.5), rtol=1e-12)
    # CRPS at the top end: the integral of F^2 from 0 to top is top / 5.
    np.testing.assert_allclose(F.crps([1.0, 3.0]), [0.2, 0.6], rtol=1e-6)


def test_a_transform_that_is_not_known_is_refused(torch):
    D, T = torch.distributions, torch.distributions.transforms
    theirs = D.TransformedDistribution(D.Normal(torch.zeros(2), torch.ones(2)), T.AbsTransform())
    with pytest.raises(TypeError) as caught:
        tl.as_distribution(theirs)
    assert str(caught.value) == (
        "obj is a torch distribution with a AbsTransform; expected transforms of one number that "
        "rise or fall: Affine, Exp, Power, Sigmoid, Softplus, Tanh and their inverses. Give draws "
        "instead: Samples(dist.sample((1000,)).T)."
    )


def test_maps_undo_themselves():
    x = np.array([0.3, 1.7])
    for by, parameters in [
        (AFFINE, (1.0, -2.0)),
        (EXP, ()),
        (POWER, (-1.5,)),
        (SIGMOID, ()),
        (SOFTPLUS, ()),
        (TANH, ()),
    ]:
        y = by.forward(x, *parameters)
        np.testing.assert_allclose(by.inverse(y, *parameters), x, rtol=1e-12)
        step = 1e-6
        slope = (by.forward(x + step, *parameters) - by.forward(x - step, *parameters)) / (2 * step)
        np.testing.assert_allclose(by.log_slope(x, *parameters), np.log(np.abs(slope)), atol=1e-8)
        back = by.inverted()
        np.testing.assert_allclose(
            back.log_slope(y, *parameters), -by.log_slope(x, *parameters), rtol=1e-9
        )
