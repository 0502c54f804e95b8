"""The results of Table 1, a cell a set and model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from reproduce.paper import TABLE1
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
}
#: Those whose map has not seen the rows that its model was trained on.
HONEST = ("refit", "crossfit")
MEASURES = (
    "mape",
    "calibration_error",
    "calibration_floor",
    "sharpness",
    "crps",
    "coverage",
    "width",
)


class Cell(NamedTuple):
    """What the splits of a set say of a model."""

    dataset: str
    model: str
    records: list[dict[str, Any]]

    @property
    def splits(self) -> int:
        """How many there are."""
        return len(self.records)

    def size(self, name: str) -> int:
        """Rows that train or test: ``n_train``, ``n_test``; the same in all splits."""
        return int(self.records[0][name])

    def values(self, variant: str, measure: str) -> Any:
        """Values of the splits; of the curve, a row a split."""
        return np.array([record["variants"][variant][measure] for record in self.records])

    def mean(self, variant: str, measure: str) -> float:
        """Mean over the splits."""
        return float(self.values(variant, measure).mean())

    def error(self, variant: str, measure: str) -> float | None:
        """Standard error of the mean; one split has none."""
        return standard_error(self.values(variant, measure))

    def ratio(self, variant: str) -> float:
        """Calibration error over its floor."""
        return self.mean(variant, "calibration_error") / self.mean(variant, "calibration_floor")

    def crps_to(self, variant: str, other: str) -> float:
        """CRPS relative to that of another variant."""
        return self.mean(variant, "crps") / self.mean(other, "crps")

    @property
    def paper(self) -> dict[str, float | None]:
        """What the paper has here."""
        return TABLE1[self.dataset][self.model]

    def __str__(self) -> str:
        return f"{self.dataset} with {TITLES[self.model]}"


def cells(records: Sequence[dict[str, Any]], model: str | None = None) -> list[Cell]:
    """Gather the splits of each set and model, in the order of the paper."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        if model is None or record["model"] == model:
            found.setdefault((record["dataset"], record["model"]), []).append(record)
    sets, models = names(), list(TITLES)
    order = sorted(found, key=lambda key: (models.index(key[1]), sets.index(key[0])))
    return [Cell(*key, found[key]) for key in order]


def by_model(records: Sequence[dict[str, Any]]) -> dict[str, list[Cell]]:
    """Cells of each model that there is."""
    grouped: dict[str, list[Cell]] = {}
    for cell in cells(records):
        grouped.setdefault(cell.model, []).append(cell)
    return grouped


def standard_error(values: Any) -> float | None:
    """Standard error of the mean, if there is more than one value."""
    n = len(values)
    return float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else None
