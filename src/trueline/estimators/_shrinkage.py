"""The ratio of the scores of the final model to those of the fold models.

A map is fitted on scores of models that were trained on part of the rows. A model that is refitted
on all rows has smaller errors, and so has an ensemble of the fold models, while the average of
their CDFs is wider than each (Gneiting and Ranjan, 2013, doi:10.1214/13-EJS823). Either way,
intervals would be a little wide. Models that are trained on still fewer rows show by how much: how
errors shrink as rows are added, and how far two models disagree on a row that neither has seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from trueline._validation import FloatArray, Rows
from trueline.distributions import Distribution
from trueline.estimators._crossfit import OutOfFold
from trueline.estimators._splits import Split

# This number of test rows estimates the ratio to within two hundredths, in two fits from 1,000 rows
# on. From the second number of rows on, a fifth of the rows makes no difference.
_ENOUGH = 400
_MANY = 50_000
# Factors below this, or above its inverse, are noise.
_LEAST_FACTOR = 0.8


def find_shrinkage(
    y: FloatArray,
    dist: Distribution,
    fewer: OutOfFold,
    sample_weight: FloatArray | None,
    *,
    n_averaged: int,
) -> float:
    """Return the factor of the scores.

    The forecasts `dist` of the fold models, one per row, are compared with those of the models of
    `thinned_splits`, which have the learned widths of the same rows. If `n_averaged` is not 0, this
    number of fold models predicts together; otherwise one model that is refitted on all rows does.
    """
    n, rows = len(y), fewer.rows
    y = y[rows, None]
    weight = None if sample_weight is None else sample_weight[rows]
    score = fewer.dist._score(y)[:, 0]
    if n_averaged:
        twice = np.flatnonzero(rows[:-1] == rows[1:])
        weight = None if weight is None else weight[twice]
        return ensemble_factor(score[twice], score[twice + 1], n_averaged, weight)
    fold_score = dist._take(rows)._score(y)[:, 0]
    # A thinned model lacks two folds, and a fold model one.
    seen = n - float(np.mean([len(positions) for positions in fewer.positions]))
    sizes = (seen, 0.5 * (seen + n), float(n))
    return refit_factor(np.abs(fold_score), np.abs(score), sizes, fewer.positions, weight)


def more_trees_factor(
    error: FloatArray, noise: FloatArray, sample_weight: FloatArray | None = None
) -> float:
    """Return the share of an out-of-bag error that is left with all trees of a forest.

    `noise` is the variance by which the means over the trees that did not see a row exceed those
    over all trees.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.estimators._shrinkage import more_trees_factor
    >>> more_trees_factor(np.array([2.0, -2.0]), np.array([1.0, 0.44]))
    0.9055385138137417
    """
    square = float(np.average(error**2, weights=sample_weight))
    if not square > 0.0:
        return 1.0
    left = 1.0 - float(np.average(noise, weights=sample_weight)) / square
    return float(np.sqrt(max(left, _LEAST_FACTOR**2)))


def thinned_splits(
    splits: Sequence[Split], n: int, enough: int = _ENOUGH, farthest: int = 1
) -> list[Split]:
    """Return splits that train without the test rows of two folds, and test on both.

    There are two or more, until as many test sets as come first hold `enough` rows. The two folds
    are neighbours, and then up to `farthest` folds apart. There are none from `_MANY` rows on, or
    unless three or more splits partition the n rows and train on all rows that they do not test.
    """
    if n >= _MANY or len(splits) < 3:
        return []
    tests = [test for _, test in splits]
    every = np.sort(np.concatenate(tests))
    whole = len(every) == n and bool((every == np.arange(n)).all())
    if not whole or any(len(a) + len(b) != n for a, b in splits):
        return []
    thinned: list[Split] = []
    tested = 0
    for k, other in _pairs(len(tests), farthest):
        train = np.setdiff1d(splits[k][0], tests[other])
        thinned.append((train, np.concatenate([tests[k], tests[other]])))
        tested += len(tests[k])
        if tested >= enough and len(thinned) >= 2:
            break
    return thinned


def _pairs(n_folds: int, farthest: int) -> Iterator[tuple[int, int]]:
    """Yield each pair of folds once, neighbours in a circle first."""
    for distance in range(1, min(farthest, n_folds // 2) + 1):
        opposite = 2 * distance == n_folds
        for k in range(distance if opposite else n_folds):
            yield k, (k + distance) % n_folds


def refit_factor(
    error: FloatArray,
    thinned_error: FloatArray,
    sizes: tuple[float, float, float],
    tests: Sequence[Rows],
    sample_weight: FloatArray | None = None,
) -> float:
    """Return the share, 0.8 to 1.25, of an out-of-fold error that is left after a refit.

    Errors are taken to fall as a power of the number of rows: from b to c rows by
    (error at b / error at a) ** (log(c / b) / log(b / a)). If that ratio differs between thinned
    models, its logarithm r is pulled to 0, by the factor 1 - (standard error of r / r)^2 or to 0 at
    once (James and Stein, 1961). A factor above 1 is noise, but so is as much of those below 1:
    without the former, noise would narrow intervals on average.

    Parameters
    ----------
    error : (n,) array
        Absolute out-of-fold scores by models of b rows. Scores are used instead of errors because
        the scale of a model, such as the spread of a forest, shrinks with more rows as well.
    thinned_error : (n,) array
        Absolute scores of the same rows by models of a rows.
    sizes : (a, b, c)
        Number of rows of the thinned models, of the fold models and of the refit, increasing.
    tests : sequence of arrays
        Positions of the errors of each thinned model, of two models or more.

    Examples
    --------
    With five folds, errors that fall as the root of the number of rows:

    >>> import numpy as np
    >>> from trueline.estimators._shrinkage import refit_factor
    >>> error, thinned_error = np.full(9, 80**-0.5), np.full(9, 60**-0.5)
    >>> tests = [np.arange(5), np.arange(5, 9)]
    >>> round(refit_factor(error, thinned_error, (60, 80, 100), tests), 4)
    0.8944
    """
    a, b, c = sizes
    w = np.ones(len(error)) if sample_weight is None else sample_weight
    now = np.array([w[at] @ error[at] for at in tests])
    before = np.array([w[at] @ thinned_error[at] for at in tests])
    if not ((now > 0.0).all() and (before > 0.0).all() and 0.0 < a < b < c):
        return 1.0
    ratio = float(np.log(now.sum() / before.sum()))
    noise = float(np.log(now / before).std(ddof=1)) / np.sqrt(len(tests))
    if abs(ratio) <= noise:
        return 1.0
    kept = ratio * (1.0 - (noise / ratio) ** 2)
    factor = float(np.exp(kept * np.log(c / b) / np.log(b / a)))
    return min(max(factor, _LEAST_FACTOR), 1.0 / _LEAST_FACTOR)


def ensemble_factor(
    score: FloatArray,
    other_score: FloatArray,
    n_folds: int,
    sample_weight: FloatArray | None = None,
) -> float:
    """Return the factor, 0.8 to 1, of a fold model's scores that calibrates the mean of K CDFs.

    Let v be the mean square of a model's score, and b that of the scatter of the K models about
    their mean, in units of score. The mean square error of their mean is v - b, and the average of
    K laws of variance c^2 v has the variance c^2 v + b, so that c^2 = 1 - 2 b / v. For two models,
    b is half the mean square of their difference; for K models, (K - 1) / K of that. It grows with
    the share of the rows that two models do not have in common: 1 in K - 1 for those of the
    ensemble, 1 in K - 2 for those compared here. Mean absolute values replace the root mean
    squares, which a few extreme scores would dominate.

    Parameters
    ----------
    score, other_score : (n,) array
        Scores of the same rows by two models, trained without them and without another fold each.
    n_folds : int
        K.

    Examples
    --------
    Models that differ by a quarter of their errors:

    >>> import numpy as np
    >>> from trueline.estimators._shrinkage import ensemble_factor
    >>> round(ensemble_factor(np.array([1.0, -1.0]), np.array([1.25, -0.75]), 5), 4)
    0.9811
    """
    size = float(np.average(0.5 * (np.abs(score) + np.abs(other_score)), weights=sample_weight))
    if not 0.0 < size < np.inf:
        return 1.0
    apart = float(np.average(np.abs(score - other_score), weights=sample_weight))
    left = 1.0 - (apart / size) ** 2 * (n_folds - 2) / n_folds
    return float(np.sqrt(max(left, _LEAST_FACTOR**2)))
