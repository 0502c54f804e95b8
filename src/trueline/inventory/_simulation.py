"""Simulation of a policy over days of known demand, and the best orders for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array

from trueline._validation import FloatArray
from trueline.inventory._policies import Known, Policy
from trueline.inventory._store import (
    Dates,
    IntArray,
    Mask,
    Store,
    check_closed,
    check_dates,
    check_demand,
    check_shelf,
)


class Period(NamedTuple):
    """Consecutive days with their demand."""

    demand: IntArray
    dates: Dates
    closed: Mask

    @property
    def weekdays(self) -> IntArray:
        """Weekday of each day, 0 for Monday."""
        return (self.dates.astype(np.int64) + 3) % 7  # 1970-01-01, day 0 of numpy, was a Thursday


def check_period(demand: ArrayLike, dates: object, closed: ArrayLike | None) -> Period:
    """Check days and their demand."""
    units = check_demand(demand)
    if units.ndim != 1 or units.size == 0:
        raise ValueError(
            f"demand has shape {units.shape}; expected one number per day, shape (n,)."
        )
    days = check_dates(dates, units.size)
    shut = check_closed(closed, units.size)
    if (units[shut] > 0).any():
        i = int(np.flatnonzero(shut & (units > 0))[0])
        raise ValueError(
            f"demand is {units[i]} on {days[i]}, when the store is closed; expected 0. Correct one "
            f"of them."
        )
    return Period(units, days, shut)


@dataclass(frozen=True, repr=False)
class Simulation:
    """Result of `simulate`: the events of each day.

    Attributes
    ----------
    dates : (n,) ndarray of datetime64[D]
        The days.
    demand, ordered, arrived : (n,) ndarray of int
        Units demanded, packs ordered, and units that arrived in the morning.
    on_hand : (n, L) ndarray of int
        Units in the morning by days of life left, including those that arrived.
    sold, lost, spoiled : (n,) ndarray of int
        Units sold, demanded but not in stock, and thrown away in the evening.
    reward : (n,) ndarray
        Revenue less the cost of orders.
    final : (L,) ndarray of int
        Units on the morning after the last day.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.inventory import Newsvendor, Store, simulate
    >>> dates = np.arange("2017-01-02", "2017-01-16", dtype="datetime64[D]")
    >>> policy = Newsvendor(tl.Normal(np.full(17, 50.0), 10.0))
    >>> simulate(Store(), policy, np.full(14, 50), dates)
    Simulation of 14 days, 2017-01-02 to 2017-01-15
      reward             382.84
      sold                  628   of 700 asked for (89.7%)
      lost                   72
      spoiled                 0   of 672 that came (0.0%)
      ordered                56   packs
    """

    dates: Dates
    demand: IntArray
    ordered: IntArray
    arrived: IntArray
    on_hand: IntArray
    sold: IntArray
    lost: IntArray
    spoiled: IntArray
    reward: FloatArray
    final: IntArray

    @property
    def total_reward(self) -> float:
        """Sum of the rewards of all days."""
        return float(self.reward.sum())

    def __repr__(self) -> str:
        """Return the totals."""
        asked, came = int(self.demand.sum()), int(self.arrived.sum())
        sold, spoiled = int(self.sold.sum()), int(self.spoiled.sum())
        days = "1 day" if len(self.dates) == 1 else f"{len(self.dates)} days"
        lines = [
            f"Simulation of {days}, {self.dates[0]} to {self.dates[-1]}",
            f"  reward  {self.total_reward:>17,.2f}",
            f"  sold    {sold:>17,}   of {asked:,} asked for ({_share(sold, asked)})",
            f"  lost    {int(self.lost.sum()):>17,}",
            f"  spoiled {spoiled:>17,}   of {came:,} that came ({_share(spoiled, came)})",
            f"  ordered {int(self.ordered.sum()):>17,}   packs",
        ]
        return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"


def simulate(
    store: Store,
    policy: Policy | Callable[[int, IntArray, Known], int],
    demand: ArrayLike,
    dates: object,
    *,
    closed: ArrayLike | None = None,
    stock: ArrayLike | None = None,
    closes_after: bool = False,
) -> Simulation:
    """Run a policy over days of known demand, which it sees one day at a time.

    The policy is called on order days only. It gets the demand of the past days, including lost
    sales, and the days on which the store will be closed, but nothing else of the future.

    Parameters
    ----------
    store : Store
        The store to simulate.
    policy : Policy
        An object with a method ``order(day, stock, known)``, or a function of the same arguments.
    demand : (n,) array-like
        Units demanded, 0 or more, rounded to whole units.
    dates : (n,) array-like of dates
        Consecutive days.
    closed : (n,) array-like of bool, optional
        Days without customers. Orders and deliveries take place by their weekdays.
    stock : (L,) array-like, optional
        Units on the first morning by days of life left, including the first delivery; 0 by
        default.
    closes_after : bool, default False
        Whether policies know that the store closes after the last day. The remaining stock has no
        value in any case. If False, policies order to the last day as if the store stayed open,
        while an oracle saves the cost of a few days of stock.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.inventory import Store, simulate
    >>> dates = np.arange("2017-01-02", "2017-01-09", dtype="datetime64[D]")
    >>> result = simulate(Store(), lambda day, stock, known: 2, np.full(7, 9.0), dates)
    >>> result.ordered
    array([2, 0, 2, 0, 2, 0, 0])
    >>> result.sold
    array([0, 9, 9, 9, 9, 9, 9])
    """
    period = check_period(demand, dates, closed)
    order = policy if callable(policy) else getattr(policy, "order", None)
    if order is None:
        raise TypeError(
            f"policy is a {type(policy).__name__}; expected an object with a method order(day, "
            f"stock, known), such as Planner(forecasts), or a function of these."
        )
    shelf = check_shelf(store, stock)
    n = len(period.demand)
    weekdays = period.weekdays
    order_days = store.orders_on(weekdays)
    ordered, arrived, sold, lost, spoiled = np.zeros((5, n), dtype=np.int64)
    on_hand = np.empty((n, store.shelf_life), dtype=np.int64)
    reward = np.empty(n)
    for t in range(n):
        on_hand[t] = shelf
        if order_days[t]:
            known = Known(
                store, int(weekdays[t]), _locked(period.demand[:t]), period.closed[t:], closes_after
            )
            ordered[t] = _whole_order(store, order(t, _locked(shelf), known))
        shelf, sold[t], lost[t], spoiled[t], reward[t] = store._step(
            shelf, period.demand[t], ordered[t]
        )
        if t + 1 < n:
            arrived[t + 1] = shelf[-1]
    return Simulation(
        period.dates, period.demand, ordered, arrived, on_hand, sold, lost, spoiled, reward, shelf
    )


def _locked(a: IntArray) -> IntArray:
    """Return a view that a policy cannot write to."""
    view = a.view()
    view.flags.writeable = False
    return view


def _whole_order(store: Store, packs: object) -> IntArray:
    found = store.check_packs(packs)  # type: ignore[arg-type]  # a user's policy may return anything
    if found.ndim:
        raise ValueError(f"the policy ordered {packs!r}; expected one number of packs.")
    return found


@dataclass(frozen=True, repr=False)
class Oracle(Policy):
    """The policy that knows the demand of all days, an upper bound of every other policy.

    The orders solve a mixed-integer program over the whole period: packs are whole, and units of a
    batch are assigned to the days of its life. The store, which sells the oldest units first,
    reaches the same sales. Make the policy with `Oracle.solve`.

    Attributes
    ----------
    packs : (n,) ndarray of int
        Packs to order on each day.
    reward : float
        Reward of these orders.
    bound : float
        Reward that no policy can exceed, as proved by the solver. It equals `reward` unless the
        solver reached its time limit.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.inventory import Oracle, Store, simulate
    >>> dates = np.arange("2017-01-02", "2017-01-09", dtype="datetime64[D]")
    >>> demand = [20, 25, 40, 30, 20, 35, 50]
    >>> best = Oracle.solve(Store(), demand, dates)
    >>> best
    Oracle: reward 134.84 over 7 days, 17 packs
    >>> round(simulate(Store(), best, demand, dates).total_reward, 2)
    134.84
    """

    packs: IntArray
    reward: float
    bound: float

    @classmethod
    def solve(
        cls,
        store: Store,
        demand: ArrayLike,
        dates: object,
        *,
        closed: ArrayLike | None = None,
        stock: ArrayLike | None = None,
        time_limit: float = 60.0,
    ) -> Self:
        """Find the best orders for a known demand.

        Parameters
        ----------
        store, demand, dates, closed, stock
            As in `simulate`.
        time_limit : float, default 60
            Seconds after which the best orders so far are returned; `bound` still holds.

        Examples
        --------
        >>> from trueline.inventory import Oracle, Store
        >>> Oracle.solve(Store(), [10, 30], ["2017-01-02", "2017-01-03"]).packs
        array([2, 0])
        """
        period = check_period(demand, dates, closed)
        shelf = check_shelf(store, stock)
        packs, bound = _solve(store, period, shelf, time_limit)
        reward = _reward(store, period, shelf, packs)
        return cls(packs, reward, max(bound, reward))

    def order(self, day: int, stock: IntArray, known: Known) -> int:
        """Return the packs to order on a day of the solved period."""
        if day >= len(self.packs):
            raise ValueError(
                f"the oracle was solved for {len(self.packs)} days and was called for day {day}; "
                f"solve it for the whole period."
            )
        return int(self.packs[day])

    def __repr__(self) -> str:
        """Return reward and packs."""
        gap = self.bound - self.reward
        open_gap = f", at most {gap:,.2f} below the best" if gap > 0.005 else ""
        return (
            f"Oracle: reward {self.reward:,.2f} over {len(self.packs)} days, "
            f"{int(self.packs.sum()):,} packs{open_gap}"
        )


def _solve(
    store: Store, period: Period, stock: IntArray, time_limit: float
) -> tuple[IntArray, float]:
    """Return the packs of each day, and the upper bound that the solver proves."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    n = len(period.demand)
    orders = np.flatnonzero(store.orders_on(period.weekdays[:-1]))
    # Batches are the initial stock by days of life left, then the orders.
    first = np.concatenate([np.zeros(store.shelf_life, dtype=np.int64), orders + 1])
    last = np.concatenate([np.arange(store.shelf_life), orders + store.shelf_life])
    batch, day = np.nonzero(
        (np.arange(n) >= first[:, None]) & (np.arange(n) <= last[:, None]) & (period.demand > 0)
    )
    m, k = len(orders), len(batch)
    packs = np.zeros(n, dtype=np.int64)
    if m == 0:
        return packs, -np.inf  # without order days the reward is the bound
    # The variables are the packs of each order, then the units of a batch sold on a day.
    sales = m + np.arange(k)
    rows = np.concatenate([day, n + batch, n + store.shelf_life + np.arange(m)])
    columns = np.concatenate([sales, sales, np.arange(m)])
    entries = np.concatenate([np.ones(2 * k), np.full(m, -float(store.pack))])
    matrix = coo_array((entries, (rows, columns)), shape=(n + len(first), m + k)).tocsr()
    limits = np.concatenate([period.demand, stock, np.zeros(m)]).astype(np.float64)
    gain = np.concatenate([np.full(m, -store.cost * store.pack), np.full(k, store.price)])
    most = np.concatenate([np.full(m, float(store.max_packs)), np.full(k, np.inf)])
    result = milp(
        -gain,
        integrality=np.concatenate([np.ones(m), np.zeros(k)]),
        bounds=Bounds(0.0, most),
        constraints=LinearConstraint(matrix, ub=limits),
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )
    if result.x is None:
        raise RuntimeError(
            f"the solver found no orders within {time_limit:g} s ({result.message}); raise "
            f"time_limit."
        )
    packs[orders] = np.rint(result.x[:m]).astype(np.int64)
    return packs, -float(result.mip_dual_bound)


def _reward(store: Store, period: Period, stock: IntArray, packs: IntArray) -> float:
    total = 0.0
    for demand, ordered in zip(period.demand, packs, strict=True):
        day = store._step(stock, demand, ordered)
        stock = day.stock
        total += float(day.reward)
    return total
