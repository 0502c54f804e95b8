"""The page's sentences where models are compared: CRPS first, then coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trueline._messages import percent as promise
from trueline._report._numbers import count, measured, percent
from trueline._report._words import Facts, all_levels, chance, reasons
from trueline.comparison import Difference

# Models that a sentence names; of more it gives the number.
_MOST_NAMES = 3


def headline(facts: Sequence[Facts], differences: Sequence[Difference]) -> str:
    """Return the first sentence of a page about models, the best first.

    `differences` are those of the CRPS of each model but the best, minus that of the best.
    """
    best, others = facts[0], facts[1:]
    level = [f for f, d in zip(others, differences, strict=True) if not d.clear]
    if len(level) == len(others):
        if len(others) == 1:
            return (
                f"{_names(facts)} forecast equally well, as far as the rows can tell: chance "
                f"explains the difference of their CRPS."
            )
        return (
            f"No best model among {count(len(facts))}: chance explains the differences of their "
            f"CRPS."
        )
    if level:
        return (
            f"{best.quoted} has the lowest CRPS of {count(len(facts))} models, but chance explains "
            f"its lead over {_names(level)}."
        )
    second, gap = others[0], differences[0]
    if len(others) == 1:
        return f"{best.quoted} forecasts better than {second.quoted}: {_lower(facts, gap)}."
    return (
        f"{best.quoted} forecasts best of {count(len(facts))} models: {_lower(facts, gap)} than "
        f"that of {second.quoted}, the next."
    )


def _lower(facts: Sequence[Facts], gap: Difference) -> str:
    """Return by how much the CRPS of the best model is lower, the clear difference given."""
    low, high = facts[0].evaluation.crps, facts[1].evaluation.crps
    if not math.isfinite(gap.mean):
        return "its CRPS is finite" if len(facts) == 2 else "its CRPS is lower"
    share = 1.0 - low / high
    return f"its CRPS is {percent(share, 1e4 if share < 0.1 else 0)} lower"


def findings(facts: Sequence[Facts], differences: Sequence[Difference]) -> list[str]:
    """Return the sentences below the headline."""
    best = facts[0]
    # Atoms give every model the same reason; with many models that of the best is enough.
    why = reasons(facts if len(facts) == 2 else [best], named=True)
    found = [_score(facts, differences), *_coverage(facts), *why, chance((best,))]
    return [sentence for sentence in [*found, all_levels((best,), named=True)] if sentence]


def _score(facts: Sequence[Facts], differences: Sequence[Difference]) -> str:
    """Return what the difference to the next model is, and how sure."""
    gap, (low, high) = differences[0], scores(facts[:2], differences[:1])
    start = "CRPS, the score that weighs everything,"
    if gap.mean == 0:
        return f"{start} is {low} with both {facts[0].quoted} and {facts[1].quoted}."
    if not math.isfinite(gap.mean):
        return f"{start} is {low} with {facts[0].quoted} and {high} with {facts[1].quoted}."
    by, error = measured(gap.mean, gap.error), measured(gap.error, gap.error)
    verdict = "which is clear" if gap.clear else "which chance explains"
    return (
        f"{start} is {low} with {facts[0].quoted} and {high} with {facts[1].quoted}: a difference "
        f"of {by} with a standard error of {error}, {verdict}."
    )


def scores(facts: Sequence[Facts], differences: Sequence[Difference]) -> list[str]:
    """Return the CRPS of each model, with the decimals that the differences support."""
    errors = [d.error for d in differences if math.isfinite(d.error) and d.error > 0]
    finest = min(errors, default=0.0)
    return [measured(f.evaluation.crps, finest) for f in facts]


def _coverage(facts: Sequence[Facts]) -> list[str]:
    """Return with which models the intervals hold."""
    points = [f for f in facts if f.width == 0]
    rest = [f for f in facts if f.width != 0]
    off = [f for f in rest if f.off]
    few = [f for f in rest if not f.off and f.verdict.coverage.few_rows]
    good = [f for f in rest if not f.off and not f.verdict.coverage.few_rows]
    intervals = f"{promise(facts[0].target)} intervals"
    found = []
    if len(rest) > 2 and len(rest) in (len(good), len(off)):
        holds = "hold with all models" if good else "hold with none of the models"
        found.append(f"The {intervals} {holds}.")
    elif good or off:
        parts = [f"hold with {_names(good)}"] if good else []
        parts += [f"{'not' if good else 'do not hold'} with {_names(off)}"] if off else []
        found.append(f"The {intervals} {', '.join(parts)}.")
    if few:
        found.append(f"The rows are too few to tell whether {intervals} hold with {_names(few)}.")
    if points:
        found.append(f"Without intervals, because one number per row: {_names(points)}.")
    return found


def _names(facts: Sequence[Facts]) -> str:
    names = [f.quoted for f in facts]
    if len(names) > _MOST_NAMES + 1:
        names = [*names[:_MOST_NAMES], f"{count(len(names) - _MOST_NAMES)} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
