"""The calendar, by Python's own."""

import numpy as np
import pytest

from tests.series.cases import days
from trueline.series._known import calendar_columns, calendar_inputs, week, weekday

DATES = np.concatenate([days("1899-12-01", 800), days("1969-12-20", 30), days("2014-01-01", 5000)])


def test_weeks_and_days_are_those_of_iso_8601():
    iso = [d.isocalendar() for d in DATES.tolist()]
    np.testing.assert_array_equal(weekday(DATES), [i.weekday - 1 for i in iso])
    np.testing.assert_array_equal(week(DATES), [i.week for i in iso])


@pytest.mark.parametrize("name", ["day_of_week", "week_of_year", "month"])
def test_one_indicator_is_on(name):
    on = calendar_inputs([name], DATES)
    assert set(np.unique(on)) == {0.0, 1.0}
    np.testing.assert_array_equal(on.sum(axis=1), 1.0)
    assert on.shape[1] == len(calendar_columns([name]))


def test_months():
    columns = calendar_columns(["month"])
    said = [columns[i] for i in calendar_inputs(["month"], DATES).argmax(axis=1)]
    assert said == [f"month {d.month}" for d in DATES.tolist()]


def test_the_year_is_a_circle():
    ends = np.array(["2015-01-01", "2015-12-31", "2016-01-01", "2016-07-02"], dtype="M8[D]")
    at = calendar_inputs(["year_cycle"], ends)
    np.testing.assert_allclose(np.hypot(*at.T), 1.0)
    np.testing.assert_allclose(at[[0, 2]], [[0.0, 1.0], [0.0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(at[3], [0.0, -1.0], atol=1e-12)  # 183 of 366 days on
    np.testing.assert_allclose(at[1, 0], -np.sin(2 * np.pi / 365))


def test_no_calendar_is_no_columns():
    assert calendar_inputs([], DATES).shape == (len(DATES), 0)
