"""The promises that every calibrated regressor keeps, whatever it is made of."""

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import RepeatedKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import trueline as tl
from trueline.estimators import CalibratedRegressor
from trueline.testing import check_estimator

BASES = {
    "linear": LinearRegression(),
    "bayes": BayesianRidge(),
    "process": GaussianProcessRegressor(RBF() + WhiteKernel(), optimizer=None, normalize_y=True),
    "forest": RandomForestRegressor(n_estimators=10, min_samples_leaf=3),
    "extra": ExtraTreesRegressor(n_estimators=10, min_samples_leaf=3),
    "bagging": BaggingRegressor(LinearRegression(), max_features=0.7, random_state=3),
    "boosting": HistGradientBoostingRegressor(max_iter=10),
    "pipeline": make_pipeline(StandardScaler(), BayesianRidge()),
}
SETTINGS = {
    "plain": {},
    "ensemble": {"ensemble": True, "cv": 3},
    "train": {"cv": "train"},
    "smooth": {"method": tl.Smooth()},
    "scaling": {"method": "scaling"},
    "conditional": {"method": "conditional"},
    "auto": {"method": "auto"},
}


def made_rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [2.0, -1.0, 0.0] + np.exp(0.5 * X[:, 2]) * rng.normal(size=n)


CASES = [(base, "plain") for base in BASES]
CASES += [
    (base, setting) for base in ("linear", "forest") for setting in SETTINGS if setting != "plain"
]


@pytest.mark.parametrize("base, setting", CASES)
def test_contract(base, setting):
    params = {"scale_estimator": None, "random_state": 0, **SETTINGS[setting]}
    check_estimator(CalibratedRegressor(BASES[base], **params))


@pytest.mark.parametrize("base", ["linear", "forest"])
def test_contract_with_a_scale(base):
    check_estimator(CalibratedRegressor(BASES[base], random_state=0))


@pytest.mark.parametrize("ensemble", [False, True])
def test_contract_with_groups(ensemble):
    params = {"scale_estimator": None, "random_state": 0, "ensemble": ensemble}
    model = CalibratedRegressor(BASES["linear"], method=tl.Grouped(shrinkage=5.0), **params)
    X, y = made_rows()
    check_estimator(model, X, y, groups=np.where(np.arange(120) % 3 == 0, "a", "b"))


@pytest.mark.parametrize(
    "cv",
    [
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(n_splits=4, test_size=0.3, random_state=0),
        TimeSeriesSplit(n_splits=4),
        2,
    ],
)
@pytest.mark.parametrize("base", ["linear", "bayes"])
def test_contract_of_other_splits(base, cv):
    check_estimator(CalibratedRegressor(BASES[base], cv=cv, scale_estimator=None, random_state=0))


@pytest.mark.parametrize("base", BASES)
def test_contract_of_a_model_that_is_already_trained(base):
    frozen = FrozenEstimator(BASES[base].fit(*made_rows(seed=1)))
    model = CalibratedRegressor(frozen, scale_estimator=None, random_state=0)
    check_estimator(model, weights_repeat=True)


def quantiles_by_hand(estimator, X):
    loc = estimator.predict(X)
    return {0.1: loc - 2.0, 0.5: loc, 0.9: loc + 3.0}


def draws_by_hand(estimator, X):
    return tl.Samples(estimator.predict(X)[:, None] + np.linspace(-1.0, 2.0, 9))


@pytest.mark.parametrize("dist", [quantiles_by_hand, draws_by_hand])
def test_contract_of_a_forecast_by_a_callable(dist):
    params = {"dist": dist, "scale_estimator": None, "random_state": 0}
    check_estimator(CalibratedRegressor(LinearRegression(), **params))


def test_the_checks_catch_what_is_wrong():
    class Sloppy(CalibratedRegressor):
        def predict_quantiles(self, X, levels, groups=None):
            return super().predict_quantiles(X, levels)[:, ::-1]

    with pytest.raises(AssertionError, match="a quantile falls as its level rises"):
        check_estimator(Sloppy(LinearRegression(), scale_estimator=None, random_state=0))

    class Stale(CalibratedRegressor):
        def fit(self, X, y, sample_weight=None, groups=None):
            return self if hasattr(self, "estimator_") else super().fit(X, y, sample_weight)

    with pytest.raises(AssertionError, match="a fit remembers an earlier one"):
        check_estimator(Stale(LinearRegression(), scale_estimator=None, random_state=0))
    with pytest.raises(AssertionError, match="a second fit on the same rows differs"):
        check_estimator(CalibratedRegressor(LinearRegression(), scale_estimator=None))
