"""Scorers for the ``scoring=`` of scikit-learn's cross-validation and searches."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from trueline.distributions import Distribution
from trueline.interop import as_distribution, read_forecast
from trueline.metrics import calibration_error, crps, interval_score


def neg_crps(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> float:
    """Negative mean CRPS of a model's forecasts: a scorer, greater is better.

    Any fitted regressor can be scored, calibrated or not. Its forecasts are read as
    `CalibratedRegressor` reads them; a point forecast is scored by its absolute error.

    Parameters
    ----------
    estimator : fitted regressor
    X : (n, d) array-like
    y : (n,) array-like
    sample_weight : (n,) array-like, optional
    groups : (n,) array-like, optional
        The group of each row, for a `CalibratedRegressor` with one map per group.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.model_selection import GridSearchCV
    >>> import trueline as tl
    >>> model = tl.CalibratedRegressor(BayesianRidge(), scale_estimator=None, random_state=0)
    >>> search = GridSearchCV(model, {"method": ["isotonic", "scaling"]}, scoring=tl.neg_crps)
    >>> search.fit(*load_diabetes(return_X_y=True)).best_params_
    {'method': 'scaling'}
    """
    return -crps(y, _forecast(estimator, X, groups), sample_weight=sample_weight)


def neg_calibration_error(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> float:
    """Negative calibration error (Eq. 9) of a model's forecasts: a scorer, greater is better.

    A forecast that is the same for every row may be perfectly calibrated, so choose models by
    `neg_crps`.

    The parameters are those of `neg_crps`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import BayesianRidge
    >>> import trueline as tl
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(tl.neg_calibration_error(BayesianRidge().fit(X, y), X, y), 3)
    -0.001
    """
    return -calibration_error(y, _forecast(estimator, X, groups), sample_weight=sample_weight)


def neg_interval_score(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    coverage: float = 0.9,
    groups: ArrayLike | None = None,
) -> float:
    """Negative interval score of a model's central intervals: a scorer, greater is better.

    The parameters are those of `neg_crps`, and the coverage of the intervals.
    ``functools.partial(neg_interval_score, coverage=0.5)`` is a scorer with another coverage.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import BayesianRidge
    >>> import trueline as tl
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(tl.neg_interval_score(BayesianRidge().fit(X, y), X, y), 1)
    -214.0
    """
    dist = _forecast(estimator, X, groups)
    return -interval_score(y, dist, coverage, sample_weight=sample_weight)


def _forecast(estimator: Any, X: Any, groups: ArrayLike | None) -> Distribution:
    if groups is None:
        return read_forecast(estimator, X)
    return as_distribution(estimator.predict_dist(X, groups=groups))
