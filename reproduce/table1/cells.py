"""The results of Table 1: one cell per data set and model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduce.cells import Cell
from trueline.datasets import names

TITLES = {
    "bayesian-ridge": "Bayesian ridge",
    "dropout": "MC dropout",
    "concrete-dropout": "Concrete dropout",
    "deep-ensemble": "Deep ensemble",
}
VARIANTS = {
    "before": "before",
    "training": "training set",
    "refit": "refitted",
    "averaged": "averaged",
    "crossfit": "cross-fitted",
    "plain": "plain K folds",
}
#: Variants whose map has not seen the rows that its model was trained on.
HONEST = ("refit", "crossfit")


def by_model(records: Sequence[dict[str, Any]]) -> dict[str, list[Cell]]:
    """Group the splits into cells, and these by model, in the order of the paper."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        found.setdefault((record["model"], record["dataset"]), []).append(record)
    cells = {
        model: [Cell(name, model, found[model, name]) for name in names() if (model, name) in found]
        for model in TITLES
    }
    return {model: group for model, group in cells.items() if group}
