"""Features come as tables of several kinds, and mean the same in each."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from trueline.features import Table, read_columns

A, B = np.array([1.0, 2.0, 3.0]), np.array(["u", "v", "u"])


@pytest.mark.parametrize(
    "table",
    [
        {"a": A, "b": B},
        pd.DataFrame({"a": A, "b": B}),
        pl.DataFrame({"a": A, "b": B}),
    ],
    ids=["dict", "pandas", "polars"],
)
def test_tables_give_names_and_values(table):
    found = read_columns(table, 3)
    assert list(found) == ["a", "b"]
    np.testing.assert_array_equal(found["a"], A)
    assert list(found["b"]) == list(B)


def test_an_arrow_table_is_one_too():
    arrow = pytest.importorskip("pyarrow")
    found = read_columns(arrow.table({"a": A, "b": B}), 3)
    np.testing.assert_array_equal(found["a"], A)
    assert list(found["b"]) == list(B)


def test_arrays_have_numbers_for_names():
    assert list(read_columns(np.ones((3, 2)), 3)) == ["x0", "x1"]
    assert list(read_columns([1, 2, 3], 3)) == ["x"]
    assert list(read_columns(pd.Series(A, name="height"), 3)) == ["height"]
    assert list(read_columns(pl.Series("height", A), 3)) == ["height"]


def test_missing_values_of_pandas_own_types_are_missing_numbers():
    table = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")})
    np.testing.assert_array_equal(read_columns(table, 3)["a"], [1.0, np.nan, 3.0])


def test_columns_of_the_same_name_are_told_apart():
    table = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "a"])
    found = read_columns(table, 3)
    assert list(found) == ["a", "a (2)"]
    np.testing.assert_array_equal(found["a (2)"], [1.0, 3.0, 5.0])


def test_a_categorical_column_keeps_its_names():
    table = pd.DataFrame({"c": pd.Categorical(["x", "y", None])})
    assert list(read_columns(table, 3)["c"])[:2] == ["x", "y"]


@pytest.mark.parametrize(
    "table, message",
    [
        ({"a": [1.0, 2.0]}, r"x has a column 'a' of shape \(2,\) but y has 3 rows"),
        (np.ones((4, 2)), r"x has a column 'x0' of shape \(4,\) but y has 3 rows"),
        (np.ones((3, 2, 2)), r"x has shape \(3, 2, 2\); expected \(n,\) or \(n, k\)"),
        ({}, "x has no columns"),
        ([[1.0], [1.0, 2.0], [3.0]], "x is ragged"),
    ],
)
def test_tables_that_do_not_fit_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        read_columns(table, 3)


def test_numbers_as_text_are_numbers_and_booleans_are_categories():
    table = Table.read(
        {"text": ["1.5", "2", None, " "], "mixed": [1, 2.0, None, 3], "flag": [True, None, 0, 1]}, 4
    )
    assert [column.labels for column in table.columns[:2]] == [None, None]
    np.testing.assert_array_equal(table.values[:, 0], [1.5, 2.0, np.nan, np.nan])
    np.testing.assert_array_equal(table.values[:, 1], [1.0, 2.0, np.nan, 3.0])
    assert table.columns[2].labels is not None


def test_missing_categories_of_arrow_are_missing():
    arrow = pytest.importorskip("pyarrow")
    column = arrow.array(["a", None, "b"]).dictionary_encode()
    table = Table.read(arrow.table({"c": column}), 3)
    assert table.columns[0].labels == ("a", "b")
    np.testing.assert_array_equal(table.values[:, 0], [0.0, np.nan, 1.0])
