"""The store: a day, many stores at once, and no unit made or lost."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from tests.inventory.cases import days, one_day
from trueline.inventory import Store, simulate


def test_a_day_by_hand():
    day = Store(shelf_life=3, pack=10, price=2.0, cost=1.0).step([4, 6, 20], demand=7, packs=3)
    assert day.stock.tolist() == [3, 20, 30]
    assert (day.sold, day.lost, day.spoiled, day.reward) == (7, 0, 0, 2.0 * 7 - 30)


def test_what_is_too_old_spoils_and_what_is_not_there_is_lost():
    store = Store(shelf_life=2, pack=1)
    assert store.step([9, 0], demand=4).spoiled == 5
    assert store.step([1, 1], demand=4).lost == 2


def test_a_shelf_life_of_a_day():
    day = Store(shelf_life=1, pack=5).step([3], demand=1, packs=2)
    assert (day.stock.tolist(), int(day.spoiled)) == ([10], 2)


def test_the_defaults_are_the_papers():
    store = Store()
    assert (store.shelf_life, store.pack, store.price, store.cost) == (5, 12, 1.99, 1.29)
    assert len(store.order_days) == 3


def test_demand_by_weight_is_rounded():
    assert Store(shelf_life=1).step([9], demand=2.6).sold == 3


stores = st.builds(
    Store,
    shelf_life=st.integers(1, 6),
    pack=st.integers(1, 5),
    order_days=st.sets(st.integers(0, 6), min_size=1).map(tuple),
    max_packs=st.just(8),
)


@given(stores, st.data())
def test_many_stores_at_once_are_each_as_alone_and_as_unit_by_unit(store, data):
    n = data.draw(st.integers(1, 4))
    units = st.lists(st.integers(0, 6), min_size=store.shelf_life, max_size=store.shelf_life)
    stock = np.array([data.draw(units) for _ in range(n)])
    demand = np.array(data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n)))
    packs = np.array(data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n)))
    together = store.step(stock, demand, packs)
    for i in range(n):
        shelf, reward = one_day(store, tuple(stock[i].tolist()), int(demand[i]), int(packs[i]))
        assert together.stock[i].tolist() == list(shelf)
        assert together.reward[i] == pytest.approx(reward)
        alone = store.step(stock[i], demand[i], packs[i])
        assert [int(x[i]) for x in together[1:4]] == [int(x) for x in alone[1:4]]


@given(stores, st.data())
def test_units_are_conserved_every_day_whatever_the_policy(store, data):
    n = data.draw(st.integers(1, 25))
    stock = data.draw(
        st.lists(st.integers(0, 20), min_size=store.shelf_life, max_size=store.shelf_life)
    )
    demand = data.draw(st.lists(st.integers(0, 60), min_size=n, max_size=n))
    orders = data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    first = data.draw(st.integers(0, 6))
    run = simulate(
        store,
        lambda day, stock, known: orders[day],
        demand,
        days(n) + np.timedelta64(first, "D"),
        stock=stock,
    )
    bought = sum(stock) + np.cumsum(run.arrived)
    gone = np.cumsum(run.sold) + np.cumsum(run.spoiled)
    evening = run.on_hand.sum(axis=1) - run.sold - run.spoiled
    np.testing.assert_array_equal(bought, gone + evening)
    # What comes in the morning was ordered the day before, on an order day.
    np.testing.assert_array_equal(run.arrived[1:], store.pack * run.ordered[:-1])
    asked = store.orders_on((first + np.arange(n)) % 7)
    np.testing.assert_array_equal(run.ordered, np.where(asked, orders, 0))
    np.testing.assert_array_equal(run.final.sum(), evening[-1] + store.pack * run.ordered[-1])
    np.testing.assert_array_equal(run.sold + run.lost, demand)
    assert min(run.sold.min(), run.lost.min(), run.spoiled.min(), run.on_hand.min()) >= 0
    money = store.price * run.sold - store.cost * store.pack * run.ordered
    np.testing.assert_allclose(run.reward, money)


def test_weekdays_are_those_of_the_calendar():
    run = simulate(Store(order_days=["sunday"]), lambda *_: 1, np.zeros(14), days(14, "2024-02-26"))
    assert run.dates[run.ordered > 0].astype(str).tolist() == ["2024-03-03", "2024-03-10"]


def test_a_simulation_reads_as_a_table():
    text = repr(simulate(Store(), lambda *_: 1, np.full(7, 5.0), days(7)))
    assert text.splitlines()[0] == "Simulation of 7 days, 2017-01-02 to 2017-01-08"
    assert "of 35 asked for" in text
