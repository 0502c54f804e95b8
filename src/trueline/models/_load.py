"""Loading of fitted networks from files."""

from __future__ import annotations

import os
import reprlib
from pathlib import Path

from trueline.models._dropout import ConcreteDropoutRegressor, DropoutRegressor
from trueline.models._ensemble import DeepEnsembleRegressor
from trueline.models._gru import (
    ConcreteDropoutGRURegressor,
    DeepEnsembleGRURegressor,
    GRURegressor,
)
from trueline.models._parameters import require_torch
from trueline.models._regressor import NetworkRegressor
from trueline.models.densenet import DenseNetRegressor

_CLASSES: dict[str, type[NetworkRegressor] | type[DenseNetRegressor]] = {
    c.__name__: c
    for c in (
        ConcreteDropoutGRURegressor,
        ConcreteDropoutRegressor,
        DeepEnsembleGRURegressor,
        DeepEnsembleRegressor,
        DenseNetRegressor,
        DropoutRegressor,
        GRURegressor,
    )
}


def load(
    path: str | os.PathLike[str], *, max_bytes: int = 1 << 28
) -> NetworkRegressor | DenseNetRegressor:
    """Read a model that ``save`` wrote.

    The checksum, format, version, class, parameters and tensors (names, shapes, finite numbers) are
    checked. Nothing in the file is executed. The checksum guards against damage and not against
    attacks, because anyone can compute it.

    Parameters
    ----------
    path : path
        File to read.
    max_bytes : int, default 256 MiB
        Larger files are refused before they are read.

    Returns
    -------
    model
        The fitted model; its forecasts are the same to the last bit. Its `device`, `progress` and
        `random_state` are the defaults; ``set_params`` changes them.

    Raises
    ------
    ValueError
        If the file is not a valid model; the message says which part is wrong.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from trueline.models import DropoutRegressor, load
    >>> X = np.linspace(0.0, 1.0, 30)[:, None]
    >>> model = DropoutRegressor(hidden=(8,), max_epochs=5, random_state=0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.safetensors"
    ...     model.save(file)
    ...     twin = load(file)
    >>> bool(np.array_equal(twin.predict(X), model.predict(X)))
    True
    """
    require_torch("safetensors")
    from trueline.models._persistence import TensorFile

    path = Path(path)
    size = path.stat().st_size
    if size > max_bytes:
        raise ValueError(
            f"{path} has {size:,} bytes; expected at most max_bytes={max_bytes:,}. Raise max_bytes "
            f"if you trust the file."
        )
    file = TensorFile(path)
    name = file.document.get("class")
    if not isinstance(name, str) or name not in _CLASSES:
        file.refuse(f"class is {reprlib.repr(name)}, not one of {sorted(_CLASSES)}")
    model = _CLASSES[name]._from_file(file)
    require_torch()  # last, because it takes far more memory than refusing a file
    return model
