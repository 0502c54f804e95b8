"""Results as the data frames that were asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn import get_config

from trueline._validation import FloatArray

CONTAINERS = ("default", "pandas", "polars")


def check_container(container: Any) -> None:
    """Raise unless it is a container that we can make."""
    if container not in CONTAINERS:
        raise ValueError(
            f"transform is {container!r}; expected 'default' (numpy), 'pandas' or 'polars'."
        )


def container_of(model: Any) -> str:
    """Return what was asked for with `set_output`, or else in scikit-learn's configuration."""
    chosen = getattr(model, "_sklearn_output_config", {}).get("transform")
    return chosen or get_config()["transform_output"]


def framed(values: FloatArray, name: str, levels: Any, X: Any, container: str) -> Any:
    """Return (n,) values as a named series, (n, m) as a frame with a column a level.

    The rows keep the index of X where X is a pandas frame.
    """
    if container == "default":
        return values
    library = _library(container)
    if container == "pandas":
        # Duck-typed, so that X itself never makes pandas a requirement.
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        if values.ndim == 1:
            return library.Series(values, index=index, name=name)
        return library.DataFrame(values, index=index, columns=np.asarray(levels, dtype=float))
    if values.ndim == 1:
        return library.Series(name, values)
    # Names of polars' columns are strings.
    return library.DataFrame(values, schema=[str(level) for level in np.asarray(levels, float)])


def _library(container: str) -> Any:
    try:
        return import_module(container)
    except ImportError:
        raise ImportError(
            f"set_output(transform={container!r}) needs {container}: pip install {container}"
        ) from None
