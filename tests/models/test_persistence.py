"""Files: to the last bit on the way back, and hostile ones are refused with a word on why."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from tests.models.cases import MODELS, make_rows, name
from trueline.models import DropoutRegressor, _persistence, load

each_model = pytest.mark.parametrize("model", MODELS, ids=name)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Tensors and document of a good file."""
    path = tmp_path_factory.mktemp("models") / "good.safetensors"
    X, y = make_rows(30)
    clone(MODELS[0]).set_params(max_epochs=2).fit(X, y).save(path)
    with safe_open(path, framework="numpy") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        return tensors, json.loads(file.metadata()["trueline"])


def written(tmp_path, tensors, document):
    path = tmp_path / "bad.safetensors"
    text = document if isinstance(document, str) else json.dumps(document)
    metadata = {"trueline": text, "sha256": _persistence._digest(text, tensors)}
    save_file(tensors, path, metadata=metadata)
    return path


@each_model
def test_a_round_trip_is_exact(model, tmp_path):
    X, y = make_rows(40)
    X = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = clone(model).set_params(max_epochs=3).fit(X, y)
    path = tmp_path / "model.safetensors"
    fitted.save(path)
    twin = load(path)
    assert type(twin) is type(fitted)
    left_out = ("device", "progress", "random_state")
    params = {k: v for k, v in fitted.get_params().items() if k not in left_out}
    assert {k: v for k, v in twin.get_params().items() if k not in left_out} == params
    for method in ("mean", "std"):
        found, expected = (getattr(m.predict_dist(X), method)() for m in (twin, fitted))
        np.testing.assert_array_equal(found, expected)
    learned = {k for k in vars(fitted) if k.endswith("_")}
    assert {k for k in vars(twin) if k.endswith("_")} == learned
    assert list(twin.feature_names_in_) == ["a", "b", "c"]
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]


def test_a_good_document_is_read(saved, tmp_path):
    assert isinstance(load(written(tmp_path, *saved)), DropoutRegressor)


def test_what_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        MODELS[0].save(tmp_path / "model.safetensors")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change, said",
    [
        ({"format": "other"}, "format is 'other'"),
        ({"version": 2}, "version is 2"),
        ({"class": "Popen"}, "class is 'Popen'"),
        ({"class": ["DropoutRegressor"]}, "class is"),
        ({"class": "DeepEnsembleRegressor"}, "params are"),
        ({"params": None}, "params are None"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": True}, "seed is True"),
        ({"n_features": 2}, "network.weight0 is"),
        ({"n_features": "3"}, "n_features is '3'"),
        ({"noise": None}, "noise is None"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"loss": [1.0, 2.0]}, "loss is"),
        ({"n_epochs": ["x"]}, "n_epochs is"),
        ({"feature_names": ["a"]}, "feature_names are"),
    ],
)
def test_a_document_that_lies_is_refused(saved, tmp_path, change, said):
    tensors, document = saved
    with pytest.raises(ValueError, match="is not a network that trueline can load") as caught:
        load(written(tmp_path, tensors, {**document, **change}))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("hidden", [16, -1], "hidden is"),
        ("hidden", [10**9, 10**9], "network.weight0 is"),
        ("hidden", "16", "hidden is '16'"),
        ("dropout", 2.0, "dropout is 2.0"),
        ("n_samples", "many", "n_samples is 'many'"),
        ("noise", {"a": 1}, "noise is"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(saved, tmp_path, name, value, said):
    tensors, document = saved
    params = {**document["params"], name: value}
    with pytest.raises(ValueError, match="is not a network that trueline can load") as caught:
        load(written(tmp_path, tensors, {**document, "params": params}))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "key, value, said",
    [
        ("network.weight0", np.full((1, 3, 16), np.nan, np.float32), "not finite"),
        ("network.weight0", np.zeros((1, 3, 16)), "float64"),
        ("network.weight0", np.zeros((1, 4, 16), np.float32), "(1, 4, 16)"),
        ("network.more", np.zeros(1, np.float32), "missing or unknown"),
        ("standardiser.x_scale", np.zeros(3), "a scale is not above 0"),
        ("standardiser.y_scale", np.array([-1.0]), "a scale is not above 0"),
    ],
)
def test_a_tensor_that_cannot_be_is_refused(saved, tmp_path, key, value, said):
    tensors, document = saved
    with pytest.raises(ValueError, match="is not a network that trueline can load") as caught:
        load(written(tmp_path, {**tensors, key: value}, document))
    assert said in str(caught.value)


def test_a_missing_tensor_is_refused(saved, tmp_path):
    tensors, document = saved
    tensors = {key: value for key, value in tensors.items() if key != "network.bias0"}
    with pytest.raises(ValueError, match=r"network\.bias0"):
        load(written(tmp_path, tensors, document))


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, "3"])
def test_a_header_that_is_no_document_is_refused(saved, tmp_path, text):
    with pytest.raises(ValueError, match="is not a network that trueline can load: its header"):
        load(written(tmp_path, saved[0], text))


def test_a_file_of_another_kind_is_refused(saved, tmp_path):
    save_file(saved[0], tmp_path / "plain.safetensors")
    with pytest.raises(ValueError, match="no key 'trueline'"):
        load(tmp_path / "plain.safetensors")
    for i, data in enumerate([b"", b"\x80\x04K\x01.", b"\xff" * 64, bytes(8) + b"{}"]):
        path = tmp_path / f"{i}.safetensors"
        path.write_bytes(data)
        with pytest.raises(ValueError, match="is not a network that trueline can load"):
            load(path)


def test_half_a_file_is_refused(saved, tmp_path):
    path = written(tmp_path, *saved)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="cannot be read as safetensors"):
        load(path)


def test_a_network_without_its_checksum_is_refused(saved, tmp_path):
    tensors, document = saved
    text, path = json.dumps(document), tmp_path / "bad.safetensors"
    for metadata, said in [
        ({}, "its content has no checksum"),
        ({"sha256": "0" * 64}, "its content does not match its checksum"),
    ]:
        save_file(tensors, path, metadata={"trueline": text, **metadata})
        with pytest.raises(ValueError, match=f"{said}, so it was damaged or changed. Write it"):
            load(path)


def test_a_flipped_bit_is_refused(saved, tmp_path):
    """In ``benchmarks/fuzz.py`` in larger number."""
    path = written(tmp_path, *saved)
    data = path.read_bytes()
    expected = load(path).predict(np.zeros((1, 3)))
    for bit in np.random.default_rng(0).permutation(8 * len(data))[:400]:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << (bit % 8)
        path.write_bytes(damaged)
        try:
            found = load(path)
        except ValueError:
            continue
        # A space between parts of the header may become another one.
        assert np.array_equal(found.predict(np.zeros((1, 3))), expected)


def test_a_long_header_is_refused_unread(tmp_path):
    path = tmp_path / "long.safetensors"
    path.write_bytes((1 << 23).to_bytes(8, "little") + b"{" + b" " * (1 << 23))
    with pytest.raises(ValueError, match="its header has 8,388,608 bytes; expected at most"):
        load(path)


def test_a_large_file_is_refused_unread(saved, tmp_path):
    with pytest.raises(ValueError, match="at most max_bytes=100"):
        load(written(tmp_path, *saved), max_bytes=100)


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.safetensors")


@pytest.mark.parametrize("package", ["torch", "safetensors"])
def test_without_a_package_the_error_names_the_extra(package):
    code = f"""
import sys

class Missing:
    def find_spec(self, name, *_):
        if name == {package!r}:
            raise ImportError("no such package")

sys.meta_path.insert(0, Missing())
from trueline.models import DropoutRegressor
try:
    DropoutRegressor().fit([[1.0], [2.0]], [1.0, 2.0])
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        f"trueline.models needs {package}, which cannot be imported (no such package). "
        'Install it with: pip install "safetensors>=0.4.5" "torch>=2.13"\n'
    )


def test_importing_the_models_leaves_torch_alone():
    code = "import sys, trueline.models; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
