"""Histograms: PIT values with their band, and widths of the intervals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trueline._messages import percent as promise
from trueline._report import _svg as svg
from trueline._report._markup import Markup, tag
from trueline._report._measure import Measured
from trueline._report._numbers import counted, number, percent, span, tick_labels
from trueline._report._svg import LOW, TALL, chance_key, figure, forecast_keys
from trueline._report._words import short
from trueline._validation import FloatArray

# With this number of rows, bars leave the band although the unevenness is too small to matter.
_MANY_ROWS = 1_000
_ROUNDING = 1e-9
_TICKS = [0.0, 0.25, 0.5, 0.75, 1.0]
# Widths that differ by more than this factor are drawn on a logarithmic axis.
_LOG_FROM = 8.0
_STRIPS = 24
_OWN_SCALE = "This plot has a scale of its own."


def pit(forecasts: Sequence[Measured]) -> list[Markup]:
    """Draw the PIT histograms, one plot per forecast, on one scale."""
    several = len(forecasts) > 1
    # All outcomes of a point forecast are at the ends: its bars would flatten all others.
    ranged = [f for f in forecasts if f.facts.width > 0]
    highest = max(map(_highest, ranged), default=1.0)
    return [
        figure(
            f"Where outcomes fell: {f.name}" if several else "Where outcomes fell",
            _reading(f) if f.facts.width > 0 or not ranged else f"{_reading(f)} {_OWN_SCALE}",
            [chance_key()],
            "density of outcomes; 1 is even",
            _draw_pit(f, highest if f.facts.width > 0 else _highest(f)),
            "place in the forecast, lowest to highest (PIT)",
            slot=f.slot if several else None,
        )
        for f in forecasts
    ]


def _highest(f: Measured) -> float:
    return float(max(f.histogram.density.max(), f.histogram.upper.max()))


def _draw_pit(f: Measured, highest: float) -> Markup:
    h = f.histogram
    x, y = svg.x_axis(0.0, 1.0), svg.y_axis(0.0, highest * 1.05, LOW)
    left, right, top = x(h.edges[:-1]), x(h.edges[1:]), y(h.density)
    low, high = float(h.lower[0]), float(h.upper[0])  # the same in bins of equal width
    ends = (y.at(low), y.at(high))
    parts = [
        svg.rectangle(x.start, ends[0], x.stop, ends[1], "band"),
        svg.frame(x, y, _TICKS, [percent(t) for t in _TICKS], y.ticks(6)),
    ]
    parts += [
        svg.rectangle(a + 0.7, y.start, b - 0.7, up, f"bar {f.slot}")
        for a, b, up in zip(left, right, top, strict=True)
    ]
    parts += [svg.line(x.start, at, x.stop, at, "limit") for at in ends]
    parts.append(svg.line(x.start, y.at(1.0), x.stop, y.at(1.0), "ideal"))
    share = 1.0 / h.density.size
    limits = span(percent(low * share, 1e4), percent(high * share, 1e4))
    for i in range(h.density.size):
        place = span(percent(h.edges[i]), percent(h.edges[i + 1]))
        found = percent(h.density[i] * share, 1e4)
        text = f"at {place} of the forecast · {found} of the outcomes · by chance {limits}"
        parts.append(svg.strip([("all", text)], left[i], right[i], y))
    return svg.drawing(LOW, _pit_in_words(f), *parts)


def _reading(f: Measured) -> str:
    """Return how to read the bars."""
    if f.histogram.inside:
        if f.facts.verdict.coverage.few_rows:
            rows = counted(f.facts.rows, "row")
            return f"Too few rows to tell: on {rows}, chance alone could make these bars."
        return "Even, up to chance, as it should be."
    return _small_unevenness(f) if f.facts.settled else _shape(f)


def _small_unevenness(f: Measured) -> str:
    """Return how to read bars that leave the band although the curve is fine."""
    h = f.histogram
    if f.facts.verdict.calibration.negligible and f.facts.rows >= _MANY_ROWS:
        return "Nearly even, as it should be."
    out = int(((h.density < h.lower - _ROUNDING) | (h.density > h.upper + _ROUNDING)).sum())
    lie = "lies" if out == 1 else "lie"
    return f"Not quite even: {out} of {h.density.size} bars {lie} outside the grey band."


def _shape(f: Measured) -> str:
    density = f.histogram.density
    quarter = density.size // 4
    left, right = density[:quarter].mean(), density[-quarter:].mean()
    middle = density[quarter:-quarter].mean()
    if min(left, right) > middle:
        return "Too many outcomes fall at the ends: the forecast is too narrow."
    if max(left, right) < middle:
        return "Too many outcomes fall in the middle: the forecast is too wide."
    bias = "high" if left > right else "low"
    return f"Too many outcomes fall at one end: the forecast is too {bias}."


def _pit_in_words(f: Measured) -> str:
    density = f.histogram.density
    quarters = [percent(part.sum() / density.size, 1e4) for part in np.array_split(density, 4)]
    return (
        f"PIT histogram of {f.name}. Outcomes in the quarters of the forecast, lowest to highest: "
        f"{', '.join(quarters)}. {_reading(f)}"
    )


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
        _draw_widths(forecasts, x, unit),
        f"width of the interval{f' ({unit.strip()})' if unit else ''}",
    )


def _axis(forecasts: Sequence[Measured]) -> svg.Axis:
    ends = np.concatenate([np.append(_edges(f), f.widths.mean) for f in forecasts])
    ends = ends[np.isfinite(ends)]
    low, high = float(ends.min()), float(ends.max())
    if low > 0 and high / low > _LOG_FROM and not any(_in_steps(f) for f in forecasts):
        return svg.x_axis(low / 1.1, high * 1.1, logarithmic=True)
    return svg.x_axis(0.0, 1.05 * high or 1.0)


def _in_steps(f: Measured) -> bool:
    """Whether the bars stand around single widths, as those of intervals of counts."""
    found = f.widths
    return found.edges.size > 2 and bool(found.edges[0] < found.quantiles[0])


def _edges(f: Measured) -> FloatArray:
    """Return the ends of the bars; point forecasts have none."""
    return f.widths.edges if f.widths.mean > 0 else np.zeros(0)


def _draw_widths(forecasts: Sequence[Measured], x: svg.Axis, unit: str) -> Markup:
    y = svg.y_axis(0.0, 1.1, TALL)
    ticks = x.ticks()
    labels = [number(t, 3) for t in ticks] if x.logarithmic else tick_labels(ticks)
    parts = [svg.frame(x, y, ticks, labels)]
    for f in forecasts:
        found = f.widths
        if _edges(f).size:
            a, b = svg.steps(found.edges, found.density / (found.density.max() or 1.0))
            # Areas of many forecasts would hide each other.
            fill = "fill " if len(forecasts) <= 2 else ""
            shape = svg.path(x(a), y(b), f"{fill}line {f.slot}", closed=True)
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
    return svg.drawing(TALL, _widths_in_words(forecasts, unit), *parts)


def _narrower(f: Measured, value: float, forecasts: Sequence[Measured]) -> str:
    """Return the share of the intervals that are at most `value` wide."""
    reached = int(np.searchsorted(f.widths.quantiles, value, side="right"))
    share = percent(float(f.widths.levels[reached - 1]) if reached else 0.0)
    return f"{short(f.name)} {share}" if len(forecasts) > 1 else f"{share} of the intervals"


def _widths_in_words(forecasts: Sequence[Measured], unit: str) -> str:
    found = []
    for f in forecasts:
        low, high = (number(f.widths.quantiles[i], 3) for i in (5, 95))
        mean = f"mean {number(f.widths.mean, 3)}{unit}"
        found.append(f"{f.name}: {mean}, nine of ten between {low} and {high}{unit}")
    return f"Widths of the intervals. {'. '.join(found)}."
