"""R(s | x): sharper where errors depend on x, calibrated whatever the learner."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import trueline as tl
from trueline.recalibration import BaggedTrees, QuantileBoosting, QuantileForest
from trueline.testing._trial import BASES

LEVELS = np.arange(1, 100) / 100


def rows(n, seed=0):
    """Features, outcomes and predictions; errors are skewed, and wide where x is large."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 3))
    error = np.exp(1.5 * X[:, 0]) * (rng.exponential(size=n) - 1.0)
    return X, X[:, 1] + error, X[:, 1]


def fitted(n=400, **params):
    X, y, loc = rows(n)
    return tl.Conditional(**{"random_state": 0, **params}).fit(y, tl.Point(loc), X=X)


class Gaussian:
    """A learner that believes in one normal law, and in quantiles that may cross."""

    def __init__(self, width=1.0):
        self.width = width

    def fit(self, X, s):
        self.mean_ = s.mean()
        return self

    def predict_quantiles(self, X, levels):
        from scipy.special import ndtri

        return np.tile(self.mean_ + self.width * ndtri(levels), (len(X), 1))


def test_it_is_sharper_than_one_map_and_as_calibrated():
    X, y, loc = rows(3000)
    train, test = slice(0, 1000), slice(1000, None)
    F = tl.Point(loc)
    one = tl.Isotonic().fit(y[train], F[train]).transform(F[test])
    ours = tl.Conditional(random_state=0).fit(y[train], F[train], X=X[train])
    ours = ours.transform(F[test], X=X[test])
    assert tl.crps(y[test], ours) < 0.95 * tl.crps(y[test], one)
    # Over 2,000 rows, with a map of 1,000, the standard error is 1.2 points.
    assert tl.coverage(y[test], ours, 0.9) == pytest.approx(0.9, abs=0.03)
    assert tl.calibration_error(y[test], ours) < 3.0 * tl.calibration_floor(2000, 1000)


@pytest.mark.parametrize(
    "learner",
    [Gaussian(0.01), Gaussian(50.0), QuantileForest(5, random_state=0)],
    ids=["narrow", "wide", "forest"],
)
def test_the_outer_map_mends_any_learner(learner):
    X, y, loc = rows(2000)
    F = tl.Point(loc)
    R = tl.Conditional(learner, random_state=0).fit(y[:1000], F[:1000], X=X[:1000])
    dist = R.transform(F[1000:], X=X[1000:])
    for coverage in (0.5, 0.8, 0.9):
        assert tl.coverage(y[1000:], dist, coverage) == pytest.approx(coverage, abs=0.05)


@pytest.mark.parametrize("base", BASES)
def test_every_kind_of_forecast(base):
    X, _, loc = rows(150)
    rng = np.random.default_rng(1)
    y = loc + rng.normal(size=150)
    F = BASES[base](loc, np.full(150, 0.5), rng)
    G = tl.Conditional(random_state=0).fit(y, F, X=X).transform(F, X=X)
    assert len(G) == 150
    quantiles = G.ppf(np.linspace(0.01, 0.99, 25))
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert np.isfinite(G.crps(y)).all()
    assert np.isfinite(G.mean()).all()


def test_a_row_has_the_same_forecast_in_any_batch():
    R = fitted()
    X, _, loc = rows(50, seed=1)
    whole = R.transform(tl.Point(loc), X=X).ppf(LEVELS)
    order = np.random.default_rng(2).permutation(50)
    shuffled = R.transform(tl.Point(loc[order]), X=X[order]).ppf(LEVELS)
    np.testing.assert_array_equal(shuffled, whole[order])
    alone = R.transform(tl.Point(loc[[7]]), X=X[[7]]).ppf(LEVELS)
    np.testing.assert_array_equal(alone, whole[[7]])


def test_a_seed_makes_it_reproducible_and_refit_forgets():
    X, y, loc = rows(200)
    R = fitted(400)
    again = R.fit(y, tl.Point(loc), X=X).transform(tl.Point(loc), X=X).ppf(LEVELS)
    fresh = fitted(200).transform(tl.Point(loc), X=X).ppf(LEVELS)
    # rows(200) is not the head of rows(400), so this also shows that nothing was kept.
    np.testing.assert_array_equal(again, fresh)


def test_inputs_and_parameters_are_left_alone():
    X, y, loc = rows(100)
    kept = X.copy(), y.copy()
    forest = QuantileForest(10, random_state=0)
    R = tl.Conditional(forest)
    text = repr(R)
    R.fit(y, tl.Point(loc), X=X).transform(tl.Point(loc), X=X)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])
    assert R.learner is forest
    assert not hasattr(forest, "_table")
    assert R._call() == text


def test_rows_without_weight_are_not_there():
    X, y, loc = rows(300)
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    spoiled = np.where(weight > 0, y, 1e6)
    R = tl.Conditional(random_state=0).fit(spoiled, tl.Point(loc), weight, X=X)
    assert R.transform(tl.Point(loc), X=X).ppf(0.99).max() < 1e3


def test_weights_move_the_forecast():
    rng = np.random.default_rng(0)
    y, X = np.repeat([0.0, 10.0], 100) + rng.normal(size=200), rng.normal(size=(200, 1))
    weight = np.repeat([1.0, 9.0], 100)
    R = tl.Conditional(random_state=0).fit(y, tl.Point(np.zeros(200)), weight, X=X)
    # The standard error of a mean over 200 rows of two kinds is about 0.3.
    mean = R.transform(tl.Point(np.zeros(500)), X=rng.normal(size=(500, 1))).mean().mean()
    assert mean == pytest.approx(9.0, abs=0.6)


def test_missing_features_are_values():
    X, y, loc = rows(200)
    X[::5, 2] = np.nan
    R = tl.Conditional(random_state=0).fit(y, tl.Point(loc), X=X)
    assert np.isfinite(R.transform(tl.Point(loc), X=X).ppf(LEVELS)).all()


def framed(frames, places, x, day):
    """A frame with text, an ordered category, a number with gaps, and a date."""
    sizes = np.where(x > 0, "large", "small")
    if frames is pl:
        size = pl.Series(sizes, dtype=pl.Enum(["small", "large"]))
        return pl.DataFrame({"place": places, "size": size, "x": x, "day": day})
    size = pd.Categorical(sizes, ["small", "large"], ordered=True)
    return pd.DataFrame({"place": places, "size": size, "x": x, "day": pd.to_datetime(day)})


@pytest.mark.parametrize("frames", [pd, pl], ids=["pandas", "polars"])
def test_errors_that_depend_on_a_category_are_learned_from_a_frame(frames):
    rng = np.random.default_rng(0)
    places = rng.choice(["north", "east", "south"], 1500)
    y = rng.normal(size=1500) * np.where(places == "south", 10.0, 1.0)
    x = np.where(rng.uniform(size=1500) < 0.2, np.nan, rng.normal(size=1500))
    day = np.datetime64("2024-01-01") + np.arange(1500)
    X, F = framed(frames, places, x, day), tl.Point(np.zeros(1500))
    R = tl.Conditional(random_state=0).fit(y, F, X=X)
    new = framed(frames, ["north", "south", "unseen"], np.zeros(3), day[:3])
    low, high = R.transform(F[:3], X=new).interval(0.8)
    # The true widths are 2.56 and 25.6; a place that is new is any of the three.
    np.testing.assert_allclose((high - low)[:2], [2.56, 25.6], rtol=0.35)
    shuffled = new[["day", "x", "place", "size"]]
    np.testing.assert_array_equal(R.transform(F[:3], X=shuffled).interval(0.8)[0], low)
    with pytest.raises(ValueError, match="X lacks 1 column of fit: 'size'"):
        R.transform(F[:3], X=new[["day", "x", "place"]])
    assert np.isfinite(R.transform(F[:3], X=new).ppf(LEVELS)).all()
    same = pickle.loads(pickle.dumps(R)).transform(F[:3], X=new)
    np.testing.assert_array_equal(same.ppf(LEVELS), R.transform(F[:3], X=new).ppf(LEVELS))


@pytest.mark.parametrize("n", [100, 1000])
def test_where_errors_do_not_depend_on_x_it_is_as_sharp_as_one_map(n):
    rng = np.random.default_rng(0)
    X, y, F = (
        rng.normal(size=(n + 2000, 8)),
        rng.normal(size=n + 2000),
        tl.Point(np.zeros(n + 2000)),
    )
    train, test = slice(0, n), slice(n, None)
    R = tl.Conditional(random_state=0).fit(y[train], F[train], X=X[train])
    one = tl.Isotonic().fit(y[train], F[train]).transform(F[test])
    # Without the average with the pooled law it is 2.0% and 1.1% worse.
    assert tl.crps(y[test], R.transform(F[test], X=X[test])) < 1.004 * tl.crps(y[test], one)
    assert R.pooled_share_ >= 0.75
    assert fitted(1000).pooled_share_ == 0.0


def test_few_rows_get_one_map_with_a_warning():
    X, y, loc = rows(12)
    with pytest.warns(tl.CalibrationWarning, match="12 rows are too few"):
        R = tl.Conditional().fit(y, tl.Point(loc), X=X)
    plain = tl.Isotonic().fit(y, tl.Point(loc)).transform(tl.Point(loc))
    np.testing.assert_array_equal(R.transform(tl.Point(loc), X=X).cdf(y), plain.cdf(y))


# ---- manners ---------------------------------------------------------------------------


def test_parameters_and_clone():
    R = tl.Conditional(QuantileForest(50), n_levels=19, random_state=3)
    assert (
        repr(R)
        == "Conditional(learner=QuantileForest(n_estimators=50), n_levels=19, random_state=3)"
    )
    assert repr(tl.Conditional()) == "Conditional()"
    copy = clone(R)
    assert repr(copy) == repr(R)
    assert copy.learner is not R.learner
    assert tl.Conditional().set_params(n_levels=9).get_params()["n_levels"] == 9
    assert repr(clone(fitted())) == "Conditional(random_state=0)"


def test_a_pickle_is_the_same_map():
    R = fitted()
    X, _, loc = rows(20, seed=1)
    same = pickle.loads(pickle.dumps(R)).transform(tl.Point(loc), X=X)
    np.testing.assert_array_equal(same.ppf(LEVELS), R.transform(tl.Point(loc), X=X).ppf(LEVELS))


@pytest.mark.parametrize(
    "use",
    [
        lambda R: R.transform(tl.Point([0.0]), X=[[0.0]]),
        lambda R: R.to_json(),
        lambda R: R.compress(10),
        lambda R: R.compression_error_,
        lambda R: R.merge(fitted(50)),
        lambda R: fitted(50).merge(R),
    ],
)
def test_before_fit_everything_says_so(use):
    with pytest.raises(tl.NotFittedError, match="call fit"):
        use(tl.Conditional())


@pytest.mark.parametrize(
    "use", [lambda R: R.to_json(), lambda R: R.compress(10), lambda R: R.merge(R)]
)
def test_what_a_learner_cannot_do_is_explained(use):
    with pytest.raises(TypeError, match="because it holds a learner"):
        use(fitted(50))
    assert fitted(50).compression_error_ == 0.0


def test_errors_name_the_mend():
    X, y, loc = rows(50)
    F, R = tl.Point(loc), tl.Conditional()
    with pytest.raises(ValueError, match=r"X is missing.*fit\(y, dist, X=X\)"):
        R.fit(y, F)
    with pytest.raises(ValueError, match="X has 49 rows but dist has 50"):
        R.fit(y, F, X=X[1:])
    table = pd.DataFrame({"size": X[:, 0], "tags": [["new"]] * 50})
    with pytest.raises(TypeError, match="column 'tags' of X holds values of type list"):
        R.fit(y, F, X=table)
    with pytest.raises(ValueError, match="takes no groups"):
        R.fit(y, F, groups=y, X=X)
    with pytest.raises(ValueError, match=r"y\[0\] is nan"):
        R.fit(np.full(50, np.nan), F, X=X)
    R.fit(y, F, X=X)
    with pytest.raises(ValueError, match="X is missing"):
        R.transform(F)
    with pytest.raises(ValueError, match="X has 2 columns; expected 3"):
        R.transform(F, X=X[:, :2])
    with pytest.raises(ValueError, match="fitted on 'residual' scores"):
        R.transform(tl.Normal(loc, 1.0), X=X)
    with pytest.raises(TypeError, match="expected 'forest', 'boosting', or an object with fit"):
        tl.Conditional(learner="forrest").fit(y, F, X=X)
    with pytest.raises(TypeError, match="expected 'forest', 'boosting', or an object with fit"):
        tl.Conditional(learner=3).fit(y, F, X=X)
    with pytest.raises(ValueError, match="n_levels is 1"):
        tl.Conditional(n_levels=1).fit(y, F, X=X)
    learner = Gaussian(np.nan)
    with pytest.raises(ValueError, match="predict_quantiles of Gaussian returned"):
        tl.Conditional(learner).fit(y, F, X=X)


# ---- the forest ------------------------------------------------------------------------


def test_quantiles_of_a_forest_follow_the_law_given_x():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4000, 1))
    s = rng.uniform(size=4000) * np.where(X[:, 0] < 0.5, 1.0, 10.0)
    forest = QuantileForest(100, random_state=0).fit(X, s)
    x = np.linspace(0.05, 0.45, 41)[:, None]
    # Over x the noise of single leaves averages out.
    for part, width in ((x, 1.0), (x + 0.5, 10.0)):
        found = forest.predict_quantiles(part, [0.1, 0.5, 0.9]).mean(axis=0) / width
        np.testing.assert_allclose(found, [0.1, 0.5, 0.9], atol=0.05)


def test_out_of_bag_quantiles_do_not_know_the_row():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(500, 2)), rng.normal(size=500)
    forest = QuantileForest(200, min_samples_leaf=2, random_state=0).fit(X, s)
    honest = (s <= forest.out_of_bag_quantiles([0.1, 0.9]).T).mean(axis=1)
    knowing = (s <= forest.predict_quantiles(X, [0.1, 0.9]).T).mean(axis=1)
    np.testing.assert_allclose(honest, [0.1, 0.9], atol=0.05)
    assert knowing[1] - knowing[0] > honest[1] - honest[0] + 0.05


def test_trees_order_categories_by_what_they_drew():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 60, size=3000)
    others = rng.normal(size=(3000, 4))
    s = rng.normal(size=3000) * np.exp(rng.normal(size=60)[codes] + 0.5 * others[:, 0])
    X, fit, new = np.column_stack([codes, others]), slice(0, 1500), slice(1500, None)

    def loss(**given):
        forest = QuantileForest(random_state=0).fit(X[fit], s[fit], **given)
        return tl.crps(s[new], tl.Quantiles(LEVELS, forest.predict_quantiles(X[new], LEVELS)))

    # With the numbers of the categories as they come it takes many cuts to separate them.
    assert loss(categorical=[0]) < 0.95 * loss()
    # The spread of a category says nothing about its out-of-bag rows if there is nothing to learn.
    noise = rng.normal(size=1500)
    forest = QuantileForest(random_state=0).fit(X[fit], noise, categorical=[0])
    honest = (noise <= forest.out_of_bag_quantiles([0.1, 0.9]).T).mean(axis=1)
    # Quantiles of about 40 trees that chase noise; the standard error of a share is 0.008.
    np.testing.assert_allclose(honest, [0.1, 0.9], atol=0.04)


def test_a_category_that_was_not_drawn_is_an_average_one():
    X = np.array([[0.0], [0.0], [1.0], [3.0], [np.nan]], dtype=np.float32)
    trees = BaggedTrees(1, 1, 1.0, np.random.default_rng(0), most_drawn=50)
    tree = trees.fit(X, np.array([1.0, 1.0, 4.0, 7.0, 7.0]), None, categorical=[0]).trees[0]
    place = tree.places[0]
    assert len(place) == 5
    assert place[0] < place[4]
    new = np.array([[2.0], [9.0], [np.nan]], dtype=np.float32)
    np.testing.assert_array_equal(tree.ordered(new)[:, 0], [place[4], place[4], np.nan])
    assert new[0, 0] == 2.0


# ---- the boosting ----------------------------------------------------------------------


def test_a_boosting_is_sharper_than_one_map_and_calibrated():
    X, y, loc = rows(1600)
    train, test, F = slice(0, 600), slice(600, None), tl.Point(loc)
    R = tl.Conditional("boosting", random_state=0).fit(y[train], F[train], X=X[train])
    assert isinstance(R.learner_, QuantileBoosting)
    ours = R.transform(F[test], X=X[test])
    one = tl.Isotonic().fit(y[train], F[train]).transform(F[test])
    assert tl.crps(y[test], ours) < 0.95 * tl.crps(y[test], one)
    # Over 1,000 rows, with a map of 600, the standard error is 1.5 points.
    assert tl.coverage(y[test], ours, 0.9) == pytest.approx(0.9, abs=0.045)
    again = tl.Conditional("boosting", random_state=0).fit(y[train], F[train], X=X[train])
    np.testing.assert_array_equal(again.transform(F[test], X=X[test]).ppf(LEVELS), ours.ppf(LEVELS))


def test_a_boosting_takes_weights():
    X, y, _ = rows(300)
    weight = np.where(np.arange(300) < 200, 1.0, 0.0)
    spoiled = np.where(weight > 0, y, 1e6)
    boosting = QuantileBoosting(10, random_state=0).fit(X, spoiled, weight)
    assert boosting.predict_quantiles(X, [0.5, 0.99]).max() < 1e3
    with pytest.raises(tl.NotFittedError, match="QuantileBoosting is not fitted"):
        QuantileBoosting().predict_quantiles(X, [0.5])


class Weighed(Gaussian):
    """A learner that takes weights."""

    def fit(self, X, s, sample_weight=None):
        self.weight_ = sample_weight
        return super().fit(X, s)


def test_a_learner_gets_the_weights_if_it_takes_them():
    X, y, loc = rows(60)
    weight = np.arange(1.0, 61.0)
    R = tl.Conditional(Weighed(), random_state=0).fit(y, tl.Point(loc), weight, X=X)
    np.testing.assert_array_equal(R.learner_.weight_, weight)


def test_a_row_that_every_tree_saw_gets_the_quantiles_of_all():
    forest = QuantileForest(3, random_state=0).fit([[1.0]], [2.0])
    np.testing.assert_array_equal(forest.out_of_bag_quantiles([0.1, 0.9]), [[2.0, 2.0]])


def test_forest_errors():
    with pytest.raises(tl.NotFittedError, match="QuantileForest is not fitted"):
        QuantileForest().predict_quantiles([[0.0]], [0.5])
    with pytest.raises(ValueError, match="n_estimators is 0"):
        QuantileForest(0).fit([[0.0]], [0.0])
    with pytest.raises(ValueError, match="max_features is 2"):
        QuantileForest(max_features=2).fit([[0.0]], [0.0])
    with pytest.raises(ValueError, match="X has 1 rows but s has 2"):
        QuantileForest().fit([[0.0]], [0.0, 1.0])
    forest = QuantileForest(2).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="X has 2 columns; expected 1"):
        forest.predict_quantiles([[0.0, 1.0]], [0.5])


def test_memory_grows_with_the_rows_not_with_their_product():
    X, y, loc = rows(6000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        R = tl.Conditional(QuantileForest(20, random_state=0)).fit(y, tl.Point(loc), X=X)
        tracemalloc.start()
        R.transform(tl.Point(loc), X=X).interval(0.9)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    # 99 quantiles a row, a few copies of them and a block; an array of all pairs is 288 MB.
    assert peak < 60e6
