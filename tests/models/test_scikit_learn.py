"""scikit-learn's checks, our own contract, and life inside a CalibratedRegressor."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import trueline as tl
from tests.models.cases import MODELS, make_rows, name
from trueline.models import _training

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
FAILS = {WEIGHTS: "batches are drawn at random: a row of weight 2 is not two rows to them"}
# These checks fit hundreds of times: a few long steps learn enough.
QUICK = [clone(model).set_params(max_epochs=10, learning_rate=3e-2) for model in MODELS]


@parametrize_with_checks(QUICK, expected_failed_checks=lambda model: FAILS)
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
    # The folds of a single network are averaged; an ensemble is stable enough to be fitted again.
    fitted = calibrated.estimators_ if calibrated.ensemble_ else [calibrated.estimator_]
    assert calibrated.ensemble_ == ("Ensemble" not in name(model))
    assert all(type(one) is type(model) for one in fitted)


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=name)
def test_folds_are_trained_as_one_stack(model, ensemble, monkeypatch):
    X, y = make_rows(90)
    # Few epochs: what rounding starts has not grown.
    model = clone(model).set_params(max_epochs=3, learning_rate=1e-3)
    options = {"cv": 3, "ensemble": ensemble, "scale_estimator": None, "random_state": 0}
    # A pipeline has to train them one by one.
    alone = tl.CalibratedRegressor(make_pipeline(model), **options).fit(X, y)
    stacks = []
    run = _training.Trainer.run

    def counted(trainer, progress=None):
        stacks.append(len(trainer.runners))
        return run(trainer, progress)

    monkeypatch.setattr(_training.Trainer, "run", counted)
    stacked = tl.CalibratedRegressor(model, **options).fit(X, y)
    networks = model._n_networks()
    # The folds, with the model of all rows unless they predict together; then the thinned ones.
    assert stacks == [networks * (3 if ensemble else 4), networks * 3]
    assert stacked.shrinkage_ == pytest.approx(alone.shrinkage_, rel=1e-3)
    np.testing.assert_allclose(stacked.predict(X), alone.predict(X), rtol=1e-3, atol=1e-3)
    for ours, theirs in zip(
        stacked.predict_interval(X, 0.8), alone.predict_interval(X, 0.8), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-2, atol=1e-2)


def test_weights_go_with_the_rows_of_a_fold():
    X, y = make_rows(60)
    weight = np.linspace(0.0, 2.0, 60)
    model = clone(MODELS[0]).set_params(max_epochs=3)
    options = {"cv": 3, "ensemble": True, "scale_estimator": None, "random_state": 0}
    stacked = tl.CalibratedRegressor(model, **options).fit(X, y, sample_weight=weight)
    splits = KFold(3, shuffle=True, random_state=0).split(X)
    for fitted, (train, _) in zip(stacked.estimators_, splits, strict=True):
        expected = clone(model).fit(X[train], y[train], sample_weight=weight[train])
        np.testing.assert_allclose(fitted.predict(X), expected.predict(X), rtol=1e-3, atol=1e-3)


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
