"""Calibrated models with the interface of scikit-learn, and scorers for model selection."""

from trueline.estimators._crossfit import cross_fit
from trueline.estimators._per_level import PerLevel
from trueline.estimators._regressor import CalibratedRegressor
from trueline.estimators._scorers import neg_calibration_error, neg_crps, neg_interval_score

__all__ = [
    "CalibratedRegressor",
    "PerLevel",
    "cross_fit",
    "neg_calibration_error",
    "neg_crps",
    "neg_interval_score",
]
