"""Batches of predictive distributions."""

from trueline.distributions._abstract import Distribution
from trueline.distributions._location_scale import (
    Laplace,
    Logistic,
    Normal,
    Point,
    Standardised,
    StudentT,
)
from trueline.distributions._mixture import Mixture
from trueline.distributions._quantiles import Quantiles
from trueline.distributions._samples import Samples
from trueline.distributions._stacked import Stacked

__all__ = [
    "Distribution",
    "Laplace",
    "Logistic",
    "Mixture",
    "Normal",
    "Point",
    "Quantiles",
    "Samples",
    "Stacked",
    "Standardised",
    "StudentT",
]
