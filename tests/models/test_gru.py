"""The recurrent networks: what they compute, what they drop, and that they remember."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy.special import expit
from sklearn.base import clone

import trueline as tl
from tests.models.cases import name, small
from trueline.models import (
    ConcreteDropoutGRURegressor,
    DeepEnsembleGRURegressor,
    DropoutRegressor,
    GRURegressor,
    fit_many,
    load,
)
from trueline.models._persistence import _digest

torch = pytest.importorskip("torch")

STEPS, WIDTH = 4, 3
GRUS = [
    small(GRURegressor, n_steps=STEPS, dropout=0.1, n_samples=30),
    small(DeepEnsembleGRURegressor, n_steps=STEPS, n_members=2),
    small(ConcreteDropoutGRURegressor, n_steps=STEPS, n_samples=30),
]
each_gru = pytest.mark.parametrize("model", GRUS, ids=name)


def make_sequences(n=120, seed=0):
    """Rows whose outcome is a value of the first of four steps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, STEPS, WIDTH))
    return X.reshape(n, -1), X[:, 0, 0] + 0.1 * rng.normal(size=n)


def by_the_book(weights, Z, masks):
    """Outputs of two GRU layers, step by step, with masks (units,) or (rows, units)."""
    w = {key: value.astype(float) for key, value in weights.items()}
    steps = list(np.moveaxis(Z.reshape(len(Z), STEPS, -1), 1, 0))
    for i in (0, 2):
        units = w[f"weight{i + 1}"].shape[0]
        h = np.zeros((len(Z), units))
        states = []
        for x in steps:
            a = (x * masks[i]) @ w[f"weight{i}"] + w[f"bias{i}"]
            b = (h * masks[i + 1]) @ w[f"weight{i + 1}"] + w[f"bias{i + 1}"]
            reset = expit(a[:, :units] + b[:, :units])
            keep = expit(a[:, units : 2 * units] + b[:, units : 2 * units])
            new = np.tanh(a[:, 2 * units :] + reset * b[:, 2 * units :])
            h = (1 - keep) * new + keep * h
            states.append(h)
        steps = states
    return (steps[-1] * masks[4]) @ w["weight4"] + w["bias4"]


@pytest.fixture
def network():
    """A recipe of unequal layers, weights of two members with biases, and inputs, in float64."""
    from trueline.models._network import initial

    recipe = GRURegressor((5, 7), n_steps=STEPS)._recipe(STEPS * WIDTH)
    rng = np.random.default_rng(0)
    members = [initial(recipe, np.random.SeedSequence(seed)) for seed in (0, 1)]
    params = {
        key: torch.from_numpy(np.stack([m[key].astype(float) for m in members]))
        for key in members[0]
    }
    for i in range(5):
        params[f"bias{i}"] += torch.from_numpy(rng.normal(size=params[f"bias{i}"].shape))
    return recipe, params, torch.from_numpy(rng.normal(size=(2, 6, STEPS * WIDTH)))


def some_masks(recipe, rows, seed=0):
    rng = np.random.default_rng(seed)
    return [torch.from_numpy(rng.integers(0, 3, (2, rows, w)) / 1.0) for w in recipe.widths]


# ---- what is computed ------------------------------------------------------------------


def test_without_dropout_it_is_the_gru_of_torch(network):
    from trueline.models._network import forward

    recipe, params, x = network
    found = forward(recipe, params, x, [None] * 5)
    for k in range(2):
        w = {key: value[k] for key, value in params.items()}
        h = x[k].view(6, STEPS, WIDTH)
        for i, (inner, units) in zip((0, 2), ((WIDTH, 5), (5, 7)), strict=True):
            layer = torch.nn.GRU(inner, units, batch_first=True, dtype=torch.float64)
            layer.load_state_dict(
                {
                    "weight_ih_l0": w[f"weight{i}"].T,
                    "weight_hh_l0": w[f"weight{i + 1}"].T,
                    "bias_ih_l0": w[f"bias{i}"][0],
                    "bias_hh_l0": w[f"bias{i + 1}"][0],
                }
            )
            h = layer(h)[0].detach()
        expected = h[:, -1] @ w["weight4"] + w["bias4"]
        np.testing.assert_allclose(found[k], expected, rtol=1e-12, atol=1e-14)


def test_masks_are_the_same_at_every_step(network):
    from trueline.models._network import forward

    recipe, params, x = network
    masks = some_masks(recipe, 6)
    found = forward(recipe, params, x, masks)
    for k in range(2):
        w = {key: value[k].numpy() for key, value in params.items()}
        expected = by_the_book(w, x[k].numpy(), [mask[k].numpy() for mask in masks])
        np.testing.assert_allclose(found[k], expected, rtol=1e-12, atol=1e-14)


def test_what_is_dropped_is_dropped_at_all_steps(network):
    from trueline.models._network import forward

    recipe, params, x = network
    masks = [torch.ones(2, 6, width, dtype=torch.float64) for width in recipe.widths]
    masks[0][..., 1] = 0.0
    before = forward(recipe, params, x, masks)
    for step in range(STEPS):
        for feature in range(WIDTH):
            moved = x.clone()
            moved[..., step * WIDTH + feature] += 1.0
            same = forward(recipe, params, moved, masks) == before
            assert bool(same.all()) == (feature == 1)
            assert bool(same.any()) == (feature == 1)


def test_a_mask_that_drops_nothing_is_none(network):
    from trueline.models._network import forward

    recipe, params, x = network
    ones = [torch.ones(2, 6, width, dtype=torch.float64) for width in recipe.widths]
    assert torch.equal(forward(recipe, params, x, ones), forward(recipe, params, x, [None] * 5))


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_those_of_differences(network, masked):
    from trueline.models._network import forward

    recipe, params, x = network
    masks = some_masks(recipe, 2) if masked else [None] * 5
    x = x[:, :2].clone().requires_grad_()
    leaves = {key: value.requires_grad_() for key, value in params.items()}

    def outputs(x, *values):
        return forward(recipe, dict(zip(leaves, values, strict=True)), x, masks)

    assert torch.autograd.gradcheck(outputs, (x, *leaves.values()))


# ---- forecasts -------------------------------------------------------------------------


@pytest.mark.parametrize("input_dropout", [None, 0.0])
def test_forecasts_are_the_moments_of_thinned_networks(input_dropout):
    from trueline.models import _prediction

    X, y = make_sequences(60)
    params = {"n_steps": STEPS, "dropout": 0.5, "input_dropout": input_dropout}
    model = small(GRURegressor, n_samples=20, noise=None, max_epochs=3, **params).fit(X, y)
    recipe = model._recipe(X.shape[1])
    rates = [0.5 if input_dropout is None else 0.0] + [0.5] * 4
    assert recipe.widths == (WIDTH, 16, 16, 16, 16)
    assert list(recipe.rates) == rates
    rng = np.random.default_rng(model.seed_)
    kept = _prediction._kept(recipe, model.weights_, 20, rng)
    assert 0.4 < kept[:, WIDTH:].mean() < 0.6
    factors = kept / (1 - np.repeat(rates, recipe.widths))
    weights = {key: value[0] for key, value in model.weights_.items()}
    Z = (X - model.standardiser_.x_mean) / model.standardiser_.x_scale
    ends = np.cumsum(recipe.widths)[:-1]
    draws = np.array([by_the_book(weights, Z, np.split(f, ends))[:, 0] for f in factors])
    unit = model.standardiser_.y_scale
    found = model.predict_dist(X)
    expected = model.standardiser_.y_mean + unit * draws.mean(axis=0)
    np.testing.assert_allclose(found.mean(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.std(), unit * draws.std(axis=0), rtol=1e-9)


def test_without_dropout_samples_agree():
    X, y = make_sequences(40)
    model = small(GRURegressor, dropout=0.0, noise=0.5, max_epochs=2).fit(X, y)
    np.testing.assert_allclose(model.predict_dist(X).std(), 0.5, rtol=1e-12)


@each_gru
def test_blocks_make_no_difference(model, monkeypatch):
    from trueline.models import _prediction

    X, y = make_sequences(50)
    fitted = clone(model).set_params(max_epochs=2).fit(X, y)
    whole = fitted.predict_dist(X)
    for cells in (7, 120, 4000):
        monkeypatch.setattr(_prediction, "_CELLS", cells)
        monkeypatch.setattr(_prediction, "_SAMPLES", 8)
        monkeypatch.setattr(_prediction, "_BLOCK", 33)
        parts = fitted.predict_dist(X)
        np.testing.assert_allclose(parts.mean(), whole.mean(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(parts.std(), whole.std(), rtol=1e-9)


@each_gru
def test_columns_may_lie_one_after_the_other_in_memory(model):
    X, y = make_sequences(30)
    fitted = clone(model).set_params(max_epochs=2).fit(np.asfortranarray(X), y)
    expected = clone(model).set_params(max_epochs=2).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X), expected.predict(X))
    found = fitted.predict(np.asfortranarray(X))
    np.testing.assert_allclose(found, expected.predict(X), rtol=1e-10, atol=1e-12)


@each_gru
def test_our_contract_holds_for_sequences(model):
    X, y = make_sequences(60)
    tl.testing.check_estimator(clone(model).set_params(max_epochs=3), X, y)


# ---- learning --------------------------------------------------------------------------


@each_gru
def test_it_remembers_three_steps_back(model):
    X, y = make_sequences(400)
    X_new, y_new = make_sequences(400, seed=1)

    def error(model, columns):
        fitted = model.fit(X[:, columns], y)
        return np.mean((fitted.predict(X_new[:, columns]) - y_new) ** 2)

    whole = error(clone(model).set_params(max_epochs=60), slice(None))
    last = error(clone(model).set_params(n_steps=1), slice(-WIDTH, None))
    # The variance of y is 1.01, of which the last step tells nothing.
    assert last > 0.9
    assert whole < 0.25


@each_gru
def test_a_stack_gives_what_each_would_be_alone(model):
    data = [make_sequences(n, seed=n) for n in (100, 99, 20)]
    model = clone(model).set_params(max_epochs=4, learning_rate=1e-3)
    for stacked, (X, y) in zip(fit_many(model, data), data, strict=True):
        alone = clone(model).fit(X, y)
        np.testing.assert_array_equal(stacked.n_epochs_, alone.n_epochs_)
        for key, value in alone.weights_.items():
            np.testing.assert_allclose(stacked.weights_[key], value, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(stacked.predict(X), alone.predict(X), rtol=1e-4, atol=1e-4)


def test_recurrent_and_other_networks_train_side_by_side():
    X, y = make_sequences(30)
    models = [small(GRURegressor, max_epochs=2), small(DropoutRegressor, max_epochs=2)]
    models.append(clone(models[0]).set_params(n_steps=2))
    fitted = fit_many(models, [(X, y)] * 3)
    assert [m.weights_["weight0"].shape for m in fitted] == [(1, 3, 48), (1, 12, 16), (1, 6, 48)]


def test_rates_of_dropout_are_learned():
    def rates(n, epochs):
        X, y = make_sequences(n)
        model = ConcreteDropoutGRURegressor(
            (24, 24),
            max_epochs=epochs,
            learning_rate=1e-2,
            batch_size=50,
            validation_fraction=0.0,
            random_state=0,
        )
        return model.fit(X, y).rates_

    # As many steps of training for both: they differ in the data alone.
    few, many = rates(50, 12 * 20), rates(1000, 12)
    assert few.shape == (5,)
    # All start at 0.1. One of the features is all there is to know, and cannot be spared; with
    # few rows more of the states is dropped than at first, and with many less of everything.
    assert few[0] < 0.1
    assert (few[[1, 3]] > 0.1).all()
    assert (many[1:] < few[1:]).all()


# ---- sequences -------------------------------------------------------------------------


def test_steps_share_a_scale_and_indicators_keep_theirs():
    rng = np.random.default_rng(0)
    value = rng.normal(5.0, 2.0, size=(200, STEPS, 1)) * np.array([1.0, 2.0, 3.0, 4.0])[:, None]
    week = (rng.random((200, STEPS, 1)) < 0.02).astype(float)
    flat = np.full((200, STEPS, 1), 7e9)
    X = np.concatenate([value, week, flat], axis=2).reshape(200, -1)
    unit = small(GRURegressor, max_epochs=1).fit(X, value[:, 0, 0]).standardiser_
    expected = np.tile([value.mean(), 0.0, 7e9], STEPS)
    np.testing.assert_allclose(unit.x_mean, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(unit.x_scale, np.tile([value.std(), 1.0, 1.0], STEPS), rtol=1e-12)
    np.testing.assert_allclose([unit.y_mean, unit.y_scale], [value[:, 0].mean(), value[:, 0].std()])


def test_weights_of_rows_weigh_all_their_steps():
    X, y = make_sequences(40)
    weight = np.arange(40.0)
    unit = small(GRURegressor, max_epochs=1).fit(X, y, sample_weight=weight).standardiser_
    steps = X.reshape(-1, WIDTH)
    expected = np.average(steps, axis=0, weights=np.repeat(weight, STEPS))
    np.testing.assert_allclose(unit.x_mean, np.tile(expected, STEPS), rtol=1e-12)


@each_gru
def test_features_that_do_not_make_steps_are_refused(model):
    X, y = make_sequences(20)
    with pytest.raises(ValueError, match="X has 11 features and n_steps is 4"):
        clone(model).fit(X[:, :11], y)


@pytest.mark.parametrize("n_steps", [0, -4, 2.0, "4", True, None])
def test_steps_that_cannot_be_are_refused(n_steps):
    with pytest.raises(ValueError, match="n_steps is"):
        small(GRURegressor, n_steps=n_steps).fit(*make_sequences(20))


@pytest.mark.parametrize("rate", [1.0, -0.1, float("nan"), "half"])
def test_rates_that_cannot_be_are_refused(rate):
    with pytest.raises(ValueError, match="input_dropout is"):
        small(GRURegressor, input_dropout=rate).fit(*make_sequences(20))


# ---- files -----------------------------------------------------------------------------


@each_gru
def test_a_round_trip_is_exact(model, tmp_path):
    X, y = make_sequences(30)
    fitted = clone(model).set_params(max_epochs=2).fit(X, y)
    fitted.save(tmp_path / "model.safetensors")
    twin = load(tmp_path / "model.safetensors")
    assert type(twin) is type(fitted)
    assert twin.n_steps == STEPS
    np.testing.assert_array_equal(twin.predict_dist(X).std(), fitted.predict_dist(X).std())
    np.testing.assert_array_equal(twin.predict(X), fitted.predict(X))


@pytest.mark.parametrize(
    "change, said",
    [
        ({"n_steps": 5}, "n_features is wrong: X has 12 features and n_steps is 5"),
        ({"n_steps": 2}, "network.weight0 is float32 (1, 3, 48), not float32 (1, 6, 48)"),
        ({"n_steps": 0}, "n_steps is 0"),
        ({"n_steps": "4"}, "n_steps is '4'"),
        ({"input_dropout": 2.0}, "input_dropout is 2.0"),
        ({"activation": "relu"}, "params are"),
    ],
)
def test_a_file_that_lies_is_refused(change, said, tmp_path):
    path = tmp_path / "model.safetensors"
    small(GRURegressor, max_epochs=1).fit(*make_sequences(20)).save(path)
    with safe_open(path, framework="numpy") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        document = json.loads(file.metadata()["trueline"])
    document["params"] |= change
    text = json.dumps(document)
    save_file(tensors, path, metadata={"trueline": text, "sha256": _digest(text, tensors)})
    with pytest.raises(ValueError, match="is not a network that trueline can load") as caught:
        load(path)
    assert said in str(caught.value)
