"""The frame of a plot: title, legend, names of the axes and the line for values."""

from __future__ import annotations

from collections.abc import Sequence

from trueline._report import _svg as svg
from trueline._report._markup import Markup, tag
from trueline._report._measure import Measured

TALL, LOW = 340, 270


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

    Parameters
    ----------
    title, note : str
        Its title and how to read it.
    keys : sequence of Markup
        The legend.
    up, across : str
        Names of the axes.
    drawn : Markup
    more : Markup, optional
        Shown below the plot.
    slot : str, optional
        The forecast that the plot belongs to, if it is one.
    """
    # There are always seven parts, so that plots side by side are aligned.
    return tag(
        "figure",
        tag("figcaption", tag("h3", title), tag("p", note)),
        tag("p", *keys, class_="legend"),
        tag("p", up, class_="up"),
        tag("div", drawn, class_="plot", data_name=title),
        tag("p", across, class_="across"),
        tag("p", class_="readout", aria_live="polite", hidden="", data_script=""),
        more or tag("div"),
        class_=None if slot is None else f"series {slot}",
    )


def forecast_keys(forecasts: Sequence[Measured]) -> list[Markup]:
    """Return the keys of the forecasts if there are two."""
    return [_line_key(f.slot, f.name) for f in forecasts] if len(forecasts) > 1 else []


def _line_key(slot: str, name: str) -> Markup:
    sample = _sample(34, svg.line(1, 8, 33, 8, f"line {slot}"), svg.marker(slot, 17, 8))
    return tag("span", sample, name, class_=f"key series {slot}")


def chance_key() -> Markup:
    """Return the key of a band."""
    return tag("span", _sample(34, svg.rectangle(1, 3, 33, 13, "band")), "chance", class_="key")


def dot_key(name: str, class_: str, radius: float) -> Markup:
    """Return the key of a dot."""
    dot = tag("circle", cx=8, cy=8, r=radius, class_=class_)
    return tag("span", _sample(16, dot), name, class_="key")


def _sample(width: int, *shapes: Markup) -> Markup:
    return tag(
        "svg", *shapes, viewBox=f"0 0 {width} 16", width=width, height=16, aria_hidden="true"
    )
