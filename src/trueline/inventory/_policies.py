"""Policies: rules for what to order on an order day."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import check_count, level as check_level
from trueline.distributions import Distribution
from trueline.interop import as_distribution
from trueline.inventory._demand import masses, total_masses
from trueline.inventory._planner import plan
from trueline.inventory._store import IntArray, Mask, Store, check_demand

#: The forecasts of all days: a function of the day, one forecast per day, or one for all days.
Forecasts = Distribution | Sequence[Distribution | None] | Callable[[int], Distribution]

# Points of the demand of a day: single units up to this number.
_POINTS = 4096
_NONE = np.array(0)


@dataclass(frozen=True)
class Known:
    """Information that a policy has on the morning of an order day, besides the stock.

    Attributes
    ----------
    store : Store
        The store to order for.
    weekday : int
        Weekday of today, from 0 (Monday) to 6.
    demand : (day,) ndarray of int
        Demand of the past days in units, including lost sales.
    closed : (days left,) ndarray of bool
        Whether the store is closed, from today to the end of the simulation.
    closes_after : bool, default False
        Whether the store stays closed after the simulation.

    Examples
    --------
    >>> from trueline.inventory import Store, simulate
    >>> seen = []
    >>> def policy(day, stock, known):
    ...     seen.append((day, known.weekday, known.demand.tolist()))
    ...     return 0
    >>> result = simulate(Store(), policy, [5, 6, 7], ["2017-01-02", "2017-01-03", "2017-01-04"])
    >>> seen
    [(0, 0, []), (2, 2, [5, 6])]
    """

    store: Store
    weekday: int
    demand: IntArray
    closed: Mask
    closes_after: bool = False

    def closed_for(self, days: int) -> Mask:
        """Return whether the store is closed on each of the next days, today first."""
        mask = np.full(days, self.closes_after)
        mask[: len(self.closed)] = self.closed[:days]
        return mask


class Policy(Protocol):
    """A rule for orders, which `simulate` calls on every order day.

    Examples
    --------
    >>> from trueline.inventory import Store, simulate
    >>> class UpToTen:
    ...     def order(self, day, stock, known):
    ...         return max(0, 10 - stock.sum() // known.store.pack)
    >>> simulate(Store(), UpToTen(), [0.0], ["2017-01-02"]).ordered
    array([10])
    """

    def order(self, day: int, stock: IntArray, known: Known) -> int:
        """Return the number of packs to order.

        Parameters
        ----------
        day : int
            Number of days since the start of the simulation.
        stock : (L,) ndarray of int
            Units this morning by days of life left.
        known : Known
            What else is known today.
        """
        ...


@dataclass(frozen=True)
class Planner(Policy):
    """Order by dynamic programming with the forecast of the day; see `plan`.

    Parameters
    ----------
    forecasts : callable, sequence of Distribution or Distribution
        The forecast made on each day, for that day and those after it, of `horizon` or more rows:
        a function of the day, or a sequence with one forecast per day (None on days without
        orders). A single Distribution has one row for each day of the simulation and the horizon
        after it.
    horizon, step, max_cells, tolerance
        Arguments of `plan`.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.inventory import Planner, Store, simulate
    >>> dates = np.arange("2017-01-02", "2017-01-09", dtype="datetime64[D]")
    >>> policy = Planner(lambda day: tl.Normal(np.full(7, 20.0), 4.0), horizon=7)
    >>> simulate(Store(shelf_life=3), policy, np.full(7, 20), dates).ordered
    array([4, 0, 3, 0, 4, 0, 0])
    """

    forecasts: Forecasts
    horizon: int = 14
    step: int | None = None
    max_cells: int = 1 << 18
    tolerance: float = 0.0

    def order(self, day: int, stock: IntArray, known: Known) -> int:
        found = plan(
            known.store,
            forecast_of(self.forecasts, day, self.horizon),
            stock,
            weekday=known.weekday,
            horizon=self.horizon,
            closed=known.closed_for(self.horizon),
            step=self.step,
            max_cells=self.max_cells,
            tolerance=self.tolerance,
        )
        return found.packs


@dataclass(frozen=True)
class Newsvendor(Policy):
    """Order up to a quantile of the demand that the order has to cover.

    An order arrives tomorrow and has to last until the next order arrives. It is the smallest that
    covers the demand of those days, together with the stock left after today, with probability
    `level`. The demands of the days are independent. Units that spoil before the next order
    arrives, if demand is at its median, do not count (Broekmeulen and van Donselaar, 2009, "A
    heuristic to manage perishable inventory with batch ordering, positive lead-times, and
    time-varying demand").

    Parameters
    ----------
    forecasts : callable, sequence of Distribution or Distribution
        As for `Planner`; a forecast needs a row for today and each day to the next order day.
    level : float, optional
        Level of the quantile, in (0, 1). The default is the critical ratio (price - cost) / price,
        which is optimal if no unit can be kept for later.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.inventory import Newsvendor, Store, simulate
    >>> dates = np.arange("2017-01-02", "2017-01-09", dtype="datetime64[D]")
    >>> policy = Newsvendor(tl.Normal(np.full(10, 20.0), 4.0), level=0.9)
    >>> simulate(Store(), policy, np.full(7, 20), dates).ordered
    array([4, 0, 4, 0, 5, 0, 0])
    """

    forecasts: Forecasts
    level: float | None = None

    def __post_init__(self) -> None:
        """Check the level."""
        if self.level is not None:
            check_level(self.level, "level")

    def order(self, day: int, stock: IntArray, known: Known) -> int:
        store = known.store
        days = 1 + store.next_order(known.weekday)
        forecast = forecast_of(self.forecasts, day, days)
        closed = known.closed_for(days)
        level = store.critical_ratio if self.level is None else self.level

        typical = np.where(closed, 0.0, np.maximum(forecast.median(), 0.0))
        spoils = spoils_later(store, stock, np.rint(typical).astype(np.int64))
        units = int(stock.sum())
        p = masses(forecast[:1], closed[:1], 1, units + 1)[0]
        left = store._step(stock, np.arange(units + 1), _NONE).stock.sum(axis=-1)
        usable = np.maximum(left - spoils, 0)
        pmf, width = total_masses(forecast[1:], closed[1:], units + store.max_units, _POINTS)
        cdf = np.minimum(np.cumsum(pmf), 1.0)

        def covered(packs: int) -> bool:
            reached = (packs * store.pack + usable) // width
            # The tolerance keeps rounding of the sum from adding a pack.
            return float(p @ cdf[np.minimum(reached, cdf.size - 1)]) >= level - 1e-12

        return bisect_left(range(store.max_packs), True, key=covered)


@dataclass(frozen=True)
class SeasonalNaive(Policy):
    """Order the mean demand of the same weekdays of the last weeks.

    The order, together with the stock expected after today, covers that demand until the next
    order arrives, without a margin. Packs are rounded up.

    Parameters
    ----------
    history : (m,) array-like
        Demand of the days before the simulation, up to the day before it starts; at least 7 days
        per week of `weeks`.
    weeks : int, default 1
        Number of weeks to average.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.inventory import SeasonalNaive, Store, simulate
    >>> dates = np.arange("2017-01-02", "2017-01-09", dtype="datetime64[D]")
    >>> policy = SeasonalNaive(history=[20, 20, 20, 20, 20, 30, 40])
    >>> simulate(Store(), policy, np.full(7, 20), dates).ordered
    array([4, 0, 3, 0, 8, 0, 0])
    """

    history: ArrayLike
    weeks: int = 1

    def __post_init__(self) -> None:
        """Check the history."""
        check_count(self.weeks, "weeks", "a whole number, 1 or more")
        past = check_demand(self.history, "history")
        if past.ndim != 1 or past.size < 7 * self.weeks:
            raise ValueError(
                f"history has shape {past.shape}; expected the demand of at least "
                f"{7 * self.weeks} days before the simulation, 7 for each of the weeks."
            )
        object.__setattr__(self, "history", past)

    def order(self, day: int, stock: IntArray, known: Known) -> int:
        days = 1 + known.store.next_order(known.weekday)
        past = np.concatenate([np.asarray(self.history), known.demand])
        # The same weekday of earlier weeks; a day a week ahead uses the weeks before today.
        ahead = np.arange(days)
        lags = 7 * (ahead // 7 + 1 + np.arange(self.weeks)[:, None])
        expected = past[len(past) + ahead - lags].mean(axis=0)
        typical = np.rint(np.where(known.closed_for(days), 0.0, expected)).astype(np.int64)
        store = known.store
        left = int(store._step(stock, typical[0], _NONE).stock.sum())
        need = int(typical[1:].sum()) - left + spoils_later(store, stock, typical)
        return min(max(-(-need // store.pack), 0), store.max_packs)


def spoils_later(store: Store, stock: IntArray, typical: IntArray) -> int:
    """Return the units that spoil after today and before the last day, at typical demand."""
    shelf = store._step(stock, typical[0], _NONE).stock
    spoiled = 0
    for demand in typical[1:-1]:
        day = store._step(shelf, demand, _NONE)
        spoiled += int(day.spoiled)
        shelf = day.stock
    return spoiled


def forecast_of(forecasts: Forecasts, day: int, rows: int) -> Distribution:
    """Return the forecast made on a day, for that day and those after it."""
    if isinstance(forecasts, Distribution):
        if len(forecasts) < day + rows:
            raise ValueError(
                f"the forecast has {len(forecasts)} rows, but day {day} needs those up to "
                f"{day + rows}; expected one row per day of the simulation and the horizon "
                f"after it. Forecast further ahead, or shorten the horizon."
            )
        return forecasts[day : day + rows]
    if callable(forecasts):
        found: object = forecasts(day)
    else:
        found = forecasts[day] if day < len(forecasts) else None
    if found is None:
        raise ValueError(f"there is no forecast for day {day}, an order day; expected one.")
    dist = as_distribution(found)
    if len(dist) < rows:
        raise ValueError(
            f"the forecast of day {day} has {len(dist)} rows, but {rows} days are planned; "
            f"expected one row per day. Forecast further ahead, or shorten the horizon."
        )
    return dist[:rows]
