"""Series with intervals: which rows, where, and what is a miss."""

import datetime as dt

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.dates import num2date
from sklearn.linear_model import BayesianRidge

import trueline as tl


def texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def test_rows_in_order_by_default(rows):
    y, F, _ = rows
    y, F = y[:80], F[:80]
    display = tl.IntervalDisplay.from_predictions(y, F)
    lower, upper = F.interval([0.5, 0.8, 0.9])
    np.testing.assert_array_equal(display.x, np.arange(80))
    np.testing.assert_array_equal(display.y, y)
    np.testing.assert_array_equal(display.forecast, F.median())
    np.testing.assert_array_equal(display.lower, lower)
    np.testing.assert_array_equal(display.upper, upper)
    np.testing.assert_array_equal(display.line_.get_ydata(), F.median())
    assert display.ax_.get_xlabel() == "row"
    assert display.note is None


def test_misses_of_the_widest_interval_have_their_own_marker(rows):
    y, F, _ = rows
    display = tl.IntervalDisplay.from_predictions(y, F, max_rows=500)
    missed = tl.coverage(y, F, 0.9, reduce=False) == 0
    np.testing.assert_array_equal(display.missed, missed)
    np.testing.assert_array_equal(display.misses_.get_ydata(), y[missed])
    np.testing.assert_array_equal(display.points_.get_ydata(), y[~missed])
    assert display.misses_.get_marker() != display.points_.get_marker()
    assert display.held == tl.coverage(y, F, 0.9)
    widest = f"90% (holds {display.held:.0%})"
    assert texts(display) == [widest, "80%", "50%", "forecast", "outcome", "missed"]


def test_the_bands_are_nested_with_the_widest_behind(rows):
    y, F, _ = rows
    display = tl.IntervalDisplay.from_predictions(
        y, F, coverage=[0.2, 0.6], max_rows=50, kind="band"
    )
    heights = [np.ptp(band.get_paths()[0].vertices[:, 1]) for band in display.intervals_]
    assert heights[0] > heights[1]
    assert display.intervals_[0].get_zorder() < display.intervals_[1].get_zorder()
    lower, upper = F[450:].interval(0.6)
    corners = display.intervals_[0].get_paths()[0].vertices
    assert corners[:, 1].min() == lower.min()
    assert corners[:, 1].max() == upper.max()


def test_of_a_long_series_the_last_rows_are_drawn(rows):
    y, F, _ = rows
    display = tl.IntervalDisplay.from_predictions(y, F, max_rows=50)
    np.testing.assert_array_equal(display.y, y[450:])
    assert display.legend_.get_title().get_text() == "last 50 of 500 rows"
    # How often intervals hold is counted in all rows.
    assert display.held == tl.coverage(y, F, 0.9)


def test_numbers_are_sorted_and_thinned_evenly(rows):
    y, F, _ = rows
    x = np.random.default_rng(0).permutation(500) / 10
    display = tl.IntervalDisplay.from_predictions(y, F, x, max_rows=100)
    np.testing.assert_allclose(display.x, np.sort(x)[2::5])
    chosen = np.argsort(x)[2::5]
    np.testing.assert_array_equal(display.y, y[chosen])
    np.testing.assert_array_equal(display.forecast, F.median()[chosen])
    assert display.legend_.get_title().get_text() == "100 of 500 rows"


def test_rows_in_the_order_of_the_forecast_are_bars(rows):
    y, F, _ = rows
    display = tl.IntervalDisplay.from_predictions(y, F, "forecast", max_rows=60)
    assert (np.diff(display.forecast) >= 0).all()
    np.testing.assert_array_equal(display.x, np.arange(1, 61))
    segments = display.intervals_[0].get_segments()
    assert len(segments) == 60
    np.testing.assert_allclose(segments[7][:, 1], [display.lower[7, -1], display.upper[7, -1]])
    band = tl.IntervalDisplay.from_predictions(y, F, "forecast", kind="band")
    assert not hasattr(band.intervals_[0], "get_segments")


def test_rows_in_no_known_order_are_not_joined(rows):
    y, F, _ = rows
    display = tl.IntervalDisplay.from_predictions(y[:80], F[:80])
    assert len(display.intervals_[0].get_segments()) == 80
    assert display.line_.get_linestyle() == "None"
    # Numbers, dates, or a word say that they are in order.
    dated = pd.Series(y[:80], index=pd.date_range("2024-03-01", periods=80))
    for given in (
        tl.IntervalDisplay.from_predictions(y[:80], F[:80], np.arange(80)),
        tl.IntervalDisplay.from_predictions(dated, F[:80]),
        tl.IntervalDisplay.from_predictions(y[:80], F[:80], kind="band"),
    ):
        assert not hasattr(given.intervals_[0], "get_segments")
        assert given.line_.get_linestyle() == "-"


def test_by_default_bars_are_as_many_as_can_be_told_apart(rows):
    y, F, _ = rows
    for x in (None, "forecast"):
        for size in ((3.0, 3.0), (8.0, 4.0), (11.0, 7.5)):
            figure, ax = plt.subplots(figsize=size, layout="constrained")
            display = tl.IntervalDisplay.from_predictions(y, F, x, ax=ax)
            figure.canvas.draw()
            ends = ax.transData.transform([(display.x[0], 0.0), (display.x[1], 0.0)])
            assert (ends[1, 0] - ends[0, 0]) / figure.dpi * 72 > 2.5  # points
            assert f"{len(display.x)} of 500 rows" in display.legend_.get_title().get_text()
    assert len(tl.IntervalDisplay.from_predictions(y, F, kind="band").x) == 300
    assert len(tl.IntervalDisplay.from_predictions(y, F, max_rows=400).x) == 400


def test_the_forecast_can_be_seen_in_the_legend_of_bars(rows):
    y, F, _ = rows
    display = tl.IntervalDisplay.from_predictions(y, F, "forecast", max_rows=300)
    key = display.legend_.legend_handles[texts(display).index("forecast")]
    assert key.get_marker() == display.line_.get_marker()
    assert key.get_color() == display.line_.get_color()
    assert key.get_markersize() >= 8
    assert key.get_markeredgewidth() >= 1.5


def test_dates_of_a_series_are_its_axis():
    days = pd.date_range("2024-03-01", periods=40, name="day")
    y = pd.Series(np.arange(40.0), index=days, name="sales")
    F = tl.Normal(np.arange(40.0), 1.0)
    display = tl.IntervalDisplay.from_predictions(y, F, unit="boxes", max_rows=30)
    assert display.ax_.get_xlabel() == "day"
    assert display.ax_.get_ylabel() == "sales (boxes)"
    assert display.x[-1] == np.datetime64("2024-04-09")
    right = num2date(display.ax_.get_xlim()[1])
    assert (right.year, right.month) == (2024, 4)
    assert display.legend_.get_title().get_text() == "last 30 of 40 rows"


def test_a_shuffled_index_of_numbers_is_not_an_axis(rows):
    y, F, _ = rows
    series = pd.Series(y, index=np.random.default_rng(0).permutation(500))
    display = tl.IntervalDisplay.from_predictions(series, F)
    np.testing.assert_array_equal(display.y, y[-display.y.size :])
    assert display.ax_.get_xlabel() == "row"
    assert hasattr(display.intervals_[0], "get_segments")


DAYS = [dt.date(2024, 1, day) for day in (3, 1, 2)]


@pytest.mark.parametrize(
    "x",
    [
        DAYS,
        [dt.datetime(d.year, d.month, d.day) for d in DAYS],
        [dt.datetime(d.year, d.month, d.day, tzinfo=dt.UTC) for d in DAYS],
        np.array(DAYS, dtype="datetime64[D]"),
        pd.Series(pd.to_datetime(DAYS)),
        pd.Series(pd.to_datetime(DAYS).tz_localize("Europe/Berlin")),
        pd.to_datetime(DAYS),
        pl.Series(DAYS),
    ],
    ids=["date", "datetime", "zone", "numpy", "pandas", "pandas zone", "index", "polars"],
)
def test_dates_of_every_kind(x):
    display = tl.IntervalDisplay.from_predictions([3.0, 1.0, 2.0], tl.Normal([3, 1, 2], 1.0), x)
    np.testing.assert_array_equal(display.y, [1.0, 2.0, 3.0])
    expected = np.array(sorted(DAYS), dtype="datetime64[D]")
    np.testing.assert_array_equal(display.x.astype("datetime64[D]"), expected)
    assert display.ax_.get_xlabel() == "date"


def test_names_come_from_series_and_can_be_set(rows):
    y, F, _ = rows
    x, outcomes = pl.Series("wind", np.arange(500.0)), pl.Series("power", y)
    display = tl.IntervalDisplay.from_predictions(outcomes, F, x)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("wind", "power")
    display = tl.IntervalDisplay.from_predictions(
        outcomes, F, x, x_name="wind speed", y_name="output", unit="MW", name="ridge"
    )
    assert display.ax_.get_xlabel() == "wind speed"
    assert display.ax_.get_ylabel() == "output (MW)"
    assert "ridge" in texts(display)
    plain = tl.IntervalDisplay.from_predictions(y, F)
    assert plain.ax_.get_ylabel() == "y"


def test_a_fitted_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, 0] + rng.normal(size=100)
    model = BayesianRidge().fit(X, y)
    display = tl.IntervalDisplay.from_estimator(model, X, y, X[:, 0], coverage=0.9)
    np.testing.assert_allclose(display.forecast, model.predict(X)[np.argsort(X[:, 0])])
    assert display.lower.shape == (100, 1)
    assert texts(display)[1] == "BayesianRidge"


def test_weights_count_in_what_holds(rows):
    y, F, _ = rows
    w = np.arange(500.0)
    display = tl.IntervalDisplay.from_predictions(y, F, sample_weight=w)
    assert display.held == tl.coverage(y, F, 0.9, sample_weight=w)


def test_results_can_be_drawn_without_forecasts():
    display = tl.IntervalDisplay([0, 1], [0.5, 9.0], [0.0, 0.0], [-1, -1], [1, 1], 0.9)
    display.plot(color="black", legend=False)
    assert display.held == 0.5
    np.testing.assert_array_equal(display.missed, [False, True])
    assert display.line_.get_color() == "black"
    assert display.legend_ is None
