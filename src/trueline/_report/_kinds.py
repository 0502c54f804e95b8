"""What kind of forecast it is, in the words of the page."""

from __future__ import annotations

from trueline.distributions import (
    Distribution,
    Laplace,
    Logistic,
    Mixture,
    Normal,
    Point,
    Quantiles,
    RecalibratedLocationScale,
    RecalibratedQuantiles,
    RecalibratedScores,
    Samples,
    Stacked,
    StudentT,
)
from trueline.interop._external import ScipyForecast, SkproForecast, TorchForecast
from trueline.interop._transformed import Transformed
from trueline.laws import Law, PiecewiseLaw

_KINDS: dict[type[Distribution], str] = {
    Normal: "normal",
    Laplace: "Laplace",
    Logistic: "logistic",
    StudentT: "Student t",
    Point: "one number a row",
    Quantiles: "quantiles",
    Samples: "samples",
    Mixture: "mixture",
    Stacked: "several kinds",
    ScipyForecast: "from scipy",
    SkproForecast: "from skpro",
    TorchForecast: "from torch",
    Transformed: "transformed",
}


def kind(dist: Distribution) -> str:
    """Return what a forecast is, for people who do not know our classes.

    >>> kind(Normal([0.0], 1.0)), kind(Point([0.0]))
    ('normal', 'one number a row')
    """
    if is_recalibrated(dist):
        return "recalibrated"
    return _KINDS.get(type(dist), type(dist).__name__)


def is_recalibrated(dist: Distribution) -> bool:
    """Whether a recalibrator made it, or any part of it."""
    return bool(_maps(dist))


def is_rough(dist: Distribution) -> bool:
    """Whether its density is that of an isotonic map, which jumps from row to row of the fit."""
    return any(isinstance(law, PiecewiseLaw) for law in _maps(dist))


def _maps(dist: Distribution) -> list[Law]:
    """Return the laws that recalibrators put in place of the forecast's own."""
    if isinstance(dist, Stacked):
        return [law for part in dist.parts for law in _maps(part)]
    if isinstance(dist, RecalibratedScores | RecalibratedQuantiles | RecalibratedLocationScale):
        return [dist.law]
    return []
