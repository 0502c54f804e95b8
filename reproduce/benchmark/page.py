"""The page, the tables and the CSV file of the benchmark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduce.benchmark.data import CLEAR, Published, published
from reproduce.benchmark.methods import METHODS, MODELS
from reproduce.cells import Cell, columns
from reproduce.pages import comma_separated, hours, markdown, page

#: Coverage of the intervals that are scored, that of CLEAR.
LEVEL = 0.95
MEASURES = (
    "interval_score",
    "crps",
    "coverage",
    "calibration_error",
    "calibration_floor",
    "ert",
    "seconds",
)
_USUAL = "isotonic"

Cells = Sequence[Cell]


def cells_of(records: Sequence[dict[str, Any]]) -> list[Cell]:
    """Group the seeds by data set and model."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in sorted(records, key=lambda record: record["seed"]):
        groups.setdefault((record["data"], record["model"]), []).append(record)
    order = list(MODELS)
    cells = [Cell(*key, group) for key, group in groups.items()]
    return sorted(cells, key=lambda cell: order.index(cell.model))


def csv_of(records: Sequence[dict[str, Any]]) -> str:
    """Return all means and standard errors, one line per data set, model and method."""
    rows = [
        [cell.dataset, cell.model, cell.splits, method, *cell.numbers(method, MEASURES)]
        for cell in cells_of(records)
        for method in METHODS
    ]
    return comma_separated(["data", "model", "seeds", "method", *columns(MEASURES)], rows)


def tables(records: Sequence[dict[str, Any]]) -> str:
    """Return all tables."""
    cells = cells_of(records)
    parts = [beside_clear(cells), beside_the_usual(cells), other_measures(cells), choices(cells)]
    return "\n".join(part for part in parts if part)


def page_of(records: Sequence[dict[str, Any]], command: str, made: str) -> str:
    """Return the page."""
    cells = cells_of(records)
    values = {
        "made": made,
        "beside_clear": beside_clear(cells),
        "beside_the_usual": beside_the_usual(cells),
        "other_measures": other_measures(cells),
        "choices": choices(cells),
        "hours": hours(records),
    }
    return page("benchmark", command, values)


def beside_clear(cells: Cells) -> str:
    """Return interval scores divided by CLEAR's on the same test rows, by set."""
    known = [name for name in CLEAR if any(cell.dataset == name for cell in cells)]
    if not known:
        return ""

    def ratio(cell: Cell, method: str) -> float:
        theirs = published(cell.dataset, "clear").by_seed
        ours = [record["variants"][method]["interval_score"] for record in cell.records]
        return float(np.mean(ours) / np.mean([theirs[r["seed"]] for r in cell.records]))

    rows = [
        _ratios(f"{model}, {method}", [ratio(cell, method) for cell in of])
        for model, of in _by_model(cells, known).items()
        for method in METHODS
    ]
    cqr = [_mean(published(name, "cqr")) / _mean(published(name, "clear")) for name in known]
    rows.append(_ratios("CQR, as published", cqr))
    return markdown(["", *known, "geometric mean"], rows)


def beside_the_usual(cells: Cells) -> str:
    """Return the CRPS of each method divided by that of the default map."""
    rows = []
    for model, of in _by_model(cells).items():
        for method in METHODS:
            if method != _USUAL:
                ratios = [cell.mean(method, "crps") / cell.mean(_USUAL, "crps") for cell in of]
                low, high = int(np.argmin(ratios)), int(np.argmax(ratios))
                rows.append(
                    (
                        f"{model}, {method}",
                        f"{_geometric_mean(ratios):.3f}",
                        *(f"{ratios[i]:.3f} ({of[i].dataset})" for i in (low, high)),
                    )
                )
    return markdown(["", "geometric mean", "best set", "worst set"], rows)


def other_measures(cells: Cells) -> str:
    """Return means over the data sets of what makes a forecast true, and of the time."""
    heads = ["", "coverage", "error / floor", "worst set", "ERT", "seconds"]
    rows = []
    for model, of in _by_model(cells).items():
        for method in METHODS:
            error = [cell.ratio(method) for cell in of]
            rows.append(
                (
                    f"{model}, {method}",
                    f"{100.0 * _mean_of('coverage', method, of):.1f}%",
                    f"{np.mean(error):.2f}",
                    f"{max(error):.2f}",
                    f"{_mean_of('ert', method, of):.3f}",
                    f"{_mean_of('seconds', method, of):.1f}",
                )
            )
    return markdown(heads, rows)


def choices(cells: Cells) -> str:
    """Return how often `auto` chose what."""
    counts = {
        model: Counter(r["variants"]["auto"]["chosen"] for cell in of for r in cell.records)
        for model, of in _by_model(cells).items()
    }
    names = sorted({name for count in counts.values() for name in count})
    rows = [(model, *(str(count[name]) for name in names)) for model, count in counts.items()]
    return markdown(["chosen by auto", *names], rows)


# ---- parts -----------------------------------------------------------------------------


def _by_model(cells: Cells, names: Sequence[str] | None = None) -> dict[str, list[Cell]]:
    """Return the cells by model; with names, those of models that have all of these sets."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        if names is None or cell.dataset in names:
            found.setdefault(cell.model, []).append(cell)
    complete = {model: of for model, of in found.items() if len(of) == len(names or of)}
    rank = {name: i for i, name in enumerate(names or ())}
    return {
        model: sorted(of, key=lambda cell: rank.get(cell.dataset, 0))
        for model, of in complete.items()
    }


def _ratios(head: str, ratios: Sequence[float]) -> tuple[str, ...]:
    return head, *(f"{ratio:.2f}" for ratio in ratios), f"{_geometric_mean(ratios):.3f}"


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def _mean(scores: Published) -> float:
    return float(np.mean(list(scores.by_seed.values())))


def _mean_of(measure: str, method: str, cells: Cells) -> float:
    """Return the mean over the sets; those with too few rows for the measure do not count."""
    values = [cell.mean(method, measure) for cell in cells]
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan
