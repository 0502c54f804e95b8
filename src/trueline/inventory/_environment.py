"""The store as a Gymnasium environment."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from trueline.distributions import Distribution, Normal
from trueline.inventory._simulation import Period, check_period
from trueline.inventory._store import (
    WEEKDAYS,
    IntArray,
    Store,
    check_closed,
    check_dates,
    check_shelf,
)

Observation = NDArray[np.int64]

# Mean units from Monday to Sunday of the default demand, as in the larger store of the paper. The
# standard deviation is a fifth of the mean.
_WEEK = (600.0, 570.0, 890.0, 480.0, 610.0, 830.0, 1020.0)
_WEEKS = 4


class PerishableInventoryEnv(gymnasium.Env[Observation, np.int64]):
    """Order a perishable item: ``gymnasium.make("trueline/PerishableInventory-v0")``.

    Gymnasium knows the name after `trueline.inventory` is imported, which
    ``gymnasium.make("trueline.inventory:trueline/PerishableInventory-v0")`` does too. A step is a
    day of `Store`, and an episode is a number of consecutive days. It ends truncated, because the
    store does not close.

    The observation is the units by days of life left, and the weekday, 0 for Monday. The action is
    the number of packs to order; it is ignored, at no cost, on days without orders.
    ``info["action_mask"]`` marks the allowed actions, for ``env.action_space.sample(mask=...)``,
    and ``info["ignored"]`` is the number of ignored packs. ``info`` also has the date and, after a
    step, the packs ordered and the units demanded, sold, lost and spoiled.

    Parameters
    ----------
    store : Store, optional
        The store; that of the paper by default.
    demand : (n,) array-like or Distribution, optional
        Historical demand of n days, or forecasts with one row per day, from which each episode
        draws its demand, rounded to whole units. By default four weeks with a weekly pattern.
    dates : (n,) array-like of dates, optional
        Consecutive days; needed with `demand`.
    closed : (n,) array-like of bool, optional
        Days without demand.
    episode_days : int, optional
        Number of days in an episode, at least 2, which starts on a random day. By default all
        days.
    stock : (L,) array-like, optional
        Units on the first morning by days of life left; 0 by default.
        ``reset(options={"stock": ...})`` sets them for one episode.
    render_mode : {"ansi"}, optional
        One line of text per day.

    Examples
    --------
    >>> import gymnasium
    >>> import trueline.inventory
    >>> env = gymnasium.make("trueline/PerishableInventory-v0")
    >>> observation, info = env.reset(seed=0)
    >>> observation, int(info["action_mask"].sum())  # an empty shelf on a Monday
    (array([0, 0, 0, 0, 0, 0]), 401)
    >>> observation, reward, terminated, truncated, info = env.step(100)
    >>> observation, round(reward, 2), truncated
    (array([   0,    0,    0,    0, 1200,    1]), -1548.0, False)
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 1}  # type: ignore[misc]

    def __init__(
        self,
        store: Store | None = None,
        demand: ArrayLike | Distribution | None = None,
        dates: object = None,
        *,
        closed: ArrayLike | None = None,
        episode_days: int | None = None,
        stock: ArrayLike | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise ValueError(f'render_mode is {render_mode!r}; expected "ansi" or None.')
        self.store = Store() if store is None else store
        self.render_mode = render_mode
        self._forecast, self._period = _demand_of(demand, dates, closed)
        n = len(self._period.dates)
        self._days = n if episode_days is None else episode_days
        if not isinstance(self._days, int | np.integer) or not 2 <= self._days <= n:
            raise ValueError(
                f"an episode has {self._days!r} days; expected 2 to {n}, the days of `dates`."
            )
        self._first_stock = self._check_stock(stock)
        units = self.store.max_units + 1
        self.observation_space = spaces.MultiDiscrete([units] * self.store.shelf_life + [7])
        self.action_space = spaces.Discrete(self.store.max_packs + 1)
        self._stock: IntArray = self._first_stock
        self._today = self._last = 0
        self._demand: IntArray = self._period.demand
        self._line = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode and return the observation and info.

        Parameters
        ----------
        seed : int, optional
            Seed of the demand and of the first day.
        options : dict, optional
            ``{"stock": ...}``, the units on the first morning.
        """
        super().reset(seed=seed)
        options = options or {}
        if unknown := set(options) - {"stock"}:
            raise ValueError(f"options holds {sorted(unknown)}; expected nothing but 'stock'.")
        self._stock = self._check_stock(options.get("stock", self._first_stock))
        n = len(self._period.dates)
        self._today = int(self.np_random.integers(n - self._days + 1)) if self._days < n else 0
        self._last = self._today + int(self._days) - 1
        if self._forecast is None:
            self._demand = self._period.demand
        else:
            drawn = self._forecast.sample(1, random_state=self.np_random)[:, 0]
            self._demand = np.rint(np.where(self._period.closed, 0.0, np.maximum(drawn, 0.0)))
            self._demand = self._demand.astype(np.int64)
        self._line = f"{self._period.dates[self._today]}: {self._stock.sum()} units on the shelf"
        return self._observe(), self._info()

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Order, simulate the day, and return observation, reward, terminated, truncated, info.

        Parameters
        ----------
        action : int
            Packs to order; ignored on days without orders. ``terminated`` is always False, and
            ``truncated`` is True after the last day of the episode.
        """
        if self._today > self._last:
            raise RuntimeError("the episode is over; call reset() first.")
        asked = self.store.check_packs(action)
        packs = asked if self._may_order() else np.zeros_like(asked)
        demand = self._demand[self._today]
        day = self.store._step(self._stock, demand, packs)
        self._line = (
            f"{self._period.dates[self._today]}: {packs} packs ordered, {demand} units asked for, "
            f"{day.sold} sold, {day.spoiled} spoiled"
        )
        self._stock = day.stock
        self._today += 1
        happened = {
            "ordered": int(packs),
            "ignored": int(asked - packs),
            "demand": int(demand),
            "sold": int(day.sold),
            "lost": int(day.lost),
            "spoiled": int(day.spoiled),
        }
        truncated = self._today > self._last
        return self._observe(), float(day.reward), False, truncated, self._info() | happened

    def render(self) -> str | None:
        """Return a description of the last day."""
        return self._line if self.render_mode == "ansi" else None

    def _weekday(self) -> int:
        return int((self._period.weekdays[0] + self._today) % 7)

    def _may_order(self) -> bool:
        return bool(self.store.orders_on(self._weekday()))

    def _observe(self) -> Observation:
        return np.append(self._stock, self._weekday())

    def _info(self) -> dict[str, Any]:
        mask = np.full(self.store.max_packs + 1, self._may_order(), dtype=np.int8)
        mask[0] = 1
        return {
            "date": str(self._period.dates[0] + np.timedelta64(self._today, "D")),
            "action_mask": mask,
        }

    def _check_stock(self, stock: ArrayLike | None) -> IntArray:
        units = check_shelf(self.store, stock)
        if (units > self.store.max_units).any():
            raise ValueError(
                f"stock is {units.tolist()}; expected {self.store.shelf_life} numbers of at most "
                f"{self.store.max_units:,} units, the largest order."
            )
        return units


def _demand_of(
    demand: ArrayLike | Distribution | None, dates: object, closed: ArrayLike | None
) -> tuple[Distribution | None, Period]:
    """Return the forecasts to draw the demand from, if any, and the period."""
    if demand is None:
        if dates is not None or closed is not None:
            raise ValueError("dates or closed was given without demand; expected demand too.")
        mean = np.tile(_WEEK, _WEEKS)
        dates = np.datetime64("2017-01-02") + np.arange(mean.size)  # a Monday
        return _demand_of(Normal(mean, 0.2 * mean), dates, None)
    if dates is None:
        raise ValueError(
            f"demand was given without dates; expected one date per day, because orders are made "
            f"on weekdays such as {WEEKDAYS[0]}."
        )
    if isinstance(demand, Distribution):
        days = check_dates(dates, len(demand))
        none = np.zeros(len(demand), dtype=np.int64)
        return demand, Period(none, days, check_closed(closed, len(demand)))
    return None, check_period(demand, dates, closed)
