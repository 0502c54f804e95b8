"""Tables of any kind become the same numbers at fit and at prediction."""

import datetime as dt
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from trueline import CalibrationWarning, NotFittedError
from trueline.features import FeatureReader, as_features

NAN = np.nan
DAY = "2024-03-01"
DAYS = 19783.0  # from 1970-01-01 to it


def read(X, new=None):
    """The numbers of a table, or of new rows, by the reader of the table."""
    return FeatureReader().fit(X).transform(X if new is None else new)


def test_arrays_of_numbers_are_as_they_are():
    X = np.arange(6).reshape(3, 2)
    np.testing.assert_array_equal(read(X), X)
    assert read(X).dtype == np.float64
    assert not np.shares_memory(read(X.astype(float)), X)
    np.testing.assert_array_equal(read([[1, None], [True, 2.5]]), [[1, NAN], [1, 2.5]])


# Categories by falling frequency; those of four rows share the last number.
PLACES = ["b"] * 6 + ["a"] * 9 + ["c"] * 5 + ["rare"] * 4 + [None]
CODES = [1.0] * 6 + [0.0] * 9 + [2.0] * 5 + [3.0] * 4 + [NAN]


@pytest.mark.parametrize(
    "column",
    [
        np.array(PLACES, dtype=object),
        pd.Series(PLACES),
        pd.Series(PLACES, dtype="string"),
        pd.Series(PLACES, dtype="category"),
        pl.Series(PLACES),
        pl.Series(PLACES, dtype=pl.Categorical),
        pa.array(PLACES),
        pa.array(PLACES).dictionary_encode(),
    ],
    ids=["object", "pandas", "string", "category", "polars", "Categorical", "arrow", "dictionary"],
)
def test_text_of_every_kind_is_numbered_by_frequency(column):
    if isinstance(column, np.ndarray):
        X = column[:, None]
    elif isinstance(column, pa.Array | pa.DictionaryArray):
        X = pa.table({"place": column})
    else:
        X = (pl if isinstance(column, pl.Series) else pd).DataFrame({"place": column})
    np.testing.assert_array_equal(read(X)[:, 0], CODES)


def test_new_categories_are_those_of_few_rows():
    reader = FeatureReader().fit(pd.DataFrame({"x": 1.0, "place": PLACES}))
    assert reader.categorical_ == [1]
    new = pl.DataFrame({"place": ["a", "new", "rare", " ", ""], "x": 1.0})
    np.testing.assert_array_equal(reader.transform(new)[:, 1], [0, 3, 3, NAN, NAN])


def test_ordered_categories_keep_their_order_however_rare():
    sizes, order = ["large", "small", None, "medium"], ["small", "medium", "large"]
    for X in (
        pd.DataFrame({"size": pd.Categorical(sizes, order, ordered=True)}),
        pl.DataFrame({"size": pl.Series(sizes, dtype=pl.Enum(order))}),
    ):
        np.testing.assert_array_equal(read(X)[:, 0], [2, 0, NAN, 1])
        assert FeatureReader().fit(X).categorical_ == []
    cut = pd.cut(pd.Series([1.0, 9.0, 4.0]), [0, 3, 6, 10])  # categories are intervals
    np.testing.assert_array_equal(read(pd.DataFrame({"x": cut}))[:, 0], [0, 2, 1])


@pytest.mark.parametrize(
    "values",
    [
        ["2.5", " 3", None, ""],
        [2.5, "3", pd.NA, NAN],
        [Decimal("2.5"), 3, None, "n/a"],
        pd.array([2.5, 3, None, None], dtype="Float64"),
    ],
)
def test_numbers_in_any_disguise_are_numbers(values):
    np.testing.assert_array_equal(read(pd.DataFrame({"x": values}))[:, 0], [2.5, 3, NAN, NAN])


def test_a_column_of_mixed_types_goes_with_the_majority():
    # Of the distinct values two of four are numbers: these are sizes, not numbers.
    sizes = [36, "36", 36.0, "S", "M", 38] * 5
    np.testing.assert_array_equal(read(np.array(sizes, object)[:, None])[:6, 0], [0, 0, 0, 3, 2, 1])
    # A few words among numbers are missing values.
    stray = np.array([1, 2, 3, "unknown", True], object)[:, None]
    np.testing.assert_array_equal(read(stray)[:, 0], [1, 2, 3, NAN, 1])


@pytest.mark.parametrize(
    "values",
    [
        np.array([DAY, "NaT"], dtype="datetime64[ns]"),
        pd.to_datetime([DAY, None]).tz_localize("UTC").tz_convert("Asia/Tokyo"),
        [dt.date(2024, 3, 1), None],
        [dt.datetime(2024, 3, 1), pd.NaT],
        [DAY, "2024-03-99"],
        [DAY + "T01:00:00+01:00", None],
        pl.Series([DAY, None]).str.to_date(),
        pl.Series([DAY, None]).str.to_datetime(time_zone="UTC"),
        pl.Series([DAY, None]).str.to_datetime().dt.replace_time_zone("UTC"),
    ],
    ids=str,
)
def test_dates_are_days(values):
    polar = isinstance(values, pl.Series)
    X = pl.DataFrame({"day": values}) if polar else pd.DataFrame({"day": values})
    if list(values)[1] == "2024-03-99":
        X = pd.DataFrame({"day": [DAY, "2024-03-02", "2024-03-99"]})
        np.testing.assert_array_equal(read(X)[:, 0], [DAYS, DAYS + 1, NAN])
        return
    np.testing.assert_array_equal(read(X)[:, 0], [DAYS, NAN])


def test_durations_are_days():
    X = pd.DataFrame({"took": pd.to_timedelta([36, None], "h")})
    np.testing.assert_array_equal(read(X)[:, 0], [1.5, NAN])
    np.testing.assert_array_equal(read(pl.from_pandas(X))[:, 0], [1.5, NAN])
    np.testing.assert_array_equal(read([[dt.timedelta(hours=36)], [None]])[:, 0], [1.5, NAN])


@pytest.mark.parametrize("frames", [pd, pl], ids=["pandas", "polars"])
def test_columns_are_found_by_name(frames):
    X = frames.DataFrame({"size": [1.0, 2.0], "place": ["a", "b"], "age": [3, 4]})
    reader = FeatureReader().fit(X)
    other = frames.DataFrame(
        {"age": [3, 4], "extra": ["x", "y"], "place": ["a", "b"], "size": [1.0, 2]}
    )
    np.testing.assert_array_equal(reader.transform(other), reader.transform(X))
    np.testing.assert_array_equal(reader.transform(X.to_numpy()), reader.transform(X))
    with pytest.raises(ValueError, match=r"X lacks 1 column of fit: 'size'.*Did you mean 'sizes'"):
        reader.transform(frames.DataFrame({"sizes": [1.0], "place": ["a"], "age": [3]}))
    with pytest.raises(ValueError, match="X has 2 columns; expected 3, as at fit"):
        reader.transform(np.zeros((4, 2)))
    # Names that repeat, or are no text, tell nothing.
    twice = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    np.testing.assert_array_equal(read(twice, pd.DataFrame([[3.0, 4.0]])), [[3.0, 4.0]])


def test_the_order_of_rows_has_no_influence():
    X = pd.DataFrame({"place": ["a"] * 7 + ["b"] * 7 + ["c"] * 7, "mixed": [1, "1", "x"] * 7})
    order = np.random.default_rng(0).permutation(21)
    np.testing.assert_array_equal(read(X.iloc[order]), read(X)[order])
    reader = FeatureReader().fit(X)
    whole = reader.transform(X)
    for i in (0, 8, 20):
        np.testing.assert_array_equal(reader.transform(X.iloc[[i]]), whole[[i]])


def test_a_column_that_lost_its_numbers_is_noticed():
    reader = FeatureReader().fit(pd.DataFrame({"size": [1.0, 2.0]}))
    with pytest.warns(CalibrationWarning, match="column 'size' of X held numbers.*such as 'big'"):
        found = reader.transform(pd.DataFrame({"size": ["big", "small"]}))
    assert np.isnan(found).all()


def test_a_reader_is_kept_by_pickle():
    reader = FeatureReader().fit(pd.DataFrame({"place": PLACES}))
    same = pickle.loads(pickle.dumps(reader)).transform(pl.DataFrame({"place": PLACES}))
    np.testing.assert_array_equal(same[:, 0], CODES)


def test_errors():
    with pytest.raises(NotFittedError, match=r"call fit\(X\) first"):
        FeatureReader().transform([[1.0]])
    with pytest.raises(TypeError, match="column 'tags' of X holds values of type list"):
        read(pd.DataFrame({"tags": [["a"], ["b"]]}))
    with pytest.raises(TypeError, match="column 0 of X holds values of type dict"):
        read(np.array([[{}]], dtype=object))
    for X in (np.zeros(3), np.zeros((0, 2)), [[1], [2, 3]], pd.DataFrame(), 3):
        with pytest.raises(ValueError, match=r"expected \(n, d\), one row per forecast"):
            read(X)
    with pytest.raises(TypeError, match="X is sparse"):
        read(csr_array((2, 2)))
    with pytest.raises(TypeError, match="not numbers in 1 column: 'place'; expected a table"):
        as_features(pd.DataFrame({"size": [1.0], "place": ["a"]}))
