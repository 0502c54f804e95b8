"""Tables of features, read as named arrays, and columns read as categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._html import clean
from trueline._validation import detached
from trueline.features._reader import decoded

Codes = NDArray[np.intp]

MISSING, EMPTY = "(missing)", "(empty)"


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows cut into parts; ``codes`` is the index of each row's label.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import categories
    >>> parts = categories(np.array(["b", "a", "b"], dtype=object))
    >>> parts.labels, parts.codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """

    labels: list[str]
    codes: Codes


def read_columns(x: Any, n: int, what: str = "x") -> dict[str, NDArray[Any]]:
    """Return name -> values of a table: data frame, mapping of columns, series or array.

    Parameters
    ----------
    x : data frame of pandas, polars or pyarrow, mapping, or array, (n,) or (n, k)
    n : int
        Number of rows that it should have.
    what : str, default "x"
        Name of the table in messages and, for arrays, in the names of the columns.

    Examples
    --------
    >>> from trueline.features import read_columns
    >>> list(read_columns([[1, 2], [3, 4], [5, 6]], 3))
    ['x0', 'x1']
    """
    columns = _columns(x, what)
    if not columns:
        raise ValueError(f"{what} has no columns; expected at least one, or {what}=None.")
    found: dict[str, NDArray[Any]] = {}
    for name, values in columns:
        if values.shape != (n,):
            raise ValueError(
                f"{what} has a column {name!r} of shape {values.shape} but y has {n} rows; "
                f"expected one value per row."
            )
        label, k = clean(name) or EMPTY, 2
        while label in found:
            label, k = f"{clean(name) or EMPTY} ({k})", k + 1
        found[label] = values
    return found


def _columns(x: Any, what: str) -> list[tuple[str, NDArray[Any]]]:
    if isinstance(x, Mapping):
        return [(str(name), _array(values, what)) for name, values in x.items()]
    if hasattr(x, "column_names"):  # pyarrow
        return [(str(n), _array(decoded(x.column(i)), what)) for i, n in enumerate(x.column_names)]
    if hasattr(x, "columns"):  # pandas, polars; by position, because names may repeat
        take = x.iloc if hasattr(x, "iloc") else x
        return [(str(name), _array(take[:, i], what)) for i, name in enumerate(x.columns)]
    values = _array(x, what)
    if values.ndim == 1:
        return [(str(getattr(x, "name", None) or "x"), values)]
    if values.ndim == 2:
        return [(f"x{j}", column) for j, column in enumerate(values.T)]
    raise ValueError(
        f"{what} has shape {values.shape}; expected (n,) or (n, k), or a data frame of n rows."
    )


def _array(values: Any, what: str) -> NDArray[Any]:
    if hasattr(values, "toarray"):
        raise TypeError(
            f"{what} is sparse; expected a dense table. Convert it with {what}.toarray()."
        )
    values = detached(values, what)
    dtype = getattr(values, "dtype", None)
    if hasattr(dtype, "categories") and hasattr(values, "iloc"):
        # numpy would read categories that are numbers as numbers.
        return np.asarray(values.astype(object), dtype=object)
    if getattr(dtype, "kind", None) in {"i", "u", "f"} and hasattr(values, "iloc"):
        # pandas types may hold missing values, which numpy would convert to objects.
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{what} is ragged; expected columns of equal length.") from None
    return array.astype(np.float64) if array.dtype.kind in "iuf" else array


def is_continuous(values: NDArray[Any]) -> bool:
    """Whether values are numbers or times that can be drawn along an axis.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import is_continuous
    >>> is_continuous(np.array([0.5])), is_continuous(np.array(["a"]))
    (True, False)
    """
    return values.dtype.kind in "fM"


def categories(values: NDArray[Any], show: Callable[[float], str] = "{:g}".format) -> Parts:
    """Return one part per value; `show` writes values that are fractions.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import categories
    >>> categories(np.array([0.5, np.nan])).labels
    ['(missing)', '0.5']
    """
    if values.dtype.kind in "biufM":
        unique, index = np.unique(values, return_inverse=True)
        keys, index = list(unique), index.reshape(-1)
    else:
        keys, index = _first_seen(values)
    # Values with the same label, such as two kinds of missing values, are one part.
    labels, merged = np.unique([_label(key, show) for key in keys], return_inverse=True)
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


def _label(value: Any, show: Callable[[float], str]) -> str:
    # The missing value of pandas refuses to be compared.
    if value is None or str(value) in {"NaT", "<NA>", "nan"}:
        return MISSING
    if isinstance(value, float | np.floating):
        return show(float(value))
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return clean(value) or EMPTY
