"""Columns that a pipeline makes of X, beside X, for the width and the map."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import trueline as tl
from trueline.estimators._preprocessing import LearnedFrom, make_features

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def ratios(X):
    X = np.asarray(X, dtype=float)
    return np.column_stack([3.0 * X, X[:, 0] / X[:, 1]])


def rows(n, seed=0):
    """The width of the error is the ratio of two features."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.2, 2.0, size=(n, 4))
    return X, X[:, 2] + (X[:, 0] / X[:, 1]) ** 2 * rng.normal(size=n)


def framed(X, frames):
    names = ["a", "b", "c", "d"]
    if frames is None:
        return X
    return pl.DataFrame(X, schema=names) if frames is pl else pd.DataFrame(X, columns=names)


PIPELINE = make_pipeline(FunctionTransformer(ratios), LinearRegression())


@pytest.mark.parametrize("frames", [None, pd, pl], ids=["array", "pandas", "polars"])
@pytest.mark.parametrize("method, share", [("isotonic", 1.0), ("conditional", 0.985)])
def test_a_column_that_the_pipeline_makes_sharpens_the_forecast(method, share, frames):
    X, y = rows(1500)
    train, test = slice(0, 500), slice(500, None)

    def crps(base):
        model = tl.CalibratedRegressor(base, method=method, random_state=0)
        model.fit(framed(X[train], frames), y[train])
        assert model._learned_from.reads_x
        kept.append(model._learned_from.kept)
        return tl.crps(y[test], model.predict_dist(framed(X[test], frames)))

    kept = []
    assert crps(PIPELINE) < share * crps(LinearRegression())
    # The first four columns are those of X three times as large, which is the same to a tree.
    assert kept == [(4,), ()]


class Remembers(TransformerMixin, BaseEstimator):
    """Makes a column that is 0 for the rows of the fit and 1 for others."""

    def fit(self, X, y=None):
        self.seen_ = {row.tobytes() for row in np.asarray(X)}
        return self

    def transform(self, X):
        fresh = [row.tobytes() not in self.seen_ for row in np.asarray(X)]
        return np.column_stack([X, np.asarray(X)[:, 0] * X[:, 1] + fresh])


@pytest.mark.parametrize("ensemble", [False, True])
def test_no_row_is_shown_a_pipeline_that_was_fitted_on_it(ensemble, monkeypatch):
    seen = []
    fit = tl.Conditional.fit

    def spy(self, y, dist, sample_weight=None, groups=None, X=None, folds=None):
        seen.append(np.asarray(X)[:, -1] - X[:, 0] * X[:, 1])
        return fit(self, y, dist, sample_weight, groups, X, folds)

    monkeypatch.setattr(tl.Conditional, "fit", spy)
    X, y = rows(150)
    base = make_pipeline(Remembers(), LinearRegression())
    tl.CalibratedRegressor(base, method="conditional", ensemble=ensemble, random_state=0).fit(X, y)
    assert sum(len(fresh) for fresh in seen) == 150
    np.testing.assert_allclose(np.concatenate(seen), 1.0)


def test_words_take_the_place_of_what_cannot_be_read():
    rng = np.random.default_rng(0)
    words = rng.choice(["calm", "flat", "mild", "wild"], size=(900, 3))
    X = [" ".join(row) for row in words]
    y = rng.normal(size=900) * np.where((words == "wild").any(axis=1), 5.0, 1.0)
    base = make_pipeline(CountVectorizer(vocabulary=["calm", "flat", "mild", "wild"]), Ridge())
    model = tl.CalibratedRegressor(base, random_state=0).fit(X[:600], y[:600])
    assert model._learned_from == LearnedFrom((0, 1, 2, 3), reads_x=False)
    lower, upper = model.predict_interval(X[600:])
    wild = (words[600:] == "wild").any(axis=1)
    assert (upper - lower)[wild].mean() > 3.0 * (upper - lower)[~wild].mean()


def test_columns_that_differ_between_folds_are_not_used():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"place": rng.choice([f"p{i}" for i in range(12)], 120)})
    X.loc[7, "place"] = "seen once"
    y = rng.normal(size=120)
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    base = make_pipeline(make_column_transformer((encode, ["place"])), Ridge())
    model = tl.CalibratedRegressor(base, method="conditional", cv=KFold(3)).fit(X, y)
    assert model._learned_from == LearnedFrom()
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    "wrap",
    [
        FrozenEstimator,
        TransformedTargetRegressor,
        lambda base: GridSearchCV(base, {"linearregression__fit_intercept": [True]}, cv=2),
    ],
    ids=["frozen", "target", "search"],
)
def test_pipelines_are_found_inside(wrap):
    X, y = rows(300)
    base = clone(PIPELINE).fit(X[:100], y[:100]) if wrap is FrozenEstimator else PIPELINE
    model = tl.CalibratedRegressor(wrap(base), cv=3, random_state=0).fit(X, y)
    assert model._learned_from.kept == (4,)
    same = pickle.loads(pickle.dumps(model)).predict_quantiles(X, [0.1, 0.9])
    np.testing.assert_array_equal(same, model.predict_quantiles(X, [0.1, 0.9]))


def test_what_makes_no_new_columns():
    X, y = rows(300)
    for base in (
        LinearRegression(),
        make_pipeline(Ridge()),
        make_pipeline(StandardScaler(), Ridge()),
    ):
        model = tl.CalibratedRegressor(base, cv=3, random_state=0).fit(X, y)
        assert model._learned_from == LearnedFrom()
    assert make_features(LinearRegression().fit(X, y), X) is None
    many = FunctionTransformer(lambda X: np.outer(X[:, 0], np.arange(2000.0)))
    assert make_features(make_pipeline(many, Ridge()).fit(X, y), X) is None
