"""What each model promises of its forecasts."""

import numpy as np
import pytest
from scipy.stats import norm

import trueline as tl
from tests.models.cases import make_rows, small
from trueline.models import (
    ConcreteDropoutRegressor,
    DeepEnsembleRegressor,
    DropoutRegressor,
    fit_many,
)
from trueline.models._dropout import likeliest_noise


def numpy_network(model, X, masks):
    """The network of a DropoutRegressor by the book: masks, one a hidden layer, on all units."""
    h = (X - model.standardiser_.x_mean) / model.standardiser_.x_scale
    w = {name: value[0].astype(float) for name, value in model.weights_.items()}
    for i, mask in enumerate(masks):
        z = h @ w[f"weight{i}"] + w[f"bias{i}"]
        h = np.where(z > 0, z, w[f"slope{i}"] * z) * mask / (1 - model.dropout)
    last = len(masks)
    z = h @ w[f"weight{last}"] + w[f"bias{last}"]
    return model.standardiser_.y_mean + model.standardiser_.y_scale * z[:, 0]


def test_dropout_forecasts_are_the_moments_of_thinned_networks():
    X, y = make_rows(100)
    model = small(DropoutRegressor, dropout=0.3, n_samples=4000, noise=None).fit(X, y)
    X_new = X[:5]
    found = model.predict_dist(X_new)
    rng = np.random.default_rng(1)
    draws = np.array(
        [numpy_network(model, X_new, rng.random((2, 5, 16)) >= 0.3) for _ in range(4000)]
    )
    # Two averages of 4000 draws each.
    error = draws.std(axis=0) * np.sqrt(2 / 4000)
    assert (np.abs(found.mean() - draws.mean(axis=0)) < 4 * error).all()
    # The variance of a variance, from the fourth moment of the draws.
    square = (draws - draws.mean(axis=0)) ** 2
    error = square.std(axis=0) * np.sqrt(2 / 4000)
    assert (np.abs(found.var() - square.mean(axis=0)) < 4 * error).all()


def test_without_dropout_the_forecast_is_the_network():
    X, y = make_rows(60)
    model = small(DropoutRegressor, dropout=0.0, noise=0.5).fit(X, y)
    expected = numpy_network(model, X, np.ones((2, 60, 16)))
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-10)
    np.testing.assert_allclose(model.predict_dist(X).std(), 0.5, rtol=1e-10)


def test_noise_adds_its_variance():
    X, y = make_rows(60)
    bare, noisy = (small(DropoutRegressor, noise=noise).fit(X, y) for noise in (None, 0.7))
    expected = bare.predict_dist(X).var() + 0.49
    np.testing.assert_allclose(noisy.predict_dist(X).var(), expected, rtol=1e-10)


def test_blocks_of_rows_and_chunks_of_samples_make_no_difference(monkeypatch):
    from trueline.models import _prediction

    X, y = make_rows(60)
    model = small(DropoutRegressor, n_samples=50).fit(X, y)
    whole = model.predict_dist(X)
    monkeypatch.setattr(_prediction, "_BLOCK", 7)
    monkeypatch.setattr(_prediction, "_SAMPLES", 8)
    parts = model.predict_dist(X)
    np.testing.assert_allclose(parts.mean(), whole.mean(), rtol=1e-10)
    np.testing.assert_allclose(parts.std(), whole.std(), rtol=1e-10)


def test_the_likeliest_noise_is_found():
    rng = np.random.default_rng(0)
    var = rng.uniform(0.1, 0.5, size=20_000)
    square = rng.normal(scale=np.sqrt(var + 0.3)) ** 2
    # The standard error of the estimate is about sqrt(2 / 20000) * (0.3 + 0.3).
    assert abs(likeliest_noise(square, var, np.ones(20_000)) - 0.3) < 4 * 0.006


def test_learned_noise_is_that_of_the_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 1))
    y = X[:, 0] + 0.5 * rng.normal(size=1500)
    model = small(DropoutRegressor, dropout=0.02, validation_fraction=0.3).fit(X, y)
    # 450 rows held out: a standard error of 0.5 / sqrt(900) = 0.017; a fit that is not perfect
    # adds to it, the spread of the samples takes away.
    assert abs(model.noise_ - 0.5) < 0.06


def test_the_mixture_is_the_average_of_its_members():
    X, y = make_rows(100)
    model = small(DeepEnsembleRegressor).fit(X, y)
    members = model.predict_dist(X).components
    means, scales = np.array([m.loc for m in members]), np.array([m.scale for m in members])
    assert means.shape == (5, 100)
    assert len({mean.tobytes() for mean in means}) == 5
    values = np.linspace(-2.0, 2.0, 9)
    expected = norm(means[..., None], scales[..., None]).cdf(values).mean(axis=0)
    found = model.predict_dist(X).cdf(np.broadcast_to(values, (100, 9)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_the_normal_forecast_has_the_moments_of_the_mixture():
    X, y = make_rows(100)
    model = small(DeepEnsembleRegressor).fit(X, y)
    mixture = model.predict_dist(X)
    normal = model.set_params(forecast="normal").predict_dist(X)
    assert type(mixture) is tl.Mixture
    assert type(normal) is tl.Normal
    np.testing.assert_allclose(normal.mean(), mixture.mean(), rtol=1e-12)
    np.testing.assert_allclose(normal.var(), mixture.var(), rtol=1e-12)


@pytest.mark.parametrize("adversarial", [None, 0.05])
def test_an_ensemble_learns_where_the_noise_is(adversarial):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(1000, 1))
    scale = np.where(X[:, 0] > 0, 1.0, 0.1)
    y = scale * rng.normal(size=1000)
    model = small(DeepEnsembleRegressor, adversarial=adversarial).fit(X, y)
    quiet, loud = model.predict_dist([[-0.5], [0.5]]).std()
    assert 0.05 < quiet < 0.2
    assert 0.7 < loud < 1.4


def test_adversarial_rows_change_what_is_learned():
    X, y = make_rows(60)
    plain, moved = (small(DeepEnsembleRegressor, adversarial=e).fit(X, y) for e in (None, 0.1))
    assert not np.array_equal(plain.predict(X), moved.predict(X))


def test_learned_rates_of_dropout_fall_as_rows_come_in():
    def rates(n, epochs):
        # The synthetic data of Gal, Hron and Kendall, twice.
        models, data = [], []
        for seed in range(2):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(n, 1))
            data.append((X, 2.0 * X[:, 0] + 8.0 + rng.normal(size=n)))
            params = {"learning_rate": 3e-3, "batch_size": 64, "random_state": seed}
            models.append(
                ConcreteDropoutRegressor(
                    (64, 64), max_epochs=epochs, validation_fraction=0.0, **params
                )
            )
        return np.array([model.rates_ for model in fit_many(models, data)])

    # Both have the same number of steps, one and 79 per epoch: they differ only in the data.
    few, many = rates(50, 15 * 79), rates(5000, 15)
    # The only feature is always needed; the rates of the hidden layers depend on the data.
    assert (few[:, 1:] > 0.2).all()
    assert (few[:, 1:] < 0.5).all()
    assert (many[:, 1:] < 0.1 * few[:, 1:]).all()


def test_concrete_forecasts_hold_both_doubts():
    X, y = make_rows(150)
    model = small(ConcreteDropoutRegressor, n_samples=400).fit(X, y)
    from trueline.models import _prediction

    recipe = model._recipe(3)
    Z = model.standardiser_.features(X)
    _, among, within = _prediction.moments(recipe, model.weights_, Z, 400, model.seed_)
    assert (among > 0).all()
    assert (within > 0).all()
    expected = model.standardiser_.y_scale * np.sqrt(among + within)
    np.testing.assert_allclose(model.predict_dist(X).std(), expected, rtol=1e-12)
