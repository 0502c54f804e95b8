"""Forecasts that go out as draws: xarray and arviz."""

import numpy as np
import pytest

import trueline as tl
from trueline.interop import to_xarray

arviz = pytest.importorskip("arviz")
xarray = pytest.importorskip("xarray")

LOC = np.array([0.0, 10.0, -5.0])
F = tl.Normal(LOC, [1.0, 2.0, 0.5])
R = tl.Smooth().fit(
    np.random.default_rng(0).normal(scale=3.0, size=500), tl.Normal(np.zeros(500), 1.0)
)
G = R.transform(F)
CITIES = ["Oslo", "Rome", "Cairo"]


def test_arviz_takes_the_draws_as_a_posterior_predictive():
    draws = to_xarray(G, 4000, dim="city", coords=CITIES, name="price", random_state=0)
    observed = xarray.DataArray(LOC, dims="city", coords={"city": CITIES}, name="price")
    data = arviz.InferenceData(
        posterior_predictive=draws.to_dataset(), observed_data=observed.to_dataset()
    )
    held = data.posterior_predictive["price"]
    assert held.sizes == {"chain": 1, "draw": 4000, "city": 3}
    np.testing.assert_array_equal(held.sel(city="Rome").to_numpy()[0], draws.to_numpy()[0, :, 1])
    summary = arviz.summary(data.posterior_predictive, kind="stats", hdi_prob=0.8)
    assert list(summary.index) == [f"price[{city}]" for city in CITIES]
    error = G.std() / np.sqrt(4000)
    # The summary is rounded to three decimals.
    assert (np.abs(summary["mean"].to_numpy() - G.mean()) < 4 * error + 1e-3).all()


def test_it_comes_in_again_as_samples():
    draws = to_xarray(G, 100, random_state=0)
    back = tl.as_distribution(draws)
    assert isinstance(back, tl.Samples)
    np.testing.assert_array_equal(back.draws, np.sort(G.sample(100, random_state=0), axis=1))
