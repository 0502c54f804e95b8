"""A table of features of any kind, as numbers that trees read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray, Rows, is_missing
from trueline.features._columns import MISSING, categories, read_columns

# Trees read float32.
_LARGEST = float(np.finfo(np.float32).max)
# A category that is not among this number of the most frequent ones counts as rare.
_MOST_CATEGORIES = 50
# Number of categories that have a direction of their own in `Table.ranked`.
_MOST_DIRECTIONS = 10


@dataclass(frozen=True)
class Column:
    """What the numbers of a column stand for: `labels` of categories, times, or themselves."""

    name: str
    labels: tuple[str, ...] | None = None
    is_time: bool = False

    def show(self, value: float) -> str:
        """Return a number of the column as text."""
        if self.is_time:
            return str(np.datetime64(round(value), "s")).replace("T", " ").removesuffix(" 00:00:00")
        return f"{value:.15g}"


@dataclass(frozen=True, eq=False)
class Table:
    """Features of n rows: numbers as they are, categories as codes, NaN for missing values.

    Booleans, and text that is no number, are categories: 0, 1, ... by falling frequency.

    Examples
    --------
    >>> from trueline.features import Table
    >>> table = Table.read({"size": [1.5, None, 3.0], "place": ["b", "a", "a"]}, 3)
    >>> table.values
    array([[1.5, 1. ],
           [nan, 0. ],
           [3. , 0. ]])
    >>> table.columns[1].labels
    ('a', 'b')
    """

    columns: tuple[Column, ...]
    values: FloatArray

    @classmethod
    def read(cls, X: Any, n: int, what: str = "X") -> Self:
        """Read a data frame, a mapping of columns or an array of `n` rows."""
        read = [_read(name, values) for name, values in read_columns(X, n, what).items()]
        columns, values = zip(*read, strict=True)
        return cls(columns, np.column_stack(values))

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> Self:
        """Return some rows."""
        return type(self)(self.columns, self.values[rows])

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Whether each column holds categories."""
        return np.array([column.labels is not None for column in self.columns])

    def frequent(self) -> FloatArray:
        """Return the values with one code for all rare categories."""
        return np.where(self.categorical, np.fmin(self.values, _MOST_CATEGORIES), self.values)

    def ranked(self) -> FloatArray:
        """Return columns of mean 0 and variance 1, for directions in the space of the features.

        Numbers become ranks, so that neither units nor outliers matter, and each of the most
        frequent categories an indicator. A missing value is the mean, and has an indicator.
        """
        found: list[FloatArray] = []
        for column, values in zip(self.columns, self.values.T, strict=True):
            missing = np.isnan(values)
            if column.labels is None:
                found.append(_ranks(values))
            else:
                most = min(len(column.labels), _MOST_DIRECTIONS)
                found += [(values == code).astype(np.float64) for code in range(most)]
            if missing.any():
                found.append(missing.astype(np.float64))
        kept = [_standardised(v) for v in found if len(np.unique(v[~np.isnan(v)])) > 1]
        return np.column_stack(kept) if kept else np.zeros((len(self), 0))


def _ranks(values: FloatArray) -> FloatArray:
    """Return mean ranks; missing values have none."""
    known = ~np.isnan(values)
    _, place, sizes = np.unique(values[known], return_inverse=True, return_counts=True)
    ranks = np.full(len(values), np.nan)
    ranks[known] = (np.cumsum(sizes) - 0.5 * sizes)[place]
    return ranks


def _standardised(values: FloatArray) -> FloatArray:
    scaled = (values - np.nanmean(values)) / np.nanstd(values)
    return np.where(np.isnan(scaled), 0.0, scaled)


def _read(name: str, values: NDArray[Any]) -> tuple[Column, FloatArray]:
    """Return a column and its numbers."""
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]")
        known = np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64))
        return Column(name, is_time=True), known
    if values.dtype.kind == "m":
        days = values / np.timedelta64(1, "D")
        return Column(name), np.asarray(days, dtype=np.float64)
    if values.dtype.kind in "OU":
        numbers = _numbers(values)
        values = values if numbers is None else numbers
    if values.dtype.kind == "f":
        return Column(name), np.clip(values, -_LARGEST, _LARGEST)
    parts = categories(values)
    sizes = np.bincount(parts.codes, minlength=len(parts.labels))
    missing = np.array([label == MISSING for label in parts.labels])
    order = np.argsort(np.where(missing, 1, -sizes), kind="stable")  # missing values come last
    codes = np.empty(len(order))
    codes[order] = np.arange(len(order))
    codes[missing] = np.nan
    labels = tuple(parts.labels[i] for i in order if not missing[i])
    return Column(name, labels), codes[parts.codes]


def _numbers(values: NDArray[Any]) -> FloatArray | None:
    """Return objects or texts as numbers, if all of them are, or missing."""
    items = values.tolist()
    if any(isinstance(item, bool | np.bool_) for item in items):
        return None
    try:
        return np.array([np.nan if _is_blank(item) else float(item) for item in items])
    except (TypeError, ValueError, OverflowError):
        return None


def _is_blank(item: Any) -> bool:
    return not item.strip() if isinstance(item, str) else is_missing(item)
