"""Results in plain words and aligned columns, or as a document for JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from trueline._messages import count, percent, printable, shortened
from trueline.distributions import rows_needed
from trueline.recalibration import Recalibrator

if TYPE_CHECKING:
    from trueline.files import FileEvaluation, GroupEvaluation

# The default coverage.
_USUAL = 0.9
_MOST_GROUPS = 20
_LONGEST_NAME = 60
_ROUNDING = 1e-6


def evaluation_in_words(result: FileEvaluation) -> str:
    """Return the table with its verdict, then the groups."""
    parts = [repr(result.overall)]
    if not result.exact:
        parts.append("With this many rows, p-value and ENCE are computed from fine cells.")
    if result.groups:
        parts += ["", _group_table(result.groups, result.overall.coverage_target)]
    return "\n".join(parts)


def supported(recalibrator: Recalibrator, rows: int) -> str | None:
    """Return a warning if a map does not support 90% intervals."""
    if not recalibrator.is_exportable:
        return None
    low, high = recalibrator.law().supported
    most = 1.0 - 2.0 * max(low, 1.0 - high)
    fewest = rows_needed(0.5 * (1.0 - _USUAL))
    if most >= _USUAL - _ROUNDING:
        # A map of a few parameters supports all levels, however few rows it was fitted on.
        if recalibrator.n_fit() >= fewest - _ROUNDING:
            return None
        return f"a map of {count(rows, 'row')} may be far off. Fit on at least {fewest} rows."
    needed = f"Fit on at least {fewest} rows for {percent(_USUAL)}."
    they = count(rows, "row") + (" supports" if rows == 1 else " support")
    if most < _ROUNDING:
        return f"{they} no interval: all are read off extrapolated tails. {needed}"
    return (
        f"{they} intervals of at most {math.floor(100 * most + _ROUNDING)}%; wider ones are read "
        f"off an extrapolated tail. {needed}"
    )


def _group_table(groups: dict[str, GroupEvaluation], target: float) -> str:
    in_all, rest = len(groups), ""
    if in_all > _MOST_GROUPS:
        # Distances are in units of their standard error; otherwise groups of one row come first.
        worst = sorted(groups, key=lambda name: -_deviation(groups[name]))
        groups = {name: groups[name] for name in worst[:_MOST_GROUPS]}
        rest = (
            f"\n... and {in_all - _MOST_GROUPS:,} of {in_all:,} groups whose coverage is less far "
            f"off for their number of rows; --json has all"
        )
    shown = [
        (shortened(printable(name), _LONGEST_NAME) or "(empty)", group)
        for name, group in groups.items()
    ]
    width = max(5, *(len(name) for name, _ in shown))
    head = (
        f"{'group':<{width}}{'rows':>12}{percent(target) + ' hold':>13}{'width':>12}"
        f"{'CRPS':>12}{'cal. error':>12}{'floor':>10}"
    )
    rows = [
        f"{name:<{width}}{g.n:>12,}{g.coverage:>13.1%}{g.interval_width:>12.4g}"
        f"{g.crps:>12.4g}{g.calibration_error:>12.2g}{g.calibration_floor:>10.2g}"
        for name, g in shown
    ]
    return "\n".join([head, *rows]) + rest


def _deviation(group: GroupEvaluation) -> float:
    """Distance of the coverage from the expected one, times the root of the number of rows."""
    return abs(group.coverage - group.coverage_expected) * math.sqrt(group.n)


def evaluation_as_dict(result: FileEvaluation) -> dict[str, Any]:
    """Return all numbers of an evaluation, and the decisions of its verdict."""
    overall = result.overall
    out: dict[str, Any] = {**overall.to_dict(), "exact": result.exact}
    out["verdict"] = {
        "coverage": overall.verdict.coverage.decision,
        "calibration": overall.verdict.calibration.decision,
    }
    if overall.verdict.coverage.reason:
        out["verdict"]["reason"] = overall.verdict.coverage.reason
    if overall.conditional is not None:
        out["conditional"] = overall.conditional.to_dict()
    if overall.atoms:
        out["atoms"] = [asdict(atom) for atom in overall.atoms]
    if result.groups:
        out["groups"] = {name: asdict(group) for name, group in result.groups.items()}
    return out
