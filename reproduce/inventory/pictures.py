"""The picture of the rewards and of their differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduce.inventory.rewards import (
    ORACLE,
    Estimate,
    Place,
    difference,
    mean,
    parts,
    places,
    policies_of,
    reference,
    reward,
    title,
)
from reproduce.pictures import INK, MUTED, legend_below, looks, save, tidy
from reproduce.sales.networks import RECALIBRATED

#: Height per policy and around the panels, in inches.
_LINE, _AROUND = 0.21, 0.75


def draw(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Draw rewards with their intervals, one row of panels per store, and write them as PNG.

    The left panel shows the rewards, with the oracle as a line. The right one shows how much more
    each planner earns than the planner with the uncalibrated forecast; this varies less from week
    to week.
    """
    from matplotlib.figure import Figure

    group = places(records)
    lines = [name for name in policies_of(group) if name != ORACLE]
    size = (10.5, (_LINE * len(lines) + _AROUND) * len(group) + 0.75)
    figure = Figure(figsize=size, layout="constrained", dpi=110)
    axes = figure.subplots(len(group), 2, squeeze=False, sharey=True)
    for place, (left, right) in zip(group, axes, strict=True):
        _rewards(left, place, lines)
        _differences(right, place, lines)
        left.set_yticks(range(len(lines)), [title(name) for name in lines], fontsize="small")
        left.set_ylim(len(lines) - 0.4, -0.6)
    figure.suptitle("Inventory planned with forecasts: rewards and their 95% bootstrap intervals")
    legend_below(figure, axes[0, 0].get_legend_handles_labels()[0], 4)
    save(figure, path)


def _rewards(ax: Any, place: Place, lines: list[str]) -> None:
    if ORACLE in place.policies:
        best = mean([place], ORACLE) / 1000.0
        ax.axvline(best, color=INK, linestyle="--", linewidth=1.2, label="oracle")
    for i, name in enumerate(lines):
        _dot(ax, i, name, reward([place], name))
    ax.set_title(f"Store {place.store}", loc="left", fontsize="medium")
    _finish(ax, "reward (1,000 $)")


def _differences(ax: Any, place: Place, lines: list[str]) -> None:
    ax.axvline(0.0, color=MUTED, linewidth=1.0)
    for i, name in enumerate(lines):
        if name.startswith("planner ") and name != reference(name):
            _dot(ax, i, name, difference([place], name, reference(name)))
    ax.set_title(f"Store {place.store}, planners", loc="left", fontsize="medium")
    _finish(ax, "more than with the uncalibrated forecast (1,000 $)")


def _dot(ax: Any, i: int, name: str, earned: Estimate) -> None:
    """Draw an estimate and its interval; recalibrated forecasts have a look of their own."""
    plain, recalibrated = looks(2)
    _, forecast, _ = parts(name)
    look, label = plain, "not recalibrated"
    if forecast in RECALIBRATED:
        look, label = recalibrated, "recalibrated"
    known = ax.get_legend_handles_labels()[1]
    label = f"_{label}" if label in known else label
    ax.plot([earned.low / 1000.0, earned.high / 1000.0], [i, i], color=look.color, linewidth=1.6)
    ax.plot([earned.value / 1000.0], [i], linestyle="none", label=label, **look.markers())


def _finish(ax: Any, label: str) -> None:
    ax.set_xlabel(label)
    # More ticks would make their labels overlap.
    ax.locator_params(axis="x", nbins=6)
    ax.grid(axis="y", color=MUTED, alpha=0.2, linewidth=0.6)
    ax.set_axisbelow(True)
    tidy(ax)
