"""Small series that the tests share."""

import numpy as np

from trueline.series import windows

DAY = np.timedelta64(1, "D")


def days(first, n):
    return np.datetime64(first, "D") + np.arange(n) * DAY


def two_shops(n=200, seed=0):
    """Two series of n days, one row a day and shop, a gap in each, and a promotion."""
    rng = np.random.default_rng(seed)
    date = np.tile(days("2015-06-01", n), 2)
    shop = np.repeat(["north", "south"], n)
    week = 10.0 * np.sin(2.0 * np.pi * np.arange(2 * n) / 7.0)
    value = np.where(shop == "north", 100.0, 60.0) + week + rng.normal(scale=5.0, size=2 * n)
    promotion = (rng.random(2 * n) < 0.2).astype(float)
    keep = np.ones(2 * n, dtype=bool)
    keep[[40, n + 90, n + 91]] = False
    value[60] = np.nan
    frame = {"date": date, "shop": shop, "value": value, "promotion": promotion}
    return {name: a[keep] for name, a in frame.items()}


def make(frame=None, **options):
    options = {"series": "shop", "calendar": "day_of_week", **options}
    return windows(two_shops() if frame is None else frame, **options)


def changed_from(frame, date, seed=9):
    """The same frame, but the values from a date on are others, in another order."""
    later = frame["date"] >= np.datetime64(date)
    value = frame["value"].copy()
    rng = np.random.default_rng(seed)
    value[later] = rng.permutation(value[later]) * 3.0 + 17.0
    return {**frame, "value": value}
