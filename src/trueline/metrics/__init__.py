"""Diagnostics of forecasts: calibration, sharpness, scores, and a verdict."""

from trueline.interop import check_forecast
from trueline.metrics._accumulator import EvaluationAccumulator, FileEvaluation, GroupEvaluation
from trueline.metrics._atoms import Atom
from trueline.metrics._calibration import (
    CalibrationCurve,
    calibration_curve,
    calibration_error,
    calibration_floor,
)
from trueline.metrics._conditional import ConditionalCoverage, Region, conditional_coverage
from trueline.metrics._evaluate import Evaluation, evaluate, evaluate_rows
from trueline.metrics._maps import RecalibrationMap, recalibration_map
from trueline.metrics._marginal import MarginalCalibration, marginal_calibration
from trueline.metrics._pit import CalibrationTest, calibration_test, pit
from trueline.metrics._rows import check_rows, effective_size, rows_of_fits
from trueline.metrics._scores import (
    coverage,
    crps,
    interval_misses,
    interval_score,
    log_score,
    pinball_loss,
)
from trueline.metrics._spread import ence, sharpness
from trueline.metrics._summaries import (
    PITDifference,
    PITHistogram,
    Widths,
    interval_widths,
    pit_difference,
    pit_histogram,
)
from trueline.metrics._verdict import (
    CalibrationVerdict,
    CoverageVerdict,
    Verdict,
    chance_range,
    decide_coverage,
)

__all__ = [
    "Atom",
    "CalibrationCurve",
    "CalibrationTest",
    "CalibrationVerdict",
    "ConditionalCoverage",
    "CoverageVerdict",
    "Evaluation",
    "EvaluationAccumulator",
    "FileEvaluation",
    "GroupEvaluation",
    "MarginalCalibration",
    "PITDifference",
    "PITHistogram",
    "RecalibrationMap",
    "Region",
    "Verdict",
    "Widths",
    "calibration_curve",
    "calibration_error",
    "calibration_floor",
    "calibration_test",
    "chance_range",
    "check_forecast",
    "check_rows",
    "conditional_coverage",
    "coverage",
    "crps",
    "decide_coverage",
    "effective_size",
    "ence",
    "evaluate",
    "evaluate_rows",
    "interval_misses",
    "interval_score",
    "interval_widths",
    "log_score",
    "marginal_calibration",
    "pinball_loss",
    "pit",
    "pit_difference",
    "pit_histogram",
    "recalibration_map",
    "rows_of_fits",
    "sharpness",
]
