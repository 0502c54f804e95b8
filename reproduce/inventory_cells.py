"""What the policies earned, by store, and how sure that is.

The bootstrap draws whole weeks, since orders follow the week, and seeds, both with replacement. All
policies of a store share their draws, and all stores share those of the weeks: what differs between
two policies is compared on the same weeks with the same networks.

Weeks are told apart by what they accrue: what they sell, less what these units and those that spoil
have cost. Orders are paid in advance, and in cash the last order of a week would make that week
poorer and the next one richer, a swing of no meaning that the draws would take for chance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduce.forecast_cells import VARIANTS
from trueline._validation import FloatArray

DRAWS = 10_000
#: Of the draws.
SEED = 2016
WEEK = 7
CONFIDENCE = 0.95

ORACLE, NAIVE = "oracle", "seasonal naive"


@dataclass(frozen=True)
class Place:
    """What happened in a store.

    Attributes
    ----------
    store, days : int
    policies : dict of list of dict
        What each policy did, a record a seed; a single one where there is no network.
    seeds : int
    """

    store: int
    days: int
    policies: dict[str, list[dict[str, Any]]]
    seeds: int
    _drawn: dict[str, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return f"store {self.store}"

    def total(self, policy: str, name: str) -> float:
        """Reward or units of a policy, a mean over the seeds."""
        return float(np.mean([record[name] for record in self.policies[policy]]))

    def draws(self, policy: str) -> FloatArray:
        """Rewards of a policy in resampled periods, each as long as the real one."""
        if policy not in self._drawn:
            self._drawn[policy] = self._draw(policy)
        return self._drawn[policy]

    @property
    def accrues(self) -> bool:
        """Whether the records have what each day accrues; else there is but what it pays."""
        results = [result for of_policy in self.policies.values() for result in of_policy]
        return all("accrued" in result for result in results)

    def _draw(self, policy: str) -> FloatArray:
        name = "accrued" if self.accrues else "daily"
        daily = np.array([result[name] for result in self.policies[policy]], dtype=float)
        by_week = np.add.reduceat(daily, self._starts, axis=1)
        weeks, seeds = self._counts
        # Without a network there is but one row, whatever the seed.
        of_seeds = by_week if len(by_week) == 1 else seeds @ by_week / self.seeds
        lengths = np.diff([*self._starts, self.days])
        return (weeks * of_seeds).sum(axis=1) * (self.days / (weeks @ lengths))

    @property
    def _starts(self) -> NDArray[np.intp]:
        """First day of each week; the last week may be short."""
        return np.arange(0, self.days, WEEK)

    @cached_property
    def _counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often each draw has each week, and each seed."""
        weeks = len(self._starts)
        # Networks of one store tell nothing of those of another, the weeks of the calendar do.
        return (
            _resampled(np.random.default_rng(SEED), weeks),
            _resampled(np.random.default_rng([SEED, self.store]), self.seeds),
        )


def _resampled(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    return rng.multinomial(n, np.full(n, 1.0 / n), size=DRAWS)


def places(records: Sequence[dict[str, Any]]) -> list[Place]:
    """Gather the seeds of each store, both in order."""
    found: list[Place] = []
    for store in sorted({record["store"] for record in records}):
        of_store = [record for record in records if record["store"] == store]
        # A record without a seed has the policies that need no network.
        with_seed = [record for record in of_store if record["seed"] is not None]
        ordered = sorted(with_seed, key=lambda record: int(record["seed"]))
        policies = {
            name: [record["policies"][name] for record in ordered]
            for name in ordered[0]["policies"]
            if all(name in record["policies"] for record in ordered)
        }
        for record in of_store:
            if record["seed"] is None:
                policies |= {name: [result] for name, result in record["policies"].items()}
        found.append(Place(store, ordered[0]["days"], policies, len(ordered)))
    return found


def policies_of(group: Sequence[Place]) -> list[str]:
    """Policies that all stores have: planners by tolerance and forecast, then the others."""
    kinds = ["planner", "newsvendor", NAIVE, ORACLE]
    forecasts = list(VARIANTS)

    def order(policy: str) -> tuple[int, float, int]:
        kind, forecast, setting = parts(policy)
        return kinds.index(kind), setting, forecasts.index(forecast) if forecast else 0

    return sorted(set.intersection(*(set(place.policies) for place in group)), key=order)


def parts(policy: str) -> tuple[str, str, float]:
    """Kind of a policy, its forecast and its tolerance or level; the last two may be none."""
    if policy in (NAIVE, ORACLE):
        return policy, "", 0.0
    kind, forecast, setting = policy.split(" ")
    return kind, forecast, float(setting)


def title(policy: str) -> str:
    """Name of a policy for the reader."""
    kind, forecast, setting = parts(policy)
    if not forecast:
        return kind
    told = f"{kind}, {VARIANTS[forecast]}"
    if kind == "newsvendor":
        return f"{told}, {100.0 * setting:.0f}%"
    return f"{told}, ${setting:.2f}" if setting else told


def planner(forecast: str, tolerance: float) -> str:
    """Name of the planner with a forecast, in the records."""
    return f"planner {forecast} {tolerance:g}"


def reference(policy: str) -> str:
    """Return the planner with the uncalibrated forecast that a policy is compared with.

    A planner is compared with that of its own tolerance, all others with the one that has none.
    """
    kind, _, setting = parts(policy)
    return planner("before", setting if kind == "planner" else 0.0)


def tolerances(policies: Sequence[str]) -> list[float]:
    """Tolerances of the planners that there are."""
    return sorted({parts(name)[2] for name in policies if name.startswith("planner ")})


def mean(group: Sequence[Place], policy: str, name: str = "reward") -> float:
    """Reward or units of a policy, a mean over stores."""
    return float(np.mean([place.total(policy, name) for place in group]))


def draws(group: Sequence[Place], policy: str) -> FloatArray:
    """Rewards of a policy in resampled periods, a mean over stores."""
    return np.mean([place.draws(policy) for place in group], axis=0)


@dataclass(frozen=True)
class Estimate:
    """A number and its bootstrap interval."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 or -1 where the interval lies on one side of 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def interval(value: float, drawn: FloatArray) -> Estimate:
    """Estimate with the central quantiles of what was drawn."""
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return Estimate(value, float(low), float(high))


def reward(group: Sequence[Place], policy: str) -> Estimate:
    """What a policy earns."""
    return interval(mean(group, policy), draws(group, policy))


def difference(group: Sequence[Place], policy: str, other: str) -> Estimate:
    """How much more a policy earns than another."""
    return _compared(group, policy, other, lambda one, two: one - two)


def gain(group: Sequence[Place], policy: str, other: str) -> Estimate:
    """How much more a policy earns than another, as a share of what that one earns."""
    return _compared(group, policy, other, lambda one, two: (one - two) / two)


def _compared(
    group: Sequence[Place], policy: str, other: str, compare: Callable[[Any, Any], Any]
) -> Estimate:
    value = compare(mean(group, policy), mean(group, other))
    return interval(float(value), compare(draws(group, policy), draws(group, other)))
