"""The page, the table and the CSV file of the forecasts of daily sales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduce.cells import MEASURES, Cell, columns
from reproduce.pages import comma_separated, hours, markdown, number, page, share
from reproduce.sales.networks import BASELINES, FULL, VARIANTS

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
    stores = [cell.records[0]["store"] for cell in cells]
    values = {
        "made": made,
        "hours": hours(records),
        "epochs": " | ".join(map(str, FULL.epochs)),
        "side_by_side": _side_by_side(cells),
        "beyond": _beyond(cells),
        "periods": _by_period(cells),
        "pictures": "\n".join(
            f"![Weekly means of sales and 90% intervals in store {store}](store{store}.png)\n"
            for store in stores
        ),
    }
    return page("forecast", command, values)


def _side_by_side(cells: Sequence[Cell]) -> str:
    """Return what the paper says of its four stores, and the same of ours."""
    claims = (
        ("MAPE", "17.3 to 21.8%", "mape", ("before", "training")),
        ("90% interval holds", "misses most", "coverage", ("before",)),
        ("90% interval holds", "about 90%", "coverage", ("training",)),
        ("calibration error", "Figure 6: worst", "calibration_error", ("before",)),
        ("calibration error", "Figure 6: between", "calibration_error", BASELINES),
        ("calibration error", "Figure 6: best", "calibration_error", ("training",)),
    )
    rows = [
        (
            f"{what}, {VARIANTS[variant]}",
            said if (what, variant) != ("MAPE", "training") else "not given",
            *(
                number(cell.mean(variant, measure), decimals=4)
                if measure == "calibration_error"
                else share(cell.mean(variant, measure))
                for cell in cells
            ),
        )
        for what, said, measure, variants in claims
        for variant in variants
    ]
    return markdown(("", "paper", *(f"ours, {cell.dataset}" for cell in cells)), rows)


def _beyond(cells: Sequence[Cell]) -> str:
    heads = ("", "calibration error", "error / floor", "CRPS", "90% holds", "width", "median APE")
    rows = [
        (
            f"{cell.dataset}, {name}",
            number(*cell.of(variant, "calibration_error"), 4),
            f"{cell.ratio(variant):.2f}",
            number(*cell.of(variant, "crps"), 1),
            share(*cell.of(variant, "coverage")),
            number(cell.mean(variant, "width"), decimals=0),
            share(cell.mean(variant, "mdape")),
        )
        for cell in cells
        for variant, name in VARIANTS.items()
    ]
    return markdown(heads, rows)


def _by_period(cells: Sequence[Cell]) -> str:
    """Return how far the forecasts are too high, and what the intervals hold, by period."""
    weeks = np.asarray(cells[0].records[0]["weeks"])
    shown = ("training", "daily")
    heads = [""]
    columns_of: list[list[str]] = []
    parts = np.array_split(np.arange(len(weeks)), min(_PERIODS, len(weeks)))
    for cell in cells:
        heads += [f"{cell.dataset}: too high by", *(f"holds, {VARIANTS[v]}" for v in shown)]
        first = cell.records[0]
        known = {day: place for place, day in enumerate(first["weeks"])}
        forecast = cell.values("before", "mean").mean(axis=0)
        held = {variant: cell.values(variant, "held").mean(axis=0) for variant in shown}
        found: list[list[str]] = [[], [], []]
        for part in parts:
            period = [known[week] for week in weeks[part] if week in known]
            days = np.array(first["days"])[period]

            def mean(values: Any, period: Any = period, days: Any = days) -> float:
                return float(np.average(np.asarray(values)[period], weights=days))

            found[0].append(f"{100 * (mean(forecast) / mean(first['sales']) - 1):+.0f}%")
            for column, variant in zip(found[1:], shown, strict=True):
                column.append(share(mean(held[variant]), decimals=0))
        columns_of += found
    rows = [
        (f"from {weeks[part[0]]}", *cells_of)
        for part, *cells_of in zip(parts, *columns_of, strict=True)
    ]
    return markdown(heads, rows)
