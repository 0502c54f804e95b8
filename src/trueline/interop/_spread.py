"""What skpro asks of a forecast that trueline does not: its energy, and whether it has steps."""

from __future__ import annotations

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import (
    Distribution,
    LocationScale,
    Mixture,
    Point,
    RecalibratedScores,
    Samples,
    Stacked,
)
from trueline.distributions._quantiles import Interpolated

# Levels so far out that what lies beyond does not count.
_OUT = np.array([[1e-12, 1.0 - 1e-12]])


def expected_distance(F: Distribution) -> FloatArray:
    """E|X - X'| of two independent draws of each row, (n,); infinite or NaN as its CRPS is.

    Twice the integral of F (1 - F), in closed form where the CRPS has one. Otherwise it is read
    off the CRPS at two values u and v beyond all that counts: there E|X - u| is the mean less u
    and E|X - v| is v less the mean, so their CRPS add up to v - u - E|X - X'|.
    """
    if isinstance(F, LocationScale):
        return 2.0 * F.scale * np.ravel(F.law.dispersion)
    if isinstance(F, Interpolated):
        return 2.0 * (F._rises @ F._pieces.dispersion)
    if isinstance(F, Samples):
        return 2.0 * F._spread()[:, 0] / F.draws.shape[1] ** 2
    if isinstance(F, Stacked):
        out = np.empty(len(F))
        for part, rows in zip(F.parts, F.rows, strict=True):
            out[rows] = expected_distance(part)
        return out
    far = F._ppf(_OUT)
    return far[:, 1] - far[:, 0] - F._crps(far).sum(axis=1)


def measure_type(F: Distribution) -> str:
    """Return what skpro calls a forecast: continuous, discrete or mixed."""
    if isinstance(F, Samples | Point):
        return "discrete"
    return "mixed" if _has_atoms(F) else "continuous"


def _has_atoms(F: Distribution) -> bool:
    """Whether some value of some row has a probability of its own."""
    if isinstance(F, Mixture):
        return any(_has_atoms(part) for part in F.components)
    if isinstance(F, Stacked):
        return any(_has_atoms(part) for part in F.parts)
    if isinstance(F, Interpolated):
        return bool((np.diff(F.values, axis=1) == 0).any()) or F.law.has_steps
    if isinstance(F, RecalibratedScores):
        return _has_atoms(F.base) or F.law.has_steps
    return F._has_steps
