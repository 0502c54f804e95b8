"""Daily sales of the item that the paper forecasts."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline.datasets._load import FOLDER, DatasetError, read_checked

ITEM = 1503844
_FILE = "favorita/item1503844_stores44_51.csv"
_FILE_SUM = "13d0715738f31fc2295cd0694b2ce2c8fc508f80ea810ba43c52b1174f624f4e"
_STORES = (44, 51)
_SOURCE = (
    "train.csv of the Kaggle competition Corporacion Favorita Grocery Sales Forecasting "
    "(https://www.kaggle.com/c/favorita-grocery-sales-forecasting)"
)
# The file is known by its sum, and who filters train.csv anew gets another.
_OWN_EXTRACT = (
    "An extract of your own needs no loader: give its columns of dates, stores and unit_sales to "
    "trueline.series.windows"
)


@dataclass(frozen=True, eq=False, repr=False)
class Sales:
    """What `load_sales` returns.

    Attributes
    ----------
    frame : dict of ndarray
        Columns of equal length, one row a store and day: ``date`` (datetime64[D]), ``store``
        (int64), ``value`` (float64, units sold) and ``onpromotion`` (float64, 0 or 1). It is a
        frame for `trueline.series.windows`.
    item : int
        Number of the item.
    stores : tuple of int

    Examples
    --------
    >>> import numpy as np
    >>> from reproduce.sales_data import Sales
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

    The data are Corporacion Favorita's, whose terms do not let us pass them on. They are read from
    ``favorita/item1503844_stores44_51.csv`` in the folder that the environment variable
    ``TRUELINE_DATA`` names, and must be the file we know, by its SHA-256. (The paper used stores 1
    to 4.)

    Days without a row are not known, or the shop was closed: they are not zeros. Whole months are
    missing (2014-02, 2014-04 to 2014-06, 2014-08, 2015-01 to 2015-05), and so are 25 December,
    1 January, and in store 51 2017-06-10.

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
        If the file is not there, or is not the one we know.

    Examples
    --------
    >>> from trueline import datasets
    >>> from trueline.series import windows
    >>> sales = datasets.load_sales()  # doctest: +SKIP
    >>> sales  # doctest: +SKIP
    Sales(item 1503844, stores 44, 51, 2031 rows from 2014-01-02 to 2017-08-15)
    >>> windows(sales.frame, series="store", nonnegative=True)  # doctest: +SKIP
    Windows(1947 rows: 2 series, 2014-01-06 to 2017-08-15; 4 steps x 61 inputs)
    """
    wanted = _wanted(stores)
    content = read_checked(
        _path(), _FILE_SUM, "the file of sales that we know", f". {_OWN_EXTRACT}"
    )
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
    """Check which stores are asked for; each once, in order."""
    if stores is None:
        return _STORES
    asked = (stores,) if isinstance(stores, int | np.integer) else tuple(stores)
    for store in asked:
        if store not in _STORES:
            raise ValueError(f"stores holds {store!r}; expected 44, 51 or both.")
    if not asked:
        raise ValueError("stores is empty; expected 44, 51 or both.")
    return tuple(store for store in _STORES if store in asked)


def _path() -> Path:
    """Where the file is."""
    folder = os.environ.get(FOLDER)
    file = Path(folder) / _FILE if folder else None
    if file is not None and file.is_file():
        return file
    looked = f"{FOLDER} is not set" if file is None else f"there is no file {file}"
    raise DatasetError(
        f"the sales of item {ITEM} were not found: {looked}. They come from {_SOURCE}, the rows "
        f"with item_nbr {ITEM} and store_nbr {_STORES[0]} or {_STORES[1]}, and their terms do not "
        f"let us pass them on. If you have the file, set {FOLDER} to the folder that holds "
        f"{_FILE}. {_OWN_EXTRACT}."
    )
