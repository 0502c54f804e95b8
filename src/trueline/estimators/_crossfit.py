"""Forecasts of rows by models that were not trained on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from trueline._progress import QUIET, Steps, show_steps
from trueline._validation import FloatArray, Rows
from trueline.distributions import Distribution, stack
from trueline.estimators._preprocessing import Made, make_features
from trueline.estimators._splits import Split
from trueline.interop import ForecastReader, as_distribution


@dataclass(frozen=True)
class Forecaster:
    """Reads the forecasts of fitted models, by the user's ``dist`` or else by their reader."""

    dist: Callable[[Any, Any], Any] | None
    read: ForecastReader

    def __call__(self, model: Any, X: Any) -> Distribution:
        """Return the forecasts of the rows of X."""
        if self.dist is None:
            forecast = self.read(model, X)
        else:
            inner = model.estimator if isinstance(model, FrozenEstimator) else model
            forecast = as_distribution(self.dist(inner, X))
        if len(forecast) != _num_samples(X):
            source = "dist(estimator, X)" if self.dist else f"{type(model).__name__}'s forecast"
            raise ValueError(
                f"{source} has {len(forecast)} rows, but X has {_num_samples(X)}; expected one "
                f"forecast per row."
            )
        return forecast


class Fold(NamedTuple):
    """Test rows of a split, their forecasts, the model if it is kept, and what it makes of X."""

    rows: Rows
    dist: Distribution
    model: Any
    made: Made | None = None


class OutOfFold(NamedTuple):
    """The forecasts of all folds, sorted by row. A row in k test sets has k forecasts.

    ``rows[i]`` is the row that forecast i belongs to, and ``row_index[i]`` the position of that
    row in `unique_rows`, which has no repetitions. `first` are the positions of the first forecast
    of each unique row, and `positions` those of the forecasts of each fold.
    """

    rows: Rows
    dist: Distribution
    positions: list[Rows]
    unique_rows: Rows
    first: Rows
    row_index: Rows

    def weights(self, sample_weight: FloatArray | None) -> FloatArray | None:
        """Return weights of the forecasts; those of one row add up to the weight of the row."""
        times = np.bincount(self.row_index)[self.row_index]
        if sample_weight is None:
            return None if times.max() == 1 else 1.0 / times
        return sample_weight[self.rows] / times


def out_of_fold(folds: Sequence[Fold]) -> OutOfFold:
    """Combine the forecasts of all folds."""
    rows = np.concatenate([fold.rows for fold in folds])
    order = np.argsort(rows, kind="stable")
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    positions = np.split(position, np.cumsum([len(fold.rows) for fold in folds])[:-1])
    dist = stack([fold.dist for fold in folds], positions)
    unique = np.unique(rows[order], return_index=True, return_inverse=True)
    return OutOfFold(rows[order], dist, positions, *unique)


@dataclass(frozen=True)
class CrossFitter:
    """Fits copies of an estimator on some of the rows and forecasts others.

    If `learns`, the folds have the features that their pipelines make, too.
    """

    estimator: Any
    X: Any
    y: FloatArray
    forecast: Forecaster
    fit_params: dict[str, Any]
    n_jobs: int | None
    steps: Steps = QUIET
    learns: bool = False

    def fit_all(self) -> Any:
        """Fit a copy on all rows, unless the estimator is frozen."""
        if isinstance(self.estimator, FrozenEstimator):
            return self.estimator
        with self.steps.step("fitting on all rows", fits=1.0):
            return self._fit_all()

    def fit_folds(
        self, splits: Sequence[Split], *, keep: bool = False, name: str = "fitting fold"
    ) -> list[Fold]:
        """Fit a copy per split and forecast its test rows; return the copies only if `keep`.

        `name` is what is shown before the number of a split.
        """
        return self._fit(splits, keep, name, refit=False)[1]

    def fit_all_and_folds(self, splits: Sequence[Split]) -> tuple[Any, list[Fold]]:
        """Fit a copy on all rows too, at the same time if there are processes for it."""
        (model,), folds = self._fit(splits, keep=False, name="fitting fold", refit=True)
        return model, folds

    def _fit(
        self, splits: Sequence[Split], keep: bool, name: str, *, refit: bool
    ) -> tuple[list[Any], list[Fold]]:
        """Return a list of the model of all rows, which is empty without `refit`, and the folds."""
        n, first, steps = len(self.y), int(refit), self.steps
        trains = [np.arange(n)] * first + [train for train, _ in splits]
        fits = [len(train) / n for train in trains]
        if hasattr(self.estimator, "_fit_copies"):  # networks train faster together
            with steps.step(f"{name}s 1 to {len(splits)} at once", fits=sum(fits)):
                models = self.estimator._fit_copies([self._part(rows) for rows in trains], steps)
            return models[:first], self._forecast_folds(splits, models[first:], keep)
        jobs = [delayed(self._fit_all)()] * first
        jobs += [delayed(self._fit_fold)(*split, keep) for split in splits]
        names = ["fitting on all rows"] * first
        names += [f"{name} {k + 1} of {len(splits)}" for k in range(len(splits))]
        fitted = run_jobs(jobs, names, fits, self.n_jobs, steps)
        return fitted[:first], fitted[first:]

    def _fit_all(self) -> Any:
        return clone(self.estimator).fit(self.X, self.y, **self.fit_params)

    def _part(self, rows: Rows) -> tuple[Any, FloatArray, dict[str, Any]]:
        params = _check_method_params(self.X, params=self.fit_params, indices=rows)
        return _safe_indexing(self.X, rows), self.y[rows], params

    def _forecast_folds(
        self, splits: Sequence[Split], models: Sequence[Any], keep: bool
    ) -> list[Fold]:
        tests = [test for _, test in splits]
        folds = map(self.forecast_rows, models, tests)
        return [fold if keep else fold._replace(model=None) for fold in folds]

    def forecast_rows(self, model: Any, rows: Rows) -> Fold:
        """Return the forecasts of some rows by a fitted model."""
        every = np.array_equal(rows, np.arange(len(self.y)))
        X = self.X if every else _safe_indexing(self.X, rows)
        made = make_features(model, X) if self.learns else None
        return Fold(rows, self.forecast(model, X), model, made)

    def _fit_fold(self, train: Rows, test: Rows, keep: bool) -> Fold:
        X, y, params = self._part(train)
        model = clone(self.estimator).fit(X, y, **params)
        return self._forecast_folds([(train, test)], [model], keep)[0]


def run_jobs(
    jobs: Iterable[Any],
    names: Sequence[str],
    fits: Sequence[float],
    n_jobs: int | None,
    steps: Steps,
) -> list[Any]:
    """Run jobs of joblib, and show each as a step while its result is awaited."""
    # A generator gives each result as soon as it is ready, but not all backends have it.
    parallel = Parallel(n_jobs, return_as="generator" if steps.shown else "list")
    pending, results = iter(parallel(jobs)), []
    for name, work in zip(names, fits, strict=True):
        with steps.step(name, fits=work):
            results.append(next(pending))
    return results


def cross_fit(
    estimator: Any,
    X: Any,
    y: FloatArray,
    splits: Sequence[Split],
    *,
    dist: Callable[[Any, Any], Any] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> tuple[Rows, Distribution]:
    """Fit a copy of an estimator per split and forecast its test rows.

    Parameters
    ----------
    estimator : regressor
    X : (n, d) array-like
    y : (n,) ndarray
    splits : sequence of (train, test)
        Row numbers.
    dist : callable (estimator, X) -> Distribution, optional
        Forecasts of a fitted estimator; by default they are read as `CalibratedRegressor` does.
    n_jobs : int, optional
        Number of fits at a time, as in joblib.
    verbose : int, default 0
        Whether to show the progress on the standard error: 1 shows a line per fit, 2 its time too.

    Returns
    -------
    rows : ndarray
        The test rows of all splits, sorted.
    dist : Distribution
        Their forecasts.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.model_selection import KFold
    >>> from trueline.estimators import cross_fit
    >>> X = np.arange(6.0)[:, None]
    >>> rows, F = cross_fit(LinearRegression(), X, 2.0 * X[:, 0], list(KFold(3).split(X)))
    >>> rows, F.loc.round(6)
    (array([0, 1, 2, 3, 4, 5]), array([ 0.,  2.,  4.,  6.,  8., 10.]))
    """
    forecast = Forecaster(dist, ForecastReader())
    with show_steps("cross_fit", verbose) as steps:
        steps.expect(fits=sum(len(train) for train, _ in splits) / len(y))
        fitter = CrossFitter(estimator, X, y, forecast, {}, n_jobs, steps)
        forecasts = out_of_fold(fitter.fit_folds(splits, name="fitting split"))
    return forecasts.rows, forecasts.dist
