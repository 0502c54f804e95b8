"""The page, the table and the CSV file of the forecasts of daily sales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduce.cells import MEASURES, Cell, columns
from reproduce.pages import comma_separated, markdown, number, page, share
from reproduce.sales.networks import RECALIBRATED, VARIANTS

_MEASURES = (MEASURES[0], "mdape", *MEASURES[1:])
_SIZES = ("n_train", "n_test")
#: Number of periods, each of some weeks, in the last table.
_PERIODS = 7


def by_store(records: Sequence[dict[str, Any]]) -> list[Cell]:
    """Group the seeds by store, both in order."""
    found: dict[int, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda record: (record["store"], record["seed"])):
        found.setdefault(record["store"], []).append(record)
    return [Cell(f"store {store}", "gru", group) for store, group in found.items()]


def csv_of(records: Sequence[dict[str, Any]]) -> str:
    """Return all means and standard errors, one line per store and variant."""
    rows = [
        [
            *(cell.records[0]["store"], variant, cell.splits, *map(cell.size, _SIZES)),
            *cell.numbers(variant, _MEASURES),
        ]
        for cell in by_store(records)
        for variant in VARIANTS
    ]
    return comma_separated(["store", "variant", "seeds", *_SIZES, *columns(_MEASURES)], rows)


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return the table that a run prints, one line per store and variant."""
    heads = ("", "MAPE", "error / floor", "CRPS", "90% holds", "width")
    rows = [
        (
            f"{cell.dataset}, {name}",
            share(cell.mean(variant, "mape")),
            f"{cell.ratio(variant):.2f}",
            f"{cell.mean(variant, 'crps'):.1f}",
            share(cell.mean(variant, "coverage")),
            f"{cell.mean(variant, 'width'):.0f}",
        )
        for cell in by_store(records)
        for variant, name in VARIANTS.items()
    ]
    return markdown(heads, rows)


def page_of(records: Sequence[dict[str, Any]], command: str, made: str) -> str:
    """Return the page."""
    cells = by_store(records)
    sections = "\n".join(part for cell in cells for part in _section(cell))
    return page("forecast", command, {"made": made, "sections": sections})


def _section(cell: Cell) -> list[str]:
    heads = (
        *("", "MAPE", "median APE", "calibration error", "floor", "error / floor"),
        *("CRPS", "90% interval holds", "its width"),
    )
    rows = [
        (
            name,
            share(*cell.of(variant, "mape")),
            share(*cell.of(variant, "mdape")),
            number(*cell.of(variant, "calibration_error"), 4),
            f"{cell.mean(variant, 'calibration_floor'):.4f}",
            f"{cell.ratio(variant):.2f}",
            number(*cell.of(variant, "crps"), 2),
            share(*cell.of(variant, "coverage")),
            number(*cell.of(variant, "width"), 0),
        )
        for variant, name in VARIANTS.items()
    ]
    picture = f"store{cell.records[0]['store']}.png"
    return [
        f"## {cell.dataset.capitalize()}\n",
        markdown(heads, rows),
        f"![Weekly means of sales and 90% intervals in {cell.dataset}]({picture})\n",
        "By period, means over the seeds:\n",
        _by_period(cell),
    ]


def _by_period(cell: Cell) -> str:
    weeks, sales = (cell.records[0][name] for name in ("weeks", "sales"))
    shown = ("before", *RECALIBRATED)
    forecast = cell.values("before", "mean").mean(axis=0)
    held = {variant: cell.values(variant, "held").mean(axis=0) for variant in shown}
    rows = []
    for period in np.array_split(np.arange(len(weeks)), min(_PERIODS, len(weeks))):
        days = np.array(cell.records[0]["days"])[period]

        def mean(values: Any, period: Any = period, days: Any = days) -> float:
            return float(np.average(np.asarray(values)[period], weights=days))

        sold, expected = mean(sales), mean(forecast)
        rows.append(
            (
                f"from {weeks[period[0]]}",
                f"{days.sum()}",
                f"{sold:.0f}",
                f"{expected:.0f}",
                f"{100 * (expected / sold - 1):+.1f}%",
                *(share(mean(held[variant]), decimals=0) for variant in shown),
            )
        )
    names = (f"holds, {VARIANTS[variant]}" for variant in shown)
    return markdown(("", "days", "sales", "forecast before", "too high by", *names), rows)
