"""Finite-horizon dynamic programming over the shelf."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, check_count
from trueline.distributions import Distribution
from trueline.interop import as_distribution
from trueline.inventory._demand import (
    DayOfDemand,
    masses,
    on_grid,
    reach,
    total_masses,
    total_steps,
)
from trueline.inventory._store import (
    IntArray,
    Mask,
    Store,
    check_closed,
    check_shelf,
    weekday as weekday_of,
)

# Points of the demand of a day for the upper bound of orders, which need not be tight.
_BOUND_POINTS = 256
# Points per step of the grid at which the forecast is evaluated, or every unit.
_PARTS = 12
# With fewer points per delivery a grid is too coarse to choose an order.
_FEWEST_POINTS = 9
# Relative difference below which two values are equal up to rounding.
_TIE = 1e-11


@dataclass(frozen=True, repr=False)
class Plan:
    """Result of `plan`: the order of today and its expected reward.

    Attributes
    ----------
    packs : int
        Packs to order today: the smallest of the best orders.
    value : float
        Expected reward over the horizon, less the cost of today's order.
    values : (m,) ndarray
        The same for every order of 0, 1, ..., m - 1 packs; larger orders are not better.
    horizon : int
        Number of days planned.
    step : int
        Units between points of the grid. With 1 the plan is exact.
    cells : int
        Entries of the largest table.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.inventory import Store, plan
    >>> result = plan(Store(), tl.Normal([50.0] * 7, 10.0), weekday="Friday", horizon=7)
    >>> result.packs, result.horizon
    (16, 7)
    """

    packs: int
    value: float
    values: FloatArray
    horizon: int
    step: int
    cells: int

    def __repr__(self) -> str:
        """Return the order and its expected reward in words."""
        packs = "1 pack" if self.packs == 1 else f"{self.packs:,} packs"
        return (
            f"Plan: order {packs}; expected reward {self.value:,.2f} over {self.horizon} days "
            f"(grid of {self.step}, largest table {self.cells:,} cells)"
        )


class _Batch(NamedTuple):
    """Units that arrive on one day."""

    arrives: int  # day of the plan; 0 for the stock on hand
    ends: int  # last day on which it can be sold
    most: int  # largest number of units


class _Shelf(NamedTuple):
    """The batches that can be on the shelf, oldest first, and the step of the grid."""

    batches: list[_Batch]
    step: int

    def on(self, day: int) -> list[_Batch]:
        return [b for b in self.batches if b.arrives <= day <= b.ends]

    def sizes(self, day: int) -> tuple[int, ...]:
        return tuple(-(-b.most // self.step) + 1 for b in self.on(day))

    def spoils(self, day: int) -> bool:
        return any(b.ends == day for b in self.on(day))

    def cells(self, horizon: int) -> int:
        """Return the size of the largest table, of the batches of a day and the next delivery."""
        return max(
            prod(self.sizes(t)) * prod(self.sizes(t + 1)[len(self.on(t)) - self.spoils(t) :])
            for t in range(1, horizon)
        )


def plan(
    store: Store,
    forecast: Distribution,
    stock: ArrayLike | None = None,
    *,
    weekday: str | int,
    horizon: int = 14,
    closed: ArrayLike | None = None,
    step: int | None = None,
    max_cells: int = 1 << 18,
    tolerance: float = 0.0,
) -> Plan:
    """Plan today's order by dynamic programming over the next days.

    The demands of the days are independent draws from the rows of the forecast, rounded to whole
    units of 0 or more. Stock after the last day has no value. Tables hold the values, with one
    axis per batch that can be on the shelf. An axis ends at the quantile of the demand in the life
    of the batch at level (price - cost) / price, beyond which no order pays.

    With ``step=1`` the tables hold every state, and value and order are exact. With a larger step,
    values are interpolated linearly between points of the grid, at which expected sales are exact.
    Today's demand is followed unit by unit from the actual stock, and a cubic spline through the
    values on the grid resolves today's order to packs; orders of later days are multiples of the
    step. The error falls with the square of the step u: for demand with standard deviation sd it
    is at most about ``0.1 * price * u**2 / sd`` per day, and in practice far smaller, because it is
    similar for all orders. For 700 units per day with sd 140 and a shelf life of 5 days, the
    default grid of 60 units gives a value over 14 days 0.03% below that of a grid of 24, and the
    same order; a shelf life of 7 days needs a grid of 228, which changes the order by a tenth and
    the value by 0.3%. A larger `max_cells` allows a finer grid.

    The model has no cost of keeping units that are sold later. With a narrow forecast, many orders
    therefore have almost the same value, from the demand until the next delivery to the demand in
    the life of the units, and small errors decide between them. `tolerance` takes the smallest of
    them instead.

    Parameters
    ----------
    store : Store
        The store to order for.
    forecast : Distribution, n >= horizon rows
        Forecasts of the demand of today, tomorrow and so on.
    stock : (L,) array-like, optional
        Units this morning by days of life left; 0 by default.
    weekday : str or int
        Weekday of today, by name or from 0 (Monday) to 6.
    horizon : int, default 14
        Number of days to plan.
    closed : (horizon,) array-like of bool, optional
        Days without demand, whatever the forecast; orders and deliveries take place.
    step : int, optional
        Units between points of the grid: a divisor or a multiple of ``store.pack``. By default
        the smallest whose tables stay within `max_cells`.
    max_cells : int, default 2**18
        Largest number of entries of a table, of 8 bytes each.
    tolerance : float, default 0
        Difference from the best value within which an order counts as equally good. The smallest
        such order is returned.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.inventory import Store, plan
    >>> forecast = tl.Normal([30.0] * 5, 5.0)
    >>> plan(Store(shelf_life=3), forecast, [0, 20, 12], weekday=0, horizon=5)
    Plan: order 6 packs; expected reward 138.44 over 5 days (grid of 1, largest table 76,921 cells)
    """
    today = weekday_of(weekday, "weekday")
    if not isinstance(tolerance, int | float | np.number) or not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance is {tolerance!r}; expected an amount of money, 0 or more.")
    rows = as_distribution(forecast)
    days = _check_horizon(horizon, rows)
    rows = rows[:days]
    shut = check_closed(closed, days)
    on_hand = check_shelf(store, stock)
    orders = store.orders_on((today + np.arange(days)) % 7)
    orders[-1] = False  # an order of the last day arrives too late

    batches = _batches(store, rows, shut, on_hand, orders)
    shelf = _choose_grid(store, batches, days, step, max_cells)
    value = _backward(store, shelf, rows, shut, orders)
    return _today(store, shelf, rows, shut, on_hand, value, days, bool(orders[0]), tolerance)


def _check_horizon(horizon: int, forecast: Distribution) -> int:
    check_count(horizon, "horizon", "a number of days, 1 or more")
    if len(forecast) < horizon:
        raise ValueError(
            f"the horizon is {horizon} days but the forecast has {len(forecast)} rows; expected "
            f"one row per day. Forecast further ahead, or pass horizon={len(forecast)}."
        )
    return int(horizon)


def _batches(
    store: Store, rows: Distribution, closed: Mask, stock: IntArray, orders: Mask
) -> list[_Batch]:
    """Return the batches of today and of later orders, sorted by their last day."""
    found = [_Batch(0, life, int(units)) for life, units in enumerate(stock) if units > 0]
    for t in np.flatnonzero(orders):
        arrives, ends = int(t) + 1, int(t) + store.shelf_life
        life = slice(arrives, min(ends + 1, len(orders)))
        total, width = total_masses(rows[life], closed[life], store.max_units, _BOUND_POINTS)
        # The tolerance keeps rounding of the sum from adding a step.
        reached = np.cumsum(total) >= store.critical_ratio - 1e-12
        most = int(reached.argmax()) * width + (width // 2) * (life.stop - life.start)
        packs = min(-(-most // store.pack), store.max_packs)
        found.append(_Batch(arrives, ends, packs * store.pack))
    return found


def _choose_grid(
    store: Store, batches: list[_Batch], horizon: int, step: int | None, max_cells: int
) -> _Shelf:
    """Return the finest grid whose tables fit in `max_cells`, or the one with this step."""
    pack = store.pack
    if horizon == 1:
        return _Shelf(batches, step or 1)
    if step is None:
        most = max((b.most for b in batches), default=1)
        steps = [u for u in range(1, pack) if pack % u == 0]
        steps += range(pack, most + pack, pack)
        shelf = next(
            (s for s in (_Shelf(batches, u) for u in steps) if s.cells(horizon) <= max_cells), None
        )
        if shelf is None or (shelf.step > pack and most < (_FEWEST_POINTS - 1) * shelf.step):
            n = max(len(_Shelf(batches, 1).on(t)) for t in range(horizon))
            raise ValueError(
                f"up to {n} batches of up to {most:,} units can be on the shelf at once, and a "
                f"grid with {_FEWEST_POINTS} points per batch has more cells than max_cells, "
                f"{max_cells:,}. Order on fewer days, or raise max_cells."
            )
        return shelf
    check_count(step, "step", "a whole number of units, 1 or more, or None")
    if step % pack and pack % step:
        raise ValueError(
            f"step is {step}; expected a divisor or a multiple of the pack of {pack} units."
        )
    shelf = _Shelf(batches, int(step))
    if shelf.cells(horizon) > max_cells:
        raise ValueError(
            f"with a step of {step} the largest table has {shelf.cells(horizon):,} cells; expected "
            f"at most max_cells, {max_cells:,}. Use a larger step, or None to have it chosen."
        )
    return shelf


def _backward(
    store: Store, shelf: _Shelf, rows: Distribution, closed: Mask, orders: Mask
) -> FloatArray:
    """Return the value of tomorrow's stock, by backward induction from the last day."""
    u, days = shelf.step, len(orders)
    most = max(sum(n - 1 for n in shelf.sizes(t)) for t in range(days))
    parts = next(n for n in range(min(u, _PARTS), u + 1) if u % n == 0)
    fine = min(reach(rows, (most + 1) * u), most * u) * parts // u + 2
    p = np.zeros((days, most + 3))
    found = on_grid(masses(rows, closed, u // parts, fine), parts)
    p[:, : found.shape[1]] = found[:, : most + 3]

    if days == 1:
        return np.zeros(shelf.sizes(1))
    value = np.zeros(shelf.sizes(days - 1))  # stock after the last day has no value
    for t in range(days - 1, 0, -1):
        demand = DayOfDemand(p[t], u)
        sizes = shelf.sizes(t)
        if t < days - 1:
            value = demand.expect(value, sizes, spoils=shelf.spoils(t))
        if orders[t]:
            value = _best_order(value, store, u)
        value += store.price * demand.sales[total_steps(sizes)]
    return value


def _best_order(value: FloatArray, store: Store, step: int) -> FloatArray:
    """Return the maximum over the last axis, the units ordered, less their cost."""
    every = max(store.pack // step, 1)
    value = value[..., ::every]
    value -= store.cost * (step * every) * np.arange(value.shape[-1])
    best: FloatArray = value.max(axis=-1)
    return best


def _today(
    store: Store,
    shelf: _Shelf,
    rows: Distribution,
    closed: Mask,
    stock: IntArray,
    value: FloatArray,
    horizon: int,
    may_order: bool,
    tolerance: float,
) -> Plan:
    """Choose today's order, with today's demand unit by unit from the actual stock."""
    total = int(stock.sum())
    p = masses(rows[:1], closed[:1], 1, total + 1)[0]
    demand = np.arange(total + 1)
    left = np.clip(np.cumsum(stock)[:, None] - demand, 0, stock[:, None])
    kept = [left[life] for life in range(1, store.shelf_life) if stock[life] > 0]
    weights = _interpolation(kept, shelf, p)
    every = max(store.pack // shelf.step, 1)
    worth = weights @ value.reshape(weights.size, -1)[:, ::every]
    worth += store.price * float(p @ np.minimum(demand, total))
    if may_order:
        unit = max(shelf.step, store.pack)
        worth -= store.cost * unit * np.arange(worth.size)
        most = min(shelf.on(1)[-1].most // store.pack, store.max_packs)
        worth = _by_pack(worth, unit // store.pack)[: most + 1]
    best = float(worth.max())
    slack = max(tolerance, _TIE * max(abs(best), store.price))
    packs = int((worth >= best - slack).argmax())
    cells = shelf.cells(horizon) if horizon > 1 else 1
    return Plan(packs, float(worth[packs]), worth, horizon, shelf.step, cells)


def _interpolation(kept: list[IntArray], shelf: _Shelf, p: FloatArray) -> FloatArray:
    """Return the weights of grid points in the expectation over the rest of today's batches."""
    sizes = shelf.sizes(1)[: len(kept)]
    index = np.zeros((1, p.size), dtype=np.intp)
    weight = p[None, :]
    for units, n in zip(kept, sizes, strict=True):
        low = np.minimum(units // shelf.step, n - 2)
        share = units / shelf.step - low
        index = np.concatenate([index * n + low, index * n + low + 1])
        weight = np.concatenate([weight * (1.0 - share), weight * share])
    weights = np.bincount(index.ravel(), weight.ravel(), minlength=prod(sizes))
    return weights.astype(np.float64, copy=False)  # numpy's stubs say integers


def _by_pack(worth: FloatArray, every: int) -> FloatArray:
    """Interpolate values at every `every` packs to all packs."""
    if every == 1:
        return worth
    from scipy.interpolate import CubicSpline

    grid = np.arange(worth.size)
    packs = np.arange((worth.size - 1) * every + 1) / every
    if worth.size < 4:
        return np.interp(packs, grid, worth)
    return np.asarray(CubicSpline(grid, worth)(packs))
