"""Policies: what they order, what they may know, and that none beats the oracle."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import trueline as tl
from tests.inventory.cases import WEEK, days, weekly
from trueline.inventory import (
    Known,
    Newsvendor,
    Oracle,
    Planner,
    SeasonalNaive,
    Store,
    simulate,
)

OPEN = np.zeros(30, dtype=bool)


def morning(weekday, store=None, demand=(), closed=OPEN):
    return Known(store or Store(), weekday, np.array(demand, dtype=np.int64), closed)


def fixed(orders):
    return lambda day, stock, known: orders[day]


# ---- newsvendor -----------------------------------------------------------------------


@pytest.mark.parametrize("level", [None, 0.9])
@pytest.mark.parametrize("weekday", [0, 4])
def test_newsvendor_covers_the_days_to_the_next_delivery_with_its_probability(weekday, level):
    store, stock = Store(), np.array([0, 0, 300, 0, 500])
    forecast = weekly(14, 0.3)[weekday:]
    packs = Newsvendor(forecast, level).order(0, stock, morning(weekday))
    # An independent way: draw demand, and count how often the shelf lasts.
    covers = 1 + store.next_order(weekday)
    drawn = np.rint(forecast[:covers].sample(200_000, random_state=0).clip(0))
    left = np.maximum(stock.sum() - drawn[0], 0)
    needed = drawn[1:].sum(axis=0) - left
    wanted = store.critical_ratio if level is None else level
    error = 4 * np.sqrt(0.25 / 200_000)
    assert np.mean(needed <= 12 * packs) >= wanted - error
    assert np.mean(needed <= 12 * (packs - 1)) <= wanted + error


def test_newsvendor_does_not_count_what_will_spoil():
    forecast = tl.Normal([10.0] * 7, 0.1)
    # Three units survive today; those with a life of 2 days spoil tomorrow, before the last day.
    old = Newsvendor(forecast, 0.5).order(0, np.array([0, 40, 0]), morning(0, Store(shelf_life=3)))
    new = Newsvendor(forecast, 0.5).order(0, np.array([0, 0, 40]), morning(0, Store(shelf_life=3)))
    assert (old, new) == (1, 0)


def test_newsvendor_counts_no_demand_on_closed_days():
    forecast, closed = tl.Normal([24.0] * 7, 0.1), OPEN.copy()
    closed[1] = True
    empty = np.zeros(5, dtype=np.int64)
    assert Newsvendor(forecast, 0.5).order(0, empty, morning(0)) == 4
    assert Newsvendor(forecast, 0.5).order(0, empty, morning(0, closed=closed)) == 2


def test_newsvendor_stays_within_the_limit():
    store = Store(max_packs=3)
    assert Newsvendor(weekly(7, 0.1)).order(0, np.zeros(5, dtype=int), morning(0, store)) == 3


# ---- seasonal naive -------------------------------------------------------------------


def test_seasonal_naive_orders_what_the_same_weekdays_asked_for():
    policy = SeasonalNaive(history=10 * np.arange(1, 15), weeks=2)
    # On a Monday with an empty shelf: Tuesday and Wednesday, the means of 20, 90 and 30, 100.
    assert policy.order(0, np.zeros(5, dtype=int), morning(0)) == -(-120 // 12)
    # Two days on, a Wednesday: Thursday and Friday, less what today's 65 leave of 100.
    known = morning(2, demand=[1, 1])
    stock = np.array([0, 0, 0, 0, 100])
    assert policy.order(2, stock, known) == -(-(75 + 85 - 35) // 12)


def test_seasonal_naive_with_one_order_a_week_looks_two_weeks_back_where_it_must():
    store = Store(order_days=["Monday"], shelf_life=9)
    history = np.repeat([5, 7], 7)
    # Tuesday to Sunday by last week; next Monday by last Monday, which is the last that is over.
    assert SeasonalNaive(history).order(0, np.zeros(9, dtype=int), morning(0, store)) == 5


# ---- forecasts by day -----------------------------------------------------------------


def test_forecasts_may_be_a_function_a_sequence_or_one_for_all():
    n, whole = 10, weekly(24, 0.2, level=0.05)
    demand = whole[:n].sample(1, random_state=3)[:, 0].clip(0)
    by_day = [whole[t : t + 14] if t % 7 in (0, 2, 4) else None for t in range(n)]
    ways = [whole, by_day, lambda day: whole[day : day + 14]]
    runs = [simulate(Store(), Planner(way), demand, days(n)).ordered.tolist() for way in ways]
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("make", [Planner, Newsvendor])
def test_no_policy_looks_ahead(make):
    n = 21
    forecast = weekly(n + 14, 0.2, level=0.05)
    demand = forecast[:n].sample(1, random_state=0)[:, 0].clip(0)
    other = demand.copy()
    other[10:] = 2 * np.random.default_rng(1).permutation(demand[10:])
    policy = make(forecast)
    one, two = (simulate(Store(), policy, d, days(n)) for d in (demand, other))
    np.testing.assert_array_equal(one.ordered[:11], two.ordered[:11])
    assert (one.ordered[11:] != two.ordered[11:]).any()


def test_a_policy_cannot_write_into_the_simulation():
    def meddling(day, stock, known):
        stock[:] = 1000
        return 0

    with pytest.raises(ValueError, match="read-only"):
        simulate(Store(), meddling, [5.0], days(1))


def test_policies_that_know_the_end_leave_less():
    n = 15  # the last day but one is a Sunday, the last a Monday
    forecast = weekly(n + 14, 0.2, level=0.05)
    for policy in (Planner(forecast), Newsvendor(forecast, 0.8), SeasonalNaive(0.05 * WEEK)):
        on, end = (
            simulate(Store(), policy, np.resize(0.05 * WEEK, n), days(n), closes_after=closes)
            for closes in (False, True)
        )
        np.testing.assert_array_equal(end.ordered[-1], 0)
        assert end.final.sum() < on.final.sum()


# ---- the oracle -----------------------------------------------------------------------


@settings(max_examples=30)
@given(st.data())
def test_the_oracle_is_the_best_of_all_orders(data):
    store = Store(shelf_life=data.draw(st.integers(1, 3)), pack=3, order_days=(0, 2), max_packs=3)
    demand = data.draw(st.lists(st.integers(0, 7), min_size=2, max_size=7))
    stock = data.draw(
        st.lists(st.integers(0, 4), min_size=store.shelf_life, max_size=store.shelf_life)
    )
    dates = days(len(demand))
    found = Oracle.solve(store, demand, dates, stock=stock)
    order_days = np.flatnonzero(store.orders_on(np.arange(len(demand)) % 7))
    best = max(
        simulate(
            store,
            fixed(dict(zip(order_days, orders, strict=True))),
            demand,
            dates,
            stock=stock,
        ).total_reward
        for orders in product(range(4), repeat=len(order_days))
    )
    assert found.reward == pytest.approx(best, abs=1e-9)
    assert found.bound == pytest.approx(best, abs=1e-6)
    played = simulate(store, found, demand, dates, stock=stock)
    assert played.total_reward == pytest.approx(best, abs=1e-9)


def test_no_policy_exceeds_the_oracle():
    n = 28
    closed = np.zeros(n, dtype=bool)
    closed[[3, 12]] = True
    forecast = weekly(n + 14, 0.2, level=0.1)
    demand = np.where(closed, 0, forecast[:n].sample(1, random_state=5)[:, 0].clip(0))
    oracle = Oracle.solve(Store(), demand, days(n), closed=closed)
    policies = [
        Planner(forecast),
        Planner(tl.Normal(np.append(demand, np.zeros(14)), 0.01)),  # nearly an oracle itself
        Newsvendor(forecast),
        Newsvendor(forecast, 0.9),
        SeasonalNaive(0.1 * WEEK),
        *(fixed(np.random.default_rng(i).integers(20, size=n)) for i in range(20)),
    ]
    earned = [simulate(Store(), p, demand, days(n), closed=closed).total_reward for p in policies]
    assert max(earned) <= oracle.bound
    assert earned[1] > 0.98 * oracle.bound
    assert earned[0] > 0.9 * oracle.bound


def test_an_oracle_without_an_order_day_sells_what_is_there():
    found = Oracle.solve(Store(), [3], ["2017-01-03"], stock=[0, 0, 0, 0, 5])
    assert (found.packs.tolist(), found.reward) == ([0], pytest.approx(3 * 1.99))
    assert found.bound == found.reward


def test_an_oracle_that_is_stopped_early_says_how_far_off_it_may_be():
    assert "at most 10.00 below the best" in repr(Oracle(np.array([1]), 5.0, 15.0))
