"""Columns of the user, cut into parts with labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._report._markup import clean
from trueline._report._numbers import number, span
from trueline._validation import FloatArray

Codes = NDArray[np.intp]

MISSING, EMPTY = "(missing)", "(empty)"
# Columns of numbers with at most this number of different values have one part per value.
_FEW_VALUES = 8
# Number of rows that the ends of the bins are computed from.
_ROWS_FOR_EDGES = 100_000


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows cut into parts.

    Attributes
    ----------
    labels : list of str
    codes : ndarray, (n,)
        Index of each row's label.
    """

    labels: list[str]
    codes: Codes


def read_columns(x: Any, n: int) -> dict[str, NDArray[Any]]:
    """Return name -> values of a table: data frame, mapping of columns, series or array."""
    columns = _columns(x)
    if not columns:
        raise ValueError("x has no columns; expected at least one, or x=None.")
    found: dict[str, NDArray[Any]] = {}
    for name, values in columns:
        if values.shape != (n,):
            raise ValueError(
                f"x has a column {name!r} of shape {values.shape} but y has {n} rows; "
                f"expected one value per row."
            )
        label, k = clean(name) or EMPTY, 2
        while label in found:
            label, k = f"{clean(name) or EMPTY} ({k})", k + 1
        found[label] = values
    return found


def _columns(x: Any) -> list[tuple[str, NDArray[Any]]]:
    if isinstance(x, Mapping):
        return [(str(name), _array(values)) for name, values in x.items()]
    if hasattr(x, "column_names"):  # pyarrow
        return [(str(name), _array(x.column(i))) for i, name in enumerate(x.column_names)]
    if hasattr(x, "columns"):  # pandas, polars; by position, because names may repeat
        take = x.iloc if hasattr(x, "iloc") else x
        return [(str(name), _array(take[:, i])) for i, name in enumerate(x.columns)]
    values = _array(x)
    if values.ndim == 1:
        return [(str(getattr(x, "name", None) or "x"), values)]
    if values.ndim == 2:
        return [(f"x{j}", column) for j, column in enumerate(values.T)]
    raise ValueError(
        f"x has shape {values.shape}; expected (n,) or (n, k), or a data frame of n rows."
    )


def _array(values: Any) -> NDArray[Any]:
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind in {"i", "u", "f"} and hasattr(values, "iloc"):
        # pandas types may hold missing values, which numpy would convert to objects.
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError("x is ragged; expected columns of equal length.") from None
    return array.astype(np.float64) if array.dtype.kind in "iuf" else array


def is_continuous(values: NDArray[Any]) -> bool:
    """Whether values are numbers or times that can be drawn along an axis."""
    return values.dtype.kind in "fM"


def categories(values: NDArray[Any]) -> Parts:
    """Return one part per value."""
    if values.dtype.kind in "biufM":
        unique, index = np.unique(values, return_inverse=True)
        keys, index = list(unique), index.reshape(-1)
    else:
        keys, index = _first_seen(values)
    # Values with the same label, such as two kinds of missing values, are one part.
    labels, merged = np.unique([_label(key) for key in keys], return_inverse=True)
    return Parts([str(label) for label in labels], merged.reshape(-1)[index].astype(np.intp))


def _first_seen(values: NDArray[Any]) -> tuple[list[Any], Codes]:
    """Return distinct values, which need not compare, in order, and the index of each row's."""
    items = values.tolist()
    try:
        seen: dict[Any, int] = {}
        index = [seen.setdefault(item, len(seen)) for item in items]
    except TypeError:  # lists have no hash, but their text has
        seen = {}
        index = [seen.setdefault(str(item), len(seen)) for item in items]
    return list(seen), np.array(index, dtype=np.intp)


def _label(value: Any) -> str:
    if value is None or value != value or str(value) in {"NaT", "<NA>", "nan"}:  # noqa: PLR0124
        return MISSING
    if isinstance(value, float | np.floating):
        return number(float(value), 6)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return clean(value) or EMPTY


def parts(values: NDArray[Any], bins: int) -> Parts | None:
    """Return bins of about equal count, or one part per value; None if there is one part."""
    if not is_continuous(values):
        found = categories(values)
    elif values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]")
        numbers = np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64))
        found = _quantile_bins(numbers, bins, _date)
    elif _few_values(values):
        found = categories(values)
    else:
        found = _quantile_bins(values, bins, number)
    return found if len(found.labels) > 1 else None


def _few_values(values: FloatArray) -> bool:
    some = values[:1000]
    return np.unique(some).size <= _FEW_VALUES and np.unique(values).size <= _FEW_VALUES


def _quantile_bins(values: FloatArray, bins: int, show: Any) -> Parts:
    missing = np.isnan(values)
    known = values[~missing]
    if known.size == 0:
        return Parts([MISSING], np.zeros(values.size, dtype=np.intp))
    some = np.sort(known[:: -(-known.size // _ROWS_FOR_EDGES)])
    edges = np.unique(some[-(-np.arange(1, bins) * some.size // bins) - 1])
    edges = edges[edges < known.max()]
    codes = np.searchsorted(edges, values, side="left").astype(np.intp)
    codes[missing] = edges.size + 1
    ends = [show(edge) for edge in edges]
    labels = [f"up to {ends[0]}"] if ends else ["all"]
    labels += [span(a, b) for a, b in pairwise(ends)]
    labels += [f"above {ends[-1]}"] if ends else []
    if missing.any():
        labels.append(MISSING)
    return Parts(labels, codes)


def _date(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s")).replace("T", " ").removesuffix(" 00:00:00")
