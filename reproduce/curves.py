"""Pictures of calibration curves: a panel a cell, with what chance alone would do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.measured import LEVELS
from reproduce.table1_cells import Cell
from trueline._files import whole_file
from trueline._validation import FloatArray
from trueline.displays import _style
from trueline.metrics._bands import consistency_band

# Levels of the band, which ends in the corners.
_BAND = np.arange(41) / 40
CONFIDENCE = 0.95

_COLUMNS = 4
_TICKS = np.arange(3) / 2


def draw_curves(
    path: Path,
    group: Sequence[Cell],
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

    Variants are given with their labels; the last one looks the plainest. `worth` says how many
    independent rows a cell is worth, `noun` what its rows are; a panel is so many inches wide,
    title and legend so many high, and the legend below two panels has so many columns.
    """
    from matplotlib.figure import Figure

    rows = -(-len(group) // _COLUMNS)
    columns = -(-len(group) // rows)
    # A single panel has to be as wide as the legend.
    size = (max(panel * columns, 4.5) + 0.5, (panel + 0.35) * rows + around)
    figure = Figure(figsize=size, layout="constrained", dpi=110)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for ax, cell in zip(axes.flat, group, strict=False):
        _panel(ax, cell, variants, band(worth(cell)))
        ax.set_title(f"{cell.dataset} ({cell.size('n_test'):,} {noun})", fontsize="medium")
    for ax in axes.flat[len(group) :]:
        ax.remove()
    # The lowest panel of every column, even above an empty place, and the first of every row.
    for ax in axes.flat[len(group) - columns : len(group)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("expected probability")
    for ax in axes[:, 0]:
        ax.set_ylabel("observed frequency")
    figure.suptitle(title)
    # What was measured first, then what it is compared with.
    band_, *curves = axes.flat[0].get_legend_handles_labels()[0]
    figure.legend(
        handles=[*curves, band_],
        loc="outside lower center",
        ncols=5 if columns > 2 else legend if columns > 1 else 2,
        frameon=False,
        handlelength=3.2,
    )
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG, whole, the same bytes for the same figure."""
    with whole_file(path) as file:
        figure.savefig(file, format="png", metadata={"Software": None})


def _panel(
    ax: Any, cell: Cell, variants: Mapping[str, str], chance: tuple[FloatArray, FloatArray]
) -> None:
    ax.fill_between(
        _BAND,
        *chance,
        color=_style.MUTED,
        alpha=_style.opacity(ax, 0.25),
        linewidth=0.0,
        label=_style.chance(CONFIDENCE),
    )
    ax.plot([0, 1], [0, 1], color=_style.MUTED, linewidth=1.0, zorder=1.5)
    looks = _style.looks(ax, len(variants))
    for (variant, label), look in zip(variants.items(), looks, strict=True):
        form = look.marked_line(_style.paper(ax)) | {"markersize": 4.0, "markeredgewidth": 1.1}
        # Every other level has a marker, so that the line between them shows its style.
        curve = cell.values(variant, "curve").mean(axis=0)
        ax.plot(LEVELS, curve, label=label, markevery=(1, 2), **form)
    told = "\n".join(f"{label} {_short(cell.ratio(v))}" for v, label in variants.items())
    place: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom"}
    place["bbox"] = {"facecolor": _style.paper(ax), "edgecolor": "none", "alpha": 0.7, "pad": 1.0}
    ax.text(0.98, 0.03, f"error / floor\n{told}", fontsize=7.5, linespacing=1.25, **place)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=_TICKS, yticks=_TICKS)
    ax.set_aspect("equal", adjustable="box")
    _style.tidy(ax)


def band(rows: float) -> tuple[FloatArray, FloatArray]:
    """Band for the whole curve of a perfect forecaster, at the levels 0, 0.025, ..., 1."""
    return consistency_band(round(rows), _BAND, CONFIDENCE)


def _short(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"
