"""Colours, legends and sizes that all displays share.

The colours are those of Okabe and Ito, some of them darker or lighter, which differ with any kind
of colour vision. Lightness, line style and marker differ too, for print in greyscale.
"""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from trueline._messages import EXTRAS, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

# Marks of what we drew, so that a second display on the same axes continues the first one.
_SERIES = "trueline-series"
_REFERENCE = "trueline-reference"

# Axes narrower than this, in points, have their legend below.
_NARROW = 260.0
# Width of a letter, in units of the font size, and the fewest letters in a line of a label.
_LETTER, _SHORTEST = 0.55, 12

# Distance that a legend below may reach to the left of the axes, in points.
_LEFT = 30.0
# Handle, its distance to the text, and that to the next column, in units of the font size.
_HANDLE, _PAD, _GAP = 1.8, 0.6, 1.0
# The sum for a legend inside, with its margins, and the share of the axes that it may take.
_BESIDES, _INSIDE = 4.5, 0.62
# Axes keep at least this share of the height of their figure above a legend.
_LOWEST = 0.3

MUTED = "0.5"


class Look(NamedTuple):
    """Colour, line style and marker of a series."""

    color: str
    linestyle: Any
    marker: str
    filled: bool

    def line(self) -> dict[str, Any]:
        """Keywords of a line."""
        return {"color": self.color, "linestyle": self.linestyle, "linewidth": 1.8}

    def marked_line(self, paper: Any) -> dict[str, Any]:
        """Keywords of a line with markers, open ones filled with the colour of the paper."""
        return {
            **self.line(),
            "marker": self.marker,
            "markersize": 5.5,
            "markeredgewidth": 1.4,
            "markerfacecolor": self.color if self.filled else paper,
            "markeredgecolor": self.color,
        }


_FORMS: list[tuple[Any, str, bool]] = [
    ("-", "s", True),
    ("--", "o", False),
    ("-.", "^", True),
    (":", "D", False),
    ((0, (5, 1, 1, 1, 1, 1)), "v", True),
    ((0, (8, 2)), "P", False),
]
_ON_LIGHT = ["#0B559F", "#D55E00", "#56B4E9", "#222222", "#009E73", "#A3447E"]
_ON_DARK = ["#7FC8F0", "#E0752D", "#F0E442", "#FFFFFF", "#2DBE96", "#CC79A7"]


def require_matplotlib(caller: str) -> None:
    """Raise unless matplotlib is installed, before anything is computed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingPackageError(
            f"{caller} needs matplotlib, which is not installed: pip install {EXTRAS['plots']}"
        ) from None


def axes_and_figure(ax: Any, caller: str, figsize: tuple[float, float]) -> tuple[Axes, Figure]:
    """Return the axes to draw on, new ones for None, and their figure."""
    require_matplotlib(caller)
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    if ax is None:
        import matplotlib.pyplot as plt

        figure, new = plt.subplots(figsize=figsize, layout="constrained")
        return new, figure
    if not isinstance(ax, Axes):
        hint = {
            "Figure": "Pass its axes: figure.gca().",
            "ndarray": "Pass one of them: axes.flat[0].",
        }.get(type(ax).__name__, "Make one with: figure, ax = matplotlib.pyplot.subplots().")
        raise TypeError(f"ax is of type {type(ax).__name__}; expected a matplotlib Axes. {hint}")
    home = ax.get_figure()
    if home is None:
        raise ValueError("ax is on no figure; expected axes that have not been removed.")
    return ax, home.figure if isinstance(home, SubFigure) else home


def is_dark(ax: Axes) -> bool:
    """Whether the axes have a dark background."""
    from matplotlib.colors import to_rgba

    red, green, blue, alpha = to_rgba(ax.get_facecolor())
    if alpha < 0.5:
        red, green, blue, _ = to_rgba(ax.figure.get_facecolor())
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.4


def ink(ax: Axes) -> str:
    """Colour of what was observed."""
    return "#F2F2F2" if is_dark(ax) else "#262626"


def opacity(ax: Axes, on_light: float) -> float:
    """Return the opacity that looks the same on this background as `on_light` on a light one."""
    return min(1.6 * on_light, 1.0) if is_dark(ax) else on_light


def looks(ax: Axes, count: int) -> list[Look]:
    """Return the looks of `count` more series; the last one is the plainest."""
    colours = _ON_DARK if is_dark(ax) else _ON_LIGHT
    drawn = sum(artist.get_gid() == _SERIES for artist in ax.get_children())
    order = [drawn + i for i in (*range(1, count), 0)]
    return [Look(colours[i % len(colours)], *_FORMS[i % len(_FORMS)]) for i in order]


def mark(artist: Any, gid: str = _SERIES) -> Any:
    """Mark an artist as a series or a reference of ours, and return it."""
    artist.set_gid(gid)
    return artist


def has_reference(ax: Axes) -> bool:
    """Whether a display has drawn its reference here."""
    return any(artist.get_gid() == _REFERENCE for artist in ax.get_children())


def band(ax: Axes, x: Any, lower: Any, upper: Any, label: str, step: Any = None) -> PolyCollection:
    """Draw the band that chance explains."""
    style: dict[str, Any] = {"color": MUTED, "alpha": opacity(ax, 0.25), "linewidth": 0.0}
    return ax.fill_between(x, lower, upper, step=step, label=label, **style)


def reference(ax: Axes, x: Any, y: Any, **kwargs: Any) -> Line2D:
    """Draw the line that a perfect forecast would have."""
    line = ax.plot(x, y, color=MUTED, linewidth=1.0, zorder=1.5, **kwargs)
    return cast("Line2D", mark(line[0], _REFERENCE))


def tidy(ax: Axes) -> None:
    """Remove the spines at the top and on the right."""
    ax.spines[["top", "right"]].set_visible(False)


def is_narrow(ax: Axes) -> bool:
    """Whether the axes are too narrow for a legend inside."""
    return width_in_points(ax) < _NARROW


def legend(
    ax: Axes, title: str | None = None, *, columns: int | None = None, handles: Any = None
) -> Legend:
    """Draw the legend inside if there is room for it, otherwise below the x axis.

    With `columns` it is always below, in up to this number of columns. Long labels are broken or
    lose their middle; those of the handles stay whole.
    """
    if handles is None:  # series come first, then what they are compared with
        handles = ax.get_legend_handles_labels()[0]
        handles = sorted(handles, key=lambda artist: artist.get_gid() != _SERIES)
    common: dict[str, Any] = {"handles": handles, "title": title, "alignment": "left"}
    whole = [str(handle.get_label()) for handle in handles]
    if columns is None and not is_narrow(ax):
        size = _font("medium").get_size_in_points()
        room = _INSIDE * _width_drawn(ax) - _BESIDES * size
        labels = [fitted(label, room, "medium") for label in whole]
        return ax.legend(
            labels=labels, loc="best", framealpha=0.85, edgecolor="none", handlelength=2.2, **common
        )
    from matplotlib.transforms import ScaledTranslation

    ax.set_anchor("S")  # or the layout forgets what lies below square axes
    left = min(_LEFT, max(_left_end(ax) - 2.0, 0.0)) if is_narrow(ax) else 0.0
    shift = ScaledTranslation(-left / 72.0, -_room_below(ax) / 72.0, ax.figure.dpi_scale_trans)
    room = 0.97 * _width_drawn(ax) + left
    besides = (_HANDLE + _PAD + _GAP) * _font("small").get_size_in_points()
    # One of several columns must not take all the width: the rows below would take the height.
    widest = room if columns is None else _INSIDE * room
    labels = [fitted(label, widest - besides) for label in whole]
    below = ax.legend(
        labels=labels,
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=ax.transAxes + shift,
        borderaxespad=0.0,
        borderpad=0.0,
        ncols=_columns_that_fit(room, labels, besides, columns or 1),
        columnspacing=_GAP,
        handlelength=_HANDLE,
        handletextpad=_PAD,
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        **common,
    )
    _make_room(ax, below)
    return below


def _make_room(ax: Axes, legend: Legend) -> None:
    """Raise the bottom of axes whose legend reaches out of a figure without a layout engine."""
    from matplotlib.figure import Figure

    figure = ax.figure
    if not isinstance(figure, Figure) or figure.get_layout_engine() or len(figure.axes) > 1:
        return
    out = (2.0 * figure.dpi / 72.0 - legend.get_window_extent().y0) / figure.bbox.height
    place = ax.get_position(original=True)
    if 0.0 < out < place.height - _LOWEST:
        ax.set_position((place.x0, place.y0 + out, place.width, place.height - out))


def _columns_that_fit(room: float, labels: list[str], besides: float, most: int) -> int:
    """Return the number of columns that fit, filled one after the other.

    Each needs the width `besides` in addition to its labels.
    """
    widths = [text_width(label) for label in labels]
    for columns in range(most, 1, -1):
        rows = -(-len(labels) // columns)
        parts = [widths[i : i + rows] for i in range(0, len(labels), rows)]
        if sum(max(part) + besides for part in parts) <= room:
            return columns
    return 1


def fitted(text: str, room: float, size: str = "small") -> str:
    """Break a text into at most two lines of `room` points; longer ones lose their middle.

    The end is kept because names often differ there.
    """
    if text_width(text, size) <= room:
        return text
    words = text.split(" ")
    for first in range(len(words) - 1, 0, -1):
        head, tail = " ".join(words[:first]), " ".join(words[first:])
        if text_width(head, size) <= room:
            if text_width(tail, size) <= room:
                return f"{head}\n{tail}"
            break
    most = len(text) // 2
    head = next(
        h for k in range(most, -1, -1) if _fits(h := text[:k].rstrip(" ,") + "…", room, size)
    )
    tail = next(t for k in range(most, -1, -1) if _fits(t := text[len(text) - k :], room, size))
    # Begin with a whole word if that costs less than a quarter of the text.
    _, space, rest = tail.partition(" ")
    return f"{head}\n{rest if space and 4 * len(rest) > 3 * len(tail) else tail}"


def _fits(text: str, room: float, size: str) -> bool:
    return len(text) <= _SHORTEST or text_width(text, size) <= room


def text_width(text: str, size: str = "small") -> float:
    """Width of the longest line, in points."""
    from matplotlib.textpath import TextPath

    font = _font(size)
    lines = text.split("\n")
    return max(float(TextPath((0, 0), line, prop=font).get_extents().width) for line in lines)


def _font(size: str) -> Any:
    from matplotlib.font_manager import FontProperties

    return FontProperties(size=size)


def _room_below(ax: Axes) -> float:
    """Height of ticks, their labels and the label of the x axis, in points."""
    sizes = [float(text.get_fontsize()) for text in (*ax.get_xticklabels(), ax.xaxis.label)]
    lines = 1 + ax.get_xlabel().count("\n")
    return 14.0 + 1.3 * max(sizes[:-1], default=0.0) + 1.4 * lines * sizes[-1]


def label_axes(ax: Axes, x: str, y: str | None = None) -> None:
    """Label the axes, in lines that fit."""
    letter = _LETTER * float(ax.xaxis.label.get_fontsize())
    ax.set_xlabel(fill(x, max(int(width_in_points(ax) / letter), _SHORTEST)))
    if y is not None:
        # A legend below narrow axes takes some of their height.
        height = height_in_points(ax) * (0.75 if is_narrow(ax) else 1.0)
        ax.set_ylabel(fill(y, max(int(height / letter), _SHORTEST)))


def width_in_points(ax: Axes) -> float:
    """Width of the axes."""
    return float(ax.get_window_extent().width / ax.figure.dpi * 72.0)


def _width_drawn(ax: Axes) -> float:
    """Width of the axes; that of square ones is known only when they are drawn."""
    width = width_in_points(ax)
    return width if ax.get_aspect() == "auto" else min(width, height_in_points(ax))


def _left_end(ax: Axes) -> float:
    """Return the distance of the axes from the left of the figure, in points."""
    return float(ax.get_window_extent().x0 / ax.figure.dpi * 72.0)


def height_in_points(ax: Axes) -> float:
    """Height of the axes."""
    return float(ax.get_window_extent().height / ax.figure.dpi * 72.0)


def with_unit(name: str, unit: str | None) -> str:
    """Label of an axis."""
    return f"{name} ({unit})" if unit else name


def percent(share: float) -> str:
    """0.9 as 90%, 0.995 as 99.5%."""
    return f"{100.0 * share:.4g}%"
