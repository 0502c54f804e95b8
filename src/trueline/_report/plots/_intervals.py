"""Intervals and outcomes of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._messages import percent as promise
from trueline._report import _svg as svg
from trueline._report._markup import Markup, tag
from trueline._report._measure import Measured
from trueline._report._numbers import count, counted, number, tick_labels
from trueline._report._svg import LOW, dot_key, figure
from trueline._validation import FloatArray
from trueline.features import is_continuous
from trueline.metrics import interval_misses

_MOST_ROWS = 200
_FEW_BARS = 60
# Share of the outcomes that atoms must hold for the outcomes to be drawn as discrete ones, and how
# far a bar reaches beyond its ends, in steps between the values.
_NEARLY_ALL = 0.99
_AROUND = 0.3


@dataclass(frozen=True, eq=False)
class Shown:
    """Rows of the interval plots, and their positions ``at`` along the axis, increasing.

    ``joined`` says whether neighbouring rows belong together, as in time.
    """

    rows: NDArray[np.intp]
    at: FloatArray
    axis_name: str
    ticks: Sequence[float]
    labels: Sequence[str]
    joined: bool = False


def choose_rows(columns: dict[str, NDArray[Any]], main: Measured) -> Shown:
    """Choose rows evenly spaced along one column, along predicted values or in given order."""
    n = main.rows.median.size
    # Bars and dots of discrete outcomes would hide each other.
    most = _FEW_BARS if _step(main) else _MOST_ROWS
    if len(columns) == 1:
        ((name, values),) = columns.items()
        if is_continuous(values):
            found = _along(name, values, most)
            if found is not None:
                return found
    if len(columns) > 1:
        order = np.argsort(main.rows.median, kind="stable")
        name = "rows, from the lowest to the highest predicted value"
    else:
        order, name = np.arange(n), "rows, in the given order"
    rows = order[_even(n, most)].astype(np.intp)
    at = np.arange(rows.size, dtype=np.float64)
    return Shown(rows, at, name, (), ())


def _even(n: int, most: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def _along(name: str, values: NDArray[Any], most: int) -> Shown | None:
    time = values.dtype.kind == "M"
    if time:
        seconds = values.astype("datetime64[s]")
        numbers = np.where(np.isnat(seconds), np.nan, seconds.astype(np.float64))
    else:
        numbers = values
    known = np.flatnonzero(np.isfinite(numbers))
    if known.size < 2 or numbers[known].min() == numbers[known].max():
        return None
    order = known[np.argsort(numbers[known], kind="stable")]
    rows = order[_even(order.size, most)]
    at = numbers[rows].astype(np.float64)
    if time:
        ticks = np.linspace(at[0], at[-1], 4)[1:-1]
        unit = "D" if at[-1] - at[0] > 4 * 86_400 else "m"
        labels = [str(np.datetime64(int(t), "s").astype(f"datetime64[{unit}]")) for t in ticks]
        labels = [label.replace("T", " ") for label in labels]
        return Shown(rows, at, name, list(ticks), labels, joined=True)
    steps = svg.round_steps(float(at[0]), float(at[-1]), 6)
    return Shown(rows, at, name, steps, tick_labels(steps))


def intervals(
    y: FloatArray, forecasts: Sequence[Measured], shown: Shown, y_name: str, unit: str
) -> list[Markup]:
    """Draw intervals and outcomes of some rows, one plot per forecast, on one scale."""
    coverage = forecasts[0].facts.target
    outcomes = y[shown.rows]
    drawn = [f.dist._take(shown.rows) for f in forecasts]
    ends = [part._interval(np.array(coverage)) for part in drawn]
    scale = _scale(outcomes, np.concatenate(ends), max(_step(f) for f in forecasts))
    several = len(forecasts) > 1
    figures = []
    for f, part, (lower, upper) in zip(forecasts, drawn, ends, strict=True):
        missed = interval_misses(outcomes, lower, upper) > 0
        beyond = (lower < scale.low, upper > scale.high)
        bars = _Bars(lower, part.median(), upper, outcomes, missed, beyond)
        note = _note(bars, f)
        name = f"The {promise(coverage)} intervals"
        figures.append(
            figure(
                f"{name}: {f.name}" if several else name,
                note,
                [dot_key("inside", "dot", 2.4), dot_key("missed", "miss", 3.6)],
                f"{y_name}{f' ({unit.strip()})' if unit else ''}",
                _drawing(f, shown, scale, bars, unit),
                shown.axis_name,
                slot=f.slot if several else None,
            )
        )
    return figures


@dataclass(frozen=True, eq=False)
class _Bars:
    """Ends and medians of the intervals, with their outcomes."""

    lower: FloatArray
    middle: FloatArray
    upper: FloatArray
    outcome: FloatArray
    missed: NDArray[np.bool_]
    #: Whether an interval reaches beyond the frame, below and above.
    beyond: tuple[NDArray[np.bool_], NDArray[np.bool_]]


def _step(f: Measured) -> float:
    """Return the distance between neighbouring values of discrete outcomes; 0 for others."""
    found = f.evaluation.atoms
    if len(found) < 2 or sum(atom.observed for atom in found) < _NEARLY_ALL:
        return 0.0
    return float(np.diff([atom.value for atom in found]).min())


def _scale(outcomes: FloatArray, ends: FloatArray, step: float) -> svg.Axis:
    ends = ends[np.isfinite(ends)]
    low, high = float(outcomes.min()), float(outcomes.max())
    if ends.size:
        # A few very wide intervals must not flatten all others.
        low, high = min(low, np.quantile(ends, 0.005)), max(high, np.quantile(ends, 0.995))
    room = max(0.04 * (high - low), 0.5 * step) or 1.0
    return svg.y_axis(low - room, high + room, LOW)


def _note(bars: _Bars, f: Measured) -> str:
    n, total = bars.missed.size, f.rows.inside.size
    rows = f"{count(n)} of {count(total)} rows, evenly spaced" if n < total else counted(n, "row")
    expected = number((1.0 - f.evaluation.coverage_expected) * n, 2)
    text = f"{rows}: {count(bars.missed.sum())} missed, {expected} expected."
    wide = int(np.logical_or(*bars.beyond).sum())
    if wide:
        reach = "interval reaches" if wide == 1 else "intervals reach"
        text += f" {count(wide)} {reach} beyond the frame: see the arrows."
    return text


def _drawing(f: Measured, shown: Shown, y: svg.Axis, bars: _Bars, unit: str) -> Markup:
    room = 0.02 * (shown.at[-1] - shown.at[0]) or 1.0
    x = svg.x_axis(float(shown.at[0] - room), float(shown.at[-1] + room))
    across = x(shown.at)
    edges = np.concatenate([[x.start], 0.5 * (across[1:] + across[:-1]), [x.stop]])
    step = _step(f)
    # An interval of counts contains the counts at its ends, so that its bar reaches around them.
    bottom, top = y(bars.lower - _AROUND * step), y(bars.upper + _AROUND * step)
    dots = y(bars.outcome)
    size = "thick" if across.size <= _FEW_BARS else "thin"
    ticks = [tick for tick in y.ticks(7) if not step or (tick / step).is_integer()]
    parts = [svg.frame(x, y, shown.ticks, shown.labels, ticks)]
    if shown.joined:
        parts.append(svg.path(across, y(bars.middle), "centre"))
    for i, row in enumerate(shown.rows):
        missed = bool(bars.missed[i])
        text = (
            f"row {count(row + 1)} · {number(bars.lower[i])} to {number(bars.upper[i])}{unit} · "
            f"outcome {number(bars.outcome[i])}, {'missed' if missed else 'inside'}"
        )
        at = float(across[i])
        dot = tag(
            "circle",
            cx=at,
            cy=float(dots[i]),
            r=3.0 if missed else 1.7,
            class_="miss" if missed else "dot",
        )
        bar = svg.line(at, bottom[i], at, top[i], f"reach {size} {f.slot}")
        catch = svg.rectangle(edges[i], y.start, edges[i + 1], y.stop, "catch")
        below, above = (bool(side[i]) for side in bars.beyond)
        arrows = [svg.arrow(at, y.start + 3.0, (0, 1), f.slot)] if below else []
        arrows += [svg.arrow(at, y.stop - 3.0, (0, -1), f.slot)] if above else []
        parts.append(svg.hit([("all", text)], catch, bar, dot, *arrows))
    return svg.drawing(LOW, f"Intervals and outcomes. {_note(bars, f)}", *parts)
