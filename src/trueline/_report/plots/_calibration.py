"""Promised and observed shares: the calibration curve with its band, and the gauge."""

from __future__ import annotations

from collections.abc import Sequence

from trueline._messages import percent as promise
from trueline._report import _svg as svg
from trueline._report._markup import Markup, table, tag
from trueline._report._measure import Measured
from trueline._report._numbers import percent, span
from trueline._report._svg import TALL, chance_key, figure, forecast_keys
from trueline._report._words import short

_TICKS = [0.0, 0.25, 0.5, 0.75, 1.0]
# With more curves, lines and marks are thinner.
_FEW = 4
# Height of the middle of the gauge.
_MIDDLE = 24


def calibration(forecasts: Sequence[Measured], main: Measured) -> Markup:
    """Draw observed against promised shares, with the band that chance explains for one."""
    fits = {f.curve.n_fit for f in forecasts}
    return figure(
        "What was promised, and what happened",
        "The curve of a true forecast follows the diagonal, and lies inside the grey band 19 times "
        "out of 20.",
        [
            *forecast_keys(forecasts),
            # All forecasts have the same rows, but their maps may be of different rows or none.
            chance_key(f"chance for {short(main.name)}" if len(fits) > 1 else "chance"),
        ],
        "observed share",
        _drawing(forecasts, main),
        "promised share",
        more=tag("details", tag("summary", "The curve in numbers"), _table(forecasts, main)),
    )


def _drawing(forecasts: Sequence[Measured], main: Measured) -> Markup:
    x, y = svg.x_axis(0.0, 1.0), svg.y_axis(0.0, 1.0, TALL)
    labels = [percent(t) for t in _TICKS]
    curve, p = main.curve, main.curve.levels
    many = len(forecasts) > _FEW
    parts = [
        svg.area(x(p), y(curve.lower), y(curve.upper), "band"),
        svg.frame(x, y, _TICKS, labels, _TICKS, labels),
        svg.line(x.start, y.start, x.stop, y.stop, "ideal"),
    ]
    for f in reversed(forecasts):  # the best lies on top
        across, up = x(p), y(f.curve.observed)
        radius = 2.8 if many else 3.6
        marks = [svg.marker(f.slot, a, b, radius) for a, b in zip(across, up, strict=True)]
        drawn = svg.path(across, up, f"line {f.slot}")
        # At 0 and 1 all curves meet.
        parts.append(tag("g", drawn, *marks[1:-1], class_=f"series {f.slot}"))
    edges = x(0.5 * (p[1:] + p[:-1]))
    for j in _inner(forecasts):
        lines = [("all", f"promised {percent(p[j])}")]
        lines += [(f.slot, f"{_name(f, forecasts)} {_observed(f, j)}") for f in forecasts]
        lines.append(("all", f"by chance {_limits(main, j)}"))
        parts.append(svg.strip(lines, edges[j - 1], edges[j], y))
    drawn = tag("g", *parts, class_="many" if many else None)
    return svg.drawing(TALL, _in_words(forecasts), drawn)


def _inner(forecasts: Sequence[Measured]) -> range:
    return range(1, forecasts[0].curve.levels.size - 1)


def _name(f: Measured, forecasts: Sequence[Measured]) -> str:
    return short(f.name) if len(forecasts) > 1 else "observed"


def _observed(f: Measured, j: int) -> str:
    return percent(float(f.curve.observed[j]), f.facts.rows)


def _limits(main: Measured, j: int) -> str:
    curve, rows = main.curve, main.facts.rows
    return span(*(percent(float(end[j]), rows) for end in (curve.lower, curve.upper)))


def _in_words(forecasts: Sequence[Measured]) -> str:
    curves = []
    for f in forecasts:
        pairs = [f"{_observed(f, j)} for {percent(f.curve.levels[j])}" for j in _inner(forecasts)]
        where = "inside the band" if f.curve.inside else "outside the band in places"
        curves.append(f"{_name(f, forecasts)} {', '.join(pairs)}, {where}")
    return f"Calibration curve, observed for promised share. {'. '.join(curves)}."


def _table(forecasts: Sequence[Measured], main: Measured) -> Markup:
    """Return the curve as a table: a column per forecast, or with many a row."""
    inner = _inner(forecasts)
    if len(forecasts) > _FEW:
        head = ["promised", *(percent(main.curve.levels[j]) for j in inner)]
        lines = [(f.name, [_observed(f, j) for j in inner]) for f in forecasts]
        rows = [
            tag("tr", tag("th", name, scope="row"), *(tag("td", cell) for cell in cells))
            for name, cells in lines
        ]
        found = table("Calibration curves in numbers", head, rows, "small")
        return tag("div", found, class_="wide")
    head = ["promised", *(_name(f, forecasts) for f in forecasts), "by chance"]
    rows = [
        tag(
            "tr",
            tag("th", percent(forecasts[0].curve.levels[j]), scope="row"),
            *(tag("td", _observed(f, j)) for f in forecasts),
            tag("td", _limits(main, j)),
        )
        for j in inner
    ]
    return table("Calibration curve in numbers", head, rows, "small")


def gauge(forecasts: Sequence[Measured]) -> Markup:
    """Draw the coverage of each forecast, the target, and what chance explains for the last."""
    last, rows = forecasts[-1].facts.verdict.coverage, forecasts[-1].facts.rows
    target = _at(last.expected)
    width = _at(last.high - last.low)
    marks = [
        tag(
            "svg",
            tag("g", svg.marker(f.slot, 0, 0), transform="scale(2)"),
            x=_at(f.evaluation.coverage),
            y=_MIDDLE,
            overflow="visible",
        )
        for f in forecasts
    ]
    shares = "; ".join(f"{f.name} {f.facts.share}" for f in forecasts)
    limits = span(percent(last.low, rows), percent(last.high, rows))
    return tag(
        "svg",
        tag("rect", x=_at(last.low), width=width, y=_MIDDLE - 11, height=22, class_="band"),
        tag("line", x1="0%", x2="100%", y1=_MIDDLE, y2=_MIDDLE, class_="base"),
        tag("line", x1=target, x2=target, y1=_MIDDLE - 16, y2=_MIDDLE + 16, class_="target"),
        *marks,
        tag("text", "0%", x="0%", y=58),
        tag("text", "50%", x="50%", y=58, text_anchor="middle"),
        tag("text", "100%", x="100%", y=58, text_anchor="end"),
        role="img",
        aria_label=(
            f"Share of outcomes inside their interval: {shares}. Promised {promise(last.target)}, "
            f"{f'expected {percent(last.expected, rows)}, ' if last.reason else ''}"
            f"by chance {limits}."
        ),
        class_="gauge",
    )


def _at(share: float) -> str:
    # A share of the width of the page, so that the text keeps its size.
    return f"{100 * share:.2f}%"
