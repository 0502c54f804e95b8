"""Table 2 of the paper: orders of a perishable item, planned with the forecasts of its sales."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from reproduce.inventory_page import csv_of, page, table
from reproduce.inventory_plots import draw
from reproduce.sales import (
    FIRST,
    MODELS,
    Ahead,
    Networks,
    Rolled,
    Series,
    Size,
    by_lead,
    by_lead_daily,
    make,
    one_thread,
    stack,
)
from reproduce.sales_run import NONE, Task, run_stores
from trueline._files import write_text
from trueline._validation import FloatArray
from trueline.distributions import Distribution, Normal
from trueline.inventory import (
    Newsvendor,
    Oracle,
    Planner,
    Policy,
    SeasonalNaive,
    Simulation,
    Store,
    simulate,
)
from trueline.inventory._days import IntArray
from trueline.series import Windows

#: Days that are planned.
HORIZON = 14
#: Days that the last whole window may lie back: after a closed day, as many as it has steps.
_BEHIND = 4
LEADS = HORIZON + _BEHIND
#: Orders that differ by less than this in their expected reward, in dollars, count as equal.
TOLERANCES = (0.0, 0.25)
#: Levels of the newsvendor: (price - cost) / price, and one for units that keep for some days.
NEWSVENDOR_LEVELS = (None, 0.8)


def run(**options: Any) -> str:
    """Run what is not there yet, write the results, return the table."""
    results = run_stores("inventory", measure, without_seed=True, **options)
    records, target = results.records, results.target
    write_text(target / "inventory.csv", csv_of(records))
    draw(target / "inventory.png", records)
    write_text(target / "inventory.md", page(records, results.made))
    return f"{table(records)}\n{results.kept}The page, every day and the picture are in {target}."


def measure(task: Task) -> dict[str, Any]:
    """Train the networks of a store and plan its orders with each of their forecasts."""
    store, seed, size = task
    if seed == NONE:
        return bounds(store, size)
    one_thread()
    started = time.perf_counter()
    series = Series.of(store)
    days = Days(series, size)
    results: dict[str, Any] = {}
    for name, forecasts in days.forecasts(seed):
        for tolerance in TOLERANCES:
            policy = Planner(forecasts, horizon=HORIZON, tolerance=tolerance)
            results[f"planner {name} {tolerance:g}"] = days.simulated(policy)
        if name in ("before", "rolling"):
            for level in NEWSVENDOR_LEVELS:
                told = Store().critical_ratio if level is None else level
                results[f"newsvendor {name} {told:.2f}"] = days.simulated(
                    Newsvendor(forecasts, level=level)
                )
    return {
        "store": store,
        "seed": seed,
        "days": len(days.dates),
        "policies": results,
        "seconds": round(time.perf_counter() - started, 1),
    }


def bounds(store: int, size: Size) -> dict[str, Any]:
    """Earn what can be earned without a forecast, and by one who knows the sales."""
    started = time.perf_counter()
    days = Days(Series.of(store), size)
    oracle = Oracle.solve(Store(), days.demand, days.dates, closed=days.closed)
    policies = {
        "seasonal naive": days.simulated(SeasonalNaive(days.before(7))),
        "oracle": days.simulated(oracle) | {"bound": round(oracle.bound, 2)},
    }
    return {
        "store": store,
        "seed": None,
        "days": len(days.dates),
        "policies": policies,
        "seconds": round(time.perf_counter() - started, 1),
    }


class Days:
    """The test period of a store, day by day.

    Attributes
    ----------
    dates, demand, closed : (n,) ndarray
        All days of the calendar. Those without a row are days on which the store was closed.
    """

    def __init__(self, series: Series, size: Size) -> None:
        self.series = series
        self.dates = np.arange(FIRST, FIRST + size.days)
        self._size = size
        sales = series.sales(self.dates)
        self.closed = np.isnan(sales)
        self.demand = np.where(self.closed, 0.0, sales)
        # The last whole window up to each day, and how many days ahead of it the day is.
        self._rows, self._leads = series.every.latest(self.dates)

    def before(self, days: int) -> FloatArray:
        """Sales of the last days before the period."""
        return self.series.sales(np.arange(FIRST - days, FIRST))

    def simulated(self, policy: Policy) -> dict[str, Any]:
        """Run a policy over the period."""
        return _summary(
            simulate(
                Store(), policy, self.demand, self.dates, closed=self.closed, closes_after=True
            )
        )

    def forecasts(self, seed: int) -> list[tuple[str, Callable[[int], Distribution]]]:
        """Forecasts of the horizon from each day, by the name of what made them."""
        series, size = self.series, self._size
        used, place = np.unique(self._rows, return_inverse=True)
        origins = series.every[used]

        def ahead(model: Any, W: Windows) -> Ahead:
            return Ahead.sample(model, W, series, LEADS, size.paths, seed)

        networks = Networks.fit(series, seed, size)
        new = ahead(networks.whole, origins)
        rolled = stack(networks.rolled(ahead, series.train))
        half_life = Rolled.by(networks, series.train).half_life()
        found: dict[str, Distribution] = {
            "before": _flat(new),
            "training": by_lead(ahead(networks.whole, series.train), new),
            "rolling": by_lead(rolled, new),
            "daily": by_lead_daily(rolled, new, half_life),
        }
        for name in MODELS[1:]:
            model = make(name, seed, size).fit(series.train.X, series.train.y)
            found[name] = _flat(ahead(model, origins))

        def of_day(dist: Distribution) -> Callable[[int], Distribution]:
            def forecast(day: int) -> Distribution:
                start = place[day] * LEADS + self._leads[day] - 1
                return dist[start : start + HORIZON]

            return forecast

        return [(name, of_day(dist)) for name, dist in found.items()]


def _flat(ahead: Ahead) -> Normal:
    return Normal(ahead.mean.ravel(), ahead.std.ravel())


def _summary(result: Simulation) -> dict[str, Any]:
    """What is kept of a simulation."""

    def total(units: IntArray) -> int:
        return int(units.sum())

    store = Store()
    accrued = store.price * result.sold - store.cost * (result.sold + result.spoiled)
    accrued[-1] += result.total_reward - accrued.sum()  # what is left is worth nothing
    return {
        "reward": round(result.total_reward, 2),
        "sold": total(result.sold),
        "lost": total(result.lost),
        "spoiled": total(result.spoiled),
        "came": total(result.arrived),
        "daily": result.reward.round(2).tolist(),
        # Orders are paid before their units are sold. Units counted at their cost when they go,
        # the rewards of a week depend on that week and not on the order at the end of it.
        "accrued": accrued.round(2).tolist(),
    }
