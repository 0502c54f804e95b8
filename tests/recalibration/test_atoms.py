"""Outcomes with atoms: counts, ratings, zeros and bounds are forecast with them.

The data are simulated, with fixed seeds. A standard error in a comment is that of the quantity for
these numbers of rows and seeds, so that a tolerance of three of them fails by chance in 3 of 1,000
cases if seeds were drawn.
"""

import copy
import itertools
import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm, poisson

import trueline as tl
from tests.recalibration.documents import signed
from trueline.distributions._atoms import Ends, Lattice
from trueline.recalibration import QuantileForest

COUNTS = tl.Support(low=0, step=1)
MAPS = [tl.Isotonic(), tl.Smooth(), tl.BetaCalibration(), tl.Scaling(), tl.Auto(cv=2)]


def poisson_rows(seed, n, kind):
    """Outcomes, their rates and perfect forecasts of them."""
    rng = np.random.default_rng(seed)
    rate = rng.gamma(4.0, 0.25, size=n)
    y = rng.poisson(rate).astype(float)
    if kind == "samples":
        return y, rate, tl.Samples(rng.poisson(rate[:, None], size=(n, 1000)))
    levels, places = np.arange(1, 100) / 100, np.arange(40)
    cdf = poisson.cdf(places, rate[:, None])
    return y, rate, tl.Quantiles(levels, [np.searchsorted(row, levels) for row in cdf])


def cases(n=1500, seed=0):
    """Outcomes with atoms, and continuous forecasts that say nothing about them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    latent = x + 0.8 * rng.normal(size=n)
    return {
        "counts": (rng.poisson(np.exp(0.5 * x)).astype(float), tl.Normal(np.exp(0.5 * x), 1.0)),
        "ratings": (np.clip(np.round(latent + 3.0), 1.0, 5.0), tl.Normal(x + 3.0, 0.5)),
        "rain": (np.maximum(latent, 0.0), tl.Point(np.maximum(x, 0.0))),
        "share": (
            np.clip(0.5 + 0.5 * latent, 0.0, 1.0),
            tl.Samples(0.5 + 0.5 * x[:, None] + 0.3 * rng.normal(size=(n, 20))),
        ),
    }


ATOMS = {
    "counts": np.arange(0.0, 200.0),
    "ratings": np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
    "rain": np.array([0.0]),
    "share": np.array([0.0, 1.0]),
}
RANGES = {
    "counts": (0.0, np.inf),
    "ratings": (1.0, 5.0),
    "rain": (0.0, np.inf),
    "share": (0.0, 1.0),
}


def mass(dist, lower, upper):
    return dist.cdf(upper) - dist.cdf(lower) + dist.pmf(lower)


# ---- a perfect forecast stays what it is -----------------------------------------------


@pytest.mark.parametrize("kind", ["samples", "quantiles"])
def test_a_perfect_discrete_forecast_is_mapped_to_itself(kind):
    n, seeds = 1000, 8
    ratio, shift, zeros = [], [], []
    for seed in range(seeds):
        y, rate, F = poisson_rows(seed, 2 * n, kind)
        G = tl.Isotonic().fit(y[:n], F[:n]).transform(F[n:])
        ratio.append(G.crps(y[n:]).mean() / F[n:].crps(y[n:]).mean())
        shift.append((G.mean() - rate[n:]).mean())
        zeros.append((G.pmf(0.0) - np.exp(-rate[n:])).mean())
    # The standard error of the ratio is 0.0005; the map of one seed costs 0.0012 on average.
    assert np.mean(ratio) < 1.003
    # A map of 1,000 rows shifts as their mean does: a standard error of sqrt(1 / 8,000) = 0.011.
    assert abs(np.mean(shift)) < 3 * np.sqrt(1.0 / (n * seeds))
    assert abs(np.mean(zeros)) < 3 * np.sqrt(0.25 / (n * seeds))


def test_atoms_that_differ_from_row_to_row_are_kept():
    """Yesterday's value comes again with a probability of 40%, and forecasts know that."""
    rng = np.random.default_rng(0)
    n, k = 3000, 50
    last = rng.normal(size=n)
    again = rng.random(n) < 0.4
    y = np.where(again, last, last + rng.normal(size=n))
    stays = rng.permuted(np.tile(np.arange(k) < 20, (n, 1)), axis=1)
    F = tl.Samples(np.where(stays, last[:, None], last[:, None] + rng.normal(size=(n, k))))
    R = tl.Isotonic().fit(y[:1000], F[:1000])
    assert R.atoms_ is None
    G = R.transform(F[1000:])
    # The share of rows that repeat has a standard error of 0.4899 / sqrt(1000) = 0.0155. From the
    # middle of the first of 20 equal draws to that of the last are 19 of 50.
    assert abs(G.pmf(last[1000:]).mean() - 0.38) < 3 * 0.0155
    ratio = G.crps(y[1000:]).mean() / F[1000:].crps(y[1000:]).mean()
    assert ratio < 1.003


@pytest.mark.parametrize("loc", [0.0, 5.5, -40.0])
@pytest.mark.parametrize("forecast", [tl.Point, lambda loc: tl.Normal(loc, 0.5)])
def test_one_forecast_for_all_rows_becomes_the_distribution_of_the_outcomes(loc, forecast):
    for y in (
        np.repeat([0.0, 1.0], [30, 70]),
        np.repeat([3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [10, 53, 681, 638, 199, 18]),
        np.random.default_rng(0).poisson(3.0, size=400).astype(float),
    ):
        n = len(y)
        for finite_sample in (True, False):
            R = tl.Isotonic(finite_sample).fit(y, forecast(np.full(n, loc)))
            dist = R.transform(forecast(np.array([loc])))
            values, count = np.unique(y, return_counts=True)
            found = dist.cdf(values[None, :])[0]
            # Apart by no more than the row that the tails of a map have.
            np.testing.assert_allclose(found, np.cumsum(count) / n, atol=1.0 / (n + 1) + 1e-12)


# ---- what forecasts with atoms promise -------------------------------------------------


@pytest.mark.parametrize("recalibrator", MAPS, ids=repr)
@pytest.mark.parametrize("name", ATOMS)
def test_every_map_forecasts_what_can_occur(name, recalibrator):
    y, F = cases()[name]
    half = len(y) // 2
    R = recalibrator.fit(y[:half], F[:half])
    assert np.isin(R.atoms_, ATOMS[name]).all()
    G = R.transform(F[half:])
    low, high = RANGES[name]
    q = G.ppf(np.arange(1, 50) / 50)
    draws = G.sample(20, random_state=0)
    for values in (q, draws):
        assert ((values >= low) & (values <= high)).all()
        if name in ("counts", "ratings"):
            assert np.isin(values, R.atoms_).all()
    # The forecast mass of an atom is its share of the rows of the fit, that of new rows differs:
    # both are means of 750 rows, so that the standard error is sqrt(2 p (1 - p) / 750).
    for value in np.unique(y)[:3] if name in ("counts", "ratings") else R.atoms_:
        share = (y[half:] == value).mean()
        error = np.sqrt(2.0 * share * (1.0 - share) / half) + 0.002
        assert abs(G.pmf(value).mean() - share) < 4 * error
    for coverage in (0.5, 0.9):
        lower, upper = G.interval(coverage)
        assert (mass(G, lower, upper) >= coverage - 1e-9).all()
        inside = ((y[half:] >= lower) & (y[half:] <= upper)).mean()
        assert inside > coverage - 4 * np.sqrt(2.0 * coverage * (1.0 - coverage) / half)


@pytest.mark.parametrize("name", ATOMS)
def test_atoms_make_forecasts_better(name):
    """The same map that is told of no atoms has a higher CRPS on new rows."""
    y, F = cases()[name]
    half = len(y) // 2
    loss = {}
    for support in ("auto", None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tl.CalibrationWarning)  # of ties
            R = tl.Isotonic(support=support).fit(y[:half], F[:half])
        loss[support] = R.transform(F[half:]).crps(y[half:])
    assert loss["auto"].mean() < loss[None].mean()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["counts", "ratings"])
def test_ties_are_not_warned_of_where_forecasts_have_atoms(name):
    y, F = cases()[name]
    tl.Isotonic().fit(y, F)


def test_counts_that_were_never_seen_are_possible():
    y, F = cases()["counts"]
    G = tl.Isotonic().fit(y, F).transform(F)
    beyond = y.max() + 1.0
    assert (G.pmf(beyond) >= 0.0).all()
    assert (G.pmf(beyond) > 0.0).any()
    assert np.isfinite(G.crps(beyond)).all()


def test_a_cut_is_learned_from_the_share_of_zeros():
    """Forecasts of rain are never 0, so that a cut at 0 itself would make no day dry."""
    rng = np.random.default_rng(0)
    n = 4000
    x = rng.gamma(1.0, size=n)
    y = np.where(rng.random(n) < np.exp(-x), 0.0, x * rng.gamma(2.0, 0.5, size=n))
    F = tl.Samples(0.02 + x[:, None] * rng.gamma(1.0, size=(n, 20)))
    R = tl.Isotonic().fit(y[:2000], F[:2000])
    assert R._preparation.atoms.cuts[0] > 0.02
    G = R.transform(F[2000:])
    dry = (y[2000:] == 0.0).mean()  # has a standard error of 0.011
    assert abs(G.pmf(0.0).mean() - dry) < 0.04
    at_zero = tl.Isotonic(support=None).fit(y[:2000], F[:2000]).transform(F[2000:])
    assert G.crps(y[2000:]).mean() < 0.98 * at_zero.crps(y[2000:]).mean()


def test_a_collapsed_forecast_does_not_spoil_counts():
    rng = np.random.default_rng(0)
    rate = rng.gamma(4.0, 0.5, size=2000)
    y, scale = rng.poisson(rate).astype(float), np.sqrt(rate + 0.1)
    clean = tl.Isotonic().fit(y[:1000], tl.Normal(rate[:1000], scale[:1000]))
    spoilt = scale[:1000].copy()
    spoilt[3] = 1e-7
    R = tl.Isotonic().fit(y[:1000], tl.Normal(rate[:1000], spoilt))
    assert R.least_width_ > 0.0
    F = tl.Normal(rate[1000:], scale[1000:])
    crps = [S.transform(F).crps(y[1000:]).mean() for S in (R, clean)]
    assert crps[0] < 1.01 * crps[1]


# ---- groups, features and choices ------------------------------------------------------


def test_each_group_has_the_atoms_of_all():
    rng = np.random.default_rng(0)
    n = 900
    groups = np.array(["dry", "wet", "few"])[np.minimum(np.arange(n) % 20 // 9, 2)]
    rate = np.where(groups == "dry", 0.3, 3.0)
    y, F = rng.poisson(rate).astype(float), tl.Normal(np.ones(n), 1.0)
    R = tl.Grouped().fit(y, F, groups=groups)
    G = R.transform(F, groups=groups)
    assert G._atoms is not None
    for name in ("dry", "wet"):
        mine = groups == name
        found, expected = G.pmf(0.0)[mine], np.exp(-rate[mine])
        # 405 rows: a standard error of at most 0.022; shrinkage leans towards the other group.
        np.testing.assert_allclose(found, expected, atol=4 * 0.022)
    lower, upper = G.interval(0.9)
    assert (mass(G, lower, upper) >= 0.9 - 1e-9).all()
    assert np.isin(upper, np.arange(200.0)).all()
    one = R.transform(F[:1], groups=["wet"])
    np.testing.assert_array_equal(one.pmf(1.0), G.pmf(1.0)[groups == "wet"][:1])
    with pytest.warns(tl.CalibrationWarning, match="were not there at fit"):
        unseen = R.transform(F[:2], groups=["new", "wet"])
    assert unseen._atoms == G._atoms


def test_the_support_of_grouped_and_auto_is_their_own():
    y, F = cases(400)["counts"]
    groups = np.arange(400) % 2
    inner = tl.Isotonic(support=None)
    assert tl.Grouped(inner).fit(y, F, groups=groups).atoms_ is not None
    assert tl.Auto([inner]).fit(y, F).atoms_ is not None
    assert tl.Auto(support=None).fit(y, F).atoms_ is None


def test_features_and_atoms_together():
    rng = np.random.default_rng(0)
    n = 1500
    X = rng.uniform(size=(n, 1))
    rate = np.where(X[:, 0] < 0.5, 0.3, 4.0)
    y, F = rng.poisson(rate).astype(float), tl.Point(np.ones(n))
    forest = QuantileForest(30, random_state=0)
    R = tl.Conditional(forest, random_state=0).fit(y, F, X=X)
    G = R.transform(F, X=X)
    assert np.isin(G.ppf([0.05, 0.5, 0.95]), np.arange(100.0)).all()
    few, many = X[:, 0] < 0.45, X[:, 0] > 0.55
    zero = G.pmf(0.0)
    # 675 rows each: standard errors of 0.017 and 0.005. One outer map serves both.
    assert zero[few].mean() == pytest.approx(np.exp(-0.3), abs=0.06)
    assert zero[many].mean() == pytest.approx(np.exp(-4.0), abs=0.02)
    lower, upper = G.interval(0.9)
    assert (mass(G, lower, upper) >= 0.9 - 1e-9).all()


# ---- rows: their order, weights and parts ----------------------------------------------


@pytest.fixture(scope="module")
def counts():
    return cases(3000)["counts"]


def outline(R, F):
    G = R.transform(F[:20])
    y = np.arange(8.0)[None, :]
    return np.concatenate([G.cdf(y), G.pmf(y), G.crps(y)])


@pytest.mark.parametrize("name", ATOMS)
def test_the_order_of_rows_does_not_matter(name):
    y, F = cases(3000)[name]  # so many rows that cuts are learned from a part of them
    order = np.random.default_rng(1).permutation(len(y))
    one, other = tl.Isotonic().fit(y, F), tl.Isotonic().fit(y[order], F[order])
    assert one.to_json() == other.to_json()
    weight = np.random.default_rng(2).integers(0, 4, size=len(y)) / 2
    one = tl.Isotonic().fit(y, F, sample_weight=weight)
    other = tl.Isotonic().fit(y[order], F[order], sample_weight=weight[order])
    assert one._preparation == other._preparation
    np.testing.assert_allclose(outline(other, F), outline(one, F), rtol=1e-12, atol=1e-12)


def test_weights(counts):
    y, F = counts
    n = len(y)
    plain = tl.Isotonic().fit(y, F)
    ones = tl.Isotonic().fit(y, F, sample_weight=np.ones(n))
    np.testing.assert_array_equal(outline(ones, F), outline(plain, F))
    # A row of weight 0 has no effect, whatever its outcome.
    spoilt, weight = y.copy(), np.ones(n)
    spoilt[::3], weight[::3] = -7.5, 0.0
    kept = weight > 0
    without = tl.Isotonic().fit(y[kept], F[np.flatnonzero(kept)])
    zero = tl.Isotonic().fit(spoilt, F, sample_weight=weight)
    assert zero._preparation == without._preparation
    np.testing.assert_array_equal(outline(zero, F), outline(without, F))
    # A weight of 3 moves the map as three rows do, up to where their points are in an interval.
    weight = np.where(y > 1.0, 3.0, 1.0)
    copies = np.repeat(np.arange(n), weight.astype(int))
    preparation = plain._preparation
    heavy = tl.Isotonic()._fit_prepared(preparation, y, F, weight)
    many = tl.Isotonic()._fit_prepared(preparation, y[copies], F[copies])
    np.testing.assert_allclose(outline(heavy, F), outline(many, F), atol=2e-3)


def test_maps_that_prepare_forecasts_alike_merge_to_the_map_of_all_rows(counts):
    y, F = counts
    whole = tl.Isotonic().fit(y, F)
    preparation, cuts = whole._preparation, [0, 700, 1900, len(y)]
    parts = [
        tl.Isotonic()._fit_prepared(preparation, y[a:b], F[a:b])
        for a, b in itertools.pairwise(cuts)
    ]
    left = parts[0].merge(parts[1]).merge(parts[2])
    right = parts[2].merge(parts[0].merge(parts[1]))
    assert left.to_json() == right.to_json() == whole.to_json()


def test_maps_that_prepare_forecasts_otherwise_do_not_merge(counts):
    y, F = counts
    one = tl.Isotonic().fit(y[:1000], F[:1000])
    none = tl.Isotonic().fit(y[:1000] + np.random.default_rng(0).normal(size=1000), F[:1000])
    message = (
        r"^the maps were fitted with atoms at 0, 1, 2, \.\.\. \(cuts at .*\) and with no least "
        r"width and no atoms; expected the same\. Fit one of them on all rows, or with partial_fit"
    )
    with pytest.raises(ValueError, match=message):
        one.merge(none)
    with pytest.raises(ValueError, match="expected the same class with the same parameters"):
        one.merge(tl.Isotonic(support="counts").fit(y[:1000], F[:1000]))
    moved = copy.deepcopy(one)
    atoms = one._preparation.atoms
    moved._preparation = type(one._preparation)(0.0, atoms.with_cuts(atoms.cuts + 0.01))
    with pytest.raises(ValueError, match="expected the same"):
        moved.merge(one)


@pytest.mark.parametrize("name", ["counts", "rain"])
def test_rows_in_parts_are_the_rows_at_once(name):
    y, F = cases(3000)[name]
    R = tl.Isotonic()
    for a, b in ((0, 1500), (1500, 1501), (1501, 3000)):
        assert R.partial_fit(y[a:b], F[a:b]) is R
    first = tl.Isotonic().fit(y[:1500], F[:1500])
    assert R._preparation == first._preparation
    whole = tl.Isotonic()._fit_prepared(first._preparation, y, F)
    assert R.to_json() == whole.to_json()


def test_rows_in_parts_are_checked_against_the_stated_support(counts):
    y, F = counts
    R = tl.Isotonic(support="counts").partial_fit(y[:1000], F[:1000])
    before = R.to_json()
    with pytest.raises(ValueError, match=r"^y holds 0\.5 in row 1"):
        R.partial_fit([1.0, 0.5], F[:2])
    assert R.to_json() == before
    # A learned support is no promise: an outcome off its atoms is scored as it is.
    R = tl.Isotonic().partial_fit(y[:1000], F[:1000])
    with pytest.warns(tl.CalibrationWarning, match="1 of 1,002 outcomes"):
        R.partial_fit([1.0, 0.5], F[:2])


@pytest.mark.parametrize("knots", [20, 200])
def test_a_compressed_map_keeps_the_atoms(counts, knots):
    y, F = counts
    R = tl.Isotonic().fit(y, F)
    small = R.compress(knots)
    assert len(small.scores_.values) <= knots
    assert 0.0 < small.compression_error_ < 3.0 / knots
    np.testing.assert_array_equal(small.atoms_, R.atoms_)
    G, H = R.transform(F[:50]), small.transform(F[:50])
    at = np.arange(8.0)[None, :]
    # One row more, for the tails of both maps.
    error = small.compression_error_ + 1.0 / len(y)
    assert (np.abs(G.cdf(at) - H.cdf(at)) <= error).all()
    assert tl.load(small.to_bytes()).to_json() == small.to_json()


# ---- files -----------------------------------------------------------------------------


def stored():
    y, F = cases(60)["counts"]
    share, G = cases(60)["share"]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=60)
    groups = np.arange(60) % 2
    return {
        "counts": tl.Isotonic().fit(y, F),
        "weighted": tl.Smooth(support="counts").fit(y, F, sample_weight=weight),
        "stated": tl.Scaling(support=tl.Support(low=0, high=1)).fit(share, G),
        "one end": tl.Isotonic(support=tl.Support(low=0)).fit(np.maximum(share, 0.2) - 0.2, G),
        "grouped": tl.Grouped(support=COUNTS).fit(y, F, groups=groups),
        "auto": tl.Auto([tl.Scaling(support="counts")], support=COUNTS, cv=2).fit(y, F),
    }


STORED = stored()


@pytest.mark.parametrize("name", STORED)
def test_round_trips_keep_every_bit(tmp_path, name):
    R = STORED[name]
    text = R.to_json()
    R.to_json(tmp_path / "map.json")
    for loaded in (tl.load(tmp_path / "map.json"), tl.load(R.to_bytes())):
        assert loaded.to_json() == text
        assert repr(loaded) == repr(R)
        assert loaded._preparation == R._preparation
        np.testing.assert_array_equal(loaded.atoms_, R.atoms_)
        np.testing.assert_array_equal(loaded.scores_.values, R.scores_.values)


def test_infinite_ends_are_stored():
    lower, upper = STORED["counts"].scores_.rows()[:2]
    assert np.isneginf(lower).any()
    loaded = tl.load(STORED["counts"].to_bytes()).scores_.rows()
    np.testing.assert_array_equal(loaded[0], lower)
    np.testing.assert_array_equal(loaded[1], upper)
    assert "Infinity" not in STORED["counts"].to_json()


BIG = 1.7976931348623157e308
LATTICE = ["state", "preparation", "atoms"]
INTERVALS = ["state", "scores", "intervals"]
SUPPORT = ["recalibrator", "params", "support"]
HOSTILE = [
    ("counts", ["state", "preparation"], {}, "the preparation does not hold"),
    ("counts", ["state", "preparation"], 3, "the preparation does not hold"),
    ("counts", ["state", "preparation", "least_width"], -1.0, "the least width is below 0"),
    ("counts", ["state", "preparation", "least_width"], "1", "least_width hold what is no"),
    ("counts", ["state", "preparation", "least_width"], None, "least_width hold what is no"),
    ("counts", LATTICE, [], "the atoms are not an object"),
    ("counts", LATTICE, {}, "cuts are not a list"),
    ("counts", LATTICE, {"cuts": [0.5]}, "the atoms hold unexpected fields"),
    ("counts", LATTICE, {"values": [0.0, 1.0], "cuts": []}, "cuts are not a list"),
    ("counts", LATTICE, {"values": [0.0], "cuts": [0.5]}, "values and values differ in length"),
    ("counts", LATTICE, {"values": [1.0, 0.0], "cuts": [0.5]}, "the values of atoms do not"),
    ("counts", LATTICE, {"values": [0.0, 1.0], "cuts": [1.0]}, "a cut is not between its values"),
    ("counts", LATTICE, {"values": [0.0, 1.0], "cuts": [True]}, "cuts hold what is no number"),
    ("stated", LATTICE, {"low": 1.0, "high": 0.0, "cuts": [1.0, 0.0]}, "the cuts are not close"),
    ("stated", LATTICE, {"low": 0.0, "high": 1.0, "cuts": [0.5, 0.5]}, "the cuts are not close"),
    ("stated", LATTICE, {"low": 0.0, "high": 1.0, "cuts": [0.0]}, "ends and values differ"),
    ("stated", LATTICE, {"low": None, "high": None, "cuts": [0.0]}, "ends are not a list"),
    ("stated", LATTICE, {"low": "0", "high": None, "cuts": [0.0]}, "ends hold what is no number"),
    ("counts", INTERVALS, {}, "intervals of scores do not hold"),
    ("counts", INTERVALS, [1], "intervals of scores do not hold"),
    ("counts", [*INTERVALS, "lower"], [0.0], "upper and values differ in length"),
    ("counts", [*INTERVALS, "lower", 0], BIG, "an interval of scores ends before it begins"),
    ("counts", [*INTERVALS, "upper", 0], -BIG, "an interval of scores ends before it begins"),
    ("counts", [*INTERVALS, "lower", 0], "x", "lower hold what is no number"),
    ("counts", [*INTERVALS, "squares"], -1.0, "squares is below 0"),
    ("counts", [*INTERVALS, "squares"], [1.0], "squares hold what is no number"),
    ("counts", [*INTERVALS, "weights"], [1.0], "weights and values differ in length"),
    ("weighted", [*INTERVALS, "weights", 0], 0.0, "a weight is not above 0"),
    ("weighted", [*INTERVALS, "weights"], [BIG] * 60, "the weights overflow"),
    ("counts", ["state", "scores", "values"], [0.0], "scores hold unexpected fields"),
    ("stated", [*SUPPORT, "params"], {"low": 0}, "a support is not described by"),
    ("stated", [*SUPPORT, "params", "low"], 2.0, "low is 2.0 and high is 1.0"),
    ("stated", [*SUPPORT, "params", "low"], 10**400, "low holds [...]"),
    ("stated", [*SUPPORT, "params", "values"], 7, "values is given with low"),
    ("counts", SUPPORT, "count", "support is 'count'; expected"),
    (
        "counts",
        SUPPORT,
        {"class": "Isotonic", "params": {"finite_sample": True, "support": None}},
        "support is Iso",
    ),
    ("counts", SUPPORT, [[]], "support is [[]]; expected"),
]


@pytest.mark.parametrize("name, where, value, fault", HOSTILE)
def test_hostile_documents_are_refused(name, where, value, fault):
    document = json.loads(STORED[name].to_json())
    inner = document
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    with pytest.raises(ValueError, match="the input is not a valid trueline map: ") as caught:
        tl.load(signed(document).encode())
    assert (
        str(caught.value).removeprefix("the input is not a valid trueline map: ").startswith(fault)
    )


@settings(max_examples=150)
@given(data=st.data())
def test_no_change_of_a_document_gives_another_error(data):
    """Whatever stands in the preparation and the intervals, a map is read or refused in words."""
    document = json.loads(STORED[data.draw(st.sampled_from(["counts", "stated"]))].to_json())
    where = data.draw(st.sampled_from([LATTICE, INTERVALS, ["state", "preparation"], SUPPORT]))
    inner = document
    for key in where:
        inner = inner[key]
    if not isinstance(inner, dict):
        return
    key = data.draw(st.sampled_from(sorted(inner)))
    junk = st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.floats(), st.text(max_size=2))
    inner[key] = data.draw(st.one_of(junk, st.lists(junk, max_size=3)))
    text = signed(document)
    try:
        R = tl.load(text.encode())
    except ValueError as error:
        assert "is not a valid trueline map" in str(error)  # noqa: PT017
    else:
        F = tl.Normal([0.5], 1.0) if "residual" not in text else tl.Point([0.5])
        if R.score_kind_ == "normal score":
            F = tl.Samples([[0.1, 0.4, 0.9]])
        assert not np.isnan(R.transform(F).cdf([[-1.0, 0.0, 0.5, 2.0]])).any()


# ---- the map of scores that are intervals ----------------------------------------------


def test_intervals_of_a_perfect_forecast_give_the_identity():
    """E clip((u - F(y-)) / (F(y) - F(y-)), 0, 1) = u: here for a rate that changes by row."""
    rng = np.random.default_rng(0)
    rate = rng.gamma(4.0, 0.5, size=20_000)
    y = rng.poisson(rate)
    lower, upper = norm.ppf(poisson.cdf(y - 1.0, rate)), norm.ppf(poisson.cdf(y, rate))
    law = tl.Isotonic().fit_scores(lower, upper=upper, kind="normal score").law_
    u = np.linspace(0.02, 0.98, 49)
    found = law.cdf(norm.ppf(u))
    # The mean of 20,000 shares has a standard error of at most 0.0035, and 49 of them are close.
    assert np.abs(found - u).max() < 4 * 0.0035


def test_fit_scores_is_fit_with_the_bounds_of_the_cut_forecast(counts):
    y, F = counts
    R = tl.Isotonic().fit(y, F)
    lower, upper = (ends[:, 0] for ends in R._preparation(F)._score_bounds(y[:, None]))
    S = tl.Isotonic().fit_scores(lower, upper=upper)
    x = np.linspace(-3.0, 3.0, 41)
    np.testing.assert_array_equal(S.law_.cdf(x), R.law_.cdf(x))
    assert S.atoms_ is None
    with pytest.warns(tl.CalibrationWarning, match="are tied"):
        equal = tl.Isotonic().fit_scores(y, upper=y, kind="residual")
    with pytest.warns(tl.CalibrationWarning, match="are tied"):
        points = tl.Isotonic().fit_scores(y, kind="residual")
    np.testing.assert_array_equal(equal.law_.cdf(x), points.law_.cdf(x))


def test_cuts_stay_inside_their_ranges():
    for name, (y, F) in cases(800, seed=3).items():
        atoms = tl.Isotonic().fit(y, F)._preparation.atoms
        low, high = atoms.cut_ranges(y)
        assert ((low <= atoms.cuts) & (atoms.cuts <= high)).all(), name
        if isinstance(atoms, Lattice):
            assert ((atoms.values[:-1] < atoms.cuts) & (atoms.cuts < atoms.values[1:])).all()
        assert not isinstance(atoms, Ends) or atoms.is_valid()
