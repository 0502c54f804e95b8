"""Fitted models in files of skops, which opens types that the reader allows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import trueline as tl

skops = pytest.importorskip("skops.io")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X[:, 0] + RNG.normal(size=200)
GROUPS = np.arange(200) % 2
# Compiled trees of scikit-learn, which skops does not know.
TREES = {
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
}


@pytest.mark.parametrize("estimator", [Ridge(), HistGradientBoostingRegressor(max_iter=5)])
@pytest.mark.parametrize("method", ["isotonic", "smooth", "conditional", "grouped"])
def test_a_model_is_the_same_after_a_file_of_skops(estimator, method):
    more = {"groups": GROUPS} if method == "grouped" else {}
    model = tl.CalibratedRegressor(estimator, method=method, cv=3, random_state=0)
    expected = model.fit(X, Y, **more).predict_quantiles(X, [0.1, 0.9], **more)
    data = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=data)
    # As docs/sklearn.md says: types of trueline, and trees of scikit-learn.
    assert {name for name in unknown if not name.startswith("trueline.")} <= TREES
    found = skops.loads(data, trusted=unknown).predict_quantiles(X, [0.1, 0.9], **more)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", ["isotonic", "conditional"])
def test_a_model_of_a_frame_is_the_same_after_a_file_of_skops(method):
    rng = np.random.default_rng(0)
    place = rng.choice(["north", "south", None], 300)
    frame = pd.DataFrame({"place": place, "size": rng.normal(size=300)})
    y = rng.normal(size=300) * np.where(place == "south", 9.0, 1.0)
    encode = make_column_transformer((OneHotEncoder(), ["place"]), remainder="passthrough")
    base = make_pipeline(encode, Ridge())
    model = tl.CalibratedRegressor(base, method=method, cv=3, random_state=0).fit(frame, y)
    expected = model.predict_quantiles(frame, [0.1, 0.9])
    data = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=data)
    assert {name for name in unknown if not name.startswith("trueline.")} <= TREES
    same = skops.loads(data, trusted=unknown)
    np.testing.assert_array_equal(same.predict_quantiles(frame, [0.1, 0.9]), expected)


def test_types_that_are_not_allowed_are_refused():
    data = skops.dumps(tl.CalibratedRegressor(Ridge(), cv=3, random_state=0).fit(X, Y))
    with pytest.raises(Exception, match="Untrusted types found"):
        skops.loads(data)
