"""Rows of the last days of a series, for networks and any regressor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray
from trueline.series._dates import Dates, Step, check_date, check_dates, in_words
from trueline.series._days import Rows
from trueline.series._known import KnownInputs


@dataclass(frozen=True, eq=False, repr=False)
class Windows:
    """What `windows` makes of a frame: one row a target day.

    Attributes
    ----------
    X : ndarray, (n, n_steps * d)
        Inputs: all d of the first step, then of the second, and so on to the target day.
    y : ndarray, (n,)
        Outcomes of the target days; NaN where not known, under ``missing="forecast"``.
    dates : ndarray, (n,)
        Target days, datetime64.
    series : ndarray, (n,)
        The series of each row; 0 if there is but one without a name.
    n_steps : int
        Days in a window.
    feature_names : tuple of str
        Names of the columns of X: "value[t-1]" is the value a day before the target.
    step : timedelta64
        From one day to the next.

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
        """Number d of inputs a step."""
        return self.X.shape[1] // self.n_steps

    @property
    def value_columns(self) -> Rows:
        """Columns of X that hold values of the series, the oldest first."""
        return np.arange(self.n_steps) * self.n_inputs

    def folded(self) -> FloatArray:
        """Return X with steps apart, as torch's own layers take it.

        The networks of `trueline.models` take X as it is, with ``n_steps`` to tell the steps.

        Returns
        -------
        ndarray, (n, n_steps, d)

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
        """Rows whose target day is before a date.

        Parameters
        ----------
        date : str, date or datetime64

        Returns
        -------
        Windows
        """
        return self[self.dates < check_date(date, "date", self.step)]

    def since(self, date: Any) -> Windows:
        """Rows whose target day is a date or after it.

        Parameters
        ----------
        date : str, date or datetime64

        Returns
        -------
        Windows
        """
        return self[self.dates >= check_date(date, "date", self.step)]

    def between(self, first: Any, last: Any) -> Windows:
        """Rows whose target day is one of those from the first date to the last, both included.

        Parameters
        ----------
        first, last : str, date or datetime64

        Returns
        -------
        Windows
        """
        low, high = (
            check_date(date, name, self.step) for date, name in ((first, "first"), (last, "last"))
        )
        if high < low:
            raise ValueError(f"first is {low} and last is {high}; expected first before last.")
        return self[(self.dates >= low) & (self.dates <= high)]

    def latest(self, dates: ArrayLike, series: ArrayLike | None = None) -> tuple[Rows, Rows]:
        """For each wanted day, the row of the last window up to it, and how far ahead the day is.

        A day after a gap has no window of its own, but may be forecast as a later day of
        the paths that start from the last whole window: see `sample_paths`.

        Parameters
        ----------
        dates : (m,) array-like
            Wanted days.
        series : (m,) array-like or one label, optional
            Their series; may be left out where the windows are of one.

        Returns
        -------
        rows : ndarray, (m,)
            Rows of these windows, whose target day is the wanted one or, failing that, the last
            before it.
        leads : ndarray, (m,)
            1 where the wanted day is the target day, 2 for the day after it, and so on.

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
) -> tuple[Rows, Rows]:
    """For rows with these series and target days, do what `Windows.latest` does."""
    wanted = check_dates(dates, "dates", step)
    names, code = np.unique(labels, return_inverse=True)
    place = {name: i for i, name in enumerate(names.tolist())}
    if series is None and len(names) > 1:
        raise ValueError(
            f"series is None, but the windows are of {len(names)} series; expected the series "
            f"of the dates."
        )
    whose = names[0] if series is None and len(names) else series
    asked = np.broadcast_to(np.asarray(whose), wanted.shape)
    which = np.array([place.get(label, -1) for label in asked.tolist()], dtype=np.intp)
    rows = _last_at_or_before(code, days, which, wanted)
    lost = rows < 0
    if lost.any():
        i = int(lost.argmax())
        of = f" of series {asked.tolist()[i]!r}" if series is not None else ""
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


def _last_at_or_before(code: Rows, dates: Dates, which: Rows, wanted: Dates) -> Rows:
    """For each wanted date, the row of the same code with the last date up to it; -1 if none."""
    n, m = len(code), len(which)
    codes = np.concatenate([code, which])
    # Both in one order, rows first where dates are equal: a wanted one follows its row.
    wants = np.repeat([0, 1], [n, m])
    order = np.lexsort([wants, np.concatenate([dates, wanted]), codes])
    is_row = order < n
    last = order[np.maximum.accumulate(np.where(is_row, np.arange(n + m), 0))]
    same = (last < n) & (codes[last] == codes[order])
    rows = np.full(m, -1)
    rows[order[~is_row] - n] = np.where(same, last, -1)[~is_row]
    return rows
