"""The rows of a frame, checked and sorted by series and date.

No frame library is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueline._messages import did_you_mean, listed
from trueline._validation import FloatArray, as_float, is_missing
from trueline.series._dates import Dates, Step, check_dates, in_words

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SeriesTable:
    """Rows of all series, sorted by series and date."""

    names: NDArray[Any]  # (m,), of the series, sorted
    code: Indices  # (r,), the position in `names` of the series of each row
    dates: Dates  # (r,)
    value: FloatArray  # (r,), NaN where not known
    covariates: FloatArray  # (r, c), NaN where not known
    step: Step

    def joined(self) -> NDArray[np.bool_]:
        """Return whether each row is one step after the row before it, in the same series."""
        out = np.zeros(len(self.code), dtype=bool)
        out[1:] = (np.diff(self.code) == 0) & (np.diff(self.dates) == self.step)
        return out

    def with_next_days(self) -> SeriesTable:
        """Add a row without values for the next day wherever a day has no successor."""
        last = np.flatnonzero(~np.append(self.joined()[1:], False))
        unknown = np.full(len(last), np.nan)
        code = np.append(self.code, self.code[last])
        dates = np.append(self.dates, self.dates[last] + self.step)
        order = np.lexsort([dates, code])
        covariates = np.vstack([self.covariates, np.full_like(self.covariates[last], np.nan)])
        value = np.append(self.value, unknown)
        return SeriesTable(
            self.names, code[order], dates[order], value[order], covariates[order], self.step
        )


def read_table(
    frame: Any,
    *,
    date: str,
    value: str,
    series: str | None,
    covariates: Sequence[str],
    step: Step,
    nonnegative: bool,
) -> SeriesTable:
    """Check the columns of a frame and sort them by series."""
    days = check_dates(column(frame, date, "date"), f"frame[{date!r}]", step)
    y = numbers(column(frame, value, "value"), value)
    known = [numbers(column(frame, c, "covariates"), c, booleans=True) for c in covariates]
    name = np.zeros(len(days), dtype=np.int64)
    if series is not None:
        name = labels(column(frame, series, "series"), series)
    if not len(days):
        raise ValueError("frame has no rows; expected at least as many as a window has days.")
    parts: list[tuple[str | None, NDArray[Any]]] = [(value, y), (series, name)]
    for what, a in [*parts, *zip(covariates, known, strict=True)]:
        if len(a) != len(days):
            raise ValueError(
                f"frame[{what!r}] has {len(a)} rows but frame[{date!r}] has {len(days)}; expected "
                f"the same number."
            )
    names, code = np.unique(name, return_inverse=True)
    place = _RowPlace(days, names[code], grouped=series is not None)
    place.check_numbers(value, y, nonnegative=nonnegative)
    for what, a in zip(covariates, known, strict=True):
        place.check_numbers(what, a)
    order = np.argsort(code, kind="stable")
    place.check_order(code, order, step)
    table = np.column_stack([np.empty((len(days), 0)), *known])[order]
    return SeriesTable(names, code[order], days[order], y[order], table, step)


@dataclass(frozen=True, eq=False)
class _RowPlace:
    """Names the day and series of a row of the frame in messages."""

    dates: Dates
    series: NDArray[Any]
    grouped: bool

    def __call__(self, row: int) -> str:
        """Return series, date and number of a row in words."""
        of = f"in series {self.series[row]!s} " if self.grouped else ""
        return f"{of}on {self.dates[row]!s} (row {row})"

    def check_numbers(self, name: str, a: FloatArray, *, nonnegative: bool = False) -> None:
        """Raise if a number is infinite, or below zero although `nonnegative`."""
        infinite = np.isinf(a)
        if infinite.any():
            row = int(infinite.argmax())
            raise ValueError(
                f"frame[{name!r}] is {a[row]} {self(row)}; expected finite numbers, or NaN for "
                f"unknown days."
            )
        below = a < 0
        if nonnegative and below.any():
            row = int(below.argmax())
            raise ValueError(
                f"frame[{name!r}] is {a[row]} {self(row)}; expected 0 or more "
                f"({below.sum()} of {len(a)} are not). If these are returned goods, clip them "
                f"to 0, make them NaN, or pass nonnegative=False."
            )

    def check_order(self, code: Indices, order: Indices, step: Step) -> None:
        """Raise unless the dates of each series rise by whole steps."""
        dates, owner = self.dates[order], code[order]
        same = np.diff(owner) == 0
        if not (np.diff(dates)[same] > np.timedelta64(0, "s")).all():
            self._raise_order(code, order)
        start = np.flatnonzero(np.append(True, ~same))
        begin = np.repeat(dates[start], np.diff(np.append(start, len(dates))))
        since: NDArray[np.timedelta64] = dates - begin
        off = since % step != np.timedelta64(0, "s")
        if off.any():
            i = int(off.argmax())
            raise ValueError(
                f"the date {self(int(order[i]))} lies between the steps: the series begins on "
                f"{begin[i]}, and {in_words(step)} was expected. Give the step= of your "
                f"series, or move its dates to the steps."
            )

    def _raise_order(self, code: Indices, order: Indices) -> NoReturn:
        rising = np.lexsort([self.dates, code])  # stable: rows of one day keep their order
        dates, owner = self.dates[rising], code[rising]
        twice = np.flatnonzero((dates[1:] == dates[:-1]) & (owner[1:] == owner[:-1]))
        if len(twice):
            i, j = (int(rising[twice[0] + k]) for k in (0, 1))
            hint = "" if self.grouped else " If it holds several series, name them with series=."
            raise ValueError(
                f"the date {self(i)} comes again in row {j} ({len(twice)} come again in all); "
                f"expected each date of a series once. Add up or drop the rows of one day.{hint}"
            )
        dates, owner = self.dates[order], code[order]
        back = np.flatnonzero((np.diff(dates) < np.timedelta64(0, "s")) & (np.diff(owner) == 0))
        before, row = int(order[back[0]]), int(order[back[0] + 1])
        raise ValueError(
            f"the date {self(row)} comes after {self.dates[before]!s} (row {before}); expected the "
            f"dates of each series in order. Sort the frame by date first."
        )


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
