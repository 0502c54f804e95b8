"""Weekly means of daily series: the terms of the sales data forbid us to publish a day's sales.

All weeks begin with the test period and are the same ones in both experiments, so that no two
published sums differ by a single day. Two things would give a day away and are left out:

- 1 June, the first day. No policy has stock on it, so the inventory experiment counts no sales on
  that day, and a sum that includes it would give its sales by subtraction.
- Weeks in which fewer than five days are forecast.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

WEEK = 7
_FEWEST = 5


class Weeks(NamedTuple):
    """The weeks that some days belong to.

    Attributes
    ----------
    starts : (m,) ndarray
        The first day of each week.
    days : (m,) ndarray
        The number of days of each week that are in the series.
    place : (n,) ndarray
        The week of each day, -1 for a day that is left out.
    """

    starts: NDArray[np.datetime64]
    days: NDArray[np.intp]
    place: NDArray[np.intp]

    @classmethod
    def of(cls, dates: NDArray[np.datetime64], first: np.datetime64) -> Weeks:
        """Group days by the week after `first`, without `first` itself."""
        number = (dates - first).astype(int) // WEEK
        counts = np.bincount(number[dates > first])
        kept = np.flatnonzero(counts >= _FEWEST)
        places = np.full(len(counts), -1)
        places[kept] = np.arange(len(kept))
        place = np.where(dates > first, places[number], -1)
        return cls(first + WEEK * kept, counts[kept], place)

    def means(self, values: NDArray[Any], decimals: int) -> list[float]:
        """Return the mean of each week."""
        used = self.place >= 0
        sums = np.bincount(self.place[used], values[used], len(self.days))
        return [float(mean) for mean in (sums / self.days).round(decimals)]


def weekly_totals(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the totals of 7 days in a row; the last week may be shorter."""
    totals: NDArray[np.float64] = np.add.reduceat(values, np.arange(0, len(values), WEEK))
    return totals
