"""Columns of frames as arrays, without an import of any frame library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._messages import did_you_mean, listed
from trueline._validation import FloatArray, as_float
from trueline.series._dates import is_missing


def column_names(frame: Any) -> list[Any]:
    """Return the column names of a frame, Arrow table, structured array or mapping."""
    if isinstance(frame, Mapping):
        return list(frame)
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        return list(frame.dtype.names)
    # The attribute `columns` of an Arrow table holds the data, not the names.
    names = getattr(frame, "column_names", getattr(frame, "columns", None))
    if names is None or isinstance(frame, type) or not hasattr(frame, "__getitem__"):
        raise TypeError(
            f"frame is a {type(frame).__name__}; expected columns with names: a frame of pandas "
            f"or polars, a table of pyarrow, or a dict of arrays."
        )
    return list(names)


def column(frame: Any, name: str, argument: str) -> Any:
    """Return a column as an array; `argument` is the parameter that names it."""
    names = column_names(frame)
    if name not in names:
        hint = did_you_mean(name, [n for n in names if isinstance(n, str)])
        have = listed([str(n) for n in names]) or "none"
        raise ValueError(
            f"{argument} is {name!r}, and frame has no such column; expected one of its columns "
            f"({have}).{hint}"
        )
    found = frame[name]
    if isinstance(found, np.ma.MaskedArray):
        # Masked values become None, which counts as missing.
        found = np.array(found.tolist(), dtype=object)
    a = np.asarray(found)
    if a.ndim != 1:
        raise ValueError(
            f"frame[{name!r}] has shape {a.shape}; expected one value per row. If the frame has "
            f"two columns of that name, rename one."
        )
    return a


def numbers(a: NDArray[Any], name: str, *, booleans: bool = False) -> FloatArray:
    """Convert to float64, with NaN for missing values."""
    if a.dtype.kind == "O":
        missing = np.array([is_missing(item) for item in a.tolist()], dtype=bool)
        a = np.where(missing, np.nan, a)
        if booleans:
            a = np.array([float(x) if isinstance(x, bool) else x for x in a.tolist()], dtype=object)
    elif booleans and a.dtype.kind == "b":
        a = a.astype(np.float64)
    return as_float(a, f"frame[{name!r}]")


def labels(a: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert to labels of series, strings or numbers; none may be missing."""
    missing = np.zeros(len(a), dtype=bool)
    if a.dtype.kind == "f":
        missing = np.isnan(a)
    elif a.dtype.kind == "O":
        missing = np.array([is_missing(item) for item in a.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"frame[{name!r}] has no value in row {int(missing.argmax())} ({missing.sum()} of "
            f"{len(a)} have none); expected the series of each row. Drop or fill those rows."
        )
    if a.dtype.kind != "O":
        return a
    kinds = {type(item) for item in a.tolist()}
    if kinds == {str}:
        return a.astype(str)
    if len(kinds) > 1:
        mixed = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"frame[{name!r}] holds values of types {mixed}; expected one type of label. "
            f"Convert them to strings."
        )
    return np.array(a.tolist())
