"""How the rewards of the policies are written down: a page, a table, and a CSV file.

What the page says is computed from the records, one a store and seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduce.forecast_cells import BASELINES, RECALIBRATED, VARIANTS
from reproduce.inventory_cells import (
    CONFIDENCE,
    DRAWS,
    NAIVE,
    ORACLE,
    SEED,
    WEEK,
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
from reproduce.prose import bullet, count, listed, paragraph, plain, share
from reproduce.record import comma_separated, markdown
from reproduce.sales import FIRST
from trueline.inventory import Store

#: Table 2 of the paper, in dollars, a mean over four stores.
PAPER = {"concrete": 60_082.0, "ensemble": 60_894.0, "ours": 61_690.0}
#: The variant that has the paper's protocol.
_OURS = "training"
_UNITS = ("sold", "lost", "spoiled", "came")
_INTERVAL = f"{100 * CONFIDENCE:.0f}% interval"


def csv_of(records: Sequence[dict[str, Any]]) -> str:
    """Return every number, a line a store and policy, and the means over the stores."""
    heads = [
        *("store", "policy", "seeds", "days", "reward", "reward_low", "reward_high"),
        *("reference", "difference", "difference_low", "difference_high", "of_oracle", *_UNITS),
    ]
    rows = []
    for name, group in _groups(places(records)).items():
        policies = policies_of(group)
        for policy in policies:
            earned = reward(group, policy)
            more = difference(group, policy, reference(policy))
            numbers = [earned.value, earned.low, earned.high]
            compared = [more.value, more.low, more.high, _of_oracle(group, policy)]
            units = [mean(group, policy, unit) for unit in _UNITS]
            kind = parts(policy)[0]
            seeds = "" if kind in (NAIVE, ORACLE) else group[0].seeds
            rows.append(
                [
                    *(name.removeprefix("store "), policy, seeds, group[0].days),
                    *map(plain, numbers),
                    reference(policy),
                    *map(plain, [*compared, *units]),
                ]
            )
    return comma_separated(heads, rows)


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return what is told at the end of a run: rewards, a line a policy, means over the stores."""
    return _rewards(places(records))


def page(records: Sequence[dict[str, Any]], made: str) -> str:
    """Return the page: what was done, what it shows, and the tables of each store."""
    group = places(records)
    policies = policies_of(group)
    groups = _groups(group)
    sections = [
        "# Table 2: inventory of a perishable item, planned with the forecasts\n",
        f"{made}\n",
        _what_was_done(group, policies),
        "## What it shows\n",
        *_finding(group, policies),
        *(
            _differences(name, of, tolerance)
            for tolerance in tolerances(policies)
            for name, of in groups.items()
        ),
        *_why(group, policies),
        *_others(group, policies),
        *_of_the_oracle(group, policies),
        "",
        "## Beside the paper\n",
        *_beside_the_paper(group, policies),
    ]
    for name, of in groups.items():
        head = "Mean over the stores" if len(of) > 1 else name.capitalize()
        sections += [f"## {head}\n", _rewards(of)]
    return "\n".join(sections)


def _groups(group: list[Place]) -> dict[str, list[Place]]:
    """The stores one by one and, of several, all of them."""
    found = {"mean": group} if len(group) > 1 else {}
    return found | {str(place): [place] for place in group}


def _what_was_done(group: list[Place], policies: list[str]) -> str:
    rules = Store()
    days = listed(dict.fromkeys(str(place.days) for place in group))
    seeds = listed(dict.fromkeys(count(place.seeds, "seed") for place in group))
    several = max(place.seeds for place in group) > 1
    kinds = {parts(policy)[0] for policy in policies}
    tolerant = [tolerance for tolerance in tolerances(policies) if tolerance]
    forecasts = listed(f"`{name}`" for v, name in VARIANTS.items() if planner(v, 0.0) in policies)
    items = [
        (
            f"`planner`: dynamic programming over 14 days, with the forecast of each of them as "
            f"its demand. Forecasts are made from the sales known on the day. Recalibrated ones "
            f"have a map for each number of days ahead. {forecasts} are as in `trueline reproduce "
            f"forecast`."
        ),
        *(
            f"`${tolerance:.2f}`: the smallest of the orders whose expected reward is within "
            f"${tolerance:.2f} of the best."
            for tolerance in tolerant
        ),
    ]
    if "newsvendor" in kinds:
        items.append(
            f"`newsvendor`: orders up to a quantile of the demand until the next delivery; "
            f"{100 * rules.critical_ratio:.0f}% is (price - cost) / price."
        )
    if NAIVE in kinds:
        items.append(f"`{NAIVE}`: orders what was sold on the same weekdays of the week before.")
    if ORACLE in kinds:
        items.append(f"`{ORACLE}`: knows all sales; {_bound(group)}.")
    resampled = f"whole weeks ({WEEK} days in a row, since orders follow the week)"
    if several:
        resampled += " and seeds"
    return "\n".join(
        [
            paragraph(
                f"Orders of item 1503844 in {listed(map(str, group))} on {days} days from "
                f"{FIRST} on, {seeds}. A unit costs ${rules.cost:.2f}, sells for "
                f"${rules.price:.2f} and keeps for {rules.shelf_life} days; packs of "
                f"{rules.pack} are ordered on {len(rules.order_days)} days a week and come on the "
                f"next. What is asked for is what was sold in these stores on these days. The "
                f"reward is what is sold at its price less what is ordered at its cost."
            ),
            *map(bullet, items),
            "",
            paragraph(
                f"Rewards are means over the seeds. Intervals are of a bootstrap that draws "
                f"{resampled} with replacement, {DRAWS:,} times from seed {SEED}, and takes the "
                f"middle {100 * CONFIDENCE:.0f}%; a draw with a short last week is scaled to the "
                f"length of the period. All policies share the draws, so that their differences "
                f"are paired, and the stores share those of the weeks. The stores themselves are "
                f"not drawn: nothing is said of other stores. {_few_seeds(group)} In the tables "
                f"a planner is compared with before at its own tolerance, all else with before at "
                f"none."
            ),
            paragraph(_accounts(group)),
            "![What each policy earns, a row a store](inventory.png)\n",
        ]
    )


def _accounts(group: list[Place]) -> str:
    """What the weeks of the bootstrap are credited with."""
    if all(place.accrues for place in group):
        return (
            "A week counts with what it accrues: the price of what it sold less the cost of these "
            "units and of those that spoiled; what is left at the end is charged to the last day. "
            "The sum over all weeks is the reward. In cash, where an order is paid before the "
            "units are sold, an order at the end of a week would make that week poorer and the "
            "next one richer, which the bootstrap would take for chance."
        )
    return (
        "A week counts with what it takes in less what it pays for orders. An order at the end of "
        "a week makes that week poorer and the next one richer, which the bootstrap takes for "
        "chance: the intervals are too wide."
    )


def _bound(group: list[Place]) -> str:
    """What is proved of the oracle."""
    gaps = {
        str(place): result["bound"] - result["reward"]
        for place in group
        for result in place.policies[ORACLE]
    }
    if all(gap < 0.01 for gap in gaps.values()):
        return "no policy can earn more"
    told = listed(f"{_dollars(gap)} in {place}" for place, gap in gaps.items())
    return f"no policy can earn more than it does by over {told}"


def _few_seeds(group: list[Place]) -> str:
    least = min(place.seeds for place in group)
    if least == 1:
        return "Of one seed the intervals do not tell how much trainings differ."
    return (
        f"Drawing from {least} seeds finds {least - 1} / {least} of their variance, so that the "
        f"intervals are a little too narrow."
    )


def _finding(group: list[Place], policies: list[str]) -> list[str]:
    """Whether recalibration earns more, with an interval that says so."""
    told = []
    for tolerance in tolerances(policies):
        maps = _maps(policies, tolerance)
        before = planner("before", tolerance)
        signs = {m: difference(group, planner(m, tolerance), before).sign for m in maps}
        verdicts = [
            f"{verb} {listed(VARIANTS[m] for m in which)} (the interval of the difference {where})"
            for sign, verb, where in (
                (1, "earns more with", "is above 0"),
                (-1, "earns less with", "is below 0"),
                (0, "cannot be told to earn more or less with", "holds 0"),
            )
            if (which := [m for m in maps if signs[m] == sign])
        ]
        over = "on average over the stores" if len(group) > 1 else f"in {group[0]}"
        how = f" at a tolerance of ${tolerance:.2f}" if tolerance else ""
        told.append(
            bullet(
                f"Against the planner with the uncalibrated forecast{how}, {over}, the planner "
                f"with a recalibrated one {'; it '.join(verdicts)}."
            )
        )
    return told


def _differences(name: str, group: list[Place], tolerance: float) -> str:
    before = planner("before", tolerance)
    maps = _maps(policies_of(group), tolerance)
    told = "; ".join(
        f"{VARIANTS[m]} "
        + _verdict(
            difference(group, planner(m, tolerance), before),
            gain(group, planner(m, tolerance), before),
        )
        for m in maps
    )
    where = "Mean over the stores" if len(group) > 1 else name.capitalize()
    how = f", ${tolerance:.2f}" if tolerance else ""
    return bullet(f"{where}{how}, against {_dollars(mean(group, before))} of before: {told}.")


def _verdict(more: Estimate, relative: Estimate) -> str:
    excluded = "excludes" if more.sign else "holds"
    amount = f"{_dollars(abs(more.value))} {'more' if more.value >= 0 else 'less'}"
    return (
        f"{amount} ({100 * relative.value:+.2f}%, {_INTERVAL} {_dollars(more.low)} to "
        f"{_dollars(more.high)}, which {excluded} 0)"
    )


def _why(group: list[Place], policies: list[str]) -> list[str]:
    """What units that were missing and units too many cost."""
    rules = Store()
    per_unit = {"lost": rules.price - rules.cost, "spoiled": rules.cost}
    tolerance = tolerances(policies)[0]
    names = [planner(v, tolerance) for v in VARIANTS if planner(v, tolerance) in policies]

    def cost(policy: str, units: str) -> float:
        if units == "left":  # paid for and neither sold nor spoiled: what the reward lacks
            sold = per_unit["lost"] * mean(group, policy, "sold")
            return sold - cost(policy, "spoiled") - mean(group, policy)
        return per_unit[units] * mean(group, policy, units)

    before = planner("before", tolerance)
    told = "; ".join(
        f"{_forecast_of(p)} {_dollars(cost(p, 'lost'))} and {_dollars(cost(p, 'spoiled'))}"
        for p in [*names, *([ORACLE] if ORACLE in policies else [])]
    )
    best = max(_maps(policies, tolerance), key=lambda m: mean(group, planner(m, tolerance)))
    saved = {
        units: cost(before, units) - cost(planner(best, tolerance), units)
        for units in (*per_unit, "left")
    }
    return [
        bullet(
            f"Where it comes from: a unit that is asked for in vain costs "
            f"${per_unit['lost']:.2f}, one that spoils ${per_unit['spoiled']:.2f}. Lost and "
            f"spoiled units cost the planner: {told}. Of the recalibrated forecasts "
            f"{VARIANTS[best]} earns most: against before it {_saves(saved['spoiled'])} of waste, "
            f"{_saves(saved['lost'])} of lost sales and {_saves(saved['left'])} of units that are "
            f"left at the end."
        )
    ]


def _forecast_of(policy: str) -> str:
    return VARIANTS.get(parts(policy)[1], f"the {policy}")


def _saves(amount: float) -> str:
    return f"{'saves' if amount >= 0 else 'adds'} {_dollars(abs(amount))}"


def _others(group: list[Place], policies: list[str]) -> list[str]:
    """Policies that do not plan."""
    found = []
    for policy in policies:
        kind, forecast, _ = parts(policy)
        if kind in ("planner", ORACLE):
            continue
        other = planner(forecast or "before", tolerances(policies)[0])
        more = difference(group, policy, other)
        amount = f"{_dollars(abs(more.value))} {'more' if more.value >= 0 else 'less'}"
        found.append(
            f"{title(policy)} earns {amount} than the planner with "
            f"{'the same forecast' if forecast else 'the uncalibrated one'} ({_INTERVAL} "
            f"{_dollars(more.low)} to {_dollars(more.high)})"
        )
    return [bullet(f"Without planning: {'; '.join(found)}.")] if found else []


def _of_the_oracle(group: list[Place], policies: list[str]) -> list[str]:
    if ORACLE not in policies:
        return []
    planners = [name for name in policies if name.startswith("planner ")]
    best = max(planners, key=lambda name: mean(group, name))
    before = planner("before", tolerances(policies)[0])
    told = f"{share(_of_oracle(group, before) or 0.0)} of what the oracle earns"
    highest = (
        "no planner earns more"
        if best == before
        else f"the best of them, {title(best)}, {share(_of_oracle(group, best) or 0.0)}"
    )
    return [bullet(f"The planner with the uncalibrated forecast earns {told}; {highest}.")]


def _beside_the_paper(group: list[Place], policies: list[str]) -> list[str]:
    """Percent by which one forecast earns more than another, here and in Table 2."""
    others = ("before", *BASELINES)
    heads = ("earns more than", *(VARIANTS[other] for other in others))
    found = [
        paragraph(
            f"The paper has {_dollars(PAPER['concrete'])} with concrete dropout, "
            f"{_dollars(PAPER['ensemble'])} with a deep ensemble and {_dollars(PAPER['ours'])} "
            f"with its recalibration on the training days; not what the uncalibrated network "
            f"earns, nor any spread. It has other stores, so that levels do not compare. What does "
            f"is by how much one earns more than another:"
        )
    ]
    for tolerance in tolerances(policies):
        rows = [
            (
                f"paper, {VARIANTS[_OURS]}",
                "",
                *(_percent(PAPER["ours"] / PAPER[name] - 1.0) for name in BASELINES),
            )
        ]
        for m in _maps(policies, tolerance):
            row = [VARIANTS[m]]
            for other in others:
                against = planner(other, tolerance)
                known = against in policies
                row.append(_ranged(gain(group, planner(m, tolerance), against)) if known else "")
            rows.append(tuple(row))
        if tolerance:
            found.append(f"With a tolerance of ${tolerance:.2f}:\n")
        found.append(markdown(heads, rows))
    found.append(_paper_agrees(group, policies))
    return found


def _paper_agrees(group: list[Place], policies: list[str]) -> str:
    tolerance = tolerances(policies)[0]
    ours = planner(_OURS, tolerance)
    there = [name for name in BASELINES if planner(name, tolerance) in policies]
    if ours not in policies or not there:
        return ""
    told = []
    for name in there:
        more = gain(group, ours, planner(name, tolerance))
        same = (
            "as in the paper"
            if more.sign > 0
            else "against the paper"
            if more.sign < 0
            else "which cannot tell whether it is as in the paper"
        )
        told.append(
            f"{_percent(more.value)} against {VARIANTS[name]} ({_percent(more.low)} to "
            f"{_percent(more.high)}, {same})"
        )
    return paragraph(f"With the paper's protocol, {VARIANTS[_OURS]}, it is {listed(told)}.")


def _rewards(group: list[Place]) -> str:
    policies = policies_of(group)
    heads = ("", "reward", _INTERVAL, "more than before", _INTERVAL, "of the oracle")
    rows = []
    for policy in policies:
        earned = reward(group, policy)
        compared = ["", ""]
        if policy != reference(policy):
            more = difference(group, policy, reference(policy))
            compared = [f"{more.value:+,.0f}", f"{more.low:+,.0f} to {more.high:+,.0f}"]
        part = _of_oracle(group, policy)
        asked = mean(group, policy, "sold") + mean(group, policy, "lost")
        rows.append(
            (
                title(policy),
                _dollars(earned.value),
                f"{earned.low:,.0f} to {earned.high:,.0f}",
                *compared,
                "" if part is None else share(part),
                share(mean(group, policy, "lost") / asked, decimals=2),
                share(mean(group, policy, "spoiled") / mean(group, policy, "came"), decimals=2),
            )
        )
    return markdown((*heads, "lost, of demand", "spoiled, of what came"), rows)


def _maps(policies: Sequence[str], tolerance: float) -> list[str]:
    """Ways to recalibrate that there are."""
    return [m for m in RECALIBRATED if planner(m, tolerance) in policies]


def _of_oracle(group: list[Place], policy: str) -> float | None:
    if any(ORACLE not in place.policies for place in group):
        return None
    return mean(group, policy) / mean(group, ORACLE)


def _dollars(amount: float) -> str:
    return f"{'-' if round(amount) < 0 else ''}${abs(amount):,.0f}"


def _percent(part: float) -> str:
    return f"{100 * part:+.2f}%"


def _ranged(relative: Estimate) -> str:
    return f"{_percent(relative.value)} ({_percent(relative.low)} to {_percent(relative.high)})"
