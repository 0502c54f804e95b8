"""Distributions of skpro: every one that it has, against its own cdf and quantiles."""

import warnings

import numpy as np
import pytest

import trueline as tl

skpro = pytest.importorskip("skpro")
from skpro import distributions  # noqa: E402
from skpro.registry import all_objects  # noqa: E402

LEVELS = np.array([0.01, 0.3, 0.5, 0.9])

#: What is refused, and the word that says why. Whatever else skpro has must be read.
REFUSED = {
    **dict.fromkeys(
        ["Binomial", "Geometric", "NegativeBinomial", "Poisson", "Skellam"],
        "discrete",
    ),
    **dict.fromkeys(["QPD_Empirical", "LeftTruncated", "ZeroInflated"], "discrete|mixed"),
    **dict.fromkeys(["Hurdle", "HistogramQPD", "TransformedDistribution"], "discrete|mixed"),
    "KernelMixture": "approximates",
    "TruncatedDistribution": "discrete|cannot be made a table",
    "MeanScale": "cannot be made a table",
}


def instances():
    """One instance of every class, scalar or with one column where it has such a one."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, cls in all_objects("distribution", return_names=True):
            for dist in cls.create_test_instances_and_names()[0]:
                if not dist.shape or dist.shape[1] == 1:
                    found.append(pytest.param(name, dist, id=name))
                    break
    return found


@pytest.mark.parametrize("name, theirs", instances())
def test_every_distribution(name, theirs):
    if name in REFUSED:
        with pytest.raises(TypeError, match=REFUSED[name]):
            tl.as_distribution(theirs)
        return
    F = tl.as_distribution(theirs)
    if name in ("Delta", "Empirical"):
        np.testing.assert_allclose(F.mean(), np.ravel(theirs.mean()))
        return
    # skpro bisects for these quantiles, to 1e-6 or so.
    loose = {"Exponential": 1e-4, "Mixture": 1e-4, "NormalMixture": 1e-4}.get(name, 1e-8)
    y = np.stack([np.ravel(np.asarray(theirs.ppf(_like(theirs, q)))) for q in LEVELS], axis=1)
    np.testing.assert_allclose(F.ppf(LEVELS), y, rtol=loose, atol=loose)
    cdf = [np.ravel(np.asarray(theirs.cdf(_like(theirs, y[:, [j]])))) for j in range(len(LEVELS))]
    np.testing.assert_allclose(F.cdf(y), np.stack(cdf, axis=1), rtol=1e-8)


def test_what_is_said_to_be_refused_exists():
    assert set(REFUSED) <= set(dict(all_objects("distribution", return_names=True)))


def _like(dist, x):
    """A value in the shape that a distribution takes."""
    return np.broadcast_to(x, dist.shape) if dist.shape else float(np.ravel(x)[0])


def test_mixtures_with_weights_by_row():
    theirs = distributions.NormalMixture(
        pi=[[0.3, 0.7], [0.5, 0.5], [1.0, 0.0]],
        mu=np.array([[0.0, 3.0], [1.0, 2.0], [5.0, 0.0]])[:, :, None],
        sigma=np.array([[1.0, 0.5], [2.0, 1.0], [0.1, 1.0]])[:, :, None],
    )
    F = tl.as_distribution(theirs)
    assert isinstance(F, tl.Mixture)
    y = np.array([[0.5], [1.5], [5.05]])
    np.testing.assert_allclose(F.cdf(y), np.asarray(theirs.cdf(y)), rtol=1e-12)
    np.testing.assert_allclose(F.mean(), np.ravel(theirs.mean()), rtol=1e-12)
    np.testing.assert_allclose(F.var(), np.ravel(theirs.var()), rtol=1e-12)


def test_what_predict_proba_returns():
    from sklearn.linear_model import LinearRegression
    from skpro.regression.residual import ResidualDouble

    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60)}, index=np.arange(60) + 100)
    y = pd.DataFrame({"y": X["a"] + rng.normal(size=60)})
    model = ResidualDouble(LinearRegression()).fit(X, y)
    theirs = model.predict_proba(X[:7])
    F = tl.as_distribution(theirs)
    quantiles = model.predict_quantiles(X[:7], alpha=[0.05, 0.5, 0.95])
    np.testing.assert_allclose(F.ppf([0.05, 0.5, 0.95]), quantiles.to_numpy(), rtol=1e-9)
    # The frame itself says its levels too, and the ends of an interval.
    G = tl.as_distribution(quantiles)
    np.testing.assert_array_equal(G.levels, [0.05, 0.5, 0.95])
    np.testing.assert_array_equal(G.values, quantiles.to_numpy())
    H = tl.as_distribution(model.predict_interval(X[:7], coverage=0.9))
    np.testing.assert_allclose(H.values, quantiles.to_numpy()[:, [0, 2]], rtol=1e-9)
