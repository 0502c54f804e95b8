"""Forecasts of several days ahead by sampled paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import FloatArray, RandomState, check_count, generator
from trueline.distributions import Normal, Samples
from trueline.interop import ForecastReader
from trueline.series._dates import Dates
from trueline.series._windows import Windows, latest

Draw = Callable[[FloatArray], FloatArray]

# Largest number of values in the windows of all paths of a block of rows: 64 MB.
_MOST_NUMBERS = 1 << 23
# Least scale, as a share of the value: all paths may be equal.
_LEAST = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Paths:
    """Sampled paths of several series, as `sample_paths` returns them.

    Attributes
    ----------
    values : ndarray, (n, n_paths, horizon)
        Sampled values.
    dates : ndarray, (n, horizon)
        Days of the values; the first is the target day of the window.
    series : ndarray, (n,)
        The series of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.series import Paths
    >>> days = np.arange("2016-01-01", "2016-01-04", dtype="datetime64[D]")
    >>> P = Paths(np.array([[[1.0, 2.0, 3.0], [3.0, 4.0, 9.0]]]), days[None, :], np.array(["a"]))
    >>> P
    Paths(1 row, 2 paths, 3 steps ahead)
    >>> P.at(3).mean(), P.normal(3).std()
    (array([6.]), array([3.]))
    """

    values: FloatArray
    dates: Dates
    series: NDArray[Any]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    def __getitem__(self, rows: Any) -> Paths:
        """Return some of the rows: an integer, a slice, a mask or an array of indices."""
        index = np.atleast_1d(np.arange(len(self))[rows])
        return Paths(self.values[index], self.dates[index], self.series[index])

    def __repr__(self) -> str:
        n, n_paths, horizon = self.values.shape
        rows, steps = (
            f"{k} {word}{'s' if k > 1 else ''}" for k, word in ((n, "row"), (horizon, "step"))
        )
        return f"Paths({rows}, {n_paths} path{'s' if n_paths > 1 else ''}, {steps} ahead)"

    @property
    def horizon(self) -> int:
        """Number of days ahead."""
        return self.values.shape[2]

    def on(self, dates: ArrayLike, horizon: int, series: ArrayLike | None = None) -> list[Samples]:
        """Return the forecast made on each date, for that day and the days after it.

        The paths are those of the window of the date or, after a gap, the later days of the paths
        from the last whole window before it. `trueline.inventory.Planner` takes such forecasts.

        Parameters
        ----------
        dates : (m,) array-like
            Days on which the forecasts are made.
        horizon : int
            Days of each forecast, including the date itself.
        series : (m,) array-like or one label, optional
            Series of the dates; not needed for paths of one series.

        Returns
        -------
        list of Samples
            One per date, each with one row per day.

        Examples
        --------
        >>> import numpy as np
        >>> from trueline.series import Paths
        >>> days = np.arange("2016-01-01", "2016-01-04", dtype="datetime64[D]")
        >>> P = Paths(
        ...     np.array([[[1.0, 2.0, 3.0], [3.0, 4.0, 9.0]]]), days[None, :], np.array(["a"])
        ... )
        >>> [F.mean() for F in P.on(["2016-01-01", "2016-01-02"], 2)]
        [array([2., 3.]), array([3., 6.])]
        """
        step = self.dates[0, 1] - self.dates[0, 0] if self.horizon > 1 else np.timedelta64(1, "D")
        rows, leads = latest(self.series, self.dates[:, 0], step, dates, series)
        far = leads + horizon - 1 > self.horizon
        if far.any():
            i = int(far.argmax())
            raise ValueError(
                f"{horizon} steps from {np.asarray(dates)[i]} end {leads[i] + horizon - 1} steps "
                f"after the origin {self.dates[rows[i], 0]}, past the horizon of these paths, "
                f"{self.horizon}. Sample paths with a longer horizon, or ask for fewer steps."
            )
        values = self.values.transpose(0, 2, 1)
        found = zip(rows, leads - 1, strict=True)
        return [Samples(values[row, start : start + horizon]) for row, start in found]

    def at(self, lead: ArrayLike) -> Samples:
        """Return the forecasts for the day `lead` steps ahead.

        Parameters
        ----------
        lead : int or (n,) array-like
            1 for the target day of the window, up to the horizon; one number for all rows or one
            per row, as `Windows.latest` returns them.
        """
        return Samples(self._values_at(lead))

    def normal(self, lead: ArrayLike) -> Normal:
        """Return normal forecasts, as `at`, with the mean and standard deviation of the paths."""
        draws = self._values_at(lead)
        mean = draws.mean(axis=1)
        return Normal(mean, np.maximum(draws.std(axis=1), _LEAST * (1.0 + np.abs(mean))))

    def _values_at(self, lead: ArrayLike) -> FloatArray:
        h = np.asarray(lead)
        if h.dtype.kind not in "iu" or h.shape not in ((), (len(self),)):
            raise ValueError(
                f"lead is {lead!r}; expected an integer, or one for each of the {len(self)} rows."
            )
        if h.min() < 1 or h.max() > self.horizon:
            wrong = h.min() if h.min() < 1 else h.max()
            raise ValueError(
                f"lead is {wrong}, not within the forecast; expected 1, the target day, to "
                f"{self.horizon}, the horizon of these paths. Sample paths with a longer horizon."
            )
        if h.ndim == 0:
            return self.values[:, :, int(h) - 1]
        return np.take_along_axis(self.values, (h - 1)[:, None, None], axis=2)[:, :, 0]


def sample_paths(
    model: Any,
    W: Windows,
    horizon: int,
    *,
    n_paths: int = 100,
    random_state: RandomState = 0,
    minimum: float | None = None,
    unknown_covariates: float | None = None,
) -> Paths:
    """Forecast several days ahead from each window, by paths that use their own draws as inputs.

    On the first day, the target day of the window, each path draws a value from the forecast. The
    window then moves by a day: the drawn value becomes the latest value, and the calendar and
    covariates are those of the next day. A path is therefore a possible course of the series, with
    the dependence between its days.

    Models with a method ``_path_sampler``, such as the networks of `trueline.models`, use one
    thinned network along each path, because the uncertainty about the weights does not change
    from day to day. The ``predict_dist`` of any other model, including a
    `trueline.CalibratedRegressor` around a network, is sampled independently each day; for
    networks with dropout this takes ``n_samples`` times as long.

    Parameters
    ----------
    model : fitted regressor
        A model with uncertainty; point forecasts are refused.
    W : Windows
        Each row is an origin. Its own outcome is not used.
    horizon : int
        Number of days ahead, including the target day.
    n_paths : int, default 100
        Number of paths per row.
    random_state : None, int or numpy.random.Generator, default 0
        Seed or generator of the draws.
    minimum : float, optional
        Lower bound of drawn values, such as 0 for sales.
    unknown_covariates : float, optional
        Value of the covariates on days that are not in the frame, such as days when the shop is
        closed. By default such a day is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from trueline.series import sample_paths, windows
    >>> rng = np.random.default_rng(0)
    >>> walk = np.cumsum(rng.normal(size=366))
    >>> days = np.arange("2016-01-01", "2017-01-01", dtype="datetime64[D]")
    >>> W = windows({"date": days, "value": walk}, calendar=())
    >>> model = BayesianRidge().fit(W.X, W.y)
    >>> P = sample_paths(model, W.since("2016-12-01"), 9, n_paths=500)
    >>> P
    Paths(31 rows, 500 paths, 9 steps ahead)

    The uncertainty of a random walk grows with the square root of time:

    >>> [round(float(P.normal(h).std().mean()), 1) for h in (1, 4, 9)]
    [1.0, 2.0, 2.9]
    """
    check_count(horizon, "horizon")
    check_count(n_paths, "n_paths")
    if not len(W):
        raise ValueError(f"W is {W!r}; expected at least one window to start from.")
    inputs = [_inputs_ahead(W, h, unknown_covariates) for h in range(1, horizon)]
    draw = _sampler(model, int(n_paths), random_state)
    values = np.empty((len(W), n_paths, horizon))
    block = max(1, _MOST_NUMBERS // (n_paths * W.X.shape[1]))
    for start in range(0, len(W), block):
        rows = slice(start, start + block)
        ahead = [known[rows] for known in inputs]
        values[rows] = _walk(draw, W.X[rows], ahead, n_paths, W.n_inputs, minimum)
    dates = W.dates[:, None] + np.arange(horizon) * W.step
    return Paths(values, dates, W.series)


def _walk(
    draw: Draw,
    X: FloatArray,
    ahead: list[FloatArray],
    n_paths: int,
    n_inputs: int,
    minimum: float | None,
) -> FloatArray:
    """Sample paths (n, n_paths, days); `ahead` holds the known inputs of the later days."""
    window = np.repeat(X[None], n_paths, axis=0)
    values = np.empty((len(X), n_paths, len(ahead) + 1))
    for h in range(len(ahead) + 1):
        drawn = draw(window)
        if minimum is not None:
            drawn = np.maximum(drawn, minimum)
        values[:, :, h] = drawn.T
        if h < len(ahead):
            window[..., :-n_inputs] = window[..., n_inputs:]
            window[..., -n_inputs] = drawn
            window[..., window.shape[-1] - n_inputs + 1 :] = ahead[h]
    return values


def _sampler(model: Any, n_paths: int, random_state: RandomState) -> Draw:
    """Return a function from windows (n_paths, n, d) to values (n_paths, n)."""
    if hasattr(model, "_path_sampler"):
        draw: Draw = model._path_sampler(n_paths, random_state)
        return draw
    rng = generator(random_state)
    forecast = ForecastReader()

    def sample(X: FloatArray) -> FloatArray:
        F = forecast(model, X.reshape(-1, X.shape[-1]))
        if not F._has_spread:
            raise TypeError(
                f"{type(model).__name__} gives point forecasts, so all paths would be equal; "
                f"expected a model with uncertainty. Wrap it: trueline.CalibratedRegressor("
                f"model, cv=rolling_origins(...))."
            )
        return F.sample(1, random_state=rng).reshape(X.shape[:2])

    return sample


def _inputs_ahead(W: Windows, steps: int, unknown: float | None) -> FloatArray:
    """Return the known inputs of the day `steps` after each target day, (n, d - 1)."""
    dates = W.dates + steps * W.step
    known = W._known.at(W.series, dates)
    lost = np.isnan(known)
    if not lost.any():
        return known
    if unknown is None:
        i, j = (int(k) for k in np.argwhere(lost)[0])
        raise ValueError(
            f"the horizon ends after the known covariates: {W._known.names_of_inputs[j]!r} of "
            f"{dates[i]}, {steps + 1} steps ahead of the window of {W.dates[i]} in series "
            f"{W.series[i]}, is not in the frame of the windows. Lower the horizon, add rows with "
            f"the planned covariates and NaN as value to that frame, or pass their value as "
            f"unknown_covariates=."
        )
    return np.where(lost, float(unknown), known)
