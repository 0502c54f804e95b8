"""The results of the forecasts, a cell a store: its seeds are what the splits are in Table 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduce.table1_cells import Cell

#: What is compared, and how it is called.
VARIANTS = {
    "before": "before",
    "training": "training days",
    "rolling": "rolling origins",
    "daily": "day by day",
    "concrete": "concrete dropout",
    "ensemble": "deep ensemble",
}
RECALIBRATED = ("training", "rolling", "daily")
BASELINES = ("concrete", "ensemble")
#: Those whose map has not seen the days that its network was trained on.
HONEST = ("rolling", "daily")
MEASURES = (
    "mape",
    "mdape",
    "calibration_error",
    "calibration_floor",
    "sharpness",
    "crps",
    "coverage",
    "width",
)


def by_store(records: Sequence[dict[str, Any]]) -> list[Cell]:
    """Gather the seeds of each store, both in order."""
    found: dict[int, list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda record: (record["store"], record["seed"])):
        found.setdefault(record["store"], []).append(record)
    return [Cell(f"store {store}", "gru", group) for store, group in found.items()]


def variants_of(group: Sequence[Cell]) -> dict[str, str]:
    """Variants that all records have, with their names."""
    records = [record for cell in group for record in cell.records]
    return {
        variant: name
        for variant, name in VARIANTS.items()
        if all(variant in record["variants"] for record in records)
    }


def dates_of(cell: Cell) -> Any:
    """The days that are judged."""
    return np.array(cell.records[0]["dates"], dtype="datetime64[D]")


def sales_of(cell: Cell) -> Any:
    """What was sold on them."""
    return np.array(cell.records[0]["sales"], dtype=float)


def held(cell: Cell, variant: str) -> Any:
    """Whether each day lies in its 90% interval, a row a seed."""
    lower, upper = (cell.values(variant, name) for name in ("lower", "upper"))
    sales = sales_of(cell)
    return (lower <= sales) & (sales <= upper)
