"""Forecasts that go out as tables of polars, pyarrow and the newest pandas."""

import numpy as np
import pytest

import trueline as tl
from trueline.interop import to_frame

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

F = tl.Mixture([tl.Normal([0.0, 1.0, 2.0], 1.0), tl.Normal([3.0, 1.0, 2.0], 0.5)])
LEVELS = [0.05, 0.5, 0.95]


def test_quantiles_stand_beside_the_rows_they_are_for():
    table = pl.DataFrame({"shop": ["a", "b", "c"]})
    joined = pl.concat([table, to_frame(F, LEVELS, like=table)], how="horizontal")
    assert joined.columns == ["shop", "0.05", "0.5", "0.95"]
    np.testing.assert_array_equal(joined["0.5"].to_numpy(), F.ppf(LEVELS)[:, 1])


def test_the_index_of_pandas_is_kept_for_a_join():
    table = pd.DataFrame({"x": [1, 2, 3]}, index=pd.Index(["a", "b", "c"], name="shop"))
    joined = table.join(to_frame(F, coverage=0.8, like=table))
    assert list(joined.columns) == ["x", "lower", "upper"]
    assert joined.index.name == "shop"
    np.testing.assert_array_equal(joined["upper"].to_numpy(), F.interval(0.8)[1])


def test_a_table_of_arrow_can_be_written_and_read(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(to_frame(F, LEVELS, library="pyarrow"), tmp_path / "q.parquet")
    back = tl.as_distribution(pl.read_parquet(tmp_path / "q.parquet"))
    np.testing.assert_array_equal(back.values, F.ppf(LEVELS))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_it_comes_in_again_as_quantiles(library):
    back = tl.as_distribution(to_frame(F, LEVELS, library=library))
    assert isinstance(back, tl.Quantiles)
    np.testing.assert_array_equal(back.levels, LEVELS)
    np.testing.assert_array_equal(back.values, F.ppf(LEVELS))
