"""Tables of features, read as numbers: arrays, and frames with text, categories and dates."""

from __future__ import annotations

import datetime as dt
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trueline._messages import count, did_you_mean, listed, shortened
from trueline._validation import CalibrationWarning, FloatArray, NotFittedError, is_missing

# Categories with fewer rows share one number, because no leaf of a tree could tell them apart.
_FEWEST = 5
_DAY = np.timedelta64(1, "D")
_FIRST_DAY = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

Codes = dict[str, float]


class FeatureReader:
    """Reads tables of features as numbers, in the same way at every call.

    `Conditional` and the learned width of `CalibratedRegressor` read their features with it. The
    numbers are meant for trees, which see only their order, and which order the categories of
    `categorical_` themselves:

    - Numbers and booleans stay as they are, also where they are stored as text. Missing values
      are NaN.
    - Dates and durations become days; dates count from 1970, in UTC. Text in ISO format is a date.
    - Other text, and categories of pandas and polars, become 0 for the most frequent category, 1
      for the next one, and so on. Categories with fewer than 5 rows, and those that come only
      later, share the number after the last. Ordered categories of pandas and an ``Enum`` of
      polars keep their order.
    - A column of mixed types is read as numbers if more than half of its distinct values are
      numbers or dates; its other values are then missing. Otherwise all values are categories.

    Outcomes are not used, so that the numbers of a row say nothing about its own. The columns of a
    frame are found by name: they may come in another order than at ``fit``, among others.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    categorical_ : list of int
        Positions of the columns of categories without an order of their own.

    Examples
    --------
    >>> import pandas as pd
    >>> from trueline.features import FeatureReader
    >>> X = pd.DataFrame({"size": [1.5, None] * 5, "place": ["north"] * 9 + ["south"]})
    >>> reader = FeatureReader().fit(X)
    >>> reader.transform(X[["place", "size"]].tail(2))
    array([[1.5, 0. ],
           [nan, 1. ]])
    """

    n_features_in_: int
    categorical_: list[int]

    def __repr__(self) -> str:
        return "FeatureReader()"

    def fit(self, X: Any) -> Self:
        """Learn the columns and their categories from a table, (n, d)."""
        numbers = _array_of_numbers(X)
        if numbers is not None:
            self._names = None
            # The categories of each column with their numbers; None for a column of numbers.
            self._codes: list[Codes | None] = [None] * numbers.shape[1]
            self.categorical_ = []
        else:
            self._names, columns = _columns(X)
            stated = [_stated_codes(column) for column in columns]
            self._codes = [
                _codes(column, _name(self._names, j)) if codes is None else codes
                for j, (column, codes) in enumerate(zip(columns, stated, strict=True))
            ]
            self.categorical_ = [
                j for j, codes in enumerate(self._codes) if codes is not None and stated[j] is None
            ]
        self.n_features_in_ = len(self._codes)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of the rows of X as numbers, (n, d).

        Warns
        -----
        CalibrationWarning
            If a column held numbers at ``fit`` and now holds several values but no number.
        """
        if not hasattr(self, "_codes"):
            raise NotFittedError("FeatureReader is not fitted: call fit(X) first.")
        numbers = _array_of_numbers(X)
        if numbers is not None and all(codes is None for codes in self._codes):
            self._check_number(numbers.shape[1])
            return numbers.astype(np.float64)
        columns = self._in_order(*_columns(X))
        read = [
            _read(column, codes, _name(self._names, j))
            for j, (column, codes) in enumerate(zip(columns, self._codes, strict=True))
        ]
        return np.column_stack(read)

    def _in_order(self, names: list[str] | None, columns: list[Any]) -> list[Any]:
        """Return the columns of the fit, by name if both tables have names."""
        if self._names is None or names is None:
            self._check_number(len(columns))
            return columns
        unknown = [name for name in self._names if name not in names]
        if unknown:
            hint = did_you_mean(unknown[0], names) if len(unknown) == 1 else ""
            raise ValueError(
                f"X lacks {count(len(unknown), 'column')} of fit: {listed(map(repr, unknown), 4)}; "
                f"expected the columns of fit, in any order.{hint}"
            )
        place = {name: j for j, name in enumerate(names)}
        return [columns[place[name]] for name in self._names]

    def _check_number(self, found: int) -> None:
        if found != self.n_features_in_:
            raise ValueError(f"X has {found} columns; expected {self.n_features_in_}, as at fit.")


# ---- tables --------------------------------------------------------------------------


def as_features(X: Any) -> FloatArray:
    """Convert a table of numbers to float64, (n, d); NaN stands for missing values.

    Examples
    --------
    >>> from trueline.features import as_features
    >>> as_features([[1, None], [2, 3]])
    array([[ 1., nan],
           [ 2.,  3.]])
    """
    a = _table(X)
    try:
        if a.dtype.kind not in "biufO":
            raise TypeError
        return a.astype(np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"X holds values that are not numbers{_where(X)}; expected a table of numbers. Encode "
            f"strings, categories and dates first, or leave those columns out."
        ) from None


def _table(X: Any) -> NDArray[Any]:
    """Return X as a two-dimensional array of any type."""
    if hasattr(X, "toarray"):
        raise TypeError("X is sparse; expected a dense table. Convert it with X.toarray().")
    try:
        a = np.asarray(X)
    except ValueError:  # rows of different lengths
        a = np.empty(0)
    if a.ndim != 2 or a.size == 0:
        raise ValueError(f"X has shape {a.shape}; expected (n, d), one row per forecast.")
    return a


def _where(X: Any) -> str:
    """Return which columns of a data frame are not numbers, as text."""
    types: Any = getattr(X, "dtypes", None)  # of pandas, by name
    kinds = types.items() if hasattr(types, "items") else ()
    names = [repr(name) for name, dtype in kinds if getattr(dtype, "kind", "O") not in "biuf"]
    return f" in {count(len(names), 'column')}: {listed(names, 4)}" if names else ""


def _array_of_numbers(X: Any) -> NDArray[Any] | None:
    """Return a two-dimensional array of numbers; None for anything else."""
    numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.ndim == 2 and X.size
    return X if numeric else None


def _columns(X: Any) -> tuple[list[str] | None, list[Any]]:
    """Return the names of the columns, None unless all are text and differ, and the columns."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # of pandas
        names, columns = list(X.columns), [X.iloc[:, j] for j in range(X.shape[1])]
    elif hasattr(X, "get_columns"):  # of polars
        names, columns = list(X.columns), X.get_columns()
    elif hasattr(X, "column_names") and hasattr(X, "columns"):  # of pyarrow
        names, columns = list(X.column_names), [decoded(c) for c in X.columns]
    else:
        return None, list(_table(X).T)
    if not columns or not len(columns[0]):
        raise ValueError(f"X has shape {X.shape}; expected (n, d), one row per forecast.")
    named = all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return names if named else None, columns


def decoded(column: Any) -> Any:
    """Return a column of pyarrow; numpy would read a missing category as another one."""
    dtype = column.type
    return column.cast(dtype.value_type) if str(dtype).startswith("dictionary") else column


def _name(names: list[str] | None, j: int) -> str:
    return f"column {j}" if names is None else f"column {names[j]!r}"


# ---- columns -------------------------------------------------------------------------


def _codes(column: Any, name: str) -> Codes | None:
    """Return the number of each category of a column; None if it is a column of numbers."""
    a = np.asarray(column)
    if a.dtype.kind in "biufmM":
        return None
    values = a.tolist()
    times = Counter(_checked(values, name))
    rows: Counter[str] = Counter()
    numbers = set()
    for value, k in times.items():
        if not _is_blank(value):
            number = _number(value)
            text = _text(value, number)
            rows[text] += k
            if number is not None:
                numbers.add(text)
    if 2 * len(numbers) > len(rows) or not rows:
        return None
    frequent = [text for text, k in rows.items() if k >= _FEWEST]
    # Ties are broken by name, so that the order of rows has no influence.
    frequent.sort(key=lambda text: (-rows[text], text))
    return {text: float(i) for i, text in enumerate(frequent)}


def _read(column: Any, codes: Codes | None, name: str) -> FloatArray:
    """Return a column as numbers, by the categories that `_codes` found."""
    a = np.asarray(column)
    if codes is None and a.dtype.kind in "biuf":
        return a.astype(np.float64)
    if codes is None and a.dtype.kind in "mM":
        since = a - np.datetime64(0, "s") if a.dtype.kind == "M" else a
        return since / _DAY
    values = a.tolist() if a.dtype.kind not in "mM" else a.astype(str).tolist()
    numbers = {v: _number(v) for v in dict.fromkeys(_checked(values, name)) if not _is_blank(v)}
    if codes is None:
        if len(numbers) > 1 and all(number is None for number in numbers.values()):
            warnings.warn(
                f"{name} of X held numbers or dates at fit and holds none now, but values such as "
                f"{shortened(repr(next(iter(numbers))))}; they are treated as missing.",
                CalibrationWarning,
                stacklevel=2,
            )
        known = {v: np.nan if number is None else number for v, number in numbers.items()}
    else:
        rest = float(len(codes))
        known = {v: codes.get(_text(v, number), rest) for v, number in numbers.items()}
    return np.fromiter((known.get(v, np.nan) for v in values), np.float64, len(values))


def _stated_codes(column: Any) -> Codes | None:
    """Return the number of each category if the type of the column states their order."""
    dtype: Any = getattr(column, "dtype", None)
    if not (getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum"):
        return None
    return {_text(value, _number(value)): float(i) for i, value in enumerate(dtype.categories)}


def _checked(values: list[Any], name: str) -> Iterable[Hashable]:
    """Return the values of a column; raise if they can be no categories."""
    try:
        set(values)
    except TypeError:
        kind = next(type(v).__name__ for v in values if not isinstance(v, Hashable))
        raise TypeError(
            f"{name} of X holds values of type {kind}; expected numbers, text, categories or "
            f"dates. Turn it into such columns, or leave it out."
        ) from None
    return values


def _is_blank(value: Any) -> bool:
    """Whether a value is missing, or text without a sign."""
    return not value.strip() if isinstance(value, str) else is_missing(value)


def _number(value: Any) -> float | None:
    """Return a number, a date or duration in days, or None for what is neither."""
    try:
        if isinstance(value, str):
            value = _parsed(value)
        if isinstance(value, dt.timedelta):
            return value / dt.timedelta(days=1)
        if isinstance(value, dt.date):
            return _days(value)
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _parsed(text: str) -> float | dt.datetime:
    try:
        return float(text)
    except ValueError:
        return dt.datetime.fromisoformat(text.strip())


def _days(date: dt.date) -> float:
    """Return the days since 1970 in UTC, which is that of a time without a zone."""
    if not isinstance(date, dt.datetime):
        return float(date.toordinal() - _FIRST_DAY.toordinal())
    aware = date if date.tzinfo is not None else date.replace(tzinfo=dt.UTC)
    return (aware - _FIRST_DAY) / dt.timedelta(days=1)


def _text(value: Any, number: float | None) -> str:
    """Return the text of a category; 1, 1.0 and "1" are the same one."""
    return str(value) if number is None else repr(number)
