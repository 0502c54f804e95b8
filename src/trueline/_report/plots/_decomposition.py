"""Where the CRPS of several forecasts comes from: miscalibration and discrimination."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueline._report import _svg as svg
from trueline._report._lineup import Lineup
from trueline._report._markup import Markup, tag
from trueline._report._measure import Measured
from trueline._report._numbers import number, tick_labels
from trueline._report._svg import LOW, figure, forecast_keys
from trueline._report._words import short
from trueline.decompositions import CrpsDecomposition

# Number of lines of equal CRPS, about, and the room around marks, as a share of their range and, at
# least, of the uncertainty.
_LINES, _FREE, _LEAST = 6, 0.12, 0.05
# Distance of the label of a line from its upper end.
_BELOW = 22

Pairs = list[tuple[Measured, CrpsDecomposition]]


def decomposition(lineup: Lineup, unit: str) -> list[Markup]:
    """Draw miscalibration and discrimination of forecasts, if there are several."""
    pairs = [pair for pair in zip(lineup.forecasts, lineup.parts, strict=False) if _finite(pair[1])]
    if not pairs:
        return []
    suffix = f" ({unit.strip()})" if unit else ""
    return [
        figure(
            "Where the CRPS comes from",
            "Up is more knowledge of the outcomes, right is what recalibration could repair. The "
            "CRPS is the same along each line, and lower towards the upper left.",
            forecast_keys([f for f, _ in pairs]),
            f"discrimination{suffix}",
            _drawing(pairs),
            f"miscalibration{suffix}",
        )
    ]


def _finite(parts: CrpsDecomposition) -> bool:
    return bool(np.isfinite([parts.miscalibration, parts.discrimination]).all())


def _drawing(pairs: Pairs) -> Markup:
    least = _LEAST * pairs[0][1].uncertainty
    x = svg.x_axis(*_room([parts.miscalibration for _, parts in pairs], least))
    y = svg.y_axis(*_room([parts.discrimination for _, parts in pairs], least), LOW)
    x_ticks, y_ticks = x.ticks(5), y.ticks(5)
    drawn = [
        svg.frame(x, y, x_ticks, tick_labels(x_ticks), y_ticks),
        *_equal(x, y, pairs[0][1].uncertainty),
    ]
    for f, parts in reversed(pairs):  # the best lies on top
        at = x.at(parts.miscalibration), y.at(parts.discrimination)
        mark = tag("g", svg.marker(f.slot, *at, 5.0), class_=f"series {f.slot}")
        catch = svg.rectangle(at[0] - 9, at[1] - 9, at[0] + 9, at[1] + 9, "catch")
        drawn.append(svg.hit([(f.slot, f"{short(f.name)}: {_in_numbers(parts)}")], catch, mark))
    told = ". ".join(f"{f.name}: {_in_numbers(parts)}" for f, parts in pairs)
    return svg.drawing(LOW, f"Miscalibration and discrimination. {told}.", *drawn)


def _equal(x: svg.Axis, y: svg.Axis, uncertainty: float) -> list[Markup]:
    """Return lines of equal CRPS: discrimination is miscalibration + uncertainty - CRPS."""
    lines = []
    low, high = uncertainty + x.low - y.high, uncertainty + x.high - y.low
    for value in svg.round_steps(low, high, _LINES):
        rest = uncertainty - value
        ends = max(x.low, y.low - rest), min(x.high, y.high - rest)
        if ends[0] < ends[1]:
            (a, b), (c, d) = ((x.at(end), y.at(end + rest)) for end in ends)
            lines.append(svg.line(a, b, c, d, "limit"))
            if d + _BELOW < y.start:
                end = min(c + _BELOW, x.stop)
                lines.append(svg.words(end, d + _BELOW, number(value), "end"))
    return lines


def _in_numbers(parts: CrpsDecomposition) -> str:
    return (
        f"CRPS {number(parts.crps, 3)} = miscalibration {number(parts.miscalibration, 3)} "
        f"− discrimination {number(parts.discrimination, 3)} "
        f"+ uncertainty {number(parts.uncertainty, 3)}"
    )


def _room(values: Sequence[float], least: float) -> tuple[float, float]:
    """Return a range with some room on both sides of values, at least this much above 0."""
    low, high = min(values), max(values)
    free = max(_FREE * (high - low), least) or 1.0
    return low - free, high + free
