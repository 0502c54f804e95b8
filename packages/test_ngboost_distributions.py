"""What NGBoost's ``pred_dist`` returns: every family, whole and in part."""

import inspect

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import trueline as tl

ngboost = pytest.importorskip("ngboost")
from ngboost import distns  # noqa: E402

LEVELS = np.array([0.001, 0.05, 0.3, 0.5, 0.8, 0.99])
# NGBoost keeps the logarithm of what must be positive; one row of parameters each.
ROWS = np.array([[0.5, 0.1, -0.3], [0.2, -0.4, 0.6], [1.5, 2.0, 1.2]])

FAMILIES = ["Beta", "Cauchy", "Exponential", "Gamma", "HalfNormal", "Laplace", "LogNormal"]
FAMILIES += ["Normal", "NormalFixedMean", "NormalFixedVar", "T", "TFixedDf", "TFixedDfFixedVar"]
FAMILIES += ["Weibull"]
REFUSED = ["Bernoulli", "BetaBernoulli", "BetaBinomial", "BetaBinomialEstN", "Poisson"]


def test_every_family_is_spoken_for():
    """A new one in NGBoost must be looked at."""
    classes = {name for name in distns.__all__ if inspect.isclass(getattr(distns, name))}
    bases = {"Distn", "ClassificationDistn", "RegressionDistn"}
    assert classes - bases == {*FAMILIES, *REFUSED, "LogitNormal"}


def make(name):
    family = getattr(distns, name)
    return family(ROWS[: family.n_params])


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name):
    theirs = make(name)
    F = tl.as_distribution(theirs)
    assert len(F) == 3
    y = np.stack([theirs.ppf(q) for q in LEVELS], axis=1)
    np.testing.assert_allclose(F.ppf(LEVELS), y, rtol=1e-9)
    np.testing.assert_allclose(F.cdf(y), theirs.cdf(y.T).T, rtol=1e-9)
    np.testing.assert_allclose(F.logpdf(y), theirs.logpdf(y.T).T, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(F.mean(), theirs.dist.mean(), rtol=1e-9)


# NGBoost itself cannot take rows of the other two.
@pytest.mark.parametrize("name", [n for n in FAMILIES if not n.startswith("NormalFixed")])
@pytest.mark.parametrize("rows", [slice(1, 3), [2, 0], 1])
def test_rows_of_a_family(name, rows):
    theirs = make(name)
    expected = tl.as_distribution(theirs)[rows].ppf(LEVELS)
    np.testing.assert_allclose(tl.as_distribution(theirs[rows]).ppf(LEVELS), expected, rtol=1e-12)


def test_the_logit_normal_has_the_density_that_ngboost_scores():
    theirs = make("LogitNormal")
    F = tl.as_distribution(theirs)
    y = np.array([0.2, 0.5, 0.9])
    score = distns.LogitNormal.scores[0].score(theirs, y)
    np.testing.assert_allclose(-F.logpdf(y), score, rtol=1e-9)
    base = stats.norm(theirs.mu, theirs.sigma)
    np.testing.assert_allclose(F.ppf(0.9), expit(base.ppf(0.9)), rtol=1e-12)
    np.testing.assert_allclose(F.cdf(y), base.cdf(logit(y)), rtol=1e-12)


@pytest.mark.parametrize("name", [*REFUSED, "MultivariateNormal"])
def test_what_is_refused_says_why(name):
    if name == "MultivariateNormal":
        family = distns.MultivariateNormal(2)
        theirs = family(np.zeros((family.n_params, 3)))
    elif name == "BetaBinomial":
        theirs = distns.BetaBinomial(ROWS[:2])
    else:
        family = getattr(distns, name)
        theirs = family(ROWS[: family.n_params])
    with pytest.raises(TypeError, match=r"discrete|multivariate|cannot make a distribution"):
        tl.as_distribution(theirs)


def test_a_trained_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.exp(0.3 * X[:, 0] + 0.5 * rng.normal(size=120))
    for dist in (distns.Normal, distns.LogNormal, distns.Gamma, distns.Laplace):
        model = ngboost.NGBRegressor(dist, n_estimators=3, verbose=False, random_state=0)
        theirs = model.fit(X, y).pred_dist(X)
        F = tl.as_distribution(theirs)
        np.testing.assert_allclose(F.cdf(y), theirs.cdf(y), rtol=1e-9)
        np.testing.assert_allclose(F.ppf(0.9), theirs.ppf(0.9), rtol=1e-9)
        np.testing.assert_allclose(tl.as_distribution(theirs[:5]).cdf(y[:5]), theirs.cdf(y)[:5])
