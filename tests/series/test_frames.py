"""Frames of every kind give the same windows."""

import ast
import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trueline.series
from tests.series.cases import make, two_shops


def same(W, expected):
    np.testing.assert_array_equal(W.X, expected.X)
    np.testing.assert_array_equal(W.y, expected.y)
    np.testing.assert_array_equal(W.dates, expected.dates)
    assert W.dates.dtype == expected.dates.dtype
    assert W.series.tolist() == expected.series.tolist()


def holes(frame):
    """Values as a list with None for NaN, as arrow and polars have it."""
    return [None if np.isnan(v) else v for v in frame["value"].tolist()]


def records(frame):
    kinds = [("date", "M8[D]"), ("shop", "U5"), ("value", "f8"), ("promotion", "f8")]
    return np.array(list(zip(*(frame[k] for k, _ in kinds), strict=True)), dtype=kinds)


def nullable(frame):
    return pd.DataFrame(frame).astype(
        {"value": "Float64", "promotion": "boolean", "shop": "category"}
    )


def by_arrow(frame):
    return pa.table({**frame, "value": holes(frame), "promotion": frame["promotion"].astype(int)})


def by_polars(frame):
    return pl.DataFrame({**frame, "value": holes(frame), "promotion": frame["promotion"] == 1})


MAKERS = {
    "pandas": pd.DataFrame,
    "pandas with an index": lambda f: pd.DataFrame(f, index=np.arange(len(f["date"]))[::-1]),
    "pandas of arrow": lambda f: by_arrow(f).to_pandas(types_mapper=pd.ArrowDtype),
    "nullable pandas": nullable,
    "polars": by_polars,
    "pyarrow": by_arrow,
    "lists": lambda f: {k: a.tolist() for k, a in {**f, "value": np.array(holes(f))}.items()},
    "strings": lambda f: {**f, "date": f["date"].astype(str)},
    "objects": lambda f: {**f, "date": f["date"].astype(object), "shop": f["shop"].astype(object)},
    "nanoseconds": lambda f: {**f, "date": f["date"].astype("M8[ns]")},
    "datetimes": lambda f: {
        **f,
        "date": [datetime.datetime.combine(d, datetime.time()) for d in f["date"].tolist()],
    },
    "masked": lambda f: {**f, "value": np.ma.masked_invalid(f["value"])},
    "records": records,
}


@pytest.mark.parametrize("kind", MAKERS)
def test_every_frame_gives_the_same(kind):
    frame = two_shops()
    W = make(MAKERS[kind](frame), covariates=["promotion"])
    same(W, make(frame, covariates=["promotion"]))


def test_a_selection_of_a_pandas_frame_is_read_by_position():
    frame = pd.DataFrame(two_shops())
    part = frame[frame["shop"] == "south"]
    same(make(part), make({name: part[name].to_numpy() for name in part}))


def test_no_library_of_frames_is_imported():
    imported = set()
    for file in Path(trueline.series.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.split(".")[0])
    assert "numpy" in imported
    assert not imported & {"pandas", "polars", "pyarrow"}
