"""torch.distributions: every family, with torch's own cdf, quantiles and density as the judge."""

import inspect

import numpy as np
import pytest

import trueline as tl

torch = pytest.importorskip("torch")
D = torch.distributions
T = D.transforms

LEVELS = np.array([0.001, 0.05, 0.3, 0.5, 0.8, 0.99])
A = torch.tensor([1.5, 2.5], dtype=torch.float64)
B = torch.tensor([0.7, 3.0], dtype=torch.float64)

FAMILIES = {
    "Beta": D.Beta(A, B),
    "Cauchy": D.Cauchy(A, B),
    "Chi2": D.Chi2(A),
    "ContinuousBernoulli": D.ContinuousBernoulli(torch.tensor([0.2, 0.6]).double()),
    "Exponential": D.Exponential(B),
    "FisherSnedecor": D.FisherSnedecor(A, B),
    "Gamma": D.Gamma(A, B),
    # torch compares its parameters with a float32 and takes no others.
    "GeneralizedPareto": D.GeneralizedPareto(A.float(), B.float(), 0.1 * A.float()),
    "Gumbel": D.Gumbel(A, B),
    "HalfCauchy": D.HalfCauchy(B),
    "HalfNormal": D.HalfNormal(B),
    "InverseGamma": D.InverseGamma(A, B),
    "Kumaraswamy": D.Kumaraswamy(A, B),
    "Laplace": D.Laplace(A, B),
    "LogNormal": D.LogNormal(A, 0.2 * B),
    "Normal": D.Normal(A, B),
    "Pareto": D.Pareto(A, B),
    "StudentT": D.StudentT(A, A, B),
    "Uniform": D.Uniform(A, A + B),
    "Weibull": D.Weibull(A, B),
}
#: Those that are no number a row, or count, or have no density on a line, and are refused.
REFUSED = {
    *("Bernoulli", "Binomial", "Categorical", "Geometric", "NegativeBinomial", "Poisson"),
    *("Multinomial", "OneHotCategorical", "OneHotCategoricalStraightThrough"),
    *("Dirichlet", "LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"),
    *("LogisticNormal", "RelaxedOneHotCategorical", "RelaxedBernoulli", "VonMises"),
}
#: Those that are made of others.
MADE = {"Distribution", "ExponentialFamily", "Independent"}
MADE |= {"MixtureSameFamily", "TransformedDistribution"}


def test_every_family_is_spoken_for():
    """A new one in torch must be looked at."""
    classes = {name: getattr(D, name) for name in D.__all__}
    families = {
        name
        for name, cls in classes.items()
        if inspect.isclass(cls) and issubclass(cls, D.Distribution)
    }
    assert families == set(FAMILIES) | REFUSED | MADE


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name):
    theirs = FAMILIES[name]
    F = tl.as_distribution(theirs)
    y = F.ppf(LEVELS)
    np.testing.assert_allclose(F.cdf(y), np.tile(LEVELS, (2, 1)), rtol=1e-9)
    values = torch.tensor(np.ascontiguousarray(y.T), dtype=theirs.mean.dtype)
    close = {"rtol": 1e-7, "atol": 1e-7}
    if values.dtype == torch.float32:
        close = {"rtol": 1e-4, "atol": 1e-4}
    log = theirs.log_prob(values).numpy().T
    np.testing.assert_allclose(F.logpdf(y), log, **close)
    for ours, method in ((F.cdf, "cdf"), (None, "icdf")):
        try:
            if ours is not None:
                np.testing.assert_allclose(ours(y).T, getattr(theirs, method)(values), **close)
            else:
                q = torch.tensor(LEVELS, dtype=values.dtype)[:, None].expand(-1, 2)
                np.testing.assert_allclose(y.T, getattr(theirs, method)(q), **close)
        except NotImplementedError:  # torch has none, which is why it is not asked
            continue


@pytest.mark.parametrize("name", ["Gamma", "StudentT", "LogNormal"])
@pytest.mark.parametrize("form", ["column", "independent", "single precision", "gradients", "one"])
def test_forms(name, form):
    theirs = FAMILIES[name]
    expected = tl.as_distribution(theirs).ppf(LEVELS)
    p = {key: getattr(theirs, key) for key in theirs.arg_constraints}
    if form in ("column", "independent"):
        theirs = type(theirs)(**{key: value[:, None] for key, value in p.items()})
        theirs = D.Independent(theirs, 1) if form == "independent" else theirs
    elif form == "single precision":
        theirs = type(theirs)(**{key: value.float() for key, value in p.items()})
        np.testing.assert_allclose(tl.as_distribution(theirs).ppf(LEVELS), expected, rtol=1e-5)
        return
    elif form == "gradients":
        theirs = type(theirs)(**{k: v.clone().requires_grad_() for k, v in p.items()})
    else:
        theirs = type(theirs)(**{key: value[1] for key, value in p.items()})
        expected = expected[1:]
    np.testing.assert_allclose(tl.as_distribution(theirs).ppf(LEVELS), expected, rtol=1e-12)


def test_mixtures_have_the_cdf_and_density_of_torch():
    weights = torch.tensor([[0.3, 0.7], [0.9, 0.1]]).double()
    loc = torch.tensor([[0.0, 3.0], [1.0, 1.5]]).double()
    width = torch.tensor([[1.0, 0.5], [0.2, 2.0]]).double()
    for family in (D.Normal, D.Laplace, D.Gumbel):
        # torch's Gumbel refuses the far tails of the other component.
        parts = family(loc, width, validate_args=False)
        theirs = D.MixtureSameFamily(D.Categorical(weights), parts, validate_args=False)
        F = tl.as_distribution(theirs)
        y = F.ppf(LEVELS)
        values = torch.tensor(np.ascontiguousarray(y.T))
        np.testing.assert_allclose(theirs.cdf(values).numpy().T, np.tile(LEVELS, (2, 1)), rtol=1e-9)
        np.testing.assert_allclose(F.logpdf(y), theirs.log_prob(values).numpy().T, rtol=1e-9)
        np.testing.assert_allclose(F.mean(), theirs.mean, rtol=1e-9)
        np.testing.assert_allclose(F.var(), theirs.variance, rtol=1e-9)
    by_logits = D.MixtureSameFamily(D.Categorical(logits=weights.log()), D.Normal(loc, width))
    np.testing.assert_allclose(
        tl.as_distribution(by_logits).mean(), by_logits.mean.numpy(), rtol=1e-12
    )


def test_transforms_have_the_cdf_and_quantiles_of_torch():
    for theirs in (
        D.TransformedDistribution(D.Laplace(A, B), [T.ExpTransform()]),
        D.TransformedDistribution(D.Normal(A, B), [T.AffineTransform(A, -B), T.SigmoidTransform()]),
        D.TransformedDistribution(D.Exponential(B), [T.PowerTransform(torch.tensor(0.5).double())]),
    ):
        F = tl.as_distribution(theirs)
        q = torch.tensor(LEVELS)[:, None].expand(-1, 2)
        y = theirs.icdf(q)
        np.testing.assert_allclose(F.ppf(LEVELS), y.numpy().T, rtol=1e-9)
        np.testing.assert_allclose(F.cdf(y.numpy().T), theirs.cdf(y).numpy().T, rtol=1e-9)
        np.testing.assert_allclose(F.logpdf(y.numpy().T), theirs.log_prob(y).numpy().T, rtol=1e-8)


def refused():
    """One of each kind that is refused."""
    half, eye = torch.full((2,), 0.5), torch.eye(2)
    return {
        "Bernoulli": D.Bernoulli(half),
        "Poisson": D.Poisson(half),
        "NegativeBinomial": D.NegativeBinomial(half, half),
        "Dirichlet": D.Dirichlet(half),
        "MultivariateNormal": D.MultivariateNormal(half, eye),
        "LogisticNormal": D.LogisticNormal(half, half),
        "RelaxedBernoulli": D.RelaxedBernoulli(torch.tensor(1.0), half),
        "VonMises": D.VonMises(half, half),
        "Wishart": D.Wishart(torch.tensor(3.0), eye),
        "one number": D.MultivariateNormal(torch.zeros(3, 1), torch.ones(3, 1, 1)),
    }


@pytest.mark.parametrize("name", refused())
def test_what_is_refused_says_why(name):
    with pytest.raises(TypeError, match=r"obj is a (discrete|multivariate|torch)"):
        tl.as_distribution(refused()[name])
