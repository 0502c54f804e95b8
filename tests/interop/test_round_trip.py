"""What goes out comes in again as it was."""

import numpy as np
import pytest

import trueline as tl
from tests.interop.cases import every_forecast, forecast, values
from trueline.interop import to_frame, to_scipy, to_skpro, to_torch, to_xarray

LIBRARIES = {"scipy": to_scipy, "torch": to_torch, "skpro": to_skpro}


@pytest.mark.parametrize("library", LIBRARIES)
@every_forecast
def test_a_distribution_is_the_forecast_again(base, form, library):
    pytest.importorskip(library)
    F = forecast(base, form)
    back = tl.as_distribution(LIBRARIES[library](F))
    if back is not F:  # a family of the library's own, read from its parameters
        assert type(back) is type(F)
        np.testing.assert_array_equal(back.cdf(values(F)), F.cdf(values(F)))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_of_quantiles_is_the_forecast_again(library):
    pytest.importorskip(library)
    F = forecast("quantiles", "as it is")
    back = tl.as_distribution(to_frame(F, F.levels, library=library))
    np.testing.assert_array_equal(back.levels, F.levels)
    np.testing.assert_allclose(back.values, F.values, rtol=1e-14)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_of_intervals_is_read_as_their_ends(library):
    pytest.importorskip(library)
    F = forecast("normal", "as it is")
    back = tl.as_distribution(to_frame(F, coverage=[0.5, 0.8], library=library))
    np.testing.assert_allclose(back.levels, [0.1, 0.25, 0.75, 0.9], rtol=1e-12)
    np.testing.assert_allclose(back.cdf(values(F)), F.cdf(values(F)), rtol=1e-6)


def test_draws_are_samples_again():
    pytest.importorskip("xarray")
    F = forecast("mixture", "as it is")
    back = tl.as_distribution(to_xarray(F, 50, random_state=0))
    assert isinstance(back, tl.Samples)
    np.testing.assert_array_equal(back.draws, np.sort(F.sample(50, random_state=0), axis=1))


def test_rows_of_skpro_are_rows_of_the_forecast():
    pytest.importorskip("skpro")
    F = forecast("mixture", "isotonic")
    some = tl.as_distribution(to_skpro(F, index=["a", "b", "c"]).loc[["c", "a"]])
    np.testing.assert_array_equal(some.cdf(1.0), F[[2, 0]].cdf(1.0))


def test_a_batch_that_was_expanded_is_refused_unless_it_is_rows():
    pytest.importorskip("torch")
    F = forecast("mixture", "as it is")
    with pytest.raises(ValueError, match=r"was expanded to \(4, 3\)"):
        tl.as_distribution(to_torch(F).expand((4, 3)))
    five = tl.as_distribution(to_torch(F[1]).expand((5,)))
    np.testing.assert_array_equal(five.mean(), np.full(5, F.mean()[1]))
