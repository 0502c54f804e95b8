"""The DenseNet: its architecture, what it learns, what it must not look at, its forecasts."""

import math
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import trueline as tl
from tests.models.densenets import make_images, tiny
from trueline.models import DenseNetRegressor, DivergenceError
from trueline.models.densenet import _regressor, _training
from trueline.models.densenet._data import Pictures, Plan
from trueline.models.densenet._network import Forecaster, Network, initial, merge
from trueline.models.densenet._training import Trainer, pixel_losses


@pytest.fixture(scope="module")
def fitted():
    images, depth = make_images(5)
    return tiny(n_epochs=2).fit(images, depth)


# ---- architecture ----------------------------------------------------------------------


def paper_count(layers, k, first, classes):
    """Parameters by Tables 1 and 2 of Jégou et al., means and variances of features included."""

    def block(inner, n):
        # Batch normalisation has 4 numbers a feature; convolutions have biases.
        return sum(4 * (inner + j * k) + 9 * (inner + j * k) * k + k for j in range(n))

    *down, bottom = layers
    total, m, skips = 27 * first + first, first, []
    for n in down:
        total += block(m, n)
        m += n * k
        skips.append(m)
        total += 4 * m + m * m + m
    total += block(m, bottom)
    new = bottom * k
    for n, skip in zip(reversed(down), reversed(skips), strict=True):
        total += 9 * new * new + new + block(new + skip, n)
        m, new = new + skip + n * k, n * k
    return total + m * classes + classes


@pytest.mark.parametrize(
    "layers, growth, features, millions",
    [
        ((4,) * 6, 12, 192, 1.4),
        ((5,) * 6, 16, 288, 3.5),
        ((4, 5, 7, 10, 12, 15), 16, 256, 9.4),
    ],
)
def test_the_networks_of_the_paper_have_as_many_parameters(layers, growth, features, millions):
    plan = Plan(layers, growth, 48, 11)
    counted = sum(math.prod(s) for s in (plan.shapes() | plan.statistics()).values())
    assert counted == paper_count(layers, growth, 48, 11)
    assert round(counted / 1e6, 1) == millions
    convolutions = plan.convolutions()
    assert convolutions["head"].inner == features
    # Its name says how many convolutions there are.
    assert len(convolutions) == {12: 56, 16: 67 if layers[0] == 5 else 103}[growth]


def test_the_features_of_the_paper_s_table_2():
    convolutions = Plan((4, 5, 7, 10, 12, 15), 16, 48, 11).convolutions()
    down = [convolutions[f"pool{i}"].inner for i in range(5)]
    assert down == [112, 192, 304, 464, 656]
    # On the way up, m after each block: all that it reads and all that it adds. The table is 16
    # short from the bottom on, as the README of the authors' code says, and gives 1088 and 816.
    up = [convolutions[f"up{i}.0"].inner + n * 16 for i, n in enumerate((4, 5, 7, 10, 12))]
    assert up[::-1] == [1088, 816, 576, 384, 256]


def test_what_is_dropped_has_the_shape_that_features_have():
    plan = Plan((1, 2, 2), 3, 4, 1)
    state = {k: torch.from_numpy(v) for k, v in initial(plan, np.random.SeedSequence(0)).items()}
    seen = []

    def drop(h):
        seen.append(tuple(h.shape[1:]))
        return h

    with torch.no_grad():
        outputs = Network(plan, state, drop, training=False).outputs(torch.zeros(2, 3, 8, 12))
    assert outputs.shape == (2, 1, 8, 12)
    assert seen == list(plan.sites(8, 12))
    assert len(seen) == 2 * (1 + 2) + 2 + 2


@pytest.mark.parametrize("level", [0, 1])
def test_skip_connections_carry(level):
    """With all that rises from below cut off, what is skipped at a level still gets through."""
    plan = Plan((1, 1, 1), 3, 4, 1)
    state = {k: torch.from_numpy(v) for k, v in initial(plan, np.random.SeedSequence(0)).items()}
    for part in ("weight", "bias"):
        state[f"rise{level}.{part}"].zero_()
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(np.float32))

    def outputs():
        with torch.no_grad():
            return Network(plan, state, lambda h: h, training=False).outputs(x)

    whole = outputs()
    assert whole.std() > 0
    # Below the cut nothing matters.
    state["bottom.0.weight"].mul_(3.0)
    torch.testing.assert_close(outputs(), whole, rtol=0, atol=0)
    # What is skipped does.
    state[f"down{level}.0.weight"].mul_(3.0)
    assert not torch.equal(outputs(), whole)


def test_a_pixel_sees_far_through_the_bottom():
    plan = Plan((1, 1, 2), 3, 4, 1)
    state = {k: torch.from_numpy(v) for k, v in initial(plan, np.random.SeedSequence(1)).items()}
    x = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    Network(plan, state, lambda h: h, training=False).outputs(x)[0, 0, 32, 32].backward()
    rows = torch.nonzero(x.grad.abs().sum(dim=(0, 1, 3)))[:, 0]
    # Two layers at the bottom reach 2 * 4 pixels each to a side, and those above a few more.
    assert rows.min() <= 32 - 16
    assert rows.max() >= 32 + 16
    assert rows.min() > 0


def test_losses_are_those_of_the_formulas():
    rng = np.random.default_rng(0)
    outputs, y = rng.normal(size=(2, 2, 3, 4)), rng.normal(size=(2, 3, 4))
    both = torch.from_numpy(outputs)
    mean, log_var = outputs[:, 0], outputs[:, 1]
    found = pixel_losses("squared", both, torch.from_numpy(y)).numpy()
    minus_log = -tl.Normal(mean.ravel(), np.exp(0.5 * log_var.ravel())).logpdf(y.ravel())
    np.testing.assert_allclose(found.ravel(), minus_log - 0.5 * np.log(2 * np.pi), rtol=1e-12)
    found = pixel_losses("squared", both[:, :1], torch.from_numpy(y)).numpy()
    np.testing.assert_allclose(found, 0.5 * (y - mean) ** 2, rtol=1e-12)
    found = pixel_losses("huber", both[:, :1], torch.from_numpy(y)).numpy()
    error = np.abs(y - mean)
    huber = np.where(error < 0.5, 0.5 * error**2, 0.5 * (error - 0.25))
    np.testing.assert_allclose(found, huber, rtol=1e-12)


# ---- learning --------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"loss": "huber"}, {"aleatoric": True}])
def test_it_learns_depth_from_images(options):
    images, depth = make_images(24, seed=1)
    model = tiny(n_epochs=25, dropout=0.05, **options).fit(images[:20], depth[:20])
    assert model.losses_.shape == (25,)
    assert model.losses_[-1] < model.losses_[0]
    mean, var = model.predict_moments(images[20:])
    error = np.sqrt(np.mean(np.square(mean - depth[20:])))
    # A constant forecast errs by the standard deviation.
    assert error < 0.5 * depth[20:].std()
    assert (var > 0).all()
    if options.get("aleatoric"):
        F = model.predict_dist(images[20:])
        assert tl.coverage(depth[20:].ravel(), F, 0.9) > 0.6


def test_noise_that_varies_is_seen():
    """Where depth is noisy, on the bright side of images, forecasts are wide."""
    rng = np.random.default_rng(0)
    images = np.full((24, 16, 16, 3), 40, dtype=np.uint8)
    images[:, :, 8:] = 200
    noise = np.where(images[..., 0] > 100, 1.0, 0.1)
    depth = 3.0 + noise * rng.normal(size=noise.shape)
    model = tiny(n_epochs=30, aleatoric=True, dropout=0.05, flip=True).fit(images, depth)
    _, var = model.predict_moments(images[:1])
    assert var[0, :, 11:].mean() > 4 * var[0, :, :5].mean()


def test_masked_depths_are_never_looked_at():
    images, depth = make_images(6)
    mask = np.random.default_rng(2).random(depth.shape) < 0.6
    mask[0] = False
    first = tiny(n_epochs=2).fit(images, depth, mask)
    other = np.where(mask, depth, np.nan)
    second = tiny(n_epochs=2).fit(images, other, mask)
    for name, value in first.weights_.items():
        np.testing.assert_array_equal(value, second.weights_[name])
    assert first.standardiser_.y_mean == second.standardiser_.y_mean
    np.testing.assert_allclose(first.standardiser_.y_mean, depth[mask].mean(), rtol=1e-6)
    np.testing.assert_allclose(first.standardiser_.y_scale, depth[mask].std(), rtol=1e-6)
    # A valid one is looked at.
    spot = tuple(np.argwhere(mask)[0])
    other[spot] += 1.0
    third = tiny(n_epochs=2).fit(images, other, mask)
    assert not np.array_equal(third.weights_["head.weight"], first.weights_["head.weight"])


def test_the_loss_leaves_out_what_is_masked():
    """Below the public edge too, where masked depths are not yet 0."""
    images, depth = make_images(4)
    mask = np.random.default_rng(2).random(depth.shape) < 0.6
    model = tiny(n_epochs=2, crop=0.6)
    plan, settings = model._plan(), model._training_settings()
    learned = []
    for elsewhere in (0.0, 1e6):
        pictures = Pictures(images, np.where(mask, depth, np.float32(elsewhere)), mask)
        state = _training.initial_state(plan, 0)
        trainer = Trainer(plan, settings, pictures, pictures.standardiser(), 0, state)
        trainer.run(lambda trainer: None)
        learned.append((trainer.weights(), trainer.losses))
    assert learned[0][1] == learned[1][1]
    for name, value in learned[0][0].items():
        np.testing.assert_array_equal(value, learned[1][0][name])


def test_a_batch_without_a_valid_pixel_teaches_nothing():
    images, depth = make_images(2)
    mask = np.zeros(depth.shape, dtype=bool)
    mask[0] = True
    model = tiny(n_epochs=2, batch_size=1).fit(images, depth, mask)
    assert np.isfinite(model.losses_).all()


def test_augmentation_moves_images_and_depths_together():
    """Depth is a colour here, pixel by pixel: a window or mirror of one alone would hide that."""
    images = np.random.default_rng(0).integers(256, size=(16, 24, 24, 3), dtype=np.uint8)
    depth = images[..., 1] / 64.0
    model = tiny(n_epochs=30, dropout=0.0, crop=0.7, weight_decay=0.0).fit(images, depth)
    error = np.sqrt(np.mean(np.square(model.predict(images) - depth)))
    assert error < 0.3 * depth.std()


def test_colours_are_standardised():
    images, depth = make_images(3)
    model = tiny(n_epochs=1).fit(images, depth)
    scaled = images.reshape(-1, 3) / 255.0
    np.testing.assert_allclose(model.standardiser_.x_mean, scaled.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.standardiser_.x_scale, scaled.std(axis=0), rtol=1e-9)
    images[...] = 7
    np.testing.assert_array_equal(tiny(n_epochs=1).fit(images, depth).standardiser_.x_scale, 1.0)


def test_bytes_and_floats_are_the_same_images():
    images, depth = make_images(3)
    as_floats = (images / 255.0).astype(np.float32)
    first = tiny(n_epochs=1).fit(images, depth).predict(images)
    second = tiny(n_epochs=1).fit(as_floats, depth).predict(as_floats)
    np.testing.assert_allclose(first, second, rtol=1e-3)


def test_batches_are_one_set():
    images, depth = make_images(5)
    mask = depth > np.median(depth)
    whole = tiny(n_epochs=1).fit(images, depth, mask)
    batches = ((images[i : i + 2], depth[i : i + 2], mask[i : i + 2]) for i in range(0, 5, 2))
    parts = tiny(n_epochs=1).fit(batches)
    np.testing.assert_array_equal(parts.weights_["head.weight"], whole.weights_["head.weight"])


def test_the_learning_rate_falls_along_a_cosine(monkeypatch):
    rates = []
    step = torch.optim.Adam.step

    def spied(self, *args):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", spied)
    images, depth = make_images(4)
    tiny(n_epochs=2, batch_size=2, learning_rate=0.1).fit(images, depth)
    np.testing.assert_allclose(rates, 0.05 * (1 + np.cos(np.pi * np.arange(4) / 4)))
    rates.clear()
    tiny(n_epochs=1, batch_size=2, learning_rate=0.1, schedule="constant").fit(images, depth)
    assert rates == [0.1, 0.1]


def test_a_loss_that_is_lost_is_said_to_be_so():
    images, depth = make_images(3)
    with pytest.raises(DivergenceError, match="Lower learning_rate"):
        tiny(n_epochs=20, learning_rate=1e30, schedule="constant").fit(images, depth)


# ---- forecasts -------------------------------------------------------------------------


def test_running_moments_are_those_of_the_samples(fitted):
    images, _ = make_images(2, seed=3)
    plan = fitted._plan()
    asked = clone(fitted).set_params(n_samples=19)
    asked.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
    mean, var = asked.predict_moments(images)
    unit = fitted.standardiser_
    forecaster = Forecaster(plan, fitted.weights_, unit, fitted.seed_, "cpu")
    for i, image in enumerate(images):
        with torch.no_grad():
            drawn = np.concatenate(
                [
                    forecaster.outputs(image, forecaster.masks(16, 16, [s], fitted.dropout), 1)[0]
                    for s in range(19)
                ]
            )
        assert drawn.shape == (19, 16, 16)
        assert len(np.unique(drawn[:, 3, 3])) == 19
        np.testing.assert_allclose(
            mean[i], unit.y_mean + unit.y_scale * drawn.mean(axis=0), rtol=1e-5
        )
        np.testing.assert_allclose(var[i], unit.y_scale**2 * drawn.var(axis=0), rtol=1e-3)


def test_moments_merge_whatever_the_parts():
    rng = np.random.default_rng(0)
    mean, noise = 1e3 + rng.normal(size=(11, 4, 5)), rng.random((11, 4, 5))
    running = np.zeros((3, 4, 5))
    for start, stop in ((0, 3), (3, 4), (4, 11)):
        merge(running, start, mean[start:stop], noise[start:stop])
    np.testing.assert_allclose(running[0], mean.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(running[1] / 11, mean.var(axis=0), rtol=1e-9)
    np.testing.assert_allclose(running[2], noise.mean(axis=0), rtol=1e-12)


def test_units_are_dropped_at_their_rate_and_made_up_for():
    plan = Plan((1, 1), 8, 4, 1)
    state = initial(plan, np.random.SeedSequence(0))
    forecaster = Forecaster(plan, state, None, 0, "cpu")
    masks = forecaster.masks(32, 32, range(4), 0.2)
    values = np.concatenate([mask.numpy().ravel() for mask in masks])
    assert len(np.unique(values)) == 2
    np.testing.assert_allclose(np.unique(values), [0.0, 1.25], rtol=1e-5)
    # Of some 60,000 units; the standard error is below 0.002.
    assert abs((values == 0).mean() - 0.2) < 0.01
    again = forecaster.masks(32, 32, [2], 0.2)
    np.testing.assert_array_equal(again[0][0], masks[0][2])


def test_forecasts_repeat_and_do_not_depend_on_the_images_beside(fitted):
    images, _ = make_images(4, seed=5)
    before = {name: value.copy() for name, value in fitted.weights_.items()}
    mean, var = fitted.predict_moments(images)
    again = fitted.predict_moments(images)
    np.testing.assert_array_equal(again[0], mean)
    np.testing.assert_array_equal(again[1], var)
    for order in ([2], [3, 2, 0]):
        part = fitted.predict_moments(images[order])
        np.testing.assert_array_equal(part[0], mean[order])
        np.testing.assert_array_equal(part[1], var[order])
    # Forecasts leave the running statistics alone.
    for name, value in before.items():
        np.testing.assert_array_equal(fitted.weights_[name], value)


def test_rows_of_a_forecast_are_pixels_in_order(fitted):
    images, _ = make_images(2, seed=5)
    mean, var = fitted.predict_moments(images)
    F = fitted.predict_dist(images)
    assert isinstance(F, tl.Normal)
    assert len(F) == 2 * 16 * 16
    np.testing.assert_array_equal(F.mean(), mean.reshape(-1))
    np.testing.assert_allclose(F.var(), var.reshape(-1), rtol=1e-12)
    np.testing.assert_array_equal(fitted.predict(images), mean)


def test_without_dropout_all_samples_agree():
    images, depth = make_images(3)
    model = tiny(n_epochs=1, dropout=0.0).fit(images, depth)
    mean, var = model.predict_moments(images)
    model.set_params(n_samples=1)
    np.testing.assert_array_equal(model.predict(images), mean)
    assert 0 < var.max() < 1e-12
    assert np.isfinite(model.predict_dist(images).crps(depth.ravel())).all()


@pytest.mark.parametrize("crop", [0.9, 1.0])
def test_sides_that_cannot_be_halved_are_filled_up(crop):
    images, depth = make_images(3, size=(18, 21))
    model = tiny(n_epochs=1, crop=crop).fit(images, depth)
    mean, var = model.predict_moments(images)
    assert mean.shape == var.shape == (3, 18, 21)
    # Images of another size are forecast as well.
    assert model.predict(make_images(1, size=(16, 30))[0]).shape == (1, 16, 30)


def test_fits_repeat_and_seeds_differ():
    images, depth = make_images(3)
    first, second, third = (
        tiny(n_epochs=1, random_state=seed).fit(images, depth).weights_["head.weight"]
        for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, third)
    model = tiny(n_epochs=1, random_state=None).fit(images, depth)
    np.testing.assert_array_equal(model.predict(images), model.predict(images))


# ---- what is refused -------------------------------------------------------------------


def test_parameters_are_those_of_scikit_learn():
    model = DenseNetRegressor((3, 3), growth_rate=5)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(dropout=0.1).dropout == 0.1
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((1, 16, 16, 3), np.uint8))


@pytest.mark.parametrize(
    "name, value",
    [
        ("layers", (4,)),
        ("layers", (2, 0)),
        ("layers", 4),
        ("growth_rate", 0),
        ("first_channels", 1.5),
        ("dropout", 1.0),
        ("loss", "absolute"),
        ("schedule", "step"),
        ("n_samples", 0),
        ("n_epochs", -1),
        ("batch_size", True),
        ("learning_rate", 0.0),
        ("weight_decay", -1.0),
        ("crop", 0.0),
        ("crop", 1.1),
        ("flip", "yes"),
        ("aleatoric", 2),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name} is .*; expected"):
        tiny(**{name: value}).fit(*make_images(2))


def test_huber_s_loss_has_no_variance():
    with pytest.raises(ValueError, match="loss is 'huber' and aleatoric is True"):
        tiny(loss="huber", aleatoric=True).fit(*make_images(2))


IMAGES, DEPTH = make_images(2)
HOLED = DEPTH.copy()
HOLED[1, 2, 3] = np.nan


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((IMAGES[..., :1], DEPTH), r"shape \(2, 16, 16, 1\); expected \(n, h, w, 3\)"),
        ((IMAGES[0], DEPTH[0]), r"One image is images\[None\]"),
        ((IMAGES.transpose(0, 3, 1, 2), DEPTH), r"images\.transpose\(0, 2, 3, 1\)"),
        ((np.repeat(IMAGES[..., :1], 4, axis=-1), DEPTH), r"images\[\.\.\., :3\]"),
        ((IMAGES[..., :1], DEPTH), r"np\.repeat\(grey, 3, axis=-1\)"),
        (([IMAGES[0], IMAGES[0, :12]], DEPTH), "images have several sizes"),
        ((IMAGES, DEPTH[..., None]), r"Pass depth\[\.\.\., 0\]"),
        ((IMAGES, DEPTH[:1]), "that have no counterpart"),
        ((IMAGES, DEPTH, np.ones(DEPTH.shape)), r"mask\.astype\(bool\)"),
        (
            (IMAGES, DEPTH[:, :8]),
            r"depth has shape \(2, 8, 16\) and images .* expected \(2, 16, 16",
        ),
        ((IMAGES, DEPTH[:1]), r"depth has shape \(1, 16, 16\)"),
        ((IMAGES, HOLED), r"depth\[1, 2, 3\] is nan \(1 of 512.*mask=np\.isfinite"),
        ((IMAGES, DEPTH, np.ones((2, 16, 15), bool)), r"mask has shape \(2, 16, 15\)"),
        ((IMAGES, DEPTH, np.ones(DEPTH.shape)), "dtype float64; expected booleans"),
        ((IMAGES, DEPTH, np.zeros(DEPTH.shape, bool)), "mask is False at every pixel"),
        ((IMAGES * 1.0, DEPTH), r"floats from 1 to 1\d\d; expected 0 to 1\. Divide by 255"),
        ((np.full(IMAGES.shape, np.nan), DEPTH), "fix NaN"),
        ((IMAGES[:0], DEPTH[:0]), "images are empty"),
        ((IMAGES[:, :6], DEPTH[:, :6]), "6 x 16, too small to be halved 2 times; expected 8 x 8"),
        ((IMAGES,), "depth is missing"),
        (([],), "there are no batches"),
        (([IMAGES],), "batch 0 is not"),
        (([(IMAGES, DEPTH), (IMAGES[:, :8], DEPTH[:, :8])],), "expected one size"),
    ],
)
def test_bad_input_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        tiny().fit(*arguments)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ((IMAGES.astype(int), DEPTH), "images have dtype int64; expected uint8"),
        ((IMAGES, DEPTH.astype(str)), "depth has dtype"),
    ],
)
def test_bad_types_are_refused(arguments, said):
    with pytest.raises(TypeError, match=said):
        tiny().fit(*arguments)


def test_bad_images_are_refused_in_forecasts(fitted):
    with pytest.raises(ValueError, match=r"expected \(n, h, w, 3\)"):
        fitted.predict_dist(IMAGES[..., :2])


def test_progress_is_told_after_every_epoch(monkeypatch, tmp_path):
    told = []

    @contextmanager
    def spied(wanted, label, n_networks):
        assert (wanted, label, n_networks) == (True, "DenseNetRegressor", 1)
        yield lambda *now: told.append(now)

    monkeypatch.setattr(_regressor, "training_progress", spied)
    model = tiny(n_epochs=3, progress=True)
    model.fit(IMAGES, DEPTH, checkpoint=tmp_path / "c.safetensors")
    assert told == [(1, 3, 0), (2, 3, 0), (3, 3, 1)]
    told.clear()
    model.fit(IMAGES, DEPTH, checkpoint=tmp_path / "c.safetensors")
    assert told == [(3, 3, 0)]  # nothing was left to do


def test_a_function_is_told_of_every_epoch(capsys):
    told = []
    images, depth = make_images(4)
    tiny(n_epochs=3, progress=lambda *now: told.append(now)).fit(images, depth)
    assert [epoch for epoch, _, _ in told] == [1, 2, 3]
    assert {most for _, most, _ in told} == {3}
    assert capsys.readouterr().err == ""
