"""Recalibration as outcomes come in."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import NotFittedError, same_length, vector
from trueline.distributions import Distribution, Stacked
from trueline.metrics import check_forecast
from trueline.series._dates import Step, check_dates, check_step
from trueline.series._days import Rows
from trueline.streams import Online


def recalibrate_daily(
    recalibrator: Online,
    y: ArrayLike,
    dist: Distribution,
    dates: Any,
    *,
    lead: int = 1,
    step: Any = "D",
) -> Distribution:
    """Recalibrate each day's forecasts by what was known before that day.

    Day by day, all rows of a date at once: the forecasts are transformed by the map so far, and
    then the map learns their outcomes. No forecast depends on outcomes of its own day or later.

    Parameters
    ----------
    recalibrator : Online
        Fitted on rows before the first date. It is left as it is: a copy learns. To go on after
        the last date, give it the same rows with ``update``.
    y : (n,) array-like
        Outcomes; NaN where not known, from which nothing is learned.
    dist : Distribution of n rows
        Forecasts as the model made them.
    dates : (n,) array-like
        Their days, in any order; rows of one day are learned in the order they have here. What a
        half-life or a window of `Online` counts is rows: with two series a day is two.
    lead : int, default 1
        How many steps ahead the forecasts are: those of a day h steps ahead may only use outcomes
        of h steps before it, and earlier.
    step : str or timedelta64, default "D"
        From one day to the next, as in `windows`.

    Returns
    -------
    Distribution
        The n recalibrated forecasts, in the order of `dist`.

    Examples
    --------
    Forecasts that are half as wide as they should be, and drift to a quarter:

    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.series import recalibrate_daily
    >>> rng = np.random.default_rng(0)
    >>> days = np.arange("2015-01-01", "2017-01-01", dtype="datetime64[D]")
    >>> y = rng.normal(size=731) * np.repeat([2.0, 4.0], [365, 366])
    >>> F = tl.Normal(np.zeros(731), 1.0)
    >>> past, now = days < np.datetime64("2015-07-01"), days >= np.datetime64("2015-07-01")
    >>> R = tl.Online(coverage=0.9, rate=0.05).fit(y[past], F[past])
    >>> G = recalibrate_daily(R, y[now], F[now], days[now])
    >>> print(f"{tl.coverage(y[now], R.transform(F[now]), 0.9):.2f}")  # the map of June
    0.67
    >>> print(f"{tl.coverage(y[now], G, 0.9):.2f}")
    0.90
    """
    if not isinstance(recalibrator, Online):
        raise TypeError(
            f"recalibrator is a {type(recalibrator).__name__}; expected Online, which learns from "
            f"one more day at a time. For the map of another, give it: Online(Isotonic())."
        )
    if not isinstance(lead, int | np.integer) or isinstance(lead, bool) or lead < 1:
        raise ValueError(f"lead is {lead!r}; expected a number of steps of 1 or more.")
    outcome = vector(y, "y", finite=False)
    check_forecast(dist)
    same_length(len(dist), outcome, "y", "dist")
    between = check_step(step)
    when = check_dates(dates, "dates", between)
    if len(when) != len(dist):
        raise ValueError(f"dates has {len(when)} rows but dist has {len(dist)}; expected the same.")
    learner = deepcopy(recalibrator)
    try:
        _ = learner.rows_seen_
    except NotFittedError:
        raise NotFittedError(
            "recalibrator has seen no rows, and so has no map for the first day: fit it on "
            "forecasts of earlier days first, recalibrator.fit(y, dist)."
        ) from None
    return _stream(learner, outcome, dist, when, (lead - 1) * between)


def _stream(learner: Online, y: Any, dist: Distribution, when: Any, delay: Step) -> Distribution:
    """Transform and learn, day by day; outcomes are known when `delay` has passed and a day."""
    order = np.argsort(when, kind="stable")
    days, start = np.unique(when[order], return_index=True)
    rows: list[Rows] = np.split(order, start[1:])
    parts = []
    learned = 0
    for k, day in enumerate(days):
        while days[learned] + delay < day:
            known = rows[learned][~np.isnan(y[rows[learned]])]
            if len(known):
                learner.update(y[known], dist[known])
            learned += 1
        parts.append(learner.transform(dist[rows[k]]))
    return Stacked(parts, rows)
