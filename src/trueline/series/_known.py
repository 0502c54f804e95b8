"""Inputs of days that are known in advance: the calendar, and covariates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueline._messages import did_you_mean
from trueline._validation import FloatArray
from trueline.series._dates import Dates
from trueline.series._table import Indices, SeriesTable

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_THURSDAY = 3


def weekday(dates: Dates) -> NDArray[np.int64]:
    """Return the day of the week, 0 for Monday."""
    days = dates.astype("M8[D]").astype(np.int64)
    return (days + _THURSDAY) % 7  # 1970-01-01 was a Thursday


def week(dates: Dates) -> NDArray[np.int64]:
    """Return the week of the year by ISO 8601, 1 to 53; its Thursday decides the year."""
    thursday = dates.astype("M8[D]") + (_THURSDAY - weekday(dates))
    new_year = thursday.astype("M8[Y]").astype("M8[D]")
    return (thursday - new_year).astype(np.int64) // 7 + 1


def _month(dates: Dates) -> NDArray[np.int64]:
    return dates.astype("M8[M]").astype(np.int64) % 12


def _hour(dates: Dates) -> NDArray[np.int64]:
    return dates.astype("M8[h]").astype(np.int64) % 24


def _year_cycle(dates: Dates) -> FloatArray:
    """Return the time of the year as a point on a circle, so that December meets January."""
    year = dates.astype("M8[Y]")
    begin, end = year.astype("M8[s]"), (year + np.timedelta64(1, "Y")).astype("M8[s]")
    angle = 2.0 * np.pi * ((dates.astype("M8[s]") - begin) / (end - begin))
    return np.column_stack([np.sin(angle), np.cos(angle)])


def _indicators(code: Callable[[Dates], NDArray[np.int64]], n: int) -> Callable[..., FloatArray]:
    return lambda dates: np.eye(n)[code(dates)]


class _Inputs(NamedTuple):
    columns: tuple[str, ...]
    of: Callable[[Dates], FloatArray]


CALENDAR: dict[str, _Inputs] = {
    "day_of_week": _Inputs(_DAYS, _indicators(weekday, 7)),
    "week_of_year": _Inputs(
        tuple(f"week {i}" for i in range(1, 54)), _indicators(lambda dates: week(dates) - 1, 53)
    ),
    "month": _Inputs(tuple(f"month {i}" for i in range(1, 13)), _indicators(_month, 12)),
    "hour_of_day": _Inputs(tuple(f"hour {i}" for i in range(24)), _indicators(_hour, 24)),
    "year_cycle": _Inputs(("year sine", "year cosine"), _year_cycle),
}


def check_calendar(calendar: Sequence[str] | str) -> tuple[str, ...]:
    """Check the names of calendar inputs."""
    names = (calendar,) if isinstance(calendar, str) else tuple(calendar)
    for name in names:
        if name not in CALENDAR:
            hint = did_you_mean(name, CALENDAR) if isinstance(name, str) else ""
            raise ValueError(
                f"calendar holds {name!r}; expected some of {', '.join(CALENDAR)}.{hint}"
            )
    if len(set(names)) < len(names):
        raise ValueError(f"calendar is {names}; expected each name once.")
    return names


def calendar_columns(names: Sequence[str]) -> list[str]:
    """Return the names of the columns of `calendar_inputs`."""
    return [column for name in names for column in CALENDAR[name].columns]


def calendar_inputs(names: Sequence[str], dates: Dates) -> FloatArray:
    """Return the inputs of these dates, (n, k)."""
    return np.hstack([np.empty((len(dates), 0)), *(CALENDAR[name].of(dates) for name in names)])


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
