"""The experiments with daily sales: no forecast looks ahead, and quick runs work."""

import json
import os

import numpy as np
import pytest

import trueline as tl
from reproduce import ExperimentError
from reproduce.inventory import experiment as inventory
from reproduce.sales import networks as sales, stores as sales_run
from reproduce.sales.data import Sales
from reproduce.sales.networks import FIRST, LAST, Ahead, Networks, Rolled, Series, Size
from reproduce.sales.weeks import Weeks, weekly_totals

needs_data = pytest.mark.skipif(
    not os.environ.get("TRUELINE_DATA"), reason="TRUELINE_DATA is not set"
)
DAY = np.timedelta64(1, "D")
SMALL = Size(epochs=(1, 1, 1), every=60, paths=8, days=30)


class Drifting:
    """A model that forecasts the value of the day before, too sure of itself."""

    def __init__(self, shift=0.0):
        self.shift = shift

    def predict_dist(self, X):
        # The last of 4 steps starts with the value of the day before.
        return tl.Normal(X[:, -X.shape[1] // 4] + self.shift, 5.0)


def frame(change_from=None):
    """Sales like those of the file, closed on 25 December; other ones from a day on."""
    dates = np.arange("2015-06-01", "2017-01-10", dtype="datetime64[D]")
    rng = np.random.default_rng(0)
    value = 100.0 + 10.0 * rng.normal(size=len(dates))
    if change_from is not None:
        value[dates >= np.datetime64(change_from)] *= 2.0
    open_ = dates != np.datetime64("2016-12-25")
    return {
        "date": dates[open_],
        "store": np.full(open_.sum(), 44),
        "value": value[open_],
        "onpromotion": np.zeros(open_.sum()),
    }


@pytest.fixture
def store(monkeypatch):
    """Return a function that makes the series of a store."""

    def make(change_from=None):
        data = Sales(frame(change_from), 1503844, (44,))
        monkeypatch.setattr(sales, "load_sales", lambda store: data)
        return Series.of(44)

    return make


def networks(series):
    """Models of the rolling origins that drift apart."""
    splits = sales.rolling_origins(series.train, first=sales.FIRST_ORIGIN, every=60)
    tests = [test for _, test in splits]
    return Networks(Drifting(), [(Drifting(i), test) for i, test in enumerate(tests)])


def test_periods_and_the_days_without_a_whole_window(store):
    series = store()
    assert series.train.dates.max() == FIRST - DAY
    assert (series.test.dates[0], series.test.dates[-1]) == (FIRST, LAST)
    lacking = np.setdiff1d(np.arange(FIRST, LAST + DAY), series.test.dates)
    assert lacking.astype(str).tolist() == [f"2016-12-{day}" for day in range(25, 30)]
    # The closed day itself can be forecast, and is one of the origins.
    assert np.datetime64("2016-12-25") in series.every.dates


def test_sales_of_days(store):
    series = store()
    days = np.array(["2016-12-24", "2016-12-25", "2016-12-31", "2017-01-01"], dtype="M8[D]")
    found = series.sales(days)
    assert np.isfinite(found).tolist() == [True, False, True, False]
    place = np.searchsorted(series.every.dates, days[0])
    assert found[0] == series.every.y[place]


def test_recalibration_never_looks_ahead(store):
    """Sales that double from a day on change no forecast up to that day."""
    day = np.datetime64("2016-09-01")
    results = []
    for change in (None, day):
        series = store(change)
        forecasts, _, half_life = sales.one_day(series, networks(series))
        results.append((series.test.dates, forecasts, half_life))
    (dates, first, before), (_, second, after) = results
    assert before == after
    early = np.flatnonzero(dates <= day)
    later = np.flatnonzero(dates > day + DAY)
    for name in ("before", "training", "rolling", "daily"):
        np.testing.assert_array_equal(
            first[name][early].interval(0.9), second[name][early].interval(0.9)
        )
        assert (first[name][later].median() != second[name][later].median()).all()


def test_recalibration_of_several_days_never_looks_ahead(store):
    """A forecast from an origin knows what was sold before the origin, and nothing since."""
    day = np.datetime64("2016-09-01")
    found = []
    for change in (None, day):
        series = store(change)
        models = networks(series)

        def ahead(model, W, series=series):
            return Ahead.sample(model, W, series, 5, 8, 0)

        past = sales.stack(models.rolled(ahead, series.train))
        new = ahead(models.whole, series.every.between(FIRST, LAST))
        # Draws depend on the rows beside, so the forecasts themselves are held fixed.
        found.append((past, new))
    (past, new), (_, changed) = found
    changed = Ahead(new.mean, new.std, changed.y, new.dates)
    early = (new.dates[:, 0] <= day).repeat(5)
    for recalibrated in (
        lambda new: sales.by_lead(past, new),
        lambda new: sales.by_lead_daily(past, new, 30),
    ):
        first, second = (recalibrated(each).ppf(0.3) for each in (new, changed))
        np.testing.assert_array_equal(first[early], second[early])
    assert (first[~early] != second[~early]).any()


def test_maps_of_several_days_are_those_of_their_lead(store):
    """The forecasts of a lead are recalibrated by the forecasts of that lead."""
    series = store()
    past = Ahead.sample(Drifting(), series.train, series, 3, 8, 0)
    wide = Ahead(past.mean, past.std, past.y * np.array([1.0, 1.0, 3.0]), past.dates)
    new = Ahead.sample(Drifting(), series.test, series, 3, 8, 0)
    flat = tl.Normal(new.mean.ravel(), new.std.ravel())
    for recalibrated in (sales.by_lead(wide, new), sales.by_lead_daily(wide, new, 1000)):
        moved = (recalibrated.median() - flat.median()).reshape(new.mean.shape).mean(axis=0)
        assert abs(moved[0]) < 20
        assert moved[2] > 150


def test_the_half_life_is_chosen_by_calibration():
    """Errors that grow twofold within weeks ask for a short one, errors that stay for a long."""
    rng = np.random.default_rng(1)
    dates = np.arange("2015-01-01", "2016-12-31", dtype="datetime64[D]")
    F = tl.Normal(np.zeros(len(dates)), 1.0)
    noise = rng.normal(size=len(dates))
    steady = Rolled(noise, F, dates)
    drifting = Rolled(noise + np.linspace(0.0, 25.0, len(dates)), F, dates)
    assert drifting.half_life() == min(sales.HALF_LIVES)
    assert steady.half_life() > min(sales.HALF_LIVES)


def test_a_day_after_a_closed_one_is_planned_from_the_last_whole_window(store, monkeypatch):
    series = store()
    monkeypatch.setattr(Networks, "fit", classmethod(lambda cls, series, *_: networks(series)))

    class Untrained(Drifting):
        def fit(self, X, y):
            return self

    monkeypatch.setattr(sales, "make", lambda *_: Untrained())
    days = inventory.Days(series, Size((1, 1, 1), 60, 8, 214))
    assert days.dates[-1] == LAST
    assert days.dates[days.closed].astype(str).tolist() == ["2016-12-25"]
    assert days.demand[days.closed] == 0.0
    forecasts = dict(days.forecasts(0))
    assert list(forecasts) == ["before", "training", "rolling", "daily", "concrete", "ensemble"]
    origin = int(np.flatnonzero(days.dates == np.datetime64("2016-12-25"))[0])
    later = origin + 3  # of the same window, three days ahead
    first, second = forecasts["before"](origin), forecasts["before"](later)
    assert len(first) == len(second) == inventory.HORIZON
    np.testing.assert_array_equal(first.loc[3:], second.loc[:-3])


def test_bad_options(tmp_path):
    options = {"stores": None, "seeds": None, "jobs": 1, "quick": True, "fresh": False}
    options |= {"output": tmp_path, "progress": lambda done, share: None}

    def refused(**given):
        with pytest.raises(ExperimentError) as caught:
            sales_run.run_stores("forecast", lambda task: {}, **(options | given))
        return str(caught.value)

    assert refused(stores=[4]) == "--stores is 4. Expected one of 44, 51."
    assert refused(seeds=0) == "--seeds is 0; expected 1 or more."
    assert refused(jobs=0) == "--jobs is 0; expected 1 or more."


@needs_data
def test_results_of_another_experiment_are_not_mixed_in(tmp_path):
    options = {"stores": [44], "seeds": 1, "jobs": 1, "quick": True, "fresh": False}
    options |= {"output": tmp_path, "progress": lambda done, share: None}
    done = []

    def measure(task):
        done.append(task)
        return {"store": task.store, "seed": task.seed}

    sales_run.run_stores("forecast", measure, **options)
    with pytest.raises(ExperimentError, match="experiment forecast rather than inventory"):
        sales_run.run_stores("inventory", measure, **options)
    assert len(done) == 1


@needs_data
@pytest.mark.parametrize(
    "name, files",
    [
        ("forecast", ["calibration.png", "forecast.csv", "forecast.md", "runs.jsonl"]),
        ("inventory", ["inventory.csv", "inventory.md", "inventory.png", "runs.jsonl"]),
    ],
)
def test_a_quick_run(command, folder, name, files):
    arguments = (name, "--quick", "--stores", "44", "--jobs", "1")
    run = command(*arguments, "--output", "here")
    assert run.code == 0
    there = sorted(path.name for path in (folder / "here").iterdir())
    assert there == sorted(files + (["store44.png"] if name == "forecast" else []))
    page = (folder / "here" / f"{name}.md").read_text()
    assert f'`make reproduce ARGS="{name} --stores 44 --quick"`' in page

    again = command(*arguments, "--output", "here")
    total = 1 if name == "forecast" else 2
    assert f"{total} of {total} fits existed already" in again.out
    assert (folder / "here" / f"{name}.md").read_text() == page
    journal = (folder / "here" / "runs.jsonl").read_text().splitlines()
    assert len(journal) == 1 + total
    assert json.loads(journal[1])["store"] == 44


def test_weeks_begin_with_the_period_and_leave_out_its_first_day():
    dates = FIRST + np.arange(18)
    weeks = Weeks.of(dates, FIRST)
    assert weeks.starts.astype(str).tolist() == ["2016-06-01", "2016-06-08"]
    assert weeks.days.tolist() == [6, 7]  # without 1 June, and no week of four days
    assert weeks.means(np.arange(18.0), 2) == [3.5, 10.0]
    some = Weeks.of(np.delete(dates, [8, 9, 10]), FIRST)
    assert some.days.tolist() == [6]
    assert weekly_totals(np.arange(10.0)).tolist() == [21.0, 24.0]


def test_a_simulation_is_summarised_without_the_first_day(store):
    days = inventory.Days(store(), Size((1, 1, 1), 60, 8, 30))
    found = days.simulated(inventory.SeasonalNaive(days.before(7)))
    assert set(found) == {"reward", "sold", "lost", "spoiled", "came", "weekly"}
    assert len(found["weekly"]) == 5
    assert sum(found["weekly"]) == pytest.approx(found["reward"], abs=0.05)
    demand = days.demand[1:].round().sum()
    assert found["sold"] + found["lost"] == pytest.approx(demand, abs=30)
