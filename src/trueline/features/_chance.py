"""The chance of an event given the features, learned on other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.features._table import Table

# Settings of the boosting. Of six that were tried on five simulated laws, with 500 and 3,000 rows,
# these were the cheapest, and as good as the best.
_BOOSTING = {
    "learning_rate": 0.1,
    "max_iter": 30,
    "max_leaf_nodes": 4,
    "min_samples_leaf": 20,
    "l2_regularization": 5.0,
}
# Number of rows that a boosting is fitted on, at most.
_MOST_ROWS = 20_000
# With fewer rows of the event, or without it, there is nothing to learn from.
_FEWEST = 10


def held_out_chance(
    table: Table,
    event: NDArray[np.bool_],
    w: FloatArray | None,
    rng: np.random.Generator,
    folds: int = 5,
) -> FloatArray:
    """Return the probability of an event given x for each row, learned on the other folds, (n,).

    The learner is a small gradient boosting of trees, which reads categories and missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import Table, held_out_chance
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=1000)
    >>> event = rng.uniform(size=1000) < np.where(x < 0.5, 0.9, 0.2)
    >>> p = held_out_chance(Table.read(x, 1000), event, None, rng)
    >>> bool(p[x < 0.4].min() > 0.6 and p[x > 0.6].max() < 0.4)
    True
    """
    n, values = len(table), table.frequent()
    fold = rng.permutation(n) % folds
    found = np.empty(n)
    for k in range(folds):
        test = np.flatnonzero(fold == k)
        train = np.flatnonzero(fold != k)
        if len(train) > _MOST_ROWS:
            train = np.sort(rng.choice(train, _MOST_ROWS, replace=False))
        weight = None if w is None else w[train]
        found[test] = _predicted(
            values[train], event[train], weight, values[test], table.categorical, rng
        )
    return found


def _predicted(
    X: FloatArray,
    event: NDArray[np.bool_],
    w: FloatArray | None,
    X_new: FloatArray,
    categorical: NDArray[np.bool_],
    rng: np.random.Generator,
) -> FloatArray | float:
    """Fit on some rows; return the probability for others."""
    rare = min(np.count_nonzero(event), np.count_nonzero(~event))
    # scikit-learn cannot read a column without values.
    known = ~np.isnan(X).all(axis=0)
    if rare < _FEWEST or not known.any():
        share = np.average(event, weights=w)
        # Half an event more of either kind keeps the logarithm finite.
        return float((share * len(event) + 0.5) / (len(event) + 1.0))
    from sklearn.ensemble import HistGradientBoostingClassifier

    model: Any = HistGradientBoostingClassifier(
        **_BOOSTING,
        categorical_features=categorical[known],
        early_stopping=False,
        random_state=int(rng.integers(2**31)),
    )
    model.fit(X[:, known], event, sample_weight=w)
    return np.asarray(model.predict_proba(X_new[:, known])[:, 1])
