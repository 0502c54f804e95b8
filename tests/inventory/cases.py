"""What the tests of inventory share."""

from functools import cache

import numpy as np

import trueline as tl
from trueline.inventory import Store

WEEK = np.array([600.0, 570.0, 890.0, 480.0, 610.0, 830.0, 1020.0])


def days(n, first="2017-01-02"):
    """Dates in a row; by default from a Monday on."""
    return np.datetime64(first) + np.arange(n)


def weekly(n, spread, level=1.0):
    """Forecasts of n days from a Monday on."""
    mean = level * np.resize(WEEK, n)
    return tl.Normal(mean, spread * mean)


def enumerate_best(store, outcomes, stock, weekday):
    """Value and the smallest best order, by trying every order against every outcome."""

    @cache
    def best(t, shelf):
        if t == len(outcomes):
            return 0.0, 0
        orders = range(store.max_packs + 1) if store.orders_on((weekday + t) % 7) else [0]
        found = (-np.inf, 0)
        for packs in orders:
            value = 0.0
            for demand, probability in outcomes[t]:
                day = one_day(store, shelf, demand, packs)
                value += probability * (day[1] + best(t + 1, day[0])[0])
            if value > found[0] + 1e-9:
                found = (value, packs)
        return found

    return best(0, tuple(int(x) for x in stock))


@cache
def one_day(store: Store, shelf, demand, packs):
    """A day, unit by unit and customer by customer: the model in its plainest form."""
    left = list(shelf)
    sold = 0
    for _ in range(int(demand)):
        oldest = next((life for life, units in enumerate(left) if units), None)
        if oldest is not None:
            left[oldest] -= 1
            sold += 1
    reward = store.price * sold - store.cost * store.pack * packs
    return (*left[1:], store.pack * packs), reward
