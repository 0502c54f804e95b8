"""Checks of the parameters and the data of a `CalibratedRegressor`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.utils import check_array, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _num_samples

from trueline._labels import check_labels
from trueline._validation import CalibrationWarning, FloatArray, weights
from trueline.distributions import Distribution
from trueline.recalibration import Recalibrator
from trueline.recalibration._preparation import check_support


def check_params(model: Any) -> None:
    """Raise if a parameter is invalid; `method` is checked where it is resolved."""
    _check_estimator(model.estimator, model.dist)
    _check_cv(model.cv)
    chosen = isinstance(model.ensemble, bool | np.bool_)
    if not chosen and not (isinstance(model.ensemble, str) and model.ensemble == "auto"):
        raise ValueError(f"ensemble is {model.ensemble!r}; expected 'auto', True or False.")
    without_folds = is_train(model.cv) or isinstance(model.estimator, FrozenEstimator)
    if chosen and model.ensemble and without_folds:
        without = "cv='train'" if is_train(model.cv) else "a FrozenEstimator"
        raise ValueError(
            f"ensemble=True averages the models of the folds, but {without} has no folds. "
            f"Use ensemble=False."
        )
    if not isinstance(model.shrinkage, bool | np.bool_):
        raise ValueError(f"shrinkage is {model.shrinkage!r}; expected True or False.")
    check_support(model.support)
    check_verbose(model.verbose)
    scale = model.scale_estimator
    if scale is not None and not (scale == "auto" if isinstance(scale, str) else learns(scale)):
        raise ValueError(
            f"scale_estimator is {scale!r}; expected 'auto', a regressor with fit and predict, "
            f"or None."
        )
    if model.dist is not None and not callable(model.dist):
        raise TypeError(
            f"dist is {model.dist!r}; expected a callable (estimator, X) -> Distribution, or None. "
            f"Forecasts that are already made need no estimator: fit a recalibrator on them, such "
            f"as Isotonic().fit(y, dist)."
        )


def _check_estimator(estimator: Any, dist: Any) -> None:
    if isinstance(estimator, type):
        raise TypeError(
            f"estimator is the class {estimator.__name__}; expected an object: "
            f"{estimator.__name__}()."
        )
    frozen = isinstance(estimator, FrozenEstimator)
    forecasts = dist is not None or hasattr(estimator, "predict_dist") or _predicts(estimator)
    if not forecasts or not (frozen or hasattr(estimator, "fit")):
        raise TypeError(
            f"estimator is {estimator!r}; expected a regressor with fit and predict. Wrap a model "
            f"that is already trained in FrozenEstimator(model); pass the forecast of one without "
            f"predict with dist=, a callable (estimator, X) -> Distribution."
        )
    if hasattr(estimator, "__sklearn_tags__") and not frozen and is_classifier(estimator):
        raise TypeError(
            f"estimator is {estimator!r}, a classifier; expected a regressor. For classifiers "
            f"there is sklearn.calibration.CalibratedClassifierCV."
        )


def _check_cv(cv: Any) -> None:
    if isinstance(cv, str):
        good = is_train(cv)
    elif isinstance(cv, int | np.integer):
        good = not isinstance(cv, bool) and int(cv) >= 2
    else:
        good = hasattr(cv, "split") or hasattr(cv, "__iter__")
    if not good:
        prefit = isinstance(cv, str) and cv == "prefit"
        hint = " A model that is already trained is FrozenEstimator(model)." if prefit else ""
        raise ValueError(
            f"cv is {cv!r}; expected an integer of 2 or more, a splitter such as KFold(), an "
            f"iterable of (train, test) rows, or 'train'.{hint}"
        )


def learns(estimator: Any) -> bool:
    """Whether an estimator has fit and predict."""
    return hasattr(estimator, "fit") and hasattr(estimator, "predict")


def _predicts(estimator: Any) -> bool:
    """Whether an estimator has predict, or will have it after fit, as a `StackingRegressor`."""
    if hasattr(estimator, "predict"):
        return True
    sure = hasattr(type(estimator), "predict") and hasattr(estimator, "__sklearn_tags__")
    return sure and is_regressor(estimator)


def is_train(cv: Any) -> bool:
    """Whether to calibrate on the training rows."""
    return isinstance(cv, str) and cv == "train"


def splits_by_group(cv: Any) -> bool:
    """Whether a splitter uses groups; one without metadata routing is assumed to."""
    if not hasattr(cv, "split"):
        return False
    if not hasattr(cv, "get_metadata_routing"):
        return True
    return "groups" in get_routing_for_object(cv).split.requests


def check_rows(
    X: Any, y: Any, sample_weight: Any, groups: Any
) -> tuple[Any, FloatArray, FloatArray | None, Any]:
    """Check the arguments of ``fit`` except for X, which the estimator checks."""
    if y is None:
        raise ValueError(
            "CalibratedRegressor requires y to be passed, but the target y is None. "
            "Pass the outcomes: fit(X, y)."
        )
    given = y
    if np.asarray(y).dtype.kind in "mM":
        raise TypeError(
            f"y holds times ({np.asarray(y).dtype}); expected numbers. Convert them to the "
            f"time since a start: (y - start) / np.timedelta64(1, 'D')."
        )
    try:
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    except ValueError as error:
        raise ValueError(f"{error}{_where_not_finite(y)}") from None
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(
            f"y has shape {y.shape}; expected one outcome per row, ({len(y)},). Calibrate each "
            f"column with a model of its own: CalibratedRegressor(estimator).fit(X, y[:, 0])."
        )
    y = column_or_1d(y, warn=True)
    for name, other in (("X", X), ("groups", groups)):
        if other is not None and _num_samples(other) != len(y):
            what = "one outcome and one group" if name == "groups" else "one outcome"
            raise ValueError(
                f"{name} has {_num_samples(other)} rows, but y has {len(y)}: inconsistent numbers "
                f"of samples. Give {what} per row."
            )
    check_labels(4, X=X, y=given, sample_weight=sample_weight, groups=groups)
    X, y, groups = indexable(X, y, groups)
    return X, y, weights(sample_weight, len(y)), None if groups is None else np.asarray(groups)


def _where_not_finite(y: Any) -> str:
    """Return a sentence about outcomes that are not finite; empty if all are."""
    outcomes = np.asarray(y)
    bad = np.flatnonzero(~np.isfinite(outcomes)) if outcomes.dtype.kind == "f" else np.zeros(0)
    if not bad.size:
        return ""
    return f" {bad.size} of {len(y)} outcomes, the first in row {bad[0]}: drop those rows first."


def refuse_without_groups(recalibrator: Recalibrator) -> None:
    """Raise if a fitted map needs the group of each row."""
    if recalibrator.needs_groups:
        raise ValueError(
            f"groups is missing, but this model was fitted with one map per group "
            f"({recalibrator._call()}). Pass the group of each row as well: groups=groups."
        )


def check_groups(recalibrator: Recalibrator, cv: Any, groups: Any) -> None:
    """Raise if groups are needed and missing, or given and not used."""
    if recalibrator.needs_groups:
        if groups is None:
            raise ValueError(
                f"groups is missing, but {recalibrator._call()} fits one map per group. Pass the "
                f"group of each row: fit(X, y, groups=groups)."
            )
    elif groups is None and isinstance(cv, GroupsConsumerMixin):
        raise ValueError(
            f"groups is missing, but cv={cv!r} splits by group. Pass the group of each row: "
            f"fit(X, y, groups=groups)."
        )
    elif groups is not None and not splits_by_group(cv):
        raise ValueError(
            f"groups was given, but {recalibrator._call()} fits one map for all rows and cv={cv!r} "
            f"does not split by group. Use method=Grouped() for one map per group, or "
            f"cv=GroupKFold() to keep groups together."
        )


def inherited(tags: Any, inner: Any) -> Any:
    """Return scikit-learn's tags of an estimator, with the capabilities of the one inside."""
    try:
        base = get_tags(inner)
    except (AttributeError, TypeError):  # not an estimator of scikit-learn
        return tags
    tags.input_tags.sparse = base.input_tags.sparse
    tags.input_tags.allow_nan = base.input_tags.allow_nan
    tags.non_deterministic = base.non_deterministic
    return tags


def check_verbose(verbose: Any) -> None:
    """Raise unless `verbose` is a number of details to show."""
    if not isinstance(verbose, int | np.integer | np.bool_) or verbose < 0:
        raise ValueError(
            f"verbose is {verbose!r}; expected 0 (show nothing), 1 (show the steps) or 2 (with "
            f"details)."
        )


def warn_if_folds_are_small(model: Any, dist: Distribution, tail: float) -> None:
    """Warn if a level beyond `tail` was requested of a mixture whose components do not support it.

    A mixture has no calibration rows of its own; each component has those of a fold. Other
    forecasts give this warning themselves.
    """
    low, high = dist._component_support
    least = max(low, 1.0 - high)
    if (low, high) != dist._supported and tail < least * (1.0 - 1e-9):
        per_fold = hasattr(model, "recalibrators_")
        warnings.warn(
            f"levels {tail:.6g} to {1.0 - tail:.6g} were requested, but "
            f"{'the smallest fold' if per_fold else 'the map'} supports {least:.6g} to "
            f"{1.0 - least:.6g}: quantiles beyond are read off the extrapolated tails. Use "
            f"{'ensemble=False, fewer folds, or ' if per_fold else ''}more rows.",
            CalibrationWarning,
            stacklevel=3,
        )
