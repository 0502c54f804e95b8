"""Errors say what was received, what was expected and how to fix it."""

import re
from functools import partial

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold, KFold

import trueline as tl
from trueline.estimators import CalibratedRegressor

X = np.random.default_rng(0).normal(size=(40, 2))
Y = X[:, 0] + np.random.default_rng(1).normal(size=40)


def refused(error, call):
    """Return the message of the error that a call raises."""
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def model(estimator=None, **params):
    base = LinearRegression() if estimator is None else estimator
    return CalibratedRegressor(base, **{"scale_estimator": None, "random_state": 0, **params})


class Silent:
    """Neither predicts nor prints."""

    def fit(self, X, y):
        return self

    def __repr__(self):
        return "Silent()"


NAMES = "'isotonic', 'smooth', 'beta', 'scaling', 'grouped', 'auto', 'conditional', 'idr'"
A_REGRESSOR = (
    "expected a regressor with fit and predict. Wrap a model that is already trained in "
    "FrozenEstimator(model); pass the forecast of one without predict with dist=, a "
    "callable (estimator, X) -> Distribution."
)
A_SPLIT = (
    "expected an integer of 2 or more, a splitter such as KFold(), an iterable of (train, test) "
    "rows, or 'train'."
)

PARAMETERS = {
    "a class": (
        {"estimator": LinearRegression},
        TypeError,
        "estimator is the class LinearRegression; expected an object: LinearRegression().",
    ),
    "no predict": ({"estimator": Silent()}, TypeError, f"estimator is Silent(); {A_REGRESSOR}"),
    "no model": ({"estimator": "ridge"}, TypeError, f"estimator is 'ridge'; {A_REGRESSOR}"),
    "clusters": ({"estimator": DBSCAN()}, TypeError, f"estimator is DBSCAN(); {A_REGRESSOR}"),
    "a classifier": (
        {"estimator": LogisticRegression()},
        TypeError,
        (
            "estimator is LogisticRegression(), a classifier; expected a regressor. For "
            "classifiers there is sklearn.calibration.CalibratedClassifierCV."
        ),
    ),
    "a word for verbose": (
        {"verbose": "yes"},
        ValueError,
        "verbose is 'yes'; expected 0 (show nothing), 1 (show the steps) or 2 (with details).",
    ),
    "misspelt method": (
        {"method": "isotone"},
        ValueError,
        (
            "method is 'isotone'; expected a recalibrator such as Isotonic(), or one of the names "
            f"{NAMES}. Did you mean 'isotonic'?"
        ),
    ),
    "no method": (
        {"method": None},
        ValueError,
        f"method is None; expected a recalibrator such as Isotonic(), or one of the names {NAMES}.",
    ),
    "a class of method": (
        {"method": tl.BetaCalibration},
        TypeError,
        "method is the class BetaCalibration; expected an object: BetaCalibration().",
    ),
    "one fold": ({"cv": 1}, ValueError, f"cv is 1; {A_SPLIT}"),
    "no folds": ({"cv": None}, ValueError, f"cv is None; {A_SPLIT}"),
    "true folds": ({"cv": True}, ValueError, f"cv is True; {A_SPLIT}"),
    "half a fold": ({"cv": 2.5}, ValueError, f"cv is 2.5; {A_SPLIT}"),
    "prefit": (
        {"cv": "prefit"},
        ValueError,
        f"cv is 'prefit'; {A_SPLIT} A model that is already trained is FrozenEstimator(model).",
    ),
    "an empty list of splits": (
        {"cv": []},
        ValueError,
        "cv is [], which gave no splits; expected at least one.",
    ),
    "splits that overlap": (
        {"cv": [(np.arange(30), np.arange(25, 40))]},
        ValueError,
        (
            "cv gave a split whose training and test rows share 5 rows, such as 25; expected none, "
            "because a model is too sure on rows it was trained on. cv='train' calibrates on the "
            "training rows on purpose."
        ),
    ),
    "more folds than rows": (
        {"cv": 41},
        ValueError,
        (
            "cv is 41, but there are too few rows for as many folds: n_samples=40. Give more "
            "rows, or fewer folds."
        ),
    ),
    "ensemble of what": (
        {"ensemble": "yes"},
        ValueError,
        "ensemble is 'yes'; expected 'auto', True or False.",
    ),
    "ensemble of one": (
        {"ensemble": True, "cv": "train"},
        ValueError,
        (
            "ensemble=True averages the models of the folds, but cv='train' has no folds. "
            "Use ensemble=False."
        ),
    ),
    "ensemble of a frozen model": (
        {"ensemble": True, "estimator": FrozenEstimator(LinearRegression().fit(X, Y))},
        ValueError,
        (
            "ensemble=True averages the models of the folds, but a FrozenEstimator has no folds. "
            "Use ensemble=False."
        ),
    ),
    "shrinkage by a number": (
        {"shrinkage": 0.95},
        ValueError,
        "shrinkage is 0.95; expected True or False.",
    ),
    "a scale by name": (
        {"scale_estimator": "forest"},
        ValueError,
        "scale_estimator is 'forest'; expected 'auto', a regressor with fit and predict, or None.",
    ),
    "a scale by number": (
        {"scale_estimator": 3},
        ValueError,
        "scale_estimator is 3; expected 'auto', a regressor with fit and predict, or None.",
    ),
    "a forecast for a callable": (
        {"dist": 3},
        TypeError,
        (
            "dist is 3; expected a callable (estimator, X) -> Distribution, or None. Forecasts "
            "that are already made need no estimator: fit a recalibrator on them, such as "
            "Isotonic().fit(y, dist)."
        ),
    ),
    "a callable with other rows": (
        {"dist": lambda estimator, X: tl.Normal([0.0, 1.0], 1.0)},
        ValueError,
        "dist(estimator, X) has 2 rows, but X has 8; expected one forecast per row.",
    ),
    "a random state": (
        {"random_state": -1},
        TypeError,
        "random_state is -1; expected None, an integer of 0 or more, or a numpy.random.Generator.",
    ),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_parameters(case):
    params, error, message = PARAMETERS[case]
    with pytest.raises(error) as caught:
        model(**params).fit(X, Y)
    assert str(caught.value) == message


def test_not_fitted():
    message = (
        "This CalibratedRegressor instance is not fitted yet: call fit(X, y) before predicting."
    )
    for call in ("predict", "predict_dist", "predict_interval"):
        assert refused(NotFittedError, partial(getattr(model(), call), X)) == message
    assert refused(NotFittedError, lambda: model().predict_quantiles(X, [0.5])) == message


def test_several_outcomes_a_row():
    assert refused(ValueError, lambda: model().fit(X, np.stack([Y, Y], axis=1))) == (
        "y has shape (40, 2); expected one outcome per row, (40,). Calibrate each column with a "
        "model of its own: CalibratedRegressor(estimator).fit(X, y[:, 0])."
    )


def test_no_outcomes():
    assert refused(ValueError, lambda: model().fit(X, None)) == (
        "CalibratedRegressor requires y to be passed, but the target y is None. Pass the outcomes: "
        "fit(X, y)."
    )


def test_a_predict_with_several_columns():
    class Wide(LinearRegression):
        def predict(self, X):
            return np.tile(super().predict(X)[:, None], (1, 3))

    assert refused(ValueError, lambda: model(Wide()).fit(X, Y)) == (
        "Wide.predict gave an array of shape (8, 3); expected one number per row. Pass its "
        "forecast with dist=, a callable (estimator, X) -> Distribution."
    )


def test_groups_missing_at_fit():
    assert refused(ValueError, lambda: model(method=tl.Grouped()).fit(X, Y)) == (
        "groups is missing, but Grouped() fits one map per group. Pass the group of each row: "
        "fit(X, y, groups=groups)."
    )


@pytest.mark.parametrize("ensemble", [False, True])
def test_groups_missing_at_predict(ensemble):
    fitted = model(method=tl.Grouped(), ensemble=ensemble).fit(X, Y, groups=np.arange(40) % 2)
    for call in ("predict", "predict_dist", "predict_interval"):
        assert refused(ValueError, partial(getattr(fitted, call), X)) == (
            "groups is missing, but this model was fitted with one map per group (Grouped()). Pass "
            "the group of each row as well: groups=groups."
        )


def test_groups_of_no_use():
    assert refused(ValueError, lambda: model(cv=KFold(3)).fit(X, Y, groups=np.arange(40) % 2)) == (
        "groups was given, but Isotonic() fits one map for all rows and cv=KFold(n_splits=3, "
        "random_state=None, shuffle=False) does not split by group. Use method=Grouped() for one "
        "map per group, or cv=GroupKFold() to keep groups together."
    )
    model(cv=GroupKFold(2)).fit(X, Y, groups=np.arange(40) % 2)


def test_a_group_that_was_not_there_gets_the_pooled_map():
    fitted = model(method=tl.Grouped()).fit(X, Y, groups=["a", "b"] * 20)
    with pytest.warns(tl.CalibrationWarning, match="1 of 1 groups were not there at fit"):
        fitted.predict(X[:2], groups=["c", "c"])


def test_folds_too_small_for_the_coverage():
    one = model(cv=2).fit(X[:12], Y[:12])
    with pytest.warns(tl.CalibrationWarning, match=r"Fit on at least 19 rows\."):
        one.predict_interval(X, 0.9)
    several = model(cv=4, ensemble=True).fit(X, Y)
    expected = (
        "levels 0.05 to 0.95 were requested, but the smallest fold supports 0.0909091 to 0.909091: "
        "quantiles beyond are read off the extrapolated tails. Use ensemble=False, fewer folds, or "
        "more rows."
    )
    for call in (
        lambda: several.predict_interval(X, 0.9),
        lambda: several.predict_quantiles(X, [0.05, 0.5]),
    ):
        with pytest.warns(tl.CalibrationWarning) as caught:
            call()
        assert [str(w.message) for w in caught] == [expected]
    several.predict_interval(X, 0.8)


def test_weights_that_cannot_be():
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is -1.0; expected weights of 0"):
        model().fit(X, Y, sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match="sample_weight has 3 rows but y has 40"):
        model().fit(X, Y, sample_weight=np.ones(3))


def test_outcomes_that_are_not_finite_are_counted_and_placed():
    y = np.ones(30)
    y[[7, 9]] = np.nan, np.inf
    message = "Input y contains NaN. 2 of 30 outcomes, the first in row 7: drop those rows first."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tl.CalibratedRegressor(LinearRegression()).fit(np.zeros((30, 2)), y)


def test_lengths_that_differ_are_named():
    message = (
        "X has 30 rows, but y has 28: inconsistent numbers of samples. Give one outcome per row."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tl.CalibratedRegressor(LinearRegression()).fit(np.zeros((30, 2)), np.ones(28))


def test_a_splitter_by_group_asks_for_groups():
    message = (
        "groups is missing, but cv=GroupKFold(n_splits=3, random_state=None, shuffle=False) splits "
        "by group. Pass the group of each row: fit(X, y, groups=groups)."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tl.CalibratedRegressor(LinearRegression(), cv=GroupKFold(3)).fit(np.eye(9), np.arange(9.0))


def test_times_are_no_outcomes():
    y = np.arange("2020-01-01", "2020-01-31", dtype="datetime64[D]")
    message = (
        "y holds times (datetime64[D]); expected numbers. Convert them to the time since "
        "a start: (y - start) / np.timedelta64(1, 'D')."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        tl.CalibratedRegressor(LinearRegression()).fit(np.eye(30), y)
