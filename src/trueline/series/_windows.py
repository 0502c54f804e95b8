"""Windows: rows of inputs from the last days of a series, made from a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray, check_count
from trueline.series._dates import Dates, Step, check_date, check_dates, check_step, in_words
from trueline.series._known import KnownInputs, check_calendar
from trueline.series._table import Indices, SeriesTable, read_table

Missing = Literal["drop", "raise", "forecast"]
_MISSING = ("drop", "raise", "forecast")


@dataclass(frozen=True, eq=False, repr=False)
class Windows:
    """Rows of inputs and outcomes, one per series and target day, as `windows` makes them.

    Attributes
    ----------
    X : ndarray, (n, n_steps * d)
        Inputs: the d inputs of the first step, then of the second, up to the target day.
    y : ndarray, (n,)
        Outcomes of the target days; with ``missing="forecast"``, NaN where not known.
    dates : ndarray, (n,)
        Target days, datetime64.
    series : ndarray, (n,)
        The series of each row; 0 for a single series without a name.
    n_steps : int
        Number of days in a window.
    feature_names : tuple of str
        Names of the columns of X: "value[t-1]" is the value a day before the target.
    step : timedelta64
        Time from one day to the next.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.series import windows
    >>> days = np.arange("2016-01-01", "2016-02-01", dtype="datetime64[D]")
    >>> W = windows({"date": days, "value": np.arange(31.0)}, n_steps=2, calendar=())
    >>> W
    Windows(29 rows: 1 series, 2016-01-03 to 2016-01-31; 2 steps x 1 input)
    >>> W.X[0], W.y[0]
    (array([0., 1.]), np.float64(2.0))
    >>> W.before("2016-01-20"), W.since("2016-01-30").y
    (Windows(17 rows: 1 series, 2016-01-03 to 2016-01-19; 2 steps x 1 input), array([29., 30.]))
    """

    X: FloatArray
    y: FloatArray
    dates: Dates
    series: NDArray[Any]
    n_steps: int
    feature_names: tuple[str, ...]
    step: Step
    _known: KnownInputs

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.y)

    def __getitem__(self, rows: Any) -> Windows:
        """Return some of the rows: an integer, a slice, a mask or an array of indices."""
        try:
            index = np.atleast_1d(np.arange(len(self))[rows])
        except IndexError as error:
            raise IndexError(f"rows of {self!r} cannot be selected: {error}.") from None
        if index.ndim > 1:
            raise IndexError(
                f"the selection from {self!r} has shape {index.shape}; expected one dimension."
            )
        some = rows if isinstance(rows, slice) else index  # a slice copies nothing
        return replace(
            self, X=self.X[some], y=self.y[some], dates=self.dates[some], series=self.series[some]
        )

    def __repr__(self) -> str:
        inputs = "1 input" if self.n_inputs == 1 else f"{self.n_inputs} inputs"
        shape = f"{self.n_steps} step{'s' if self.n_steps > 1 else ''} x {inputs}"
        if not len(self):
            return f"Windows(no rows; {shape})"
        rows = f"{len(self)} row{'s' if len(self) > 1 else ''}"
        of = f"{len(np.unique(self.series))} series, {self.dates.min()} to {self.dates.max()}"
        return f"Windows({rows}: {of}; {shape})"

    @property
    def n_inputs(self) -> int:
        """Number d of inputs per step."""
        return self.X.shape[1] // self.n_steps

    @property
    def value_columns(self) -> Indices:
        """Columns of X that hold values of the series, the oldest first."""
        return np.arange(self.n_steps) * self.n_inputs

    def folded(self) -> FloatArray:
        """Return X with an axis of steps, (n, n_steps, d), as the layers of torch take it.

        The networks of `trueline.models` take X itself and the parameter ``n_steps``.

        Examples
        --------
        >>> import numpy as np
        >>> from trueline.series import windows
        >>> days = np.arange("2016-01-01", "2016-02-01", dtype="datetime64[D]")
        >>> W = windows({"date": days, "value": np.arange(31.0)}, calendar="day_of_week")
        >>> W.folded().shape
        (27, 4, 8)
        """
        return self.X.reshape(len(self), self.n_steps, self.n_inputs)

    def before(self, date: Any) -> Windows:
        """Return the rows whose target day is before a date."""
        return self[self.dates < check_date(date, "date", self.step)]

    def since(self, date: Any) -> Windows:
        """Return the rows whose target day is on or after a date."""
        return self[self.dates >= check_date(date, "date", self.step)]

    def between(self, first: Any, last: Any) -> Windows:
        """Return the rows whose target day is from the first to the last date, both included."""
        low, high = (
            check_date(date, name, self.step) for date, name in ((first, "first"), (last, "last"))
        )
        if high < low:
            raise ValueError(f"first is {low} and last is {high}; expected first before last.")
        return self[(self.dates >= low) & (self.dates <= high)]

    def latest(self, dates: ArrayLike, series: ArrayLike | None = None) -> tuple[Indices, Indices]:
        """Return for each wanted day the last window up to it, and the steps from there.

        A day after a gap has no window of its own, but can be forecast as a later day of the paths
        from the last whole window: see `sample_paths`.

        Parameters
        ----------
        dates : (m,) array-like
            Wanted days.
        series : (m,) array-like or one label, optional
            Series of the dates; not needed for windows of one series.

        Returns
        -------
        rows : ndarray, (m,)
            Indices of the windows with the wanted day, or else the last day before it, as target.
        leads : ndarray, (m,)
            1 if the wanted day is the target day, 2 if it is the day after, and so on.

        Examples
        --------
        The sales of 6 January are not known, so that day and the four after it have no window:

        >>> import numpy as np
        >>> from trueline.series import windows
        >>> days = np.arange("2016-01-01", "2016-02-01", dtype="datetime64[D]")
        >>> value = np.arange(31.0)
        >>> value[5] = np.nan
        >>> W = windows({"date": days, "value": value}, calendar=())
        >>> rows, leads = W.latest(["2016-01-05", "2016-01-07", "2016-01-11"])
        >>> W.dates[rows], leads
        (array(['2016-01-05', '2016-01-05', '2016-01-11'], dtype='datetime64[D]'), array([1, 3, 1]))
        """
        return latest(self.series, self.dates, self.step, dates, series)


def latest(
    labels: NDArray[Any], days: Dates, step: Step, dates: Any, series: Any
) -> tuple[Indices, Indices]:
    """Do what `Windows.latest` does, for rows with these series and target days."""
    wanted = check_dates(dates, "dates", step)
    names, code = np.unique(labels, return_inverse=True)
    place = {name: i for i, name in enumerate(names.tolist())}
    if series is None and len(names) > 1:
        raise ValueError(
            f"series is None, but the windows have {len(names)} series; expected the series "
            f"of the dates."
        )
    label = names[0] if series is None and len(names) else series
    asked = np.broadcast_to(np.asarray(label), wanted.shape).tolist()
    wanted_code = np.array([place.get(name, -1) for name in asked], dtype=np.intp)
    rows = _last_at_or_before(code, days, wanted_code, wanted)
    lost = rows < 0
    if lost.any():
        i = int(lost.argmax())
        of = f" of series {asked[i]!r}" if series is not None else ""
        raise ValueError(
            f"no window{of} has its target day on or before {wanted[i]}; expected at least "
            f"one. Give windows that begin earlier, or later dates."
        )
    ahead = wanted - days[rows]
    off = ahead % step != np.timedelta64(0, "s")
    if off.any():
        i = int(off.argmax())
        raise ValueError(
            f"{wanted[i]} lies between the steps of the series; expected {in_words(step)} "
            f"from {days[rows[i]]}."
        )
    return rows, (ahead // step).astype(np.intp) + 1


def _last_at_or_before(code: Indices, dates: Dates, wanted_code: Indices, wanted: Dates) -> Indices:
    """Return for each wanted date the last row of its code up to it; -1 if there is none."""
    n, m = len(code), len(wanted_code)
    codes = np.concatenate([code, wanted_code])
    # Sort rows and wanted dates together; for equal dates the row comes first.
    is_wanted = np.repeat([0, 1], [n, m])
    order = np.lexsort([is_wanted, np.concatenate([dates, wanted]), codes])
    is_row = order < n
    last = order[np.maximum.accumulate(np.where(is_row, np.arange(n + m), 0))]
    same = (last < n) & (codes[last] == codes[order])
    rows = np.full(m, -1)
    rows[order[~is_row] - n] = np.where(same, last, -1)[~is_row]
    return rows


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
