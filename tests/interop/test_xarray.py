"""Forecasts as draws with named dimensions."""

import numpy as np
import pytest

import trueline as tl
from tests.interop.cases import every_forecast, forecast
from trueline.interop import to_xarray

xarray = pytest.importorskip("xarray")

F = tl.Normal([0.0, 10.0, 20.0], [1.0, 2.0, 3.0])


@every_forecast
def test_draws_are_the_forecasts(base, form):
    G = forecast(base, form)
    draws = to_xarray(G, 7, random_state=3)
    assert isinstance(draws, xarray.DataArray)
    assert draws.dims == ("chain", "draw", "row")
    assert draws.shape == (1, 7, 3)
    np.testing.assert_array_equal(draws.to_numpy()[0].T, G.sample(7, random_state=3))


def test_names_and_labels_are_those_given():
    draws = to_xarray(F, 5, dim="city", coords=["Oslo", "Rome", "Cairo"], name="price")
    assert draws.name == "price"
    assert draws.dims == ("chain", "draw", "city")
    assert list(draws.city.to_numpy()) == ["Oslo", "Rome", "Cairo"]
    assert list(draws.draw.to_numpy()) == [0, 1, 2, 3, 4]
    assert list(to_xarray(F, 5).row.to_numpy()) == [0, 1, 2]
    mapped = to_xarray(F, 2, coords={"row": [7, 8, 9], "draw": [10, 20]})
    assert list(mapped.row.to_numpy()) == [7, 8, 9]
    assert list(mapped.draw.to_numpy()) == [10, 20]
    days = np.arange("2026-01-01", "2026-01-04", dtype="datetime64[D]")
    assert to_xarray(F, 2, coords=days).sel(row="2026-01-02").shape == (1, 2)


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "10"])
def test_a_size_that_is_no_count_is_refused(size):
    with pytest.raises(ValueError, match="expected an integer of 1 or more"):
        to_xarray(F, size)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="coords has 2 labels for 'row' but the forecast has 3"):
        to_xarray(F, 5, coords=["a", "b"])
    with pytest.raises(TypeError, match="coords is of type int"):
        to_xarray(F, 5, coords=3)
    for dim in ("chain", "draw", "", 3):
        with pytest.raises(ValueError, match="expected a name for the rows"):
            to_xarray(F, 5, dim=dim)
    with pytest.raises(TypeError, match="random_state is"):
        to_xarray(F, 5, random_state="seed")
    with pytest.raises(TypeError, match="cannot make a distribution of"):
        to_xarray(object(), 5)
