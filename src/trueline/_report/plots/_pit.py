"""The PIT histogram with its band."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueline._report import _svg as svg
from trueline._report._markup import Markup
from trueline._report._measure import Measured
from trueline._report._numbers import counted, percent, span
from trueline._report.plots._figure import LOW, chance_key, figure

# With this number of rows, bars leave the band although the unevenness is too small to matter.
_MANY_ROWS = 1_000
_ROUNDING = 1e-9
_TICKS = [0.0, 0.25, 0.5, 0.75, 1.0]


def pit(forecasts: Sequence[Measured]) -> list[Markup]:
    """Draw the PIT histograms, one plot per forecast, on one scale."""
    highest = max(max(f.histogram.density.max(), f.histogram.upper.max()) for f in forecasts)
    several = len(forecasts) > 1
    return [
        figure(
            f"Where outcomes fell: {f.name}" if several else "Where outcomes fell",
            _reading(f),
            [chance_key()],
            "density of outcomes; 1 is even",
            _drawing(f, float(highest)),
            "place in the forecast, lowest to highest (PIT)",
            slot=f.slot if several else None,
        )
        for f in forecasts
    ]


def _drawing(f: Measured, highest: float) -> Markup:
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
    return svg.drawing(LOW, _in_words(f), *parts)


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


def _in_words(f: Measured) -> str:
    density = f.histogram.density
    quarters = [percent(part.sum() / density.size, 1e4) for part in np.array_split(density, 4)]
    return (
        f"PIT histogram of {f.name}. Outcomes in the quarters of the forecast, lowest to highest: "
        f"{', '.join(quarters)}. {_reading(f)}"
    )
