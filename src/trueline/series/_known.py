"""Inputs of days that are known in advance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.series._calendar import calendar_columns, calendar_inputs
from trueline.series._dates import Dates
from trueline.series._table import Indices, SeriesTable


@dataclass(frozen=True, eq=False)
class KnownInputs:
    """Inputs that are known in advance: the calendar, and the covariates of the frame."""

    calendar: tuple[str, ...]
    columns: tuple[str, ...]  # of the covariates
    names: NDArray[Any]  # (m,), of the series, sorted
    keys: NDArray[np.int64]  # (r,), series and date in one number, rising
    values: FloatArray  # (r, c), of the covariates
    first: np.datetime64  # of all dates
    last: np.datetime64

    @classmethod
    def of(
        cls, table: SeriesTable, calendar: tuple[str, ...], columns: tuple[str, ...]
    ) -> KnownInputs:
        """Keep the inputs that paths into the future need, without values of the series."""
        first, last = table.dates.min(), table.dates.max()
        keys = _keys(table.code, table.dates, first, last)
        return cls(calendar, columns, table.names, keys, table.covariates, first, last)

    @property
    def names_of_inputs(self) -> list[str]:
        """Names of the columns of `at`."""
        return [*calendar_columns(self.calendar), *self.columns]

    def at(self, series: NDArray[Any], dates: Dates) -> FloatArray:
        """Return the inputs of these days, (n, k), with NaN for unknown covariates."""
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


def _keys(
    code: Indices, dates: Dates, first: np.datetime64, last: np.datetime64
) -> NDArray[np.int64]:
    """Combine series and date in one number; dates count from the first."""
    span = (last - first).astype(np.int64) + 1
    return code.astype(np.int64) * span + (dates - first).astype(np.int64)
