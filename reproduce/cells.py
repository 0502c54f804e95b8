"""What is measured for a forecast, and the means of that over splits or seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueline.distributions import Distribution
from trueline.metrics import calibration_curve, evaluate

#: Levels of the calibration curves.
LEVELS = np.arange(1, 20) / 20
MEASURES = (
    "mape",
    "calibration_error",
    "calibration_floor",
    "sharpness",
    "crps",
    "coverage",
    "width",
)


def judge(y: NDArray[np.float64], dist: Distribution, n_fit: int | None) -> dict[str, Any]:
    """Measure a forecast; `n_fit` is the number of rows that its map was fitted on.

    Rows whose outcome is 0 have no percentage error and do not count in the MAPE.
    """
    found = evaluate(y, dist, n_fit=n_fit)
    numbers = {
        "mape": float(percentage_errors(y, dist).mean()),
        "calibration_error": found.calibration_error,
        "calibration_floor": found.calibration_floor,
        "sharpness": found.sharpness,
        "crps": found.crps,
        "coverage": found.coverage,
        "width": found.interval_width,
    }
    curve = calibration_curve(y, dist, LEVELS).observed.round(4).tolist()
    return {name: float(f"{value:.6g}") for name, value in numbers.items()} | {"curve": curve}


def percentage_errors(y: NDArray[np.float64], dist: Distribution) -> NDArray[np.float64]:
    """Return the absolute errors of the mean as shares of the outcomes that are not 0."""
    some = y != 0
    return np.abs((y - dist.mean())[some] / y[some])


class Cell(NamedTuple):
    """The records of one data set and model: one per split or seed."""

    dataset: str
    model: str
    records: list[dict[str, Any]]

    @property
    def splits(self) -> int:
        """The number of records."""
        return len(self.records)

    def size(self, name: str) -> int:
        """Return ``n_train`` or ``n_test``, which all records share."""
        return int(self.records[0][name])

    def values(self, variant: str, measure: str) -> Any:
        """Return the values of a measure, with one row per record."""
        return np.array([record["variants"][variant][measure] for record in self.records])

    def has(self, variant: str) -> bool:
        """Return whether all records have this variant."""
        return all(variant in record["variants"] for record in self.records)

    def mean(self, variant: str, measure: str) -> float:
        """Return the mean over the records."""
        return float(self.values(variant, measure).mean())

    def error(self, variant: str, measure: str) -> float | None:
        """Return the standard error of the mean; None for a single record."""
        return standard_error(self.values(variant, measure))

    def of(self, variant: str, measure: str) -> tuple[float, float | None]:
        """Return the mean and its standard error."""
        return self.mean(variant, measure), self.error(variant, measure)

    def numbers(self, variant: str, measures: Sequence[str]) -> list[float | None]:
        """Return the means and standard errors of several measures, for a line of a CSV file."""
        return [value for measure in measures for value in self.of(variant, measure)]

    def ratio(self, variant: str) -> float:
        """Return the calibration error divided by its floor."""
        return self.mean(variant, "calibration_error") / self.mean(variant, "calibration_floor")


def columns(measures: Sequence[str]) -> list[str]:
    """Return the heads of the columns that `Cell.numbers` fills."""
    return [name for measure in measures for name in (measure, f"{measure}_se")]


def standard_error(values: Any) -> float | None:
    """Return the standard error of the mean; None for a single value."""
    n = len(values)
    return float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else None
