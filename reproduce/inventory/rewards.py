"""The rewards of the policies by store, with bootstrap intervals.

The bootstrap draws whole weeks, because orders follow the week, and seeds, both with replacement.
All policies of a store share their draws, and all stores share the draws of the weeks, so that two
policies are compared on the same weeks with the same networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduce.sales.networks import VARIANTS
from reproduce.sales.weeks import WEEK

FloatArray = NDArray[np.float64]

DRAWS = 10_000
#: Seed of the draws.
SEED = 2016
CONFIDENCE = 0.95

ORACLE, NAIVE = "oracle", "seasonal naive"


@dataclass(frozen=True)
class Place:
    """The results of a store.

    Attributes
    ----------
    store, days : int
    policies : dict of list of dict
        The records of each policy, one per seed; a single one for policies without a network.
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
        """Return the reward or units of a policy, a mean over the seeds."""
        return float(np.mean([record[name] for record in self.policies[policy]]))

    def draws(self, policy: str) -> FloatArray:
        """Return the rewards of a policy in resampled periods, scaled to the same length."""
        if policy not in self._drawn:
            self._drawn[policy] = self._draw(policy)
        return self._drawn[policy]

    def _draw(self, policy: str) -> FloatArray:
        by_week = np.array([result["weekly"] for result in self.policies[policy]], dtype=float)
        weeks, seeds = self._counts
        # A policy without a network has a single row.
        of_seeds = by_week if len(by_week) == 1 else seeds @ by_week / self.seeds
        lengths = np.diff([*self._starts, self.days])
        return (weeks * of_seeds).sum(axis=1) * (self.days / (weeks @ lengths))

    @property
    def _starts(self) -> NDArray[np.intp]:
        """The first day of each week; the last week may be shorter."""
        return np.arange(0, self.days, WEEK)

    @cached_property
    def _counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often each draw contains each week and each seed."""
        weeks = len(self._starts)
        # Stores share the weeks of the calendar, but not their networks.
        return (
            _resampled(np.random.default_rng(SEED), weeks),
            _resampled(np.random.default_rng([SEED, self.store]), self.seeds),
        )


def _resampled(rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    return rng.multinomial(n, np.full(n, 1.0 / n), size=DRAWS)


def places(records: Sequence[dict[str, Any]]) -> list[Place]:
    """Group the seeds by store, both in order."""
    found: list[Place] = []
    for store in sorted({record["store"] for record in records}):
        of_store = [record for record in records if record["store"] == store]
        # A record without a seed holds the policies without a network.
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
    """Return the policies that all stores have: planners by tolerance and forecast come first."""
    kinds = ["planner", "newsvendor", NAIVE, ORACLE]
    forecasts = list(VARIANTS)

    def order(policy: str) -> tuple[int, float, int]:
        kind, forecast, setting = parts(policy)
        return kinds.index(kind), setting, forecasts.index(forecast) if forecast else 0

    return sorted(set.intersection(*(set(place.policies) for place in group)), key=order)


def parts(policy: str) -> tuple[str, str, float]:
    """Return the kind of a policy, its forecast, and its tolerance or level, if it has them."""
    if policy in (NAIVE, ORACLE):
        return policy, "", 0.0
    kind, forecast, setting = policy.split(" ")
    return kind, forecast, float(setting)


def title(policy: str) -> str:
    """Return the name of a policy in tables and pictures."""
    kind, forecast, setting = parts(policy)
    if not forecast:
        return kind
    name = f"{kind}, {VARIANTS[forecast]}"
    if kind == "newsvendor":
        return f"{name}, {100.0 * setting:.0f}%"
    return f"{name}, ${setting:.2f}" if setting else name


def planner(forecast: str, tolerance: float) -> str:
    """Return the name of a planner in the records."""
    return f"planner {forecast} {tolerance:g}"


def reference(policy: str) -> str:
    """Return the planner with the uncalibrated forecast that a policy is compared with.

    A planner is compared with the one of its own tolerance, other policies with the one of none.
    """
    kind, _, setting = parts(policy)
    return planner("before", setting if kind == "planner" else 0.0)


def tolerances(policies: Sequence[str]) -> list[float]:
    """Return the tolerances of the planners."""
    return sorted({parts(name)[2] for name in policies if name.startswith("planner ")})


def mean(group: Sequence[Place], policy: str, name: str = "reward") -> float:
    """Return the reward or units of a policy, a mean over stores."""
    return float(np.mean([place.total(policy, name) for place in group]))


def draws(group: Sequence[Place], policy: str) -> FloatArray:
    """Return the rewards of a policy in resampled periods, a mean over stores."""
    return np.mean([place.draws(policy) for place in group], axis=0)


@dataclass(frozen=True)
class Estimate:
    """A number and its bootstrap interval."""

    value: float
    low: float
    high: float


def interval(value: float, drawn: FloatArray) -> Estimate:
    """Return a value with the central interval of the draws."""
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return Estimate(value, float(low), float(high))


def reward(group: Sequence[Place], policy: str) -> Estimate:
    """Return the reward of a policy."""
    return interval(mean(group, policy), draws(group, policy))


def difference(group: Sequence[Place], policy: str, other: str) -> Estimate:
    """Return how much more a policy earns than another."""
    return _compared(group, policy, other, lambda one, two: one - two)


def gain(group: Sequence[Place], policy: str, other: str) -> Estimate:
    """Return how much more a policy earns than another, relative to the other."""
    return _compared(group, policy, other, lambda one, two: (one - two) / two)


def _compared(
    group: Sequence[Place], policy: str, other: str, compare: Callable[[Any, Any], Any]
) -> Estimate:
    value = compare(mean(group, policy), mean(group, other))
    return interval(float(value), compare(draws(group, policy), draws(group, other)))
