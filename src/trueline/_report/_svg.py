"""Axes, ticks, shapes and legends of the plots, and the frame around a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueline._report._markup import NEEDS_SCRIPT, Markup, join, tag
from trueline._report._measure import Measured
from trueline._report._numbers import tick_labels
from trueline._report._style import STYLES
from trueline._report._words import short
from trueline._validation import FloatArray

WIDTH, TALL, LOW = 400, 340, 270
# Room for the labels of the ticks; the names of the axes are text outside the drawing.
LEFT, RIGHT, TOP, BOTTOM = 48, 22, 12, 32


@dataclass(frozen=True)
class Axis:
    """A map from values to positions in the drawing, where low is at start and high at stop.

    Values beyond the ends are drawn at the ends.
    """

    low: float
    high: float
    start: float
    stop: float
    logarithmic: bool = False

    def __call__(self, values: ArrayLike) -> FloatArray:
        """Return the positions of values."""
        v = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        low, high = self.low, self.high
        if self.logarithmic:
            v, low, high = np.log(v), np.log(low), np.log(high)
        return np.asarray(self.start + (v - low) / (high - low) * (self.stop - self.start))

    def value(self, at: float) -> float:
        """Return the value at a position."""
        share = (at - self.start) / (self.stop - self.start)
        if self.logarithmic:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + share * (self.high - self.low)

    def at(self, value: float) -> float:
        """Return the position of one value."""
        return float(self(value))

    def ticks(self, most: int = 6) -> list[float]:
        """Return round values to label."""
        if not self.logarithmic:
            return round_steps(self.low, self.high, most)
        first, last = np.floor(np.log10(self.low)), np.ceil(np.log10(self.high))
        for digits in ((1, 2, 5), (1, 3), (1,)):
            found = [d * 10.0**e for e in np.arange(first, last + 1) for d in digits]
            inside = [v for v in found if self.low * 0.999 <= v <= self.high * 1.001]
            if len(inside) <= most:
                break
        return inside[:: -(-len(inside) // most)]


def round_steps(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` multiples of 1, 2 or 5 times a power of ten in a range.

    >>> round_steps(0.0, 1.0, 6)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(s * power for s in (1, 2, 5, 10, 20) if (high - low) / (s * power) <= most - 1)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    # The shortest decimal removes rounding errors: 3 * 0.2 is not 0.6.
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def x_axis(low: float, high: float, *, logarithmic: bool = False) -> Axis:
    """Return an axis across the drawing."""
    return Axis(low, high, LEFT, WIDTH - RIGHT, logarithmic)


def y_axis(low: float, high: float, height: float) -> Axis:
    """Return an axis up the drawing."""
    return Axis(low, high, height - BOTTOM, TOP)


def drawing(height: int, label: str, *parts: str) -> Markup:
    """Return an SVG with a label for screen readers."""
    box, namespace = f"0 0 {WIDTH} {height}", "http://www.w3.org/2000/svg"
    return tag("svg", *parts, viewBox=box, role="img", aria_label=label, xmlns=namespace)


def frame(
    x: Axis,
    y: Axis,
    x_ticks: Sequence[float],
    x_labels: Sequence[str],
    y_ticks: Sequence[float] = (),
    y_labels: Sequence[str] | None = None,
) -> Markup:
    """Return the grid, the base line and the labels of the ticks."""
    parts = []
    labels = tick_labels(y_ticks) if y_labels is None and len(y_ticks) else y_labels or ()
    for value, label in zip(y_ticks, labels, strict=True):
        at = y.at(value)
        parts.append(line(x.start, at, x.stop, at, "grid"))
        parts.append(words(x.start - 7, at + 4, label, "end"))
    parts.append(line(x.start, y.start, x.stop, y.start, "base"))
    for value, label in zip(x_ticks, x_labels, strict=True):
        at = x.at(value)
        parts.append(line(at, y.start, at, y.start + 4, "base"))
        parts.append(words(at, y.start + 21, label, "middle"))
    return join(parts)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a straight line."""
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_)


def words(x: float, y: float, text: str, anchor: str) -> Markup:
    """Return text, anchored at its start, middle or end."""
    return tag("text", text, x=float(x), y=float(y), text_anchor=anchor)


def path(x: FloatArray, y: FloatArray, class_: str, *, closed: bool = False) -> Markup:
    """Return a line through points, or the area that it encloses."""
    points = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    return tag("path", d=f"M{points}{'Z' if closed else ''}", class_=class_)


def area(x: FloatArray, lower: FloatArray, upper: FloatArray, class_: str) -> Markup:
    """Return the area between two curves."""
    return path(
        np.concatenate([x, x[::-1]]), np.concatenate([upper, lower[::-1]]), class_, closed=True
    )


def rectangle(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """Return a rectangle from any corner to the opposite one."""
    return tag(
        "rect",
        x=float(min(x1, x2)),
        y=float(min(y1, y2)),
        width=float(abs(x2 - x1)),
        height=float(abs(y2 - y1)),
        class_=class_,
    )


def steps(edges: FloatArray, heights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the outline of a histogram."""
    return np.repeat(edges, 2), np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])


def marker(slot: str, x: float, y: float, radius: float = 3.6) -> Markup:
    """Return the mark of a forecast; shapes differ, not only colours."""
    style = STYLES[slot]
    class_ = f"mark {slot}{' hollow' if style.hollow else ''}"
    if not style.shape:
        return tag("circle", cx=float(x), cy=float(y), r=radius, class_=class_)
    corners = np.array([x, y]) + radius * np.array(style.shape)
    return path(corners[:, 0], corners[:, 1], class_, closed=True)


def arrow(x: float, y: float, towards: tuple[int, int], slot: str) -> Markup:
    """Return an arrow head with its tip at (x, y): what is drawn goes on beyond the frame."""
    tip, way = np.array([x, y]), np.array(towards, dtype=np.float64)
    base, side = tip - 6.0 * way, 3.0 * way[::-1]
    corners = np.stack([base - side, tip, base + side])
    return path(corners[:, 0], corners[:, 1], f"beyond {slot}", closed=True)


def hit(lines: Sequence[tuple[str, str]], catch: Markup, *shapes: str) -> Markup:
    """Return shapes whose values appear when the user points at them.

    Each line of the text belongs to the forecast of a slot, or to all ("all").
    """
    owners = " ".join(owner for owner, _ in lines)
    text = "\n".join(text for _, text in lines)
    return tag("g", tag("title", text), catch, *shapes, class_="hit", data_of=owners)


def strip(lines: Sequence[tuple[str, str]], left: float, right: float, y: Axis) -> Markup:
    """Return a vertical strip of the plot that shows values."""
    middle = 0.5 * (left + right)
    catch = rectangle(left, y.start, right, y.stop, "catch")
    return hit(lines, catch, line(middle, y.start, middle, y.stop, "cursor"))


def figure(
    title: str,
    note: str,
    keys: Sequence[Markup],
    up: str,
    drawn: Markup,
    across: str,
    *,
    more: Markup | None = None,
    slot: str | None = None,
) -> Markup:
    """Return a plot; the names of its axes are text of the page, so that they wrap.

    `more` is shown below the plot; `slot` is the forecast that it belongs to, if it is one.
    """
    # There are always seven parts, so that plots side by side are aligned.
    return tag(
        "figure",
        tag("figcaption", tag("h3", title), tag("p", note)),
        tag("p", *keys, class_="legend"),
        tag("p", up, class_="up"),
        tag("div", drawn, class_="plot", data_name=title),
        tag("p", across, class_="across"),
        tag("p", class_="readout", aria_live="polite", **NEEDS_SCRIPT),
        more or tag("div"),
        class_=None if slot is None else f"series {slot}",
    )


def forecast_keys(forecasts: Sequence[Measured]) -> list[Markup]:
    """Return the keys of the forecasts if there are several."""
    if len(forecasts) == 1:
        return []
    return [
        tag("span", sample(f.slot), short(f.name), class_=f"key series {f.slot}") for f in forecasts
    ]


def sample(slot: str) -> Markup:
    """Return the line and the mark of a forecast, as its key."""
    return _sample(34, line(1, 8, 33, 8, f"line {slot}"), marker(slot, 17, 8))


def chance_key(name: str = "chance") -> Markup:
    """Return the key of a band."""
    return tag("span", _sample(34, rectangle(1, 3, 33, 13, "band")), name, class_="key")


def dot_key(name: str, class_: str, radius: float) -> Markup:
    """Return the key of a dot."""
    dot = tag("circle", cx=8, cy=8, r=radius, class_=class_)
    return tag("span", _sample(16, dot), name, class_="key")


def _sample(width: int, *shapes: Markup) -> Markup:
    return tag(
        "svg", *shapes, viewBox=f"0 0 {width} 16", width=width, height=16, aria_hidden="true"
    )
