"""The page, the tables and the CSV file of Table 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reproduce.cells import MEASURES, Cell, columns
from reproduce.pages import comma_separated, hours, markdown, page
from reproduce.table1.cells import TITLES, VARIANTS, by_model
from reproduce.table1.paper import TABLE1

_SIZES, _PAPER = ("n_train", "n_test"), ("mape", "before", "recalibrated")
#: Models that the paper recalibrates, and those that it compares them with.
_OURS, _BASELINES = ("bayesian-ridge", "dropout"), ("concrete-dropout", "deep-ensemble")
#: The paper's protocol, and the variants beyond it.
_PROTOCOL, _BEYOND = "training", ("refit", "crossfit", "plain")
#: Those with a number for every set; the CSV file has the others.
_PER_SET = ("crossfit", "plain")
_MISSING = "not run"
_SHORT = {
    "bayesian-ridge": "ridge",
    "dropout": "MC",
    "concrete-dropout": "concrete",
    "deep-ensemble": "ensemble",
}

Cells = Mapping[tuple[str, str], Cell]


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
        if cell.has(variant)
    ]
    return comma_separated([*heads, *(f"paper_{name}" for name in _PAPER)], rows)


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return the table over all data sets, one line per model and variant."""
    heads = ("", "error / floor", "worst set", "CRPS / before")
    rows = [
        (f"{TITLES[model]}, {VARIANTS[variant]}", *_overall(cells, variant))
        for model, cells in by_model(records).items()
        for variant in VARIANTS
        if variant != "averaged" and all(cell.has(variant) for cell in cells)
    ]
    return markdown(heads, rows)


def _overall(cells: list[Cell], variant: str) -> tuple[str, ...]:
    crps = _mean(cell.mean(variant, "crps") / cell.mean("before", "crps") for cell in cells)
    return (
        f"{_mean(cell.ratio(variant) for cell in cells):.2f}",
        f"{max(cell.ratio(variant) for cell in cells):.2f}",
        f"{crps:.3f}",
    )


def page_of(records: Sequence[dict[str, Any]], command: str, made: str) -> str:
    """Return the page."""
    cells = {
        (cell.dataset, cell.model): cell for group in by_model(records).values() for cell in group
    }
    models = dict.fromkeys(model for _, model in cells)
    values = {
        "made": made,
        "hours": hours(records),
        "claims": _claims(cells),
        "side_by_side": _side_by_side(cells),
        "beyond": _beyond(cells),
        "table": table(records),
        "pictures": "\n".join(
            f"![Calibration curves of {TITLES[model]}, one panel per data set]({model}.png)\n"
            for model in models
        ),
    }
    return page("table1", command, values)


# ---- the paper's claims ----------------------------------------------------------------


def _claims(cells: Cells) -> str:
    """Count the cells in which what section 4.2 says of recalibration holds."""

    def paper(dataset: str, model: str, when: str) -> float:
        return TABLE1[dataset][model][when] or 0.0

    def ours(variant: str) -> Callable[[str, str, str], float]:
        return lambda dataset, model, when: cells[dataset, model].mean(
            "before" if when == "before" else variant, "calibration_error"
        )

    def improves(model: str) -> Callable[[Any, str], bool]:
        return lambda of, d: of(d, model, "recalibrated") < of(d, model, "before")

    def beats(of: Any, d: str) -> bool:
        limit = min(of(d, baseline, "before") for baseline in _BASELINES)
        return bool(of(d, "dropout", "recalibrated") < limit)

    def reaches(model: str) -> Callable[[Any, str], bool]:
        return lambda of, d: (
            of(d, model, "recalibrated") <= paper(d, model, "recalibrated") * (1.0 + 1e-12)
        )

    claims: list[tuple[str, Any, tuple[str, ...]]] = [
        *((f"{TITLES[m]} is better after than before", improves(m), (m,)) for m in _OURS),
        ("Recalibrated MC dropout beats both baselines", beats, ("dropout", *_BASELINES)),
        *((f"{TITLES[m]} reaches the paper's error", reaches(m), (m,)) for m in _OURS),
    ]
    names = dict.fromkeys(dataset for dataset, _ in cells)
    shown = (_PROTOCOL, *_BEYOND)
    rows = []
    for text, holds, models in claims:
        sets = [d for d in names if all((d, model) in cells for model in models)]
        counts = [f"{sum(holds(paper, d) for d in sets)} of {len(sets)}"]
        for variant in shown:
            complete = all(cells[d, models[0]].has(variant) for d in sets)
            found = sum(holds(ours(variant), d) for d in sets) if complete else 0
            counts.append(f"{found} of {len(sets)}" if complete else _MISSING)
        rows.append((text, *counts))
    return markdown(("holds on", "paper", *(f"ours, {VARIANTS[v]}" for v in shown)), rows)


# ---- tables of cells -------------------------------------------------------------------


def _side_by_side(cells: Cells) -> str:
    """Return Table 1 with the paper's number and ours in each cell."""
    heads, rows = [""], []
    for model in TITLES:
        after = ("recal.", "MAPE after") if model in _OURS else ()
        heads += [f"{_SHORT[model]}: {name}" for name in ("MAPE", "calibr.", *after)]
    for dataset in dict.fromkeys(dataset for dataset, _ in cells):
        row = [dataset]
        for model in TITLES:
            cell, paper = cells.get((dataset, model)), TABLE1[dataset][model]
            row.append(_both(paper["mape"], cell, "before", "mape"))
            row.append(_both(paper["before"], cell, "before", "calibration_error"))
            if model in _OURS:
                row.append(_both(paper["recalibrated"], cell, _PROTOCOL, "calibration_error"))
                row.append("" if cell is None else f"{cell.mean(_PROTOCOL, 'mape'):.3f}")
        rows.append(row)
    return markdown(heads, rows)


def _both(paper: float | None, cell: Cell | None, variant: str, measure: str) -> str:
    return f"{paper:.3f}/{_MISSING if cell is None else f'{cell.mean(variant, measure):.3f}'}"


def _beyond(cells: Cells) -> str:
    """Return the calibration errors of the better protocols."""
    heads, rows = ["", "floor"], []
    columns_of = [
        (model, variant)
        for model in TITLES
        for variant in _PER_SET
        if any(cell.model == model and cell.has(variant) for cell in cells.values())
    ]
    heads += [f"{_SHORT[model]}: {VARIANTS[variant]}" for model, variant in columns_of]
    for dataset in dict.fromkeys(dataset for dataset, _ in cells):
        of_set = {model: cell for (name, model), cell in cells.items() if name == dataset}
        floor = next(iter(of_set.values())).mean("crossfit", "calibration_floor")
        row = [dataset, f"{floor:.4f}"]
        for model, variant in columns_of:
            there = model in of_set and of_set[model].has(variant)
            row.append(
                f"{of_set[model].mean(variant, 'calibration_error'):.4f}" if there else _MISSING
            )
        rows.append(row)
    return markdown(heads, rows)


def _paper(cell: Cell) -> dict[str, float | None]:
    return TABLE1[cell.dataset][cell.model]


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
