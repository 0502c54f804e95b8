"""The pictures of the forecasts: calibration curves, and sales with their 90% intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduce.curves import draw_curves, save
from reproduce.forecast_cells import (
    BASELINES,
    RECALIBRATED,
    VARIANTS,
    by_store,
    dates_of,
    held,
    sales_of,
    variants_of,
)
from reproduce.table1_cells import Cell
from trueline.displays import _style

# Looks go from the last one, the plainest, to the first.
_DRAWN = ("before", *BASELINES, *RECALIBRATED)


def draw_calibration(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Draw the calibration curves of all variants, a panel a store, and write them as PNG."""
    group = by_store(records)
    there = variants_of(group)
    draw_curves(
        path,
        group,
        {variant: VARIANTS[variant] for variant in _DRAWN if variant in there},
        worth=_days,
        title="Daily sales: calibration on test days",
        noun="days",
        panel=3.6,
        around=1.2,
        legend=4,
    )


def _days(cell: Cell) -> float:
    """How many independent days the tested ones are worth: all seeds share theirs."""
    return cell.size("n_test")


def draw_forecast(path: Path, records: Sequence[dict[str, Any]], store: int) -> None:
    """Draw the sales of a store and the 90% intervals of its first seed, and write them as PNG.

    Above as the network has them, below recalibrated: by the last variant that there is, the map
    that is updated day by day.
    """
    from matplotlib.figure import Figure

    (cell,) = by_store([record for record in records if record["store"] == store])
    first = cell._replace(records=cell.records[:1])
    after = [variant for variant in RECALIBRATED if variant in variants_of([first])][-1]
    figure = Figure(figsize=(9.5, 6.2), layout="constrained", dpi=110)
    axes = figure.subplots(2, 1, sharex=True, sharey=True)
    titles = {"before": "Before recalibration", after: f"Recalibrated, {VARIANTS[after]}"}
    for ax, (variant, title) in zip(axes, titles.items(), strict=True):
        _forecast(ax, first, variant)
        share = first.mean(variant, "coverage")
        ax.set_title(f"{title}: the 90% interval holds {100 * share:.1f}% of days", loc="left")
    # Last: a limit that is set keeps the others from following what is drawn.
    axes[0].set_ylim(bottom=0.0)
    _calendar(axes[-1])
    figure.suptitle(f"Daily sales of item 1503844 in {cell.dataset}, forecast from the day before")
    figure.legend(
        handles=axes[0].get_legend_handles_labels()[0],
        loc="outside lower center",
        ncols=4,
        frameon=False,
    )
    save(figure, path)


def _forecast(ax: Any, cell: Cell, variant: str) -> None:
    dates, sales = dates_of(cell), sales_of(cell)
    mean, lower, upper = (cell.values(variant, name)[0] for name in ("mean", "lower", "upper"))
    missed = ~held(cell, variant)[0]
    before, now = _style.looks(ax, 2)
    ax.fill_between(
        *_with_gaps(dates, lower, upper),
        color=now.color,
        alpha=_style.opacity(ax, 0.3),
        linewidth=0.0,
        label="90% interval",
    )
    ax.plot(*_with_gaps(dates, mean), color=now.color, linewidth=1.2, label="mean forecast")
    ax.plot(*_with_gaps(dates, sales), color=_style.MUTED, linewidth=1.4, label="sales")
    ax.plot(
        dates[missed],
        sales[missed],
        linestyle="none",
        marker=before.marker,
        markersize=3.8,
        markerfacecolor=_style.paper(ax),
        markeredgecolor=before.color,
        markeredgewidth=1.1,
        label="day missed",
    )
    ax.set_ylabel("units sold")
    ax.set_xlim(dates[0] - 1, dates[-1] + 1)
    _style.tidy(ax)


def _with_gaps(dates: Any, *values: Any) -> tuple[Any, ...]:
    """Put days that are not there as NaN, so that no line bridges them."""
    days = np.arange(dates[0], dates[-1] + 1)
    place = (dates - dates[0]).astype(int)
    filled = []
    for column in values:
        whole = np.full(len(days), np.nan)
        whole[place] = column
        filled.append(whole)
    return (days, *filled)


def _calendar(ax: Any) -> None:
    """Name the months."""
    import matplotlib.dates

    of_dates: Any = matplotlib.dates  # which has no types
    ax.xaxis.set_major_locator(of_dates.MonthLocator())
    ax.xaxis.set_major_formatter(of_dates.DateFormatter("%b %Y"))
