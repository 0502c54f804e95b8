"""The picture of the rewards: what each policy earns, and what it earns more than another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduce.curves import save
from reproduce.forecast_cells import RECALIBRATED
from reproduce.inventory_cells import (
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
from trueline.displays import _style

#: Inches a policy, and around the panels.
_LINE, _AROUND = 0.21, 0.75


def draw(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Draw rewards with their intervals, a row a store, and write them as PNG.

    On the left what each policy earns, with the oracle as a line; on the right how much more each
    planner earns than the one with the uncalibrated forecast, which varies far less from week to
    week.
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
    figure.legend(
        handles=axes[0, 0].get_legend_handles_labels()[0],
        loc="outside lower center",
        ncols=4,
        frameon=False,
    )
    save(figure, path)


def _rewards(ax: Any, place: Place, lines: list[str]) -> None:
    if ORACLE in place.policies:
        best = mean([place], ORACLE) / 1000.0
        ax.axvline(best, color=_style.ink(ax), linestyle="--", linewidth=1.2, label="oracle")
    for i, name in enumerate(lines):
        _dot(ax, i, name, reward([place], name))
    ax.set_title(f"Store {place.store}", loc="left", fontsize="medium")
    _finish(ax, "reward (1,000 $)")


def _differences(ax: Any, place: Place, lines: list[str]) -> None:
    ax.axvline(0.0, color=_style.MUTED, linewidth=1.0)
    for i, name in enumerate(lines):
        if name.startswith("planner ") and name != reference(name):
            _dot(ax, i, name, difference([place], name, reference(name)))
    ax.set_title(f"Store {place.store}, planners", loc="left", fontsize="medium")
    _finish(ax, "more than with the uncalibrated forecast (1,000 $)")


def _dot(ax: Any, i: int, name: str, earned: Estimate) -> None:
    """Draw a dot and its interval, with a look that tells recalibrated forecasts from others."""
    plain, recalibrated = _style.looks(ax, 2)
    _, forecast, _ = parts(name)
    look, label = plain, "not recalibrated"
    if forecast in RECALIBRATED:
        look, label = recalibrated, "recalibrated"
    known = ax.get_legend_handles_labels()[1]
    ax.plot([earned.low / 1000.0, earned.high / 1000.0], [i, i], color=look.color, linewidth=1.6)
    ax.plot(
        [earned.value / 1000.0],
        [i],
        linestyle="none",
        marker=look.marker,
        markersize=5.5,
        markerfacecolor=look.color if look.filled else _style.paper(ax),
        markeredgecolor=look.color,
        markeredgewidth=1.4,
        label=f"_{label}" if label in known else label,
    )


def _finish(ax: Any, label: str) -> None:
    ax.set_xlabel(label)
    # Few ticks, whose labels do not run into one another.
    ax.locator_params(axis="x", nbins=6)
    ax.grid(axis="y", color=_style.MUTED, alpha=_style.opacity(ax, 0.2), linewidth=0.6)
    ax.set_axisbelow(True)
    _style.tidy(ax)
