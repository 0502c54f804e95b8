"""One map a group: apart, pooled, and in between."""

import numpy as np
import pytest
from scipy.stats import betabinom, norm

import trueline as tl
from trueline.recalibration._hierarchy import GroupPrior

INNER = [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling()]
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


@pytest.fixture
def rows():
    """Two groups of 300 rows, one of 25; the second is spread and shifted."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["calm", "wild", "tiny"], [300, 300, 25])
    scale = np.select([groups == "calm", groups == "wild"], [1.0, 5.0], 2.0)
    y = rng.normal(size=625) * scale + np.where(groups == "wild", 3.0, 0.0)
    order = rng.permutation(625)
    return y[order], tl.Point(np.zeros(625)), groups[order]


@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_without_shrinkage_groups_are_fitted_apart(rows, inner):
    y, forecast, groups = rows
    map_ = tl.Grouped(inner, shrinkage=0).fit(y, forecast, groups=groups)
    together = map_.transform(forecast, groups=groups)
    for name in ("calm", "wild", "tiny"):
        mine = groups == name
        alone = inner.fit(y[mine], forecast[mine]).transform(forecast[mine])
        np.testing.assert_array_equal(together[mine].cdf(y[mine]), alone.cdf(y[mine]))
        np.testing.assert_array_equal(together[mine].ppf(LEVELS), alone.ppf(LEVELS))
        np.testing.assert_array_equal(together[mine].mean(), alone.mean())
        np.testing.assert_array_equal(together[mine].crps(y[mine]), alone.crps(y[mine]))


@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_with_much_shrinkage_groups_differ_in_shift_and_scale_alone(rows, inner):
    y, forecast, groups = rows
    map_ = tl.Grouped(inner, shrinkage=1e8).fit(y, forecast, groups=groups)
    levels = np.linspace(0.05, 0.95, 19)
    found = {name: map_.law(name).ppf(levels) for name in ("calm", "wild")}
    shape = {name: (q - q[9]) / (q[14] - q[4]) for name, q in found.items()}
    # Two groups of hundreds of rows; the scales that they leave open blur the shape a little.
    np.testing.assert_allclose(shape["calm"], shape["wild"], atol=0.04)
    spread = {name: q[14] - q[4] for name, q in found.items()}
    own = {name: np.diff(np.quantile(y[groups == name], [0.25, 0.75]))[0] for name in found}
    assert spread["wild"] / spread["calm"] == pytest.approx(own["wild"] / own["calm"], rel=0.15)


def test_a_small_group_leans_on_the_others_more_than_a_large_one(rows):
    y, forecast, groups = rows
    at = np.linspace(-9, 12, 30)[None, :]
    lean = {}
    for name in ("calm", "tiny"):
        one = tl.Point(0.0)
        apart = tl.Grouped(shrinkage=0).fit(y, forecast, groups=groups)
        shrunk = tl.Grouped(shrinkage=20).fit(y, forecast, groups=groups)
        move = shrunk.transform(one, groups=[name]).cdf(at) - apart.transform(
            one, groups=[name]
        ).cdf(at)
        lean[name] = np.abs(move).max()
    assert lean["tiny"] > 3 * lean["calm"]


def test_coverage_within_each_group():
    """Without shrinkage each group has its own exact law; see test_coverage_law.py."""
    n, m, rng = 999, 2000, np.random.default_rng(1)
    names = np.array(["a", "b", "c", "d"])
    bias, scale = np.array([0.0, 2.0, -1.0, 0.5]), np.array([1.0, 0.1, 5.0, 30.0])

    def rows(size):
        index = np.repeat(np.arange(4), size)
        y = bias[index] + scale[index] * rng.standard_t(4, size=4 * size)
        return y, tl.Normal(np.zeros(4 * size), 1.0), names[index]

    y, forecast, groups = rows(n)
    map_ = tl.Grouped(shrinkage=0).fit(y, forecast, groups=groups)
    y, forecast, groups = rows(m)
    quantiles = map_.transform(forecast, groups=groups).ppf(LEVELS)
    for name in names:
        mine = groups == name
        covered = (y[mine, None] <= quantiles[mine]).sum(axis=0)
        # n + 1 is 1000, so that every level is a knot and the law is exact.
        k = np.round(LEVELS * (n + 1))
        law = betabinom(m, k, n + 1 - k)
        share = 0.001 / (4 * len(LEVELS) * 2)
        assert (law.cdf(covered) > share).all()
        assert (law.sf(covered - 1) > share).all()


def test_default_shrinkage_keeps_large_groups_calibrated(rows):
    y, forecast, groups = rows
    map_ = tl.Grouped().fit(y, forecast, groups=groups)
    rng = np.random.default_rng(2)
    fresh = rng.normal(size=20_000) * 5.0 + 3.0
    lower, upper = map_.transform(tl.Point(0.0), groups=["wild"]).interval(0.9)
    covered = ((fresh >= lower) & (fresh <= upper)).mean()
    # Borrowed rows cost up to shrinkage / (n + shrinkage) = 6%, and 300 rows leave noise.
    assert 0.82 < covered < 0.95


def test_an_unseen_group_gets_the_pooled_map(rows):
    y, forecast, groups = rows
    map_ = tl.Grouped().fit(y, forecast, groups=groups)
    with pytest.warns(tl.CalibrationWarning, match="1 of 2 groups were not there at fit"):
        dist = map_.transform(tl.Point([0.0, 0.0]), groups=["calm", "new"])
    pooled = tl.Isotonic().fit(y, forecast).transform(tl.Point(0.0))
    np.testing.assert_array_equal(dist[1].ppf(LEVELS), pooled.ppf(LEVELS))
    np.testing.assert_array_equal(dist[1].mean(), pooled.mean())


def test_rows_keep_their_places(rows):
    y, forecast, groups = rows
    map_ = tl.Grouped().fit(y, forecast, groups=groups)
    loc = np.arange(6.0)
    order = ["wild", "calm", "wild", "tiny", "calm", "wild"]
    dist = map_.transform(tl.Point(loc), groups=order)
    for i, name in enumerate(order):
        one = map_.transform(tl.Point(loc[i]), groups=[name])
        np.testing.assert_array_equal(dist.ppf(LEVELS)[i], one.ppf(LEVELS)[0])
        np.testing.assert_array_equal(dist.crps(loc + 1.0)[i], one.crps(loc[i] + 1.0)[0])


@pytest.mark.parametrize(
    "fitted_on, asked",
    [
        (["a", "b", "b", "a"], np.array(["b", "a"], dtype=object)),
        (np.array([b"a", b"b", b"b", b"a"]), ["b", "a"]),
        ([1, 2, 2, 1], np.array([2.0, 1.0])),
        ([1, 2, 2, 1], np.array([2, 1], dtype=np.int8)),
        ([True, False, False, True], np.array([0, 1])),
    ],
    ids=repr,
)
def test_a_group_is_known_by_its_name_not_by_its_type(fitted_on, asked):
    y, forecast = [0.0, 10.0, 11.0, 1.0], tl.Point(np.zeros(4))
    map_ = tl.Grouped(shrinkage=0).fit(y, forecast, groups=fitted_on)
    mean = map_.transform(tl.Point([0.0, 0.0]), groups=asked).mean()
    np.testing.assert_allclose(mean, [10.5, 0.5], rtol=1e-12)


def test_a_group_of_zero_weight_is_not_there():
    y, forecast = [1.0, 2.0, 3.0], tl.Point(np.zeros(3))
    map_ = tl.Grouped().fit(y, forecast, sample_weight=[1, 1, 0], groups=["a", "a", "b"])
    assert map_.groups_ == ["a"]


def test_groups_after_a_merge_are_those_of_a_fit_on_all():
    forecast = tl.Point(np.zeros(2))
    one = tl.Grouped().fit([1.0, 2.0], forecast, groups=["c", "a"])
    two = tl.Grouped().fit([3.0, 4.0], forecast, groups=["b", "c"])
    whole = tl.Grouped().fit(
        [1.0, 2.0, 3.0, 4.0], tl.Point(np.zeros(4)), groups=["c", "a", "b", "c"]
    )
    assert one.merge(two).groups_ == two.merge(one).groups_ == whole.groups_ == ["a", "b", "c"]
    assert one.merge(two).to_json() == two.merge(one).to_json() == whole.to_json()


def test_names_of_different_kinds_merge():
    one = tl.Grouped().fit([1.0], tl.Point(0.0), groups=["a"])
    two = tl.Grouped().fit([2.0], tl.Point(0.0), groups=[7])
    assert one.merge(two).groups_ == [7, "a"]


def test_a_thousand_groups():
    n = 5000
    rng = np.random.default_rng(3)
    groups = rng.integers(1000, size=n)
    y, forecast = rng.normal(size=n), tl.Point(np.zeros(n))
    dist = tl.Grouped().fit(y, forecast, groups=groups).transform(forecast, groups=groups)
    assert np.isfinite(dist.mean()).all()
    assert np.isfinite(dist.crps(y)).all()


# ---- groups of a few rows ------------------------------------------------------------------


def coverages(sizes, scale, shift, repeats=60):
    """Return the mean probability of 90% intervals by group, for normal scores; (groups,)."""
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    held = np.empty((repeats, len(sizes)))
    for row in held:
        y = rng.normal(size=len(groups)) * scale[groups] + shift[groups]
        map_ = tl.Grouped().fit(y, tl.Point(np.zeros(len(y))), groups=groups)
        ends = np.array([map_.law(g).ppf(np.array([0.05, 0.95])) for g in range(len(sizes))])
        z = (ends - shift[:, None]) / scale[:, None]
        row[:] = norm.cdf(z[:, 1]) - norm.cdf(z[:, 0])
    return held.mean(axis=0)


def test_small_groups_that_are_noisy_or_shifted_among_ordinary_ones():
    """Standard errors are 0.02 for 5 rows and 0.003 for the mean over ordinary groups."""
    sizes = np.array([*np.geomspace(20, 200, 40).astype(int), 5, 10, 20, 5, 10, 20])
    scale, shift = np.ones(46), np.zeros(46)
    scale[40:43], shift[43:] = 4.0, 4.0
    found = coverages(sizes, scale, shift)
    assert ((found[40:] > 0.85) & (found[40:] < 0.96)).all()
    assert 0.895 < found[:40].mean() < 0.91


def test_a_small_noisy_group_among_three():
    found = coverages(np.array([100, 100, 5]), np.array([1.0, 1.0, 4.0]), np.zeros(3), repeats=100)
    assert 0.85 < found[2] < 0.95


def test_ordinary_small_groups_have_nearly_the_pooled_map():
    """Where groups do not differ, pooling is best, and little is lost to finding that out."""
    rng = np.random.default_rng(3)
    sizes = np.tile([3, 8, 60], 20)
    z = norm.ppf((np.arange(400) + 0.5) / 400)
    ratio = []
    for _ in range(5):
        y, groups = rng.normal(size=sizes.sum()), np.repeat(np.arange(60), sizes)
        map_ = tl.Grouped().fit(y, tl.Point(np.zeros(len(y))), groups=groups)
        small = np.flatnonzero(sizes < 10)
        own = np.mean([map_.law(g).crps(z).mean() for g in small])
        ratio.append(own / map_.law().crps(z).mean())
    assert np.mean(ratio) < 1.02  # 1.013 with pooled scores instead of a predictive law


def test_a_predictive_law_is_that_of_the_group_once_its_rows_say_so():
    rng = np.random.default_rng(4)
    parts = [s * rng.normal(size=200) + a for s, a in ((1.0, 0.0), (1.0, 0.0), (3.0, 5.0))]
    scores = [tl.Isotonic().fit_scores(part).scores_ for part in parts]
    pooled = tl.Isotonic().fit_scores(np.concatenate(parts)).scores_
    found = GroupPrior(pooled, scores).predict(scores[2], worth=7.0)
    assert found.effective_rows == found.total == pytest.approx(7.0)
    law = tl.Isotonic(finite_sample=False)._law_of(found)
    # The scale of 200 rows has a standard error of 5%, and their location of 0.3.
    assert law.mean == pytest.approx(parts[2].mean(), abs=0.6)
    assert np.sqrt(law.var) == pytest.approx(parts[2].std(), rel=0.15)


@pytest.mark.filterwarnings("ignore:31 rows have only:trueline.CalibrationWarning")
def test_equal_scores_have_no_scale_to_predict():
    y = np.r_[np.zeros(30), 1.0]
    map_ = tl.Grouped().fit_scores(y, groups=np.arange(31) % 3)
    assert np.isfinite(map_.law(0).ppf(np.array([0.01, 0.99]))).all()
