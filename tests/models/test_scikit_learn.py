"""scikit-learn's checks, our own contract, and life inside a CalibratedRegressor."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import trueline as tl
from tests.models.cases import MODELS, make_rows, name

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
FAILS = {WEIGHTS: "batches are drawn at random: a row of weight 2 is not two rows to them"}


@parametrize_with_checks(MODELS, expected_failed_checks=lambda model: FAILS)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_our_contract(model):
    tl.testing.check_estimator(model)


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_inside_a_calibrated_regressor(model):
    X, y = make_rows(150)
    calibrated = tl.CalibratedRegressor(model, cv=3, random_state=0).fit(X, y)
    lower, upper = calibrated.predict_interval(X, 0.8)
    assert (lower < upper).all()
    assert type(calibrated.estimator_) is type(model)


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_once_trained_and_recalibrated_its_intervals_hold(model):
    X, y = make_rows(200)
    X_cal, y_cal = make_rows(300, seed=1)
    X_new, y_new = make_rows(1000, seed=2)
    frozen = FrozenEstimator(clone(model).fit(X, y))
    calibrated = tl.CalibratedRegressor(frozen, random_state=0).fit(X_cal, y_cal)
    held = tl.coverage(y_new, calibrated.predict_dist(X_new), 0.8)
    # Binomial in the new rows and in those that calibrate.
    deviation = np.sqrt(0.8 * 0.2 * (1 / 1000 + 1 / 300))
    assert abs(held - 0.8) < 4 * deviation


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_a_pickled_model_forecasts_the_same(model):
    X, y = make_rows(60)
    fitted = pickle.loads(pickle.dumps(model)).fit(X, y)
    twin = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(twin.predict(X), fitted.predict(X))
