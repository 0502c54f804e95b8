"""The map inside of another recalibrator."""

from __future__ import annotations

from trueline.recalibration._abstract import Recalibrator
from trueline.recalibration._common import CommonMap, is_common_map
from trueline.recalibration._isotonic import Isotonic


def inner_map(recalibrator: Recalibrator | None) -> CommonMap:
    """Return the map that a parameter asks for, by default `Isotonic`.

    Examples
    --------
    >>> from trueline.recalibration import inner_map
    >>> inner_map(None)
    Isotonic()
    """
    if recalibrator is None:
        return Isotonic()
    if not is_common_map(recalibrator):
        raise ValueError(
            f"recalibrator is {recalibrator!r}; expected Isotonic, Smooth, BetaCalibration, "
            f"Scaling or Auto."
        )
    return recalibrator
