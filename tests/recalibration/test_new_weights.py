"""Weighted maps with the mass of the new row: the guarantee of weighted conformal prediction.

Let rows have weights w and the new row v, total W. If w is the true ratio of densities, then

    U = (sum of the weights of lower scores + T v) / (W + v), with T uniform on (0, 1),

is exactly uniform (Tibshirani et al., 2019). The map of the new row must lie within one mass of U,
that is within max(v, u) / (W + v), where u is the mean weight that a new row is expected to have.
Given the n + 1 rows but not which of them is new, the map is then at most p with a probability of p
up to the largest of these masses.
"""

import numpy as np
import pytest
from scipy.stats import binom, norm

import trueline as tl
from trueline.scores import OwnMass

REJECT = 1e-5


def conformal_quantiles(s: np.ndarray, w: np.ndarray, v: float, p: float) -> tuple[float, float]:
    """Ends of one-sided weighted conformal intervals, by sorting; infinite if there is none.

    The outcome is at most the upper end, and at least the lower end of 1 - p, each with a
    probability of at least p.
    """
    order = np.argsort(s)
    s, share = s[order], w[order] / (w.sum() + v)
    above = np.flatnonzero(np.cumsum(share) >= p - 1e-12)
    below = np.flatnonzero(np.cumsum(share[::-1])[::-1] >= 1.0 - p - 1e-12)
    return (
        s[below[-1]] if below.size else -np.inf,
        s[above[0]] if above.size else np.inf,
    )


@pytest.mark.parametrize("v", [0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("spread", [0.0, 0.5, 1.5])
def test_quantiles_lie_between_those_of_weighted_conformal_prediction(v, spread):
    """Against brute force: between both ends, which are at most one mass apart."""
    rng = np.random.default_rng([int(10 * v), int(10 * spread)])
    s, w = rng.normal(size=30), np.exp(spread * rng.normal(size=30))
    R = tl.Isotonic(support=None).fit(s, tl.Point(np.zeros(30)), sample_weight=w)
    G = R.transform(tl.Point([0.0]), sample_weight=[v])
    unit = max((w @ w) / w.sum(), 1.0)
    mass = max(v, unit) / (w.sum() + v)
    levels = np.linspace(1.001 * mass, 1.0 - 1.001 * mass, 201)
    for p, q in zip(levels, G.ppf(levels)[0], strict=True):
        lower = conformal_quantiles(s, w, v, p - mass)[0]
        upper = conformal_quantiles(s, w, v, p + mass)[1]
        assert lower - 1e-9 <= q <= upper + 1e-9
    # The CDF lies within one mass of both bounds of U.
    for y in rng.normal(size=200):
        low = w[s < y].sum() / (w.sum() + v)
        high = (w[s < y].sum() + v) / (w.sum() + v)
        assert high - mass - 1e-9 <= G.cdf([y])[0] <= low + mass + 1e-9


def test_equal_weights_are_the_map_without_weights():
    rng = np.random.default_rng(0)
    y, F, new = rng.normal(size=40), tl.Normal(np.zeros(40), 0.3), tl.Normal([0.0, 1.0], [0.3, 2.0])
    R = tl.Isotonic().fit(y, F)
    plain, weighed = R.transform(new), R.transform(new, sample_weight=[1.0, 1.0])
    q = np.array([0.01, 0.2, 0.5, 0.9, 0.99])
    np.testing.assert_allclose(weighed._ppf(q[None, :]), plain._ppf(q[None, :]), rtol=1e-12)
    x = np.linspace(-3.0, 3.0, 7)[None, :]
    np.testing.assert_allclose(weighed.crps(x), plain.crps(x), rtol=1e-10)
    for name in ("mean", "var"):
        np.testing.assert_allclose(getattr(weighed, name)(), getattr(plain, name)(), rtol=1e-12)


def test_only_the_ratio_of_weights_counts_at_the_knots():
    """Rows with weights k and a new row with weight k are rows without weights."""
    y, new = np.arange(1.0, 10.0), tl.Point([0.0])
    R = tl.Isotonic(support=None).fit(y, tl.Point(np.zeros(9)), sample_weight=np.full(9, 7.0))
    G = R.transform(new, sample_weight=[7.0])
    np.testing.assert_allclose(G.cdf(y[None, :])[0], np.arange(1, 10) / 10, rtol=1e-12)


SHIFT = 1.0
ROWS = 100
REPETITIONS = 3000


@pytest.fixture(scope="module")
def shifted():
    """Levels of new outcomes, with the mass of the row and without, masses and supported levels.

    Features of new rows are shifted by one standard deviation, and outcomes are noisier there. The
    true weights are known. Columns: level with and without the mass of the new row, largest mass of
    the 101 rows, and lowest level that the map supports for the new row.
    """
    rng = np.random.default_rng(0)
    found = np.empty((REPETITIONS, 4))
    new = tl.Point([0.0])
    for row in found:
        x, x_new = rng.normal(size=ROWS), rng.normal(SHIFT)
        y, y_new = (rng.normal(0.0, np.exp(0.7 * at)) for at in (x, x_new))
        w, v = norm.pdf(x, SHIFT) / norm.pdf(x), norm.pdf(x_new, SHIFT) / norm.pdf(x_new)
        R = tl.Isotonic(support=None).fit(y, tl.Point(np.zeros(ROWS)), sample_weight=w)
        G = R.transform(new, sample_weight=[v])
        row[:2] = G.cdf(y_new)[0], R.transform(new).cdf(y_new)[0]
        row[2:] = max(w.max(), v) / (w.sum() + v), G._supported[0]
    return found


@pytest.mark.parametrize("p", [0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98])
def test_the_guarantee_holds_for_true_weights(shifted, p):
    """|P(R(S) <= p) - p| is at most the mean of the largest mass, by the exact binomial law.

    Counts of independent events with different probabilities have lighter tails than the binomial
    law with the mean probability (Hoeffding, 1956).
    """
    level, mass = shifted[:, 0], shifted[:, 2]
    count = int((level <= p).sum())
    least, most = (np.mean(np.clip(p + side * mass, 0.0, 1.0)) for side in (-1.0, 1.0))
    assert binom.cdf(count, REPETITIONS, least) > REJECT
    assert binom.sf(count - 1, REPETITIONS, most) > REJECT


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_hold_as_often_as_they_say(shifted, coverage):
    """Weighted conformal prediction takes an end that the rows do not support to infinity."""
    tail = 0.5 * (1.0 - coverage)
    level, without, _, supported = shifted.T
    held, before = (((s > tail) & (s <= 1.0 - tail)) for s in (level, without))
    conformal = int((held | (tail < supported)).sum())
    assert binom.cdf(conformal, REPETITIONS, coverage) > REJECT
    # With finite ends as well; without the mass of the new row intervals hold less often.
    assert binom.cdf(int(held.sum()), REPETITIONS, coverage) > REJECT
    assert held.sum() > before.sum()


def test_a_row_unlike_all_others_gets_a_wide_forecast():
    rng = np.random.default_rng(1)
    R = tl.Isotonic().fit(rng.normal(size=100), tl.Point(np.zeros(100)))
    G = R.transform(tl.Point(np.zeros(3)), sample_weight=[0.0, 1.0, 1000.0])
    assert isinstance(G, OwnMass)
    with pytest.warns(tl.CalibrationWarning, match="extrapolated tails"):
        lower, upper = G.interval(0.9)
    many = R.transform(tl.Point(np.zeros(50)), sample_weight=np.append(np.ones(49), 1000.0))
    many.interval(0.9)  # one row in fifty is no reason to warn
    assert (np.diff(upper - lower) > 0).all()
    assert repr(G) == "Point(3 rows), recalibrated by Isotonic on 100 rows"


def test_each_group_has_its_own_rows():
    rng = np.random.default_rng(2)
    group = np.repeat(["a", "b"], [200, 50])
    y, F = rng.normal(size=250), tl.Point(np.zeros(250))
    R = tl.Grouped(shrinkage=0).fit(y, F, groups=group)
    new = tl.Point([0.0, 0.0])
    G = R.transform(new, groups=["a", "b"], sample_weight=[2.0, 2.0])
    for row, name in enumerate("ab"):
        own = tl.Isotonic().fit(y[group == name], F[group == name])
        alone = own.transform(tl.Point([0.0]), sample_weight=[2.0])
        np.testing.assert_allclose(G.ppf(0.9)[row], alone.ppf(0.9)[0])


def test_maps_with_a_few_parameters_leave_no_mass():
    y, F = np.random.default_rng(3).normal(size=50), tl.Point(np.zeros(50))
    R = tl.Scaling().fit(y, F)
    np.testing.assert_array_equal(R.transform(F, sample_weight=y**2).std(), R.transform(F).std())


def test_conditional_leaves_mass_to_new_rows():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(200, 1)), rng.normal(size=200)
    R = tl.Conditional(random_state=0).fit(y, tl.Point(np.zeros(200)), X=X)
    light, heavy = (
        R.transform(tl.Point([0.0]), X=[[0.0]], sample_weight=[v]).std() for v in (0.1, 30.0)
    )
    assert light < heavy


def test_counts_keep_their_atoms():
    rng = np.random.default_rng(5)
    y, F = rng.poisson(2.0, size=500), tl.Normal(np.full(500, 2.0), 1.4)
    G = tl.Isotonic().fit(y, F).transform(F[:2], sample_weight=[1.0, 50.0])
    assert G.atoms is not None
    np.testing.assert_allclose(G.pmf(np.arange(60.0)[None, :]).sum(axis=1), 1.0, atol=1e-3)


@pytest.mark.parametrize(
    "weight, fault",
    [
        ([1.0], "sample_weight has 1 rows but dist has 2"),
        ([1.0, -1.0], "expected weights of 0 or more"),
    ],
)
def test_bad_weights_are_refused(weight, fault):
    R = tl.Isotonic().fit([1.0, 2.0, 3.0], tl.Point(np.zeros(3)))
    with pytest.raises(ValueError, match=fault):
        R.transform(tl.Point([0.0, 0.0]), sample_weight=weight)
