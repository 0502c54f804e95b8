"""Pictures: the style that they share, and calibration curves with one panel per cell.

The colours are those of Okabe and Ito, so that all kinds of colour vision can distinguish them.
Line styles and markers differ too, for greyscale print.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce.cells import LEVELS, Cell
from trueline._files import whole_file
from trueline._messages import EXTRAS, library
from trueline.distributions import Normal
from trueline.metrics import calibration_curve

MUTED, INK, PAPER = "0.5", "#262626", "white"
CONFIDENCE = 0.95
CHANCE = f"chance ({100 * CONFIDENCE:.0f}%)"

# Levels of the band, which begins and ends in the corners.
_BAND = np.arange(41) / 40
_COLUMNS = 4
_TICKS = np.arange(3) / 2


class Look(NamedTuple):
    """How a series is drawn."""

    color: str
    linestyle: Any
    marker: str
    filled: bool

    def line(self) -> dict[str, Any]:
        """Return the keywords of a line."""
        return {"color": self.color, "linestyle": self.linestyle, "linewidth": 1.8}

    def markers(self) -> dict[str, Any]:
        """Return the keywords of markers."""
        return {
            "marker": self.marker,
            "markersize": 5.5,
            "markeredgewidth": 1.4,
            "markerfacecolor": self.color if self.filled else PAPER,
            "markeredgecolor": self.color,
        }


_LOOKS = (
    Look("#0B559F", "-", "s", True),
    Look("#D55E00", "--", "o", False),
    Look("#56B4E9", "-.", "^", True),
    Look("#222222", ":", "D", False),
    Look("#009E73", (0, (5, 1, 1, 1, 1, 1)), "v", True),
    Look("#A3447E", (0, (8, 2)), "P", False),
)


def looks(count: int) -> list[Look]:
    """Return the looks of some series; the last series has the plainest look."""
    return [*_LOOKS[1:count], _LOOKS[0]]


def require_matplotlib(caller: str) -> None:
    """Raise, with the command to install it, unless matplotlib can be imported."""
    library("matplotlib", caller, EXTRAS["plots"])


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG; equal figures give equal bytes."""
    with whole_file(path) as file:
        figure.savefig(file, format="png", metadata={"Software": None})


def tidy(ax: Any) -> None:
    """Remove the upper and the right border."""
    ax.spines[["top", "right"]].set_visible(False)


def legend_below(figure: Any, handles: Any, columns: int, **options: Any) -> None:
    """Draw a legend below all panels."""
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, frameon=False, **options
    )


def unit_square(ax: Any) -> None:
    """Show shares from 0 to 1 on both axes."""
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_aspect("equal", adjustable="box")
    tidy(ax)


def diagonal(ax: Any) -> None:
    """Draw the curve of a perfect forecaster."""
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1.0, zorder=1.5)


def band(rows: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the band for the whole curve of a perfect forecaster, at levels 0, 0.025, ..., 1."""
    n = round(rows)
    # The band depends on the number of rows only, not on the forecasts.
    curve = calibration_curve(np.zeros(n), Normal(np.zeros(n), 1.0), _BAND, confidence=CONFIDENCE)
    return curve.lower, curve.upper


def draw_curves(
    path: Path,
    cells: Sequence[Cell],
    variants: Mapping[str, str],
    *,
    worth: Callable[[Cell], float],
    title: str,
    noun: str = "rows",
    panel: float = 2.75,
    around: float = 1.0,
    legend: int = 2,
) -> None:
    """Draw the mean calibration curves of each cell and write them as PNG.

    Parameters
    ----------
    variants : mapping
        Labels by variant; the last one has the plainest look.
    worth : callable
        Returns the number of independent rows that the test rows of a cell are worth.
    noun : str
        The name of the rows.
    panel, around : float
        Width of a panel, and height of title and legend, in inches.
    legend : int
        Columns of the legend below two panels.
    """
    from matplotlib.figure import Figure

    rows = -(-len(cells) // _COLUMNS)
    columns = -(-len(cells) // rows)
    # A single panel has to be as wide as the legend.
    size = (max(panel * columns, 4.5) + 0.5, (panel + 0.35) * rows + around)
    figure = Figure(figsize=size, layout="constrained", dpi=110)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for ax, cell in zip(axes.flat, cells, strict=False):
        _panel(ax, cell, variants, band(worth(cell)))
        ax.set_title(f"{cell.dataset} ({cell.size('n_test'):,} {noun})", fontsize="medium")
    for ax in axes.flat[len(cells) :]:
        ax.remove()
    # The lowest panel of a column may stand above an empty place.
    for ax in axes.flat[len(cells) - columns : len(cells)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("expected probability")
    for ax in axes[:, 0]:
        ax.set_ylabel("observed frequency")
    figure.suptitle(title)
    grey, *curves = axes.flat[0].get_legend_handles_labels()[0]
    below = 5 if columns > 2 else legend if columns > 1 else 2
    legend_below(figure, [*curves, grey], below, handlelength=3.2)
    save(figure, path)


def _panel(ax: Any, cell: Cell, variants: Mapping[str, str], chance: tuple[Any, Any]) -> None:
    ax.fill_between(_BAND, *chance, color=MUTED, alpha=0.25, linewidth=0.0, label=CHANCE)
    diagonal(ax)
    for (variant, label), look in zip(variants.items(), looks(len(variants)), strict=True):
        form = look.line() | look.markers() | {"markersize": 4.0, "markeredgewidth": 1.1}
        # Markers at every other level leave room for the line style.
        curve = cell.values(variant, "curve").mean(axis=0)
        ax.plot(LEVELS, curve, label=label, markevery=(1, 2), **form)
    ratios = "\n".join(f"{label} {_short(cell.ratio(v))}" for v, label in variants.items())
    place: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom"}
    place["bbox"] = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.7, "pad": 1.0}
    ax.text(0.98, 0.03, f"error / floor\n{ratios}", fontsize=7.5, linespacing=1.25, **place)
    ax.set(xticks=_TICKS, yticks=_TICKS)
    unit_square(ax)


def _short(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"
