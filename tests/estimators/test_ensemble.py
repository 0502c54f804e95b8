"""What predicts: a refit, or the average of the folds."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingRegressor, RandomForestRegressor, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trueline as tl
from trueline.estimators import CalibratedRegressor
from trueline.interop._sklearn import varies_between_fits
from trueline.models import (
    ConcreteDropoutGRURegressor,
    ConcreteDropoutRegressor,
    DeepEnsembleRegressor,
    DropoutRegressor,
    GRURegressor,
)

MLP = MLPRegressor(hidden_layer_sizes=(4,), max_iter=3)


class Wobbly(RegressorMixin, BaseEstimator):
    """A constant with an error of its own in each fit."""

    varies_between_fits = True

    def __init__(self, size=1.0):
        self.size = size

    def fit(self, X, y):
        self.off_ = self.size * np.random.default_rng(int(1e6 * abs(y.sum()))).normal()
        return self

    def predict(self, X):
        return np.full(len(X), self.off_)


def wrapped_as_in(package):
    """A regressor whose class is of another package, as skorch's are."""
    return type("NeuralNetRegressor", (LinearRegression,), {"__module__": f"{package}.regressor"})()


@pytest.mark.parametrize(
    "estimator, expected",
    [
        (MLP, True),
        (make_pipeline(StandardScaler(), MLP), True),
        (TransformedTargetRegressor(MLP, transformer=StandardScaler()), True),
        (GridSearchCV(make_pipeline(MLP), {"mlpregressor__alpha": [1.0]}), True),
        (Wobbly(), True),
        *[(wrapped_as_in(name), True) for name in ("skorch", "scikeras", "keras.wrappers")],
        *[(wrapped_as_in(name), True) for name in ("lightning.pytorch", "torch.nn")],
        (DropoutRegressor(), True),
        (ConcreteDropoutRegressor(), True),
        (GRURegressor(), True),
        (ConcreteDropoutGRURegressor(), True),
        (DeepEnsembleRegressor(), False),
        (DeepEnsembleRegressor(n_members=1), True),
        (BaggingRegressor(MLP), False),
        (VotingRegressor([("a", MLP), ("b", MLP)]), False),
        (TransformedTargetRegressor(), False),
        (wrapped_as_in("torchless"), False),
        (RandomForestRegressor(), False),
        (make_pipeline(StandardScaler(), LinearRegression()), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_single_networks_vary_between_fits(estimator, expected):
    assert varies_between_fits(estimator) is expected


@pytest.mark.parametrize(
    "cv, expected",
    [
        (5, True),
        (KFold(2), True),
        (ShuffleSplit(3, test_size=0.4, random_state=0), True),
        (ShuffleSplit(3, test_size=0.6, random_state=0), False),
        (TimeSeriesSplit(3), False),
        ("train", False),
    ],
    ids=str,
)
def test_auto_averages_folds_that_see_most_rows(rows, cv, expected):
    model = CalibratedRegressor(Wobbly(), cv=cv, scale_estimator=None, random_state=0).fit(*rows)
    assert model.ensemble_ is expected
    assert hasattr(model, "estimators_") is expected
    assert hasattr(model, "estimator_") is not expected
    assert not hasattr(model, "recalibrators_")
    frozen = FrozenEstimator(clone(Wobbly()).fit(*rows))
    assert CalibratedRegressor(frozen, cv=cv).fit(*rows).ensemble_ is False


def test_the_user_decides(rows):
    params = {"scale_estimator": None, "random_state": 0}
    assert CalibratedRegressor(LinearRegression(), **params).fit(*rows).ensemble_ is False
    model = CalibratedRegressor(LinearRegression(), ensemble=True, **params).fit(*rows)
    assert model.ensemble_ is True
    assert len(model.estimators_) == len(model.recalibrators_) == 5
    assert CalibratedRegressor(Wobbly(), ensemble=False, **params).fit(*rows).ensemble_ is False
    with pytest.raises(ValueError, match="ensemble is 'yes'; expected 'auto', True or False"):
        CalibratedRegressor(Wobbly(), ensemble="yes").fit(*rows)


def test_one_map_of_all_rows_serves_the_average(rows):
    X, y = rows
    model = CalibratedRegressor(Wobbly(), scale_estimator=None, random_state=0).fit(X, y)
    assert model.recalibrator_.scores_.total == len(y)
    parts = [model.recalibrator_.transform(tl.Point(m.predict(X))) for m in model.estimators_]
    np.testing.assert_allclose(model.predict_dist(X).cdf(y), tl.Mixture(parts).cdf(y))
    with pytest.warns(tl.CalibrationWarning, match="but the map supports.*Use more rows"):
        model.predict_interval(X, 0.999)


def test_the_rule_of_the_paper_for_folds(rows):
    # Section 3.2: K models, each recalibrated on the fold that it was not trained on by Eq. 6,
    # and the average of the K forecasts.
    X, y = rows
    folds = KFold(4, shuffle=True, random_state=1)
    model = CalibratedRegressor(
        BayesianRidge(),
        method=tl.Isotonic(finite_sample=False),
        cv=folds,
        ensemble=True,
        shrinkage=False,
        scale_estimator=None,
        support=None,
    ).fit(X, y)
    assert model.shrinkage_ == 1.0
    X_new, grid = np.random.default_rng(9).normal(size=(7, X.shape[1])), np.linspace(-4, 4, 81)
    cdf = np.zeros((7, 81))
    for train, test in folds.split(X):
        mean, scale = BayesianRidge().fit(X[train], y[train]).predict(X[test], return_std=True)
        scores = np.sort((y[test] - mean) / scale)
        mean, scale = BayesianRidge().fit(X[train], y[train]).predict(X_new, return_std=True)
        z = (grid - mean[:, None]) / scale[:, None]
        shares = np.arange(1, len(scores) + 1) / len(scores)
        cdf += np.where((z < scores[0]) | (z > scores[-1]), np.nan, np.interp(z, scores, shares))
    inside = ~np.isnan(cdf)  # between the outermost scores, where Eq. 6 says everything
    assert inside.mean() > 0.3
    np.testing.assert_allclose(model.predict_dist(X_new).cdf(grid[None])[inside], cdf[inside] / 4)


def test_fits_that_differ_are_calibrated_by_their_average():
    # Each fit is off by half the noise. A refit is one draw of that error, and the map knows
    # others, so that its coverage is right on average only. Coverages of single sets have a
    # standard deviation of 4.5 points, 7.5 for the refit, and the mean of 40 sets 0.7 points.
    covered = {False: [], "auto": []}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(1300, 1)), rng.normal(size=1300)
        for ensemble, shares in covered.items():
            model = CalibratedRegressor(
                Wobbly(0.5), ensemble=ensemble, scale_estimator=None, random_state=seed
            ).fit(X[:300], y[:300])
            shares.append(tl.coverage(y[300:], model.predict_dist(X[300:]), 0.9))
    assert 0.88 < np.mean(covered["auto"]) < 0.93
    assert np.std(covered["auto"]) < 0.75 * np.std(covered[False])
