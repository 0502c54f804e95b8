"""What a fitted model says of its own uncertainty, found without configuration.

A reader takes a fitted model and X and returns a forecast, or None where the model is not of
its kind. Readers are asked in order, and a model that none of them knows is a point forecast.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution, Normal, Point, as_distribution

Reader = Callable[[Any, Any], Distribution | None]

# Trees may agree, and a Gaussian process has no doubt on a row it was trained on: a spread this
# small beside the prediction is none, and no scale.
_LEAST = 1e-9


def predictive(model: Any, X: Any, readers: Sequence[Reader] | None = None) -> Distribution:
    """Return the forecast of a fitted model: the most that it offers."""
    inner, rows = _innermost(model, X)
    for reader in _READERS if readers is None else readers:
        dist = reader(inner, rows)
        if dist is not None:
            return dist
    return Point(_one_a_row(inner, inner.predict(rows)))


def register_reader(reader: Reader) -> Reader:
    """Teach `CalibratedRegressor` and the scorers to read another kind of model.

    The newest reader is asked first. Pipelines, searches and `FrozenEstimator` are unwrapped
    before: a reader sees the model itself, and the X that it sees.

    Parameters
    ----------
    reader : callable (model, X) -> Distribution or None
        None says that the model is not of its kind.

    Returns
    -------
    callable
        The reader, so that this is a decorator.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.estimators import CalibratedRegressor, register_reader, unregister_reader
    >>> class Oracle:
    ...     def predict(self, X):
    ...         return X[:, 0]
    >>> @register_reader
    ... def read_oracle(model, X):
    ...     return tl.Laplace(model.predict(X), 2.0) if isinstance(model, Oracle) else None
    >>> import numpy as np
    >>> from sklearn.frozen import FrozenEstimator
    >>> X = np.arange(40.0)[:, None]
    >>> model = CalibratedRegressor(FrozenEstimator(Oracle()), scale_estimator=None)
    >>> model.fit(X, X[:, 0] + np.sin(X[:, 0])).recalibrator_.scores_.kind
    'standardised'
    >>> unregister_reader(read_oracle)
    """
    _READERS.insert(0, reader)
    return reader


def unregister_reader(reader: Reader) -> None:
    """Forget a reader that `register_reader` was given.

    Parameters
    ----------
    reader : callable

    Examples
    --------
    >>> from trueline.estimators import register_reader, unregister_reader
    >>> reader = register_reader(lambda model, X: None)
    >>> unregister_reader(reader)
    """
    if reader not in _READERS:
        raise ValueError(f"{reader!r} is not registered; expected what register_reader was given.")
    _READERS.remove(reader)


def current_readers() -> tuple[Reader, ...]:
    """Return the readers there are, to hand to a process that has not seen them register."""
    return tuple(_READERS)


def leaves_out_noise(model: Any, X: Any) -> bool:
    """Whether a model's scale is its doubt about the mean alone, which may vanish."""
    from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
    from sklearn.gaussian_process import GaussianProcessRegressor

    members = BaggingRegressor | ExtraTreesRegressor | RandomForestRegressor
    return isinstance(_innermost(model, X)[0], members | GaussianProcessRegressor)


def _innermost(model: Any, X: Any) -> tuple[Any, Any]:
    """Unwrap what only passes rows on; return the model that predicts, and its X."""
    from sklearn.frozen import FrozenEstimator
    from sklearn.pipeline import Pipeline

    while True:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        elif isinstance(model, Pipeline):
            head = model[:-1]
            model, X = model[-1], head.transform(X) if len(head) else X
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return model, X


def _own_distribution(model: Any, X: Any) -> Distribution | None:
    return as_distribution(model.predict_dist(X)) if hasattr(model, "predict_dist") else None


def _linear_standard_deviation(model: Any, X: Any) -> Distribution | None:
    from sklearn.linear_model import ARDRegression, BayesianRidge
    from sklearn.utils import check_array

    if not isinstance(model, ARDRegression | BayesianRidge):
        return None
    # Their standard deviation is computed from X as it comes, which frames of polars and arrays
    # of objects do not survive. The first call checks the names that the second cannot know.
    mean = model.predict(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        _, std = model.predict(check_array(X, accept_sparse=True), return_std=True)
    return _normal(mean, std)


def _standard_deviation(model: Any, X: Any) -> Distribution | None:
    try:
        parameters = inspect.signature(model.predict).parameters
    except (AttributeError, ValueError):  # no predict, or one that is not written in Python
        return None
    if "return_std" not in parameters:
        return None
    mean, std = model.predict(X, return_std=True)
    return _normal(_one_a_row(model, mean), std)


def _members(model: Any, X: Any) -> Distribution | None:
    from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor

    if not isinstance(model, BaggingRegressor | ExtraTreesRegressor | RandomForestRegressor):
        return None
    if len(model.estimators_) < 2:
        return None
    mean, var = _moments(_member_predictions(model, X))
    return _normal(mean, np.sqrt(var))


def _member_predictions(model: Any, X: Any) -> Iterator[FloatArray]:
    """Yield what each member of an ensemble predicts, in order."""
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


def _one_a_row(model: Any, prediction: Any) -> FloatArray:
    a = np.asarray(prediction, dtype=np.float64)
    if a.ndim == 2 and a.shape[1] == 1:
        a = a[:, 0]
    if a.ndim != 1:
        raise ValueError(
            f"{type(model).__name__}.predict gave an array of shape {a.shape}; expected one "
            f"number a row. Say what its forecast is with dist=, a callable (estimator, X) -> "
            f"Distribution."
        )
    return a


def _normal(mean: FloatArray, std: Any) -> Distribution:
    return Normal(mean, np.maximum(np.asarray(std, np.float64), _LEAST * (1.0 + np.abs(mean))))


_READERS: list[Reader] = [
    _own_distribution,
    _linear_standard_deviation,
    _standard_deviation,
    _members,
]
