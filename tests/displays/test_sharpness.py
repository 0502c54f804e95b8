"""Widths of intervals, a row a forecast."""

import numpy as np
import pandas as pd
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
