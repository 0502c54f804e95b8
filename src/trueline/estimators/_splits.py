"""The rows to train and to test on, for the estimator and for what is learned from its errors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, KFold, check_cv

from trueline._validation import CalibrationWarning, FloatArray, Rows

Split = tuple[Rows, Rows]

# Rows with equal features are copies if they share their outcome nearly always. This is the least
# share of them that do, after what chance explains is taken off, as in Cohen's kappa.
_NEARLY_ALWAYS = 0.9
# Copies stay together, with a warning, if a larger share of the rows repeat an earlier row. With a
# smaller share, intervals of 90% hold for at least (0.9 - 0.2) / 0.8 = 87.5% of new rows in any
# case, and for 90% if new rows repeat old ones as often as these repeat each other.
_MANY_COPIES = 0.2
# What is learned from errors is fitted once per split; more splits are merged.
_MOST_SPLITS = 10
# Number of folds of calibration rows that the user's splits do not divide.
_FOLDS = 5
_ODD = np.uint64(0x9E3779B97F4A7C15)


def make_splits(cv: Any, X: Any, y: FloatArray, params: dict[str, Any], seed: int) -> list[Split]:
    """Return the (train, test) rows of each fold.

    An integer is a number of folds of shuffled rows, in which many copies of rows stay together.
    """
    if isinstance(cv, int | np.integer):
        return _shuffled(int(cv), X, y, seed)
    splits = [(_row_numbers(a), _row_numbers(b)) for a, b in check_cv(cv).split(X, y, **params)]
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


def _row_numbers(index: Any) -> Rows:
    a = np.asarray(index)
    return np.flatnonzero(a) if a.dtype == bool else a.astype(np.intp)


def _shuffled(n_folds: int, X: Any, y: FloatArray, seed: int) -> list[Split]:
    n = len(y)
    if n < n_folds:
        raise ValueError(
            f"cv is {n_folds}, but there are too few rows for as many folds: n_samples={n}. "
            f"Give more rows, or fewer folds."
        )
    # Rows of files are often sorted, and neighbours are not a sample of future rows.
    folds = KFold(n_folds, shuffle=True, random_state=seed)
    original = find_copies(X, y)
    distinct = n if original is None else int(original.max()) + 1
    if original is None or distinct < n_folds or n - distinct <= _MANY_COPIES * n:
        return list(folds.split(np.empty(n)))
    warnings.warn(
        f"{n - distinct} of {n} rows repeat the features and the outcome of an earlier row. "
        f"Copies of a row stay in one fold, so that no model is tested on a row that it was "
        f"trained on. If rows also belong together in other ways, such as those of one "
        f"patient, use cv=GroupKFold() and fit(X, y, groups=groups).",
        CalibrationWarning,
        stacklevel=4,
    )
    tested = (np.isin(original, test) for _, test in folds.split(np.empty(distinct)))
    return [(np.flatnonzero(~inside), np.flatnonzero(inside)) for inside in tested]


def find_copies(X: Any, y: FloatArray) -> Rows | None:
    """Number the distinct rows by first appearance; return the number of each row, (n,).

    Rows are copies if their features and outcomes are equal. The result is None if there are none,
    if X is not a dense table, or if rows with equal features often differ in their outcome: then
    the features have few values, and equal outcomes are no sign of a copy.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.estimators._splits import find_copies
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [1.0, 5.0], [3.0, 5.0]])
    >>> find_copies(X, np.array([10.0, 11.0, 10.0, 12.0]))
    array([0, 1, 0, 2])
    >>> weekday = np.array([[1.0], [2.0], [1.0], [2.0], [1.0]])
    >>> find_copies(weekday, np.array([3.0, 4.0, 3.0, 5.0, 6.0])) is None
    True
    """
    _, outcome, times = np.unique(y, return_inverse=True, return_counts=True)
    if times.max() == 1:
        return None
    keys = _row_keys(X)
    if keys is None:
        return None
    _, features, alike = np.unique(keys, return_inverse=True, return_counts=True)
    if alike.max() == 1:
        return None
    _, first, row, same = np.unique(
        features * len(times) + outcome, return_index=True, return_inverse=True, return_counts=True
    )
    others = alike[features] - 1  # rows with equal features
    agree = float(np.mean((same[row] - 1)[others > 0] / others[others > 0]))
    n = len(y)
    chance = float(times @ (times - 1.0)) / (n * (n - 1.0))
    if same.max() == 1 or agree - chance < _NEARLY_ALWAYS * (1.0 - chance) or chance == 1.0:
        return None
    order = np.empty(len(first), dtype=np.intp)
    order[np.argsort(first)] = np.arange(len(first))
    return order[row]


def _row_keys(X: Any) -> NDArray[np.uint64] | None:
    """Return a hash of each row of a dense table, equal for equal rows; None for other data."""
    if hasattr(X, "toarray"):
        return None
    table = np.asarray(X)
    if table.ndim != 2:
        return None
    keys = np.zeros(len(table), dtype=np.uint64)
    for column in table.T:
        keys = (keys ^ _value_keys(column)) * _ODD
        keys ^= keys >> np.uint64(32)
    return keys


def _value_keys(column: NDArray[Any]) -> NDArray[np.uint64]:
    if column.dtype.kind == "f":
        # The sum turns -0.0 to 0.0; missing values may differ in their bits.
        values = np.where(np.isnan(column), np.nan, column + 0.0)
        return values.astype(np.float64).view(np.uint64)
    if column.dtype.kind in "biumM":
        return column.astype(np.int64).view(np.uint64)
    return np.fromiter((hash(str(value)) for value in column), np.int64, len(column)).view(
        np.uint64
    )


# ---- what is learned from errors ---------------------------------------------------------


class LearningSplits(NamedTuple):
    """Splits of the calibration rows, and whether all their rows are independent.

    If they are not, the rows of one test set may resemble each other more than those of two.
    """

    splits: list[Split]
    independent: bool


def learning_splits(
    splits: Sequence[Split],
    rows: Rows,
    n: int,
    X: Any,
    y: FloatArray,
    groups: Any,
    seed: int,
    *,
    shuffled: bool = True,
) -> LearningSplits:
    """Return the splits of the calibration rows for what is learned from their errors.

    What a test row of split k needs is learned from calibration rows that split k trains on.
    Hence folds in time never look ahead, and groups are never mixed.

    Parameters
    ----------
    splits : sequence of (train, test)
        The user's splits of n rows; empty if there are none, as for a `FrozenEstimator`.
    rows : (m,) array
        The calibration rows, sorted: those in a test set.
    X, y
        Features and outcomes of the calibration rows.
    groups : (m,) array, optional
        Their groups, if the user's splits keep groups together.
    shuffled : bool
        Whether the splits are folds of shuffled rows rather than those of a splitter.

    Returns
    -------
    LearningSplits
        Its rows are positions in `rows`. No row is in two test sets; a row that is tested often
        belongs to its first test. If the user's splits do not divide the calibration rows, these
        are folds of groups, or of shuffled rows. Neighbouring splits are merged if there are many.
    """
    position = np.full(n, -1, dtype=np.intp)
    position[rows] = np.arange(len(rows))
    untested = np.ones(len(rows), dtype=bool)
    found: list[Split] = []
    for train, test in splits:
        at = position[test]
        at = at[untested[at]]
        untested[at] = False
        if len(at):
            known = position[train]
            found.append((known[known >= 0], at))
    divided = any(len(train) for train, _ in found)
    if divided:
        found = _merged(found, len(rows))
    elif groups is not None:
        n_folds = min(_FOLDS, len(np.unique(groups)))
        found = list(GroupKFold(n_folds).split(y, groups=groups)) if n_folds > 1 else []
    else:
        found = _shuffled(min(_FOLDS, len(y)), X, y, seed) if len(y) > 1 else []
    independent = (shuffled if divided else groups is None) and find_copies(X, y) is None
    return LearningSplits(found, independent)


def _merged(splits: Sequence[Split], n: int) -> list[Split]:
    """Merge neighbouring splits until there are few: test on all, train on what all train on."""
    merged = []
    for part in np.array_split(np.arange(len(splits)), min(len(splits), _MOST_SPLITS)):
        together = [splits[k] for k in part]
        times = np.bincount(np.concatenate([train for train, _ in together]), minlength=n)
        tests = np.concatenate([test for _, test in together])
        merged.append((np.flatnonzero(times == len(together)), tests))
    return merged
