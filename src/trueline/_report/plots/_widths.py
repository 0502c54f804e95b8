"""The widths of the intervals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trueline._messages import percent as promise
from trueline._report import _svg as svg
from trueline._report._markup import Markup, tag
from trueline._report._measure import Measured
from trueline._report._numbers import number, percent, tick_labels
from trueline._report.plots._figure import TALL, figure, forecast_keys
from trueline._validation import FloatArray

# Widths that differ by more than this factor are drawn on a logarithmic axis.
_LOG_FROM = 8.0
_STRIPS = 24


def widths(forecasts: Sequence[Measured], unit: str) -> Markup:
    """Draw the widths of the intervals."""
    x = _axis(forecasts)
    note = "Narrow is good if the intervals hold. Vertical lines mark the mean widths."
    several = len(forecasts) > 1
    return figure(
        f"How wide the {promise(forecasts[0].facts.target)} intervals are",
        f"{note} The axis is logarithmic." if x.logarithmic else note,
        forecast_keys(forecasts),
        "rows, each forecast scaled to its own peak" if several else "rows",
        _drawing(forecasts, x, unit),
        f"width of the interval{f' ({unit.strip()})' if unit else ''}",
    )


def _axis(forecasts: Sequence[Measured]) -> svg.Axis:
    ends = np.concatenate([np.append(_edges(f), f.widths.mean) for f in forecasts])
    ends = ends[np.isfinite(ends)]
    low, high = float(ends.min()), float(ends.max())
    if low > 0 and high / low > _LOG_FROM:
        return svg.x_axis(low / 1.1, high * 1.1, logarithmic=True)
    return svg.x_axis(0.0, 1.05 * high or 1.0)


def _edges(f: Measured) -> FloatArray:
    """Return the ends of the bars; point forecasts have none."""
    return f.widths.edges if f.widths.mean > 0 else np.zeros(0)


def _drawing(forecasts: Sequence[Measured], x: svg.Axis, unit: str) -> Markup:
    y = svg.y_axis(0.0, 1.1, TALL)
    ticks = x.ticks()
    labels = [number(t, 3) for t in ticks] if x.logarithmic else tick_labels(ticks)
    parts = [svg.frame(x, y, ticks, labels)]
    for f in forecasts:
        found = f.widths
        if _edges(f).size:
            a, b = svg.steps(found.edges, found.density / (found.density.max() or 1.0))
            shape = svg.path(x(a), y(b), f"fill line {f.slot}", closed=True)
        else:  # a point forecast: all widths are 0
            shape = svg.line(x.start, y.start, x.start, y.at(1.0), f"line {f.slot}")
        mean = x.at(found.mean) if np.isfinite(found.mean) else x.stop
        parts.append(
            tag(
                "g",
                shape,
                svg.line(mean, y.start, mean, y.stop, f"mean {f.slot}"),
                svg.marker(f.slot, mean, y.stop),
                class_=f"series {f.slot}",
            )
        )
    cuts = np.linspace(x.start, x.stop, _STRIPS + 1)
    for left, right in pairwise(cuts):
        value = x.value(float(right))
        lines = [("all", f"at most {number(value, 3)}{unit} wide")]
        lines += [(f.slot, _narrower(f, value, forecasts)) for f in forecasts]
        parts.append(svg.strip(lines, float(left), float(right), y))
    return svg.drawing(TALL, _in_words(forecasts, unit), *parts)


def _narrower(f: Measured, value: float, forecasts: Sequence[Measured]) -> str:
    """Return the share of the intervals that are at most `value` wide."""
    reached = int(np.searchsorted(f.widths.quantiles, value, side="right"))
    share = percent(float(f.widths.levels[reached - 1]) if reached else 0.0)
    return f"{f.name} {share}" if len(forecasts) > 1 else f"{share} of the intervals"


def _in_words(forecasts: Sequence[Measured], unit: str) -> str:
    found = []
    for f in forecasts:
        low, high = (number(f.widths.quantiles[i], 3) for i in (5, 95))
        mean = f"mean {number(f.widths.mean, 3)}{unit}"
        found.append(f"{f.name}: {mean}, nine of ten between {low} and {high}{unit}")
    return f"Widths of the intervals. {'. '.join(found)}."
