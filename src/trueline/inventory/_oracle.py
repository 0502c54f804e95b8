"""The best orders for a known demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array

from trueline.inventory._days import IntArray
from trueline.inventory._policies import Known, Policy
from trueline.inventory._simulation import Period, check_period
from trueline.inventory._store import Store, check_shelf


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

        Returns
        -------
        Oracle

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
    # The variables are the packs of each order, then the units of a batch sold on a day.
    sales = m + np.arange(k)
    rows = np.concatenate([day, n + batch, n + store.shelf_life + np.arange(m)])
    columns = np.concatenate([sales, sales, np.arange(m)])
    entries = np.concatenate([np.ones(2 * k), np.full(m, -float(store.pack))])
    matrix = coo_array((entries, (rows, columns)), shape=(n + len(first), m + k)).tocsr()
    limits = np.concatenate([period.demand, stock, np.zeros(m)]).astype(np.float64)
    if m == 0:
        packs = np.zeros(n, dtype=np.int64)
        return packs, -np.inf  # without order days the reward is the bound
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
    packs = np.zeros(n, dtype=np.int64)
    packs[orders] = np.rint(result.x[:m]).astype(np.int64)
    return packs, -float(result.mip_dual_bound)


def _reward(store: Store, period: Period, stock: IntArray, packs: IntArray) -> float:
    total = 0.0
    for demand, ordered in zip(period.demand, packs, strict=True):
        day = store._step(stock, demand, ordered)
        stock = day.stock
        total += float(day.reward)
    return total
