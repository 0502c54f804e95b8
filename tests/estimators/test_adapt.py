"""Fitted models that follow the mix of new rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

import trueline as tl


def rows(seed: int, n: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """Features, and outcomes that are noisier where the first feature is large."""
    rng = np.random.default_rng(seed)
    X = rng.normal([shift, 0.0], size=(n, 2))
    return X, X[:, 0] + rng.normal(0.0, np.exp(0.7 * X[:, 0]))


X, Y = rows(0, 1000, 0.0)
X_NEW, Y_NEW = rows(1, 1000, 1.0)


def model(**params) -> tl.CalibratedRegressor:
    plain = {"scale_estimator": None, "random_state": 0, "shrinkage": False}
    return tl.CalibratedRegressor(LinearRegression(), **(plain | params))


def coverage(fitted: tl.CalibratedRegressor, **more) -> float:
    return tl.coverage(Y_NEW, fitted.predict_dist(X_NEW, **more), 0.9)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, Y)


def test_intervals_hold_on_the_new_mix_and_the_model_is_unchanged(fitted):
    before = fitted.predict_quantiles(X_NEW, [0.05, 0.95])
    adapted = fitted.adapt(X_NEW)
    assert coverage(fitted) < 0.82
    assert 0.87 < coverage(adapted) < 0.93
    np.testing.assert_array_equal(fitted.predict_quantiles(X_NEW, [0.05, 0.95]), before)
    assert not hasattr(fitted, "shift_")
    assert adapted.shift_.classifier == "logistic"
    assert adapted.estimator_ is fitted.estimator_


def test_the_map_is_that_of_a_fit_with_these_weights(fitted):
    """The base is least squares without weights, as a frozen model is."""
    frozen = FrozenEstimator(LinearRegression().fit(*rows(2, 500, 0.0)))
    plain = tl.CalibratedRegressor(frozen, scale_estimator=None, random_state=0).fit(X, Y)
    adapted = plain.adapt(X_NEW)
    weighted = clone(plain).fit(X, Y, sample_weight=adapted.shift_.weights)
    np.testing.assert_array_equal(
        adapted.recalibrator_.scores_.values, weighted.recalibrator_.scores_.values
    )
    np.testing.assert_allclose(
        adapted.recalibrator_.scores_.weights, weighted.recalibrator_.scores_.weights
    )


def test_rows_unlike_others_get_wider_forecasts(fitted):
    adapted = fitted.adapt(X_NEW)
    width = np.diff(adapted.predict_quantiles([[-1.0, 0.0], [3.5, 0.0]], [0.1, 0.9]))[:, 0]
    assert width[1] > 1.05 * width[0]


def test_without_a_shift_nothing_changes(fitted):
    adapted = fitted.adapt(rows(4, 600, 0.0)[0])
    assert adapted.shift_.overlap == "full"
    q = [0.05, 0.5, 0.95]
    np.testing.assert_array_equal(
        adapted.predict_quantiles(X_NEW, q), fitted.predict_quantiles(X_NEW, q)
    )


def test_it_adapts_again_from_the_rows_of_the_fit(fitted):
    once = fitted.adapt(X_NEW)
    other = rows(5, 600, -1.0)[0]
    np.testing.assert_array_equal(
        once.adapt(other).predict(X_NEW), fitted.adapt(other).predict(X_NEW)
    )


@pytest.mark.parametrize(
    "params",
    [
        {"ensemble": True},
        {"method": "conditional"},
        {"method": "scaling"},
        {"cv": KFold(3)},
        {"cv": "train"},
        {"scale_estimator": "auto"},
    ],
    ids=str,
)
def test_every_way_to_calibrate_adapts(params):
    fitted = model(**params).fit(X[:400], Y[:400])
    adapted = fitted.adapt(X_NEW)
    assert abs(coverage(adapted) - 0.9) < max(abs(coverage(fitted) - 0.9), 0.08)


def test_groups_and_sample_weights_of_the_fit_are_kept():
    group = np.where(X[:, 1] > 0, "up", "down")
    weight = np.where(X[:, 1] > 0, 1.0, 3.0)
    fitted = model(method="grouped").fit(X, Y, sample_weight=weight, groups=group)
    adapted = fitted.adapt(X_NEW)
    assert adapted.recalibrator_.scores_.total == pytest.approx(weight @ adapted.shift_.weights)
    held = coverage(adapted, groups=np.where(X_NEW[:, 1] > 0, "up", "down"))
    assert 0.85 < held < 0.95


def test_frames_of_any_column_order():
    frame, new = (pd.DataFrame(x, columns=["a", "b"]) for x in (X, X_NEW))
    fitted = model().fit(frame, Y)
    np.testing.assert_array_equal(
        fitted.adapt(new).predict(new), model().fit(X, Y).adapt(X_NEW).predict(X_NEW)
    )
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        fitted.adapt(new[["b", "a"]])


def test_files_hold_no_features(fitted):
    loaded = pickle.loads(pickle.dumps(fitted))
    assert loaded._calibration.data.X is None
    with pytest.raises(ValueError, match=r"files do not hold them: adapt\(X_new, X=X\)"):
        loaded.adapt(X_NEW)
    adapted = loaded.adapt(X_NEW, X=X)
    expected = fitted.adapt(X_NEW)
    np.testing.assert_array_equal(adapted.predict(X_NEW), expected.predict(X_NEW))
    again = pickle.loads(pickle.dumps(adapted))
    np.testing.assert_array_equal(again.predict(X_NEW), expected.predict(X_NEW))
    with pytest.raises(ValueError, match="X has 9 rows; expected the 1000 rows"):
        loaded.adapt(X_NEW, X=X[:9])


def test_faults_are_refused(fitted):
    with pytest.raises(ValueError, match="not fitted yet"):
        model().adapt(X_NEW)
    with pytest.raises(ValueError, match="too unlike the 1,000 calibration rows"):
        fitted.adapt(X_NEW + 20.0)


def test_a_new_fit_forgets_the_shift(fitted):
    again = fitted.adapt(X_NEW).fit(X, Y)
    assert not hasattr(again, "shift_")
    np.testing.assert_array_equal(again.predict(X_NEW), fitted.predict(X_NEW))
