"""A DenseNet's files: models to the last bit, and checkpoints that go on as if never cut off."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.exceptions import NotFittedError

from tests.models.densenets import make_images, tiny
from trueline._partial import LeftoverWarning
from trueline.models import DenseNetRegressor, _persistence, load
from trueline.models.densenet._training import Trainer

IMAGES, DEPTH = make_images(6)


def contents(path):
    with safe_open(path, framework="numpy") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        return tensors, json.loads(file.metadata()["trueline"])


def put(path, tensors, document):
    text = json.dumps(document)
    metadata = {"trueline": text, "sha256": _persistence._digest(text, tensors)}
    save_file(tensors, path, metadata=metadata)
    return path


def check_same(found, expected):
    """Compare all that was learned, bit by bit."""
    assert set(found.weights_) == set(expected.weights_)
    for name, value in expected.weights_.items():
        np.testing.assert_array_equal(found.weights_[name], value, err_msg=name)
    np.testing.assert_array_equal(found.losses_, expected.losses_)
    assert found.seed_ == expected.seed_
    for name in ("x_mean", "x_scale", "y_mean", "y_scale"):
        np.testing.assert_array_equal(
            getattr(found.standardiser_, name), getattr(expected.standardiser_, name)
        )


# ---- checkpoints -----------------------------------------------------------------------


class Killed(BaseException):
    """Nothing catches it."""


def cut_off(monkeypatch, model, path, epochs, *data):
    """Train for some epochs, then be killed in the midst of the next."""
    epoch = Trainer._epoch

    def killed(self, number):
        loss = epoch(self, number)
        if number == epochs:
            raise Killed
        return loss

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_epoch", killed)
        with pytest.raises(Killed):
            model.fit(*data, checkpoint=path)


@pytest.mark.parametrize("options", [{}, {"aleatoric": True, "crop": 1.0}])
def test_what_was_cut_off_goes_on_as_if_it_had_not_been(monkeypatch, tmp_path, options):
    mask = DEPTH > 3.0
    whole = tiny(n_epochs=5, **options).fit(IMAGES, DEPTH, mask)
    path = tmp_path / "c.safetensors"
    for epochs in (1, 3):  # killed twice
        model = tiny(n_epochs=5, **options)
        cut_off(monkeypatch, model, path, epochs, IMAGES, DEPTH, mask)
        assert not hasattr(model, "weights_")
        assert len(contents(path)[1]["losses"]) == epochs
        assert [file.name for file in tmp_path.iterdir()] == ["c.safetensors"]
    resumed = tiny(n_epochs=5, **options).fit(IMAGES, DEPTH, mask, checkpoint=path)
    check_same(resumed, whole)
    np.testing.assert_array_equal(resumed.predict(IMAGES), whole.predict(IMAGES))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system kills in other ways")
def test_a_process_killed_while_it_writes_can_go_on(tmp_path):
    """The third checkpoint is not yet in its place: the second one is whole, and counts."""
    path = tmp_path / "c.safetensors"
    code = f"""
import os, pathlib, signal
import torch
from tests.models.densenets import make_images, tiny

torch.set_num_threads(1)
done = []
replace = pathlib.Path.replace

def dies(self, target):
    done.append(target)
    if len(done) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, target)

pathlib.Path.replace = dies
tiny(n_epochs=4).fit(*make_images(6), checkpoint={str(path)!r})
"""
    root = Path(__file__).parents[2]
    killed = subprocess.run([sys.executable, "-c", code], cwd=root, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(contents(path)[1]["losses"]) == 2
    with pytest.warns(LeftoverWarning, match="which a run that was killed had left"):
        resumed = tiny(n_epochs=4).fit(IMAGES, DEPTH, checkpoint=path)
    check_same(resumed, tiny(n_epochs=4).fit(IMAGES, DEPTH))


def test_a_checkpoint_of_all_epochs_is_the_model(monkeypatch, tmp_path):
    path = tmp_path / "c.safetensors"
    model = tiny(n_epochs=2).fit(IMAGES, DEPTH, checkpoint=path)
    monkeypatch.setattr(Trainer, "_epoch", None)  # nothing is trained
    check_same(tiny(n_epochs=2).fit(IMAGES, DEPTH, checkpoint=path), model)


def test_without_a_seed_that_of_the_checkpoint_is_taken(monkeypatch, tmp_path):
    path = tmp_path / "c.safetensors"
    cut_off(monkeypatch, tiny(n_epochs=2, random_state=None), path, 1, IMAGES, DEPTH)
    seed = contents(path)[1]["seed"]
    resumed = tiny(n_epochs=2, random_state=None).fit(IMAGES, DEPTH, checkpoint=path)
    check_same(resumed, tiny(n_epochs=2, random_state=seed).fit(IMAGES, DEPTH))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """Tensors and document of a good checkpoint, of a training with more to do."""
    path = tmp_path_factory.mktemp("checkpoints") / "c.safetensors"
    with pytest.MonkeyPatch.context() as monkeypatch:
        cut_off(monkeypatch, tiny(n_epochs=2), path, 1, IMAGES, DEPTH)
    return contents(path)


@pytest.mark.parametrize(
    "change, said",
    [
        ({"layers": (1, 1, 3)}, r"another architecture: layers is \[1, 1, 2\] in it and \[1, 1, 3"),
        ({"growth_rate": 5}, "another architecture: growth_rate is 4 in it and 5 here"),
        ({"first_channels": 5}, "another architecture: first_channels is 6 in it"),
        ({"aleatoric": True}, "another architecture: aleatoric is False in it and True here"),
        ({"dropout": 0.3}, "other settings: dropout is 0.2 in it and 0.3 here"),
        ({"n_epochs": 3}, "other settings: n_epochs is 2 in it and 3 here"),
        ({"flip": False, "crop": 1.0}, "crop is 0.9 in it and 1.0 here, flip is True in it and F"),
        ({"random_state": 1}, "random_state is 0 in it and 1 here"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(checkpoint, tmp_path, change, said):
    path = put(tmp_path / "c.safetensors", *checkpoint)
    before = path.read_bytes()
    model = tiny(**{"n_epochs": 2, **change})
    with pytest.raises(ValueError, match="is a checkpoint of another training: .*" + said) as error:
        model.fit(IMAGES, DEPTH, checkpoint=path)
    assert "delete it to start again" in str(error.value)
    assert path.read_bytes() == before


def test_what_does_not_change_training_may_change(checkpoint, tmp_path):
    path = put(tmp_path / "c.safetensors", *checkpoint)
    model = tiny(n_epochs=2, n_samples=3, layers=[1, 1, 2]).fit(IMAGES, DEPTH, checkpoint=path)
    check_same(model, tiny(n_epochs=2).fit(IMAGES, DEPTH))


def change_images():
    images = IMAGES.copy()
    images[0, 0, 0, 0] ^= 1
    return images, DEPTH


def change_depth():
    depth = DEPTH.copy()
    depth[3, 2, 1] += 1e-3
    return IMAGES, depth


def change_mask():
    mask = np.ones(DEPTH.shape, dtype=bool)
    mask[5, 5, 5] = False
    return IMAGES, DEPTH, mask


@pytest.mark.parametrize(
    "data", [change_images, change_depth, change_mask, lambda: (IMAGES[:5], DEPTH[:5])]
)
def test_a_checkpoint_of_other_data_is_refused(checkpoint, tmp_path, data):
    path = put(tmp_path / "c.safetensors", *checkpoint)
    with pytest.raises(ValueError, match="trained on images, depths or masks with another"):
        tiny(n_epochs=2).fit(*data(), checkpoint=path)


@pytest.mark.parametrize("left", [0, 5, 100, 0.3, 0.99])
def test_a_truncated_checkpoint_is_refused(checkpoint, tmp_path, left):
    path = put(tmp_path / "c.safetensors", *checkpoint)
    content = path.read_bytes()
    path.write_bytes(content[: left if isinstance(left, int) else int(left * len(content))])
    with pytest.raises(ValueError, match="cannot be read as safetensors") as error:
        tiny(n_epochs=2).fit(IMAGES, DEPTH, checkpoint=path)
    assert "is not a checkpoint that training can continue from" in str(error.value)


@pytest.mark.parametrize(
    "change, said",
    [
        ({"format": "trueline-network"}, "format is 'trueline-network', not"),
        ({"version": 2}, "version is 2"),
        ({"settings": None}, "its settings are None"),
        ({"settings": {"layers": [1]}}, "its settings are"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": True}, "seed is True"),
        ({"losses": []}, "losses is"),
        ({"losses": [1.0, 2.0, 3.0]}, "losses is .* not a list of 1 to 2 finite numbers"),
        ({"losses": ["x"]}, "losses is"),
        ({"losses": [float("nan")]}, "losses is"),
    ],
)
def test_a_checkpoint_that_lies_is_refused(checkpoint, tmp_path, change, said):
    tensors, document = checkpoint
    path = put(tmp_path / "c.safetensors", tensors, {**document, **change})
    with pytest.raises(ValueError, match=said):
        tiny(n_epochs=2).fit(IMAGES, DEPTH, checkpoint=path)


@pytest.mark.parametrize("name", ["weights.head.weight", "weights.pool0.var", "second.first.bias"])
@pytest.mark.parametrize(
    "damage, said",
    [
        (lambda a: a * np.float32(np.nan), "not finite"),
        (lambda a: a.astype(np.float64), "is float64"),
        (lambda a: a[:0], r"is float32 \(0"),
        (None, "tensors are missing or unknown"),
    ],
)
def test_damaged_tensors_of_a_checkpoint_are_refused(checkpoint, tmp_path, name, damage, said):
    tensors, document = checkpoint
    changed = {k: v for k, v in tensors.items() if k != name}
    if damage is not None:
        changed[name] = damage(tensors[name])
    path = put(tmp_path / "c.safetensors", changed, document)
    with pytest.raises(ValueError, match=said):
        tiny(n_epochs=2).fit(IMAGES, DEPTH, checkpoint=path)


def test_a_saved_model_is_no_checkpoint_nor_the_other_way(checkpoint, tmp_path):
    path = tmp_path / "m.safetensors"
    tiny(n_epochs=2).fit(IMAGES, DEPTH).save(path)
    with pytest.raises(ValueError, match="format is 'trueline-network', not"):
        tiny(n_epochs=2).fit(IMAGES, DEPTH, checkpoint=path)
    with pytest.raises(ValueError, match=r"'trueline-densenet-checkpoint'.*fit once more"):
        load(put(tmp_path / "c.safetensors", *checkpoint))


def test_a_checkpoint_in_no_folder_is_refused_before_training(monkeypatch, tmp_path):
    monkeypatch.setattr(Trainer, "_epoch", None)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none"):
        tiny(n_epochs=1).fit(IMAGES, DEPTH, checkpoint=tmp_path / "none" / "c.safetensors")
    with pytest.raises(IsADirectoryError, match=r"is a folder; expected a file.*network\.safe"):
        tiny(n_epochs=1).fit(IMAGES, DEPTH, checkpoint=tmp_path)


# ---- models ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Tensors and document of a good file."""
    path = tmp_path_factory.mktemp("models") / "m.safetensors"
    tiny(n_epochs=1).fit(IMAGES, DEPTH).save(path)
    return contents(path)


@pytest.mark.parametrize("options", [{}, {"aleatoric": True}])
def test_a_round_trip_is_exact(tmp_path, options):
    model = tiny(n_epochs=2, **options).fit(IMAGES, DEPTH)
    path = tmp_path / "m.safetensors"
    model.save(path)
    twin = load(path)
    assert isinstance(twin, DenseNetRegressor)
    check_same(twin, model)
    left_out = {"random_state": 0}
    assert {**twin.get_params(), **left_out} == model.get_params()
    for found, expected in zip(
        twin.predict_moments(IMAGES), model.predict_moments(IMAGES), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    assert {k for k in vars(twin) if k.endswith("_")} == {k for k in vars(model) if k.endswith("_")}


def test_what_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        tiny().save(tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change, said",
    [
        ({"class": "DropoutRegressor"}, "params are"),
        ({"params": None}, "params are None"),
        ({"seed": -1}, "seed is -1"),
        ({"losses": []}, "losses is"),
        ({"losses": ["x"]}, "losses is"),
    ],
)
def test_a_document_that_lies_is_refused(saved, tmp_path, change, said):
    tensors, document = saved
    path = put(tmp_path / "m.safetensors", tensors, {**document, **change})
    with pytest.raises(ValueError, match="is not a network that trueline can load") as caught:
        load(path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("layers", [1, 1, 10**12], "layers is (1, 1, 1000000000000), and there are"),
        ("layers", "many", "layers is 'many'"),
        ("layers", [1, 1, 1], "missing or unknown"),
        ("growth_rate", 10**9, "not float32"),
        ("dropout", 2.0, "dropout is 2.0"),
        ("n_samples", "many", "n_samples is 'many'"),
    ],
)
def test_a_parameter_in_a_file_that_cannot_be_is_refused(saved, tmp_path, name, value, said):
    tensors, document = saved
    params = {**document["params"], name: value}
    path = put(tmp_path / "m.safetensors", tensors, {**document, "params": params})
    with pytest.raises(ValueError, match="is not a network that trueline can load") as caught:
        load(path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("network.head.bias", np.full(1, np.nan, np.float32), "not finite"),
        ("network.head.bias", np.zeros(2, np.float32), "(2,)"),
        ("network.pool0.var", np.full(10, -1.0, np.float32), "variances below 0"),
        ("network.more", np.zeros(1, np.float32), "missing or unknown"),
        ("standardiser.x_scale", np.zeros(3), "a scale is not above 0"),
    ],
)
def test_a_tensor_that_cannot_be_is_refused(saved, tmp_path, name, value, said):
    tensors, document = saved
    path = put(tmp_path / "m.safetensors", {**tensors, name: value}, document)
    with pytest.raises(ValueError, match="is not a network that trueline can load") as caught:
        load(path)
    assert said in str(caught.value)
