"""The loader of the sales of the paper's item."""

import dataclasses
import hashlib
import os
import re

import numpy as np
import pytest

from reproduce.sales import data as sales_data
from trueline import datasets
from trueline.series import windows

DATA = os.environ.get("TRUELINE_DATA")
CSV = b"""date,store,item,family,perishable,unit_sales,onpromotion,id
2016-06-01,44,1503844,PRODUCE,1,100.125,0,1
2016-06-02,44,1503844,PRODUCE,1,200.25,1,2
2016-06-01,51,1503844,PRODUCE,1,75.0,0,3
"""


@pytest.fixture
def file(monkeypatch, tmp_path):
    """A small file in place of the real one."""
    file = tmp_path / "favorita" / "item1503844_stores44_51.csv"
    file.parent.mkdir()
    file.write_bytes(CSV)
    monkeypatch.setenv("TRUELINE_DATA", str(tmp_path))
    monkeypatch.setattr(sales_data, "_FILE_SUM", hashlib.sha256(CSV).hexdigest())
    return file


@pytest.mark.skipif(not DATA, reason="TRUELINE_DATA is not set")
def test_the_file_of_the_experiments():
    sales = sales_data.load_sales()
    assert repr(sales) == (
        "Sales(item 1503844, stores 44, 51, 2031 rows from 2014-01-02 to 2017-08-15)"
    )
    frame = sales.frame
    assert (frame["value"] > 0).all()
    test = (frame["date"] >= np.datetime64("2016-06-01")) & (frame["date"] < np.datetime64("2017"))
    for store, mean in ((44, 701), (51, 357)):
        mine = test & (frame["store"] == store)
        assert mine.sum() == 213
        assert round(frame["value"][mine].mean()) == mean
    W = windows(frame, series="store", nonnegative=True)
    assert len(W) == 1947
    # No window needs a day that has no row.
    there = set(zip(frame["store"].tolist(), frame["date"].tolist(), strict=True))
    for ago in range(5):
        needed = (W.dates - np.timedelta64(ago, "D")).tolist()
        assert set(zip(W.series.tolist(), needed, strict=True)) <= there


def test_a_file_is_read(file):
    sales = sales_data.load_sales()
    assert len(sales) == 3
    assert (sales.item, sales.stores) == (1503844, (44, 51))
    assert list(sales.frame) == ["date", "store", "value", "onpromotion"]
    assert sales.frame["date"].astype(str).tolist() == ["2016-06-01", "2016-06-02", "2016-06-01"]
    np.testing.assert_array_equal(sales.frame["store"], [44, 44, 51])
    np.testing.assert_array_equal(sales.frame["value"], [100.125, 200.25, 75.0])
    np.testing.assert_array_equal(sales.frame["onpromotion"], [0.0, 1.0, 0.0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        sales.item = 1
    sales.frame["value"][:] = 0.0
    assert sales_data.load_sales().frame["value"].all()  # each load owns its arrays


@pytest.mark.parametrize(
    "stores, rows, kept", [(44, 2, (44,)), ([51], 1, (51,)), ((51, 44, 51), 3, (44, 51))]
)
def test_stores_can_be_chosen(file, stores, rows, kept):
    sales = sales_data.load_sales(stores)
    assert len(sales) == rows
    assert sales.stores == kept
    assert set(sales.frame["store"]) == set(kept)


@pytest.mark.parametrize(
    "stores, message",
    [(1, "stores holds 1"), (["44"], "stores holds '44'"), ([], "stores is empty")],
)
def test_unknown_stores_are_refused(file, stores, message):
    with pytest.raises(ValueError, match=f"{message}.* expected 44, 51 or both"):
        sales_data.load_sales(stores)


def test_another_file_is_refused(file):
    file.write_bytes(CSV.replace(b"75.0", b"76.0"))
    with pytest.raises(datasets.DatasetError) as caught:
        sales_data.load_sales()
    message = str(caught.value)
    assert message.startswith(f"{file} is not the expected file: expected another SHA")
    assert "Copy the file again, byte for byte." in message
    assert "trueline.series.windows" in message
    file.write_bytes(CSV.replace(b"\n", b"\r\n"))
    with pytest.raises(datasets.DatasetError, match="its line ends are CRLF, and LF was expected"):
        sales_data.load_sales()


def test_a_missing_file_is_reported_with_its_source(file, monkeypatch):
    file.unlink()
    with pytest.raises(
        datasets.DatasetError, match=re.escape(f"there is no file {file}")
    ) as caught:
        sales_data.load_sales()
    message = str(caught.value)
    assert "Corporacion Favorita Grocery Sales Forecasting" in message
    assert "train.csv" in message
    assert "item_nbr 1503844 and store_nbr 44 or 51" in message
    assert "set TRUELINE_DATA to the folder that holds favorita/item1503844" in message
    monkeypatch.delenv("TRUELINE_DATA")
    with pytest.raises(datasets.DatasetError, match="not found: TRUELINE_DATA is not set"):
        sales_data.load_sales()
