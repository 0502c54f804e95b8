"""PIT values: the histogram and the difference."""

import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge

import trueline as tl


def test_the_histogram_is_that_of_the_diagnostics(rows):
    y, F, _ = rows
    display = tl.PITDisplay.from_predictions(y, F, bins=8)
    found = tl.pit_histogram(y, F, bins=8)
    values, edges, _ = display.line_.get_data()
    np.testing.assert_array_equal(values, found.density)
    np.testing.assert_array_equal(edges, found.edges)
    band = display.band_.get_paths()[0].vertices
    assert band[:, 1].min() == found.lower[0]
    assert band[:, 1].max() == found.upper[0]
    np.testing.assert_array_equal(display.reference_.get_ydata(), [1.0, 1.0])
    low, high = display.ax_.get_ylim()
    assert low == 0
    assert high > found.density.max()


def test_the_difference_is_that_of_the_diagnostics(rows):
    y, F, _ = rows
    display = tl.PITDisplay.from_predictions(y, F, kind="difference", confidence=0.9)
    found = tl.pit_difference(y, F, confidence=0.9)
    np.testing.assert_array_equal(display.line_.get_xdata(), found.levels)
    np.testing.assert_array_equal(display.line_.get_ydata(), found.difference)
    np.testing.assert_array_equal(display.reference_.get_ydata(), [0.0, 0.0])
    low, high = display.ax_.get_ylim()
    assert low == -high
    assert high > np.abs(found.difference).max()


def test_several_forecasts(rows):
    y, F, G = rows
    for kind in ("histogram", "difference"):
        display = tl.PITDisplay.from_predictions(y, {"before": F, "after": G}, kind=kind)
        texts = [text.get_text() for text in display.legend_.get_texts()]
        assert texts == ["before", "after", "chance (95%)"]
        styles = {line.get_linestyle() for line in display.lines_.values()}
        assert len(styles) == 2


def test_a_seed_spreads_discrete_outcomes():
    rng = np.random.default_rng(0)
    y, F = rng.poisson(3, 200).astype(float), tl.Samples(rng.poisson(3, (200, 30)).astype(float))
    first = tl.PITDisplay.from_predictions(y, F, random_state=1).results["forecast"]
    again = tl.PITDisplay.from_predictions(y, F, random_state=1).results["forecast"]
    other = tl.PITDisplay.from_predictions(y, F, random_state=2).results["forecast"]
    np.testing.assert_array_equal(first.density, again.density)
    assert (first.density != other.density).any()
    assert first.inside


def test_a_fitted_model_and_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y, w = X[:, 0] + rng.normal(size=100), rng.uniform(size=100)
    model = BayesianRidge().fit(X, y)
    display = tl.PITDisplay.from_estimator(model, X, y, bins=5, sample_weight=w, name="ridge")
    F = tl.Normal(*model.predict(X, return_std=True))
    np.testing.assert_allclose(
        display.results["ridge"].density,
        tl.pit_histogram(y, F, bins=5, sample_weight=w).density,
    )


def test_results_can_be_drawn_again_without_band_and_legend(rows):
    y, F, _ = rows
    display = tl.PITDisplay(tl.pit_histogram(y, F)).plot(band=False, legend=False)
    assert display.band_ is display.legend_ is None
    ax = display.ax_
    again = display.plot(ax)
    assert again.reference_ is None
    assert again.ax_ is ax


@pytest.mark.parametrize("kind", ["histogram", "difference"])
def test_the_band_knows_the_rows_of_the_fit(rows, kind):
    y, F = rows[:2]
    R = tl.Isotonic().fit(y[:100], F[:100])
    forecasts = {"before": F[100:], "after": R.transform(F[100:])}
    display = tl.PITDisplay.from_predictions(y[100:], forecasts, kind=kind)
    assert display.band_.get_label() == "chance for after (95%)"
    assert display.band_.get_paths()[0].vertices[:, 1].max() == display.results["after"].upper.max()
    assert (display.results["after"].n_fit, display.results["before"].n_fit) == (100, None)
    given = tl.PITDisplay.from_predictions(y, F, kind=kind, n_fit=100).results["forecast"]
    assert (
        given.upper.max()
        > tl.PITDisplay.from_predictions(y, F, kind=kind).results["forecast"].upper.max()
    )
