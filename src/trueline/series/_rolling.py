"""Forecasts by models trained on the past, and their recalibration, in order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import NotFittedError, check_count, same_length, vector
from trueline.distributions import Distribution, Stacked
from trueline.estimators import cross_fit
from trueline.interop import ForecastLike, check_forecast
from trueline.series._dates import Dates, Step, check_date, check_dates, check_step
from trueline.series._table import Indices
from trueline.series._windows import Windows
from trueline.streams import Online

Split = tuple[Indices, Indices]


@dataclass(frozen=True, eq=False, repr=False)
class RollingOrigins:
    """The splits of `rolling_origins`: an iterable of (train, test) rows and a splitter.

    Attributes
    ----------
    origins : ndarray, (k,)
        First days of the test periods, rising.
    ends : ndarray, (k,)
        Days before which the test periods end.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.series import rolling_origins, windows
    >>> days = np.arange("2016-01-01", "2016-03-01", dtype="datetime64[D]")
    >>> W = windows({"date": days, "value": np.sin(np.arange(60.0))})
    >>> cv = rolling_origins(W, first="2016-02-01", every=14)
    >>> cv
    RollingOrigins(3 origins from 2016-02-01 to 2016-02-29)
    >>> len(cv), cv.get_n_splits()
    (3, 3)
    """

    origins: Dates
    ends: Dates
    _dates: Dates
    _known: NDArray[np.bool_]
    _train_span: Step | None

    def __len__(self) -> int:
        """Return the number of origins."""
        return len(self.origins)

    def __iter__(self) -> Iterator[Split]:
        for origin, end in zip(self.origins, self.ends, strict=True):
            train = (self._dates < origin) & self._known
            if self._train_span is not None:
                train &= self._dates >= origin - self._train_span
            test = (self._dates >= origin) & (self._dates < end)
            yield np.flatnonzero(train), np.flatnonzero(test)

    def __repr__(self) -> str:
        many = f"{len(self)} origin{'s' if len(self) > 1 else ''}"
        return f"RollingOrigins({many} from {self.origins[0]} to {self.origins[-1]})"

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield indices of (train, test) rows, as the splitters of scikit-learn do.

        X, if given, must be that of the same windows, because rows are split by their dates.
        """
        if X is not None and len(X) != len(self._dates):
            raise ValueError(
                f"X has {len(X)} rows, but the origins were made for windows with "
                f"{len(self._dates)}; expected all of the X of those windows. Make origins for "
                f"the windows you have: rolling_origins(W[rows], ...)."
            )
        yield from self

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of origins; the arguments are not used."""
        return len(self)


def rolling_origins(
    W: Windows, *, first: Any, every: Any = 28, last: Any = None, train_span: Any = None
) -> RollingOrigins:
    """Split windows by date: train on rows before an origin, test up to the next origin.

    At each origin the training rows are those of all series whose target day is before it, and
    the test rows those from it up to the next origin. No input of a row is measured on its target
    day or later, so a model that is trained and tested on such a split never looks ahead. Periods
    without a row are left out.

    Use the result as an iterable, or as ``cv`` of `trueline.CalibratedRegressor` or of a search of
    scikit-learn, with the X of the same windows. Rows before the first origin are in no test set
    and only train, so ``cross_val_predict``, which needs a partition, refuses these splits; use
    `rolling_forecasts`.

    Parameters
    ----------
    W : Windows
        Rows to split.
    first : str, date or datetime64
        The first origin.
    every : int or timedelta64, default 28
        Time from one origin to the next; an integer counts steps of the series, such as days.
    last : str, date or datetime64, optional
        The last day to test on; by default the last day of W.
    train_span : int or timedelta64, optional
        Largest age of training rows at each origin; by default all rows before it train.

    Returns
    -------
    RollingOrigins
        Each split is (train, test), two integer arrays. Rows with an unknown outcome never train.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.series import rolling_origins, windows
    >>> days = np.arange("2016-01-01", "2016-03-01", dtype="datetime64[D]")
    >>> W = windows({"date": days, "value": np.sin(np.arange(60.0))})
    >>> for train, test in rolling_origins(W, first="2016-02-01", every=14):
    ...     print(len(train), W.dates[train[-1]], W.dates[test[0]], W.dates[test[-1]])
    27 2016-01-31 2016-02-01 2016-02-14
    41 2016-02-14 2016-02-15 2016-02-28
    55 2016-02-28 2016-02-29 2016-02-29

    The map is then fitted to forecasts of the future:

    >>> import trueline as tl
    >>> from sklearn.linear_model import BayesianRidge
    >>> cv = rolling_origins(W, first="2016-02-01", every=7)
    >>> tl.CalibratedRegressor(BayesianRidge(), cv=cv).fit(W.X, W.y).recalibrator_.scores_.total
    29.0
    """
    if not len(W):
        raise ValueError(f"W is {W!r}; expected some rows.")
    begin = check_date(first, "first", W.step)
    end = W.dates.max() if last is None else check_date(last, "last", W.step)
    apart = _span(every, "every", W.step)
    span = None if train_span is None else _span(train_span, "train_span", W.step)
    if end < begin:
        raise ValueError(
            f"the first origin is {begin}, after the last day to test on, {end}; expected it "
            f"before. Give an earlier first= or a later last=."
        )
    origins = np.arange(begin, end + W.step, apart).astype(W.dates.dtype)
    ends = np.minimum(origins + apart, end + W.step)
    tested = np.searchsorted(np.sort(W.dates), [origins, ends])
    some = tested[1] > tested[0]
    if not some.any():
        raise ValueError(f"W has no rows from {begin} to {end}; expected some to test on.")
    splits = RollingOrigins(origins[some], ends[some], W.dates, np.isfinite(W.y), span)
    known = np.sort(W.dates[np.isfinite(W.y)])
    trained = np.searchsorted(known, splits.origins)
    if span is not None:
        trained -= np.searchsorted(known, splits.origins - span)
    if not trained.all():
        within = "" if span is None else f" and no more than {span} before it"
        raise ValueError(
            f"no row with a known outcome has its target day before the origin "
            f"{splits.origins[trained.argmin()]}{within}; expected some to train on. Give a later "
            f"first= or a longer train_span=."
        )
    return splits


def rolling_forecasts(
    model: Any,
    W: Windows,
    origins: RollingOrigins | Iterable[Split],
    *,
    dist: Callable[[Any, Any], Any] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> tuple[Indices, Distribution]:
    """Forecast each period with a model that was trained on the days before it.

    A copy of the model is fitted at each origin; networks of `trueline.models` are trained
    together, which is faster. A recalibrator that is fitted on these forecasts learns the errors
    of the model on future days, which neither training rows nor shuffled folds show.

    Parameters
    ----------
    model : regressor
        A model with or without uncertainty, as for `trueline.CalibratedRegressor`.
    W : Windows
        Rows to train on and to forecast.
    origins : RollingOrigins or iterable of (train, test)
        Splits of `rolling_origins`. Other splits are refused unless every test day is after all
        training days.
    dist : callable (model, X) -> Distribution, optional
        Function that returns the forecasts of a fitted model, for models whose forecasts are not
        read automatically.
    n_jobs : int, optional
        Number of parallel fits, for models that are not trained together.
    verbose : int, default 0
        Whether to show the progress on the standard error: 1 shows each origin and about how long
        the rest takes, 2 adds times.

    Returns
    -------
    rows : ndarray
        Indices of the forecast rows of W, rising.
    dist : Distribution
        Their forecasts.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from sklearn.linear_model import BayesianRidge
    >>> from trueline.series import rolling_forecasts, rolling_origins, windows
    >>> rng = np.random.default_rng(0)
    >>> days = np.arange("2015-01-01", "2016-01-01", dtype="datetime64[D]")
    >>> frame = {"date": days, "value": 50 + 10 * rng.standard_t(3, size=365)}
    >>> W = windows(frame, calendar="day_of_week")
    >>> origins = rolling_origins(W, first="2015-07-01", last="2015-11-30")
    >>> rows, F = rolling_forecasts(BayesianRidge(), W, origins)
    >>> len(rows), W.dates[rows[0]]
    (153, np.datetime64('2015-07-01'))
    >>> R = tl.Isotonic().fit(W.y[rows], F)

    The map recalibrates forecasts of later days by the model fitted then:

    >>> train, test = W.before("2015-12-01"), W.since("2015-12-01")
    >>> mean, std = BayesianRidge().fit(train.X, train.y).predict(test.X, return_std=True)
    >>> len(R.transform(tl.Normal(mean, std)))
    31
    """
    splits = [(np.asarray(train), np.asarray(test)) for train, test in origins]
    if not splits:
        raise ValueError("origins gave no splits; expected at least one (train, test).")
    for train, test in splits:
        _check_split(W, train, test)
    return cross_fit(model, W.X, W.y, splits, dist=dist, n_jobs=n_jobs, verbose=verbose)


def _check_split(W: Windows, train: Indices, test: Indices) -> None:
    for name, rows in (("training", train), ("test", test)):
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
            raise ValueError(
                f"origins gave {name} rows of shape {rows.shape} and dtype {rows.dtype}; expected "
                f"an array of row numbers, at least one."
            )
        if rows.min() < 0 or rows.max() >= len(W):
            raise ValueError(
                f"origins gave {name} row {rows.max() if rows.min() >= 0 else rows.min()}, but W "
                f"has {len(W)} rows; expected origins that were made for W itself."
            )
    last, tested = W.dates[train].max(), W.dates[test].min()
    if tested <= last:
        raise ValueError(
            f"origins gave a split that trains on {last} and tests on {tested}; expected every "
            f"test day after all training days, so that no forecast looks ahead. Use "
            f"rolling_origins."
        )
    if not np.isfinite(W.y[train]).all():
        raise ValueError(
            "origins gave training rows whose outcome is not known; expected known ones. Use "
            "rolling_origins, which leaves them out."
        )


def _span(span: Any, name: str, step: Step) -> Step:
    """Convert a number of steps, or a timedelta64, to a timedelta64."""
    if isinstance(span, int | np.integer) and not isinstance(span, bool | np.timedelta64):
        if span < 1:
            raise ValueError(f"{name} is {span}; expected a number of steps of 1 or more.")
        return int(span) * step
    given = check_step(span, name)
    if given % step != np.timedelta64(0, "s"):
        raise ValueError(f"{name} is {span!r}; expected a multiple of the step, {step}.")
    return (given // step) * step


def recalibrate_daily(
    recalibrator: Online,
    y: ArrayLike,
    dist: ForecastLike,
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
    dist : Distribution of n rows, or what `as_distribution` takes
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
    0.70
    >>> print(f"{tl.coverage(y[now], G, 0.9):.2f}")
    0.90
    """
    if not isinstance(recalibrator, Online):
        raise TypeError(
            f"recalibrator is a {type(recalibrator).__name__}; expected Online, which learns "
            f"from one day at a time. Wrap another recalibrator: Online(Isotonic())."
        )
    check_count(lead, "lead", "a number of steps of 1 or more")
    dist = check_forecast(dist, y=y)
    outcome = vector(y, "y", finite=False)
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
