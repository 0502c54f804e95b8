"""The page, the table and the CSV file of the rewards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduce.inventory.rewards import (
    CONFIDENCE,
    NAIVE,
    ORACLE,
    Estimate,
    Place,
    difference,
    gain,
    mean,
    parts,
    places,
    planner,
    policies_of,
    reference,
    reward,
    title,
    tolerances,
)
from reproduce.pages import comma_separated, hours, markdown, page, share
from reproduce.sales.networks import BASELINES, FULL, RECALIBRATED, VARIANTS

#: Table 2 of the paper, in dollars, a mean over four stores.
PAPER = {"concrete": 60_082.0, "ensemble": 60_894.0, "training": 61_690.0}
_UNITS = ("sold", "lost", "spoiled", "came")
_INTERVAL = f"{100 * CONFIDENCE:.0f}% interval"


def csv_of(records: Sequence[dict[str, Any]]) -> str:
    """Return all numbers, one line per store and policy, and the means over the stores."""
    heads = [
        *("store", "policy", "seeds", "days", "reward", "reward_low", "reward_high"),
        *("reference", "difference", "difference_low", "difference_high", "of_oracle", *_UNITS),
    ]
    rows = []
    for name, group in _groups(places(records)).items():
        for policy in policies_of(group):
            earned = reward(group, policy)
            more = difference(group, policy, reference(policy))
            kind = parts(policy)[0]
            rows.append(
                [
                    *(name.removeprefix("store "), policy),
                    *("" if kind in (NAIVE, ORACLE) else group[0].seeds, group[0].days),
                    *(earned.value, earned.low, earned.high, reference(policy)),
                    *(more.value, more.low, more.high, _of_oracle(group, policy)),
                    *(mean(group, policy, unit) for unit in _UNITS),
                ]
            )
    return comma_separated(heads, rows)


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return the table that a run prints, one line per policy, means over the stores."""
    return _rewards(places(records))


def page_of(records: Sequence[dict[str, Any]], command: str, made: str) -> str:
    """Return the page."""
    group = places(records)
    values = {
        "made": made,
        "hours": hours(records),
        "lengths": ", ".join(map(str, FULL.epochs)),
        "side_by_side": _gains(group, ["training"], [0.0]),
        "beyond": _gains(group, RECALIBRATED, tolerances(policies_of(group))),
        "rewards": _rewards(group),
    }
    return page("inventory", command, values)


def _groups(group: list[Place]) -> dict[str, list[Place]]:
    """Return all stores together, if there are several, and each on its own."""
    found = {"mean": group} if len(group) > 1 else {}
    return found | {str(place): [place] for place in group}


def _gains(group: list[Place], forecasts: Sequence[str], shown: Sequence[float]) -> str:
    """Return how much more some forecasts earn than others, here and in the paper, in percent."""
    others = ("before", *BASELINES)
    ours = (_percent(PAPER["training"] / PAPER[name] - 1.0) for name in BASELINES)
    rows = [(f"paper, {VARIANTS['training']}", "not given", *ours)]
    for tolerance in shown:
        for one in ("before", *forecasts):
            found = (
                ""
                if one == other
                else _ranged(gain(group, planner(one, tolerance), planner(other, tolerance)))
                for other in others
            )
            rows.append((title(planner(one, tolerance)), *found))
    return markdown(("earns more than", *(VARIANTS[other] for other in others)), rows)


def _rewards(group: list[Place]) -> str:
    heads = ("", "reward", "more than before", _INTERVAL, "of the oracle")
    rows = []
    for policy in policies_of(group):
        earned = reward(group, policy)
        compared = ["", ""]
        if policy != reference(policy):
            more = difference(group, policy, reference(policy))
            compared = [f"{more.value:+,.0f}", f"{more.low:+,.0f} to {more.high:+,.0f}"]
        demand = mean(group, policy, "sold") + mean(group, policy, "lost")
        rows.append(
            (
                title(policy),
                f"${earned.value:,.0f}",
                *compared,
                share(_of_oracle(group, policy)),
                share(mean(group, policy, "lost") / demand, decimals=2),
                share(mean(group, policy, "spoiled") / mean(group, policy, "came"), decimals=2),
            )
        )
    return markdown((*heads, "lost", "spoiled"), rows)


def _of_oracle(group: list[Place], policy: str) -> float:
    return mean(group, policy) / mean(group, ORACLE)


def _percent(part: float) -> str:
    return f"{100 * part:+.2f}%"


def _ranged(relative: Estimate) -> str:
    return f"{_percent(relative.value)} ({_percent(relative.low)} to {_percent(relative.high)})"
