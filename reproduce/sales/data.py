"""Daily sales of the item that the paper forecasts."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline.datasets import read_data_file

ITEM = 1503844
_FILE = "favorita/item1503844_stores44_51.csv"
_FILE_SUM = "13d0715738f31fc2295cd0694b2ce2c8fc508f80ea810ba43c52b1174f624f4e"
_STORES = (44, 51)
_SOURCE = (
    f"the rows with item_nbr {ITEM} and store_nbr 44 or 51 of train.csv in the Kaggle competition "
    f"Corporacion Favorita Grocery Sales Forecasting "
    f"(https://www.kaggle.com/c/favorita-grocery-sales-forecasting), whose terms do not allow us "
    f"to distribute them"
)
# Anyone who filters train.csv again gets another checksum.
_OWN_EXTRACT = (
    "An extract of your own needs no loader: pass its columns of dates, stores and unit_sales to "
    "trueline.series.windows"
)


@dataclass(frozen=True, eq=False, repr=False)
class Sales:
    """The result of `load_sales`.

    Attributes
    ----------
    frame : dict of ndarray
        Columns of equal length, one row per store and day: ``date`` (datetime64[D]), ``store``
        (int64), ``value`` (float64, units sold) and ``onpromotion`` (float64, 0 or 1).
        `trueline.series.windows` takes this frame.
    item : int
        Number of the item.
    stores : tuple of int

    Examples
    --------
    >>> import numpy as np
    >>> from reproduce.sales.data import Sales
    >>> days = np.arange("2016-06-01", "2016-06-04", dtype="datetime64[D]")
    >>> Sales({"date": days, "store": np.full(3, 44), "value": np.ones(3)}, 1503844, (44,))
    Sales(item 1503844, store 44, 3 rows from 2016-06-01 to 2016-06-03)
    """

    frame: dict[str, NDArray[Any]]
    item: int
    stores: tuple[int, ...]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.frame["date"])

    def __repr__(self) -> str:
        dates = self.frame["date"]
        stores = f"store{'s' if len(self.stores) > 1 else ''} {', '.join(map(str, self.stores))}"
        span = f"{len(self)} rows from {dates.min()} to {dates.max()}"
        return f"Sales(item {self.item}, {stores}, {span})"


def load_sales(stores: int | Iterable[int] | None = None) -> Sales:
    """Load the daily sales of item 1503844, which the paper forecasts, in stores 44 and 51.

    The terms of the data, which belong to Corporacion Favorita, do not allow us to distribute
    them. They are read from ``favorita/item1503844_stores44_51.csv`` in the folder that the
    environment variable ``TRUELINE_DATA`` names, and the file must have the expected SHA-256. The
    paper used stores 1 to 4.

    The sales of a day without a row are unknown, or the store was closed: they are not 0. Whole
    months are missing (2014-02, 2014-04 to 2014-06, 2014-08, 2015-01 to 2015-05), and so are 25
    December, 1 January, and in store 51 2017-06-10.

    Parameters
    ----------
    stores : int or iterable of int, optional
        44, 51 or both; both by default.

    Returns
    -------
    Sales

    Raises
    ------
    DatasetError
        If the file is missing or has another SHA-256.

    Examples
    --------
    >>> from reproduce.sales.data import load_sales
    >>> from trueline.series import windows
    >>> sales = load_sales()  # doctest: +SKIP
    >>> sales  # doctest: +SKIP
    Sales(item 1503844, stores 44, 51, 2031 rows from 2014-01-02 to 2017-08-15)
    >>> windows(sales.frame, series="store", nonnegative=True)  # doctest: +SKIP
    Windows(1947 rows: 2 series, 2014-01-06 to 2017-08-15; 4 steps x 61 inputs)
    """
    wanted = _wanted(stores)
    content = read_data_file(_FILE, _FILE_SUM, source=_SOURCE, remedy=_OWN_EXTRACT)
    table = list(csv.DictReader(content.decode("utf-8").splitlines()))
    frame: dict[str, NDArray[Any]] = {
        "date": np.array([row["date"] for row in table], dtype="M8[D]"),
        "store": np.array([row["store"] for row in table], dtype=np.int64),
        "value": np.array([row["unit_sales"] for row in table], dtype=np.float64),
        "onpromotion": np.array([row["onpromotion"] for row in table], dtype=np.float64),
    }
    some = np.isin(frame["store"], wanted)
    return Sales({name: column[some] for name, column in frame.items()}, ITEM, wanted)


def _wanted(stores: int | Iterable[int] | None) -> tuple[int, ...]:
    """Return the chosen stores, each once and in order."""
    if stores is None:
        return _STORES
    chosen = (stores,) if isinstance(stores, int | np.integer) else tuple(stores)
    for store in chosen:
        if store not in _STORES:
            raise ValueError(f"stores holds {store!r}; expected 44, 51 or both.")
    if not chosen:
        raise ValueError("stores is empty; expected 44, 51 or both.")
    return tuple(store for store in _STORES if store in chosen)
