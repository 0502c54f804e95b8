"""Paths of sampled outcomes: one network a path, noise anew at every call."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.models.cases import MODELS, make_rows, name, small
from trueline.models import DeepEnsembleGRURegressor, DropoutRegressor, GRURegressor

each_model = pytest.mark.parametrize("model", MODELS, ids=name)
bare = pytest.mark.parametrize(
    "model",
    [
        small(DropoutRegressor, noise=None, max_epochs=5),
        small(GRURegressor, n_steps=3, noise=None, max_epochs=5),
    ],
    ids=name,
)


def on_paths(X, n_paths):
    return np.broadcast_to(X, (n_paths, *X.shape))


@each_model
def test_draws_repeat_and_have_their_shape(model):
    X, y = make_rows(40)
    fitted = clone(model).set_params(max_epochs=2).fit(X, y)
    first, again, other = (fitted._path_sampler(5, seed) for seed in (0, 0, 1))
    one = first(on_paths(X, 5))
    assert one.shape == (5, 40)
    assert one.dtype == np.float64
    np.testing.assert_array_equal(again(on_paths(X, 5)), one)
    assert not np.array_equal(other(on_paths(X, 5)), one)
    # The noise of a second call is new; it repeats as well.
    two = first(on_paths(X, 5))
    assert not np.array_equal(two, one)
    np.testing.assert_array_equal(again(on_paths(X, 5)), two)


@bare
def test_a_path_keeps_its_network(model):
    X, y = make_rows(40)
    fitted = clone(model).fit(X, y)
    draw = fitted._path_sampler(6, 0)
    whole = draw(on_paths(X, 6))
    assert len({path.tobytes() for path in whole}) == 6
    # Without noise a path is a function: of its own rows, whatever the other paths read.
    np.testing.assert_array_equal(draw(on_paths(X, 6)), whole)
    turned = np.stack([np.roll(X, k, axis=0) for k in range(6)])
    expected = np.stack([np.roll(whole[k], k) for k in range(6)])
    np.testing.assert_allclose(draw(turned), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(draw(turned[:, :1]), expected[:, :1], rtol=1e-10, atol=1e-12)


def test_a_path_keeps_its_member():
    X, y = make_rows(60)
    fitted = small(DeepEnsembleGRURegressor, n_steps=3, n_members=3).fit(X, y)
    draw = fitted._path_sampler(6, 0)
    n = 4000
    members = fitted.predict_dist(X[:1]).components
    means, scales = np.array([(m.loc[0], m.scale[0]) for m in members]).T
    rows = on_paths(np.repeat(X[:1], n, axis=0), 6)
    followed = []
    for _ in range(2):
        found = draw(rows)
        z = (found.mean(axis=1)[:, None] - means) / (scales / np.sqrt(n))
        nearest = np.abs(z).argmin(axis=1)
        # The mean of a path is that of a member to its standard error, and so is the spread.
        assert (np.abs(z).min(axis=1) < 4).all()
        ratio = found.std(axis=1) / scales[nearest]
        assert (np.abs(ratio - 1) < 4 / np.sqrt(2 * n)).all()
        followed.append(nearest)
    # Members are told apart, each has two paths, and keeps them.
    gaps = np.abs(means[:, None] - means)[~np.eye(3, dtype=bool)]
    assert gaps.min() > 10 * scales.max() / np.sqrt(n)
    np.testing.assert_array_equal(np.bincount(followed[0]), [2, 2, 2])
    np.testing.assert_array_equal(*followed)


@each_model
def test_paths_have_the_moments_of_the_forecast(model):
    X, y = make_rows(60)
    fitted = clone(model).set_params(max_epochs=10).fit(X, y)
    if "n_samples" in model.get_params():
        fitted.set_params(n_samples=2000)
    dist = fitted.predict_dist(X[:5])
    draws = fitted._path_sampler(2000, 0)(on_paths(X[:5], 2000))
    # Both are averages over 2000 thinned networks.
    error = dist.std() * np.sqrt(2 / 2000)
    assert (np.abs(draws.mean(axis=0) - dist.mean()) < 4 * error).all()
    square = (draws - draws.mean(axis=0)) ** 2
    error = square.std(axis=0) * np.sqrt(2 / 2000)
    assert (np.abs(square.mean(axis=0) - dist.var()) < 4 * error).all()


def test_units_are_those_of_the_caller():
    X, y = make_rows(60)
    plain = small(DropoutRegressor, noise=0.3).fit(X, y)
    scaled = small(DropoutRegressor, noise=0.3 * 1024).fit(X * 8.0, y * 1024.0)
    one = plain._path_sampler(4, 0)(on_paths(X, 4))
    two = scaled._path_sampler(4, 0)(on_paths(X * 8.0, 4))
    # Powers of 2: standardised rows are the same to the last bit.
    np.testing.assert_allclose(two, one * 1024.0, rtol=1e-12)


@each_model
def test_no_rows_give_no_outcomes(model):
    X, y = make_rows(20)
    fitted = clone(model).set_params(max_epochs=1).fit(X, y)
    assert fitted._path_sampler(3, 0)(np.empty((3, 0, 3))).shape == (3, 0)


def test_wrong_use_is_named():
    with pytest.raises(NotFittedError):
        MODELS[0]._path_sampler(3, 0)
    X, y = make_rows(20)
    fitted = clone(MODELS[0]).set_params(max_epochs=1).fit(X, y)
    draw = fitted._path_sampler(3, 0)
    for shape in ((2, 4, 3), (3, 4, 2), (4, 3)):
        with pytest.raises(ValueError, match=r"expected \(3, n, 3\)"):
            draw(np.zeros(shape))
    for n_paths in (0, 2.5, True):
        with pytest.raises(ValueError, match="n_paths is"):
            fitted._path_sampler(n_paths, 0)
