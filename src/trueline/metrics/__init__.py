"""Diagnostics: whether forecasts are calibrated, how sharp they are, and how good all in all."""

from trueline.metrics._calibration import (
    CalibrationCurve,
    calibration_curve,
    calibration_error,
    calibration_floor,
)
from trueline.metrics._evaluate import Evaluation, evaluate
from trueline.metrics._intervals import coverage, interval_score
from trueline.metrics._pit import pit
from trueline.metrics._scores import crps, log_score, pinball_loss
from trueline.metrics._spread import ence, sharpness
from trueline.metrics._uniformity import CalibrationTest, calibration_test

__all__ = [
    "CalibrationCurve",
    "CalibrationTest",
    "Evaluation",
    "calibration_curve",
    "calibration_error",
    "calibration_floor",
    "calibration_test",
    "coverage",
    "crps",
    "ence",
    "evaluate",
    "interval_score",
    "log_score",
    "pinball_loss",
    "pit",
    "sharpness",
]
