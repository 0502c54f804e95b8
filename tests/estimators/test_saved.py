"""Fitted models in files of joblib: predictions are equal to the last bit."""

import joblib
import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

import trueline as tl

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = X[:, 0] + RNG.normal(size=120)
GROUPS = np.arange(120) % 2


@pytest.mark.parametrize("estimator", [Ridge(), HistGradientBoostingRegressor(max_iter=5)], ids=str)
@pytest.mark.parametrize("method", ["isotonic", "smooth", "conditional", "grouped"])
def test_a_model_is_the_same_after_a_file_of_joblib(estimator, method, tmp_path):
    more = {"groups": GROUPS} if method == "grouped" else {}
    model = tl.CalibratedRegressor(estimator, method=method, cv=3, random_state=0)
    expected = model.fit(X, Y, **more).predict_dist(X, **more)
    joblib.dump(model, tmp_path / "model.joblib")
    found = joblib.load(tmp_path / "model.joblib").predict_dist(X, **more)
    np.testing.assert_array_equal(found.ppf([0.1, 0.5, 0.9]), expected.ppf([0.1, 0.5, 0.9]))
    np.testing.assert_array_equal(found.mean(), expected.mean())
    assert repr(found) == repr(expected)
