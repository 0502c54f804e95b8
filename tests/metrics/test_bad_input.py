"""Every message says what came, what was expected and how to mend it."""

import numpy as np
import pytest

import trueline as tl

F = tl.Normal([0.0, 0.0, 0.0], 1.0)
Y = [0.0, 1.0, 2.0]

CALLS = {
    "calibration_curve": tl.calibration_curve,
    "calibration_error": tl.calibration_error,
    "calibration_test": tl.calibration_test,
    "coverage": tl.coverage,
    "crps": tl.crps,
    "ence": tl.ence,
    "evaluate": tl.evaluate,
    "interval_score": tl.interval_score,
    "log_score": tl.log_score,
    "marginal_calibration": tl.marginal_calibration,
    "pinball_loss": lambda y, dist, **kw: tl.pinball_loss(y, dist, 0.5, **kw),
}


def message(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.fixture(params=[*CALLS, "pit"])
def call(request):
    return CALLS.get(request.param, tl.pit)


@pytest.fixture(params=CALLS)
def weighted_call(request):
    return CALLS[request.param]


TRIPLE = (
    "dist is of type tuple, which trueline.as_distribution(obj) cannot convert: obj is a tuple of "
    "length 3; expected (loc, scale). For point forecasts pass a list or an array; for others "
    "build the distribution yourself."
)
BAD_ROWS = [
    (
        ([0.0, 1.0], F),
        ValueError,
        "y has 2 rows but the forecast has 3; expected the same number.",
    ),
    (
        (1.0, F),
        ValueError,
        "y has 1 rows but the forecast has 3; expected the same number.",
    ),
    (
        ([0.0, np.nan, np.inf], F),
        ValueError,
        "y[1] is nan; expected finite numbers (2 of 3 are not). Drop or impute those rows first.",
    ),
    (
        (np.zeros((3, 1)), F),
        ValueError,
        (
            "y has shape (3, 1); expected one number per row, shape (n,). "
            "Use y.ravel() if that is what it holds."
        ),
    ),
    (([], F), ValueError, "y is empty; expected at least one row."),
    (
        (["a", "b", "c"], F),
        TypeError,
        "y holds strings; expected real numbers. Convert it to floats first.",
    ),
    (
        (Y, (np.zeros(3), -np.ones(3))),
        ValueError,
        (
            "dist is of type tuple, which trueline.as_distribution(obj) cannot convert: scale[0] "
            "is -1.0; expected standard deviations above 0 (3 of 3 are below). Models often give "
            "logarithms: if it is a log standard deviation pass (mean, np.exp(x)), if a log "
            "variance (mean, np.exp(0.5 * x))."
        ),
    ),
    (
        (Y, np.zeros((3, 2))),
        TypeError,
        (
            "dist is of type ndarray, which trueline.as_distribution(obj) cannot convert: obj has "
            "shape (3, 2); expected one number per row, shape (n,), because a table may hold draws "
            'or quantiles. Say which: kind="samples" for draws, (rows, draws); {"levels": levels, '
            '"values": obj} for quantiles, (rows, levels); kind="mean_std" or kind="mean_var" for '
            'two columns; or kind="point" with obj.ravel().'
        ),
    ),
    (
        (F, Y),
        TypeError,
        (
            "the arguments are swapped: outcomes come first, then the forecast: (y, dist). "
            "Received a Normal as y and a list as dist."
        ),
    ),
    (
        ((np.zeros(3), np.ones(3)), Y),
        TypeError,
        (
            "the arguments are swapped: outcomes come first, then the forecast: (y, dist). "
            "Received a tuple as y and a list as dist."
        ),
    ),
    (
        (F, F),
        TypeError,
        (
            "y is of type Normal; expected outcomes, shape (n,). "
            "Outcomes come first, then the forecast: (y, dist)."
        ),
    ),
]


@pytest.mark.parametrize("args, error, expected", BAD_ROWS)
def test_outcomes_and_forecast(call, args, error, expected):
    assert message(error, call, *args) == expected


BAD_WEIGHTS = [
    ([1.0, 2.0], "sample_weight has 2 rows but y has 3; expected the same number."),
    (
        [1.0, -2.0, 0.0],
        (
            "sample_weight[1] is -2.0; expected weights of 0 or more (1 of 3 is not). "
            "Drop rows that must not count."
        ),
    ),
    ([0.0, 0.0, 0.0], "sample_weight is zero in every row; expected at least one above 0."),
    (
        [1.0, np.nan, 1.0],
        (
            "sample_weight[1] is nan; expected finite numbers (1 of 3 is not). "
            "Drop or impute those rows first."
        ),
    ),
]


@pytest.mark.parametrize("w, expected", BAD_WEIGHTS)
def test_weights(weighted_call, w, expected):
    assert message(ValueError, weighted_call, Y, F, sample_weight=w) == expected


def test_weights_are_checked_even_where_rows_are_returned():
    for score in (tl.crps, tl.log_score, tl.coverage, tl.interval_score):
        assert message(ValueError, score, Y, F, sample_weight=[1.0], reduce=False) == (
            "sample_weight has 1 rows but y has 3; expected the same number."
        )


def test_sharpness():
    assert message(TypeError, tl.sharpness, (1.0, 2.0, 3.0)) == TRIPLE
    assert message(ValueError, tl.sharpness, F, sample_weight=[1.0]) == (
        "sample_weight has 1 rows but the forecast has 3; expected the same number."
    )


BAD_COVERAGE = [
    (90, "coverage holds 90.0; expected levels in (0, 1). Write 90% as 0.9."),
    (0.0, "coverage holds 0.0; expected levels in (0, 1)."),
    ([0.5, 0.9], "coverage has shape (2,); expected one number in (0, 1)."),
]


@pytest.mark.parametrize("coverage, expected", BAD_COVERAGE)
@pytest.mark.parametrize("score", [tl.coverage, tl.interval_score, tl.evaluate])
def test_coverage(score, coverage, expected):
    assert message(ValueError, score, Y, F, coverage=coverage) == expected


BAD_INTERVALS = [
    (
        (0.1, 0.5, 0.9),
        (
            "coverage is (0.1, 0.5, 0.9); expected one number in (0, 1), or the two levels "
            "(p1, p2) of the ends of an interval, the smaller one first."
        ),
    ),
    (
        (0.9, 0.1),
        (
            "coverage is (0.9, 0.1); expected one number in (0, 1), or the two levels "
            "(p1, p2) of the ends of an interval, the smaller one first."
        ),
    ),
    ((5, 95), "coverage holds 5.0; expected levels in [0, 1]. Write 5% as 0.05."),
]


@pytest.mark.parametrize("coverage, expected", BAD_INTERVALS)
def test_levels_of_an_interval(coverage, expected):
    assert message(ValueError, tl.coverage, Y, F, coverage) == expected


def test_thresholds():
    assert message(ValueError, tl.marginal_calibration, Y, F, [0.0, np.nan]) == (
        "thresholds[1] is nan; expected finite numbers (1 of 2 is not). "
        "Drop or impute those rows first."
    )


BAD_LEVELS = [
    (
        [0.5, 0.1],
        (
            "levels are not sorted: 0.5 comes before 0.1; expected strictly increasing levels. "
            "Sort them, with their values, and drop repeats."
        ),
    ),
    (
        [0.1, 0.1],
        (
            "levels repeats 0.1; expected strictly increasing levels. "
            "Sort them, with their values, and drop repeats."
        ),
    ),
    ([0.1, 1.1], "levels holds 1.1; expected levels in [0, 1]."),
    ([-0.1, 0.1], "levels holds -0.1; expected levels in [0, 1]."),
    ([], "levels is empty; expected at least one level."),
]


@pytest.mark.parametrize("levels, expected", BAD_LEVELS)
def test_levels(levels, expected):
    for score in (tl.calibration_curve, tl.calibration_error, tl.evaluate):
        assert message(ValueError, score, Y, F, levels=levels) == expected
    assert message(ValueError, tl.calibration_floor, 9, levels=levels) == expected


def test_pinball_level():
    assert message(ValueError, tl.pinball_loss, Y, F, 1.0) == (
        "level holds 1.0; expected levels in (0, 1)."
    )
    assert message(ValueError, tl.pinball_loss, Y, F, [[0.1]]) == (
        "level has shape (1, 1); expected a scalar or a 1-D array of levels, "
        "the same for every row."
    )


BAD_LEVEL_WEIGHTS = [
    (
        "count",
        'weights is \'count\'; expected "uniform", "counts" or an array with one weight per level.',
    ),
    ([1.0, 2.0], "weights has 2 rows but levels has 11; expected the same number."),
    ([-1.0, *[1.0] * 10], "weights holds -1.0; expected weights of 0 or more."),
]


@pytest.mark.parametrize("weights, expected", BAD_LEVEL_WEIGHTS)
def test_level_weights(weights, expected):
    assert message(ValueError, tl.calibration_error, Y, F, weights=weights) == expected
    assert message(ValueError, tl.calibration_floor, 9, weights=weights) == expected


def test_a_number_of_rows_that_is_a_method_is_called():
    R = tl.Isotonic().fit(Y, F)
    assert message(ValueError, tl.evaluate, Y, F, n_fit=R.n_fit).endswith(" R.n_fit().")


@pytest.mark.parametrize("n", [0, -3, np.inf, np.nan, "9", None])
def test_numbers_of_rows(n):
    assert message(ValueError, tl.calibration_floor, n) == (
        f"n_test is {n!r}; expected a number of rows, 1 or more."
    )
    if n is not None:
        expected = f"n_fit is {n!r}; expected a number of rows, 1 or more."
        assert message(ValueError, tl.calibration_floor, 9, n) == expected
        assert message(ValueError, tl.evaluate, Y, F, n_fit=n) == expected


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, True, "10"])
def test_numbers_of_bins(n_bins):
    assert message(ValueError, tl.ence, Y, F, n_bins) == (
        f"n_bins is {n_bins!r}; expected an integer of 1 or more."
    )


def test_confidence():
    assert message(ValueError, tl.calibration_curve, Y, F, confidence=95) == (
        "confidence holds 95.0; expected levels in (0, 1). Write 95% as 0.95."
    )


@pytest.mark.parametrize("score", [tl.pit, tl.calibration_test, tl.evaluate])
def test_random_state(score):
    assert message(TypeError, score, Y, F, random_state="seed") == (
        "random_state is 'seed'; expected None, an integer of 0 or more, "
        "or a numpy.random.Generator."
    )
