"""Windows: rows of inputs from the last days of a series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray
from trueline.series._dates import Dates, Step, check_date, check_dates, in_words
from trueline.series._known import KnownInputs
from trueline.series._table import Indices


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
        """Return X with an axis of steps, as the layers of torch take it.

        The networks of `trueline.models` take X itself and the parameter ``n_steps``.

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
