"""Plan orders with the forecasts of the sales, and write the results."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduce.inventory.page import csv_of, page_of, table
from reproduce.inventory.pictures import draw
from reproduce.pages import made_by
from reproduce.sales.networks import (
    FIRST,
    MODELS,
    Ahead,
    Networks,
    Rolled,
    Series,
    Size,
    by_lead,
    by_lead_daily,
    one_thread,
    stack,
)
from reproduce.sales.stores import NONE, Results, Task, run_stores
from reproduce.sales.weeks import weekly_totals
from reproduce.tasks import DECISIVE
from trueline._files import write_text
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
from trueline.series import Windows

#: Number of days that are planned.
HORIZON = 14
#: Age in days of the last whole window, at most: after a closed day, its number of steps.
_BEHIND = 4
LEADS = HORIZON + _BEHIND
#: Orders whose expected rewards differ by less than this, in dollars, count as equal.
TOLERANCES = (0.0, 0.25)
#: Levels of the newsvendor: None stands for (price - cost) / price; units that keep for days
#: deserve a higher one.
NEWSVENDOR_LEVELS = (None, 0.8)


def run(**options: Any) -> str:
    """Run the missing fits, write the results, return the table."""
    results = run_stores("inventory", measure, without_seed=True, **options)
    write(results)
    return (
        f"{table(results.records)}\n{results.kept}The page and the picture are in {results.target}."
    )


def write(results: Results) -> None:
    """Write the page, the numbers and the picture."""
    target, records, command, _ = results
    write_text(target / "inventory.csv", csv_of(records))
    draw(target / "inventory.png", records)
    made = made_by(command, [*DECISIVE, "matplotlib"])
    write_text(target / "inventory.md", page_of(records, command, made))


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
                used = Store().critical_ratio if level is None else level
                results[f"newsvendor {name} {used:.2f}"] = days.simulated(
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
    """Simulate the policies without a network: last week's sales, and the oracle."""
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
    """The test period of a store.

    Attributes
    ----------
    dates, demand, closed : (n,) ndarray
        All days of the calendar. On days without a row the store was closed.
    """

    def __init__(self, series: Series, size: Size) -> None:
        self.series = series
        self.dates = FIRST + np.arange(size.days)
        self._size = size
        sales = series.sales(self.dates)
        self.closed = np.isnan(sales)
        self.demand = np.where(self.closed, 0.0, sales)
        # The last whole window before each day, and how many days ahead of it the day is.
        self._rows, self._leads = series.every.latest(self.dates)

    def before(self, days: int) -> NDArray[np.float64]:
        """Return the sales of the last days before the period."""
        return self.series.sales(FIRST + np.arange(-days, 0))

    def simulated(self, policy: Policy) -> dict[str, Any]:
        """Simulate a policy over the period."""
        return _summary(
            simulate(
                Store(), policy, self.demand, self.dates, closed=self.closed, closes_after=True
            )
        )

    def forecasts(self, seed: int) -> list[tuple[str, Callable[[int], Distribution]]]:
        """Return the forecasts of the horizon from each day, with their names."""
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
            model = size.network(name, seed).fit(series.train.X, series.train.y)
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
    """Return totals of a simulation; anything daily would give the sales of a day away.

    The weeks have the accrued reward: the price of the sold units less the cost of the units that
    were sold or spoiled. Orders are paid before their units are sold, so with the paid amounts the
    reward of a week would depend on the order at its end.

    No policy has stock on the first day. Its demand is always lost, and not counted: the total
    would be the sales of that day.
    """
    store = Store()
    accrued = store.price * result.sold - store.cost * (result.sold + result.spoiled)
    accrued[-1] += result.total_reward - accrued.sum()  # units left at the end have no value
    return {
        "reward": round(result.total_reward, 2),
        "sold": int(result.sold.sum()),
        "lost": int(result.lost[1:].sum()),
        "spoiled": int(result.spoiled.sum()),
        "came": int(result.arrived.sum()),
        "weekly": weekly_totals(accrued).round(2).tolist(),
    }
