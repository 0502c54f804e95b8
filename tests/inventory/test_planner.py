"""The planner: exact where it says so, and how far off where it does not."""

import numpy as np
import pytest

import trueline as tl
from tests.inventory.cases import WEEK, days, enumerate_best, weekly
from trueline.inventory import Planner, Store, plan, simulate

HORIZON = 4


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pack", [1, 2, 3])
@pytest.mark.parametrize("shelf_life", [2, 3])
def test_value_and_order_equal_enumeration(shelf_life, pack, seed):
    rng = np.random.default_rng(seed)
    store = Store(
        shelf_life=shelf_life,
        pack=pack,
        order_days=[(0, 2), (0, 1, 3), (0, 1, 2, 3, 4, 5, 6)][seed % 3],
        max_packs=12 // pack,  # more than can be worth ordering
    )
    demand = rng.integers(0, 6, size=(HORIZON, 3))
    outcomes = [[(int(d), 1 / 3) for d in row] for row in demand]
    for stock in ([0] * shelf_life, rng.integers(0, 4, size=shelf_life)):
        for weekday in (0, 1):
            value, packs = enumerate_best(store, outcomes, stock, weekday)
            found = plan(store, tl.Samples(demand), stock, weekday=weekday, horizon=HORIZON)
            assert found.step == 1
            assert found.value == pytest.approx(value, abs=1e-9)
            assert found.packs == packs


def test_outcomes_of_unequal_probability_and_the_value_of_every_order():
    store = Store(shelf_life=2, pack=2, order_days=(0, 2), max_packs=5)
    draws = np.array([[0, 2, 2, 5], [1, 1, 1, 4], [0, 3, 3, 3], [2, 2, 6, 6]])
    outcomes = [[(int(d), 0.25) for d in row] for row in draws]
    found = plan(store, tl.Samples(draws), [1, 2], weekday="Monday", horizon=HORIZON)
    assert found.value == pytest.approx(enumerate_best(store, outcomes, [1, 2], 0)[0], abs=1e-9)
    for packs, value in enumerate(found.values):
        fixed = 0.0  # of this order today and the best ones later
        for demand, probability in outcomes[0]:
            day = store.step([1, 2], demand, packs)
            later, _ = enumerate_best(store, outcomes[1:], day.stock, 1)
            fixed += probability * (float(day.reward) + later)
        assert value == pytest.approx(fixed, abs=1e-9)


def test_a_closed_day_has_no_demand_whatever_the_forecast():
    store = Store(shelf_life=3, pack=1, order_days=(0, 2), max_packs=20)
    forecast = tl.Samples([[3, 4, 5], [3, 4, 5], [1, 2, 3], [0, 5, 6]])
    shut = plan(store, forecast, weekday=0, horizon=4, closed=[False, True, False, False])
    emptied = tl.Samples([[3, 4, 5], [0, 0, 0], [1, 2, 3], [0, 5, 6]])
    assert shut.value == plan(store, emptied, weekday=0, horizon=4).value
    assert shut.packs < plan(store, forecast, weekday=0, horizon=4).packs


def test_no_order_where_none_can_be_made_or_sold():
    forecast = tl.Normal([50.0] * 7, 5.0)
    tuesday = plan(Store(), forecast, [0, 0, 0, 0, 60], weekday="Tuesday", horizon=7)
    assert (tuesday.packs, len(tuesday.values)) == (0, 1)
    last_day = plan(Store(), forecast, [0, 0, 0, 0, 60], weekday="Monday", horizon=1)
    assert last_day.packs == 0
    expected = 1.99 * np.minimum(forecast[:1].sample(200_000, random_state=0), 60).mean()
    assert last_day.value == pytest.approx(expected, rel=1e-3)


def test_a_horizon_of_the_whole_forecast_is_read_from_its_first_rows():
    long = weekly(21, 0.2, level=0.05)
    assert plan(Store(), long, weekday=0).value == plan(Store(), long[:14], weekday=0).value


# Linear interpolation is off by u^2 / 8 times the curvature of the value, which is at most the
# price times the highest density of demand, about 0.4 / std; and rounding orders to the grid costs
# no more than the same again. So a plan of h days is off by at most this share of the price:
def tolerance(horizon, step, std):
    return horizon * 2 * step**2 / 8 * 0.4 / std


@pytest.mark.parametrize("order_days", [(0, 2, 4), (0, 3)])
def test_the_error_of_a_grid_is_within_its_bound_and_falls_with_the_step(order_days):
    store = Store(shelf_life=3, pack=4, order_days=order_days)
    forecast, stock = tl.Normal(0.05 * WEEK, 6.0), [5, 0, 17]
    exact = plan(store, forecast, stock, weekday=0, horizon=7, step=1, max_cells=1 << 24)
    errors, packs = [], []
    for step in (2, 4, 8, 16):
        found = plan(store, forecast, stock, weekday=0, horizon=7, step=step)
        errors.append(abs(found.value - exact.value))
        packs.append(abs(found.packs - exact.packs))
        assert errors[-1] <= store.price * tolerance(7, step, 6.0)
    # It falls with the square of the step: by 4 with each halving, less the higher terms.
    assert (np.array(errors[1:]) > 3 * np.array(errors[:-1])).all()
    assert packs[:2] == [0, 0]
    assert max(packs) <= 1


def test_at_the_real_scale_a_finer_grid_earns_the_same():
    n = 28
    demand = weekly(n, 0.2).sample(1, random_state=1)[:, 0].clip(0)
    forecast = weekly(n + 14, 0.2)
    coarse = Planner(forecast)
    fine = Planner(forecast, step=24, max_cells=1 << 22)
    first = plan(Store(), forecast, weekday=0)
    assert first.step >= 48
    assert first.cells <= 1 << 18
    earned, better = (simulate(Store(), p, demand, days(n)).total_reward for p in (coarse, fine))
    assert earned == pytest.approx(better, rel=2e-3)
    assert first.value == pytest.approx(
        plan(Store(), forecast, weekday=0, step=24, max_cells=1 << 22).value, rel=2e-3
    )


@pytest.mark.parametrize("spread", [0.05, 0.02, 0.005])
def test_the_order_of_a_sharp_forecast_is_as_good_on_a_finer_grid(spread):
    # Values are level over many packs, and linear in between points that demand hardly blurs.
    for weekday, stock in ((0, [0, 0, 0, 0, 0]), (2, [333, 0, 0, 790, 0]), (4, [0, 70, 0, 900, 0])):
        forecast = weekly(21, spread)[weekday : weekday + 14]
        coarse = plan(Store(), forecast, stock, weekday=weekday)
        fine = plan(Store(), forecast, stock, weekday=weekday, step=24, max_cells=1 << 22)
        assert fine.values[coarse.packs] == pytest.approx(fine.value, rel=1e-4)


def test_a_tolerance_takes_the_fewest_packs_that_are_nearly_best():
    forecast, stock = weekly(21, 0.005)[2:16], [333, 0, 0, 790, 0]
    best = plan(Store(), forecast, stock, weekday=2)
    fewer = plan(Store(), forecast, stock, weekday=2, tolerance=0.5)
    assert fewer.packs < best.packs
    assert best.value - 0.5 <= fewer.value <= best.value
    assert (best.values[: fewer.packs] < best.value - 0.5).all()
    np.testing.assert_array_equal(fewer.values, best.values)


def test_the_plan_is_worth_what_simulation_earns_with_it():
    # The value is that of the policy which plans anew every day to the same end.
    store = Store(shelf_life=3, pack=4)
    forecast = tl.Normal(0.05 * np.resize(WEEK, 7), 6.0)
    value = plan(store, forecast, weekday=0, horizon=7).value
    drawn = forecast.sample(300, random_state=0).clip(0)

    class ToTheEnd:
        def order(self, day, stock, known):
            rest = forecast[day:]
            return plan(store, rest, stock, weekday=known.weekday, horizon=len(rest)).packs

    rewards = [simulate(store, ToTheEnd(), drawn[:, i], days(7)).total_reward for i in range(300)]
    error = np.std(rewards, ddof=1) / np.sqrt(len(rewards))
    assert abs(np.mean(rewards) - value) < 4 * error


@pytest.mark.parametrize(
    "forecast",
    [
        tl.Isotonic()
        .fit(np.linspace(-3, 3, 50), tl.Normal(np.zeros(50), 1.0))
        .transform(weekly(14, 0.1)),
        tl.Quantiles([0.1, 0.5, 0.9], np.multiply.outer(np.resize(WEEK, 14), [0.8, 1.0, 1.3])),
        tl.Mixture([weekly(14, 0.1), weekly(14, 0.3, level=0.8)]),
        tl.Samples(weekly(14, 0.2).sample(100, random_state=0)),
    ],
    ids=["recalibrated", "quantiles", "mixture", "samples"],
)
def test_any_distribution_can_be_planned_with(forecast):
    # Two days are to be covered, Tuesday and Wednesday, and a margin pays.
    found = plan(Store(), forecast, weekday=0)
    two_days = forecast.median()[1:3].sum()
    assert two_days < 12 * found.packs < 2 * two_days


def test_the_repr_says_what_to_do():
    found = plan(Store(), weekly(14, 0.2), weekday=0)
    assert repr(found).startswith(f"Plan: order {found.packs} packs; expected reward ")
