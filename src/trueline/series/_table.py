"""The rows of a frame, checked and sorted by series and date."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.series._dates import Dates, Step, check_dates, in_words
from trueline.series._frames import column, labels, numbers

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
