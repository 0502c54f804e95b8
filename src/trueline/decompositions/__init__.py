"""Scores as sums of what is wrong, what is told apart, and what cannot be known."""

from trueline.decompositions._brier import BrierDecomposition, brier_decomposition
from trueline.decompositions._crps import CrpsDecomposition, crps_decomposition

__all__ = ["BrierDecomposition", "CrpsDecomposition", "brier_decomposition", "crps_decomposition"]
