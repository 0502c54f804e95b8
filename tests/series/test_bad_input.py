"""Bad frames and arguments: what is wrong, where, and how to fix it."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from tests.series.cases import DAY, days, make
from trueline.series import rolling_origins, windows


def frame(**changes):
    columns = {
        "date": days("2016-01-01", 12),
        "shop": np.repeat(["a", "b"], 6),
        "value": np.arange(12.0),
    }
    columns["date"][6:] -= 6 * DAY
    return {**columns, **changes}


def put(column, row, item):
    a = frame()[column].copy()
    a[row] = item
    return frame(**{column: a})


def test_the_frame_itself_is_good():
    assert len(windows(frame(), series="shop", n_steps=2)) == 8


@pytest.mark.parametrize(
    "bad, message",
    [
        (
            put("date", 8, np.datetime64("2016-01-02")),
            (
                r"the date in series b on 2016-01-02 \(row 7\) comes again in row 8 \(1 come again "
                r"in all\); expected each date of a series once\. Add up or drop the rows of one"
                r" day\.$"
            ),
        ),
        (
            put("date", 8, np.datetime64("2015-12-30")),
            (
                r"the date in series b on 2015-12-30 \(row 8\) comes after 2016-01-02 \(row 7\); "
                r"expected the dates of each series in order\. Sort the frame by date first\."
            ),
        ),
        (
            put("date", 3, np.datetime64("NaT", "ns")),
            r"frame\['date'\] has no date in row 3 \(1 of 12 have none\)",
        ),
        (
            frame(date=frame()["date"].astype("M8[h]") + np.timedelta64(5, "h")),
            (
                r"frame\['date'\] is 2016-01-01T05 in row 0; expected nothing finer than the unit "
                r"of a step of one day\. Round the dates first, or give the step="
            ),
        ),
        (
            frame(date=["1.1.2016"] * 12),
            (
                r"frame\['date'\] is '1\.1\.2016' in row 0, which cannot be read as a date; "
                r"expected a string such as '2016-06-01'"
            ),
        ),
        (
            frame(date=["2016-01-01T00:00+02:00"] * 12),
            "with a time zone; expected the date where it was measured",
        ),
        (
            frame(date=pd.date_range("2016-01-01", periods=12, tz="UTC")),
            r"with a time zone; .* in pandas by \.dt\.tz_localize\(None\)",
        ),
        (
            put("value", 7, np.inf),
            (
                r"frame\['value'\] is inf in series b on 2016-01-02 \(row 7\); expected finite "
                r"numbers, or NaN for unknown days"
            ),
        ),
        (
            put("value", 7, -3.0),
            (
                r"frame\['value'\] is -3\.0 in series b on 2016-01-02 \(row 7\); expected 0 or "
                r"more \(1 of 12 are not\)\. If these are returned goods, clip them to 0, make "
                r"them NaN, or pass nonnegative=False"
            ),
        ),
        (
            frame(shop=["a", None, *"aaaa", *"bbbbbb"]),
            r"frame\['shop'\] has no value in row 1 \(1 of 12 have none\)",
        ),
        (frame(value=np.arange(11.0)), r"frame\['value'\] has 11 rows but frame\['date'\] has 12"),
        (
            frame(value=np.ones((12, 2))),
            r"frame\['value'\] has shape \(12, 2\); expected one value",
        ),
        ({name: column[:0] for name, column in frame().items()}, "frame has no rows"),
        (
            frame(
                shop=["a"] * 9 + ["b"] * 3,
                date=np.append(days("2016-01-01", 9), days("2016-01-01", 3)),
            ),
            (
                r"series b is shorter than a window: its longest run of days without a gap is 3, "
                r"and n_steps=3 needs 4, including the day before the window\. Lower n_steps, or "
                r"leave the series out\."
            ),
        ),
        (
            put("value", [1, 3, 5, 7, 9, 11], np.nan),
            (
                r"series a is shorter than a window \(2 series have\): its longest run of days "
                r"without a gap is 1"
            ),
        ),
    ],
    ids=[
        "doubled",
        "unsorted",
        "no date",
        "time of day",
        "another format",
        "zone in a string",
        "zone in pandas",
        "infinite",
        "negative",
        "no label",
        "length",
        "shape",
        "empty",
        "short",
        "gaps everywhere",
    ],
)
def test_a_bad_frame_is_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        windows(bad, series="shop", n_steps=3, nonnegative=True)


@pytest.mark.parametrize(
    "bad, message",
    [
        (frame(value=["1"] * 12), r"frame\['value'\] holds strings; expected real numbers"),
        (frame(value=np.ones(12, dtype=bool)), r"frame\['value'\] holds booleans"),
        (frame(value=[1.0, "x"] * 6), r"frame\['value'\] holds"),
        (
            frame(date=np.arange(20160101, 20160113)),
            r"frame\['date'\] holds numbers, such as 20160101",
        ),
        (frame(date=[datetime.time()] * 12), "holds an object of type time in row 0"),
        (frame(shop=np.array([1, "b"] * 6, dtype=object)), "holds values of types int and str"),
        ([1.0, 2.0], "frame is a list; expected columns with names: a frame of pandas or polars"),
        (np.ones((3, 2)), "frame is a ndarray; expected columns with names"),
    ],
    ids=["strings", "booleans", "mixed", "numbers", "times", "labels", "list", "array"],
)
def test_a_frame_of_the_wrong_types_is_refused(bad, message):
    with pytest.raises(TypeError, match=message):
        windows(bad, series="shop", n_steps=3)


def test_doubled_dates_without_a_series_column_get_a_hint():
    with pytest.raises(
        ValueError, match=r"the date on 2016-01-01 \(row 0\) comes again in row 6"
    ) as e:
        windows(frame(), n_steps=2)
    assert str(e.value).endswith("If it holds several series, name them with series=.")


def test_negative_values_are_numbers_unless_they_cannot_be():
    bad = put("value", 7, -3.0)
    assert -3.0 in windows(bad, series="shop", n_steps=1).y
    with pytest.raises(ValueError, match="expected 0 or more"):
        windows(bad, series="shop", n_steps=1, nonnegative=True)


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"value": "valeu"},
            r"value is 'valeu', .* \(date, shop, value\)\. Did you mean 'value'\?",
        ),
        ({"date": "Date"}, r"date is 'Date', .* Did you mean 'date'\?"),
        ({"series": "shops"}, r"series is 'shops', .* Did you mean 'shop'\?"),
        ({"covariates": ["zzz"]}, r"covariates is 'zzz', and frame has no such column; .*\)\.$"),
        ({"covariates": "value"}, "covariates holds 'value', the column of the values"),
        ({"covariates": ["shop", "shop"]}, "expected each column once"),
        ({"n_steps": 0}, "n_steps is 0; expected a number of days of 1 or more"),
        ({"n_steps": 2.0}, "n_steps is 2.0"),
        ({"n_steps": True}, "n_steps is True"),
        ({"missing": "fill"}, "missing is 'fill'; expected one of drop, raise, forecast"),
        ({"calendar": "week"}, "calendar holds 'week'; expected some of day_of_week, week_of_year"),
        ({"calendar": ["day_of_weak"]}, r"Did you mean 'day_of_week'\?"),
        ({"calendar": ["month", "month"]}, "expected each name once"),
        ({"step": "M"}, 'step is \'M\'; expected "D", "W", "h"'),
        ({"step": np.timedelta64(1, "M")}, "step is .*; expected"),
        ({"step": np.timedelta64(0, "D")}, "step is .*; expected"),
        ({"step": np.timedelta64("NaT", "D")}, "step is .*; expected"),
        ({"step": 1}, "step is 1; expected"),
        (
            {"step": np.timedelta64(2, "D")},
            (
                r"the date in series a on 2016-01-02 \(row 1\) lies between the steps: the series "
                r"begins on 2016-01-01, and a step of 2 days was expected"
            ),
        ),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        windows(frame(), **{"series": "shop", "n_steps": 2, **options})


def test_text_is_no_covariate():
    with pytest.raises(TypeError, match=r"frame\['shop'\] holds strings; expected real numbers"):
        windows(frame(), series="shop", covariates=["shop"], n_steps=2)


def test_gaps_can_be_errors():
    assert len(windows(frame(), series="shop", n_steps=2, missing="raise")) == 8
    gone = {name: np.delete(column, 8) for name, column in frame().items()}
    with pytest.raises(
        ValueError,
        match="series b has no row between 2016-01-02 and 2016-01-04; expected every day of it",
    ):
        windows(gone, series="shop", n_steps=1, missing="raise")
    with pytest.raises(
        ValueError, match="series b has NaN as 'value' or a covariate on 2016-01-03"
    ):
        windows(put("value", 8, np.nan), series="shop", n_steps=1, missing="raise")


def test_numbers_of_other_kinds_are_numbers():
    decimals = [Decimal(i) for i in range(11)] + [None]
    W = windows(frame(value=decimals), series="shop", n_steps=2)
    np.testing.assert_array_equal(W.y, [2.0, 3.0, 4.0, 5.0, 8.0, 9.0, 10.0])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"first": "2015-06-05"}, "no row with a known outcome .* before the origin 2015-06-05"),
        ({"first": "2017-01-01"}, "the first origin is 2017-01-01, after the last day to test on"),
        (
            {"first": "2015-08-01", "last": "2015-07-01"},
            "after the last day to test on, 2015-07-01",
        ),
        (
            {"first": "2015-08-01", "every": 0},
            "every is 0; expected a number of steps of 1 or more",
        ),
        ({"first": "2015-08-01", "every": "M"}, "every is 'M'; expected"),
        ({"first": "2015-08-01", "every": 2.5}, "every is 2.5; expected"),
        (
            {"first": "2015-08-01", "every": np.timedelta64(36, "h")},
            "expected a multiple of the step",
        ),
        ({"first": "later"}, "first is 'later' in row 0, which cannot be read as a date"),
    ],
)
def test_bad_origins_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        rolling_origins(make(), **options)


def test_origins_need_rows():
    W = make()
    with pytest.raises(ValueError, match=r"W is Windows\(no rows; .*; expected some rows"):
        rolling_origins(W[:0], first="2015-08-01")
    part = W[(W.dates < np.datetime64("2015-09-01")) | (W.dates > np.datetime64("2015-11-01"))]
    with pytest.raises(ValueError, match="W has no rows from 2015-09-01 to 2015-10-31"):
        rolling_origins(part, first="2015-09-01", last="2015-10-31")
    with pytest.raises(
        ValueError, match="before the origin 2015-11-02 and no more than 9 days bef"
    ):
        rolling_origins(part, first="2015-11-02", train_span=9)
