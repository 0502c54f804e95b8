"""The pictures of Table 1: calibration curves of a model, a panel a set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueline._files import whole_file
from trueline._validation import FloatArray
from trueline.displays import _style
from trueline.experiments._table1_cells import HONEST, LEVELS, TITLES, VARIANTS, Cell, cells
from trueline.metrics._bands import consistency_band

# Levels of the band, which ends in the corners.
_BAND = np.arange(41) / 40
CONFIDENCE = 0.95

_DRAWN = ("before", "training", *HONEST)
_COLUMNS = 4
_PANEL = 2.75
_TICKS = np.arange(3) / 2


def draw(path: Path, records: Sequence[dict[str, Any]], model: str) -> None:
    """Draw the calibration curves of a model and write them as PNG."""
    from matplotlib.figure import Figure

    group = cells(records, model)
    rows = -(-len(group) // _COLUMNS)
    columns = -(-len(group) // rows)
    # A single panel has to be as wide as the legend.
    size = (max(_PANEL * columns, 4.5) + 0.5, (_PANEL + 0.35) * rows + 1.0)
    figure = Figure(figsize=size, layout="constrained", dpi=110)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for ax, cell in zip(axes.flat, group, strict=False):
        _panel(ax, cell)
    for ax in axes.flat[len(group) :]:
        ax.remove()
    # The lowest panel of every column, even above an empty place, and the first of every row.
    for ax in axes.flat[len(group) - columns : len(group)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("expected probability")
    for ax in axes[:, 0]:
        ax.set_ylabel("observed frequency")
    figure.suptitle(f"{TITLES[model]}: calibration on test rows")
    # What was measured first, then what it is compared with.
    band_, *curves = axes.flat[0].get_legend_handles_labels()[0]
    figure.legend(
        handles=[*curves, band_],
        loc="outside lower center",
        ncols=5 if columns > 2 else 2,
        frameon=False,
        handlelength=3.2,
    )
    with whole_file(path) as file:
        figure.savefig(file, format="png", metadata={"Software": None})


def _panel(ax: Any, cell: Cell) -> None:
    lower, upper = band(cell)
    ax.fill_between(
        _BAND,
        lower,
        upper,
        color=_style.MUTED,
        alpha=_style.opacity(ax, 0.25),
        linewidth=0.0,
        label=_style.chance(CONFIDENCE),
    )
    ax.plot([0, 1], [0, 1], color=_style.MUTED, linewidth=1.0, zorder=1.5)
    for variant, look in zip(_DRAWN, _style.looks(ax, len(_DRAWN)), strict=True):
        form = look.marked_line(_style.paper(ax)) | {"markersize": 4.0, "markeredgewidth": 1.1}
        # Every other level has a marker, so that the line between them shows its style.
        curve = cell.values(variant, "curve").mean(axis=0)
        ax.plot(LEVELS, curve, label=VARIANTS[variant], markevery=(1, 2), **form)
    told = "\n".join(f"{VARIANTS[v]} {_short(cell.ratio(v))}" for v in _DRAWN)
    place: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom"}
    place["bbox"] = {"facecolor": _style.paper(ax), "edgecolor": "none", "alpha": 0.7, "pad": 1.0}
    ax.text(0.98, 0.03, f"error / floor\n{told}", fontsize=7.5, linespacing=1.25, **place)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=_TICKS, yticks=_TICKS)
    ax.set_title(f"{cell.dataset} ({cell.size('n_test'):,} rows)", fontsize="medium")
    ax.set_aspect("equal", adjustable="box")
    _style.tidy(ax)


def band(cell: Cell) -> tuple[FloatArray, FloatArray]:
    """Band for the whole mean curve of a perfect forecaster, at the levels 0, 0.025, ..., 1."""
    return consistency_band(round(rows_worth(cell)), _BAND, CONFIDENCE)


def rows_worth(cell: Cell) -> float:
    """How many independent rows the tested ones are worth.

    S splits test T of N rows each. A row is in Binomial(S, q = T / N) of them and weighs as much
    in the mean curve; Kish's effective number of rows, with the expected sum of the squared
    weights, is T / (q + (1 - q) / S).
    """
    n_test = cell.size("n_test")
    share = n_test / (n_test + cell.size("n_train"))
    return n_test / (share + (1.0 - share) / cell.splits)


def _short(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"
