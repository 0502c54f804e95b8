"""Covariate shift: weights that give the calibration rows the mix of new rows."""

from trueline.shift._weights import ShiftWeights, shift_weights

__all__ = ["ShiftWeights", "shift_weights"]
