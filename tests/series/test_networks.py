"""Networks: trained together at all origins, one thinned network along each path."""

import numpy as np
import pytest
from sklearn.base import clone

from tests.series.cases import changed_from, make, two_shops
from trueline.series import rolling_forecasts, rolling_origins, sample_paths

pytest.importorskip("torch")

from trueline.models import GRURegressor

MODEL = GRURegressor(hidden=(6,), max_epochs=4, random_state=0)


def test_networks_trained_together_do_not_look_ahead():
    date = np.datetime64("2015-10-10")
    frame = two_shops()
    forecasts = []
    for some in (frame, changed_from(frame, date)):
        W = make(some)
        rows, F = rolling_forecasts(MODEL, W, rolling_origins(W, first="2015-08-01", every=35))
        forecasts.append(F.ppf([0.1, 0.9]))
    known = W.dates[rows] <= date
    np.testing.assert_array_equal(forecasts[0][known], forecasts[1][known])
    assert (forecasts[0][~known] != forecasts[1][~known]).all()


def test_paths_start_from_the_forecast_of_the_network():
    W = make(calendar=())
    train = W.before("2015-10-01")
    model = clone(MODEL).fit(train.X, train.y)
    P = sample_paths(model, W.since("2015-12-01"), 3, n_paths=500)
    F = model.predict_dist(W.since("2015-12-01").X)
    # The forecast is made of 100 thinned networks, which are five standard errors here.
    assert (np.abs(P.normal(1).mean() - F.mean()) < 5 * F.std() / np.sqrt(100)).all()
    np.testing.assert_allclose(P.normal(1).std(), F.std(), rtol=5 / np.sqrt(2 * 100))
    again = sample_paths(model, W.since("2015-12-01"), 3, n_paths=500)
    np.testing.assert_array_equal(again.values, P.values)
