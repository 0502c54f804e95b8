"""Checks of weekdays, dates and closed days."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._messages import did_you_mean

IntArray = NDArray[np.int64]
Dates = NDArray[np.datetime64]
Mask = NDArray[np.bool_]

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# Day 0 of numpy, 1970-01-01, was a Thursday.
_EPOCH_WEEKDAY = 3


def weekday(day: object, name: str) -> int:
    """Return the number of a weekday, 0 for Monday, from its name or number."""
    hint = ""
    if isinstance(day, str):
        full = day.strip().capitalize()
        if full in WEEKDAYS:
            return WEEKDAYS.index(full)
        hint = did_you_mean(full, WEEKDAYS)
    elif isinstance(day, int | np.integer) and not isinstance(day, bool) and 0 <= day <= 6:
        return int(day)
    raise ValueError(
        f"{name} holds {day!r}; expected a weekday, Monday to Sunday, or a number from 0 (Monday) "
        f"to 6.{hint}"
    )


def weekdays(days: Iterable[object], name: str) -> tuple[str, ...]:
    """Return the names of weekdays in the order of the week."""
    if isinstance(days, str):
        raise TypeError(f"{name} is the string {days!r}; expected several: ({days!r},).")
    numbers = [weekday(day, name) for day in days]
    if not numbers:
        raise ValueError(f"{name} is empty; expected at least one weekday.")
    if len(set(numbers)) < len(numbers):
        twice = next(d for d in numbers if numbers.count(d) > 1)
        raise ValueError(f"{name} holds {WEEKDAYS[twice]} more than once; name each day once.")
    return tuple(WEEKDAYS[d] for d in sorted(numbers))


def check_dates(dates: object, n: int | None = None) -> Dates:
    """Convert to consecutive days."""
    try:
        days = np.asarray(dates, dtype="datetime64[D]")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"dates cannot be read as dates ({error}); expected days such as '2017-01-31' or an "
            f"array of datetime64."
        ) from None
    if days.ndim != 1 or days.size == 0:
        raise ValueError(f"dates has shape {days.shape}; expected one date per day, shape (n,).")
    if np.isnat(days).any():
        raise ValueError(f"dates[{int(np.isnat(days).argmax())}] is missing; expected a date.")
    if n is not None and days.size != n:
        raise ValueError(f"dates has {days.size} days but demand has {n}; expected the same.")
    steps = np.diff(days).astype(np.int64)
    if (steps != 1).any():
        i = int((steps != 1).argmax())
        before, after = days[i], days[i + 1]
        if steps[i] == 0:
            raise ValueError(
                f"dates has {after} twice; expected each day once. Drop or add up one."
            )
        if steps[i] < 0:
            raise ValueError(
                f"dates are out of order: {after} comes after {before}. Sort the days, with their "
                f"demand."
            )
        raise ValueError(
            f"dates jumps from {before} to {after}; expected every day, because stock ages in "
            f"between. Add days on which the store was closed, with a demand of 0 and closed=True, "
            f"and simulate the periods on both sides of missing data one by one."
        )
    return days


def weekdays_of(dates: Dates) -> IntArray:
    """Return the weekday of each date, 0 for Monday."""
    return (dates.astype(np.int64) + _EPOCH_WEEKDAY) % 7


def check_closed(closed: ArrayLike | None, n: int) -> Mask:
    """Convert to one boolean per day; None means open on all days."""
    if closed is None:
        return np.zeros(n, dtype=np.bool_)
    mask = np.asarray(closed)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        raise ValueError(
            f"closed has shape {mask.shape} and dtype {mask.dtype}; expected {n} booleans, one per "
            f"day."
        )
    return mask.copy()
