"""Odds that a row is a new one: a classifier that is chosen and corrected by cross-fitting.

The odds of a classifier that tells new rows from calibration rows are, up to a factor, the ratio of
their densities (Sugiyama, Suzuki and Kanamori, "Density ratio estimation in machine learning",
2012, chapter 4). A classifier that is too sure of itself would give all weight to a few rows.
Therefore it is judged, and its log odds are shrunk, on rows that it was not fitted on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from trueline._validation import FloatArray, Rows

_FOLDS = 5
# A more flexible classifier must have a log loss that is lower by this number of standard errors.
_MARGIN = 1.0
# Classifiers are fitted on at most this number of rows of each side.
_MOST_ROWS = 20_000
# Features, standardised features and log odds stay within these bounds.
_LARGEST = 1e100
_FARTHEST = 10.0
_LARGEST_LOG_ODDS = 20.0
# Boosting takes 255 categories and no more; FeatureReader counts from 0 for the most frequent.
_MOST_CATEGORIES = 254.0

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Classifier:
    """Tells new rows from calibration rows, made by `choose_classifier`.

    Attributes
    ----------
    name : {"constant", "logistic", "boosting"}
        The constant cannot tell them apart.
    models : list
        One fitted classifier per fold; none for the constant.
    prior : float
        The log odds that the models give a row of which nothing is known.
    slope : float
        The factor, at most 1, of the log odds of the models.
    """

    name: str
    models: list[Any]
    prior: float = 0.0
    slope: float = 1.0

    def log_odds(self, features: FloatArray) -> FloatArray:
        """Return log odds that rows are new, were both sides as large, (n,): those of all models.

        These are averaged.
        """
        out = np.zeros(len(features))
        for model in self.models:
            out += _log_odds(model, features, self.prior)
        return self.slope * out / max(len(self.models), 1)


def choose_classifier(
    features: FloatArray, is_category: Mask, is_new: Mask, rng: np.random.Generator
) -> tuple[Classifier, FloatArray]:
    """Choose the simplest classifier that no more flexible one beats by more than the noise.

    Both sides count the same, whatever their numbers of rows.

    Parameters
    ----------
    features : (n, d) array
        Numbers; NaN stands for a missing value.
    is_category : (d,) array of bool
        Whether the numbers of a column stand for categories.
    is_new : (n,) array of bool
        Whether a row is new; the others calibrate.

    Returns
    -------
    Classifier
        For any rows.
    (n,) array
        Log odds of these rows, by models that were not fitted on them.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.shift._classifier import choose_classifier
    >>> x = np.arange(300.0)
    >>> for is_new in (x % 3 == 0, x % 3 > x / 150):
    ...     rng = np.random.default_rng(0)
    ...     print(choose_classifier(x[:, None], np.array([False]), is_new, rng)[0].name)
    constant
    logistic
    """
    splits = _splits(is_new, rng)
    chosen, held_out = Classifier("constant", []), np.zeros(len(is_new))
    loss = _losses(held_out, is_new)
    for name, make in _CANDIDATES.items():
        candidate, raw = _cross_fit(name, make(is_category), features, is_new, splits)
        slope, intercept = _line(raw, is_new)
        own = _losses(intercept + slope * raw, is_new)
        gain, noise = _mean_and_error(loss - own, is_new)
        if gain > _MARGIN * noise:
            chosen, held_out, loss = replace(candidate, slope=slope), slope * raw, own
    return chosen, held_out


def _logistic(is_category: Mask) -> Any:
    numbers = make_pipeline(
        SimpleImputer(add_indicator=True, keep_empty_features=True),
        StandardScaler(),
        FunctionTransformer(np.clip, kw_args={"a_min": -_FARTHEST, "a_max": _FARTHEST}),
    )
    columns = make_column_transformer(
        (numbers, ~is_category), (OneHotEncoder(handle_unknown="ignore"), is_category)
    )
    return make_pipeline(_reader(is_category), columns, LogisticRegression(max_iter=1000))


def _boosting(is_category: Mask) -> Any:
    boosting = HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=60,
        max_leaf_nodes=8,
        l2_regularization=1.0,
        categorical_features=is_category,
        early_stopping=False,
        random_state=0,
    )
    return make_pipeline(_reader(is_category), boosting)


def _reader(is_category: Mask) -> Any:
    return FunctionTransformer(_bounded, kw_args={"is_category": is_category})


def _bounded(features: FloatArray, is_category: Mask) -> FloatArray:
    """Return features without huge numbers; the rarest of many categories become one."""
    return np.clip(features, -_LARGEST, np.where(is_category, _MOST_CATEGORIES, _LARGEST))


# From the simplest to the most flexible one.
_CANDIDATES: dict[str, Callable[[Mask], Any]] = {"logistic": _logistic, "boosting": _boosting}


def _splits(is_new: Mask, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Return the rows to fit on and to judge of each fold; rows too many are in no fold."""
    sides = [rng.permutation(np.flatnonzero(side))[:_MOST_ROWS] for side in (~is_new, is_new)]
    rows = np.sort(np.concatenate(sides))
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    return [(rows[train], rows[test]) for train, test in folds.split(rows, is_new[rows])]


def _cross_fit(
    name: str, model: Any, features: FloatArray, is_new: Mask, splits: list[tuple[Rows, Rows]]
) -> tuple[Classifier, FloatArray]:
    """Return a classifier of one model per fold, and log odds by models that did not see a row."""
    train = is_new[splits[0][0]]  # the shares of the sides are the same in all folds
    prior = float(np.log(np.count_nonzero(train) / np.count_nonzero(~train)))
    models = [clone(model).fit(features[train], is_new[train]) for train, _ in splits]
    classifier = Classifier(name, models, prior)
    found = np.full(len(is_new), np.nan)
    for fitted, (_, test) in zip(models, splits, strict=True):
        found[test] = _log_odds(fitted, features[test], prior)
    rest = np.flatnonzero(np.isnan(found))
    if rest.size:
        found[rest] = classifier.log_odds(features[rest])
    return classifier, found


def _log_odds(model: Any, features: FloatArray, prior: float) -> FloatArray:
    found = np.asarray(model.decision_function(features), dtype=np.float64) - prior
    return np.clip(found, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)


def _line(raw: FloatArray, is_new: Mask) -> tuple[float, float]:
    """Return slope and intercept that make held-out log odds true; the slope is in [0, 1]."""
    line = LogisticRegression(C=1e6, class_weight="balanced").fit(raw[:, None], is_new)
    slope = float(line.coef_[0, 0])
    if 0.0 <= slope <= 1.0:
        return slope, float(line.intercept_[0])
    return float(np.clip(slope, 0.0, 1.0)), 0.0  # both sides count the same


def _losses(log_odds: FloatArray, is_new: Mask) -> FloatArray:
    """Return the log loss of each row."""
    return np.logaddexp(0.0, np.where(is_new, -log_odds, log_odds))


def _mean_and_error(d: FloatArray, is_new: Mask) -> tuple[float, float]:
    """Return the mean of differences, in which both sides count the same, and its error."""
    sides = [d[~is_new], d[is_new]]
    mean = 0.5 * sum(float(side.mean()) for side in sides)
    variance = sum(float(side.var()) / len(side) for side in sides)
    return mean, 0.5 * float(np.sqrt(variance))
