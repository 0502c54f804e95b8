"""A width that depends on x, learned from absolute errors (section 3.4 of the paper)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueline._validation import CalibrationWarning, FloatArray, RandomState, Rows, generator
from trueline.distributions import Distribution, Normal
from trueline.recalibration import BaggedTrees, Isotonic, as_features, tree_features

_TREES = 300
_LEAF = 5
_SHARE = 1 / 3
_FOLDS = 5
# Learned widths are kept above this share of the mean absolute error, so that scores stay small.
_LEAST_SHARE = 0.1
# With fewer rows the comparison is noise, and the forecast is not changed.
_FEWEST_ROWS = 100
# A more elaborate width must gain this many standard errors of the paired differences.
_MARGIN = 1.0


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
    _reads_x: bool = False

    def apply(self, X: Any, dist: Distribution) -> Distribution:
        """Return the forecasts of these rows with this width."""
        if self.kind == "own":
            return dist
        if self._regression is None:
            return rescaled(dist, np.full(len(dist), self._width))
        features = _features(X if self._reads_x else None, dist)
        return rescaled(dist, self._positive(self._regression.predict(features)))

    def apply_out_of_bag(self, X: Any, dist: Distribution, rows: Rows) -> Distribution:
        """Return other forecasts of these rows of the fit with this width.

        The forest leaves each row out; a regressor of the user was trained on all of them.
        """
        if not isinstance(self._regression, _Forest):
            return self.apply(X, dist)
        features = _features(X if self._reads_x else None, dist)
        return rescaled(dist, self._positive(self._regression.predict_out_of_bag(features, rows)))

    def _positive(self, width: Any) -> FloatArray:
        return np.maximum(np.asarray(width, dtype=np.float64).ravel(), self._width)


@dataclass(frozen=True, eq=False)
class _Forest:
    """Bagged trees for any table of numbers."""

    trees: BaggedTrees
    usual: float

    def predict(self, X: FloatArray) -> FloatArray:
        return self.trees.predict(tree_features(X))

    def predict_out_of_bag(self, X: FloatArray, rows: Rows) -> FloatArray:
        width, unseen = self.trees.predict_out_of_bag(tree_features(X), rows)
        # The few rows that are in the sample of every tree get the mean width.
        return np.where(unseen > 0, width, self.usual)


def learn_width(
    scale_estimator: Any,
    X: Any,
    y: FloatArray,
    dist: Distribution,
    sample_weight: FloatArray | None,
    random_state: RandomState,
) -> tuple[LearnedWidth, Distribution]:
    """Learn how the width of forecasts depends on x.

    The features are X, if it is a table of numbers, the prediction, and the forecast's own
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

    Returns
    -------
    LearnedWidth
        To apply to forecasts of new rows.
    Distribution
        The forecasts of these rows, with widths that were learned without them.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.estimators._learned_width import learn_width
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 1))
    >>> y = rng.normal(size=500) * np.where(X[:, 0] < 0.5, 1.0, 5.0)
    >>> width, honest = learn_width("auto", X, y, tl.Point(np.zeros(500)), None, 0)
    >>> width.kind, width.apply([[0.2], [0.8]], tl.Point([0.0, 0.0])).std().round(0)
    ('learned', array([1., 4.]))
    """
    if scale_estimator is None:
        return LearnedWidth("own", {}), dist
    error = np.abs(y - dist._centre())
    usual = float(np.average(error, weights=sample_weight))
    rng = generator(random_state)
    errors = _Errors(X, dist, error, usual, sample_weight, rng)
    if not isinstance(scale_estimator, str):
        if usual == 0.0:  # there are no errors to learn from
            return LearnedWidth("own", {}), dist
        return _by_regressor(scale_estimator, errors)
    rows = len(y) if sample_weight is None else np.count_nonzero(sample_weight)
    if not dist._affine_score or usual == 0.0 or rows < _FEWEST_ROWS:
        return LearnedWidth("own", {}), dist
    candidates: dict[str, tuple[LearnedWidth, Distribution]] = {}
    if not dist._has_spread:
        candidates["constant"] = LearnedWidth("own", {}), dist
    else:
        constant = LearnedWidth("constant", {}, usual)
        candidates["constant"] = constant, constant.apply(X, dist)
        candidates["own"] = LearnedWidth("own", {}), dist
    candidates["learned"] = _by_forest(errors)
    return _simplest(candidates, y, sample_weight, rng)


class _Errors(NamedTuple):
    """Absolute errors of forecasts, their mean, and what they are learned from."""

    X: Any
    dist: Distribution
    error: FloatArray
    usual: float
    weight: FloatArray | None
    rng: np.random.Generator


def _by_forest(errors: _Errors) -> tuple[LearnedWidth, Distribution]:
    """Learn the width by a forest; return also its out-of-bag predictions."""
    X, dist, error, usual, w, rng = errors
    reads_x, features = _read(X, dist)
    trees = BaggedTrees(_TREES, _LEAF, _SHARE, rng).fit(tree_features(features), error, w)
    width = LearnedWidth("learned", {}, _LEAST_SHARE * usual, _Forest(trees, usual), reads_x)
    return width, width.apply_out_of_bag(X, dist, np.arange(len(dist)))


def _by_regressor(regressor: Any, errors: _Errors) -> tuple[LearnedWidth, Distribution]:
    """Learn the width by a regressor; return also its cross-fitted predictions."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.utils.validation import has_fit_parameter

    X, dist, error, usual, w, rng = errors
    reads_x, features = _read(X, dist)
    weighted = w is not None and has_fit_parameter(regressor, "sample_weight")
    params = {"sample_weight": w} if weighted else {}
    if len(error) < 2:
        held_out = np.full(len(error), usual)
    else:
        folds = KFold(min(_FOLDS, len(error)), shuffle=True, random_state=int(rng.integers(2**31)))
        held_out = cross_val_predict(clone(regressor), features, error, cv=folds, params=params)
    fitted = clone(regressor).fit(features, error, **params)
    width = LearnedWidth("learned", {}, _LEAST_SHARE * usual, fitted, reads_x)
    return width, rescaled(dist, width._positive(held_out))


def _simplest(
    candidates: dict[str, tuple[LearnedWidth, Distribution]],
    y: FloatArray,
    w: FloatArray | None,
    rng: np.random.Generator,
) -> tuple[LearnedWidth, Distribution]:
    """Return the first candidate that no later one beats by more than the noise."""
    fold = rng.permutation(len(y)) % _FOLDS
    losses = {name: _held_out_crps(y, dist, w, fold) for name, (_, dist) in candidates.items()}
    names = list(candidates)
    best = names[0]
    for name in names[1:]:
        gain, noise = _mean_and_error(losses[best] - losses[name], w)
        if gain > _MARGIN * noise:
            best = name
    width, honest = candidates[best]
    crps = {name: float(np.average(loss, weights=w)) for name, loss in losses.items()}
    return replace(width, crps=crps), honest


def _held_out_crps(
    y: FloatArray, dist: Distribution, w: FloatArray | None, fold: NDArray[np.int64]
) -> FloatArray:
    """Return the CRPS of each row, recalibrated by the rows of the other folds."""
    s = dist._score(y[:, None])[:, 0]
    out = np.empty(len(y))
    for k in range(_FOLDS):
        test = np.flatnonzero(fold == k)
        train = np.flatnonzero(fold != k)
        weight = None if w is None else w[train]
        with warnings.catch_warnings():
            # The map that is used in the end warns of ties.
            warnings.simplefilter("ignore", CalibrationWarning)
            R = Isotonic().fit_scores(s[train], sample_weight=weight, kind=dist.score_kind)
        out[test] = R.transform(dist._take(test))._crps(y[test, None])[:, 0]
    return out


def _mean_and_error(d: FloatArray, w: FloatArray | None) -> tuple[float, float]:
    """Return the weighted mean of paired differences, and its standard error."""
    share = np.full(len(d), 1.0 / len(d)) if w is None else w / w.sum()
    mean = float(share @ d)
    return mean, float(np.sqrt(share**2 @ (d - mean) ** 2))


def _read(X: Any, dist: Distribution) -> tuple[bool, FloatArray]:
    """Return whether X is a table of numbers that trees can read, and the features."""
    try:
        as_features(X)
    except (TypeError, ValueError):
        return False, _features(None, dist)
    return True, _features(X, dist)


def _features(X: Any, dist: Distribution) -> FloatArray:
    """Return X, unless None, beside the prediction and the forecast's scale, if it has one."""
    columns = [] if X is None else [as_features(X)]
    columns.append(dist._centre()[:, None])
    if dist._has_spread:
        columns.append(dist._width()[:, None])
    return np.hstack(columns)


def rescaled(dist: Distribution, width: FloatArray) -> Distribution:
    """Return the forecasts with the same centre and another width."""
    rescaled = dist._with(dist._centre(), width)
    # A Point has no law; the map gives it that of the errors.
    return Normal(dist._centre(), width) if rescaled is None else rescaled
