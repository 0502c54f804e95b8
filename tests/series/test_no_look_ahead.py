"""Change the future, and the past stays as it was, to the last bit."""

import numpy as np
import pytest

import trueline as tl
from tests.series.cases import DAY, changed_from, make, two_shops
from trueline.series import recalibrate_daily

DATE = np.datetime64("2015-10-10")


@pytest.mark.parametrize("missing", ["drop", "forecast"])
def test_inputs_up_to_a_day_do_not_depend_on_values_from_that_day_on(missing):
    options = {
        "covariates": ["promotion"],
        "calendar": ("day_of_week", "week_of_year", "year_cycle"),
        "missing": missing,
    }
    frame = two_shops()
    W, V = make(frame, **options), make(changed_from(frame, DATE), **options)
    np.testing.assert_array_equal(W.dates, V.dates)
    np.testing.assert_array_equal(W.series, V.series)
    known = W.dates <= DATE
    np.testing.assert_array_equal(W.X[known], V.X[known])
    np.testing.assert_array_equal(W.y[W.dates < DATE], V.y[W.dates < DATE])
    next_day = W.dates == DATE + DAY
    assert next_day.any()
    assert (W.X[next_day, W.value_columns[-1]] != V.X[next_day, W.value_columns[-1]]).all()


def stream(seed=0):
    """Forecasts of two series a day, in no order of days, and a recalibrator of the days before."""
    rng = np.random.default_rng(seed)
    dates = np.tile(np.datetime64("2015-01-01") + np.arange(150) * DAY, 2)
    dates = dates[rng.permutation(300)]
    loc = rng.normal(size=300)
    y = loc + 2.0 * rng.standard_t(4, size=300)
    return y, tl.Normal(loc, 1.0), dates


def online(y, F, dates, **options):
    past = dates < np.datetime64("2015-02-01")
    order = np.flatnonzero(past)[np.argsort(dates[past], kind="stable")]
    return tl.Online(**options).fit(y[order], F[order]), ~past


OPTIONS = [{}, {"window": 40}, {"half_life": 20}, {"coverage": 0.9}]
IDS = ["all", "window", "half-life", "adaptive"]


@pytest.mark.parametrize("options", OPTIONS, ids=IDS)
@pytest.mark.parametrize("lead", [1, 5])
def test_daily_recalibration_does_not_look_ahead(options, lead):
    y, F, dates = stream()
    R, now = online(y, F, dates, **options)
    y, F, dates = y[now], F[now], dates[now]
    date = np.datetime64("2015-04-01")
    later = dates >= date
    other = y.copy()
    other[later] = np.random.default_rng(1).permutation(other[later]) * 5.0 + 3.0
    G = recalibrate_daily(R, y, F, dates, lead=lead)
    H = recalibrate_daily(R, other, F, dates, lead=lead)
    levels = [0.1, 0.5, 0.9]
    # Outcomes of the date are known when `lead` days have passed.
    same = dates < date + lead * DAY
    np.testing.assert_array_equal(G.ppf(levels)[same], H.ppf(levels)[same])
    assert (
        G.ppf(levels)[dates == date + lead * DAY] != H.ppf(levels)[dates == date + lead * DAY]
    ).any()


# The rows of a short half-life are too few for a quantile at 5%.
@pytest.mark.filterwarnings("ignore::trueline.CalibrationWarning")
@pytest.mark.parametrize("options", OPTIONS, ids=IDS)
@pytest.mark.parametrize("lead", [1, 3])
def test_daily_recalibration_is_transform_then_update(options, lead):
    y, F, dates = stream()
    R, now = online(y, F, dates, **options)
    y, F, dates = y[now], F[now], dates[now]
    before = R.transform(F).ppf([0.2, 0.8])
    G = recalibrate_daily(R, y, F, dates, lead=lead)
    assert len(G) == len(F)
    np.testing.assert_array_equal(R.transform(F).ppf([0.2, 0.8]), before)  # a copy has learned
    for day in np.unique(dates)[[0, 1, 20, 70]]:
        learner, _ = online(*stream(), **options)
        for earlier in np.unique(dates[dates <= day - lead * DAY]):
            rows = np.flatnonzero(dates == earlier)
            learner.update(y[rows], F[rows])
        today = dates == day
        assert today.sum() == 2
        np.testing.assert_array_equal(
            G[today].ppf([0.05, 0.5, 0.95]), learner.transform(F[today]).ppf([0.05, 0.5, 0.95])
        )
        np.testing.assert_allclose(G.mean()[today], learner.transform(F[today]).mean())


def test_from_days_without_an_outcome_nothing_is_learned():
    y, F, dates = stream()
    R, now = online(y, F, dates)
    y, F, dates = y[now], F[now], dates[now]
    closed = dates == np.datetime64("2015-03-01")
    unknown = np.where(closed, np.nan, y)
    G = recalibrate_daily(R, unknown, F, dates)
    H = recalibrate_daily(R, y[~closed], F[~closed], dates[~closed])
    np.testing.assert_array_equal(G.ppf([0.1, 0.9])[~closed], H.ppf([0.1, 0.9]))
    assert np.isfinite(G.ppf(0.5)[closed]).all()


def test_daily_recalibration_follows_a_drift():
    rng = np.random.default_rng(0)
    days = np.datetime64("2015-01-01") + np.arange(1000) * DAY
    y = rng.normal(size=1000) * np.repeat([1.0, 3.0], 500)
    F = tl.Normal(np.zeros(1000), 1.0)
    R = tl.Online(coverage=0.9, rate=0.05).fit(y[:300], F[:300])
    G = recalibrate_daily(R, y[300:], F[300:], days[300:])
    assert tl.coverage(y[300:], R.transform(F[300:]), 0.9) < 0.7
    # Online proves that all but (0.1 / rate + a few) / T rows of the 10% are kept.
    assert abs(tl.coverage(y[300:], G, 0.9) - 0.9) < 0.03


def test_bad_streams_are_refused():
    y, F, dates = stream()
    R, _ = online(y, F, dates)
    with pytest.raises(TypeError, match="recalibrator is a Isotonic; expected Online"):
        recalibrate_daily(tl.Isotonic().fit(y, F), y, F, dates)
    with pytest.raises(
        tl.NotFittedError, match="has seen no rows, and so has no map for the first"
    ):
        recalibrate_daily(tl.Online(), y, F, dates)
    with pytest.raises(TypeError, match="the arguments are swapped: outcomes come first"):
        recalibrate_daily(R, F, y, dates)
    with pytest.raises(ValueError, match="y has 299 rows but dist has 300"):
        recalibrate_daily(R, y[1:], F, dates)
    with pytest.raises(ValueError, match="dates has 299 rows but dist has 300"):
        recalibrate_daily(R, y, F, dates[1:])
    with pytest.raises(ValueError, match="lead is 0; expected"):
        recalibrate_daily(R, y, F, dates, lead=0)
    with pytest.raises(ValueError, match="expected nothing finer than the unit"):
        recalibrate_daily(R, y, F, dates.astype("M8[h]") + np.timedelta64(1, "h"))
    with pytest.raises(ValueError, match="was fitted on 'standardised' scores"):
        recalibrate_daily(R, y, tl.Point(F.loc), dates)
