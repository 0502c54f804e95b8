"""What is known of days before they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.series._calendar import calendar_columns, calendar_inputs
from trueline.series._dates import Dates
from trueline.series._days import Days, Rows


@dataclass(frozen=True, eq=False)
class KnownInputs:
    """Inputs of days that are known in advance: the calendar, and what a frame has of covariates.

    Attributes
    ----------
    calendar : tuple of str
        What to tell of a day's place in the calendar.
    columns : tuple of str
        Covariates.
    names : (m,) array
        Names of the series, sorted.
    keys : (r,) array
        Series and date in one number, rising.
    values : (r, c) array
    first, last : datetime64
        Between which all dates lie.
    """

    calendar: tuple[str, ...]
    columns: tuple[str, ...]
    names: NDArray[Any]
    keys: NDArray[np.int64]
    values: FloatArray
    first: np.datetime64
    last: np.datetime64

    @classmethod
    def of(cls, days: Days, calendar: tuple[str, ...], columns: tuple[str, ...]) -> KnownInputs:
        """Keep what paths into the future need: no values of the series itself."""
        first, last = days.dates.min(), days.dates.max()
        keys = _keys(days.code, days.dates, first, last)
        return cls(calendar, columns, days.names, keys, days.covariates, first, last)

    @property
    def names_of_inputs(self) -> list[str]:
        """Names of the columns that `at` gives."""
        return [*calendar_columns(self.calendar), *self.columns]

    def at(self, series: NDArray[Any], dates: Dates) -> FloatArray:
        """Return the inputs of these days, with NaN for a covariate that is not known; (n, k)."""
        return np.hstack([calendar_inputs(self.calendar, dates), self._covariates(series, dates)])

    def _covariates(self, series: NDArray[Any], dates: Dates) -> FloatArray:
        out = np.full((len(dates), len(self.columns)), np.nan)
        if not self.columns:
            return out
        inside = np.flatnonzero((dates >= self.first) & (dates <= self.last))
        code = np.searchsorted(self.names, series[inside])
        wanted = _keys(code, dates[inside], self.first, self.last)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        found = self.keys[place] == wanted
        out[inside[found]] = self.values[place[found]]
        return out


def _keys(code: Rows, dates: Dates, first: np.datetime64, last: np.datetime64) -> NDArray[np.int64]:
    """Series and date in one number: the date counts from the first, in its own unit."""
    span = (last - first).astype(np.int64) + 1
    return code.astype(np.int64) * span + (dates - first).astype(np.int64)
