"""Recalibrators: maps from scores to probabilities, fitted on held-out data."""

from trueline.documents import sign
from trueline.features import BaggedTrees, as_features, tree_features
from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._accumulator import ScoreAccumulator
from trueline.recalibration._auto import Auto
from trueline.recalibration._common import CommonMap, Isotonic, inner_map
from trueline.recalibration._conditional import Conditional
from trueline.recalibration._grouped import Grouped
from trueline.recalibration._idr import IDR
from trueline.recalibration._preparation import FIRST_ROWS, Preparation
from trueline.recalibration._quantile_boosting import QuantileBoosting
from trueline.recalibration._quantile_forest import QuantileForest
from trueline.recalibration._smooth import BetaCalibration, Scaling, Smooth
from trueline.scores import Key, ScoreRows, Scores

#: Recalibrators by the short name that ``method`` and the command line accept.
BY_NAME: dict[str, type[Recalibrator]] = {
    "isotonic": Isotonic,
    "smooth": Smooth,
    "beta": BetaCalibration,
    "scaling": Scaling,
    "grouped": Grouped,
    "auto": Auto,
    "conditional": Conditional,
    "idr": IDR,
}

__all__ = [
    "BY_NAME",
    "FIRST_ROWS",
    "IDR",
    "Auto",
    "BaggedTrees",
    "BetaCalibration",
    "CommonMap",
    "Conditional",
    "Grouped",
    "Isotonic",
    "Key",
    "Preparation",
    "QuantileBoosting",
    "QuantileForest",
    "Recalibrator",
    "Scaling",
    "ScoreAccumulator",
    "ScoreRows",
    "Scores",
    "Smooth",
    "as_features",
    "inner_map",
    "sign",
    "tree_features",
]
