"""The pictures of the forecasts: calibration curves, and weekly means with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.cells import Cell
from reproduce.forecast.page import by_store
from reproduce.pictures import MUTED, draw_curves, legend_below, looks, save, tidy
from reproduce.sales.networks import BASELINES, RECALIBRATED, VARIANTS
from reproduce.sales.weeks import WEEK


def draw_calibration(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Draw the calibration curves of all variants, one panel per store, and write them as PNG."""
    draw_curves(
        path,
        by_store(records),
        {variant: VARIANTS[variant] for variant in ("before", *BASELINES, *RECALIBRATED)},
        # All seeds share their test days.
        worth=lambda cell: cell.size("n_test"),
        title="Daily sales: calibration on test days",
        noun="days",
        panel=3.6,
        around=1.2,
        legend=4,
    )


def draw_weeks(path: Path, records: Sequence[dict[str, Any]], store: int) -> None:
    """Draw weekly means of sales, forecasts and 90% intervals of the first seed.

    The panels show the forecasts of the network, with the map of the paper, and with the map that
    is updated every day. The sales of single days may not be published.
    """
    from matplotlib.figure import Figure

    (cell,) = by_store([record for record in records if record["store"] == store])
    first = cell._replace(records=cell.records[:1])
    figure = Figure(figsize=(9.5, 8.6), layout="constrained", dpi=110)
    axes = figure.subplots(3, 1, sharex=True, sharey=True)
    titles = {
        "before": "Before recalibration",
        "training": f"The map of the paper, {VARIANTS['training']}",
        "daily": f"Our map, {VARIANTS['daily']}",
    }
    for ax, (variant, title) in zip(axes, titles.items(), strict=True):
        _weeks(ax, first, variant)
        share = first.mean(variant, "coverage")
        ax.set_title(f"{title}: the 90% interval holds {100 * share:.1f}% of days", loc="left")
    # The limit is set after drawing, because it stops automatic scaling.
    axes[0].set_ylim(bottom=0.0)
    _calendar(axes[-1])
    figure.suptitle(f"Sales of item 1503844 in {cell.dataset} per day, means of weeks")
    legend_below(figure, axes[0].get_legend_handles_labels()[0], 3)
    save(figure, path)


def _weeks(ax: Any, cell: Cell, variant: str) -> None:
    weeks = np.array(cell.records[0]["weeks"], dtype="datetime64[D]") + WEEK // 2
    sales = np.array(cell.records[0]["sales"])
    mean, lower, upper = (cell.values(variant, name)[0] for name in ("mean", "lower", "upper"))
    (look,) = looks(1)
    ax.fill_between(
        weeks,
        lower,
        upper,
        color=look.color,
        alpha=0.3,
        linewidth=0.0,
        label="ends of the 90% intervals",
    )
    ax.plot(weeks, mean, color=look.color, linewidth=1.4, label="forecast")
    ax.plot(weeks, sales, color=MUTED, linewidth=1.6, marker="o", markersize=3.5, label="sales")
    ax.set_ylabel("units per day")
    tidy(ax)


def _calendar(ax: Any) -> None:
    """Label the months."""
    import matplotlib.dates

    dates: Any = matplotlib.dates  # which has no types
    ax.xaxis.set_major_locator(dates.MonthLocator())
    ax.xaxis.set_major_formatter(dates.DateFormatter("%b %Y"))
