"""Every message says what came, what was expected and how to mend it."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import BayesianRidge

import trueline as tl

Y = [0.0, 1.0, 2.0]
F = tl.Normal([0.0, 0.0, 0.0], 1.0)
R = tl.Scaling().fit(Y, F)

CLASSES = [tl.CalibrationDisplay, tl.PITDisplay, tl.IntervalDisplay, tl.SharpnessDisplay]
SEVERAL = [tl.CalibrationDisplay, tl.PITDisplay, tl.SharpnessDisplay]


def message(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def display(request):
    return request.param


@pytest.fixture(params=SEVERAL, ids=lambda cls: cls.__name__)
def several(request):
    return request.param


def test_without_matplotlib_it_says_what_to_install(display, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert message(ImportError, display.from_predictions, Y, F) == (
        f"{display.__name__}.from_predictions needs matplotlib, which is not installed: "
        f'pip install "matplotlib>=3.9"'
    )
    assert message(ImportError, display.from_estimator, None, None, Y) == (
        f"{display.__name__}.from_estimator needs matplotlib, which is not installed: "
        f'pip install "matplotlib>=3.9"'
    )


def test_the_map_says_so_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert message(ImportError, tl.RecalibrationDisplay.from_recalibrator, R) == (
        "RecalibrationDisplay.from_recalibrator needs matplotlib, which is not installed: "
        'pip install "matplotlib>=3.9"'
    )


def test_rows_are_checked_by_the_diagnostics(display):
    assert message(ValueError, display.from_predictions, [1.0], F) == (
        "y has 1 rows but the forecast has 3; expected the same number."
    )
    assert message(ValueError, display.from_predictions, [1.0, np.nan, 2.0], F) == (
        "y[1] is nan; expected finite numbers (1 of 3 is not). Drop or impute those rows first."
    )
    assert message(TypeError, display.from_predictions, Y, (1.0, 2.0, 3.0)).startswith(
        "dist is of type tuple, which trueline.as_distribution(obj) cannot convert: obj is a tuple "
    )
    assert message(TypeError, display.from_predictions, F, Y) == (
        "the arguments are swapped: outcomes come first, then the forecast: (y, dist). "
        "Received a Normal as y and a list as dist."
    )
    assert message(TypeError, display.from_predictions, Y, {"mean": Y, "std": [1.0] * 3}) == (
        "dist is a mapping with the keys 'mean', 'std', which is read as forecasts by name, but "
        "looks like one forecast in named columns. Convert it first: "
        "trueline.as_distribution(dist)."
    )


def test_nothing_is_left_open_by_a_mistake(display):
    before = plt.get_fignums()
    message(ValueError, display.from_predictions, [1.0], F)
    assert plt.get_fignums() == before


def test_names_of_several_forecasts(several):
    assert message(ValueError, several.from_predictions, Y, {}) == (
        "dist is an empty mapping; expected at least one forecast."
    )
    assert message(TypeError, several.from_predictions, Y, {1: F}) == (
        "dist has the key 1; expected names, which are strings."
    )
    assert message(ValueError, several.from_predictions, Y, {"a": F, "b": F}, name="c") == (
        "name is 'c', but dist names what it holds: a, b. Leave it out."
    )
    assert message(TypeError, several.from_predictions, Y, {"a": F, "b": (Y, Y, Y)}).startswith(
        "dist['b'] is of type tuple, which trueline.as_distribution(obj) cannot convert: obj is a "
    )
    assert message(TypeError, several.from_predictions, Y, F, name=3) == (
        "name is 3; expected a string."
    )
    assert message(ValueError, several.from_estimator, {}, None, Y) == (
        "estimator is an empty mapping; expected at least one model."
    )


def test_results_of_the_wrong_kind():
    assert message(TypeError, tl.CalibrationDisplay, F) == (
        "results hold an object of type Normal; expected a CalibrationCurve. "
        "From outcomes and forecasts use from_predictions(y, dist)."
    )
    assert message(ValueError, tl.CalibrationDisplay, {}) == (
        "results is an empty mapping; expected at least one CalibrationCurve."
    )
    assert message(TypeError, tl.PITDisplay, tl.calibration_curve(Y, F)) == (
        "results hold an object of type CalibrationCurve; expected a PITHistogram or "
        "PITDifference. From outcomes and forecasts use from_predictions(y, dist)."
    )
    mixed = {"a": tl.pit_histogram(Y, F), "b": tl.pit_difference(Y, F)}
    assert message(TypeError, tl.PITDisplay, mixed) == (
        "results hold a PITHistogram and a PITDifference; expected all of one kind, because they "
        "do not share an axis."
    )
    mixed = {"a": tl.interval_widths(F, 0.8), "b": tl.interval_widths(F, 0.9)}
    assert message(ValueError, tl.SharpnessDisplay, mixed) == (
        "widths are of intervals with coverages [0.8, 0.9]; expected one coverage, or the widths "
        "do not compare."
    )


@pytest.mark.parametrize(
    "make, expected",
    [
        (
            lambda: plt.subplots(1, 2)[1],
            ("ax is of type ndarray; expected a matplotlib Axes. Pass one of them: axes.flat[0]."),
        ),
        (
            plt.figure,
            "ax is of type Figure; expected a matplotlib Axes. Pass its axes: figure.gca().",
        ),
        (
            lambda: "left",
            (
                "ax is of type str; expected a matplotlib Axes. Make one with: "
                "figure, ax = matplotlib.pyplot.subplots()."
            ),
        ),
    ],
    ids=["array", "figure", "string"],
)
def test_axes_that_are_none(display, make, expected):
    assert message(TypeError, display.from_predictions, Y, F, ax=make()) == expected


def test_axes_that_were_removed():
    _, ax = plt.subplots()
    ax.remove()
    assert message(ValueError, tl.CalibrationDisplay.from_predictions, Y, F, ax=ax) == (
        "ax is on no figure; expected axes that have not been removed."
    )


def test_rows_of_the_fit():
    call = tl.CalibrationDisplay.from_predictions
    assert message(ValueError, call, Y, F, n_fit=0) == (
        "n_fit is 0; expected a number of rows, 1 or more."
    )
    assert message(ValueError, call, Y, {"a": F}, n_fit={"b": 10}) == (
        "n_fit names 'b'; expected names of forecasts: ['a']."
    )
    assert message(ValueError, call, Y, {"a": F}, n_fit={"a": "many"}) == (
        "n_fit['a'] is 'many'; expected a number of rows, 1 or more."
    )


def test_kinds():
    assert message(ValueError, tl.PITDisplay.from_predictions, Y, F, kind="ecdf") == (
        'kind is \'ecdf\'; expected "histogram" or "difference".'
    )
    assert message(ValueError, tl.IntervalDisplay.from_predictions, Y, F, kind="fan") == (
        'kind is \'fan\'; expected "band" or "bars".'
    )
    call = tl.RecalibrationDisplay.from_recalibrator
    assert message(ValueError, call, R, x="p") == 'x is \'p\'; expected "score" or "probability".'
    points = tl.Scaling().fit(Y, tl.Point([0.0, 0.0, 0.0]))
    assert message(ValueError, call, points, x="probability") == (
        'x is "probability", but the map was fitted on residuals of a Point, which gives no '
        'probabilities; expected "score".'
    )


def test_x_of_intervals():
    call = tl.IntervalDisplay.from_predictions
    assert message(ValueError, call, Y, F, [1.0, 2.0]) == (
        "x has 2 rows but the forecast has 3; expected the same number."
    )
    assert message(TypeError, call, Y, F, ["2024-01-01", "2024-01-02", "2024-01-03"]) == (
        "x holds strings; expected numbers or dates. Convert dates first: "
        'numpy.asarray(x, dtype="datetime64[D]") or pandas.to_datetime(x).'
    )
    assert message(ValueError, call, Y, F, "time") == (
        "x is 'time'; expected numbers, dates or \"forecast\"."
    )
    missing = np.array(["2024-01-01", "NaT", "2024-01-03"], dtype="datetime64[D]")
    assert message(ValueError, call, Y, F, missing) == (
        "x[1] is not a date (NaT); expected one in every row. Drop that row."
    )
    assert message(ValueError, call, Y, F, missing[:, None]) == (
        "x has shape (3, 1); expected one date per row, shape (n,)."
    )
    assert message(ValueError, call, Y, F, [1.0, np.nan, 2.0]) == (
        "x[1] is nan; expected finite numbers (1 of 3 is not). Drop or impute those rows first."
    )


def test_intervals_of_several_forecasts_at_once():
    assert message(TypeError, tl.IntervalDisplay.from_predictions, Y, {"a": F, "b": F}) == (
        "dist holds 2 forecasts by name; expected one Distribution, because their intervals would "
        "hide each other. Draw each on axes of its own: ax=."
    )


def test_numbers_of_intervals():
    call = tl.IntervalDisplay.from_predictions
    assert message(ValueError, call, Y, F, max_rows=0) == (
        "max_rows is 0; expected an integer of 1 or more."
    )
    assert message(ValueError, call, Y, F, coverage=[0.9, 0.5]) == (
        "coverage are not sorted: 0.9 comes before 0.5; expected strictly increasing levels. "
        "Sort them, with their values, and drop repeats."
    )
    assert message(ValueError, call, Y, F, coverage=90) == (
        "coverage holds 90.0; expected levels in (0, 1). Write 90% as 0.9."
    )


def test_arrays_of_intervals_that_do_not_fit():
    call = tl.IntervalDisplay
    assert message(ValueError, call, [0], Y, Y, Y, Y, 0.9) == (
        "x has 1 rows but y has 3; expected the same number."
    )
    assert message(ValueError, call, Y, Y, Y, Y[:2], Y, 0.9) == (
        "lower has shape (2,); expected (3, 1), one row per outcome and one column per coverage."
    )


def test_maps():
    call = tl.RecalibrationDisplay.from_recalibrator
    assert message(TypeError, call, F) == (
        "recalibrator is of type Normal; expected a fitted Recalibrator. That of a "
        "CalibratedRegressor is its recalibrator_."
    )
    assert message(ValueError, call, {"a": R}, groups=["b"]) == (
        "groups are of one Grouped map; expected one, not several by name."
    )
    points = tl.Scaling().fit(Y, tl.Point([0.0, 0.0, 0.0]))
    assert message(ValueError, call, {"a": R, "b": points}) == (
        "maps are of different scores (residual and standardised); expected one kind, because "
        "they do not share an axis."
    )
    assert message(TypeError, tl.RecalibrationDisplay.from_estimator, BayesianRidge()) == (
        "estimator is of type BayesianRidge and has no recalibrator_; expected a "
        "CalibratedRegressor after fit(X, y)."
    )
