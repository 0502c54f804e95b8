"""The page, the table and the CSV file of Table 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from reproduce.cells import MEASURES, Cell, columns
from reproduce.pages import comma_separated, markdown, number, page
from reproduce.table1.cells import HONEST, TITLES, VARIANTS, by_model
from reproduce.table1.paper import TABLE1, chance_to_reach

#: Measures that have a table of their own in the section of a model.
_ALSO = {
    "crps": "CRPS",
    "sharpness": "Sharpness (mean variance, Eq. 10)",
    "coverage": "Coverage of 90% intervals",
    "width": "Width of 90% intervals",
}
_SIZES, _PAPER = ("n_train", "n_test"), ("mape", "before", "recalibrated")
_COVERAGE = 0.9


def csv_of(records: Sequence[dict[str, Any]]) -> str:
    """Return all means and standard errors, one line per data set, model and variant."""
    heads = ["dataset", "model", "variant", "splits", *_SIZES, "zero_targets", *columns(MEASURES)]
    rows = [
        [
            *(cell.dataset, cell.model, variant, cell.splits, *map(cell.size, _SIZES)),
            sum(record["zero_targets"] for record in cell.records),
            *cell.numbers(variant, MEASURES),
            *(_paper(cell)[name] for name in _PAPER),
        ]
        for cells in by_model(records).values()
        for cell in cells
        for variant in VARIANTS
    ]
    return comma_separated([*heads, *(f"paper_{name}" for name in _PAPER)], rows)


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return the table over all data sets, one line per model and variant."""
    heads = (
        "",
        "error / floor",
        "of the means",
        "worst set",
        "CRPS / before",
        "abs(coverage - 90%)",
    )
    rows = [
        (f"{TITLES[model]}, {VARIANTS[variant]}", *_overall(cells, variant))
        for model, cells in by_model(records).items()
        for variant in VARIANTS
    ]
    return markdown(heads, rows)


def _overall(cells: list[Cell], variant: str) -> tuple[str, ...]:
    worst = max(cells, key=lambda cell: cell.ratio(variant))
    crps = _mean(cell.mean(variant, "crps") / cell.mean("before", "crps") for cell in cells)
    off = _mean(abs(cell.mean(variant, "coverage") - _COVERAGE) for cell in cells)
    error, floor = (
        _mean(cell.mean(variant, f"calibration_{name}") for cell in cells)
        for name in ("error", "floor")
    )
    return (
        f"{_mean(cell.ratio(variant) for cell in cells):.2f}",
        f"{error / floor:.2f}",
        f"{worst.dataset} {worst.ratio(variant):.2f}",
        f"{crps:.3f}",
        f"{100.0 * off:.1f}%",
    )


def page_of(records: Sequence[dict[str, Any]], command: str, made: str) -> str:
    """Return the page."""
    groups = by_model(records)
    sections = [part for model, cells in groups.items() for part in _section(model, cells)]
    values = {
        "made": made,
        "table": table(records),
        "not_reached": _not_reached([cell for cells in groups.values() for cell in cells]),
        "sections": "\n".join(sections),
    }
    return page("table1", command, values)


def _not_reached(cells: list[Cell]) -> str:
    """Return the cells whose cross-fitted error is above the recalibrated one of the paper."""
    heads = ("not reached", "ours", "paper", "floor", "chance, fitted map", "chance, truth known")
    rows = []
    for cell in cells:
        limit = _paper(cell)["recalibrated"]
        if limit is None or cell.mean("crossfit", "calibration_error") <= limit * (1.0 + 1e-12):
            continue
        sizes = cell.size("n_test"), cell.size("n_train")
        rows.append(
            (
                f"{cell.dataset} with {TITLES[cell.model]}",
                _calibration(cell, "crossfit"),
                f"{limit:.3f}",
                f"{cell.mean('crossfit', 'calibration_floor'):.4f}",
                _chance(chance_to_reach(limit, *sizes, cell.splits)),
                _chance(chance_to_reach(limit, sizes[0], None, cell.splits)),
            )
        )
    return markdown(heads, rows)


def _section(model: str, cells: list[Cell]) -> list[str]:
    heads = (
        "calibration error",
        *(VARIANTS[v] for v in ("before", "training", *HONEST)),
        *("floor before", "floor after", "paper before", "paper after"),
        *("MAPE before", "paper MAPE"),
    )
    rows = [
        (
            cell.dataset,
            *(_calibration(cell, v) for v in ("before", "training", *HONEST)),
            *(f"{cell.mean(v, 'calibration_floor'):.4f}" for v in ("before", "crossfit")),
            *(_shown(_paper(cell)[name]) for name in ("before", "recalibrated")),
            number(*cell.of("before", "mape"), 3),
            _shown(_paper(cell)["mape"]),
        )
        for cell in cells
    ]
    parts = [
        f"## {TITLES[model]}\n",
        markdown(heads, rows),
        f"![Calibration curves of {TITLES[model]}, one panel per data set]({model}.png)\n",
    ]
    for measure, title in _ALSO.items():
        decimals = 3 if measure == "coverage" else None
        rows = [
            (cell.dataset, *(number(*cell.of(v, measure), decimals) for v in VARIANTS))
            for cell in cells
        ]
        parts += [f"{title}:\n", markdown(("", *VARIANTS.values()), rows)]
    return parts


def _paper(cell: Cell) -> dict[str, float | None]:
    return TABLE1[cell.dataset][cell.model]


def _calibration(cell: Cell, variant: str) -> str:
    return number(*cell.of(variant, "calibration_error"), 4)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _chance(chance: float) -> str:
    """Format a chance with the precision of 20,000 draws."""
    if chance < 0.0001:
        return "below 0.01%"
    if chance > 0.999:
        return "above 99.9%"
    return f"{100.0 * chance:.{1 if chance >= 0.01 else 2}f}%"
