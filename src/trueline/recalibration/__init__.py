"""Recalibrators: maps from scores to probabilities, fitted on held-out data."""

from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._auto import Auto
from trueline.recalibration._beta import BetaCalibration
from trueline.recalibration._conditional import Conditional
from trueline.recalibration._grouped import Grouped
from trueline.recalibration._isotonic import Isotonic
from trueline.recalibration._quantile_forest import QuantileForest
from trueline.recalibration._scaling import Scaling
from trueline.recalibration._smooth import Smooth

__all__ = [
    "Auto",
    "BetaCalibration",
    "Conditional",
    "Grouped",
    "Isotonic",
    "QuantileForest",
    "Recalibrator",
    "Scaling",
    "Smooth",
]
