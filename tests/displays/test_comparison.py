"""Differences of the CRPS and coverage, a row a forecast."""

import sys
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import BayesianRidge

import trueline as tl


def message(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.fixture
def forecasts(rows):
    _, narrow, right = rows
    return {"narrow": narrow, "right": right, "wide": tl.Normal(right.mean(), 1.05 * right.std())}


def heights(display):
    """Rows from the top, by name, of the labels of the axis."""
    ticks = zip(display.ax_.get_yticklabels(), display.ax_.get_yticks(), strict=True)
    return {label.get_text(): y for label, y in ticks}


def test_dots_and_bars_are_those_of_the_comparison(rows, forecasts):
    y, _, _ = rows
    display = tl.ComparisonDisplay.from_predictions(y, forecasts, coverage=0.8, unit="kg")
    found = tl.compare(y, forecasts, coverage=0.8)
    assert list(heights(display)) == list(found.evaluations) == ["right", "wide", "narrow"]
    for name, difference in found.differences.items():
        point, bar = display.points_[name], display.bars_[name]
        np.testing.assert_array_equal(point.get_xdata(), [difference.mean])
        reach = found.limit * difference.error
        np.testing.assert_allclose(
            bar.get_xdata(), [difference.mean - reach, difference.mean + reach]
        )
        # The bar reaches 0 where the dot is open.
        is_open = point.get_markerfacecolor() != point.get_markeredgecolor()
        assert is_open == (bar.get_xdata()[0] <= 0.0) == (name in found.tied) == (name == "wide")
    for name, height in heights(display).items():
        covered = display.coverage_points_[name]
        np.testing.assert_array_equal(covered.get_xdata(), [found.evaluations[name].coverage])
        assert covered.get_ydata() == display.points_[name].get_ydata() == [height]
    bands = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.coverage_ax_.patches]
    verdict = found.evaluations["right"].verdict.coverage
    np.testing.assert_allclose(bands[0], (verdict.low, verdict.high))
    assert display.points_["right"].get_xdata() == [0.0]
    assert display.ax_.get_xlabel() == "CRPS above the best (kg)\n± 2.4 standard errors"
    assert display.coverage_ax_.get_xlabel() == (
        "coverage of 80% intervals\ngrey: explained by chance"
    )


def test_given_axes_are_drawn_on_and_shared_with_the_coverage(rows, forecasts):
    y, _, _ = rows
    comparison = tl.compare(y, forecasts)
    figure, (other, ax) = plt.subplots(1, 2, figsize=(16, 3), layout="constrained")
    display = tl.ComparisonDisplay(comparison)
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    figure.canvas.draw()
    left, right = ax.get_window_extent(), display.coverage_ax_.get_window_extent()
    assert other.get_window_extent().x1 < left.x0 < left.x1 < right.x0 < right.x1
    # Without room, and without a grid of subplots, the left half is there alone.
    for small in (plt.figure(figsize=(3, 3)).add_subplot(), plt.figure().add_axes((0, 0, 1, 1))):
        display.plot(small, marker="s")
        assert display.coverage_ax_ is None
        assert display.coverage_points_ == {}
        assert {point.get_marker() for point in display.points_.values()} == {"s"}


@pytest.mark.parametrize("count", [2, 8])
def test_every_name_is_within_the_figure_and_apart_from_the_next(rows, count):
    y, _, right = rows
    name = "a model with a name that is much too long for the axis"
    many = {f"{name} {k}": tl.Normal(right.mean(), (1 + k / 4) * right.std()) for k in range(count)}
    display = tl.ComparisonDisplay.from_predictions(y, many)
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.ax_.get_yticklabels()]
    assert all(box.x0 >= 0.0 for box in boxes)
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))
    frame = display.figure_.bbox
    for ax in (display.ax_, display.coverage_ax_):
        assert ax.get_tightbbox().x1 <= frame.x1 + 1.0


def test_forecasts_without_a_finite_score_or_intervals():
    y, loc = [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]
    forecasts = {
        "endless": tl.StudentT(loc, 1.0, 0.4),
        "point": tl.Point(loc),
        "normal": tl.Normal(loc, 1.0),
    }
    display = tl.ComparisonDisplay.from_predictions(y, forecasts)
    display.figure_.canvas.draw()
    assert set(display.points_) == {"normal", "point"}
    assert set(display.coverage_points_) == {"normal", "endless"}
    assert "no finite CRPS" in [text.get_text() for text in display.ax_.texts]
    assert [text.get_text() for text in display.coverage_ax_.texts] == ["no intervals"]
    one_row = tl.ComparisonDisplay.from_predictions(y[:1], {k: f[:1] for k, f in forecasts.items()})
    assert one_row.bars_ == {}


def test_fitted_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200)
    models = {"mean": DummyRegressor().fit(X, y), "ridge": BayesianRidge().fit(X, y)}
    display = tl.ComparisonDisplay.from_estimator(models, X, y)
    assert display.comparison.winner == "ridge"


def test_bad_arguments(monkeypatch):
    y, F = [0.0, 1.0], tl.Normal([0.0, 0.0], 1.0)
    assert message(TypeError, tl.ComparisonDisplay, {"a": F, "b": F}) == (
        "comparison is of type dict; expected a Comparison, the result of trueline.compare. From "
        "outcomes and forecasts use from_predictions(y, forecasts)."
    )
    before = plt.get_fignums()
    assert message(TypeError, tl.ComparisonDisplay.from_predictions, y, F).startswith(
        "forecasts is of type Normal; expected two or more forecasts by name"
    )
    assert plt.get_fignums() == before
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert message(ImportError, tl.ComparisonDisplay.from_predictions, y, {"a": F, "b": F}) == (
        "ComparisonDisplay.from_predictions needs matplotlib, which is not installed: "
        'pip install "matplotlib>=3.9"'
    )
