"""Fitted DenseNets as files, of the format that all networks have."""

from __future__ import annotations

import json
import os
import reprlib
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from trueline._files import whole_file
from trueline.models._persistence import FORMAT, KEY, LEFT_OUT, SCALES, VERSION, Reader
from trueline.models.densenet._plan import CHANNELS
from trueline.models.densenet._regressor import DenseNetRegressor, _plain


def dump(model: DenseNetRegressor, path: str | os.PathLike[str]) -> None:
    """Write a fitted model; see `DenseNetRegressor.save`."""
    params = model.get_params(deep=False)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "class": type(model).__name__,
        "params": {k: _plain(v) for k, v in params.items() if k not in LEFT_OUT},
        "seed": model.seed_,
        "losses": model.losses_.tolist(),
    }
    tensors = {f"network.{name}": np.ascontiguousarray(v) for name, v in model.weights_.items()}
    scales: dict[str, NDArray[Any]] = {
        f"standardiser.{name}": np.atleast_1d(getattr(model.standardiser_, name)) for name in SCALES
    }
    content = save(tensors | scales, metadata={KEY: json.dumps(document, allow_nan=False)})
    with whole_file(Path(path)) as file:
        file.write(content)


def read(reader: Reader) -> DenseNetRegressor:
    """Check a file whose header names this class, part by part; see `trueline.models.load`."""
    params = reader.document.get("params")
    known = set(signature(DenseNetRegressor).parameters) - set(LEFT_OUT)
    if not isinstance(params, dict) or set(params) != known:
        reader.refuse(f"params are {reprlib.repr(params)}; expected {sorted(known)}")
    if isinstance(params["layers"], list):
        params["layers"] = tuple(params["layers"])
    model = DenseNetRegressor(**params)
    try:
        model._check()
    except (TypeError, ValueError) as error:
        reader.refuse(f"a parameter is wrong: {error}")
    model.seed_ = reader.integer("seed", 0)
    losses = reader.document.get("losses")
    model.losses_ = reader.numbers("losses", max(1, len(losses) if isinstance(losses, list) else 1))
    plan = model._plan()
    # Or a header could ask for more layers than there is time to count.
    if sum(plan.layers) > len(reader.tensors):
        reader.refuse(f"layers is {model.layers!r}, and there are {len(reader.tensors)} tensors")
    shapes = plan.shapes() | plan.statistics()
    expected: dict[str, tuple[Any, tuple[int, ...]]] = {
        f"network.{name}": (np.float32, shape) for name, shape in shapes.items()
    }
    sizes = zip(SCALES, (CHANNELS, CHANNELS, 1, 1), strict=True)
    expected |= {f"standardiser.{name}": (np.float64, (n,)) for name, n in sizes}
    reader.check_tensors(expected)
    model.standardiser_ = reader.standardiser()
    for name in plan.statistics():
        if name.endswith(".var") and (reader.tensors[f"network.{name}"] < 0).any():
            reader.refuse(f"network.{name} holds variances below 0")
    model.weights_ = {name: reader.tensors[f"network.{name}"] for name in shapes}
    return model
