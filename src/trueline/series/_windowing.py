"""Construction of windows from a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trueline._validation import check_count
from trueline.series._calendar import check_calendar
from trueline.series._dates import check_step
from trueline.series._known import KnownInputs
from trueline.series._table import Indices, SeriesTable, read_table
from trueline.series._windows import Windows

Missing = Literal["drop", "raise", "forecast"]
_MISSING = ("drop", "raise", "forecast")


def windows(
    frame: Any,
    *,
    date: str = "date",
    value: str = "value",
    series: str | None = None,
    covariates: Sequence[str] | str = (),
    n_steps: int = 4,
    calendar: Sequence[str] | str = ("day_of_week", "week_of_year"),
    missing: Missing = "drop",
    nonnegative: bool = False,
    step: Any = "D",
) -> Windows:
    """Convert series to rows of inputs from the last days, with the value to forecast.

    The window of target day t is the `n_steps` days up to and including t. The inputs of day k of
    the window are the value of the day before, k - 1, and what is known of day k in advance: its
    calendar inputs and its covariates. No input of a row is measured on its target day or later,
    except for covariates, which count as planned.

    A window never crosses a gap or two series: if a day that it needs is missing or NaN, the
    window is left out. A missing day is not a zero: if nothing was sold, give it a row with 0.

    Parameters
    ----------
    frame : frame of pandas or polars, table of pyarrow, or dict of arrays
        One row per day and series; the dates of each series are in order.
    date : str, default "date"
        Column of dates, or of strings such as "2016-06-01".
    value : str, default "value"
        Column of the values to forecast; NaN where not known.
    series : str, optional
        Column with the series of each row.
    covariates : sequence of str, optional
        Columns of numbers that are known in advance, such as promotions.
    n_steps : int, default 4
        Number of days in a window.
    calendar : sequence of str, default ("day_of_week", "week_of_year")
        Some of "day_of_week" (7 binary indicators), "week_of_year" (53, the weeks of ISO 8601),
        "month" (12), "hour_of_day" (24) and "year_cycle" (sine and cosine of the time of year).
    missing : {"drop", "raise", "forecast"}, default "drop"
        "drop" leaves out windows with a gap; "raise" raises an error at the first gap; "forecast"
        leaves out the same windows but keeps those that lack only the outcome, with NaN as y.
        These are the days to forecast: the first day of each gap, and tomorrow if its covariates
        are in the frame or there are none.
    nonnegative : bool, default False
        Whether a value below zero is an error, as it is for sales.
    step : str or timedelta64, default "D"
        Time from one "day" to the next: "D", "W", "h" or a timedelta64.

    Returns
    -------
    Windows
        Rows sorted by series and date.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.series import windows
    >>> days = np.arange("2016-01-01", "2016-03-01", dtype="datetime64[D]")
    >>> sales = np.random.default_rng(0).poisson(50, size=60).astype(float)
    >>> sales[24] = np.nan  # closed on the 25th
    >>> promotion = np.arange(60) % 10 == 0
    >>> frame = {"date": days, "value": sales, "promotion": promotion}
    >>> W = windows(frame, covariates=["promotion"], calendar="day_of_week")
    >>> W
    Windows(51 rows: 1 series, 2016-01-05 to 2016-02-29; 4 steps x 9 inputs)
    >>> W.feature_names[-9], W.feature_names[-8], W.feature_names[-1]
    ('value[t-1]', 'Monday[t]', 'promotion[t]')

    X and y are for any regressor:

    >>> from sklearn.linear_model import BayesianRidge
    >>> train, test = W.before("2016-02-20"), W.since("2016-02-20")
    >>> BayesianRidge().fit(train.X, train.y).predict(test.X).shape
    (10,)
    """
    step = check_step(step)
    planned = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    _check_arguments(n_steps, missing, value, planned)
    table = read_table(
        frame,
        date=date,
        value=value,
        series=series,
        covariates=planned,
        step=step,
        nonnegative=nonnegative,
    )
    known = KnownInputs.of(table, check_calendar(calendar), planned)
    if missing == "forecast" and not planned:
        table = table.with_next_days()
    if missing == "raise":
        _raise_at_gap(table, value, grouped=series is not None)
    target = _targets(table, n_steps, unknown=missing == "forecast")
    _check_each_has_some(table, target, n_steps, grouped=series is not None)
    label = table.names[table.code]
    lag = np.append(np.nan, table.value[:-1])[:, None]
    inputs = np.hstack([lag, known.at(label, table.dates)])
    rows = target[:, None] + np.arange(1 - n_steps, 1)
    return Windows(
        X=inputs[rows].reshape(len(target), -1),
        y=table.value[target],
        dates=table.dates[target],
        series=label[target],
        n_steps=n_steps,
        feature_names=tuple(_feature_names(value, known.names_of_inputs, n_steps)),
        step=step,
        _known=known,
    )


def _targets(table: SeriesTable, n_steps: int, *, unknown: bool) -> Indices:
    """Return the rows with whole windows; if `unknown`, their own value may be missing."""
    value = np.isfinite(table.value)
    planned: NDArray[np.bool_] = np.asarray(np.isfinite(table.covariates).all(axis=1))
    # Each condition is about a run of good rows that ends at the target. The first row of a series
    # is not joined to the row before it, so no run extends over two series.
    joined = table.joined()
    target = _run_lengths(joined) >= n_steps
    target[1:] &= _run_lengths(value)[:-1] >= n_steps  # values of the n_steps days before
    target[:1] = False
    target &= _run_lengths(planned) >= n_steps
    if not unknown:
        target &= value
    return np.flatnonzero(target)


def _run_lengths(good: NDArray[np.bool_]) -> Indices:
    """Return for each row the number of consecutive good rows up to it."""
    place = np.arange(1, len(good) + 1)
    return place - np.maximum.accumulate(np.where(good, 0, place))


def _feature_names(value: str, known: Sequence[str], n_steps: int) -> list[str]:
    """Return names such as "value[t-1]", with days counted from the target day t."""
    out = []
    for ago in range(n_steps - 1, -1, -1):
        day = f"t-{ago}" if ago else "t"
        out.append(f"{value}[t-{ago + 1}]")
        out += [f"{name}[{day}]" for name in known]
    return out


def _check_arguments(n_steps: int, missing: str, value: str, planned: tuple[str, ...]) -> None:
    check_count(n_steps, "n_steps", "a number of days of 1 or more")
    if missing not in _MISSING:
        raise ValueError(f"missing is {missing!r}; expected one of {', '.join(_MISSING)}.")
    if value in planned:
        raise ValueError(
            f"covariates holds {value!r}, the column of the values; expected columns that are "
            f"known in advance. Earlier values are inputs already."
        )
    if len(set(planned)) < len(planned):
        raise ValueError(f"covariates is {planned}; expected each column once.")


def _raise_at_gap(table: SeriesTable, value: str, *, grouped: bool) -> None:
    """Raise if a day is missing between the first and the last of its series."""
    gap = ~table.joined()
    gap[1:] &= np.diff(table.code) == 0
    gap[:1] = False
    unknown = np.isnan(table.value) | np.isnan(table.covariates).any(axis=1)
    if not (gap | unknown).any():
        return
    i = int((gap | unknown).argmax())
    of = f"series {table.names[table.code[i]]}" if grouped else "the series"
    if gap[i]:
        what = f"{of} has no row between {table.dates[i - 1]} and {table.dates[i]}"
    else:
        what = f"{of} has NaN as {value!r} or a covariate on {table.dates[i]}"
    raise ValueError(
        f'{what}; expected every day of it. Fill in what is missing, or pass missing="drop" to '
        f"leave out the windows that need it."
    )


def _check_each_has_some(
    table: SeriesTable, target: Indices, n_steps: int, *, grouped: bool
) -> None:
    """Raise if a series has no whole window."""
    empty = np.flatnonzero(np.bincount(table.code[target], minlength=len(table.names)) == 0)
    if not len(empty):
        return
    mine = table.code == empty[0]
    good = np.isfinite(table.value) & np.isfinite(table.covariates).all(axis=1)
    joined = table.joined()
    # A run also ends where a day does not follow the one before it.
    start = np.maximum.accumulate(np.where(joined, 0, np.arange(len(good))))
    longest = int(np.minimum(_run_lengths(good), np.arange(len(good)) - start + 1)[mine].max())
    of = f"series {table.names[empty[0]]}" if grouped else "the series"
    many = f" ({len(empty)} series have)" if len(empty) > 1 else ""
    raise ValueError(
        f"{of} is shorter than a window{many}: its longest run of days without a gap is {longest}, "
        f"and n_steps={n_steps} needs {n_steps + 1}, including the day before the window. Lower "
        f"n_steps, or leave the series out."
    )
