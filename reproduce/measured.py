"""What is measured of a forecast in the experiments."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.metrics import calibration_curve, evaluate

#: Levels of the calibration curves.
LEVELS = np.arange(1, 20) / 20


def judge(y: FloatArray, dist: Distribution, n_fit: int | None) -> dict[str, Any]:
    """Measure a forecast; rows whose outcome is 0 have no percentage error."""
    found = evaluate(y, dist, n_fit=n_fit)
    some = y != 0
    percentage = np.abs((y - dist.mean())[some] / y[some])
    numbers = {
        "mape": float(percentage.mean()),
        "calibration_error": found.calibration_error,
        "calibration_floor": found.calibration_floor,
        "sharpness": found.sharpness,
        "crps": found.crps,
        "coverage": found.coverage,
        "width": found.interval_width,
    }
    curve = calibration_curve(y, dist, LEVELS).observed.round(4).tolist()
    return {name: float(f"{value:.6g}") for name, value in numbers.items()} | {"curve": curve}
