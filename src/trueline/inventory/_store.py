"""The store: what a day does to its shelf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, as_float, check_finite
from trueline.inventory._days import IntArray, Mask, weekday, weekdays

# Stock is counted in int64 and priced in float64: both are exact far beyond this.
_MOST_UNITS = 10**9


class Step(NamedTuple):
    """What a day did, for one store or many.

    Attributes
    ----------
    stock : (..., L) ndarray of int
        Units next morning, the delivery of what was ordered among them.
    sold, lost, spoiled : (...) ndarray of int
        Units sold, asked for in vain, and thrown away at the end of the day.
    reward : (...) ndarray
        Revenue less what was ordered costs.

    Examples
    --------
    >>> from trueline.inventory import Store
    >>> day = Store(shelf_life=2).step([5, 10], demand=20, packs=1)
    >>> int(day.sold), int(day.lost), day.stock
    (15, 5, array([ 0, 12]))
    """

    stock: IntArray
    sold: IntArray
    lost: IntArray
    spoiled: IntArray
    reward: FloatArray


@dataclass(frozen=True)
class Store:
    """A store that sells one perishable item, as a Markov decision process.

    The state is the stock: units by days of life left, ``stock[..., 0]`` those that can be sold
    today for the last time and ``stock[..., L - 1]`` those that came this morning. A day goes so:
    what was ordered yesterday has arrived and is part of the stock; on an order day the store
    orders packs, which arrive next morning; customers ask for units and get the oldest first; the
    rest ages by a day, and what has reached its end is thrown away. The reward of the day is
    ``price * sold - cost * pack * packs``: orders are paid when they are made, and what spoils
    brings nothing back. The defaults are those of the paper's section 4.5.

    Units are whole. Real-valued demand (goods by weight, forecasts) is rounded to the nearest.

    Parameters
    ----------
    shelf_life : int, default 5
        Days L on which a unit can be sold, the day it arrives among them.
    pack : int, default 12
        Units in a pack; orders are in packs.
    price, cost : float, default 1.99 and 1.29
        Of a unit. An item that costs its price or more is never worth ordering, and refused.
    order_days : sequence of str or int, default Monday, Wednesday, Friday
        Weekdays on which orders are made, by name or from 0 (Monday) to 6.
    max_packs : int, default 400
        Most packs in an order.

    Examples
    --------
    >>> from trueline.inventory import Store
    >>> store = Store(shelf_life=3, pack=10)
    >>> day = store.step([4, 0, 20], demand=9, packs=2)  # 4 old units and 20 new ones
    >>> day.stock
    array([ 0, 15, 20])
    >>> round(float(day.reward), 2)
    -7.89

    Many stores at once:

    >>> store.step([[4, 0, 20], [0, 0, 0]], demand=[3, 9], packs=[0, 1]).spoiled
    array([1, 0])
    """

    shelf_life: int = 5
    pack: int = 12
    price: float = 1.99
    cost: float = 1.29
    order_days: Sequence[str | int] = ("Monday", "Wednesday", "Friday")
    max_packs: int = 400

    def __post_init__(self) -> None:
        """Check what was given."""
        for name in ("shelf_life", "pack", "max_packs"):
            value = getattr(self, name)
            if not _is_whole(value) or not 1 <= value <= _MOST_UNITS:
                raise ValueError(f"{name} is {value!r}; expected a whole number, 1 or more.")
            object.__setattr__(self, name, int(value))
        if self.max_packs * self.pack > _MOST_UNITS:
            raise ValueError(
                f"{self.max_packs:,} packs of {self.pack:,} are more than {_MOST_UNITS:,} units; "
                f"lower max_packs, or count in larger units."
            )
        for name in ("price", "cost"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise TypeError(f"{name} is {value!r}; expected a number.")
            if not 0 < value < np.inf:
                raise ValueError(f"{name} is {value!r}; expected a number above 0.")
        if self.cost >= self.price:
            raise ValueError(
                f"cost is {self.cost} and price {self.price}; expected a cost below the price, or "
                f"no order can pay."
            )
        object.__setattr__(self, "order_days", weekdays(self.order_days, "order_days"))

    @property
    def critical_ratio(self) -> float:
        """Probability of selling out at which one unit more just pays: (price - cost) / price.

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> round(Store().critical_ratio, 3)
        0.352
        """
        return (self.price - self.cost) / self.price

    @property
    def max_units(self) -> int:
        """Most units in an order.

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> Store().max_units
        4800
        """
        return self.max_packs * self.pack

    def orders_on(self, days: ArrayLike) -> Mask:
        """Whether orders are made on these weekdays, from 0 (Monday) to 6.

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> Store().orders_on([0, 1, 2])
        array([ True, False,  True])
        """
        return np.isin(days, [weekday(day, "order_days") for day in self.order_days])

    def next_order(self, day: int) -> int:
        """Days from this weekday to the next order day, 1 to 7.

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> [Store().next_order(day) for day in range(7)]
        [2, 1, 2, 1, 3, 2, 1]
        """
        return 1 + int(self.orders_on((day + np.arange(1, 8)) % 7).argmax())

    def step(self, stock: ArrayLike, demand: ArrayLike, packs: ArrayLike = 0) -> Step:
        """Let a day pass in one store or many.

        Parameters
        ----------
        stock : (..., L) array-like
            Units this morning by days of life left.
        demand : (...) array-like
            Units asked for; rounded to whole ones.
        packs : (...) array-like, default 0
            Packs ordered. Whether today is an order day is the caller's to know.

        Returns
        -------
        Step

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> Store().step([0, 0, 3, 0, 9], demand=5).stock
        array([0, 0, 0, 7, 0])
        """
        on_hand = self.check_stock(stock)
        return self._step(on_hand, check_demand(demand), self.check_packs(packs))

    def _step(self, stock: IntArray, demand: IntArray, packs: IntArray) -> Step:
        """`step` on checked arrays."""
        total = stock.sum(axis=-1)
        sold = np.minimum(total, demand)
        # First in, first out: a batch keeps what the older ones left of the demand unmet.
        left = np.cumsum(stock, axis=-1) - np.asarray(demand)[..., None]
        left = np.clip(left, 0, stock)
        fresh = np.broadcast_to(self.pack * packs, left.shape[:-1])
        tomorrow = np.concatenate([left[..., 1:], fresh[..., None]], axis=-1)
        reward = self.price * sold - self.cost * (self.pack * packs)
        return Step(tomorrow, sold, demand - sold, left[..., 0], reward)

    def check_stock(self, stock: ArrayLike | None) -> IntArray:
        """Convert to whole units by days of life left; None is an empty shelf.

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> Store(shelf_life=3).check_stock(None)
        array([0, 0, 0])
        """
        if stock is None:
            return np.zeros(self.shelf_life, dtype=np.int64)
        units = _whole(stock, "stock")
        if units.ndim == 0 or units.shape[-1] != self.shelf_life:
            raise ValueError(
                f"stock has shape {units.shape}; expected (..., {self.shelf_life}), the units by "
                f"days of life left, from 1 to {self.shelf_life}."
            )
        return units

    def check_packs(self, packs: ArrayLike) -> IntArray:
        """Convert to whole packs, none of them beyond `max_packs`.

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> Store().check_packs(2.5)
        Traceback (most recent call last):
            ...
        ValueError: packs is 2.5; expected whole numbers, 0 or more. Round it first.
        """
        whole = _whole(packs, "packs")
        if (whole > self.max_packs).any():
            raise ValueError(
                f"packs holds {int(whole.max()):,}; expected at most max_packs, "
                f"{self.max_packs:,}. Order less, or make the Store with more."
            )
        return whole


def check_shelf(store: Store, stock: ArrayLike | None) -> IntArray:
    """Convert the stock of one store to whole units by days of life left."""
    shelf = store.check_stock(stock)
    if shelf.ndim != 1:
        raise ValueError(f"stock has shape {shelf.shape}; expected that of one store.")
    return shelf


def check_demand(demand: ArrayLike, name: str = "demand") -> IntArray:
    """Convert to whole units; sales by weight are rounded to the nearest."""
    units = as_float(demand, name)
    check_finite(units, name)
    _refuse(units, units < 0, name, "sales of 0 or more", "Returns are no demand: set them to 0")
    _refuse(units, units > _MOST_UNITS, name, f"at most {_MOST_UNITS:,}", "Count in larger units")
    return np.rint(units).astype(np.int64)


def _whole(x: ArrayLike, name: str) -> IntArray:
    units = as_float(x, name)
    check_finite(units, name)
    _refuse(units, units < 0, name, "whole numbers, 0 or more", "Nothing is owed to a shelf")
    _refuse(units, units != np.rint(units), name, "whole numbers, 0 or more", "Round it first")
    _refuse(units, units > _MOST_UNITS, name, f"at most {_MOST_UNITS:,}", "Count in larger units")
    return units.astype(np.int64)


def _refuse(a: FloatArray, bad: Mask, name: str, expected: str, mend: str) -> None:
    if np.any(bad):
        where = np.argwhere(bad)[0]
        spot = f"[{', '.join(str(int(i)) for i in where)}]" if a.ndim else ""
        raise ValueError(f"{name}{spot} is {a[tuple(where)]:g}; expected {expected}. {mend}.")


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
