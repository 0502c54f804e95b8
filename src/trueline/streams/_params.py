"""Checks of the parameters of `Online`."""

from __future__ import annotations

import math

import numpy as np

#: Largest number of rows in a window or a half-life.
MOST_ROWS = 10**9


def check_memory(window: object, half_life: object) -> None:
    """Raise unless at most one of the two is given, and it is a number of rows."""
    if window is not None and half_life is not None:
        raise ValueError(
            f"window is {window!r} and half_life is {half_life!r}; expected one of the two. Drop "
            f"the one that you can do without."
        )
    whole = isinstance(window, int | np.integer) and not isinstance(window, bool)
    if window is not None and not (whole and 1 <= window <= MOST_ROWS):  # type: ignore[operator]
        raise ValueError(
            f"window is {window!r}; expected a number of rows of 1 or more, or None to adapt."
        )
    if half_life is not None and half_life != "inf":
        good = _is_number(half_life) and (half_life == math.inf or 1 <= half_life <= MOST_ROWS)  # type: ignore[operator]
        if not good:
            raise ValueError(
                f"half_life is {half_life!r}; expected a number of rows of 1 or more, math.inf to "
                f"remember everything, or None to adapt."
            )


def check_levels(coverage: object, rate: object, alarm_rate: object) -> None:
    """Raise unless these are probabilities."""
    if coverage is not None and not _is_share(coverage):
        raise ValueError(
            f"coverage is {coverage!r}; expected a number in (0, 1), or None for no guarantee."
        )
    for name, value in (("rate", rate), ("alarm_rate", alarm_rate)):
        if not _is_share(value):
            raise ValueError(f"{name} is {value!r}; expected a number in (0, 1).")


def check_on_alarm(on_alarm: object) -> None:
    """Raise unless it says what happens on an alarm."""
    if on_alarm is not None and on_alarm not in ("warn", "forget") and not callable(on_alarm):
        raise ValueError(
            f'on_alarm is {on_alarm!r}; expected None, "warn", "forget", or a function of a Drift.'
        )


def _is_number(x: object) -> bool:
    return isinstance(x, int | float | np.integer | np.floating) and not isinstance(x, bool)


def _is_share(x: object) -> bool:
    return _is_number(x) and 0 < x < 1  # type: ignore[operator]  # it is a number
