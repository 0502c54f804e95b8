"""Shift and scale."""

from __future__ import annotations

from trueline.laws import NormalLaw, ScoreLaw
from trueline.recalibration._common import CommonMap
from trueline.recalibration._scores import Scores


class Scaling(CommonMap):
    """Shift and scale of the scores: the score is taken as normal with its own mean and std.

    It has two parameters, fitted by maximum likelihood: the variance scaling of Levi et al.
    (2022), with the bias removed as well. It needs the fewest rows and cannot fix a wrong shape:
    a recalibrated location-scale forecast is normal.

    Examples
    --------
    >>> import trueline as tl
    >>> R = tl.Scaling().fit([1.0, 2.0, 3.0], tl.Normal([0.0, 0.0, 0.0], 1.0))
    >>> G = R.transform(tl.Normal(10.0, 1.0))
    >>> G.mean(), G.std().round(4)
    (array([12.]), array([0.8165]))
    """

    def _law_of(self, scores: Scores) -> ScoreLaw:
        return NormalLaw(*scores.mean_and_std())
