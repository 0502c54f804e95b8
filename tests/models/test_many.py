"""Networks trained side by side are what each would be alone."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from tests.models.cases import MODELS, make_rows, name, small
from trueline.models import DropoutRegressor, fit_many

each_model = pytest.mark.parametrize("model", MODELS, ids=name)


def few_epochs(model):
    """Few enough that what rounding starts has not grown."""
    return clone(model).set_params(max_epochs=5, learning_rate=1e-3)


@each_model
def test_a_stack_gives_what_each_would_be_alone(model):
    # Sizes that differ in batches an epoch, and one smaller than a batch.
    data = [make_rows(n, seed=n) for n in (150, 149, 90, 20)]
    model = few_epochs(model)
    for stacked, (X, y) in zip(fit_many(model, data), data, strict=True):
        alone = clone(model).fit(X, y)
        np.testing.assert_array_equal(stacked.n_epochs_, alone.n_epochs_)
        for key, value in alone.weights_.items():
            np.testing.assert_allclose(stacked.weights_[key], value, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(stacked.predict(X), alone.predict(X), rtol=1e-4, atol=1e-4)


def test_members_that_stop_at_different_times_do_not_disturb_the_rest():
    data = [make_rows(n, seed=n) for n in (60, 100, 140, 60, 100)]
    model = small(DropoutRegressor, hidden=(8,), patience=2, max_epochs=40)
    fitted = fit_many(model, data)
    assert len({int(m.n_epochs_[0]) for m in fitted}) > 1
    for stacked, (X, y) in zip(fitted, data, strict=True):
        alone = clone(model).fit(X, y)
        np.testing.assert_array_equal(stacked.n_epochs_, alone.n_epochs_)
        np.testing.assert_allclose(stacked.predict(X), alone.predict(X), rtol=1e-3, atol=1e-3)


def test_models_of_different_kinds_and_widths_come_back_in_order():
    models = [few_epochs(model) for model in (*MODELS, MODELS[0])]
    widths = list(range(2, 2 + len(models)))
    data = [make_rows(40, d=d) for d in widths]
    fitted = fit_many(models, iter(data))
    assert [type(m) for m in fitted] == [type(m) for m in models]
    assert [m.n_features_in_ for m in fitted] == widths
    assert not hasattr(models[0], "weights_")


def test_weights_come_third():
    X, y = make_rows(40)
    weight = np.linspace(0.0, 1.0, 40)
    model = few_epochs(MODELS[0])
    (stacked,) = fit_many(model, [(X, y, weight)])
    expected = clone(model).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(stacked.predict(X), expected.predict(X))


def test_nothing_to_fit_is_nothing():
    assert fit_many(MODELS[0], []) == []


def test_wrong_use_is_named():
    X, y = make_rows(20)
    with pytest.raises(ValueError, match="2 models and 1 data sets"):
        fit_many([MODELS[0], MODELS[0]], [(X, y)])
    with pytest.raises(ValueError, match=r"data\[0\] has 1 parts"):
        fit_many(MODELS[0], [(X,)])
    with pytest.raises(TypeError, match="got a LinearRegression"):
        fit_many([LinearRegression()], [(X, y)])


def test_more_networks_than_a_stack_holds(monkeypatch):
    from trueline.models import _regressor

    data = [make_rows(30, seed=seed) for seed in range(3)]
    model = few_epochs(MODELS[1])
    whole = fit_many(model, data)
    monkeypatch.setattr(_regressor, "_STACK", 4)
    for one, other, (X, _) in zip(whole, fit_many(model, data), data, strict=True):
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-4, atol=1e-4)
