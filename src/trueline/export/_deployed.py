"""The laws of a fitted map: one, or one per group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import RecalibratedLocationScale
from trueline.export._formulas import has_formula
from trueline.laws import ExponentialTail, PiecewiseLaw, ScoreLaw
from trueline.recalibration import Key, Recalibrator


@dataclass(frozen=True)
class Deployed:
    """The laws of a fitted map.

    Attributes
    ----------
    kind : str
        "standardised" if the forecasts have a scale, otherwise "residual".
    laws : list of ScoreLaw
        One law per group and, last, the pooled law.
    groups : list or None
        Names of the groups.
    """

    kind: str
    laws: list[ScoreLaw]
    groups: list[Key] | None

    @property
    def scaled(self) -> bool:
        """Whether the forecasts have a scale."""
        return self.kind == "standardised"

    def quantiles(self, levels: FloatArray) -> FloatArray:
        """Return quantiles of the score, (laws, levels), with the warnings of a forecast."""
        zero, one = np.zeros(1), np.ones(1)
        rows = [
            RecalibratedLocationScale(zero, one, law, self.kind).ppf(levels)[0] for law in self.laws
        ]
        return np.stack(rows)

    def thinned(self, max_knots: int) -> tuple[list[ScoreLaw], float]:
        """Return laws of at most this number of knots, and the largest change of a CDF."""
        laws, errors = zip(*(_thinned(law, max_knots) for law in self.laws), strict=True)
        return list(laws), max(errors)


def deployed(recalibrator: Recalibrator, caller: str) -> Deployed:
    """Return the laws of a map; raise if it cannot be exported."""
    if not isinstance(recalibrator, Recalibrator):
        raise TypeError(
            f"recalibrator is a {type(recalibrator).__name__}; expected a fitted recalibrator "
            f"such as Isotonic."
        )
    recalibrator._check_fitted()
    name = type(recalibrator).__name__
    if not recalibrator.is_exportable:
        raise TypeError(
            f"{caller} cannot take {name}; expected Isotonic, Smooth, BetaCalibration, Scaling, "
            f"Auto, Grouped or Online, whose maps need no more than the score. Fit one of these "
            f"instead."
        )
    kind = recalibrator.score_kind_
    if kind not in ("standardised", "residual"):
        raise ValueError(
            f"this {name} was fitted on '{kind}' scores, which need a whole forecast per row; "
            f"{caller} takes maps of location-scale forecasts and of Point. Fit it on "
            f"Normal(mean, std)."
        )
    found = Deployed(kind, list(recalibrator.laws().values()), recalibrator.groups_)
    for law in found.laws:
        tails = law.tails if isinstance(law, PiecewiseLaw) else ()
        if not has_formula(law) or not all(isinstance(tail, ExponentialTail) for tail in tails):
            raise TypeError(f"{caller} has no formula for the {type(law).__name__} of {name}.")
    return found


def _thinned(law: ScoreLaw, max_knots: int) -> tuple[ScoreLaw, float]:
    """Keep knots that are evenly spaced in rank, and both tails; R does not change at them."""
    if not isinstance(law, PiecewiseLaw) or law.knots.size <= max_knots:
        return law, 0.0
    wanted = np.linspace(law.right[0], law.right[-1], max_knots)
    keep = np.unique(np.minimum(np.searchsorted(law.right, wanted), law.knots.size - 1))
    right = law.right[keep]
    left = right if law.left is law.right else law.left[keep]
    coarse = PiecewiseLaw(law.knots[keep], left, right, law.tails)
    # Both are linear between the knots of the finer law, so they differ most at one of these.
    off = np.abs(coarse.cdf(law.knots) - law.right).max()
    off_left = np.abs(coarse.cdf_left(law.knots) - law.left).max()
    return coarse, float(max(off, off_left))
