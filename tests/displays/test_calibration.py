"""The calibration plot draws what the diagnostics computed."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge

import trueline as tl


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_line_is_the_calibration_curve(rows):
    y, F, _ = rows
    display = tl.CalibrationDisplay.from_predictions(y, F)
    curve = tl.calibration_curve(y, F)
    np.testing.assert_array_equal(display.line_.get_xdata(), curve.levels)
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.observed)
    assert display.errors["forecast"] == tl.calibration_error(y, F)
    assert display.floors["forecast"] == tl.calibration_floor(len(y))
    assert display.figure_ is display.ax_.figure
    assert display.reference_ in display.ax_.lines


def test_the_band_is_that_of_the_curve(rows):
    y, F, _ = rows
    display = tl.CalibrationDisplay.from_predictions(y, F, confidence=0.8)
    curve = tl.calibration_curve(y, F, confidence=0.8)
    corners = display.band_.get_paths()[0].vertices
    for level, lower, upper in zip(curve.levels, curve.lower, curve.upper, strict=True):
        ends = corners[corners[:, 0] == level][:, 1]
        np.testing.assert_array_equal([ends.min(), ends.max()], [lower, upper])
    assert display.band_.get_label() == "chance (80%)"


def test_several_forecasts_with_errors_and_floors_in_the_legend(rows):
    y, F, G = rows
    display = tl.CalibrationDisplay.from_predictions(
        y, {"before": F, "after": G}, n_fit={"after": 250}
    )
    before, after = (tl.calibration_error(y, dist) for dist in (F, G))
    floors = tl.calibration_floor(500), tl.calibration_floor(500, 250)
    assert labels(display.ax_) == [
        f"before: {before:.2g} ({floors[0]:.2g})",
        f"after: {after:.2g} ({floors[1]:.2g})",
        "chance for after (95%)",
    ]
    upper = tl.calibration_curve(y, G, n_fit=250).upper
    assert display.band_.get_paths()[0].vertices[:, 1].max() == upper.max()
    assert upper[5] in display.band_.get_paths()[0].vertices[:, 1]
    assert display.legend_.get_title().get_text() == "calibration error (floor)"
    assert list(display.lines_) == ["before", "after"]
    assert display.line_ is display.lines_["after"]


def test_weights_and_levels_go_through(rows):
    y, F, _ = rows
    w = np.arange(500.0)
    display = tl.CalibrationDisplay.from_predictions(y, F, levels=[0.2, 0.7], sample_weight=w)
    curve = tl.calibration_curve(y, F, [0.2, 0.7], sample_weight=w)
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.observed)
    assert display.errors["forecast"] == tl.calibration_error(y, F, [0.2, 0.7], sample_weight=w)


def test_a_fitted_model_and_several_of_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200)
    model = BayesianRidge().fit(X, y)
    calibrated = tl.CalibratedRegressor(BayesianRidge(), random_state=0).fit(X, y)
    display = tl.CalibrationDisplay.from_estimator(model, X, y)
    F = tl.Normal(*model.predict(X, return_std=True))
    np.testing.assert_allclose(
        display.curves["BayesianRidge"].observed, tl.calibration_curve(y, F).observed
    )
    both = tl.CalibrationDisplay.from_estimator({"plain": model, "calibrated": calibrated}, X, y)
    np.testing.assert_allclose(
        both.curves["calibrated"].observed,
        tl.calibration_curve(y, calibrated.predict_dist(X)).observed,
    )
    assert list(both.lines_) == ["plain", "calibrated"]


def test_results_can_be_drawn_again_and_with_other_colours(rows):
    y, F, _ = rows
    display = tl.CalibrationDisplay(tl.calibration_curve(y, F), name="mine")
    _, ax = plt.subplots()
    assert display.plot(ax, color="black", legend=False, band=False) is display
    assert display.ax_ is ax
    assert display.line_.get_color() == "black"
    assert display.band_ is display.legend_ is ax.get_legend() is None
    assert display.plot().ax_ is not ax


def test_a_second_display_on_the_same_axes_adds_its_curve_alone(rows):
    y, F, G = rows
    first = tl.CalibrationDisplay.from_predictions(y, F, name="first")
    second = tl.CalibrationDisplay.from_predictions(y, G, name="second", ax=first.ax_)
    assert second.reference_ is second.band_ is None
    assert len(first.ax_.collections) == 1
    assert len(first.ax_.lines) == 3
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    assert [label.split(":")[0] for label in labels(first.ax_)] == [
        "first",
        "second",
        "chance (95%)",
    ]


def test_curves_of_different_rows_have_no_common_band(rows):
    y, F, _ = rows
    curves = {"all": tl.calibration_curve(y, F), "some": tl.calibration_curve(y[:100], F[:100])}
    assert tl.CalibrationDisplay(curves).plot().band_ is None
    again = {"one": curves["all"], "two": curves["all"]}
    assert tl.CalibrationDisplay(again).plot().band_ is not None


@pytest.mark.parametrize("make", ["Quantiles", "Samples", "Point"])
def test_other_kinds_of_forecast(make):
    rng = np.random.default_rng(1)
    y = rng.normal(size=60)
    F = {
        "Quantiles": lambda: tl.Quantiles([0.1, 0.5, 0.9], np.tile([-1.3, 0.0, 1.3], (60, 1))),
        "Samples": lambda: tl.Samples(rng.normal(size=(60, 20))),
        "Point": lambda: tl.Point(np.zeros(60)),
    }[make]()
    display = tl.CalibrationDisplay.from_predictions(y, F)
    np.testing.assert_array_equal(display.line_.get_ydata(), tl.calibration_curve(y, F).observed)
