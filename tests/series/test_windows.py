"""What windows hold, and how rows are chosen."""

import dataclasses
import datetime

import numpy as np
import pytest

from tests.series.cases import DAY, days, make, two_shops
from trueline.series import windows


def test_a_window_by_hand():
    # 2015-12-31 was a Thursday, in week 53 of its year by ISO 8601; 2016-01-04 begins week 1.
    frame = {
        "day": days("2015-12-31", 5),
        "sold": [5.0, 6.0, 7.0, 8.0, 9.0],
        "offer": [0.0, 1.0, 0.0, 0.5, 0.25],
    }
    W = windows(frame, date="day", value="sold", covariates="offer", n_steps=2)
    assert len(W) == 3
    np.testing.assert_array_equal(W.y, [7.0, 8.0, 9.0])
    np.testing.assert_array_equal(W.dates, days("2016-01-02", 3))
    assert W.dates.dtype == "M8[D]"
    assert W.X.dtype == np.float64
    assert W.n_inputs == 1 + 7 + 53 + 1
    on = [dict(zip(W.feature_names, row, strict=True)) for row in W.X]
    there = [{name: value for name, value in row.items() if value} for row in on]
    assert there[0] == {
        "sold[t-2]": 5.0,
        "Friday[t-1]": 1.0,
        "week 53[t-1]": 1.0,
        "offer[t-1]": 1.0,
        "sold[t-1]": 6.0,
        "Saturday[t]": 1.0,
        "week 53[t]": 1.0,
    }
    assert there[2] == {
        "sold[t-2]": 7.0,
        "Sunday[t-1]": 1.0,
        "week 53[t-1]": 1.0,
        "offer[t-1]": 0.5,
        "sold[t-1]": 8.0,
        "Monday[t]": 1.0,
        "week 1[t]": 1.0,
        "offer[t]": 0.25,
    }


def test_columns_go_step_by_step():
    W = make(n_steps=3, covariates=["promotion"])
    assert W.feature_names[:3] == ("value[t-3]", "Monday[t-2]", "Tuesday[t-2]")
    assert W.feature_names[8:10] == ("promotion[t-2]", "value[t-2]")
    assert W.feature_names[-1] == "promotion[t]"
    assert len(W.feature_names) == len(set(W.feature_names)) == W.X.shape[1] == 3 * 9
    np.testing.assert_array_equal(W.value_columns, [0, 9, 18])
    np.testing.assert_array_equal(W.folded()[5, 1], W.X[5, 9:18])
    np.testing.assert_array_equal(W.folded()[:, :, 0], W.X[:, W.value_columns])


def test_rows_are_chosen_as_in_an_array():
    W = make()
    for rows in (slice(3, 9), [5, 1, 1], np.arange(len(W)) % 3 == 0, np.array([], dtype=int)):
        part = W[rows]
        np.testing.assert_array_equal(part.X, W.X[rows])
        np.testing.assert_array_equal(part.y, W.y[rows])
        np.testing.assert_array_equal(part.dates, W.dates[rows])
        np.testing.assert_array_equal(part.series, W.series[rows])
        assert part.feature_names == W.feature_names
    assert len(W[-1]) == 1
    assert W[-1].y[0] == W.y[-1]
    with pytest.raises(IndexError, match=r"rows of Windows\(.* cannot be selected"):
        W[len(W)]
    with pytest.raises(IndexError, match="expected one dimension"):
        W[[[0, 1]]]
    with pytest.raises(dataclasses.FrozenInstanceError):
        W.y = None


@pytest.mark.parametrize(
    "date",
    [
        "2015-10-01",
        datetime.date(2015, 10, 1),
        datetime.datetime(2015, 10, 1),
        np.datetime64("2015-10"),
    ],
    ids=["string", "date", "datetime", "numpy"],
)
def test_rows_are_chosen_by_date(date):
    W = make()
    split = np.datetime64("2015-10-01")
    np.testing.assert_array_equal(W.before(date).dates, W.dates[W.dates < split])
    np.testing.assert_array_equal(W.since(date).dates, W.dates[W.dates >= split])
    part = W.between(date, "2015-10-03")
    assert set(part.dates) == set(days("2015-10-01", 3))
    assert set(part.series) == {"north", "south"}


def test_dates_are_checked():
    W = make()
    with pytest.raises(ValueError, match="first is 2015-08-03 and last is 2015-08-01"):
        W.between("2015-08-03", "2015-08-01")
    with pytest.raises(ValueError, match="date is 'soon' in row 0, which cannot be read"):
        W.before("soon")
    with pytest.raises(ValueError, match="expected one date"):
        W.since(["2015-08-01", "2015-08-02"])


def test_repr():
    W = make()
    assert repr(W) == (
        f"Windows({len(W)} rows: 2 series, 2015-06-05 to 2015-12-17; 4 steps x 8 inputs)"
    )
    assert repr(W[:0]) == "Windows(no rows; 4 steps x 8 inputs)"
    one = windows({"date": days("2016-01-01", 2), "value": [1.0, 2.0]}, n_steps=1, calendar=())
    assert repr(one) == "Windows(1 row: 1 series, 2016-01-02 to 2016-01-02; 1 step x 1 input)"


def test_without_a_series_column_all_rows_are_of_series_0():
    W = windows({"date": days("2016-01-01", 9), "value": np.arange(9.0)})
    np.testing.assert_array_equal(W.series, np.zeros(5, dtype=int))


def test_series_may_be_interleaved():
    frame = two_shops()
    order = np.argsort(frame["date"], kind="stable")
    np.testing.assert_array_equal(make({k: a[order] for k, a in frame.items()}).X, make(frame).X)


def test_hours_and_weeks():
    hours = np.datetime64("2016-01-01T20", "h") + np.arange(8)
    W = windows(
        {"date": hours, "value": np.arange(8.0)}, step="h", n_steps=2, calendar="hour_of_day"
    )
    assert W.dates.dtype == "M8[h]"
    np.testing.assert_array_equal(W.dates, hours[2:])
    np.testing.assert_array_equal(W.folded()[:, -1, 1:].argmax(axis=1), [22, 23, 0, 1, 2, 3])
    weeks = np.datetime64("2016-01-06") + 7 * np.arange(8) * DAY
    weeks = np.delete(weeks, 4)
    W = windows({"date": weeks, "value": np.arange(7.0)}, step="W", n_steps=2, calendar=())
    np.testing.assert_array_equal(W.dates, weeks[[2, 3, 6]])
    assert W.before("2016-02-01").y.tolist() == [2.0, 3.0]


def test_days_to_forecast_are_kept_if_asked_for():
    value = np.arange(12.0)
    value[6] = np.nan
    frame = {"date": days("2016-01-01", 12), "value": value}
    dropped = windows(frame, n_steps=3, calendar=())
    np.testing.assert_array_equal(dropped.y, [3.0, 4.0, 5.0, 10.0, 11.0])
    W = windows(frame, n_steps=3, calendar=(), missing="forecast")
    np.testing.assert_array_equal(W.y, [3.0, 4.0, 5.0, np.nan, 10.0, 11.0, np.nan])
    np.testing.assert_array_equal(W.dates[[3, 6]], np.array(["2016-01-07", "2016-01-13"], "M8[D]"))
    np.testing.assert_array_equal(W.X[[3, 6]], [[3.0, 4.0, 5.0], [9.0, 10.0, 11.0]])


def test_with_covariates_a_day_to_forecast_needs_its_own():
    value = np.append(np.arange(6.0), np.nan)
    frame = {"date": days("2016-01-01", 7), "value": value, "offer": np.arange(7.0)}
    W = windows(frame, n_steps=2, calendar=(), covariates="offer", missing="forecast")
    assert str(W.dates[-1]) == "2016-01-07"
    np.testing.assert_array_equal(W.X[-1], [4.0, 5.0, 5.0, 6.0])
    frame["offer"][6] = np.nan
    W = windows(frame, n_steps=2, calendar=(), covariates="offer", missing="forecast")
    assert str(W.dates[-1]) == "2016-01-06"


def test_the_latest_window_up_to_a_day():
    W = make()
    wanted = days("2015-06-05", 180)
    for shop in ("north", "south"):
        rows, leads = W.latest(wanted, shop)
        mine = np.flatnonzero(W.series == shop)
        for day, row, lead in zip(wanted, rows, leads, strict=True):
            expected = mine[W.dates[mine] <= day][-1]
            assert row == expected
            assert lead == (day - W.dates[expected]) // DAY + 1


def test_the_latest_windows_of_several_series_in_any_order():
    W = make()
    shuffled = W[np.random.default_rng(0).permutation(len(W))]
    dates, shops = ["2015-07-15", "2015-07-15", "2016-01-01"], ["south", "north", "south"]
    for some in (W, shuffled):
        rows, leads = some.latest(dates, shops)
        assert some.series[rows].tolist() == shops
        assert [str(d) for d in some.dates[rows]] == ["2015-07-15", "2015-07-10", "2015-12-17"]
        assert leads.tolist() == [1, 6, 16]


def test_the_latest_window_is_refused_where_there_is_none():
    W = make()
    with pytest.raises(ValueError, match="series is None, but the windows have 2 series"):
        W.latest(["2015-07-15"])
    with pytest.raises(ValueError, match="no window of series 'north' has its target day on or"):
        W.latest(["2015-07-15", "2015-06-01"], "north")
    with pytest.raises(ValueError, match="no window of series 'east'"):
        W.latest(["2015-07-15"], "east")
    with pytest.raises(ValueError, match="no window has"):
        W[:0].latest(["2015-07-15"])
    weeks = np.datetime64("2016-01-06") + 7 * np.arange(8) * DAY
    weekly = windows({"date": weeks, "value": np.arange(8.0)}, step="W", calendar=())
    assert weekly.latest(["2016-03-02"])[1] == [2]
    with pytest.raises(ValueError, match="2016-03-01 lies between the steps of the series"):
        weekly.latest(["2016-03-01"])
