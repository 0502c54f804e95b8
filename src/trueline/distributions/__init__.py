"""Batches of predictive distributions."""

from trueline.distributions._abstract import Distribution, RecalibratedScores, ThroughLaw
from trueline.distributions._cut import Cut, average
from trueline.distributions._location_scale import (
    Laplace,
    LocationScale,
    Logistic,
    Normal,
    Point,
    RecalibratedLocationScale,
    StudentT,
)
from trueline.distributions._mixture import Mixture
from trueline.distributions._public import rows_needed
from trueline.distributions._quantiles import Quantiles, RecalibratedQuantiles
from trueline.distributions._samples import Samples
from trueline.distributions._stacked import Stacked, stack
from trueline.distributions._support import Support, is_continuous, learn_support

__all__ = [
    "Cut",
    "Distribution",
    "Laplace",
    "LocationScale",
    "Logistic",
    "Mixture",
    "Normal",
    "Point",
    "Quantiles",
    "RecalibratedLocationScale",
    "RecalibratedQuantiles",
    "RecalibratedScores",
    "Samples",
    "Stacked",
    "StudentT",
    "Support",
    "ThroughLaw",
    "average",
    "is_continuous",
    "learn_support",
    "rows_needed",
    "stack",
]
