"""Positions of rows on the x axis, and the choice of rows to draw."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueline._validation import same_length, vector
from trueline.displays._forecasts import own_name
from trueline.distributions import Distribution


class Positions(NamedTuple):
    """Rows to draw, and their positions."""

    rows: NDArray[np.intp]
    x: NDArray[Any]
    name: str
    last: bool


def kind_of(x: Any, y: Any) -> Literal["band", "bars"]:
    """Return "band" for rows along numbers or dates, and "bars" for others."""
    along = not isinstance(x, str) if x is not None else _has_dates(y)
    return "band" if along else "bars"


def positions(x: Any, y: Any, dist: Distribution, max_rows: int) -> Positions:
    """Choose at most `max_rows` rows, in the order of x.

    These are the last ones of a series, otherwise they are evenly spaced.
    """
    n = len(dist)
    if isinstance(x, str):
        if x != "forecast":
            raise ValueError(f'x is {x!r}; expected numbers, dates or "forecast".')
        rows = _evenly(n, max_rows)
        median = dist._take(rows).median()
        order = np.argsort(median, kind="stable")
        places = np.arange(1.0, rows.size + 1.0)
        return Positions(rows[order], places, "rows, by forecast", last=False)
    if x is None and not _has_dates(y):
        rows = np.arange(max(n - max_rows, 0), n)
        return Positions(rows, rows.astype(np.float64), "row", last=True)
    given, name = (y.index, own_name(y.index) or "date") if x is None else (x, own_name(x))
    values = _numbers_or_dates(given)
    same_length(n, values, "x", "the forecast")
    order = np.argsort(values, kind="stable")
    series = values.dtype.kind == "M"
    rows = order[-max_rows:] if series else order[_evenly(n, max_rows)]
    return Positions(rows, values[rows], name or ("date" if series else "x"), last=series)


def _evenly(n: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` of n rows, evenly spaced."""
    return np.arange(n) if n <= most else ((np.arange(most) + 0.5) * n / most).astype(np.intp)


def _has_dates(y: Any) -> bool:
    """Whether it is a pandas series that is indexed by dates."""
    index = getattr(y, "index", None)
    return hasattr(y, "iloc") and getattr(getattr(index, "dtype", None), "kind", "") == "M"


def _numbers_or_dates(x: Any) -> NDArray[Any]:
    """Convert to float64 or datetime64, (n,)."""
    a = np.asarray(x)
    if a.dtype.kind == "O" and a.size and hasattr(a.flat[0], "year"):
        # The axis shows the local time of dates with a time zone.
        naive = [d.replace(tzinfo=None) if getattr(d, "tzinfo", None) else d for d in a.flat]
        a = np.array(naive, dtype="datetime64[us]").reshape(a.shape)
    if a.dtype.kind != "M":
        if a.dtype.kind in "US" or (a.dtype.kind == "O" and a.size and isinstance(a.flat[0], str)):
            raise TypeError(
                "x holds strings; expected numbers or dates. Convert dates first: "
                'numpy.asarray(x, dtype="datetime64[D]") or pandas.to_datetime(x).'
            )
        return vector(x, "x")
    if a.ndim != 1:
        raise ValueError(f"x has shape {a.shape}; expected one date per row, shape (n,).")
    if np.isnat(a).any():
        i = int(np.flatnonzero(np.isnat(a))[0])
        raise ValueError(f"x[{i}] is not a date (NaT); expected one in every row. Drop that row.")
    return a
