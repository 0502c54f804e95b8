"""Values that outcomes are often equal to: observed shares beside forecast probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from trueline._report import _svg as svg
from trueline._report._markup import Markup, tag
from trueline._report._measure import Measured
from trueline._report._numbers import counted, number, percent, span
from trueline._report._svg import LOW, chance_key, dot_key, figure, forecast_keys
from trueline._report._words import short
from trueline.metrics import Atom

# Values drawn, labels below them, and the widest bar.
_MOST_VALUES = 30
_MOST_LABELS = 9
_WIDEST = 56.0
# Share of the room of a value that its bars fill.
_FILLED = 0.72


def atoms(forecasts: Sequence[Measured], y_name: str, unit: str) -> list[Markup]:
    """Draw the shares of single values; nothing if no forecast has atoms."""
    with_atoms = [f for f in forecasts if f.evaluation.atoms]
    if not with_atoms:
        return []
    panel = _Panel(with_atoms, unit)
    values = panel.values
    note = "A bar is the mean probability that forecasts give to a value, a dot its observed share."
    if panel.left_out:
        note += f" Not shown: {counted(panel.left_out, 'rarer value')}."
    keys = [*forecast_keys(with_atoms), dot_key("observed", "seen", 3.6), chance_key()]
    one = f"How often {number(values[0])}{unit} occurs"
    title = one if len(values) == 1 else "How often values occur"
    slot = None
    if len(with_atoms) < len(forecasts):
        title, slot = f"{title}: {with_atoms[0].name}", with_atoms[0].slot
    across = f"{y_name}{f' ({unit.strip()})' if unit else ''}"
    return [figure(title, note, keys, "share of outcomes", panel.drawing(), across, slot=slot)]


class _Panel:
    """The shares of some values for forecasts with atoms."""

    def __init__(self, forecasts: Sequence[Measured], unit: str) -> None:
        self.forecasts, self.unit = forecasts, unit
        self.found = [{a.value: a for a in f.evaluation.atoms} for f in forecasts]
        often: dict[float, float] = {}
        for own in self.found:
            for value, a in own.items():
                often[value] = max(often.get(value, 0.0), a.observed, a.forecast)
        self.values = sorted(sorted(often, key=lambda value: -often[value])[:_MOST_VALUES])
        self.left_out = len(often) - len(self.values)

    def drawing(self) -> Markup:
        """Return the drawing."""
        shown = [own[value] for own in self.found for value in self.values if value in own]
        highest = max(max(a.observed, a.forecast, a.high) for a in shown)
        x = svg.x_axis(-0.5, len(self.values) - 0.5)
        y = svg.y_axis(0.0, 1.08 * highest, LOW)
        ticks = list(range(0, len(self.values), -(-len(self.values) // _MOST_LABELS)))
        heights = y.ticks(6)
        labels = [percent(height) for height in heights]
        names = [number(self.values[i], 3) for i in ticks]
        room = (x.stop - x.start) / len(self.values)
        drawn = [self._value(v, x.at(i), room, y) for i, v in enumerate(self.values)]
        return svg.drawing(
            LOW, self._in_words(), svg.frame(x, y, ticks, names, heights, labels), *drawn
        )

    def _value(self, value: float, middle: float, room: float, y: svg.Axis) -> Markup:
        """Draw one value: its bars, what chance explains, and the observed share."""
        count = len(self.forecasts)
        width = min(_FILLED * room / count, _WIDEST)
        lines, shapes = [("all", f"{number(value)}{self.unit}")], []
        for j, (f, own) in enumerate(zip(self.forecasts, self.found, strict=True)):
            if value not in own:
                continue
            atom = own[value]
            centre = middle + (j + 0.5 * (1 - count)) * width
            half = 0.5 * width - min(1.0, 0.1 * width)
            shapes.append(
                tag(
                    "g",
                    svg.rectangle(
                        centre - half, y.start, centre + half, y.at(atom.forecast), f"bar {f.slot}"
                    ),
                    svg.rectangle(
                        centre - 0.4 * half,
                        y.at(atom.low),
                        centre + 0.4 * half,
                        y.at(atom.high),
                        "chance",
                    ),
                    tag("circle", cx=centre, cy=y.at(atom.observed), r=3.0, class_="seen"),
                    class_=f"series {f.slot}",
                )
            )
            lines.append((f.slot, self._line(f, atom)))
        catch = svg.rectangle(middle - 0.5 * room, y.start, middle + 0.5 * room, y.stop, "catch")
        return svg.hit(lines, catch, *shapes)

    def _line(self, f: Measured, atom: Atom) -> str:
        name = f"{short(f.name)} " if len(self.forecasts) > 1 else ""
        chance = span(percent(atom.low, 1e4), percent(atom.high, 1e4))
        return (
            f"{name}forecast {percent(atom.forecast, 1e4)} · observed "
            f"{percent(atom.observed, 1e4)} · by chance {chance}"
        )

    def _in_words(self) -> str:
        parts = []
        for f, own in zip(self.forecasts, self.found, strict=True):
            shown = [own[value] for value in self.values if value in own]
            listed = ", ".join(
                f"{number(a.value)}{self.unit} {percent(a.observed, 1e4)} for "
                f"{percent(a.forecast, 1e4)}"
                for a in shown
            )
            outside = sum(not a.low <= a.observed <= a.high for a in shown)
            end = f"{outside} of {len(shown)} beyond chance" if outside else "all by chance"
            parts.append(f"{f.name}: {listed}; {end}")
        return f"Observed for forecast shares of single values. {'. '.join(parts)}."
