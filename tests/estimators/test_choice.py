"""The choice that ``method="auto"`` makes: on which forecasts, by which rule, with which result."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

import trueline as tl
from trueline.estimators._choice import Compared, choose, compare_on
from trueline.estimators._crossfit import CrossFitter, Forecaster, out_of_fold
from trueline.estimators._fitting import Data, Widths
from trueline.estimators._shrinkage import thinned_splits
from trueline.estimators._splits import LearningSplits
from trueline.interop import ForecastReader


class Unchanged(tl.Isotonic):
    """A map that leaves forecasts as they are."""

    def transform(self, dist, groups=None):
        return dist


def rows(n, seed=0, *, curved=False, spread=0.0):
    """Features and outcomes; a line misses the curve, and errors grow with the second feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 2))
    mean = np.sin(6.0 * X[:, 0]) if curved else X[:, 0]
    return X, mean + np.exp(spread * X[:, 1]) * rng.normal(scale=0.2, size=n)


def auto(**params):
    return tl.CalibratedRegressor(LinearRegression(), method="auto", random_state=0, **params)


@pytest.mark.parametrize("n", [300, 5000])
def test_a_map_that_depends_on_x_is_chosen_where_the_model_misses_a_curve(n):
    model = auto().fit(*rows(n, curved=True))
    assert model.choice_.name == "conditional"
    assert isinstance(model.recalibrator_, tl.Conditional)
    assert model.scale_ is None
    assert model.choice_.n_rows <= 3000
    X, y = rows(4000, 1, curved=True)
    plain = tl.CalibratedRegressor(LinearRegression(), random_state=0).fit(*rows(n, curved=True))
    assert tl.crps(y, model.predict_dist(X)) < 0.6 * tl.crps(y, plain.predict_dist(X))


def test_the_choice_costs_little_where_the_model_is_right():
    """There all maps are as good, and which one wins is chance."""
    X_new, y_new = rows(4000, 9)
    for seed in range(5):
        X, y = rows(400, seed)
        plain = tl.CalibratedRegressor(LinearRegression(), random_state=0).fit(X, y)
        chosen, usual = (tl.crps(y_new, m.predict_dist(X_new)) for m in (auto().fit(X, y), plain))
        assert chosen < 1.02 * usual


def test_the_result_is_that_of_the_chosen_method():
    for curved in (False, True):
        X, y = rows(300, curved=curved)
        model = auto(shrinkage=False).fit(X, y)
        alone = tl.CalibratedRegressor(
            LinearRegression(), method=model.choice_.name, shrinkage=False, random_state=0
        ).fit(X, y)
        np.testing.assert_array_equal(
            model.predict_quantiles(X[:9], [0.1, 0.5, 0.9]),
            alone.predict_quantiles(X[:9], [0.1, 0.5, 0.9]),
        )


def test_a_sharp_forecast_that_the_test_of_calibration_rejects_is_not_chosen():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=600)
    y = mean + 0.2 * rng.normal(size=600)
    trials = list(KFold(5).split(mean))
    too_sure, vague = tl.Normal(mean, 0.1), tl.Normal(np.zeros(600), 1.0)
    compared = Compared(np.arange(600), too_sure, vague, trials, independent=True)
    data = Data(mean[:, None], y, None, None)
    maps = {"isotonic": tl.Isotonic(), "unchanged": Unchanged()}
    choice = choose(maps, {"unchanged"}, data, compared, 0)
    assert choice.crps["unchanged"] < choice.crps["isotonic"]
    assert list(choice.rejected) == ["unchanged"]
    assert choice.name == "isotonic"
    # If all are rejected, the first one is the fallback.
    only = choose({"unchanged": Unchanged()}, {"unchanged"}, data, compared, 0)
    assert only.name == "unchanged"
    assert only.rejected["unchanged"] < 0.01


@pytest.mark.parametrize("n_folds", [3, 4, 5])
def test_a_trial_has_rows_that_the_models_of_its_forecasts_have_not_seen(n_folds):
    n = 60
    X, y = rows(n)
    splits = list(KFold(n_folds, shuffle=True, random_state=0).split(X))
    thinned = thinned_splits(splits, n, 1200, 2)
    assert len(thinned) == n_folds * (n_folds - 1) // 2
    forecast = Forecaster(None, ForecastReader())
    fitter = CrossFitter(LinearRegression(), X, y, forecast, {}, None)
    folds, fewer = out_of_fold(fitter.fit_folds(splits)), out_of_fold(fitter.fit_folds(thinned))
    learning = LearningSplits(splits, independent=True)
    compared = compare_on(folds, folds, learning, fewer, Widths())
    seen_by = np.empty(len(fewer.rows), dtype=int)
    for i, positions in enumerate(fewer.positions):
        seen_by[positions] = i
    tested = []
    for train, test in compared.trials:
        known = [set(thinned[i][0]) for i in np.unique(seen_by[np.concatenate([train, test])])]
        judged = set(compared.rows[test])
        assert not judged & set(compared.rows[train])
        assert not any(judged & seen for seen in known)
        # With all pairs of folds a map learns from all other folds.
        assert len(set(compared.rows[train]) | judged) == len(train) + len(test) == n
        tested += sorted(judged)
    assert sorted(tested) == list(range(n))


@pytest.mark.parametrize(
    "params, n_groups",
    [
        ({"cv": TimeSeriesSplit(4)}, None),
        ({"cv": GroupKFold(4)}, 20),
        ({"cv": "train"}, None),
        ({"ensemble": True}, None),
        ({"scale_estimator": None}, None),
        ({"shrinkage": False}, None),
    ],
    ids=str,
)
def test_it_works_with_every_way_to_calibrate(params, n_groups):
    X, y = rows(300, curved=True)
    groups = None if n_groups is None else np.arange(300) % n_groups
    model = auto(**params).fit(X, y, groups=groups)
    assert model.choice_.name in model.choice_.crps
    lower, upper = model.predict_interval(X, 0.8)
    assert np.isfinite(upper - lower).all()


def test_a_trained_model_calibrates_with_all_rows():
    X, y = rows(300, curved=True)
    trained = FrozenEstimator(LinearRegression().fit(*rows(200, 1, curved=True)))
    model = tl.CalibratedRegressor(trained, method="auto", random_state=0).fit(X, y)
    assert model.choice_.name == "conditional"
    assert model.choice_.n_rows == 300


def test_maps_without_x_are_compared_on_rows_of_the_users_splits():
    """A sparse table is for the model alone."""
    X, y = rows(300)
    groups = np.arange(300) % 20
    params = {"cv": GroupKFold(4), "scale_estimator": None, "shrinkage": False}
    trained = FrozenEstimator(LinearRegression().fit(*rows(200, 1)))
    model = tl.CalibratedRegressor(trained, method="auto", random_state=0, **params)
    model.fit(csr_array(X), y, groups=groups)
    assert "conditional" not in model.choice_.crps
    assert model.choice_.n_rows == 300


def test_few_rows_are_not_compared():
    model = auto().fit(*rows(30))
    assert (model.choice_.name, model.choice_.n_rows) == ("isotonic", 0)


def test_the_choice_is_shown(capsys):
    model = auto(verbose=2).fit(*rows(300, curved=True))
    assert f"the map is {model.choice_.name}; CRPS of 300 rows: isotonic" in capsys.readouterr().err
    assert not hasattr(model.set_params(method="isotonic").fit(*rows(300)), "choice_")
