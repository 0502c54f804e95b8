"""Training of many models at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from sklearn.base import clone

from trueline.models._regressor import NetworkRegressor, fit_jobs

Model = TypeVar("Model", bound=NetworkRegressor)


def fit_many(
    models: Model | Sequence[Model], data: Iterable[Sequence[Any]], *, progress: bool = False
) -> list[Model]:
    """Fit networks on several data sets in one batched computation.

    Folds, splits and ensembles are many small networks of one shape, and a processor trains them
    several times faster together than one after another. Each network has its own random numbers
    and early stopping, so each equals ``clone(model).fit(X, y)`` up to the rounding of sums.
    During training this difference can grow to that between two seeds.

    Parameters
    ----------
    models : model or sequence of models
        One model for all data sets, or one for each. Copies are fitted. Models that differ in the
        number of features, or in a parameter other than `random_state`, are trained in turn.
    data : iterable of (X, y) or (X, y, sample_weight)
        The data sets.
    progress : bool, default False
        Whether to show the progress of training on the standard error.

    Returns
    -------
    list of models
        The fitted models, in the order of the data sets.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import KFold
    >>> from trueline.models import DropoutRegressor, fit_many
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = X[:, 0] + rng.normal(size=100)
    >>> model = DropoutRegressor(hidden=(16,), max_epochs=10, random_state=0)
    >>> folds = [(X[train], y[train]) for train, test in KFold(5).split(X)]
    >>> [len(m.predict(X)) for m in fit_many(model, folds)]
    [100, 100, 100, 100, 100]
    """
    sets = [tuple(rows) for rows in data]
    for i, rows in enumerate(sets):
        if len(rows) not in (2, 3):
            raise ValueError(
                f"data[{i}] has {len(rows)} parts; expected (X, y) or (X, y, sample_weight)."
            )
    given = [models] * len(sets) if isinstance(models, NetworkRegressor) else list(models)
    if len(given) != len(sets):
        raise ValueError(
            f"there are {len(given)} models and {len(sets)} data sets; expected one model for all "
            f"or one for each."
        )
    for model in given:
        if not isinstance(model, NetworkRegressor):
            raise TypeError(f"got a {type(model).__name__}; expected a model of trueline.models.")
    fitted = [clone(model) for model in given]
    jobs = [model._job(*rows) for model, rows in zip(fitted, sets, strict=True)]
    if jobs:
        fit_jobs(jobs, progress=progress)
    return fitted
