"""Calibrated models with scikit-learn's manners, and scorers for its model selection."""

from trueline.estimators._per_level import PerLevel
from trueline.estimators._regressor import CalibratedRegressor
from trueline.estimators._scorers import neg_calibration_error, neg_crps, neg_interval_score

__all__ = [
    "CalibratedRegressor",
    "PerLevel",
    "neg_calibration_error",
    "neg_crps",
    "neg_interval_score",
]
