"""Where a result is weaker than it looks, a warning says so and points at the user's line."""

import re
import warnings

import numpy as np
import pytest

import trueline as tl


def caught(call, *args, **kwargs):
    """Return the one warning that a call gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(*args, **kwargs)
    assert len(found) == 1
    assert issubclass(found[0].category, tl.CalibrationWarning)
    assert found[0].filename == __file__, "the warning does not point at the caller"
    return str(found[0].message)


@pytest.fixture
def nine():
    """Map from nine rows: its finite-sample knots are 0.1, ..., 0.9."""
    return tl.Isotonic().fit(np.arange(9.0), tl.Point(np.zeros(9)))


# ---- quantiles that the rows do not support --------------------------------------------


@pytest.mark.parametrize(
    "level, message",
    [
        (
            0.95,
            (
                "level 0.95 lies outside those that the calibration rows support: the "
                "quantile is read off the extrapolated tail. Fit on at least 19 rows."
            ),
        ),
        (
            0.01,
            (
                "level 0.01 lies outside those that the calibration rows support: the "
                "quantile is read off the extrapolated tail. Fit on at least 99 rows."
            ),
        ),
        (
            [0.05, 0.5, 0.999],
            (
                "level 0.999 lies outside those that the calibration rows support: the "
                "quantile is read off the extrapolated tail. Fit on at least 999 rows."
            ),
        ),
    ],
)
def test_a_quantile_in_the_extrapolated_tail(nine, level, message):
    assert caught(nine.transform(tl.Point(0.0)).ppf, level) == message


def test_an_interval_with_more_coverage_than_the_rows_support(nine):
    assert caught(nine.transform(tl.Point([0.0, 1.0])).interval, 0.9) == (
        "a 0.9 interval needs levels 0.05 to 0.95, which the calibration rows do not support: its "
        "ends are read off the extrapolated tails. Fit on at least 19 rows."
    )


def test_a_stream_from_cold_warns_of_its_intervals_once():
    online = tl.Online()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for y in range(30):
            online.update(y, tl.Point(0.0)).transform(tl.Point(0.0)).interval(0.9)
    assert len(told) == 1


def test_with_as_many_rows_as_the_warning_asks_for_there_is_none():
    n = 19
    dist = tl.Isotonic().fit(np.arange(n), tl.Point(np.zeros(n))).transform(tl.Point(0.0))
    dist.interval(0.9)
    dist.ppf([0.05, 0.95])


@pytest.mark.parametrize("n", [9, 19, 99, 999])
def test_the_outermost_knots_are_supported(n):
    dist = tl.Isotonic().fit(np.arange(n), tl.Point(np.zeros(n))).transform(tl.Point(0.0))
    dist.ppf([1 / (n + 1), n / (n + 1)])
    dist.interval((n - 1) / (n + 1))


def test_inside_the_rows_nothing_warns(nine):
    dist = nine.transform(tl.Point(0.0))
    dist.interval(0.8)
    dist.median()
    dist.sample(100, random_state=0)
    dist.mean(), dist.crps(100.0), dist.cdf(-100.0)


@pytest.mark.parametrize(
    "recalibrator", [tl.Smooth(), tl.BetaCalibration(), tl.Scaling()], ids=repr
)
def test_maps_with_parameters_support_every_level(recalibrator):
    recalibrator.fit(np.arange(9.0), tl.Point(np.zeros(9))).transform(tl.Point(0.0)).ppf(0.999)


def test_the_weakest_group_decides():
    y, groups = np.arange(30.0), ["many"] * 29 + ["one"]
    map_ = tl.Grouped(shrinkage=0).fit(y, tl.Point(np.zeros(30)), groups=groups)
    map_.transform(tl.Point(0.0), groups=["many"]).ppf(0.9)
    both = map_.transform(tl.Point([0.0, 0.0]), groups=["many", "one"])
    assert caught(both.ppf, 0.9) == (
        "level 0.9 lies outside those that the calibration rows support: the quantile is "
        "read off the extrapolated tail. Fit on at least 9 rows."
    )


# ---- weak calibration data -------------------------------------------------------------


@pytest.mark.parametrize("recalibrator", [tl.Isotonic(), tl.Smooth(), tl.Grouped()], ids=repr)
def test_more_than_half_of_the_scores_tied(recalibrator):
    y = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0]
    groups = ["a"] * 10 if isinstance(recalibrator, tl.Grouped) else None
    assert caught(recalibrator.fit, y, tl.Point(np.zeros(10)), groups=groups) == (
        "10 rows have only 4 distinct scores: more than half are tied, so the recalibrated "
        "forecasts have atoms and no reliable density."
    )


def test_half_tied_is_not_more_than_half():
    tl.Isotonic().fit([0.0, 0.0, 1.0, 1.0], tl.Point(np.zeros(4)))


@pytest.mark.parametrize("recalibrator", [tl.Isotonic(), tl.Scaling(), tl.Grouped()], ids=repr)
def test_weights_that_sum_to_one(recalibrator):
    groups = ["a"] * 4 if isinstance(recalibrator, tl.Grouped) else None
    weight = [0.25, 0.25, 0.25, 0.25]
    message = caught(recalibrator.fit, np.arange(4.0), tl.Point(np.zeros(4)), weight, groups)
    assert message == (
        "sample_weight sums to 1 over 4 rows. A weight below 1 counts as less than a row, so "
        "these are worth one row: scale them to sum to 4."
    )


def test_one_row_of_weight_one_is_what_it_says():
    tl.Isotonic().fit([1.0], tl.Point([0.0]), sample_weight=[1.0])
    tl.Isotonic().fit([1.0, 2.0], tl.Point([0.0, 0.0]), sample_weight=[1.0, 0.0])


# ---- groups ----------------------------------------------------------------------------


def test_an_unseen_group():
    map_ = tl.Grouped().fit(np.arange(4.0), tl.Point(np.zeros(4)), groups=["a", "a", "b", "b"])
    assert caught(map_.transform, tl.Point([0.0, 0.0]), groups=["b", "z"]) == (
        "1 of 2 groups were not there at fit and get the pooled map: 'z'. Its intervals hold on "
        "average over groups, but not for each group."
    )
    many = ["a", "p", "q", "r", "s"]
    assert caught(map_.transform, tl.Point(np.zeros(5)), groups=many) == (
        "4 of 5 groups were not there at fit and get the pooled map: 'p', 'q', 'r', ... Its "
        "intervals hold on average over groups, but not for each group."
    )


def test_an_unseen_group_among_groups_that_differ():
    y = np.random.default_rng(0).normal(size=400) * np.repeat([1.0, 8.0], 200)
    map_ = tl.Grouped().fit(y, tl.Point(np.zeros(400)), groups=np.repeat([1, 2], 200))
    message = caught(map_.transform, tl.Point(0.0), groups=[3])
    found = re.search(r"in nine of ten, scores spread (\S+) to (\S+) times", message)
    low, high = map(float, found.groups())
    assert 5.0 < high / low < 9.0
