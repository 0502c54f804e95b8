"""Forecasts of rows by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from trueline._validation import FloatArray
from trueline.distributions import (
    Distribution,
    Laplace,
    Logistic,
    Normal,
    Point,
    Samples,
    Stacked,
    StudentT,
)
from trueline.interop import ForecastReader, as_distribution

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]


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
    """Rows that a model was kept from, its forecasts of them, and the model if it is kept."""

    rows: Rows
    dist: Distribution
    model: Any


class Pool(NamedTuple):
    """The rows of all folds in order, their forecasts, and where in them those of each fold are.

    A row in several test sets is there as often. ``once`` has each row one time, ``first`` is
    where it is for the first time, and ``which`` says of each forecast which of those it is of.
    """

    rows: Rows
    dist: Distribution
    places: list[Rows]
    once: Rows
    first: Rows
    which: Rows

    def weights(self, sample_weight: FloatArray | None) -> FloatArray | None:
        """Weights of the forecasts: a row that was forecast k times counts once in all."""
        times = np.bincount(self.which)[self.which]
        if sample_weight is None:
            return None if times.max() == 1 else 1.0 / times
        return sample_weight[self.rows] / times


@dataclass(frozen=True)
class Training:
    """An estimator, and the rows to fit copies of it on."""

    estimator: Any
    X: Any
    y: FloatArray
    forecast: Forecaster
    fit_params: dict[str, Any]
    n_jobs: int | None

    def whole(self) -> Any:
        """Fit a copy on all rows, unless it is frozen."""
        if isinstance(self.estimator, FrozenEstimator):
            return self.estimator
        return clone(self.estimator).fit(self.X, self.y, **self.fit_params)

    def folds(self, splits: Sequence[Split], *, keep: bool = False) -> list[Fold]:
        """Fit a copy a fold and forecast what it has not seen; keep the copies only if asked."""
        if self._fits_together:
            models = self._together([train for train, _ in splits])
            return self._forecasts(splits, models, keep)
        parallel = Parallel(n_jobs=self.n_jobs)
        done = parallel(delayed(self._fold)(*split, keep) for split in splits)
        return [
            Fold(test, dist, model) for (_, test), (dist, model) in zip(splits, done, strict=True)
        ]

    def whole_and_folds(self, splits: Sequence[Split]) -> tuple[Any, list[Fold]]:
        """Do both, as one computation if the estimator can."""
        if not self._fits_together:
            return self.whole(), self.folds(splits)
        every = np.arange(len(self.y))
        model, *models = self._together([every, *(train for train, _ in splits)])
        return model, self._forecasts(splits, models, keep=False)

    @property
    def _fits_together(self) -> bool:
        """Whether the estimator, such as a network, trains many copies faster than one by one."""
        return hasattr(self.estimator, "_fit_copies")

    def _together(self, rows: Sequence[Rows]) -> list[Any]:
        models: list[Any] = self.estimator._fit_copies([self._part(some) for some in rows])
        return models

    def _part(self, rows: Rows) -> tuple[Any, FloatArray, dict[str, Any]]:
        params = _check_method_params(self.X, params=self.fit_params, indices=rows)
        return _safe_indexing(self.X, rows), self.y[rows], params

    def _forecasts(self, splits: Sequence[Split], models: Sequence[Any], keep: bool) -> list[Fold]:
        return [
            Fold(test, self.forecast(model, _safe_indexing(self.X, test)), model if keep else None)
            for (_, test), model in zip(splits, models, strict=True)
        ]

    def _fold(self, train: Rows, test: Rows, keep: bool) -> tuple[Distribution, Any]:
        X, y, params = self._part(train)
        model = clone(self.estimator).fit(X, y, **params)
        return self.forecast(model, _safe_indexing(self.X, test)), model if keep else None


def cross_fit(
    estimator: Any,
    X: Any,
    y: FloatArray,
    splits: Sequence[Split],
    *,
    dist: Callable[[Any, Any], Any] | None = None,
    n_jobs: int | None = None,
) -> tuple[Rows, Distribution]:
    """Fit a copy of an estimator per split and forecast its test rows.

    Parameters
    ----------
    estimator : regressor
        Networks of `trueline.models` are trained together, which is faster.
    X : (n, d) array-like
    y : (n,) ndarray
    splits : sequence of (train, test)
        Row numbers.
    dist : callable (estimator, X) -> Distribution, optional
        Forecasts of a fitted estimator; by default they are read as `CalibratedRegressor` does.
    n_jobs : int, optional
        Number of fits at a time, as in joblib.

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
    together = pool(Training(estimator, X, y, forecast, {}, n_jobs).folds(splits))
    return together.rows, together.dist


def make_splits(cv: Any, X: Any, y: FloatArray, params: dict[str, Any], seed: int) -> list[Split]:
    """Return the (train, test) rows of each fold."""
    n = len(y)
    if isinstance(cv, int | np.integer):
        if n < cv:
            raise ValueError(
                f"cv is {cv}, but there are too few rows for as many folds: n_samples={n}. "
                f"Give more rows, or fewer folds."
            )
        # Files come sorted, and a fold of neighbours is no sample of the rows to come.
        splitter = KFold(int(cv), shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv)
    splits = [(_rows(train), _rows(test)) for train, test in splitter.split(X, y, **params)]
    if not splits:
        raise ValueError(f"cv is {cv!r}, which gave no splits; expected at least one.")
    for train, test in splits:
        both = np.intersect1d(train, test)
        if both.size:
            raise ValueError(
                f"cv gave a split whose training and test rows share {both.size} rows, such as "
                f"{both[0]}; expected none, because a model is too sure on rows it was trained on. "
                f"cv='train' calibrates on the training rows on purpose."
            )
    return splits


def _rows(index: Any) -> Rows:
    a = np.asarray(index)
    return np.flatnonzero(a) if a.dtype == bool else a.astype(np.intp)


def pool(folds: Sequence[Fold]) -> Pool:
    """Bring the rows of the folds together."""
    rows = np.concatenate([fold.rows for fold in folds])
    order = np.argsort(rows, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    places = np.split(place, np.cumsum([len(fold.rows) for fold in folds])[:-1])
    dist = stack([fold.dist for fold in folds], places)
    once, first, which = np.unique(rows[order], return_index=True, return_inverse=True)
    return Pool(rows[order], dist, places, once, first, which)


def stack(parts: Sequence[Distribution], places: Sequence[Rows]) -> Distribution:
    """Put the rows of each part at its places in one forecast.

    Parts of one kind become that kind, which is as fast as if there had been one part.
    """
    order = np.argsort(np.concatenate(places), kind="stable")
    kinds = {type(part) for part in parts}
    if len(parts) == 1:
        return parts[0]._take(order)
    if len(kinds) == 1:
        joined = _concatenated(kinds.pop(), parts)
        if joined is not None:
            return joined._take(order)
    return Stacked(parts, places)


def _concatenated(kind: type[Distribution], parts: Sequence[Any]) -> Distribution | None:
    if kind in (Normal, Laplace, Logistic):
        make: Any = kind
        return make(*(np.concatenate([getattr(p, a) for p in parts]) for a in ("loc", "scale")))
    if kind is StudentT:
        return StudentT(
            *(np.concatenate([getattr(p, a) for p in parts]) for a in ("loc", "scale", "df"))
        )
    if kind is Point:
        return Point(np.concatenate([p.loc for p in parts]))
    if kind is Samples and len({p.draws.shape[1] for p in parts}) == 1:
        return Samples(np.concatenate([p.draws for p in parts]))
    return None
