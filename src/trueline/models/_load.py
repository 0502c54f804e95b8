"""Fitted networks from files."""

from __future__ import annotations

import os

from trueline.models._regressor import NetworkRegressor
from trueline.models._torch import core
from trueline.models.densenet._regressor import DenseNetRegressor


def load(
    path: str | os.PathLike[str], *, max_bytes: int = 1 << 28
) -> NetworkRegressor | DenseNetRegressor:
    """Read a model that ``save`` wrote.

    Everything in the file is checked: format, version, class, parameters, and that tensors have
    the shapes that those imply and are finite. Nothing in it is executed.

    Parameters
    ----------
    path : path
    max_bytes : int, default 256 MiB
        Larger files are refused unread.

    Returns
    -------
    model
        Fitted, with forecasts equal to the last bit. Its `device`, `progress` and `random_state`
        are the defaults; ``set_params`` changes them.

    Raises
    ------
    ValueError
        If the file is not a valid model; the message says where it fails.

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
    model: NetworkRegressor | DenseNetRegressor = core("_persistence").load(path, max_bytes)
    return model
