"""Safetensors files of networks: weights as tensors, and a JSON document in the header.

A file is written completely or not at all. Reading checks every part and executes nothing. The
header also holds the SHA-256 digest of the document and the tensors, which shows damage; it does
not show who wrote the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from trueline._files import whole_file
from trueline.models._parameters import as_json
from trueline.models._recipe import Standardiser, Weights

FORMAT = "trueline-network"
VERSION = 1

_KEY = "trueline"
_CHECKSUM = "sha256"
# The header is parsed as a whole, so its size is limited. A feature's name takes some 20 bytes.
_MOST_HEADER = 1 << 22
# Parameters that say where to compute and what to show. The loaded model has their defaults.
_NOT_SAVED = ("device", "progress", "random_state")
_SCALES = ("x_mean", "x_scale", "y_mean", "y_scale")

Model = TypeVar("Model")


def write(path: Path, document: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
    """Write tensors with a JSON document in the header."""
    contiguous = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    text = json.dumps(document, allow_nan=False)
    content = save(contiguous, metadata={_KEY: text, _CHECKSUM: _digest(text, contiguous)})
    with whole_file(path) as file:
        file.write(content)


def _digest(text: str, tensors: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 digest of a document and of the names, types and bytes of tensors."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"\n{name!r} {tensor.dtype.str} {tensor.shape}\n".encode())
        digest.update(np.ascontiguousarray(tensor).data)
    return digest.hexdigest()


def write_model(model: Any, path: str | os.PathLike[str], learned: dict[str, Any]) -> None:
    """Write a fitted model; `learned` is what it has learned besides weights and scales."""
    params = model.get_params(deep=False)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "class": type(model).__name__,
        "params": {k: as_json(v) for k, v in params.items() if k not in _NOT_SAVED},
        "seed": model.seed_,
        **learned,
    }
    tensors = {f"network.{name}": value for name, value in model.weights_.items()}
    for name in _SCALES:
        tensors[f"standardiser.{name}"] = np.atleast_1d(getattr(model.standardiser_, name))
    write(Path(path), document, tensors)


class TensorFile:
    """The content of a file; each method checks one part and refuses the file if it is wrong."""

    # The end of "... is not" and the advice in the messages.
    kind = "a network that trueline can load"
    remedy = "Write it again with save()."
    format = FORMAT
    version = VERSION

    def __init__(self, path: Path) -> None:
        self.path = path
        self._check_header()
        try:
            with safe_open(path, framework="numpy") as file:
                metadata = file.metadata() or {}
                self.tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, TypeError, ValueError) as error:
            self.refuse(f"it cannot be read as safetensors ({error})")
        text, checksum = metadata.get(_KEY), metadata.get(_CHECKSUM)
        if text is None:
            self.refuse(f"its header has no key {_KEY!r}")
        if checksum != _digest(text, self.tensors):
            found = "has no checksum" if checksum is None else "does not match its checksum"
            self.refuse(f"its content {found}, so it was damaged or changed")
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            self.refuse("its header holds no valid JSON")
        if not isinstance(document, dict):
            self.refuse(f"its header holds {reprlib.repr(document)} and not an object")
        self.document: dict[str, Any] = document
        self._check_format()

    def _check_header(self) -> None:
        """Refuse a header that is too long to be parsed in little memory."""
        with self.path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
        if length > _MOST_HEADER:
            self.refuse(f"its header has {length:,} bytes; expected at most {_MOST_HEADER:,}")

    def refuse(self, fault: str) -> NoReturn:
        """Raise ValueError: the file is not of this kind."""
        raise ValueError(f"{self.path} is not {self.kind}: {fault}. {self.remedy}")

    def _check_format(self) -> None:
        found, version = (self.document.get(name) for name in ("format", "version"))
        if found != self.format:
            if isinstance(found, str) and found.endswith("-checkpoint"):
                self.refuse(
                    f"format is {found!r}: it is a checkpoint of training. To get the network, fit "
                    f"once more with checkpoint= this file and the same data and settings"
                )
            self.refuse(f"format is {reprlib.repr(found)}, not {self.format!r}")
        if version != self.version:
            self.refuse(
                f"version is {reprlib.repr(version)}, and this release reads version {self.version}"
            )

    def blank(self, cls: type[Model]) -> Model:
        """Make an unfitted model with the parameters in the header."""
        params = self.document.get("params")
        known = set(signature(cls).parameters) - set(_NOT_SAVED)
        if not isinstance(params, dict) or set(params) != known:
            self.refuse(f"params are {reprlib.repr(params)}; expected {sorted(known)}")
        model: Any = cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in params.items()})
        try:
            model._check_params()
        except (TypeError, ValueError) as error:
            self.refuse(f"a parameter is wrong: {error}")
        made: Model = model
        return made

    def integer(self, name: str, least: int) -> int:
        """Return an integer of the document."""
        value = self.document.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.refuse(f"{name} is {reprlib.repr(value)}, not an integer of {least} or more")
        return value

    def numbers(self, name: str, least: int, most: int) -> NDArray[Any]:
        """Return a list of `least` to `most` finite numbers of the document."""
        value: Any = self.document.get(name)
        plain = isinstance(value, list) and least <= len(value) <= most
        if not plain or not all(type(v) in (int, float) and np.isfinite(v) for v in value):
            n = f"{least}" if least == most else f"{least} to {most}"
            self.refuse(f"{name} is {reprlib.repr(value)}, not a list of {n} finite numbers")
        return np.array(value)

    def check_tensors(self, expected: dict[str, tuple[Any, tuple[int, ...]]]) -> None:
        """Refuse tensors other than these names, each with its dtype and shape."""
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

    def network(
        self, shapes: dict[str, tuple[int, ...]], n_features: int
    ) -> tuple[Weights, Standardiser]:
        """Return weights of these shapes, and the scales of features and target."""
        expected: dict[str, tuple[Any, tuple[int, ...]]] = {
            f"network.{name}": (np.float32, shape) for name, shape in shapes.items()
        }
        sizes = zip(_SCALES, (n_features, n_features, 1, 1), strict=True)
        expected |= {f"standardiser.{name}": (np.float64, (n,)) for name, n in sizes}
        self.check_tensors(expected)
        x_mean, x_scale, y_mean, y_scale = (self.tensors[f"standardiser.{n}"] for n in _SCALES)
        if not (x_scale.min() > 0 and y_scale[0] > 0):
            self.refuse("a scale is not above 0")
        weights = {name: self.tensors[f"network.{name}"] for name in shapes}
        return weights, Standardiser(x_mean, x_scale, float(y_mean[0]), float(y_scale[0]))
