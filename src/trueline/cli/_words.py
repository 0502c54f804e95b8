"""Results in plain words and aligned columns, or as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trueline.metrics import Evaluation
    from trueline.scale import FileEvaluation, GroupEvaluation


def as_json(document: dict[str, Any]) -> str:
    """One JSON object; what is not a finite number, such as an infinite log score, is null."""
    return json.dumps(_plain(document), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def evaluation_in_words(result: FileEvaluation, *, is_point: bool) -> str:
    """Say whether the intervals hold, then give the table, then the groups."""
    parts = [
        "Point forecasts have no intervals of their own: fit a map to give them some."
        if is_point
        else holds(result.overall),
        "",
        repr(result.overall),
    ]
    if not result.exact:
        parts.append("Of so many rows the p-value and the ENCE are read off fine cells.")
    if result.groups:
        parts += ["", _group_table(result.groups, result.overall.coverage_target)]
    return "\n".join(parts)


def holds(result: Evaluation) -> str:
    """Say how often intervals hold, and whether chance explains what is missing."""
    target, found = result.coverage_target, result.coverage
    chance = 2.0 * math.sqrt(target * (1.0 - target) / result.n)
    if abs(found - target) <= chance:
        verdict = "as they should, up to chance"
    else:
        verdict = "too narrow" if found < target else "too wide"
    return f"{percent(target)} intervals hold {found:.1%} of the time: {verdict}."


def percent(share: float) -> str:
    """A share as a percentage, without needless digits."""
    return f"{100 * share:.10g}%"


def _group_table(groups: dict[str, GroupEvaluation], target: float) -> str:
    width = max(5, *(len(name) for name in groups))
    head = (
        f"{'group':<{width}}{'rows':>12}{percent(target) + ' hold':>13}{'width':>12}"
        f"{'CRPS':>12}{'cal. error':>12}{'floor':>10}"
    )
    rows = [
        f"{name:<{width}}{g.n:>12,}{g.coverage:>13.1%}{g.interval_width:>12.4g}"
        f"{g.crps:>12.4g}{g.calibration_error:>12.2g}{g.calibration_floor:>10.2g}"
        for name, g in groups.items()
    ]
    return "\n".join([head, *rows])


def evaluation_as_dict(result: FileEvaluation) -> dict[str, Any]:
    """All numbers of an evaluation."""
    out: dict[str, Any] = {**result.overall.to_dict(), "exact": result.exact}
    if result.groups:
        out["groups"] = {name: asdict(group) for name, group in result.groups.items()}
    return out
