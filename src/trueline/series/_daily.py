"""Recalibration day by day, as outcomes become known."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import NotFittedError, check_count, same_length, vector
from trueline.distributions import Distribution, Stacked
from trueline.metrics import check_forecast
from trueline.series._dates import Step, check_dates, check_step
from trueline.series._table import Indices
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
    """Recalibrate the forecasts of each day with the outcomes known before that day.

    The dates are processed in order, all rows of a date at once: the present map transforms the
    forecasts, then it learns their outcomes. No forecast depends on outcomes of its own day or
    later.

    Parameters
    ----------
    recalibrator : Online
        Recalibrator fitted on rows before the first date. It is not changed: a copy learns. To
        continue after the last date, pass it the same rows with ``update``.
    y : (n,) array-like
        Outcomes; NaN where not known. Unknown outcomes are not learned.
    dist : Distribution of n rows
        Forecasts as the model made them.
    dates : (n,) array-like
        Days of the forecasts, in any order; rows of one day are learned in the order given. The
        half-life and window of `Online` count rows: with two series, a day is two rows.
    lead : int, default 1
        Number of steps ahead of the forecasts. A forecast h steps ahead uses only outcomes of h
        or more steps before its day.
    step : str or timedelta64, default "D"
        Time from one day to the next, as in `windows`.

    Returns
    -------
    Distribution
        The n recalibrated forecasts, in the order of `dist`.

    Examples
    --------
    Forecasts are half as wide as they should be, and later a quarter:

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
            f"recalibrator is a {type(recalibrator).__name__}; expected Online, which learns "
            f"from one day at a time. Wrap another recalibrator: Online(Isotonic())."
        )
    check_count(lead, "lead", "a number of steps of 1 or more")
    outcome = vector(y, "y", finite=False)
    check_forecast(dist)
    same_length(len(dist), outcome, "y", "dist")
    day = check_step(step)
    when = check_dates(dates, "dates", day)
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
    return _stream(learner, outcome, dist, when, (lead - 1) * day)


def _stream(learner: Online, y: Any, dist: Distribution, when: Any, delay: Step) -> Distribution:
    """Transform and learn day by day; an outcome is known one day plus `delay` later."""
    order = np.argsort(when, kind="stable")
    days, start = np.unique(when[order], return_index=True)
    rows: list[Indices] = np.split(order, start[1:])
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
