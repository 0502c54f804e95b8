"""Miscalibration and discrimination side by side."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge

import trueline as tl
from trueline.decompositions import CrpsDecomposition


def test_points_are_the_parts_and_lines_hold_one_crps(rows):
    y, F, G = rows
    display = tl.DecompositionDisplay.from_predictions(y, {"before": F, "after": G}, unit="kg")
    for name, dist in (("before", F), ("after", G)):
        part = tl.crps_decomposition(y, dist)
        at = display.points_[name].get_xydata()[0]
        np.testing.assert_array_equal(at, [part.miscalibration, part.discrimination])
        assert display.points_[name].get_label() == f"{name}: CRPS {part.crps:.4g}"
    assert len(display.lines_) > 1
    uncertainty = display.parts["after"].uncertainty
    for value, line in display.lines_.items():
        crps = line.get_xdata() - line.get_ydata() + uncertainty
        np.testing.assert_allclose(crps, value, rtol=1e-12)
    assert display.ax_.get_xlabel() == "miscalibration (kg)"


def test_a_forecast_without_a_finite_crps_has_no_point():
    good = CrpsDecomposition(1.0, 0.2, 0.7, 1.5)
    endless = CrpsDecomposition(np.inf, np.inf, 0.7, 1.5)
    display = tl.DecompositionDisplay({"good": good, "endless": endless}).plot()
    assert list(display.points_) == ["good"]
    assert tl.DecompositionDisplay(endless).plot().points_ == {}


def test_axes_and_options_are_those_of_the_caller(rows):
    y, F, _ = rows
    _, ax = plt.subplots()
    display = tl.DecompositionDisplay.from_predictions(y, F, name="mine", ax=ax, markersize=3.0)
    assert display.ax_ is ax
    assert display.points_["mine"].get_markersize() == 3.0


def test_a_model(rows):
    X = np.random.default_rng(0).normal(size=(50, 2))
    model = BayesianRidge().fit(X, X[:, 0])
    display = tl.DecompositionDisplay.from_estimator(model, X, X[:, 0] + 0.1 * X[:, 1])
    assert list(display.points_) == ["BayesianRidge"]


def test_other_outcomes_do_not_compare():
    parts = {"a": CrpsDecomposition(1.0, 0.2, 0.7, 1.5), "b": CrpsDecomposition(1.0, 0.2, 0.8, 1.6)}
    with pytest.raises(ValueError, match=r"parts have an uncertainty of 1\.5 to 1\.6"):
        tl.DecompositionDisplay(parts)
    with pytest.raises(TypeError, match="expected a CrpsDecomposition"):
        tl.DecompositionDisplay(3)
