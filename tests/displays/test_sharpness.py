"""Widths of intervals, a row a forecast."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import BayesianRidge

import trueline as tl


def test_histograms_bars_and_means_are_those_of_the_diagnostics(rows):
    y, F, G = rows
    display = tl.SharpnessDisplay.from_predictions(y, {"before": F, "after": G}, coverage=0.8)
    for base, (name, dist) in zip((1, 0), (("before", F), ("after", G)), strict=True):
        found = tl.interval_widths(dist, 0.8)
        heights, edges, _ = display.histograms_[name].get_data()
        np.testing.assert_array_equal(edges, found.edges)
        np.testing.assert_allclose(
            (heights - base) / (heights - base).max(), found.density / found.density.max()
        )
        np.testing.assert_array_equal(display.bars_[name].get_xdata(), found.quantiles[[5, 95]])
        np.testing.assert_array_equal(display.marks_[name].get_xdata(), [found.mean])
        held = tl.coverage(y, dist, 0.8)
        assert display.texts_[name].get_text() == f"mean {found.mean:.3g}, holds {held:.0%}"
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["before", "after"]


@pytest.mark.parametrize("size", [(3.0, 3.0), (6.0, 3.0), (11.0, 7.5)])
def test_texts_stand_below_their_means_and_within_the_axes(rows, size):
    y, _, _ = rows
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    loc = np.zeros(500)
    wide, middle, narrow = (tl.Normal(loc, k * np.linspace(0.9, 1.1, 500)) for k in (9, 5, 0.5))
    forecasts = {"wide": wide, "middle": middle, "narrow, and of a long name " * 3: narrow}
    display = tl.SharpnessDisplay.from_predictions(y, forecasts, ax=ax)
    figure.canvas.draw()
    inside = ax.get_window_extent()
    for key, text in display.texts_.items():
        box = text.get_window_extent()
        mark = ax.transData.transform(display.marks_[key].get_xydata()[0])
        assert box.x0 < mark[0] < box.x1
        assert box.y1 < mark[1]
        assert inside.x0 - 1 <= box.x0
        assert box.x1 <= inside.x1 + 1
    for label in ax.get_yticklabels():
        assert label.get_window_extent().x0 >= 0


def test_no_outcomes_are_needed(rows):
    _, F, _ = rows
    display = tl.SharpnessDisplay.from_predictions(None, F, name="model", unit="kg")
    assert display.texts_["model"].get_text() == f"mean {tl.interval_widths(F).mean:.3g}"
    assert display.ax_.get_xlabel() == "width of 90% intervals (kg)"


def test_labels_come_from_names(rows):
    y, F, _ = rows
    display = tl.SharpnessDisplay.from_predictions(pd.Series(y, name="sales"), F, coverage=0.995)
    assert display.ax_.get_xlabel() == "width of 99.5% intervals of sales"


def test_the_axis_starts_at_zero_and_shows_every_mean(rows):
    y, F, _ = rows
    wide = tl.Normal(np.zeros(500), np.append(np.ones(499), 1e4))  # the mean lies off the bulk
    display = tl.SharpnessDisplay.from_predictions(y, {"wide": wide, "narrow": F})
    low, high = display.ax_.get_xlim()
    assert low == 0
    assert high > tl.interval_widths(wide).mean


def test_widths_of_nothing_and_without_end_are_drawn():
    with np.errstate(over="ignore"):
        endless = tl.interval_widths(tl.Normal(np.zeros(3), [1.0, 2.0, 1e308]))
    none = tl.interval_widths(tl.Point([0.0, 1.0]))
    display = tl.SharpnessDisplay({"endless": endless, "none": none}).plot()
    display.figure_.canvas.draw()
    assert display.texts_["endless"].get_text() == "mean inf"
    assert np.isfinite(display.ax_.get_xlim()).all()


def test_a_fitted_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, 0] + rng.normal(size=100)
    model = BayesianRidge().fit(X, y)
    display = tl.SharpnessDisplay.from_estimator(model, X, y)
    F = tl.Normal(*model.predict(X, return_std=True))
    np.testing.assert_allclose(display.widths["BayesianRidge"].mean, tl.interval_widths(F).mean)
