"""The kind of a forecast, in the words of the page."""

from __future__ import annotations

from trueline.distributions import Distribution


def kind(dist: Distribution) -> str:
    """Return the kind of a forecast, for people who do not know our classes.

    >>> import trueline as tl
    >>> kind(tl.Normal([0.0], 1.0)), kind(tl.Point([0.0]))
    ('normal', 'one number per row')
    """
    if is_recalibrated(dist):
        return "recalibrated"
    return dist._kind or type(dist).__name__


def is_recalibrated(dist: Distribution) -> bool:
    """Whether a recalibrator made the forecast or any part of it."""
    return bool(dist._learned_laws())


def is_rough(dist: Distribution) -> bool:
    """Whether its density has steps, as that of an isotonic map has."""
    return not all(law.smooth for law in dist._learned_laws())
