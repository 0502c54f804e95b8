"""The paper's recalibrator."""

from __future__ import annotations

from trueline.laws import ExponentialTail, NormalTail, PiecewiseLaw, ScoreLaw
from trueline.recalibration._common import CommonMap
from trueline.recalibration._scores import Scores


class Isotonic(CommonMap):
    """Isotonic recalibration, Algorithm 1 of the paper, in score space.

    On sorted scores the isotonic fit of the empirical frequencies (Eq. 6) is the empirical
    CDF itself, so fitting is a sort. R passes through the scores and is linear between
    them. Tied scores are one knot with a jump; ``pdf`` is then the density of the continuous
    part, and the jump's mass has none.

    Beyond the outermost scores R continues with a tail, so that every quantile in (0, 1) is
    finite. Its scale is the mean excess over a threshold with the root of n exceedances (5 to
    100). Location-scale forecasts and `Point` get an exponential tail, which is heavier than
    normal and so errs on the wide side. Other forecasts have normal scores and get a half-normal
    tail, which continues the tail of the forecast. With a single row both tails start at the
    score x of that row and have mean excess abs(x), or 1 if x is 0.

    Parameters
    ----------
    finite_sample : bool, default True
        Put knot i of n at i / (n + 1), leaving mass 1 / (n + 1) in each tail. If rows are
        exchangeable and scores do not tie, P(R(S) <= p) differs from p by at most 1 / (n + 1)
        for every p, without any assumption on the model, and the coverage of the map's knots
        has the exact law Beta(i, n + 1 - i). With ties the coverage of a knot is at least i /
        (n + 1). False is Eq. 6 to the letter: knot i at i / n, no upper tail.

    Attributes
    ----------
    law_ : ScoreLaw
        The law of the score; R is its CDF.
    scores_ : Scores
        The sorted scores.

    References
    ----------
    Kuleshov, Fenner and Ermon, "Accurate Uncertainties for Deep Learning Using Calibrated
    Regression", ICML 2018.

    Examples
    --------
    A forecast that is biased and ten times too sure:

    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(loc=1.0, size=20_000)
    >>> F = tl.Normal(np.zeros(20_000), 0.1)
    >>> G = tl.Isotonic().fit(y[:10_000], F[:10_000]).transform(F[10_000:])
    >>> [round(tl.coverage(y[10_000:], f, 0.9), 2) for f in (F[10_000:], G)]
    [0.08, 0.9]
    """

    def __init__(self, finite_sample: bool = True) -> None:
        self.finite_sample = finite_sample

    def _check_params(self) -> None:
        if not isinstance(self.finite_sample, bool):
            raise ValueError(f"finite_sample is {self.finite_sample!r}; expected True or False.")

    def _law_of(self, scores: Scores) -> ScoreLaw:
        lower, upper = scores.cumulative()
        shift, rows = (
            (scores.slack(), scores.total + 1.0) if self.finite_sample else (0.0, scores.total)
        )
        right = (upper + shift) / rows
        left = right if lower is upper else (lower + shift) / rows
        tail = NormalTail if scores.kind == "normal score" else ExponentialTail
        below, above = scores.mean_excesses()
        return PiecewiseLaw(scores.values, left, right, (tail(below), tail(above)))
