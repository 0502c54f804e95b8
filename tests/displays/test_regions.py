"""The display of coverage by region draws what `conditional_coverage` finds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import trueline as tl


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    return X, rng.normal(size=3000) * np.where(X[:, 0] > 0.5, 2.0, 1.0)


def test_regions_are_drawn_with_their_words(rows):
    X, y = rows
    F = tl.Normal(np.zeros(3000), 1.6)
    found = tl.conditional_coverage(y, F, X, 0.8)
    display = tl.RegionDisplay.from_predictions(y, F, X, coverage=0.8, color="black")
    assert display.result == found
    shares = [point.get_xdata()[0] for point in display.points_]
    assert shares == [region.coverage for region in found.regions]
    for bar, region in zip(display.bands_, found.regions, strict=True):
        assert bar.get_x() == pytest.approx(region.verdict.low)
        assert bar.get_x() + bar.get_width() == pytest.approx(region.verdict.high)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [f"{r.rule}\n{r.n:,} rows" for r in found.regions]
    places = [point.get_ydata()[0] for point in display.points_]
    assert places == sorted(places, reverse=True)
    assert "coverage of 80% intervals" in display.ax_.get_xlabel().replace("\n", " ")
    assert display.points_[0].get_color() == "black"
    plt.close("all")


def test_a_region_that_holds_has_an_open_dot(rows):
    X, y = rows
    scale = np.where(X[:, 0] > 0.5, 2.0, 1.0)
    figure, ax = plt.subplots(figsize=(3, 1), layout="constrained")
    display = tl.RegionDisplay.from_predictions(y, tl.Normal(np.zeros(3000), scale), X, ax=ax)
    (point,) = display.points_
    assert point.get_markerfacecolor() == ax.get_facecolor()
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert [label.get_text() for label in ax.get_yticklabels()] == ["all rows\n1,500 rows"]
    _, ax = plt.subplots(figsize=(3, 1), layout="constrained")
    tl.RegionDisplay.from_predictions(y, tl.Normal(np.zeros(3000), 1.6), X, ax=ax)
    assert not [label for label in ax.get_yticklabels() if "rows" in label.get_text()]  # no room
    plt.close("all")


def test_a_model_is_asked_for_its_forecasts(rows):
    from sklearn.linear_model import BayesianRidge

    X, y = rows
    model = BayesianRidge().fit(X[:1000], y[:1000])
    display = tl.RegionDisplay.from_estimator(model, X[1000:], y[1000:])
    F = tl.as_distribution(model.predict(X[1000:], return_std=True))
    assert display.result == tl.conditional_coverage(y[1000:], F, X[1000:])
    plt.close("all")


def test_bad_input_is_refused(rows):
    X, y = rows
    with pytest.raises(TypeError, match="expected a ConditionalCoverage"):
        tl.RegionDisplay({"a": 1})
    F = tl.Normal(np.zeros(3000), 1.0)
    with pytest.raises(TypeError, match="2 forecasts by name; expected one"):
        tl.RegionDisplay.from_predictions(y, {"a": F, "b": F}, X)
