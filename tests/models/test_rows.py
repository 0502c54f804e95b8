"""Rows that are few, flat, huge or tiny, and settings that cannot work."""

import re

import numpy as np
import pytest
from sklearn.base import clone

import trueline as tl
from tests.models.cases import MODELS, make_rows, name, small
from trueline.models import (
    ConcreteDropoutRegressor,
    DeepEnsembleRegressor,
    DivergenceError,
    DropoutRegressor,
)

each_model = pytest.mark.parametrize("model", MODELS, ids=name)


def r2(model, X, y):
    return 1.0 - np.mean((model.predict(X) - y) ** 2) / np.var(y)


@each_model
def test_a_fit_repeats_bit_for_bit(model):
    X, y = make_rows(80)
    one, two = (clone(model).fit(X, y) for _ in range(2))
    for key, value in one.weights_.items():
        np.testing.assert_array_equal(value, two.weights_[key])
    np.testing.assert_array_equal(one.predict_dist(X).std(), two.predict_dist(X).std())


@each_model
def test_another_seed_is_another_network(model):
    X, y = make_rows(80)
    one, two = (clone(model).set_params(random_state=seed).fit(X, y) for seed in (0, 1))
    assert not np.array_equal(one.predict(X), two.predict(X))


@each_model
def test_without_a_seed_forecasts_of_a_fitted_model_repeat_all_the_same(model):
    X, y = make_rows(40)
    fitted = clone(model).set_params(random_state=None).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_dist(X).std(), fitted.predict_dist(X).std())


@each_model
def test_a_constant_feature_changes_nothing_it_could_say(model):
    X, y = make_rows()
    X = np.column_stack([X, np.full(len(X), 7e9)])
    fitted = clone(model).fit(X, y)
    assert r2(fitted, X, y) > 0.6
    assert np.isfinite(fitted.predict_dist(X).std()).all()


@each_model
def test_one_feature(model):
    X, y = make_rows(d=1)
    assert r2(clone(model).fit(X, y), X, y) > 0.6


@each_model
def test_one_row_is_forecast_beside_itself(model):
    dist = clone(model).fit([[1.0, 2.0]], [5.0]).predict_dist([[1.0, 2.0], [3.0, -4.0]])
    np.testing.assert_allclose(dist.mean()[0], 5.0, rtol=0.01)
    # One row says nothing of another; it is still forecast near the only outcome ever seen.
    np.testing.assert_allclose(dist.mean()[1], 5.0, rtol=0.1)
    assert (dist.std() > 0).all()


@each_model
@pytest.mark.parametrize("value", [0.0, 3.0, -1e12, 1e-12])
def test_a_constant_target_is_forecast_beside_itself(model, value):
    X, _ = make_rows(40)
    dist = clone(model).fit(X, np.full(40, value)).predict_dist(X)
    size = abs(value) or 1.0
    np.testing.assert_allclose(dist.mean(), value, atol=0.01 * size)
    assert (dist.std() > 0).all()
    assert (dist.std() < 0.01 * size).all()


@each_model
@pytest.mark.parametrize("unit", [1e12, 1e-12])
def test_the_unit_of_the_target_does_not_matter(model, unit):
    X, y = make_rows(100)
    plain, scaled = clone(model).fit(X, y), clone(model).fit(X, y * unit)
    # Standardised targets differ in the last bit, and training makes more of it.
    deviation = plain.predict_dist(X).std()
    difference = scaled.predict(X) / unit - plain.predict(X)
    assert np.abs(difference / deviation).max() < 0.1
    np.testing.assert_allclose(scaled.predict_dist(X).std() / unit, deviation, rtol=0.1)


@each_model
def test_rows_of_weight_zero_are_not_there(model):
    X, y = make_rows(60)
    weight = np.where(np.arange(60) < 40, 2.0, 0.0)
    y_wild = np.where(weight > 0, y, 1e6)
    found = clone(model).fit(X, y_wild, sample_weight=weight)
    expected = clone(model).fit(X[:40], y[:40])
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@each_model
def test_a_loss_that_is_lost_says_what_to_change(model):
    X, y = make_rows(60)
    with pytest.raises(DivergenceError, match=r"Lower learning_rate, 1e\+30") as caught:
        clone(model).set_params(learning_rate=1e30).fit(X, y)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, FloatingPointError)


@pytest.mark.parametrize(
    "cls, params, said",
    [
        (DropoutRegressor, {"hidden": ()}, "hidden is"),
        (DropoutRegressor, {"hidden": (8, 0)}, "hidden is"),
        (DropoutRegressor, {"hidden": 8}, "hidden is 8"),
        (DropoutRegressor, {"dropout": 1.0}, "dropout is 1.0"),
        (DropoutRegressor, {"dropout": float("nan")}, "dropout is nan"),
        (DropoutRegressor, {"noise": "loud"}, "noise is 'loud'"),
        (DropoutRegressor, {"noise": -1.0}, "noise is -1.0"),
        (DropoutRegressor, {"n_samples": 0}, "n_samples is 0"),
        (DropoutRegressor, {"activation": "sin"}, "activation is 'sin'"),
        (DropoutRegressor, {"batch_size": 2.5}, "batch_size is 2.5"),
        (DropoutRegressor, {"learning_rate": 0}, "learning_rate is 0"),
        (DropoutRegressor, {"validation_fraction": 1.0}, "validation_fraction is 1.0"),
        (DropoutRegressor, {"weight_decay": -1}, "weight_decay is -1"),
        (DeepEnsembleRegressor, {"n_members": 0}, "n_members is 0"),
        (DeepEnsembleRegressor, {"forecast": "mean"}, "forecast is 'mean'"),
        (DeepEnsembleRegressor, {"adversarial": -0.1}, "adversarial is -0.1"),
        (ConcreteDropoutRegressor, {"initial_rate": 0.0}, "initial_rate is 0.0"),
        (ConcreteDropoutRegressor, {"length_scale": -1.0}, "length_scale is -1.0"),
    ],
)
def test_a_wrong_setting_is_named(cls, params, said):
    with pytest.raises(ValueError, match=said):
        cls(**params).fit(*make_rows(20))


def test_training_stops_early_and_keeps_the_best_epoch():
    X, y = make_rows(100)
    params = {"learning_rate": 0.03, "random_state": 0, "hidden": (32, 32)}
    stopped = DeepEnsembleRegressor(patience=5, max_epochs=500, **params).fit(X, y)
    assert stopped.n_epochs_.max() < 500
    # What was best within the patience of an epoch is what a run that ends there reports.
    best = stopped.n_epochs_ - 5
    for k in range(5):
        short = DeepEnsembleRegressor(patience=5, max_epochs=int(best[k]), **params).fit(X, y)
        np.testing.assert_array_equal(short.weights_["weight0"][k], stopped.weights_["weight0"][k])


def test_every_activation_learns():
    X, y = make_rows()
    for activation in ("prelu", "relu", "silu", "tanh"):
        fitted = small(DropoutRegressor, dropout=0.05, activation=activation).fit(X, y)
        assert r2(fitted, X, y) > 0.6


def test_progress_is_shown_when_asked_for(capsys):
    X, y = make_rows(30)
    model = small(DropoutRegressor, max_epochs=3)
    model.fit(X, y)
    assert capsys.readouterr().err == ""
    model.set_params(progress=True).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "DropoutRegressor: 100%, epoch 3 of at most 3, 1 of 1 networks done\n"


def test_the_epochs_of_folds_are_steps_of_the_fit_around_them(capsys, monkeypatch):
    monkeypatch.setattr("trueline._progress._EVERY", 0.0)
    X, y = make_rows(30)
    network = small(DropoutRegressor, max_epochs=2, progress=True)
    tl.CalibratedRegressor(network, cv=2, scale_estimator=None, verbose=1).fit(X, y)
    shown = re.findall("fitting folds 1 to 2 at once, (.*networks)", capsys.readouterr().err)
    assert shown == [
        "epoch 1 of at most 2, 0 of 2 networks",
        "epoch 2 of at most 2, 2 of 2 networks",
    ]


def test_the_models_are_found_from_the_top():
    assert tl.models.DropoutRegressor is DropoutRegressor
