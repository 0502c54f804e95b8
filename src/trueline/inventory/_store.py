"""The store as a Markov decision process, and checks of its days."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._messages import did_you_mean
from trueline._validation import FloatArray, as_float, check_finite, refuse

IntArray = NDArray[np.int64]
Dates = NDArray[np.datetime64]
Mask = NDArray[np.bool_]

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# Largest number of units; int64 and float64 are exact far beyond it.
_MOST_UNITS = 10**9


class Step(NamedTuple):
    """Result of a day, for one store or many.

    Attributes
    ----------
    stock : (..., L) ndarray of int
        Units next morning by days of life left, including the delivery of the order.
    sold, lost, spoiled : (...) ndarray of int
        Units sold, demanded but not in stock, and thrown away at the end of the day.
    reward : (...) ndarray
        Revenue less the cost of the order.

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

    The state is the stock in units by days of life left: ``stock[..., 0]`` can be sold today for
    the last time, and ``stock[..., L - 1]`` arrived this morning. On an order day the store orders
    packs, which arrive next morning. Customers get the oldest units first. The other units age by
    a day, and those at the end of their life are thrown away. The reward of the day is
    ``price * sold - cost * pack * packs``: orders are paid when they are made, and spoiled units
    are a loss. The defaults are those of section 4.5 of the paper.

    Units are whole numbers. Real-valued demand (goods by weight, forecasts) is rounded.

    Parameters
    ----------
    shelf_life : int, default 5
        Number L of days on which a unit can be sold, including the day it arrives.
    pack : int, default 12
        Units per pack; orders are in packs.
    price, cost : float, default 1.99 and 1.29
        Price and cost of a unit. The cost must be below the price.
    order_days : sequence of str or int, default Monday, Wednesday, Friday
        Weekdays on which orders are made, by name or from 0 (Monday) to 6.
    max_packs : int, default 400
        Largest number of packs in an order.

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
        """Check the parameters."""
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
                f"cost is {self.cost} and price {self.price}; expected a cost below the price, "
                f"because otherwise no order pays."
            )
        object.__setattr__(self, "order_days", weekdays(self.order_days, "order_days"))

    @property
    def critical_ratio(self) -> float:
        """Probability of selling out above which one more unit pays: (price - cost) / price."""
        return (self.price - self.cost) / self.price

    @property
    def max_units(self) -> int:
        """Largest number of units in an order."""
        return self.max_packs * self.pack

    def orders_on(self, days: ArrayLike) -> Mask:
        """Return whether orders are made on these weekdays, from 0 (Monday) to 6.

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> Store().orders_on([0, 1, 2])
        array([ True, False,  True])
        """
        return np.isin(days, [weekday(day, "order_days") for day in self.order_days])

    def next_order(self, day: int) -> int:
        """Return the number of days from this weekday to the next order day, 1 to 7.

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> [Store().next_order(day) for day in range(7)]
        [2, 1, 2, 1, 3, 2, 1]
        """
        return 1 + int(self.orders_on((day + np.arange(1, 8)) % 7).argmax())

    def step(self, stock: ArrayLike, demand: ArrayLike, packs: ArrayLike = 0) -> Step:
        """Simulate a day in one store or many.

        Parameters
        ----------
        stock : (..., L) array-like
            Units this morning by days of life left.
        demand : (...) array-like
            Units demanded, rounded to whole units.
        packs : (...) array-like, default 0
            Packs ordered. They are ordered on any day; see `orders_on`.

        Examples
        --------
        >>> from trueline.inventory import Store
        >>> Store().step([0, 0, 3, 0, 9], demand=5).stock
        array([0, 0, 0, 7, 0])
        """
        on_hand = self.check_stock(stock)
        return self._step(on_hand, check_demand(demand), self.check_packs(packs))

    def _step(self, stock: IntArray, demand: IntArray, packs: IntArray) -> Step:
        """Do `step` on checked arrays."""
        total = stock.sum(axis=-1)
        sold = np.minimum(total, demand)
        # First in, first out: a batch serves the demand that older batches did not.
        left = np.cumsum(stock, axis=-1) - np.asarray(demand)[..., None]
        left = np.clip(left, 0, stock)
        fresh = np.broadcast_to(self.pack * packs, left.shape[:-1])
        tomorrow = np.concatenate([left[..., 1:], fresh[..., None]], axis=-1)
        reward = self.price * sold - self.cost * (self.pack * packs)
        return Step(tomorrow, sold, demand - sold, left[..., 0], reward)

    def check_stock(self, stock: ArrayLike | None) -> IntArray:
        """Convert to whole units by days of life left; None means no stock."""
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
        """Convert to whole packs of at most `max_packs`."""
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
    """Convert to whole units; other numbers are rounded."""
    units = as_float(demand, name)
    check_finite(units, name)
    refuse(units, units < 0, name, "sales of 0 or more", "Set returns to 0")
    refuse(units, units > _MOST_UNITS, name, f"at most {_MOST_UNITS:,}", "Count in larger units")
    return np.rint(units).astype(np.int64)


def _whole(x: ArrayLike, name: str) -> IntArray:
    units = as_float(x, name)
    check_finite(units, name)
    refuse(units, units < 0, name, "whole numbers, 0 or more", "Set negative numbers to 0")
    refuse(units, units != np.rint(units), name, "whole numbers, 0 or more", "Round it first")
    refuse(units, units > _MOST_UNITS, name, f"at most {_MOST_UNITS:,}", "Count in larger units")
    return units.astype(np.int64)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def weekday(day: object, name: str) -> int:
    """Return the number of a weekday, 0 for Monday, from its name or number."""
    hint = ""
    if isinstance(day, str):
        full = day.strip().capitalize()
        if full in WEEKDAYS:
            return WEEKDAYS.index(full)
        hint = did_you_mean(full, WEEKDAYS)
    elif isinstance(day, int | np.integer) and not isinstance(day, bool) and 0 <= day <= 6:
        return int(day)
    raise ValueError(
        f"{name} holds {day!r}; expected a weekday, Monday to Sunday, or a number from 0 (Monday) "
        f"to 6.{hint}"
    )


def weekdays(days: Iterable[object], name: str) -> tuple[str, ...]:
    """Return the names of weekdays in the order of the week."""
    if isinstance(days, str):
        raise TypeError(f"{name} is the string {days!r}; expected several: ({days!r},).")
    numbers = [weekday(day, name) for day in days]
    if not numbers:
        raise ValueError(f"{name} is empty; expected at least one weekday.")
    if len(set(numbers)) < len(numbers):
        twice = next(d for d in numbers if numbers.count(d) > 1)
        raise ValueError(f"{name} holds {WEEKDAYS[twice]} more than once; name each day once.")
    return tuple(WEEKDAYS[d] for d in sorted(numbers))


def check_dates(dates: object, n: int | None = None) -> Dates:
    """Convert to consecutive days."""
    try:
        days = np.asarray(dates, dtype="datetime64[D]")
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"dates cannot be read as dates ({error}); expected days such as '2017-01-31' or an "
            f"array of datetime64."
        ) from None
    if days.ndim != 1 or days.size == 0:
        raise ValueError(f"dates has shape {days.shape}; expected one date per day, shape (n,).")
    if np.isnat(days).any():
        raise ValueError(f"dates[{int(np.isnat(days).argmax())}] is missing; expected a date.")
    if n is not None and days.size != n:
        raise ValueError(f"dates has {days.size} days but demand has {n}; expected the same.")
    steps = np.diff(days).astype(np.int64)
    if (steps != 1).any():
        i = int((steps != 1).argmax())
        before, after = days[i], days[i + 1]
        if steps[i] == 0:
            raise ValueError(
                f"dates has {after} twice; expected each day once. Drop or add up one."
            )
        if steps[i] < 0:
            raise ValueError(
                f"dates are out of order: {after} comes after {before}. Sort the days, with their "
                f"demand."
            )
        raise ValueError(
            f"dates jumps from {before} to {after}; expected every day, because stock ages in "
            f"between. Add days on which the store was closed, with a demand of 0 and closed=True, "
            f"and simulate the periods on both sides of missing data one by one."
        )
    return days


def check_closed(closed: ArrayLike | None, n: int) -> Mask:
    """Convert to one boolean per day; None means open on all days."""
    if closed is None:
        return np.zeros(n, dtype=np.bool_)
    mask = np.asarray(closed)
    if mask.dtype != np.bool_ or mask.shape != (n,):
        raise ValueError(
            f"closed has shape {mask.shape} and dtype {mask.dtype}; expected {n} booleans, one per "
            f"day."
        )
    return mask.copy()
