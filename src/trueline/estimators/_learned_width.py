"""A width that depends on x, learned from absolute errors (section 3.4 of the paper)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np

from trueline._validation import CalibrationWarning, FloatArray, RandomState, Rows, generator
from trueline.distributions import Cut, Distribution, Normal, Point
from trueline.distributions._atoms import Atoms
from trueline.estimators._paired import simplest
from trueline.estimators._splits import LearningSplits, Split
from trueline.features import BaggedTrees, FeatureReader, tree_features
from trueline.recalibration import Isotonic
from trueline.recalibration._preparation import Preparation
from trueline.scores import expected_distances

# The forest: number of trees for few and for many rows, the product of trees and rows in between,
# rows of a leaf, share of the features, and rows drawn for a tree. Without out-of-bag predictions
# it has a share exp(-1) of these trees.
_TREES = (300, 100)
_ROWS_AND_TREES = 100_000
_LEAF = 5
_SHARE = 1 / 3
_MOST_DRAWN = 4000
# Learned widths are kept above this share of the mean absolute error, so that scores stay small.
_LEAST_SHARE = 0.1
# With fewer rows the comparison is noise, and the forecast is not changed.
_FEWEST_ROWS = 100
# With fewer errors to learn from, the test rows of a split get the usual width.
_FEWEST_ERRORS = 10


@dataclass(frozen=True, eq=False)
class LearnedWidth:
    """The width of a forecast as a function of x, made by `learn_width`.

    Attributes
    ----------
    kind : {"own", "constant", "learned"}
        The forecast's own scale, one for all rows, or one learned from absolute errors.
    crps : dict
        Held-out CRPS of the kinds that were compared, in the unit of y.
    """

    kind: str
    crps: dict[str, float]
    _width: float = 1.0  # of all rows, or the smallest learned one
    _regression: Any = None  # of absolute errors
    _reader: FeatureReader | None = None  # None if X is not used

    def apply(self, X: Any, dist: Distribution) -> Distribution:
        """Return the forecasts of these rows with this width."""
        if self.kind == "own":
            return dist
        if self._regression is None:
            return rescaled(dist, np.full(len(dist), self._width))
        features = _features(self._reader, X, dist)
        return rescaled(dist, self._positive(self._regression.predict(features)))

    def _positive(self, width: Any) -> FloatArray:
        return np.maximum(np.asarray(width, dtype=np.float64).ravel(), self._width)


@dataclass(eq=False)
class _Forest:
    """Bagged trees for any table of numbers, as a regressor."""

    rng: np.random.Generator
    categorical: Sequence[int] = ()

    def fit(
        self,
        X: FloatArray,
        y: FloatArray,
        sample_weight: FloatArray | None = None,
        *,
        out_of_bag: bool = False,
    ) -> Self:
        most, fewest = _TREES
        number = min(max(_ROWS_AND_TREES // len(y), fewest), most)
        trees = BaggedTrees(number, _LEAF, _SHARE, self.rng, _MOST_DRAWN)
        self.trees = trees.fit(
            tree_features(X),
            y,
            sample_weight,
            out_of_bag=out_of_bag,
            categorical=self.categorical,
        )
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        return self.trees.predict(tree_features(X))


def learn_width(
    scale_estimator: Any,
    X: Any,
    y: FloatArray,
    dist: Distribution,
    sample_weight: FloatArray | None,
    learning: LearningSplits,
    random_state: RandomState,
    atoms: Atoms | None = None,
    n_jobs: int | None = None,
) -> tuple[LearnedWidth, Distribution]:
    """Learn how the width of forecasts depends on x.

    The features are X, as `FeatureReader` reads it, the prediction, and the forecast's own
    scale. "auto" compares one width for all rows, the forecast's own, and that of a forest on
    absolute errors by the held-out CRPS after recalibration. It chooses the simplest that no
    other beats by more than the noise.

    Parameters
    ----------
    scale_estimator : "auto", regressor or None
        None leaves the forecast as it is, and so does "auto" for forecasts that are neither
        location-scale nor `Point`, because their shape depends on x. A regressor is fitted on
        the absolute errors of any forecast.
    dist : Distribution of n rows
        Forecasts by models that were not trained on these rows.
    learning : LearningSplits
        The width of a test row is learned from the errors of the training rows of its split. No
        row is in two test sets; a row in none gets the usual width. The forest of "auto" leaves
        independent rows out one by one instead.
    atoms : Atoms, optional
        The atoms of the outcomes, if they have some: then the width is that of the forecast
        before it is cut there.
    n_jobs : int, optional
        Number of splits whose widths are learned at a time, as in joblib.

    Returns
    -------
    LearnedWidth
        To apply to forecasts of new rows.
    Distribution
        The forecasts of these rows, with widths that were learned without them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import KFold
    >>> import trueline as tl
    >>> from trueline.estimators._learned_width import learn_width
    >>> from trueline.estimators._splits import LearningSplits
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 1))
    >>> y = rng.normal(size=500) * np.where(X[:, 0] < 0.5, 1.0, 5.0)
    >>> F = tl.Point(np.zeros(500))
    >>> folds = LearningSplits(list(KFold(5).split(X)), independent=True)
    >>> width, honest = learn_width("auto", X, y, F, None, folds, 0)
    >>> width.kind, width.apply([[0.2], [0.8]], tl.Point([0.0, 0.0])).std().round(0)
    ('learned', array([1., 4.]))
    """
    unchanged = LearnedWidth("own", {})
    if scale_estimator is None:
        return unchanged, dist
    error = _absolute_errors(y, dist, sample_weight, atoms)
    usual = float(np.average(error, weights=sample_weight))
    named = isinstance(scale_estimator, str)
    rows = len(y) if sample_weight is None else np.count_nonzero(sample_weight)
    if named and (not dist._affine_score or rows < _FEWEST_ROWS):
        return unchanged, dist
    if usual == 0.0:  # there are no errors to learn from
        return unchanged, dist
    reader, features = _read(X, dist)
    splits = learning.splits
    errors = _Errors(reader, features, dist, error, usual, sample_weight, splits, atoms)
    if not named:
        return _by_regression(scale_estimator, errors, n_jobs)
    constant = LearnedWidth("constant", {}, usual) if dist._has_spread else unchanged
    candidates = {"constant": (constant, constant.apply(X, dist))}
    if dist._has_spread:
        candidates["own"] = unchanged, dist
    forest = _Forest(generator(random_state), [] if reader is None else reader.categorical_)
    if learning.independent:
        candidates["learned"] = _by_out_of_bag(forest, errors)
    else:
        candidates["learned"] = _by_regression(forest, errors, n_jobs)
    return _simplest(candidates, y, errors, independent=learning.independent)


def _absolute_errors(
    y: FloatArray, dist: Distribution, w: FloatArray | None, atoms: Atoms | None
) -> FloatArray:
    """Return absolute errors; of an outcome that is an atom, those of the values cut to it.

    A rating of 6 is as far from a prediction of 5.5 as a rating of 5. That says nothing about
    the width of the forecast before it is cut.
    """
    centre = dist._centre()
    if atoms is None:
        return np.abs(y - centre)
    bounds = Cut(Point(centre), atoms)._score_bounds(y[:, None])
    lower, upper = (ends[:, 0] for ends in bounds)
    return expected_distances(lower, upper, w)


class _Errors(NamedTuple):
    """Absolute errors of forecasts, their mean, and what they are learned from.

    The reader is None if X is not used.
    """

    reader: FeatureReader | None
    features: FloatArray
    dist: Distribution
    error: FloatArray
    usual: float
    weight: FloatArray | None
    splits: Sequence[Split]
    atoms: Atoms | None

    def enough(self, rows: Rows) -> bool:
        """Whether these rows have enough errors to learn from."""
        known = len(rows) if self.weight is None else np.count_nonzero(self.weight[rows])
        return bool(known >= _FEWEST_ERRORS)

    def weights(self, rows: Rows) -> FloatArray | None:
        """Return the weights of these rows, if there are weights."""
        return None if self.weight is None else self.weight[rows]


def _by_out_of_bag(forest: _Forest, errors: _Errors) -> tuple[LearnedWidth, Distribution]:
    """Learn the width by a forest; return also its out-of-bag predictions.

    If rows are independent, these are valid. They are of trees that saw as many rows as those
    which predict new rows, while fewer rows of a fold can make errors look harder to foresee.
    """
    features, reader = errors.features, errors.reader
    forest.fit(features, errors.error, errors.weight, out_of_bag=True)
    width = LearnedWidth("learned", {}, _LEAST_SHARE * errors.usual, forest, reader)
    held_out = forest.trees.predict_out_of_bag(tree_features(features), errors.usual)
    return width, rescaled(errors.dist, width._positive(held_out))


def _by_regression(
    regressor: Any, errors: _Errors, n_jobs: int | None
) -> tuple[LearnedWidth, Distribution]:
    """Learn the width by a regressor; return also its cross-fitted predictions."""
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import has_fit_parameter

    features, reader = errors.features, errors.reader
    weighted = errors.weight is not None and has_fit_parameter(regressor, "sample_weight")

    def rows_of(train: Rows) -> tuple[Any, ...]:
        weight = errors.weights(train) if weighted else None
        return regressor, features[train], errors.error[train], weight

    splits = [(train, test) for train, test in errors.splits if errors.enough(train)]
    jobs = chain(
        [delayed(_fitted)(*rows_of(np.arange(len(features))))],
        (delayed(_predicted)(features[test], *rows_of(train)) for train, test in splits),
    )
    fitted_on_all, *predicted = Parallel(n_jobs)(jobs)
    width = LearnedWidth("learned", {}, _LEAST_SHARE * errors.usual, fitted_on_all, reader)
    held_out = np.full(len(features), errors.usual)
    for (_, test), prediction in zip(splits, predicted, strict=True):
        held_out[test] = width._positive(prediction)
    return width, rescaled(errors.dist, held_out)


def _fitted(regressor: Any, X: FloatArray, y: FloatArray, weight: FloatArray | None) -> Any:
    from sklearn.base import clone

    params = {} if weight is None else {"sample_weight": weight}
    return clone(regressor, safe=False).fit(X, y, **params)


def _predicted(X_new: FloatArray, *rows: Any) -> Any:
    return _fitted(*rows).predict(X_new)


def _simplest(
    candidates: dict[str, tuple[LearnedWidth, Distribution]],
    y: FloatArray,
    errors: _Errors,
    *,
    independent: bool,
) -> tuple[LearnedWidth, Distribution]:
    """Return the first candidate that no later one beats by more than the noise.

    Splits without errors to learn from are left out of the comparison.
    """
    splits = [(train, test) for train, test in errors.splits if errors.enough(train)]
    if not splits:
        return next(iter(candidates.values()))
    tests = [test for _, test in splits]
    w = errors.weights(np.concatenate(tests))
    losses = {
        name: _held_out_crps(y, dist, errors, splits) for name, (_, dist) in candidates.items()
    }
    sizes = None if independent else [len(test) for test in tests]
    best = simplest(losses, w, sizes)
    width, honest = candidates[best]
    crps = {name: float(np.average(loss, weights=w)) for name, loss in losses.items()}
    return replace(width, crps=crps), honest


def _held_out_crps(
    y: FloatArray, dist: Distribution, errors: _Errors, splits: Sequence[Split]
) -> FloatArray:
    """Return the CRPS of each test row, recalibrated by the training rows of its split."""
    if errors.atoms is not None:
        dist = Cut(dist, errors.atoms)
    losses = []
    for train, test in splits:
        with warnings.catch_warnings():
            # The map that is used in the end warns of ties.
            warnings.simplefilter("ignore", CalibrationWarning)
            R = Isotonic()._fit_prepared(
                Preparation(), y[train], dist._take(train), errors.weights(train)
            )
        losses.append(dist._take(test)._recalibrate(R.law_)._crps(y[test, None])[:, 0])
    return np.concatenate(losses)


def _read(X: Any, dist: Distribution) -> tuple[FeatureReader | None, FloatArray]:
    """Return a reader of X, None if X is no table that it can read, and the features."""
    try:
        reader = FeatureReader().fit(X)
    except (TypeError, ValueError):
        return None, _features(None, X, dist)
    return reader, _features(reader, X, dist)


def _features(reader: FeatureReader | None, X: Any, dist: Distribution) -> FloatArray:
    """Return X, if there is a reader, beside the prediction and the forecast's scale, if any."""
    columns = [] if reader is None else [reader.transform(X)]
    columns.append(dist._centre()[:, None])
    if dist._has_spread:
        columns.append(dist._width()[:, None])
    return np.hstack(columns)


def rescaled(dist: Distribution, width: FloatArray) -> Distribution:
    """Return the forecasts with the same centre and another width."""
    rescaled = dist._with(dist._centre(), width)
    # A Point has no law; the map gives it that of the errors.
    return Normal(dist._centre(), width) if rescaled is None else rescaled
