"""Models of scikit-learn, and other models with its interface."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.distributions import Distribution
from trueline.interop._reading import belongs_to, normal, one_per_row

# Packages whose regressors are networks, or wrap one.
_NETWORKS = (
    "keras",
    "lightning",
    "pytorch_lightning",
    "pytorch_tabnet",
    "pytorch_tabular",
    "scikeras",
    "skorch",
    "tensorflow",
    "torch",
)


def read_linear(model: Any, X: Any) -> Distribution | None:
    """Read Bayesian linear models."""
    from sklearn.linear_model import ARDRegression, BayesianRidge
    from sklearn.utils import check_array

    if not isinstance(model, ARDRegression | BayesianRidge):
        return None
    # They compute the standard deviation from X unconverted, which fails for frames of polars and
    # arrays of objects. The first call checks the column names, which the second does not have.
    mean = model.predict(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        _, std = model.predict(check_array(X, accept_sparse=True), return_std=True)
    return normal(mean, std)


def read_standard_deviation(model: Any, X: Any) -> Distribution | None:
    """Read Gaussian processes, and every model with ``predict(X, return_std=True)``."""
    try:
        parameters = inspect.signature(model.predict).parameters
    except (AttributeError, ValueError):  # no predict, or one that is not written in Python
        return None
    if "return_std" not in parameters:
        return None
    mean, std = model.predict(X, return_std=True)
    return normal(one_per_row(model, mean), std)


def read_members(model: Any, X: Any) -> Distribution | None:
    """Read forests and bagging by the spread of their members."""
    if not _is_ensemble(model) or len(model.estimators_) < 2:
        return None
    mean, var = _moments(_member_predictions(model, X))
    return normal(mean, np.sqrt(var))


def spread_excludes_noise(model: Any) -> bool:
    """Whether the scale that is read is the uncertainty of the mean only, which may vanish.

    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.linear_model import BayesianRidge
    >>> from trueline.interop._sklearn import spread_excludes_noise
    >>> spread_excludes_noise(RandomForestRegressor()), spread_excludes_noise(BayesianRidge())
    (True, False)
    """
    from sklearn.gaussian_process import GaussianProcessRegressor

    inner = innermost(model).model
    return _is_ensemble(inner) or isinstance(inner, GaussianProcessRegressor)


def varies_between_fits(model: Any) -> bool:
    """Whether two fits of an unfitted model on much the same rows differ a lot.

    Single networks do; ensembles of networks do not. A model declares it by an attribute of this
    name. Those of other packages are recognised, inside pipelines and searches too.

    >>> from sklearn.ensemble import BaggingRegressor
    >>> from sklearn.neural_network import MLPRegressor
    >>> from trueline.interop._sklearn import varies_between_fits
    >>> varies_between_fits(MLPRegressor()), varies_between_fits(BaggingRegressor(MLPRegressor()))
    (True, False)
    """
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import Pipeline

    if hasattr(model, "varies_between_fits"):
        return bool(model.varies_between_fits)
    if isinstance(model, Pipeline):
        return varies_between_fits(model[-1])
    if isinstance(model, TransformedTargetRegressor):
        return varies_between_fits(model.regressor)
    if isinstance(model, BaseSearchCV):
        return varies_between_fits(model.estimator)
    return isinstance(model, MLPRegressor) or belongs_to(model, *_NETWORKS)


# Trees from which nearly every row is left out by several of them, this number, and the largest
# share of rows that fewer trees leave out.
_ENOUGH_TREES = 50
_FEWEST_UNSEEN = 5
_MOST_SEEN = 0.01


def leaves_rows_out(model: Any) -> bool:
    """Whether each row is unseen by some trees of an unfitted forest, see `read_out_of_bag`.

    >>> from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
    >>> from trueline.interop._sklearn import leaves_rows_out
    >>> leaves_rows_out(RandomForestRegressor()), leaves_rows_out(ExtraTreesRegressor())
    (True, False)
    """
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

    # Subclasses, such as quantile forests, forecast in other ways.
    if type(model) not in (ExtraTreesRegressor, RandomForestRegressor):
        return False
    return bool(model.bootstrap) and model.n_estimators >= _ENOUGH_TREES


class OutOfBag(NamedTuple):
    """Forecasts of the rows of a forest's fit by the trees that did not see them."""

    rows: Rows  # those that several trees did not see
    forecast: Distribution
    more_noise: FloatArray  # variance of these means less that of the means over all trees


def read_out_of_bag(model: Any, X: Any) -> OutOfBag | None:
    """Read the spread of those trees that did not see a row, for the rows of the fit.

    The variances are those that all trees would have. The few rows that nearly all trees saw are
    left out, which is decided by the draws alone; the result is None if they are not few.
    """
    from sklearn.utils.validation import _num_samples

    n, trees = _num_samples(X), len(model.estimators_)
    count, mean, square = (np.zeros(n) for _ in range(3))
    for p, seen in zip(_member_predictions(model, X), model.estimators_samples_, strict=True):
        unseen = np.ones(n, dtype=bool)
        unseen[seen] = False
        at = np.flatnonzero(unseen)
        count[at] += 1.0
        step = p[at] - mean[at]
        mean[at] += step / count[at]
        square[at] += step * (p[at] - mean[at])
    rows = np.flatnonzero(count >= _FEWEST_UNSEEN)
    if len(rows) < (1.0 - _MOST_SEEN) * n:
        return None
    count, mean, square = count[rows], mean[rows], square[rows]
    var = square / (count - 1.0)
    noise = var * (1.0 / count - 1.0 / trees)
    return OutOfBag(rows, normal(mean, np.sqrt(var * (1.0 - 1.0 / trees))), noise)


def _is_ensemble(model: Any) -> bool:
    from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor

    return isinstance(model, BaggingRegressor | ExtraTreesRegressor | RandomForestRegressor)


def _member_predictions(model: Any, X: Any) -> Iterator[FloatArray]:
    """Yield the predictions of each member of an ensemble, in order."""
    from sklearn.utils import get_tags
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import validate_data

    columns = getattr(model, "estimators_features_", None)
    # Members were fitted on arrays, so the names and the number of features are checked here.
    rows = validate_data(
        model,
        X,
        reset=False,
        dtype=np.float32 if columns is None else None,
        accept_sparse="csr",
        ensure_all_finite="allow-nan" if get_tags(model).input_tags.allow_nan else True,
    )
    jobs = (
        (member.predict, rows if columns is None else rows[:, columns[k]])
        for k, member in enumerate(model.estimators_)
    )
    if model.n_jobs in (None, 1):
        yield from (predict(part) for predict, part in jobs)
    else:
        parallel = Parallel(n_jobs=model.n_jobs, prefer="threads", return_as="generator")
        yield from parallel(delayed(predict)(part) for predict, part in jobs)


def _moments(predictions: Iterable[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance over members, one pass and no (members, rows) array (Welford, 1962)."""
    count, mean, square = 0, np.zeros(1), np.zeros(1)
    for p in predictions:
        count += 1
        step = p - mean
        mean = mean + step / count
        square = square + step * (p - mean)
    return mean, square / count


# ---- models that are made of others --------------------------------------------------


class Innermost(NamedTuple):
    """The model that predicts, the X that it is called with, and whether a search chose it."""

    model: Any
    X: Any
    searched: bool


def innermost(model: Any, X: Any = None) -> Innermost:
    """Unwrap pipelines, searches and frozen estimators; X may be left out."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    searched = False
    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, Pipeline):
            if X is not None and len(model) > 1:
                X = model[:-1].transform(X)
            model = model[-1]
        elif hasattr(model, "best_estimator_"):
            model, searched = model.best_estimator_, True
        else:
            return Innermost(model, X, searched)


def parts(model: Any) -> Sequence[Any]:
    """Return the fitted models whose predictions a model passes on or averages."""
    from sklearn import ensemble
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    if isinstance(model, FrozenEstimator):
        return [model.estimator]
    if isinstance(model, Pipeline):
        return [model[-1]]
    if isinstance(model, ensemble.VotingRegressor):
        voters: Sequence[Any] = model.estimators_
        return voters
    if isinstance(model, ensemble.AdaBoostRegressor | ensemble.BaggingRegressor):
        return [model.estimators_[0]]  # the others are copies of it
    if isinstance(model, TransformedTargetRegressor):
        return [model.regressor_]
    stacked = isinstance(model, ensemble.StackingRegressor)
    last = "final_estimator_" if stacked else "best_estimator_"
    return [getattr(model, last)] if hasattr(model, last) else []
