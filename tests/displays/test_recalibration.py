"""The map R and its knots."""

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge

import trueline as tl


@pytest.fixture
def fitted(rows):
    y, F, _ = rows
    return tl.Isotonic().fit(y, F)


def test_the_line_is_the_map_and_its_tails_go_on(fitted):
    display = tl.RecalibrationDisplay.from_recalibrator(fitted)
    found = tl.recalibration_map(fitted)
    low, high = found.supported
    p = found.probabilities
    inside = (p >= low) & (p <= high)
    np.testing.assert_array_equal(display.line_.get_xdata(), found.scores[inside])
    np.testing.assert_array_equal(display.line_.get_ydata(), p[inside])
    tail = display.tails_["Isotonic"].get_ydata()
    np.testing.assert_array_equal(tail[~inside], p[~inside])
    # Both tails touch the map.
    assert np.isfinite(tail).sum() == (~inside).sum() + 2
    np.testing.assert_array_equal(display.reference_.get_ydata(), found.base_probabilities)


def test_knots_lie_on_the_map_and_are_counted(fitted):
    display = tl.RecalibrationDisplay.from_recalibrator(fitted)
    knots = display.knots_["Isotonic"]
    assert len(knots.get_xdata()) == 40
    np.testing.assert_allclose(fitted.law_.cdf(knots.get_xdata()), knots.get_ydata())
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["Isotonic", "no change", "knots, 40 of 500"]
    few = tl.Isotonic().fit([1.0, 2.0, 4.0], tl.Normal([0.0, 0.0, 0.0], 1.0))
    display = tl.RecalibrationDisplay.from_recalibrator(few, name="few")
    assert display.knots_["few"].get_label() == "knots, 3"
    display.plot(knots=False)
    assert display.knots_ == {}


def test_over_probabilities_as_in_the_paper(fitted):
    display = tl.RecalibrationDisplay.from_recalibrator(fitted, x="probability")
    np.testing.assert_array_equal(display.reference_.get_xdata(), display.reference_.get_ydata())
    found = tl.recalibration_map(fitted)
    knots = display.knots_["Isotonic"].get_xdata()
    assert set(knots) <= set(found.knot_base_probabilities)
    assert display.ax_.get_xlabel() == "probability before"


def test_residuals_have_a_unit_and_no_reference(rows):
    y, _, _ = rows
    R = tl.Scaling().fit(y, tl.Point(np.zeros(500)))
    display = tl.RecalibrationDisplay.from_recalibrator(R, unit="kg")
    assert display.ax_.get_xlabel() == "outcome − forecast (kg)"
    assert display.reference_ is None
    assert display.knots_ == {}


def test_groups_stand_beside_the_pooled_map(rows):
    y, F, _ = rows
    R = tl.Grouped().fit(y, F, groups=np.repeat([1, 2], 250))
    display = tl.RecalibrationDisplay.from_recalibrator(R, groups=[1, 2])
    assert list(display.lines_) == ["1", "2", "all groups"]
    np.testing.assert_array_equal(display.maps["2"].scores, tl.recalibration_map(R, group=2).scores)


def test_several_maps_by_name(rows):
    y, F, _ = rows
    maps = {"smooth": tl.Smooth().fit(y, F), "steps": tl.Isotonic().fit(y, F)}
    display = tl.RecalibrationDisplay.from_recalibrator(maps)
    assert list(display.lines_) == ["smooth", "steps"]
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["smooth", "steps", "no change"]


def test_a_calibrated_regressor_and_an_ensemble():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + rng.normal(size=120)
    model = tl.CalibratedRegressor(BayesianRidge(), random_state=0).fit(X, y)
    display = tl.RecalibrationDisplay.from_estimator(model)
    np.testing.assert_array_equal(
        display.maps["Isotonic"].scores, tl.recalibration_map(model.recalibrator_).scores
    )
    # As every other display is called; the rows change nothing.
    with_rows = tl.RecalibrationDisplay.from_estimator(model, X[:9], y[:9])
    np.testing.assert_array_equal(with_rows.line_.get_ydata(), display.line_.get_ydata())
    model = tl.CalibratedRegressor(BayesianRidge(), cv=3, ensemble=True, random_state=0).fit(X, y)
    display = tl.RecalibrationDisplay.from_estimator(model)
    assert list(display.lines_) == ["fold 1", "fold 2", "fold 3"]
