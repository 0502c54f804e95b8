"""Checks of dates and of the step between them."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import is_missing

Dates = NDArray[np.datetime64]
Step = np.timedelta64

# Units of constant length; months and years vary, and finer units are not needed.
_UNITS = {"D": (1, "D"), "W": (7, "D"), "h": (1, "h"), "m": (1, "m"), "s": (1, "s")}


def check_step(step: Any, name: str = "step") -> Step:
    """Convert to a timedelta64 of whole days, hours, minutes or seconds, above zero."""
    if isinstance(step, str) and step in _UNITS:
        return np.timedelta64(*_UNITS[step])  # type: ignore[call-overload]
    if isinstance(step, datetime.timedelta):
        step = np.timedelta64(step)
    if isinstance(step, np.timedelta64) and _is_constant(step):
        for unit in ("D", "h", "m", "s"):
            whole = step.astype(f"m8[{unit}]")
            if whole == step and whole.astype(np.int64) > 0:
                return whole
    raise ValueError(
        f'{name} is {step!r}; expected "D", "W", "h", or a numpy.timedelta64 of whole days, hours, '
        f"minutes or seconds above 0, such as numpy.timedelta64(1, 'D')."
    )


def _is_constant(step: Step) -> bool:
    """Return whether a step has the same length in every month."""
    return np.datetime_data(step.dtype)[0] not in ("Y", "M", "generic") and not np.isnat(step)


def unit_of(step: Step) -> str:
    """Return the dtype of dates that are whole steps apart."""
    return f"M8[{np.datetime_data(step.dtype)[0]}]"


def check_date(date: Any, name: str, step: Step) -> np.datetime64:
    """Convert one date: a string, a date or datetime of Python, numpy or pandas."""
    if np.ndim(date) > 0:
        raise ValueError(f"{name} has shape {np.shape(date)}; expected one date.")
    return check_dates([date], name, step)[0]


def check_dates(dates: Any, name: str, step: Step) -> Dates:
    """Convert dates to datetime64 in the unit of the step, without loss."""
    a = np.atleast_1d(np.asarray(dates))
    if a.ndim != 1:
        raise ValueError(f"{name} has shape {a.shape}; expected one date per row.")
    exact = a if a.dtype.kind == "M" else _parsed(a, name)
    unknown = np.isnat(exact)
    if unknown.any():
        raise ValueError(
            f"{name} has no date in row {int(unknown.argmax())} ({unknown.sum()} of {len(a)} have "
            f"none); expected a date in each. Drop those rows first."
        )
    whole = exact.astype(unit_of(step))
    lost = whole != exact
    if lost.any():
        i = int(lost.argmax())
        raise ValueError(
            f"{name} is {exact[i]} in row {i}; expected nothing finer than the unit of "
            f"{in_words(step)}. Round the dates first, or give the step= of your series."
        )
    return whole


def _parsed(a: NDArray[Any], name: str) -> Dates:
    """Convert strings and dates of Python."""
    if a.dtype.kind not in "OUT":
        kind = "numbers" if a.dtype.kind in "iuf" else f"values of dtype {a.dtype}"
        raise TypeError(
            f"{name} holds {kind}, such as {a[0]!s}; expected dates, or strings such as "
            f"'2016-06-01'."
        )
    read: dict[Any, np.datetime64] = {}  # dates repeat from series to series
    out = np.empty(len(a), dtype="M8[us]")
    for i, item in enumerate(a.tolist()):
        if item not in read:
            read[item] = _one(item, name, i)
        out[i] = read[item]
    return out


def _one(item: Any, name: str, row: int) -> np.datetime64:
    if is_missing(item):
        return np.datetime64("NaT", "us")
    date: Any = item
    if isinstance(item, str):
        try:
            date = datetime.datetime.fromisoformat(item.strip())
        except ValueError:
            raise ValueError(
                f"{name} is {item!r} in row {row}, which cannot be read as a date; expected a "
                f"string such as '2016-06-01'. Convert other formats first, for example with "
                f"datetime.strptime or pandas.to_datetime."
            ) from None
    if getattr(date, "tzinfo", None) is not None:
        raise ValueError(
            f"{name} is {item!s} in row {row}, with a time zone; expected the date where it was "
            f"measured, without one. Drop it first, in pandas by .dt.tz_localize(None)."
        )
    if isinstance(date, np.datetime64):
        return date.astype("M8[us]")
    if not isinstance(date, datetime.date):
        raise TypeError(
            f"{name} holds an object of type {type(item).__name__} in row {row}; expected dates, "
            f"or strings such as '2016-06-01'."
        )
    return np.datetime64(date.isoformat(), "us")


def in_words(step: Step) -> str:
    """Return a step in words."""
    words = {"D": "day", "h": "hour", "m": "minute", "s": "second"}
    k, word = int(step.astype(np.int64)), words[np.datetime_data(step.dtype)[0]]
    return f"a step of one {word}" if k == 1 else f"a step of {k} {word}s"
