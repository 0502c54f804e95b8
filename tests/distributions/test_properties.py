"""Properties that hold for parameters of any size."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import trueline as tl

LOC = st.floats(-1e6, 1e6)
SCALE = st.floats(1e-6, 1e6)
DF = st.floats(0.6, 1e8)
LEVEL = st.floats(1e-12, 1.0 - 1e-12)

NORMAL = st.builds(tl.Normal, LOC, SCALE)
LOCATION_SCALE = st.one_of(
    NORMAL,
    st.builds(tl.Laplace, LOC, SCALE),
    st.builds(tl.Logistic, LOC, SCALE),
    st.builds(tl.StudentT, LOC, SCALE, DF),
)
# Ties, constant rows and neighbours that are close are all likely.
VALUES = hnp.arrays(
    float,
    st.tuples(st.just(1), st.integers(2, 12)),
    elements=st.one_of(
        st.integers(-3, 3).map(float), st.floats(-1e3, 1e3).map(lambda x: round(x, 6))
    ),
)
SAMPLES = VALUES.map(tl.Samples)
QUANTILES = VALUES.map(
    lambda v: tl.Quantiles(np.arange(1, v.shape[1] + 1) / (v.shape[1] + 1), np.sort(v, axis=1))
)
MIXTURES = st.builds(lambda a, b, w: tl.Mixture([a, b], [w, 1 - w]), NORMAL, NORMAL, LEVEL)
ANY = st.one_of(LOCATION_SCALE, SAMPLES, QUANTILES, MIXTURES)


def hair(*values):
    """A few rounding errors of the largest of these."""
    return 16.0 * np.spacing(max(float(np.abs(v).max()) for v in values))


@given(dist=ANY, levels=st.lists(LEVEL, min_size=2, max_size=5, unique=True))
def test_quantiles_rise_and_are_undone_by_the_cdf(dist, levels):
    q = np.sort(levels)
    y = dist.ppf(q)
    assert np.isfinite(y).all()
    assert (np.diff(y, axis=1) >= -hair(y)).all()
    step = hair(y, getattr(dist, "loc", np.zeros(1)))
    assert (dist.cdf(y + step) >= q - 1e-9).all()
    assert (dist.cdf(y - step) <= q + 1e-9).all()


@given(dist=ANY, y=st.lists(st.floats(-1e7, 1e7), min_size=2, max_size=6))
def test_the_cdf_and_the_score_rise(dist, y):
    grid = np.sort(y)[None, :]
    cdf, score = dist.cdf(grid), dist.score(grid)
    assert ((cdf >= 0) & (cdf <= 1)).all()
    assert (np.diff(cdf, axis=1) >= -1e-15).all()
    assert np.isfinite(score).all()
    assert (np.diff(score, axis=1) >= 0).all()
    np.testing.assert_allclose(cdf + dist.sf(grid), 1.0, rtol=1e-12)


@given(dist=ANY, y=st.floats(-1e7, 1e7))
def test_crps_is_a_distance(dist, y):
    crps = dist.crps(y)[0]
    size = np.abs(dist.median()[0] - y)
    assert crps >= -1e-9 * (1.0 + size)
    # The CRPS is at least |median - y| less the spread and at most the mean distance.
    assert crps <= size + np.abs(dist.ppf(0.999) - dist.ppf(0.001))[0] * 20 + 1e-9 * abs(y) + 1e-6


@given(
    loc=hnp.arrays(float, 5, elements=LOC),
    scale=hnp.arrays(float, 5, elements=SCALE),
    order=st.permutations(range(5)),
)
def test_permuting_rows_permutes_results(loc, scale, order):
    order = np.array(order)
    F, G = tl.Normal(loc, scale), tl.Normal(loc[order], scale[order])
    for name in ("mean", "var", "median"):
        np.testing.assert_array_equal(getattr(F, name)()[order], getattr(G, name)())
    np.testing.assert_array_equal(F[order].crps(0.5), G.crps(0.5))
    np.testing.assert_array_equal(F.ppf([0.1, 0.9])[order], G.ppf([0.1, 0.9]))


@given(dist=ANY, s=st.floats(-6.0, 6.0))
def test_unscore_undoes_score(dist, s):
    y = dist.unscore(s)
    again = dist.unscore(dist.score(y))
    np.testing.assert_allclose(
        again, y, rtol=1e-9, atol=1e-9 * (1 + np.abs(dist.ppf([0.01, 0.99])).max())
    )


@pytest.mark.parametrize("scale", [0.3, 0.8, 1.25, 4.0])
def test_the_crps_is_proper(scale):
    # With y ~ N(0, 1) no other forecast has a lower mean than the true one.
    y = np.random.default_rng(0).normal(size=20_000)
    true = tl.Normal(np.zeros(y.size), 1.0).crps(y).mean()
    assert true < tl.Normal(np.zeros(y.size), scale).crps(y).mean()
    assert true < tl.Normal(np.full(y.size, scale), 1.0).crps(y).mean()
    assert true < tl.Laplace(np.zeros(y.size), scale).crps(y).mean()
