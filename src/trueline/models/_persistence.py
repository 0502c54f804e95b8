"""Fitted networks as safetensors files: checked on the way in, and nothing is ever executed.

The weights are tensors; all else is JSON under one key of the file's header.
"""

from __future__ import annotations

import json
import os
import reprlib
from inspect import signature
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from trueline._files import whole_file
from trueline.models._concrete import ConcreteDropoutRegressor
from trueline.models._dropout import DropoutRegressor
from trueline.models._ensemble import DeepEnsembleRegressor
from trueline.models._gru import (
    ConcreteDropoutGRURegressor,
    DeepEnsembleGRURegressor,
    GRURegressor,
)
from trueline.models._recipe import Standardiser
from trueline.models._regressor import NetworkRegressor
from trueline.models.densenet._regressor import DenseNetRegressor

FORMAT = "trueline-network"
VERSION = 1

KEY = "trueline"
_CLASSES: dict[str, type[NetworkRegressor]] = {
    c.__name__: c
    for c in (
        ConcreteDropoutGRURegressor,
        ConcreteDropoutRegressor,
        DeepEnsembleGRURegressor,
        DeepEnsembleRegressor,
        DropoutRegressor,
        GRURegressor,
    )
}
# Where and how to compute, and what to show, is for whoever loads to say; the seed is kept.
LEFT_OUT = ("device", "progress", "random_state")
SCALES = ("x_mean", "x_scale", "y_mean", "y_scale")


def dump(model: NetworkRegressor, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; see `NetworkRegressor.save`."""
    params = model.get_params(deep=False)
    names = getattr(model, "feature_names_in_", None)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "class": type(model).__name__,
        "params": {k: _plain(k, v) for k, v in params.items() if k not in LEFT_OUT},
        "seed": model.seed_,
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "noise": getattr(model, "noise_", None),
        "n_epochs": model.n_epochs_.tolist(),
        "loss": model.loss_.tolist(),
    }
    tensors = {f"network.{name}": np.ascontiguousarray(v) for name, v in model.weights_.items()}
    for name in SCALES:
        tensors[f"standardiser.{name}"] = np.atleast_1d(getattr(model.standardiser_, name))
    data = save(tensors, metadata={KEY: json.dumps(document, allow_nan=False)})
    with whole_file(Path(path)) as file:
        file.write(data)


def _plain(name: str, value: Any) -> Any:
    """Convert a parameter to what JSON knows."""
    if name == "hidden":
        return [int(width) for width in value]
    return value.item() if isinstance(value, np.generic) else value


def load(path: str | os.PathLike[str], max_bytes: int) -> NetworkRegressor | DenseNetRegressor:
    """Read a model; see `trueline.models.load`."""
    path = Path(path)
    size = path.stat().st_size
    if size > max_bytes:
        raise ValueError(
            f"{path} has {size:,} bytes; expected at most max_bytes={max_bytes:,}. Raise max_bytes "
            f"if you trust the file."
        )
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError, ValueError) as error:
        _refuse(path, f"it cannot be read as safetensors ({error})")
    reader = Reader(path, metadata, tensors)
    reader.check_format()
    if reader.document.get("class") == DenseNetRegressor.__name__:
        # Imported here, for it needs Reader.
        from trueline.models.densenet._files import read

        return read(reader)
    return reader.model()


def _refuse(path: Path, fault: str) -> NoReturn:
    raise ValueError(
        f"{path} is not a network that trueline can load: {fault}. Write it anew with save()."
    )


class Reader:
    """Checks a file, part by part."""

    def __init__(self, path: Path, metadata: dict[str, str], tensors: dict[str, Any]) -> None:
        self.path = path
        self.tensors = tensors
        try:
            document = json.loads(metadata[KEY])
        except KeyError:
            self.refuse(f"its header has no key {KEY!r}")
        except (ValueError, RecursionError):
            self.refuse("its header holds no valid JSON")
        if not isinstance(document, dict):
            self.refuse(f"its header holds {reprlib.repr(document)} and not an object")
        self.document: dict[str, Any] = document

    def refuse(self, fault: str) -> NoReturn:
        _refuse(self.path, fault)

    def check_format(self) -> None:
        if self.document.get("format") != FORMAT:
            found = self.document.get("format")
            if isinstance(found, str) and found.endswith("-checkpoint"):
                self.refuse(
                    f"format is {found!r}: it is a checkpoint of training. To get the network, fit "
                    f"once more with checkpoint= this file and the same data and settings"
                )
            self.refuse(f"format is {found!r}, not {FORMAT!r}")
        if self.document.get("version") != VERSION:
            self.refuse(
                f"version is {reprlib.repr(self.document.get('version'))}, and this release reads "
                f"version {VERSION}"
            )

    def model(self) -> NetworkRegressor:
        name = self.document.get("class")
        if not isinstance(name, str) or name not in _CLASSES:
            known = sorted([*_CLASSES, DenseNetRegressor.__name__])
            self.refuse(f"class is {reprlib.repr(name)}, not one of {known}")
        model = self.blank(_CLASSES[name])
        model.n_features_in_ = self.integer("n_features", 1)
        model.seed_ = self.integer("seed", 0)
        try:
            model._check_features(model.n_features_in_)
        except ValueError as error:
            self.refuse(f"n_features is wrong: {error}")
        self.fill(model)
        return model

    def blank(self, cls: type[NetworkRegressor]) -> NetworkRegressor:
        params = self.document.get("params")
        known = set(signature(cls).parameters) - set(LEFT_OUT)
        if not isinstance(params, dict) or set(params) != known:
            self.refuse(f"params are {reprlib.repr(params)}; expected {sorted(known)}")
        if isinstance(params["hidden"], list):
            params["hidden"] = tuple(params["hidden"])
        model = cls(**params)
        try:
            model._check_common()
            model._check()
        except (TypeError, ValueError) as error:
            self.refuse(f"a parameter is wrong: {error}")
        return model

    def integer(self, name: str, least: int) -> int:
        value = self.document.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.refuse(f"{name} is {reprlib.repr(value)}, not an integer of {least} or more")
        return value

    def numbers(self, name: str, n: int) -> np.ndarray[Any, Any]:
        value: Any = self.document.get(name)
        plain = isinstance(value, list) and len(value) == n
        if not plain or not all(type(v) in (int, float) and np.isfinite(v) for v in value):
            self.refuse(f"{name} is {reprlib.repr(value)}, not a list of {n} finite numbers")
        return np.array(value)

    def fill(self, model: NetworkRegressor) -> None:
        """Put in what was learned."""
        k, d = model._n_networks(), model.n_features_in_
        shapes = model._recipe(d).shapes()
        expected: dict[str, tuple[Any, tuple[int, ...]]] = {
            f"network.{name}": (np.float32, (k, *shape)) for name, shape in shapes.items()
        }
        sizes = zip(SCALES, (d, d, 1, 1), strict=True)
        expected |= {f"standardiser.{name}": (np.float64, (n,)) for name, n in sizes}
        self.check_tensors(expected)
        model.standardiser_ = self.standardiser()
        model.weights_ = {name: self.tensors[f"network.{name}"] for name in shapes}
        model.n_epochs_ = self.numbers("n_epochs", k)
        model.loss_ = self.numbers("loss", k)
        self.fill_names(model, d)
        if isinstance(model, DropoutRegressor):
            noise: Any = self.document.get("noise")
            if type(noise) not in (int, float) or not 0 <= noise < np.inf:
                self.refuse(f"noise is {reprlib.repr(noise)}, not a finite number of 0 or more")
            model.noise_ = float(noise)
        elif isinstance(model, ConcreteDropoutRegressor):
            model._read_rates()

    def check_tensors(self, expected: dict[str, tuple[Any, tuple[int, ...]]]) -> None:
        """Refuse tensors other than these, by name, with their types and shapes."""
        if set(self.tensors) != set(expected):
            odd = sorted(set(self.tensors) ^ set(expected))
            self.refuse(f"tensors are missing or unknown: {reprlib.repr(odd)}")
        for name, (dtype, shape) in expected.items():
            tensor = self.tensors[name]
            if tensor.dtype != dtype or tensor.shape != shape:
                found = f"{tensor.dtype} {tensor.shape}"
                self.refuse(f"{name} is {found}, not {np.dtype(dtype)} {shape}")
            if not np.isfinite(tensor).all():
                self.refuse(f"{name} holds numbers that are not finite")

    def standardiser(self) -> Standardiser:
        x_mean, x_scale, y_mean, y_scale = (self.tensors[f"standardiser.{n}"] for n in SCALES)
        if not (x_scale.min() > 0 and y_scale[0] > 0):
            self.refuse("a scale is not above 0")
        return Standardiser(x_mean, x_scale, float(y_mean[0]), float(y_scale[0]))

    def fill_names(self, model: NetworkRegressor, d: int) -> None:
        names: Any = self.document.get("feature_names")
        if names is None:
            return
        plain = isinstance(names, list) and len(names) == d
        if not plain or not all(isinstance(name, str) for name in names):
            self.refuse(f"feature_names are {reprlib.repr(names)}, not {d} names")
        model.feature_names_in_ = np.array(names, dtype=object)
