"""Forecasts as tables."""

import numpy as np
import pytest

import trueline as tl
from tests.interop.cases import LEVELS, every_forecast, forecast
from trueline.interop import to_frame

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

F = tl.Normal([0.0, 10.0, 20.0], [1.0, 2.0, 3.0])
INDEX = pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["shop", "day"])
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


def array(table):
    return table.to_pandas().to_numpy() if isinstance(table, pa.Table) else table.to_numpy()


def names(table):
    return table.column_names if isinstance(table, pa.Table) else list(table.columns)


@pytest.mark.parametrize("library", LIBRARIES)
@every_forecast
def test_every_number_is_the_forecasts(base, form, library):
    G = forecast(base, form)
    quantiles = to_frame(G, LEVELS, library=library)
    assert isinstance(quantiles, LIBRARIES[library])
    np.testing.assert_array_equal(array(quantiles), G.ppf(LEVELS))
    intervals = to_frame(G, coverage=0.8, library=library)
    assert names(intervals) == ["lower", "upper"]
    np.testing.assert_array_equal(array(intervals), np.stack(G.interval(0.8), axis=1))


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_are_named_by_level_and_coverage(library):
    levels = [0.1, 0.5, 0.9]
    expected = levels if library == "pandas" else ["0.1", "0.5", "0.9"]
    assert names(to_frame(F, levels, library=library)) == expected
    assert names(to_frame(F, 0.5, library=library)) == expected[1:2]
    several = to_frame(F, coverage=[0.5, 0.9], library=library)
    assert names(several) == ["lower_0.5", "upper_0.5", "lower_0.9", "upper_0.9"]
    lower, upper = F.interval([0.5, 0.9])
    expected = np.stack([lower[:, 0], upper[:, 0], lower[:, 1], upper[:, 1]], axis=1)
    np.testing.assert_array_equal(array(several), expected)
    assert names(to_frame(F, coverage=[0.9], library=library)) == ["lower_0.9", "upper_0.9"]
    assert [float(name) for name in names(to_frame(F, library=library))] == [
        0.05,
        0.25,
        0.5,
        0.75,
        0.95,
    ]


@pytest.mark.parametrize("coverage", [None, 0.9, [0.5, 0.9]], ids=str)
def test_the_index_is_kept(coverage):
    series = pd.Series([1.0, 2.0, 3.0], index=INDEX)
    for like in (series, series.to_frame(), INDEX, pd.Index(["x", "y", "z"], name="letter")):
        index = like if isinstance(like, pd.Index) else like.index
        table = to_frame(F, coverage=coverage, like=like)
        assert table.index.equals(index)
        assert table.index.names == index.names
    assert list(to_frame(F, coverage=coverage, like=np.zeros((3, 2))).index) == [0, 1, 2]


def test_the_library_is_that_of_what_it_is_like():
    columns = {"x": [1.0, 2.0, 3.0]}
    assert isinstance(to_frame(F, like=pl.DataFrame(columns)), pl.DataFrame)
    assert isinstance(to_frame(F, like=pl.Series(columns["x"])), pl.DataFrame)
    assert isinstance(to_frame(F, like=pa.table(columns)), pa.Table)
    assert isinstance(to_frame(F, like=pd.DataFrame(columns)), pd.DataFrame)
    assert isinstance(to_frame(F), pd.DataFrame)
    assert isinstance(to_frame(F, like=pl.DataFrame(columns), library="pandas"), pd.DataFrame)
    assert isinstance(to_frame(F, like=pd.DataFrame(columns), library="polars"), pl.DataFrame)


def test_a_table_of_pandas_is_the_forecast_again():
    G = tl.Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0], [0.0, 5.0, 6.0]])
    back = tl.as_distribution(to_frame(G, [0.1, 0.5, 0.9]))
    assert isinstance(back, tl.Quantiles)
    np.testing.assert_allclose(back.values, G.values)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="both levels and coverage are given"):
        to_frame(F, [0.1], 0.9)
    with pytest.raises(ValueError, match="like has 2 rows but the forecast has 3"):
        to_frame(F, like=INDEX[:2])
    with pytest.raises(ValueError, match="like has 4 rows but the forecast has 3"):
        to_frame(F, like=pl.Series([1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(TypeError, match="like is of type int; expected a Series"):
        to_frame(F, like=3)
    with pytest.raises(ValueError, match=r"library is 'panda'; .* Did you mean 'pandas'"):
        to_frame(F, library="panda")
    with pytest.raises(ValueError, match="levels holds 50"):
        to_frame(F, [50, 90])
    with pytest.raises(ValueError, match="levels are not sorted"):
        to_frame(F, [0.9, 0.1])
    with pytest.raises(ValueError, match="coverage holds 90"):
        to_frame(F, coverage=90)
    with pytest.raises(TypeError, match="cannot make a distribution of"):
        to_frame(object())
